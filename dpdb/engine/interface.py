"""The engine as the packages above know it: an `Engine` opens tables, a `Table` gives slices, a `Slice` its graph.

No type of a database occurs here, so that another engine is a folder beside `duckdb` and a line in `ENGINES`.
Everything public (schema, bound constraints, bound predicates) is known as soon as a table is open; whatever reads rows
says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from dpdb.constraints import ConstraintsLike, UnitPath
    from dpdb.engine.broken import BrokenCounts, Told
    from dpdb.engine.closed_forms import RuleStatistic, StatisticKind
    from dpdb.engine.compared import ComparedColumns, Side
    from dpdb.engine.dependency_counts import DependencyCounts
    from dpdb.engine.owners import OwnerQuestion
    from dpdb.engine.parents.across import BoundInclusion
    from dpdb.engine.sql.bind import BoundConstraint, BoundPredicate
    from dpdb.engine.sql.where import WherePredicate
    from dpdb.engine.table_spec import TableSpec
    from dpdb.predicates import LiteralValue
    from dpdb.predicates.nodes import Literal
    from dpdb.schema import TableSchema
    from dpdb.sources import Reading, SourceLike

# Called with the names of long steps, never with a number: how long a step takes or how much it found is private.
Progress: TypeAlias = Callable[[str], None]


def no_progress(step: str) -> None:
    """Report nothing."""
    del step


class Engine(Protocol):
    """An opener of tables."""

    def reads(self, source: SourceLike) -> bool:
        """Say whether sources of this kind are this engine's."""

    def open(self, spec: TableSpec, rows: Reading, progress: Progress) -> Table:
        """Open the source of a spec; see `open_table`.

        Parameters
        ----------
        progress
            Called with the name of each long step.
        """


