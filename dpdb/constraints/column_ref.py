"""Columns that constraints read: the table's own, computed ones, and conditions that rows of another table decide.

A computed column is a term or condition over one tuple, such as `b + 60` or `carrier IN ('AA', 'UA')`. Here it is
canonical text with its columns apart; `dpdb.predicates` gives it types and meaning when a constraint meets a table. Its
value depends on one row only, so all facts about columns (codes, ranks, groups, sensitivities) hold for it. An `Across`
depends on a parent table, too; `dpdb.engine.parents` says when these facts hold for it.

An `Across` is a condition over one tuple that rows of another table, the parent, decide. These rows are no
part of a constraint; the engine reads them.

An inclusion, a foreign key, is that the parent lacks a row's values of some columns: `customer_id IN customers.id`. A
look-up is that some row of the parent has a row's key and breaks what a rule says of both: `CHECK (visit_start <=
person.death_date) BY person_id = person.person_id`, no visit after the person's death. As in SQL NULL violates nothing:
not in a key, nor in what is compared; nor does a look-up say anything of a row whose key no row of the parent has.

A member, `concept_id IN (SELECT id FROM concept WHERE standard)`, is no rule of its own but a part of conditions: NULL
if the tuple has no value, else whether the parent has it. NULLs of the parent equal nothing, also under NOT IN.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, time, timedelta, tzinfo
from itertools import zip_longest
from typing import Literal, Self

from dpdb.errors import ParameterError
from dpdb.names import in_double_quotes, quoted_name


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


@dataclass(frozen=True, slots=True)
class ConditionAcross:
    """A condition over a tuple and one row of a parent.

    Parameters
    ----------
    pieces
        Its text before, between and after the columns.
    columns
        The columns in the order written: whether each is the parent's, and its name; a member is the tuple's.
    """

    pieces: tuple[str, ...]
    columns: tuple[tuple[bool, str | Member], ...]

    @property
    def own_columns(self) -> tuple[str, ...]:
        """The tuple's columns, each once."""
        return columns_read(name for is_parents, name in self.columns if not is_parents)

    @property
    def parent_columns(self) -> tuple[str, ...]:
        """The parent's columns, each once."""
        return columns_read(name for is_parents, name in self.columns if is_parents)

    @property
    def members(self) -> tuple[Member, ...]:
        """The members in it."""
        return members_among(name for _, name in self.columns)

    def written(self, parent: str, before: str = "") -> str:
        """Return the text as it is written in a constraint, with `before` before each column of the tuple."""

        def shown(is_parents: bool, name: str | Member) -> str:
            if isinstance(name, Member):
                return name.written(before)
            return (f"{_table(parent)}." if is_parents else before) + quoted_name(name)

        return self._joined(shown)

    def sql(self, own: Mapping[Across, str], parents: Mapping[str, str]) -> str:
        """Return the text with every column in double quotes, members and the parent's by other names; to be parsed."""

        def named(is_parents: bool, name: str | Member) -> str:
            if isinstance(name, Member):
                return in_double_quotes(own[name])
            return in_double_quotes(parents[name] if is_parents else name)

        return self._joined(named)

    def renamed(self, own: Mapping[str, str], parents: Mapping[str, str]) -> ConditionAcross:
        """Return the condition with columns renamed; a name that a mapping lacks stays."""

        def of(theirs: bool, name: str | Member) -> str | Member:
            if isinstance(name, Member):
                return name.renamed({column: own.get(column, column) for column in name.columns})
            return (parents if theirs else own).get(name, name)

        return replace(self, columns=tuple((theirs, of(theirs, name)) for theirs, name in self.columns))

    def with_members(self, change: Callable[[Member], Member]) -> ConditionAcross:
        """Return the condition with other members."""
        columns = ((theirs, change(name) if isinstance(name, Member) else name) for theirs, name in self.columns)
        return replace(self, columns=tuple(columns))

    def _joined(self, shown: Callable[[bool, str | Member], str]) -> str:
        names = [shown(*column) for column in self.columns]
        return "".join(part for both in zip_longest(self.pieces, names, fillvalue="") for part in both)


