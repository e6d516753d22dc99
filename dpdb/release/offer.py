"""The offer of `by_rule` where tables are large: from a guess of their size and the constraints' shapes alone."""

from __future__ import annotations

from collections.abc import Sequence

from dpdb.engine import BoundConstraint, class_histograms, has_class_histogram
from dpdb.schema import TableSchema

__all__ = ["by_rule_offer"]

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
