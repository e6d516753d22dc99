"""`RemoteSlice`: a slice of a remote table. What an aggregate can say is asked there; the conflict graph is made here.

Only rows in conflict come, so the graph lacks rows without conflicts. That changes no statistic of it: none counts rows
of degree 0, and the canonical order of the rows that are here is the one that they have among all rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from dpdb.engine import (
    HASH,
    Alike,
    Edges,
    GroupForm,
    Hashes,
    KeysForm,
    LocalSlice,
    Progress,
    SteppedForm,
    Thinning,
    count_decisions,
    count_gathered,
    count_thinned,
    count_together,
    counted_in_any_case,
    group_count,
    histogram_of,
    key_histogram,
    no_progress,
    of_key,
    sharing_rows,
    stepped_count,
    violating_alone,
)
from dpdb.engine.sql import ROW, BoundConstraint, BoundPredicate, CountedGroups, WherePredicate
from dpdb.engine.sql.class_histograms import HISTOGRAM, class_histogram, class_histograms
from dpdb.engine.sql.joins import degree_terms, evaluate
from dpdb.remote.asking import (
    ROWS,
    Asking,
    columns_read,
    counted_alone,
    fetched,
    hash_counts,
    in_parts,
    in_queries,
    numbered,
)
from dpdb.remote.gather import rows_in_conflict
from dpdb.remote.table import new_name
from dpdb.remote.thinning import RemoteThinning, may_be_thinned
from dpdb.thresholds import MOST_SHARED

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dpdb.engine import ClassHistogram, Form, RuleStatistic, StatisticKind

_BITS = 2**40 - 1
"""What is left of a hash: that is what is shuffled. Of a billion rows one in a thousand shares it by chance."""


@dataclass(frozen=True)
class _RemoteKeys:
    """Hashes of rows, compared there (implements `dpdb.engine.count_classes.KeyRows`)."""

    asking: Asking

    def row_hash(self, values: Sequence[exp.Expr]) -> exp.Expr:
        """Hash as rows are hashed there, in as many bits as travel."""
        mask = exp.BitwiseAnd(this=exp.paren(self.asking.spelling.row_hash(values)), expression=exp.convert(_BITS))
        return exp.cast(mask, "BIGINT")

    def hashes(self, query: exp.Select) -> Hashes | None:
        """Let hashes be grouped; None if too many are shared. Private."""
        spread = self.asking.spelling.spread(query, HASH)
        answer = self.asking.ask(hash_counts(spread, HASH, int(MOST_SHARED.at) + 1))
        if answer.num_rows > MOST_SHARED.at:
            return None
        shared, counts = (column.combine_chunks() for column in answer.columns)
        return Hashes(shared.drop_null(), sum(counts.filter(shared.is_null()).to_pylist()))

    @contextmanager
    def lent(self, shared: pa.Array) -> Iterator[exp.Expr]:
        """Lend hashes under a name that no other process uses."""
        table, name = self.asking.table, new_name()
        try:
            yield table.lend(name, pa.table([shared], [HASH.name]))
        finally:
            table.take_back(name)

    def grouped(self, query: exp.Select) -> pa.Table:
        """Ask a query. Private."""
        return self.asking.ask(query).cast(HISTOGRAM)


class _RehearsedKeys(_RemoteKeys):
    """Hashes of no rows, of which one is said to be shared: then all is asked that may be (`histogram_of`)."""

    def hashes(self, query: exp.Select) -> Hashes:
        """Let the hashes be grouped, and make one up."""
        super().hashes(query)
        return Hashes(pa.array([0], pa.int64()), _BITS)


def count_alike(asking: Asking, alike: Alike, where: WherePredicate | None) -> dict[Form, dict[StatisticKind, int]]:
    """Count forms that differ in their conditions alone there, some hundred by a query or two. Private.

    Keys are counted by their hashes where the engine hashes rows that it does not have to choose first.
    """
    found: dict[Form, dict[StatisticKind, int]] = {}
    for places in in_queries(asking.schema, [form.columns for form in alike.forms]):
        part = Alike(tuple(alike.forms[place] for place in places))
        rows = asking.selected(part.columns, where).subquery()
        counted = None
        if not part.classes and asking.spelling.hashes_keys and isinstance(asking.rows, exp.Table):
            there = (_RemoteKeys if asking.sees_rows else _RehearsedKeys)(asking)
            counted = count_thinned(there, asking.row, part, rows)
        if counted is None or not asking.sees_rows:  # asked of no rows, too, where too many hashes are shared
            counted = count_together(asking.row, part, rows)
        found |= zip(part.forms, counted, strict=True)
    return found


class RemoteSlice:
    """The conflict graph of one slice of a remote table (implements `dpdb.engine.Slice`).

    Nothing is asked before it is needed. Parameters as `LocalSlice`.
    """

    def __init__(
        self,
        asking: Asking,
        constraints: Sequence[BoundConstraint],
        where: WherePredicate | None,
        *,
        name: str,
        lists_edges: bool = False,
        progress: Progress = no_progress,
    ) -> None:
        self.lists_edges = lists_edges
        self._asking, self._where, self._name, self._progress = asking, where, name, progress
        self.constraints = tuple(constraints)
        self._made: LocalSlice | None = None

    # -- what aggregates say --------------------------------------------------------------------------------------

    @cached_property
    def _counts(self) -> tuple[int, int]:
        """Rows, and those of them that conflict with themselves."""
        self._progress("counting rows there")
        asking = self._asking
        counts = numbered([exp.Count(this=exp.Star()), counted_alone(self.constraints)])
        rows = asking.selected(columns_read(self.constraints), self._where).subquery(ROWS.name)
        every, alone = asking.row(counts.from_(rows))
        return int(every), int(alone)

    @property
    def row_count(self) -> int:
        """Rows of the slice, with and without conflicts. Private."""
        return self._counts[0]

    @cached_property
    def self_conflicts(self) -> int:
        """Rows that conflict with themselves. Private."""
        return self._counts[1]

    def degree_bound(self) -> int:
        """Exact upper bound of the maximum degree. Private."""
        self._progress("counting groups there")
        terms = degree_terms(self.constraints)
        return evaluate(terms, CountedGroups(self._tuples().subquery(ROW), self._asking.value))

    def _tuples(self, beside: Sequence[str] = ()) -> exp.Select:
        return self._asking.tuples(self.constraints, self._where, beside)

    def class_histograms(self) -> list[pa.Table]:
        """Count classes of rows; see `dpdb.engine.Table`. Private."""
        self._progress("counting classes there")
        rows = self._tuples().subquery()
        return [self._histogram(each, rows) for each in class_histograms(self.constraints, self._asking.schema)]

    def count(self, asked: RuleStatistic) -> int:
        """Count an exact statistic of the slice's constraints: the rows that violate one alone, then the others."""
        alone = violating_alone(asked, self.self_conflicts if asked.alone else 0)
        return alone + (self._count_groups(asked) if asked.by_aggregates else self._count_gathered(asked))

    def _count_groups(self, asked: RuleStatistic) -> int:
        """Count there what must go of the groups of a form, or a statistic of another kind; see `count_all`."""
        asking, form, rows = self._asking, asked.form, self._tuples().subquery()
        if asked.kind == "decision bits":
            assert isinstance(form, (GroupForm, SteppedForm)), "no other form has bits"
            return count_decisions(asking.rows_of, form, rows)
        if isinstance(form, KeysForm):
            return int(asking.value(sharing_rows(form, rows)))
        if isinstance(form, SteppedForm):
            return int(asking.value(stepped_count(form, rows)))
        assert isinstance(form, GroupForm), "no other form is counted by aggregates"
        if form.is_key and form.equal:
            return of_key(self._histogram(key_histogram(form), rows))[asked.kind]
        return int(asking.value(group_count(form, rows)))

    def _count_gathered(self, asked: RuleStatistic) -> int:
        """Count here what must go of the rows in conflict: their closed form needs them in order, or a matching.

        It is that of all rows. A row without conflict is in every largest set of rows without conflict, so that with it
        or without it equally many rows are outside such a set; and which rows are in conflict does not change by the
        rows that are left out. Intervals that end before they begin come in any case where each of them counts. Fewer
        rows do not do: what `RemoteThinning` proves of some of them is a fractional cover.
        """
        self._progress("gathering the rows in conflict")
        asking = self._asking
        pairwise = tuple(bound for bound in asked.constraints if not bound.constraint.is_single_tuple)
        columns = asking.stored_columns(pairwise)
        tuples = self._tuples(columns)
        query = rows_in_conflict(tuples, pairwise, columns, besides=counted_in_any_case(asked.form, ROW))
        with fetched(asking, self._name, columns, in_parts(asking, query, columns)) as rows:
            return count_gathered(asking.database, rows, replace(asked, constraints=pairwise), name=self._name)

    def _histogram(self, histogram: ClassHistogram, rows: exp.Subquery) -> pa.Table:
        """Count classes; a key by its hashes, unless each query chose the rows of units again, which is slower."""
        there = (_RemoteKeys if self._asking.sees_rows else _RehearsedKeys)(self._asking)
        if self._asking.spelling.hashes_keys and isinstance(self._asking.rows, exp.Table):
            if not self._asking.sees_rows:
                there.grouped(class_histogram(histogram, rows))  # asked where too many hashes are shared
            return histogram_of(there, histogram, rows)
        return there.grouped(class_histogram(histogram, rows))

    # -- what needs the rows in conflict --------------------------------------------------------------------------

    @property
    def gathered(self) -> LocalSlice:
        """The rows in conflict, ranked in our own database; they come at the first use. Private."""
        if self._made is None:
            self._progress("gathering the rows in conflict")
            self._made = self._gather()
        return self._made

    def _gather(self) -> LocalSlice:
        asking = self._asking
        columns = asking.stored_columns(self.constraints)
        query = rows_in_conflict(self._tuples(columns), self.constraints, columns)
        with fetched(asking, self._name, columns, in_parts(asking, query, columns)) as rows:
            return LocalSlice(
                asking.database,
                rows,
                self.constraints,
                None,
                name=self._name,
                lists_edges=self.lists_edges,
                progress=self._progress,
            )

    @cached_property
    def node_count(self) -> int:
        """Rows in the graph. Private."""
        return self.gathered.node_count

    @property
    def edges(self) -> Edges:
        """The edges, listed. Private."""
        return self.gathered.edges

    def first_violations(self, positions: Sequence[int], most: float) -> Mapping[int, Edges] | None:
        """List the edges that violate each of some constraints first. Private."""
        return self.gathered.first_violations(positions, most)

    def codes(self, columns: Sequence[str]) -> Mapping[str, NDArray[np.int32]]:
        """Return constrained columns in rank order, as codes. Private."""
        return self.gathered.codes(columns)

    def rows_that(self, conditions: Sequence[Sequence[BoundPredicate]]) -> list[NDArray[np.bool_]]:
        """Mark the rows that meet each condition. Private."""
        return self.gathered.rows_that(conditions)

    def canonical_order(self, rows: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """Sort rows of the graph canonically. Private."""
        return self.gathered.canonical_order(rows)

    def count_codes(self, asked: RuleStatistic) -> None:
        """Offer nothing: the rows are elsewhere, and counted there."""

    def thinning(self) -> Thinning | None:
        """Offer parts of the rows in conflict, unless all have come or are needed. Private."""
        if self._made is not None or self.lists_edges or not may_be_thinned(self.constraints):
            return None
        self._progress("gathering the rows in conflict")
        self._progress = no_progress  # whether more have to come is private
        return RemoteThinning(self._asking, self.constraints, self._where, name=self._name)

    def close(self) -> None:
        """Drop what has come."""
        if self._made is not None:
            self._made.close()
