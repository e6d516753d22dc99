"""`LocalTable`: a table that our own DuckDB reads. What only some calls need is loaded by them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dpdb.database import Database
from dpdb.engine.bound_table import BoundTable
from dpdb.engine.interface import Progress, no_progress
from dpdb.engine.parents.across import ParentsOfTable, opener_of, types_of_parents
from dpdb.engine.setting_groups import MachineLimits
from dpdb.engine.slice import LocalSlice
from dpdb.engine.sql.where import WherePredicate
from dpdb.engine.table_spec import TableSpec
from dpdb.errors import ParameterError, SourceError
from dpdb.schema import TableSchema
from dpdb.sources import (
    Reading,
    Source,
    SourceLike,
    declared_schema,
    open_source,
    without_rows,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from dpdb.constraints import ConstraintsLike
    from dpdb.engine.closed_forms import RuleStatistic
    from dpdb.engine.dependency_counts import DependencyCounts
    from dpdb.engine.owners import OwnerQuestion

__all__ = ["LocalEngine", "LocalTable", "described", "own_database"]


class LocalTable(BoundTable):
    """A table whose rows our own DuckDB reads (implements `dpdb.engine.Table`)."""

    def with_constraints(self, constraints: ConstraintsLike | None) -> LocalTable:
        """Return the same rows under other constraints; see the base class."""
        return LocalTable(
            self.database,
            self._source,
            constraints=constraints,
            parents=self._parents,
            change=self._change,
            progress=self._progress,
            opened=self._origin or self,
        )

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

        self._progress("counting classes")
        found = count_classes(self.database, self.rows, self._measured(position), where)
        self.refuse_change()
        return found

    def count_rows(self, slices: Sequence[WherePredicate | None]) -> list[int]:
        """Count the rows of many slices in one scan. Private."""
        from dpdb.engine.sql.count import count_rows

        return count_rows(self.database, self.rows, slices, name=self._next_name())

    def count_all(self, where: WherePredicate | None, asked: Sequence[RuleStatistic]) -> list[int]:
        """Count exact statistics of rules; see `count_all`. Private.

        Raises
        ------
        SourceError
            If files have changed: they are read several times, and what is counted must be of one table.
        """
        from dpdb.engine.count_all import count_all

        self._progress("counting groups")
        found = count_all(self.database, self.rows, where, asked, name=self._next_name())
        self.refuse_change()
        return found

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
        from dpdb.engine.sql.input_rows import typed_rows

        self._progress("counting groups")
        found = count_dependencies(
            lambda query: self.database.rows(query)[0],
            lambda names: typed_rows(self.rows, names),
            columns,
            pairs,
            spread=spread,
        )
        self.refuse_change()
        return found

    def count_owners(self, owner: str, asked: Sequence[OwnerQuestion]) -> list[int]:
        """Count the owners whose rows violate rules; see `count_owners`. Private.

        Parameters
        ----------
        owner, asked
            As there.

        Raises
        ------
        SourceError
            If files have changed.
        """
        from dpdb.engine.owners import count_owners

        self._progress("counting owners")
        found = count_owners(self.database, self.rows, owner, asked, name=self._next_name())
        self.refuse_change()
        return found

    def opened_content(self) -> str:
        """Describe the state of the rows when the table was opened; see `opened_content`. Private."""
        from dpdb.sources import opened_content

        return (
            opened_content(self.database, self._source, self._tested) + self._choice() + self._across.opened_content()
        )

    def refuse_change(self, *, all_rows: bool = False) -> None:
        """Compare the state of files with that of the opening; see the base class.

        What was copied when it was opened (all but Parquet files and tables of DuckDB files; parents, too) is what it
        was, whatever becomes of its files. Nor does it matter for an answer what lies beside the files now, because no
        query reads it. In both cases the next opening finds other rows, and a ledger must know that: it asks for
        `all_rows`.
        """
        source, of = self._source, ""
        changed = source.files is not None and source.files.state() != source.state
        if all_rows and not changed:
            from dpdb.sources import is_changed

            changed = is_changed(source)
            if not changed and self._across.is_changed():
                changed, of = True, "a private parent of "
        if changed:
            raise SourceError(
                f"{of}{self.description}: changed after this session opened it; nothing is published: open a new "
                "session"
            )

    def _choice(self) -> str:
        if self._kept is None:
            return ""
        from dpdb.engine.unit_rows import chosen_by

        return f"; {chosen_by(self._source)}"


class LocalEngine:
    """Our own DuckDB, which reads files and whatever lives in this process (implements `dpdb.engine.Engine`)."""

    def reads(self, source: SourceLike) -> bool:
        """Return True: what no other engine reads is read here, or refused."""
        del source
        return True

    def open(self, spec: TableSpec, rows: Reading, progress: Progress) -> LocalTable:
        """Open a source in a database of its own; see `open_table`.

        Parameters
        ----------
        spec, rows, progress
            As of `Engine.open`.
        """
        database = own_database(spec.limits)
        try:
            progress("opening the table")
            if spec.sizes.gather_rows is not None:
                raise ParameterError("gather_rows applies to tables of other engines, whose rows come here")
            types, of_parents = types_of_parents(spec.csv_schema or {}, spec.parents)
            opened = open_source(
                database, spec.source, table=spec.table, csv_schema=types, rows=rows, delimiter=spec.delimiter
            )
            return _of_spec(database, opened, spec, opener_of(spec, of_parents, rows), progress)
        except BaseException:
            database.close()
            raise


def described(description: str, schema: TableSchema | Mapping[str, str], spec: TableSpec) -> LocalTable:
    """Make a table without rows of a schema, or of column names with SQL types, called as somebody named it.

    Parameters
    ----------
    description
        What messages call the table.
    schema
        A schema, or SQL types by column name.
    spec
        Constraints, parents and limits; its source is not opened.
    """
    database = own_database(spec.limits)
    try:
        columns = schema if isinstance(schema, TableSchema) else declared_schema(database, schema)
        source = Source(description, columns, without_rows(columns))
        return _of_spec(database, source, spec, opener_of(spec, {}, Reading.NONE))
    except BaseException:
        database.close()
        raise


def own_database(limits: MachineLimits) -> Database:
    """Make the private database of a table."""
    return Database(**vars(limits))


def _of_spec(
    database: Database,
    source: Source,
    spec: TableSpec,
    parents: ParentsOfTable | None,
    progress: Progress = no_progress,
) -> LocalTable:
    return LocalTable(
        database, source, constraints=spec.constraints, parents=parents, change=spec.change, progress=progress
    )
