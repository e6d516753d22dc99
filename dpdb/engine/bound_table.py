"""`BoundTable`: what every table has, whoever reads its rows. What only some calls need is loaded by them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from sqlglot import exp

from dpdb.closing import Closing
from dpdb.constraints import ConstraintsLike, condition_with_members, distinct, load_constraints, places_among_distinct
from dpdb.database import Database
from dpdb.engine.interface import Progress, no_progress
from dpdb.engine.parents.across import ParentsOfTable, RulesAcross
from dpdb.engine.setting_groups import EVERY_ROW, ProtectedChange
from dpdb.engine.slice import LocalSlice
from dpdb.engine.sql.bind import BoundConstraint, bind
from dpdb.engine.sql.comparison import bind_literals
from dpdb.engine.sql.computed import ComputedRows, with_computed_columns
from dpdb.engine.sql.where import WherePredicate, parse_where, unit_column
from dpdb.errors import ConstraintTypeError, EngineError
from dpdb.predicates import Literal, LiteralValue
from dpdb.sources import (
    Rows,
    Source,
    presence,
    unreadable,
    without_rows,
)

if TYPE_CHECKING:
    from dpdb.engine.closed_forms import RuleStatistic, StatisticKind
    from dpdb.engine.unit_rows import KeptRows
    from dpdb.sources import Faults

__all__ = ["BoundTable"]


# Public numbers, up to which what a release needs whatever the rows are is little.
_FEW_SLICES, _FEW_CONSTRAINTS = 100, 100


class BoundTable(Closing):
    """Constraints bound to the columns of a table, in a private database, which it owns.

    A part of `dpdb.engine.Table`: `LocalTable` and the tables of other engines add what reads rows.

    Attributes
    ----------
    database : Database
    rows : Rows
        Whatever reads the table reads these, so that nothing sees more rows of a unit than are accounted for.
    inclusions : tuple of BoundInclusion
        What its constraints say of parents.
    """

    def __init__(
        self,
        database: Database,
        source: Source,
        *,
        constraints: ConstraintsLike | None = None,
        parents: ParentsOfTable | None = None,
        change: ProtectedChange = EVERY_ROW,
        progress: Progress = no_progress,
        opened: BoundTable | None = None,
    ) -> None:
        self.database = database
        self.description = source.description
        self.schema = source.schema
        self.unit = None if change.unit is None else unit_column(change.unit, source.schema)
        loaded = () if constraints is None else load_constraints(constraints, source.schema.names)
        self._across = RulesAcross(database, loaded, source.schema, parents)
        self.inclusions = self._across.bound
        self.written = tuple(
            (dc.written, k) for dc, k in zip(loaded, places_among_distinct(self._across.constraints), strict=True)
        )
        self._parents, self._change, self._origin = parents, change, opened
        self._kept = self._kept_of(source, change, opened)
        self.rows: Rows = self._kept or source
        named, schema = with_computed_columns(
            database,
            distinct(self._across.constraints),
            self._across.schema,
            self._across.column,
            self._across.members,
        )
        if schema is not source.schema:
            self.rows = ComputedRows(self.rows, schema)
        self.constraints = bind(database, named, schema)
        self._tested = self._tested_columns(source)
        self._source = source
        self._progress = progress

    def _tested_columns(self, source: Source) -> tuple[str, ...]:
        """Return the columns that cannot be compared of which constraints ask whether they are NULL.

        That is read once, as everything else that releases read is when the source is opened.

        Raises
        ------
        ConstraintTypeError
            If it cannot be read here.
        SourceError
            If reading fails.
        """
        asked = {name: dc for dc in self.constraints for name in dc.constraint.table_columns}
        found = {name: dc for name, dc in asked.items() if source.schema[name].type is None}
        for name, dc in found.items():
            why = self._why_not_tested(source, name)
            if why is not None:
                raise ConstraintTypeError(
                    f"{dc.constraint.label}: column {name!r} has type {source.schema[name].declared_type}, and {why}: "
                    "make a column of whether it is NULL"
                )
        if found:
            tests = [exp.Anonymous(this="bit_xor", expressions=[exp.func("hash", presence(name))]) for name in found]
            try:
                self.database.execute(exp.select(*tests).from_(source.scan.copy()))
            except EngineError:  # its message may print values of rows
                raise unreadable(source) from None
        return tuple(sorted(found))

    def _why_not_tested(self, source: Source, name: str) -> str | None:
        """Return why it cannot be asked whether a column of a nested type is NULL, if so."""
        if self._kept is not None:
            return "rows of units or children are chosen by the columns that can be compared"
        read = {known for known, _ in self.database.describe(exp.select("*").from_(source.scan.copy()))}
        return None if name in read else "such columns are not read at all"

    def _kept_of(self, source: Source, change: ProtectedChange, opened: BoundTable | None) -> KeptRows | None:
        """Return the rows of a source that are used: some of each unit, or of the children of each key; None: all."""
        if self.unit is not None:
            from dpdb.engine.unit_rows import UnitRows

            if opened is not None:
                return opened._kept  # which rows of a unit are used depends on no constraint
            return UnitRows(self.database, source, self.unit, change.most)
        if change.max_children is not None:
            from dpdb.engine.parents.children import ChildRows, limited_keys

            keys = limited_keys(self.inclusions)
            return ChildRows(self.database, source, keys, change.max_children) if keys else None
        return None

    @property
    def read_as(self) -> str:
        """How text is cut into rows, where the schema does not tell; see `Source`."""
        return self._source.read_as

    @property
    def faults(self) -> Faults | None:
        """What became NULL while text cells (CSV) were read. Private."""
        return self._source.faults

    # -- without reading a row ------------------------------------------------------------------------------------

    def where(self, text: str) -> WherePredicate:
        """Check and type a predicate; see `parse_where`."""
        return parse_where(self.database, text, self.schema)

    def selected(self, text: str) -> WherePredicate:
        """Check and type the condition of a rule's rows, which may have members of constraints. Errors as `where`."""
        found = condition_with_members(text, self.schema.names)
        return self.where(text) if found is None else self._across.selected(text, found)

    def literals(self, values: Sequence[LiteralValue], column_type: str) -> list[Literal | None]:
        """Type values for comparison with a column of a type; see `bind_literals`."""
        return bind_literals(self.database, values, column_type)

    def equal_values(self, literals: Sequence[Literal]) -> tuple[int, int] | None:
        """Find two literals that are one value, by their positions."""
        from dpdb.engine.sql.keys import equal_values

        return equal_values(self.database, literals)

    def texts_of(self, literals: Sequence[Literal]) -> list[str]:
        """Return the texts of values, one text for each value."""
        from dpdb.engine.sql.keys import texts_of

        return texts_of(self.database, literals)

    def admit(self, row_bound: int | None) -> None:
        """Refuse constraints that compare every row with every other one; see `refuse_nested_loops`."""
        from dpdb.engine.sql.joins import refuse_nested_loops

        refuse_nested_loops(self.constraints, row_bound)

    def exact_statistic(
        self, constraints: Sequence[BoundConstraint], kind: StatisticKind = "violations", *, reversed_go: bool = False
    ) -> RuleStatistic | None:
        """Return the exact statistic of constraints, or None if none is known; see `exact_statistic`."""
        from dpdb.engine.closed_forms import exact_statistic

        return exact_statistic(constraints, self.schema, kind, reversed_go=reversed_go)

    def why_not_grouped(self, name: str) -> str | None:
        """Say why rows are not grouped by a column: its values cannot be compared. Reads no row."""
        column = self.schema[name]
        return None if column.type is not None else f"values of type {column.declared_type} cannot be compared"

    # -- reading rows ---------------------------------------------------------------------------------------------

    def _measured(self, position: int | None) -> Sequence[BoundConstraint]:
        return self.constraints if position is None else [self.constraints[position]]

    def rehearse(self, slices: Sequence[WherePredicate | None], *, counts: bool) -> None:
        """Count many slices, or make one under many constraints, no row in table or parents; see the base class."""
        rows = Source(self.description, self._across.empty(self.rows.schema), without_rows(self.schema))
        if counts and len(slices) > _FEW_SLICES:
            from dpdb.engine.sql.count import count_rows

            count_rows(self.database, rows, slices, name=self._next_name())
        elif not counts and len(self.constraints) > _FEW_CONSTRAINTS:
            LocalSlice(self.database, rows, self.constraints, slices[0], name=self._next_name()).close()

    def forget_rows(self) -> None:
        """Drop the copy of the rows that are used of units or keys, if there is one."""
        if self._kept is not None:
            self._kept.forget()

    @cached_property
    def public_keys(self) -> Mapping[str, str]:
        """Digests of the keys of public parents, by name, as they were when the table was opened."""
        return self._across.public_keys()

    def _next_name(self) -> str:
        return self.database.new_name("slice")

    # -- end of life ----------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Drop the private database and its temporary files, of the table that was opened. May be called twice."""
        if self._origin is None:
            self.database.close()
