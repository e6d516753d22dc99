"""`BoundTable`: what every table has, whoever reads its rows; `LocalTable`: a table that our own DuckDB reads.

What only some calls need is loaded by them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from dpdb.constraints import ConstraintsLike, condition_with_members, distinct, load_constraints, places_among_distinct
from dpdb.database import Database
from dpdb.engine.interface import Progress, no_progress
from dpdb.engine.parents.across import ParentsOfTable, RulesAcross, opener_of, types_of_parents
from dpdb.engine.slice import LocalSlice
from dpdb.engine.sql.bind import BoundConstraint, bind
from dpdb.engine.sql.comparison import bind_literals, equal_values, texts_of
from dpdb.engine.sql.input_rows import ComputedRows, typed_rows, with_computed_columns
from dpdb.engine.sql.joins import refuse_nested_loops
from dpdb.engine.sql.where import WherePredicate, parse_where, unit_column
from dpdb.engine.table_spec import MachineLimits, TableSpec
from dpdb.errors import ConstraintTypeError, ParameterError, SourceError
from dpdb.predicates import Literal, LiteralValue
from dpdb.schema import TableSchema
from dpdb.sources import (
    Reading,
    Rows,
    Source,
    SourceLike,
    declared_schema,
    is_changed,
    open_source,
    opened_content,
    with_presence,
    without_rows,
)
from dpdb.stopping import Closing, if_it_fails

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

    from dpdb.engine.broken import BrokenCounts, Told
    from dpdb.engine.closed_forms import RuleStatistic, StatisticKind
    from dpdb.engine.compared import ComparedColumns, Side
    from dpdb.engine.dependency_counts import DependencyCounts
    from dpdb.engine.owners import OwnerQuestion
    from dpdb.engine.unit_rows import KeptRows
    from dpdb.sources import Faults

# Public numbers, up to which what a release needs whatever the rows are is little.
_FEW_SLICES, _FEW_CONSTRAINTS = 100, 100


class BoundTable(Closing):
    """Constraints bound to the columns of a table, in a private database, which it owns.

    A part of `dpdb.engine.Table`: `LocalTable` and the tables of other engines add what reads rows.

    Attributes
    ----------
    rows : Rows
        Whatever reads the table reads these, so that nothing sees more rows of a unit than are accounted for.
    lists_edges : bool
        Whether its slices list their edges.
    """

    def __init__(
        self,
        database: Database,
        source: Source,
        spec: TableSpec,
        *,
        parents: ParentsOfTable | None = None,
        progress: Progress = no_progress,
        opened: BoundTable | None = None,
    ) -> None:
        self.database = database
        self.description = source.description
        self.schema = source.schema
        self.lists_edges = spec.edges == "table"
        self.reached = source.reached
        unit = spec.change.unit if self.reached is None else self.reached.unit
        self.unit = None if unit is None else unit_column(unit, source.schema)
        loaded = () if spec.constraints is None else load_constraints(spec.constraints, source.schema.names)
        self._across = RulesAcross(database, loaded, source.schema, parents)
        self.inclusions = self._across.bound
        self.written = tuple(
            (dc.written, k) for dc, k in zip(loaded, places_among_distinct(self._across.constraints), strict=True)
        )
        self._parents, self._spec, self._origin = parents, spec, opened
        self._kept = self._kept_of(source, opened)
        named, schema = with_computed_columns(
            database, distinct(self._across.constraints), self._across.schema, self._across.column, self._across.members
        )
        self.constraints = bind(database, named, schema)
        self._tested = self._tested_columns(source)
        self._source = source = with_presence(database, source, self._tested)
        self.rows: Rows = self._kept or source
        if schema is not source.schema:
            self.rows = ComputedRows(self.rows, schema)
        self._progress = progress

    def _tested_columns(self, source: Source) -> tuple[str, ...]:
        """Return the columns that cannot be compared of which constraints ask whether they are NULL.

        That is read once, as everything else that releases read is when the source is opened.
        """
        asked = {name: dc for dc in self.constraints for name in dc.constraint.table_columns}
        not_compared = {name: dc for name, dc in asked.items() if source.schema[name].type is None}
        for name, dc in not_compared.items():
            why = self._why_not_tested(source, name)
            if why is not None:
                raise ConstraintTypeError(
                    f"{dc.constraint.label}: column {name!r} has type {source.schema[name].declared_type}, and {why}: "
                    "make a column of whether it is NULL"
                )
        return tuple(sorted(not_compared))

    def _why_not_tested(self, source: Source, name: str) -> str | None:
        """Return why it cannot be asked whether a column of a nested type is NULL, if so."""
        if self._kept is not None:
            return "rows of units or children are chosen by the columns that can be compared"
        read = {known for known, _ in self.database.describe(exp.select("*").from_(source.scan.copy()))}
        return None if name in read else "such columns are not read at all"

    def _kept_of(self, source: Source, opened: BoundTable | None) -> KeptRows | None:
        """Return the rows of a source that are used: some of each unit, or of the children of each key; None: all."""
        change = self._spec.change
        if self.unit is not None:
            from dpdb.engine.unit_rows import UnitRows

            if opened is not None:
                return opened._kept  # which rows of a unit are used depends on no constraint
            return UnitRows(self.database, source, self.unit, change.most)
        if change.max_children is not None:
            from dpdb.engine.unit_rows import ChildRows, limited_keys

            keys = limited_keys(self.inclusions)
            return ChildRows(self.database, source, keys, change.max_children) if keys else None
        return None

    @property
    def read_as(self) -> str:
        """How text is cut into rows, where the schema does not tell; see `Source`."""
        return self._source.read_as

    @property
    def reading(self) -> str:
        """By which rule cells become values; see `Source`."""
        return self._source.reading

    @property
    def faults(self) -> Faults | None:
        """What was not read of text cells (CSV). Private."""
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
        return equal_values(self.database, literals)

    def texts_of(self, literals: Sequence[Literal]) -> list[str]:
        """Return the texts of values, one text for each value."""
        return texts_of(self.database, literals)

    def admit(self, row_bound: int | None) -> None:
        """Refuse constraints that compare every row with every other one; see `refuse_nested_loops`."""
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
            from dpdb.engine.sql.input_rows import count_rows

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


class LocalTable(BoundTable):
    """A table whose rows our own DuckDB reads (implements `dpdb.engine.Table`)."""

    def with_constraints(self, constraints: ConstraintsLike | None) -> LocalTable:
        """Return the same rows under other constraints; see the base class."""
        spec, opened = replace(self._spec, constraints=constraints), self._origin or self
        return LocalTable(
            self.database, self._source, spec, parents=self._parents, progress=self._progress, opened=opened
        )

    def without_rows(self) -> None:
        """Return nothing: our own database answers what it is asked."""

    def admit_graph(self) -> None:
        """Admit every conflict graph: the rows are here."""

    def slice(
        self,
        where: WherePredicate | None = None,
        *,
        position: int | None = None,
        keep_source_row: bool = False,
        keep: Sequence[str] = (),
    ) -> LocalSlice:
        """Read and rank the rows that a predicate selects; `keep...` is for what only the owner may ask.

        Parameters
        ----------
        where
            The slice; None for all rows.
        position
            Which constraint is measured alone. Default: all together.
        keep_source_row
            Whether the place of each row in the source is kept.
        keep
            Names of columns whose values are kept.
        """
        return LocalSlice(
            self.database,
            self.rows,
            self._measured(position),
            where,
            name=self._next_name(),
            keep_source_row=keep_source_row,
            keep=keep,
            lists_edges=self.lists_edges,
            progress=self._progress,
        )

    def class_histograms(
        self, where: WherePredicate | None = None, *, position: int | None = None
    ) -> tuple[int, list[pa.Table]]:
        """Count classes of the rows that a predicate selects; see `count_classes`. Private.

        Raises
        ------
        SourceError
            If files have changed: they are read several times, and what is counted must be of one table.
        """
        from dpdb.engine.count_classes import count_classes

        with self._counting("counting classes"):
            return count_classes(self.database, self.rows, self._measured(position), where)

    def count_rows(self, slices: Sequence[WherePredicate | None]) -> list[int]:
        """Count the rows of many slices in one scan. Private."""
        from dpdb.engine.sql.input_rows import count_rows

        return count_rows(self.database, self.rows, slices, name=self._next_name())

    def listed_keys(self, column: str, keys: Sequence[str]) -> list[str]:
        """Return a long list of keys as texts, one for each value of a column; see `listed_keys`. Reads no row."""
        from dpdb.engine.listed_keys import listed_keys

        return listed_keys(self.database, keys, column, str(self.schema[column].type))

    def count_keys(self, where: WherePredicate | None, column: str, keys: Sequence[str]) -> list[int]:
        """Count the rows of each of many keys by one GROUP BY; see `count_keys`. Private."""
        from dpdb.engine.listed_keys import count_keys

        return count_keys(self.database, self.rows, where, column, keys, name=self._next_name())

    def count_all(self, where: WherePredicate | None, asked: Sequence[RuleStatistic]) -> list[int]:
        """Count exact statistics of rules; see `count_all`. Private.

        Raises
        ------
        SourceError
            If files have changed: they are read several times, and what is counted must be of one table.
        """
        from dpdb.engine.count_all import count_all

        with self._counting("counting groups"):
            return count_all(self.database, self.rows, where, asked, name=self._next_name())

    def count_dependencies(
        self, columns: Sequence[str], pairs: Sequence[tuple[str, str]], *, spread: bool = False
    ) -> DependencyCounts:
        """Count columns and pairs of them; see the base class. Private.

        Raises
        ------
        SourceError
            If files have changed, as for `count_all`.
        """
        from dpdb.engine.dependency_counts import count_dependencies

        def ask(query: exp.Select) -> Sequence[Any]:
            return self.database.rows(query)[0]

        with self._counting("counting groups"):
            return count_dependencies(ask, partial(typed_rows, self.rows), columns, pairs, spread=spread)

    def count_owners(self, owner: str, asked: Sequence[OwnerQuestion]) -> list[int]:
        """Count the owners whose rows violate rules; see `count_owners`. Private.

        Raises
        ------
        SourceError
            If files have changed.
        """
        from dpdb.engine.owners import count_owners

        with self._counting("counting owners"):
            return count_owners(self.database, self.rows, owner, asked, name=self._next_name())

    def count_broken(self, where: WherePredicate | None, rules: Sequence[BoundConstraint]) -> BrokenCounts:
        """Count rows by how many rules on single rows they break; see `count_broken`. Private.

        Raises
        ------
        SourceError
            If files have changed.
        """
        from dpdb.engine.broken import count_broken

        with self._counting("counting what rows break"):
            return count_broken(self.database, self.rows, where, rules, name=self._next_name())

    def broken_by_owner(
        self, where: WherePredicate | None, rules: Sequence[BoundConstraint], owner: str, told: Told
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Return the owners who break rules on single rows; see `broken_by_owner`. Private.

        Raises
        ------
        SourceError
            If files have changed.
        """
        from dpdb.engine.broken import broken_by_owner

        with self._counting("counting what owners break"):
            yield from broken_by_owner(
                self.database, self.rows, where, rules, owner=owner, told=told, name=self._next_name()
            )

    def admit_compared(self) -> None:
        """Admit every comparison: the rows are here."""

    def write_compared(self, columns: ComparedColumns, side: Side, where: WherePredicate | None, path: Path) -> None:
        """Write what is compared of a slice's rows into a new file; see `dpdb.engine.compared`. Private.

        Raises
        ------
        SourceError
            If files have changed.
        """
        from dpdb.engine.compared import write_compared

        with self._counting("reading what is compared"):
            write_compared(self.database, columns.query(side, self._source, where), path)

    @contextmanager
    def _counting(self, step: str) -> Iterator[None]:
        """Show a step; what it has counted is of one state of the rows, or not returned."""
        self._progress(step)
        yield
        self.refuse_change()

    def opened_content(self) -> str:
        """Describe the state of the rows when the table was opened; see `opened_content`. Private."""
        return (
            opened_content(self.database, self._source.own, self._tested)
            + self._choice()
            + self._across.opened_content()
            + "".join(table.opened_content() for table in self._source.beside)
        )

    def refuse_change(self, *, all_rows: bool = False) -> None:
        """Compare the state of files with that of the opening; see the base class.

        What was copied when it was opened (all but Parquet files and tables of DuckDB files; parents, too) is what it
        was, whatever becomes of its files. Nor does it matter for an answer what lies beside the files now, because no
        query reads it. In both cases the next opening finds other rows, and a ledger must know that: it asks for
        `all_rows`. After a failure inside our database nothing can be read: that is refused, too.
        """
        self.database.refuse_failure()
        source, of = self._source, ""
        changed = source.files is not None and source.files.state() != source.state
        if all_rows and not changed:
            changed = is_changed(source)
            if not changed and (self._across.is_changed() or any(table.is_changed() for table in source.beside)):
                changed, of = True, "a private parent of "
        if changed:
            raise SourceError(
                f"{of}{self.description}: changed after this session opened it; nothing is published: open a new "
                "session"
            )

    def has_old_parents(self) -> bool:
        """Compare the files of public parents with those that were copied; see the base class."""
        return self._across.has_old_public()

    def _choice(self) -> str:
        if self._kept is None:
            return ""
        from dpdb.engine.unit_rows import chosen_by

        return f"; {chosen_by(self._source.own)}"


