"""The choice of a slice's conflict graph: blocks of rows where a constraint allows, listed edges where none does.

Both scan in one canonical order, so every statistic is the same value on either. The choice reads constraint shapes,
and how many edges are to be listed beside blocks (`dpdb.thresholds`); it changes time and memory, never an answer or a
step that is shown. The time to be expected follows from the same public facts: constraint shapes and the mechanism.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpdb.constraints import BlockShape
from dpdb.engine import BoundConstraint, BoundPredicate, Slice, class_histograms, coincidences, has_class_histogram
from dpdb.graph import (
    BlockConstraint,
    BlockGraph,
    EdgeGraph,
    ListedConstraint,
    all_of_rows,
    by_class,
    by_edges,
    by_order,
    by_two_classes,
    called_all,
    load_block_kernels,
    load_counted_projection,
    load_edge_kernels,
)
from dpdb.schema import TableSchema
from dpdb.thresholds import MOST_LISTED

ConflictGraph = BlockGraph | EdgeGraph

Codes: TypeAlias = NDArray[np.int32]
Flags: TypeAlias = NDArray[np.bool_]
Condition: TypeAlias = tuple[BoundPredicate, ...]


def load_kernels(
    constraints: Sequence[BoundConstraint], statistics: Iterable[str], *, lists_edges: bool = False
) -> None:
    """Load the kernels that some statistics of a slice's conflict graph under these constraints need.

    Compiles them the first time on a machine. Reads constraint shapes only; see `dpdb.graph.loading`.

    Parameters
    ----------
    lists_edges : bool
        Whether all edges are listed, as `Slice.lists_edges`.
    """
    shapes = [dc.shape for dc in constraints if not dc.constraint.is_single_tuple]
    ordered = any(shape is not None and shape.order is not None for shape in shapes)
    listed = None in shapes or lists_edges
    for statistic in statistics:
        if not lists_edges and (any(shapes) or not shapes):
            load_block_kernels(statistic, ordered=ordered, listed=listed, alone=len(shapes) == 1)
        if listed:
            load_edge_kernels(statistic)
        elif statistic == "projected_edges":
            load_counted_projection()


def conflict_graph(slice_: Slice, *, whole: bool = False) -> ConflictGraph:
    """Return the conflict graph of a slice: all edges listed if no constraint has blocks or the slice is to list them.

    Where every constraint has blocks, its nodes are the rows in conflict alone, and no other row is sorted or scanned:
    the blocks, which need no order, tell which these are. The graph without the isolated nodes has the same edges, so
    every degree, cover and matching is the same. Scans are, too: the canonical order of the rows that stay is the
    restriction of the order of all (`dpdb.engine.sql.coded_rows`), so the edges come in the same sequence, and a scan
    does nothing at a row without edges. Which constraints have blocks is public; how many rows stay changes time only.

    Parameters
    ----------
    whole : bool
        Keep all rows: node i is the row of rank i in `slice_.canonical_order()`. Else in that of the nodes.
    """
    pairwise = [dc for dc in slice_.constraints if not dc.constraint.is_single_tuple]
    shapes = [dc.shape for dc in pairwise]
    if slice_.lists_edges or (shapes and not any(shapes)):
        return EdgeGraph(slice_.edges)
    edges = slice_.first_violations([k for k, shape in enumerate(shapes) if shape is None], MOST_LISTED.at)
    if edges is None:
        return EdgeGraph(slice_.edges)
    blocks = _blocks(slice_, {k: (pairwise[k], shape) for k, shape in enumerate(shapes) if shape is not None})
    order = slice_.canonical_order(None if edges or whole else _in_conflict(blocks.values(), slice_.node_count))
    by_place: dict[int, BlockConstraint | ListedConstraint] = {k: by_edges(each) for k, each in edges.items()}
    by_place |= all_of_rows(blocks, order)
    constraints = [by_place[k] for k in range(len(pairwise))]
    tested = np.array(coincidences(pairwise), np.bool_).reshape(len(pairwise), len(pairwise))
    return BlockGraph(order.size, constraints, tested)


def block_graph(slice_: Slice) -> BlockGraph:
    """Return the conflict graph of a slice whose constraints all have blocks, with all its rows, in its own order.

    For what does not depend on their order: no row is sorted.
    """
    return BlockGraph(slice_.node_count, list(_blocks(slice_, _shaped(slice_)).values()))


def order_block(slice_: Slice, copies: NDArray[np.int64]) -> BlockConstraint:
    """Return the only constraint of a slice over rows with copies; the copies of a row are consecutive."""
    (block,) = _blocks(_Copied(slice_, copies), _shaped(slice_)).values()
    return block


def _shaped(slice_: Slice) -> dict[int, tuple[BoundConstraint, BlockShape]]:
    shapes = [dc.shape for dc in slice_.constraints]
    return {k: (dc, shape) for k, (dc, shape) in enumerate(zip(slice_.constraints, shapes, strict=True)) if shape}


class _RowsOfASlice(Protocol):
    """The methods of `Slice` that read its rows."""

    @property
    def node_count(self) -> int: ...

    def codes(self, columns: Sequence[str]) -> Mapping[str, Codes]: ...

    def rows_that(self, conditions: Sequence[Sequence[BoundPredicate]]) -> list[Flags]: ...


class _Copied:
    """The rows of a slice, each repeated by its number of copies."""

    def __init__(self, slice_: Slice, copies: NDArray[np.int64]) -> None:
        self._slice, self._copies = slice_, copies
        self.node_count = int(copies.sum())

    def codes(self, columns: Sequence[str]) -> dict[str, Codes]:
        return {name: np.repeat(codes, self._copies) for name, codes in self._slice.codes(columns).items()}

    def rows_that(self, conditions: Sequence[Sequence[BoundPredicate]]) -> list[Flags]:
        return [np.repeat(met, self._copies) for met in self._slice.rows_that(conditions)]


def _blocks(
    slice_: _RowsOfASlice, constraints: Mapping[int, tuple[BoundConstraint, BlockShape]]
) -> dict[int, BlockConstraint]:
    """Build the constraints over the slice's rows in its own order."""
    rows = _Rows(slice_, list(constraints.values()))
    longest_first = sorted(constraints, key=lambda k: constraints[k][1].order is None)  # so that threads end together
    blocks = called_all([partial(rows.block, *constraints[k]) for k in longest_first])
    found = dict(zip(longest_first, blocks, strict=True))
    return {k: found[k] for k in constraints}


