"""drastic (I_D): whether there is any conflict, as a verdict that noise does not make false more often than is said."""

from __future__ import annotations

from dpdb.measures.measure import Measure
from dpdb.measures.mechanism import Words
from dpdb.measures.mechanisms.verdicts import BY_COVER, BY_DELETIONS, of_cover
from dpdb.measures.true_values import ExactValues

MEASURE = Measure(
    name="drastic",
    counts="verdict",
    words=Words(
        heading="Consistent or not",
        counted="1: not consistent; 0: not shown",
        short="whether any rule is broken",
        meaning="1 says that the table is not consistent, 0 that this is not shown; the verdict is {value}",
        verdicts=("not shown; at most {most} rows from consistent", "not consistent"),
    ),
    mechanisms=(BY_COVER, BY_DELETIONS),
    default="fractional",
    truth=of_cover,
    both_ends=True,
    exact=ExactValues(("drastic",), lambda graph: {"drastic": int(graph.edges + graph.self_conflicts > 0)}),
)
