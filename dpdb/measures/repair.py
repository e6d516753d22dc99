"""repair (I_R): the fewest tuples to delete, that is the minimum vertex cover, plus self-conflicts."""

from __future__ import annotations

from dpdb.measures.measure import Measure
from dpdb.measures.mechanism import Words
from dpdb.measures.mechanisms.covers import FRACTIONAL, GREEDY, fractional_cover
from dpdb.measures.mechanisms.exact_counts import FEWEST_DELETIONS, VIOLATING_ROWS

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
    weight=18,
    rate_weight=1,
)