class LocalEngine:
    """Our own DuckDB, which reads files and whatever lives in this process (implements `dpdb.engine.Engine`)."""

    def reads(self, source: SourceLike) -> bool:
        """Return True: what no other engine reads is read here, or refused."""
        del source
        return True

    def open(self, spec: TableSpec, rows: Reading, progress: Progress) -> LocalTable:
        """Open a source in a database of its own; see `open_table`."""
        database = own_database(spec.limits)
        with if_it_fails(database.close):
            progress("opening the table")
            if spec.sizes.gather_rows is not None:
                raise ParameterError("gather_rows applies to tables of other engines, whose rows come here")
            types, of_parents = types_of_parents(spec.csv_schema or {}, spec.parents)
            opened = open_source(
                database, spec.source, table=spec.table, csv_schema=types, rows=rows, delimiter=spec.delimiter
            )
            parents = opener_of(spec, of_parents, rows)
            if spec.unit_path is not None:
                from dpdb.engine.parents.opened import Parents
                from dpdb.engine.parents.reached import reached_rows

                assert isinstance(parents, Parents), "who only assumes parents has no unit beyond them"
                opened = reached_rows(database, opened, spec.unit_path, parents, spec.change.most)
            return LocalTable(database, opened, spec, parents=parents, progress=progress)


def described(description: str, schema: TableSchema | Mapping[str, str], spec: TableSpec) -> LocalTable:
    """Make a table without rows of a schema, or of column names with SQL types, called as somebody named it.

    Parameters
    ----------
    spec
        Constraints, parents and limits; its source is not opened.
    """
    database = own_database(spec.limits)
    with if_it_fails(database.close):
        columns = schema if isinstance(schema, TableSchema) else declared_schema(database, schema)
        source = Source(description, columns, without_rows(columns))
        return LocalTable(database, source, spec, parents=opener_of(spec, {}, Reading.NONE))


def own_database(limits: MachineLimits) -> Database:
    """Make the private database of a table."""
    return Database(**vars(limits))