@dataclass(frozen=True, slots=True)
class Across:
    """A condition over one tuple: what rows of a parent with its key say of it.

    Parameters
    ----------
    parent
        The name of the other table.
    parent_columns
        Its columns, each compared with the one at the same place.
    among
        Which rows of the parent count: those for which this is true, over the parent's columns alone. None: all.
    """

    columns: tuple[str, ...]
    parent: str
    parent_columns: tuple[str, ...]
    among: ConditionAcross | None = None

    is_condition = True  # by its form

    @property
    def table_columns(self) -> tuple[str, ...]:
        """The tuple's columns that it reads."""
        return self.columns

    @property
    def parents_columns(self) -> tuple[str, ...]:
        """The parent's columns that it reads, each once."""
        read = [name for condition in self.conditions for name in condition.parent_columns]
        return tuple(dict.fromkeys((*self.parent_columns, *read)))

    @property
    def conditions(self) -> tuple[ConditionAcross, ...]:
        """What it says of rows of the parent beside their key."""
        return () if self.among is None else (self.among,)

    @property
    def members(self) -> tuple[Member, ...]:
        """The members in what it says."""
        return tuple(member for condition in self.conditions for member in condition.members)

    def with_members(self, change: Callable[[Member], Member]) -> Self:
        """Return the condition with other members."""
        del change
        return self

    @property
    def table(self) -> str:
        """The parent as it is written in a constraint."""
        return _table(self.parent)

    @property
    def among_words(self) -> str:
        """Which rows of the parent count, as it is written behind WHERE; empty for all."""
        return "" if self.among is None else self.among.written(self.parent)

    def written(self, before: str = "") -> str:
        """Return the text of the condition, with `before` (such as ``t1.``) before each column of the tuple."""
        raise NotImplementedError

    @property
    def rule(self) -> str:
        """The text of the constraint that forbids it, without what stands behind WHERE."""
        raise NotImplementedError

    @property
    def words(self) -> str:
        """The constraint that forbids it, for readers."""
        raise NotImplementedError

    def renamed(self, names: Mapping[str, str]) -> Self:
        """Return the condition with the tuple's columns renamed; `names` has every one of them."""
        return replace(self, columns=tuple(names[name] for name in self.columns))

    def of_parent(self, parent: str, names: Mapping[str, str]) -> Self:
        """Return the condition with the parent and its columns as it spells them."""
        among = None if self.among is None else self.among.renamed({}, names)
        return replace(
            self, parent=parent, parent_columns=tuple(names[name] for name in self.parent_columns), among=among
        )

    def _among_parent(self) -> str:
        return f" WHERE {self.among_words}" if self.among is not None else ""

    def _key(self, before: str) -> str:
        names = [before + quoted_name(name) for name in self.columns]
        return names[0] if len(names) == 1 else f"({', '.join(names)})"


@dataclass(frozen=True, slots=True)
class Inclusion(Across):
    """The condition over one tuple that no row of a parent (that counts) has its values: the tuple is an orphan."""

    @property
    def target(self) -> str:
        """The parent with its columns, as it is written in a constraint."""
        if len(self.columns) == 1:
            return f"{self.table}.{quoted_name(self.parent_columns[0])}"
        return f"{self.table}({', '.join(map(quoted_name, self.parent_columns))})"

    def written(self, before: str = "") -> str:
        """Return the text of the condition, with `before` (such as ``t1.``) before each column of the tuple."""
        return f"{self._key(before)} NOT IN {self.target}{self._among_parent()}"

    @property
    def rule(self) -> str:
        """The text of the constraint that forbids it, without what stands behind WHERE."""
        return f"{self._key('')} IN {self.target}"

    @property
    def words(self) -> str:
        """The constraint that forbids it, for readers."""
        return f"every {self._key('')} must be found in {self.target}"


