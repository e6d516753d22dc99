"""repair (I_R): the fewest tuples to delete, that is the minimum vertex cover, plus self-conflicts."""

from __future__ import annotations

from dpdb.measures.answer import GraphStatistics
from dpdb.measures.measure import Measure
from dpdb.measures.mechanisms.fractional import FRACTIONAL
from dpdb.measures.mechanisms.greedy import GREEDY
from dpdb.measures.mechanisms.violating_rows import VIOLATING_ROWS
from dpdb.measures.words import Words

__all__ = ["MEASURE"]


def _cover(statistics: GraphStatistics) -> float:
    """Return the fractional vertex cover, which is what dpdb releases by default."""
    return statistics.self_conflicts + statistics.twice_fractional_cover().value / 2


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
    mechanisms=(FRACTIONAL, GREEDY, VIOLATING_ROWS),
    default="fractional",
    truth=_cover,
    weight=18,
    rate_weight=1,
)