def _in_conflict(constraints: Iterable[BlockConstraint], row_count: int) -> NDArray[np.int64]:
    found = np.zeros(row_count, np.bool_)
    for constraint in constraints:
        found |= constraint.group >= 0
    return np.flatnonzero(found)


def has_blocks(dc: BoundConstraint) -> bool:
    """Return whether a constraint's conflicts lie inside groups of rows, so that none is listed. Public: its shape."""
    return dc.shape is not None


class _Rows:
    """The inputs of blocks: codes of columns, and the rows that meet each condition."""

    def __init__(self, slice_: _RowsOfASlice, constraints: Sequence[tuple[BoundConstraint, BlockShape]]) -> None:
        columns = dict.fromkeys(name for _, shape in constraints for name in shape.columns)
        conditions = dict.fromkeys(each for dc, shape in constraints for each in _conditions(dc, shape) if each)
        self._row_count = slice_.node_count
        self._codes: Mapping[str, Codes] = slice_.codes(list(columns))
        self._met = dict(zip(conditions, slice_.rows_that(list(conditions)), strict=True))

    def block(self, dc: BoundConstraint, shape: BlockShape) -> BlockConstraint:
        """Build one constraint. A row that cannot conflict has no group, as if a column of it were NULL."""
        codes, count = self._codes, self._row_count
        equal = [codes[name] for name in shape.equal]
        differing = [codes[name] for name in shape.differing]
        present = [codes[name] >= 0 for name in shape.known]
        met = [self._met.get(condition, np.ones(count, np.bool_)) for condition in _conditions(dc, shape)]
        if not shape.alike:
            differing.append(_sides(*met))
        elif shape.is_conditional:
            present.append(met[0])
        if present:
            absent = ~np.logical_and.reduce(present)
            equal = [np.where(absent, np.int32(-1), column) for column in equal or [np.zeros(count, np.int32)]]
        if shape.order is not None:
            order = shape.order
            return by_order(
                equal,
                codes[order.first],
                codes[order.second],
                opposite=order.opposite,
                row_count=count,
                ties=(order.first_ties, order.second_ties),
            )
        if len(differing) == 2:
            return by_two_classes(equal, differing[0], differing[1], count)
        return by_class(equal, differing[0] if differing else None, count)


