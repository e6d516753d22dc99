"""The expected computing time of a release, from public facts only: constraint shapes and the mechanism."""

from __future__ import annotations

from collections.abc import Sequence

from dpdb.engine import BoundConstraint, class_histograms, has_class_histogram
from dpdb.release.conflict_graph import has_blocks
from dpdb.schema import TableSchema

__all__ = [
    "by_rule_offer",
    "expected_time",
]


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
    if not pairwise or reads == "fewest_deletions":
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
