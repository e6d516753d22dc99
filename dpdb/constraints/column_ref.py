"""`ColumnRef`: a column of one of the two tuples, the table's own or computed from some of them.

A computed column is a term or condition over one tuple, such as `b + 60` or `carrier IN ('AA', 'UA')`. Here it is
canonical text with its columns apart; `dpdb.predicates` gives it types and meaning when a constraint meets a table. Its
value depends on one row only, so all facts about columns (codes, ranks, groups, sensitivities) hold for it. An `Across`
depends on a parent table, too; `dpdb.engine.parents` says when these facts hold for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import zip_longest

from dpdb.constraints.across import Across, Member, columns_read, members_among
from dpdb.errors import ParameterError
from dpdb.names import in_double_quotes, quoted_name

__all__ = ["ColumnRef", "ComputedRef", "RowExpression", "computed"]


@dataclass(frozen=True, slots=True)
class RowExpression:
    """A term or condition over one tuple.

    Parameters
    ----------
    pieces
        Its text before, between and after the columns.
    columns
        The names of the columns, in the order written, members among them; a name may occur more than once.
    is_condition
        Whether it is true, false or NULL by its form, and violated by itself.
    """

    pieces: tuple[str, ...]
    columns: tuple[str | Member, ...]
    is_condition: bool

    def written(self, before: str = "") -> str:
        """Return the text as it is written in a constraint, with `before` (such as ``t1.``) before each column."""
        return self._joined(
            before + quoted_name(name) if isinstance(name, str) else name.written(before) for name in self.columns
        )

    @property
    def table_columns(self) -> tuple[str, ...]:
        """The columns that it reads."""
        return columns_read(self.columns)

    @property
    def members(self) -> tuple[Member, ...]:
        """The members in it."""
        return members_among(self.columns)

    def sql(self, members: Mapping[Across, str]) -> str:
        """Return the text with every column in double quotes, members by the names given: to be parsed."""
        return self._joined(in_double_quotes(name if isinstance(name, str) else members[name]) for name in self.columns)

    def renamed(self, names: Mapping[str, str]) -> RowExpression:
        """Return the expression with columns renamed; `names` has every column of it."""
        columns = (names[name] if isinstance(name, str) else name.renamed(names) for name in self.columns)
        return replace(self, columns=tuple(columns))

    def with_members(self, change: Callable[[Member], Member]) -> RowExpression:
        """Return the expression with other members."""
        columns = (name if isinstance(name, str) else change(name) for name in self.columns)
        return replace(self, columns=tuple(columns))

    def _joined(self, names: Iterable[str]) -> str:
        return "".join(part for both in zip_longest(self.pieces, names, fillvalue="") for part in both)


@dataclass(frozen=True, slots=True)
class ColumnRef:
    """A column of one of the two tuples.

    Parameters
    ----------
    tuple_index
        0 for t1, 1 for t2.
    column
        The column's name as the table spells it.
    """

    tuple_index: int
    column: str

    def __post_init__(self) -> None:
        if self.tuple_index not in {0, 1}:
            raise ParameterError(f"tuple_index must be 0 (t1) or 1 (t2), got {self.tuple_index!r}")
        if not isinstance(self.column, str) or not self.column:
            raise ParameterError(f"a column name must be a text that is not empty, got {self.column!r}")

    def __str__(self) -> str:
        return f"t{self.tuple_index + 1}.{quoted_name(self.column)}"

    @property
    def shown(self) -> str:
        """The column without its tuple, as it is written in a constraint."""
        return quoted_name(self.column)

    @property
    def table_columns(self) -> tuple[str, ...]:
        """The table's own columns from which its value is read or computed."""
        return (self.column,)

    @property
    def is_condition(self) -> bool:
        """Return whether it is a computed condition: true, false or NULL."""
        return False

    def swapped(self) -> ColumnRef:
        """Return the same column of the other tuple."""
        return ColumnRef(1 - self.tuple_index, self.column)

    def renamed(self, names: Mapping[str, str]) -> ColumnRef:
        """Return the column under another name; `names` has every column of the table that is read for it."""
        return ColumnRef(self.tuple_index, names[self.column])

    def kept_as(self, names: Mapping[RowExpression | Across, str]) -> ColumnRef:
        """Return the same column; a computed column under the name that it has in the engine."""
        del names
        return self


@dataclass(frozen=True, slots=True)
class ComputedRef(ColumnRef):
    """A computed column of one of the two tuples; `column` is its name in the engine."""

    expression: RowExpression | Across

    def __str__(self) -> str:
        return self.expression.written(f"t{self.tuple_index + 1}.")

    @property
    def shown(self) -> str:
        """The column without its tuple, as it is written in a constraint."""
        return self.expression.written()

    @property
    def table_columns(self) -> tuple[str, ...]:
        """The table's own columns that it is computed from."""
        return self.expression.table_columns

    @property
    def is_condition(self) -> bool:
        """Return whether it is a condition, true, false or NULL."""
        return self.expression.is_condition

    def swapped(self) -> ComputedRef:
        """Return the same column of the other tuple."""
        return ComputedRef(1 - self.tuple_index, self.column, self.expression)

    def renamed(self, names: Mapping[str, str]) -> ComputedRef:
        """Return the column computed from renamed columns."""
        return computed(self.tuple_index, self.expression.renamed(names))

    def kept_as(self, names: Mapping[RowExpression | Across, str]) -> ComputedRef:
        """Return the same column under the name that it has in the engine."""
        return ComputedRef(self.tuple_index, names[self.expression], self.expression)


def computed(tuple_index: int, expression: RowExpression | Across) -> ComputedRef:
    """Return the computed column of an expression; its name is the expression's text."""
    return ComputedRef(tuple_index, expression.written(), expression)