@dataclass(frozen=True, slots=True)
class LookUp(Across):
    """The condition over one tuple that some row of a parent (that counts) has its key, and makes `condition` false.

    Parameters
    ----------
    condition
        What the rule says of the tuple and each row of the parent with its key. It has a column of the parent.
    """

    condition: ConditionAcross = field(kw_only=True)

    @property
    def table_columns(self) -> tuple[str, ...]:
        """The tuple's columns that it reads."""
        return tuple(dict.fromkeys((*self.columns, *self.condition.own_columns)))

    @property
    def conditions(self) -> tuple[ConditionAcross, ...]:
        """What it says of rows of the parent beside their key."""
        return (self.condition,) if self.among is None else (self.among, self.condition)

    def written(self, before: str = "") -> str:
        """Return the text of the condition, with `before` (such as ``t1.``) before each column of the tuple."""
        return f"NOT ({self.condition.written(self.parent, before)}) BY {self._equal(before)}{self._among_parent()}"

    @property
    def rule(self) -> str:
        """The text of the constraint that forbids it, without what stands behind WHERE."""
        return f"CHECK ({self._checked}) BY {self._equal('')}"

    @property
    def words(self) -> str:
        """The constraint that forbids it, for readers."""
        return f"every row must satisfy {self._checked} with all rows of {self.table} that have its {self._key('')}"

    def renamed(self, names: Mapping[str, str]) -> Self:
        """Return the condition with the tuple's columns renamed; `names` has every one of them."""
        columns = tuple(names[name] for name in self.columns)
        return replace(self, columns=columns, condition=self.condition.renamed(names, {}))

    def of_parent(self, parent: str, names: Mapping[str, str]) -> Self:
        """Return the condition with the parent and its columns as it spells them."""
        spelled = Across.of_parent(self, parent, names)
        return replace(spelled, condition=self.condition.renamed({}, names))

    def with_members(self, change: Callable[[Member], Member]) -> Self:
        """Return the condition with other members."""
        return replace(self, condition=self.condition.with_members(change))

    @property
    def _checked(self) -> str:
        return self.condition.written(self.parent)

    def _equal(self, before: str) -> str:
        pairs = zip(self.columns, self.parent_columns, strict=True)
        return " AND ".join(f"{before}{quoted_name(own)} = {self.table}.{quoted_name(their)}" for own, their in pairs)


@dataclass(frozen=True, slots=True)
class Member(Across):
    """The condition over one tuple that some row of a parent (that counts) has its value; NULL if it has none."""

    def written(self, before: str = "") -> str:
        """Return the text of the condition, with `before` (such as ``t1.``) before the column of the tuple."""
        [wanted] = self.parent_columns
        return f"{self._key(before)} IN (SELECT {quoted_name(wanted)} FROM {self.table}{self._among_parent()})"


def columns_read(names: Iterable[str | Member]) -> tuple[str, ...]:
    """Return the columns that some columns and members are, or are told from, each once."""
    read = ((name,) if isinstance(name, str) else name.columns for name in names)
    return tuple(dict.fromkeys(column for each in read for column in each))


def members_among(names: Iterable[str | Member]) -> tuple[Member, ...]:
    """Return the members among columns, each once."""
    return tuple(dict.fromkeys(name for name in names if isinstance(name, Member)))


def _table(parent: str) -> str:
    return ".".join(map(quoted_name, parent.split(".")))


@dataclass(frozen=True)
class ComparedWith:
    """What a line such as `COMPARE replica BY id` says: which columns of two tables are compared.

    Attributes
    ----------
    table : str
        The other table, as the line calls it.
    key, columns : tuple of (str, str)
        Each column of the table with that of the other one; `columns` is None for all that both have.
    """

    table: str
    key: tuple[tuple[str, str], ...]
    columns: tuple[tuple[str, str], ...] | None = None

    def __str__(self) -> str:
        columns = "" if self.columns is None else f" COLUMNS {self._written(self.columns)}"
        return f"COMPARE {_table(self.table)} BY {self._written(self.key)}{columns}"

    def _written(self, pairs: tuple[tuple[str, str], ...]) -> str:
        table = _table(self.table)
        return ", ".join(
            quoted_name(own) if own == theirs else f"{quoted_name(own)} = {table}.{quoted_name(theirs)}"
            for own, theirs in pairs
        )