class Table(AbstractContextManager["Table"], Protocol):
    """An open table: a context manager, to be used in one thread.

    Attributes
    ----------
    description : str
        What the user named, for messages and `repr`.
    written : tuple of (str, int)
        Every constraint as it was written, equal ones too, and the place of what it says in `constraints`.
    unit : str or None
        The column whose values own the rows, as the table spells it.
    reached : UnitPath or None
        The keys that lead to this column, where it is one of another table.
    lists_edges : bool
        Whether the owner asked for the table of all edges (the setting `edges`). Public.
    """

    description: str
    schema: TableSchema
    constraints: tuple[BoundConstraint, ...]
    written: tuple[tuple[str, int], ...]
    inclusions: tuple[BoundInclusion, ...]
    unit: str | None
    reached: UnitPath | None
    lists_edges: bool

    def with_constraints(self, constraints: ConstraintsLike | None) -> Table:
        """Return the same rows under other constraints: the source is not opened again.

        Closing it drops nothing; it ends with the table that was opened. Errors as the opening.
        """

    def where(self, text: str) -> WherePredicate:
        """Check and type a predicate. Reads no row. Errors as `parse_where`."""

    def selected(self, text: str) -> WherePredicate:
        """Check and type the condition of a rule's rows, in which members of its constraints may be. Reads no row."""

    def literals(self, values: Sequence[LiteralValue], column_type: str) -> list[Literal | None]:
        """Type values for comparison with a column of a type; None for what is no value of it. Reads no row."""

    def equal_values(self, literals: Sequence[Literal]) -> tuple[int, int] | None:
        """Find two literals of one type that the engine takes as equal, by their positions. Reads no row."""

    def texts_of(self, literals: Sequence[Literal]) -> list[str]:
        """Return the texts by which the engine shows values, one text for each value. Reads no row."""

    def admit(self, row_bound: int | None) -> None:
        """Refuse constraints by shape that this engine cannot check. Reads no row.

        Raises
        ------
        ParameterError
            If nothing but comparing every row with every other one would do, and no public bound of rows admits it.
        """

    def admit_graph(self) -> None:
        """Refuse a conflict graph for which something public is missing. Reads no row; errors as `admit`."""

    def slice(self, where: WherePredicate | None = None, *, position: int | None = None) -> Slice:
        """Read the rows that a predicate selects (None: all) for their conflict graph.

        With `position` the graph is that of one constraint alone, by its place in `constraints`.
        """

    def class_histograms(
        self, where: WherePredicate | None = None, *, position: int | None = None
    ) -> tuple[int, Sequence[pa.Table]]:
        """Count classes of the rows that `slice` would read, by GROUP BY alone: nothing is copied or ranked. Private.

        Returns how many rows violate a single-tuple constraint, and of the others the answer to `class_histogram` for
        each of `dpdb.engine.class_histograms`, in this order.
        """

    def count_rows(self, slices: Sequence[WherePredicate | None]) -> list[int]:
        """Count the rows of many slices in one scan. Private."""

    def listed_keys(self, column: str, keys: Sequence[str]) -> list[str]:
        """Return a long public list of keys as texts, one for each value of a column. Reads no row.

        Raises
        ------
        ParameterError
            If a key is no value of the column, two are the same, or such lists are not counted here.
        """

    def count_keys(self, where: WherePredicate | None, column: str, keys: Sequence[str]) -> list[int]:
        """Count the rows of each of many keys, as `listed_keys` returns them, in one scan. Private."""

    def exact_statistic(
        self, constraints: Sequence[BoundConstraint], kind: StatisticKind = "violations", *, reversed_go: bool = False
    ) -> RuleStatistic | None:
        """Return the exact statistic of constraints that `count_all` counts here, or None; see `exact_statistic`.

        Reads no row.
        """

    def count_all(self, where: WherePredicate | None, asked: Sequence[RuleStatistic]) -> list[int]:
        """Count exact statistics of rules over the rows that a predicate selects: of `exact_statistic` alone. Private.

        What reads the same rows in the same way is counted together, so that many rules need few scans.
        """

    def count_broken(self, where: WherePredicate | None, rules: Sequence[BoundConstraint]) -> BrokenCounts:
        """Count rows of a slice by how many rules on single rows they break; see `count_broken`. Private."""

    def broken_by_owner(
        self, where: WherePredicate | None, rules: Sequence[BoundConstraint], owner: str, told: Told
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Return the owners of a slice's rows who break rules on single rows; see `broken_by_owner`. Private."""

    def count_owners(self, owner: str, asked: Sequence[OwnerQuestion]) -> list[int]:
        """Count the owners (values of a column) for whom each question is true; see `count_owners`. Private."""

    def why_not_grouped(self, name: str) -> str | None:
        """Say why rows are not grouped by a column here; None if they are. Reads no row."""

    def count_dependencies(
        self, columns: Sequence[str], pairs: Sequence[tuple[str, str]], *, spread: bool = False
    ) -> DependencyCounts:
        """Count columns and pairs of them, of those that rows are grouped by; see `count_dependencies`. Private."""

    def admit_compared(self) -> None:
        """Refuse a comparison for which something public is missing. Reads no row; errors as `admit`."""

    def write_compared(self, columns: ComparedColumns, side: Side, where: WherePredicate | None, path: Path) -> None:
        """Write what is compared of a slice's rows into a new file, beside which another table's is read. Private.

        Of all rows, also those of a unit beyond the limit: a unit is a key, and counts once with all its rows. See
        `dpdb.engine.compared`.
        """

    def rehearse(self, slices: Sequence[WherePredicate | None], *, counts: bool) -> None:
        """Do with a table without rows what a release of many slices, or under many constraints, will do.

        So what their number alone takes, of memory above all, fails before a debit. Reads no row; few are let pass.

        Raises
        ------
        EngineError
            If that fails.
        """

    def without_rows(self) -> Table | None:
        """Return the same table as if it and its parents had no row; None where our own database answers.

        Another engine may not know all that it is asked. Asked of no rows before a debit, that is found for public
        reasons alone.
        """

    def opened_content(self) -> str:
        """Describe the state of the rows when the table was opened. Private: a ledger keeps it under its own key."""

    def refuse_change(self, *, all_rows: bool = False) -> None:
        """Raise `SourceError` if what is read may be of several tables: the rows are not those of the opening.

        Or if nothing can be read, because our own database has failed inside.

        Of files that every query reads anew their state is looked at. Where the rows have to be read for it, nothing is
        done if nothing was read since it was called last and found nothing, or if only one state of them can be read.
        With `all_rows` it is also raised if somebody who opens the table now finds other rows, read or not.
        """

    def has_old_parents(self) -> bool:
        """Whether who opens the table now finds other rows in a public parent. No release is refused for that.

        Raises
        ------
        SourceError
            If a parent's file is no longer there.
        """

    def forget_rows(self) -> None:
        """Read rows anew that were copied, with a release that was not published: they may be of another state."""

    @property
    def read_as(self) -> str:
        """How text is cut into rows, where the schema does not tell: with another one, the rows are others. Public."""

    @property
    def reading(self) -> str:
        """By which rule cells of text become values of declared types: by another one, they are others. Public."""

    @property
    def public_keys(self) -> Mapping[str, str]:
        """Digests of the keys of public parents, by name, as they were when the table was opened."""

    def close(self) -> None:
        """Drop everything that was made of the table. May be called twice."""


class Edges(Protocol):
    """The edges of a conflict graph in canonical order (see `dpdb.engine.sql.coded_rows`); what `dpdb.graph` scans."""

    @property
    def node_count(self) -> int:
        """Rows in the graph."""

    @property
    def edge_count(self) -> int:
        """Edges. Private."""

    def batches(self) -> Iterator[tuple[NDArray[np.uint32], NDArray[np.uint32]]]:
        """Start a new scan: arrays (u, v) of ranks, u below v."""


class Slice(Protocol):
    """The rows that a predicate selects, ranked. Its numbers are private.

    Attributes
    ----------
    constraints : tuple of BoundConstraint
        In the order in which they order edges.
    lists_edges : bool
        Whether all statistics of its graph come from `edges`: as its table says.
    """

    constraints: tuple[BoundConstraint, ...]
    lists_edges: bool

    @property
    def self_conflicts(self) -> int:
        """Rows that violate a single-tuple constraint; they are not in the graph."""

    @property
    def node_count(self) -> int:
        """Rows in the graph; an engine may leave out rows without conflicts."""

    @property
    def row_count(self) -> int:
        """Rows of the slice, with and without conflicts: one row changes it by 1."""

    @property
    def edges(self) -> Edges:
        """The edges, listed."""

    def first_violations(self, positions: Sequence[int], most: float) -> Mapping[int, Edges] | None:
        """List, in any order, the edges that violate each constraint at `positions` of those over two tuples first.

        None if they are more than `most` together.
        """

    def codes(self, columns: Sequence[str]) -> Mapping[str, NDArray[np.int32]]:
        """Return constrained columns, rows in the slice's own order: order-preserving codes, -1 for NULL."""

    def rows_that(self, conditions: Sequence[Sequence[BoundPredicate]]) -> list[NDArray[np.bool_]]:
        """Mark, in the same order, the rows that meet each condition: all of some predicates that read one tuple."""

    def canonical_order(self, rows: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """Sort rows, by default all, canonically: ascending positions in the slice's own order."""

    def degree_bound(self) -> int:
        """Return the upper bound of the maximum degree that `degree_terms` describes."""

    def count_codes(self, asked: RuleStatistic) -> int | None:
        """Count an exact statistic of the slice's constraints over the codes that are here; None if these do not do.

        Which rules they do for is public.
        """

    def thinning(self) -> Thinning | None:
        """Offer parts of the rows that may do for a fractional cover; None where all rows in conflict are here."""

    def close(self) -> None:
        """Drop what was made of the slice."""


@dataclass(frozen=True)
class Partners:
    """How many of the rows come that only special rows conflict with: `ratio` for each of those, and `least` more."""

    ratio: int
    least: int


class Thinning(Protocol):
    """Parts of the rows of a slice that have a row of each conflict. Its numbers are private.

    Attributes
    ----------
    orders : sequence of int
        Positions of order rules, among `constraints`: which of their values come has to be said.
    """

    orders: Sequence[int]
    constraints: tuple[BoundConstraint, ...]

    def values(self, position: int) -> tuple[Slice, NDArray[np.int64]]:
        """Return the distinct values of the rows that may conflict through an order rule, under it alone.

        And how many rows have each, in the slice's own order. It is kept until `close`.
        """

    def part(
        self, partners: Partners, chosen: Mapping[int, tuple[NDArray[np.float64], NDArray[np.bool_]]]
    ) -> tuple[Slice, NDArray[np.bool_]]:
        """Return rows that come, under `constraints`, and mark those that are open, in the slice's own order.

        Of every conflict an end comes, and if the other end does not come, it is open. The caller closes the slice.

        Parameters
        ----------
        chosen
            Of each order rule, in the order of its `values`: what share of the rows of each value comes, and whether
            they are open. As for the whole: of every conflict one value comes whole, and if the other does not, it is
            open.
        """

    def close(self) -> None:
        """Drop what was made for it."""
