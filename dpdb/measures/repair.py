"""repair (I_R): the fewest tuples to delete, that is the minimum vertex cover, plus self-conflicts."""

from __future__ import annotations

from dpdb.measures.measure import Measure
from dpdb.measures.mechanism import Words
from dpdb.measures.mechanisms.covers import FRACTIONAL, GREEDY, fractional_cover
from dpdb.measures.mechanisms.exact_counts import FEWEST_DELETIONS, VIOLATING_ROWS
from dpdb.measures.true_values import ExactValues, TrueGraph, TrueNumbers

_EXACT = ("repair_fractional", "repair_lower", "repair_upper")


def _exact(graph: TrueGraph) -> TrueNumbers:
    return dict(zip(_EXACT, graph.covers(), strict=True))


MEASURE = Measure(
    name="repair",
    counts="rows",
    words=Words(
        heading="Rows to delete",
        counted="at least so many rows must go, and at most twice as many",
        short="rows to delete, at least",
        meaning="at least about {value} rows must go before the table is consistent",
        of_rate="at least about {value} of the rows must go before the table is consistent",
    ),
    mechanisms=(FRACTIONAL, GREEDY, VIOLATING_ROWS, FEWEST_DELETIONS),
    default="fractional",
    truth=fractional_cover,
    both_ends=True,
    exact=ExactValues(_EXACT, _exact),
    weight=18,
    rate_weight=1,
    most_per_row=1,
)