@dataclass(frozen=True)
class SchemaLine:
    """What a line says of the columns.

    Attributes
    ----------
    kind : str
        `has`: these columns are there; `is`: these and no others; `has no`: none of these.
    columns : tuple of (str, str or None)
        Names, and types as they are written.
    in_order : bool
        Whether they follow one another so: of `is` all columns, of `has` others may stand between.
    """

    kind: Literal["has", "is", "has no"]
    columns: tuple[tuple[str, str | None], ...]
    in_order: bool = False


_NAIVE = ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS")
_ZONED = ("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ_NS")


@dataclass(frozen=True)
class Freshness:
    """What a line such as `freshness(updated_at) < 2 days` says.

    Attributes
    ----------
    column : str
        Of dates or moments.
    age : timedelta
        Rows that are younger are counted.
    inclusive : bool
        Whether rows of exactly this age are, too: `<=`.
    zone : str or None
        Where clocks show what dates and moments without a zone say; None is UTC.
    rows : int or None
        How many rows are so young at least whenever the table is fresh: what a run must be able to tell from none.
    where : str or None
        A condition that rows must meet besides.
    """

    column: str
    age: timedelta
    inclusive: bool = False
    zone: str | None = None
    rows: int | None = None
    where: str | None = None

    def __str__(self) -> str:
        zone = "" if self.zone is None else f", '{self.zone}'"
        seconds = int(self.age.total_seconds())
        rows = "" if self.rows is None else f" WITH {self.rows} ROWS"
        where = "" if self.where is None else f" WHERE {self.where}"
        sign = "<=" if self.inclusive else "<"
        return f"freshness({quoted_name(self.column)}{zone}) {sign} {seconds} seconds{rows}{where}"

    def condition(self, declared_type: str, now: datetime) -> str:
        """Return which rows are counted, as SQL: one comparison of the column with a literal.

        A date is the midnight with which it begins. A row without a value is not counted; one that lies in the future
        is, as no age is above its.

        Parameters
        ----------
        now
            The moment of the run, with its zone.

        Raises
        ------
        ParameterError
            If the column has no dates or moments, has a zone of its own beside one that is given, or the age ends
            before the calendar begins.
        """
        naive = declared_type in _NAIVE or declared_type == "DATE"
        if not naive and declared_type not in _ZONED:
            raise ParameterError(
                f"freshness: {self.column!r} is {declared_type}, and ages are of a DATE or TIMESTAMP; of text declare "
                "the type (--schema)"
            )
        if not naive and self.zone is not None:
            raise ParameterError(
                f"freshness: values of {self.column!r} ({declared_type}) have a zone of their own; leave out "
                f"{self.zone!r}"
            )
        since, inclusive = self._since(now), self.inclusive
        if declared_type == "DATE":
            literal = f"DATE '{since.date().isoformat()}'"
            inclusive &= since.time() == time()
        else:
            kind = "TIMESTAMP" if naive else "TIMESTAMPTZ"
            literal = f"{kind} '{since.replace(tzinfo=None).isoformat(' ')}{'' if naive else '+00:00'}'"
        own = f"{quoted_name(self.column)} {'>=' if inclusive else '>'} {literal}"
        return own if self.where is None else f"({self.where}) AND {own}"

    def _since(self, now: datetime) -> datetime:
        """Return the moment before which a row is too old, as clocks of the zone show it."""
        try:
            return (now - self.age).astimezone(UTC if self.zone is None else zone_named(self.zone))
        except OverflowError:
            raise ParameterError(
                f"freshness: an age of {self.age.days:,} days ends before the calendar begins"
            ) from None


def zone_named(name: str) -> tzinfo:
    """Return a time zone of the IANA's list, such as `Europe/Berlin`; `ParameterError` if it is none."""
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError  # few lines name one

    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ParameterError(
            f"freshness: {name!r} is no time zone that is known here (such as 'Europe/Berlin')"
        ) from None