def _conditions(dc: BoundConstraint, shape: BlockShape) -> list[Condition]:
    """Return the conditions of both rows; none of the second row if they are the same."""
    places = [shape.first] if shape.alike else [shape.first, shape.second]
    return [tuple(dc.predicates[place] for place in each) for each in places]


def _sides(first: Flags, second: Flags) -> Codes:
    """Number rows so that two differ iff one of them meets the first condition and the other the second one.

    Rows that meet the same one only are alike, rows that meet both are like no other, rows that meet none have none.
    """
    own = np.arange(2, first.size + 2, dtype=np.int32)
    numbers = np.select([first & second, first, second], [own, np.int32(0), np.int32(1)], np.int32(-1))
    return numbers.astype(np.int32)


# From this many rows on, seconds matter (the default takes ten times as many as by_rule) and noise is below a percent.
_MANY = 1_000_000


def by_rule_offer(constraints: Sequence[BoundConstraint], schema: TableSchema, rows: int) -> str | None:
    """Describe `by_rule` on a table of about so many rows; None if it does not apply or hardly pays.

    It is never the default: with several left-hand sides it estimates another number than the other mechanisms.

    Parameters
    ----------
    rows : int
        Anyone's guess; public.
    """
    pairwise = [bound for bound in constraints if not bound.constraint.is_single_tuple]
    across = any(bound.constraint.inclusion is not None for bound in constraints)
    if rows < _MANY or across or not pairwise or not all(map(has_class_histogram, pairwise)):
        return None
    copies = len(class_histograms(constraints, schema))
    price = "its noise is that of the default"
    if copies > 1:
        price = f"its noise is about {copies} times as much, and it counts once for each of {copies} left-hand sides"
    return (
        f"on {rows:,} rows, minimal_inconsistency and problematic may be asked with mechanism 'by_rule': it groups "
        f"rows and builds no conflict graph, which takes a fraction of the time and memory; {price}"
    )


_ROWS = (100_000, 1_000_000)
_PER_ROW = {"twice_fractional_cover": 6e-6}
_PER_PAIR = {"projected_edges": 2e-10, "projected_nodes": 2e-10, "greedy_cover": 1e-11, "witnesses": 4e-11}
"""Seconds on one core, measured on one group of integers, all statistics of a release together."""


def expected_time(reads: str, constraints: Sequence[BoundConstraint]) -> str:
    """Say how the time of a statistic grows, with an example where all rows lie in one dense group: the worst case.

    Parameters
    ----------
    reads : str
        The method of `GraphStatistics` that a mechanism asks.
    constraints
        Of the slice. Public.
    """
    pairwise = [dc for dc in constraints if not dc.constraint.is_single_tuple]
    if not pairwise or reads == "counted":
        return "grows with rows"
    if reads == "twice_truncated_edges" or not all(has_blocks(dc) for dc in pairwise):
        return "grows with conflicts"
    if reads in _PER_ROW:
        return f"grows with rows; {_examples([_PER_ROW[reads] * rows for rows in _ROWS])}"
    shape = pairwise[0].shape
    if len(pairwise) == 1 and shape is not None and shape.order is not None:
        seconds = [_PER_PAIR[reads] * rows * rows for rows in _ROWS]
        return f"grows with rows x rows of a group; {_examples(seconds)}"
    return "grows with rows x theta"


def _examples(seconds: Sequence[float]) -> str:
    words = [f"about {_words(s)} for {rows:,} rows" for s, rows in zip(seconds, _ROWS, strict=True)]
    return f"in one group {', '.join(words)}"


def _words(seconds: float) -> str:
    return f"{max(seconds, 1):.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
