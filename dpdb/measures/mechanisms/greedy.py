"""`greedy`: a vertex cover that a greedy scan of the conflicts finds.

Sensitivity
-----------
2 (Mohapatra et al., Proposition 3), for edges in the canonical order.

Proof
-----
One draw of discrete Laplace noise of that sensitivity over epsilon: epsilon-DP.

Source
------
Mohapatra et al. (SIGMOD 2025), Algorithm 5.
"""

from __future__ import annotations

from fractions import Fraction

from dpdb.measures.answer import Answer, GraphStatistics
from dpdb.measures.mechanism import Mechanism, Run, Words

__all__ = ["GREEDY"]

_SENSITIVITY = 2

_WORDS = Words(
    heading="Rows to delete",
    counted="rows of a cover that removes all conflicts; half as many may do",
    short="rows that suffice to delete",
    meaning="a cover of about {value} rows removes all conflicts; half of them may be needed",
    of_rate="a cover of about {value} of the rows removes all conflicts; half of them may be needed",
)


def _greedy(run: Run) -> Answer:
    """Algorithm 5: the greedy cover in canonical edge order, sensitivity 2 (Proposition 3).

    The cover is at most twice the minimum, so half the lower bound of its size is a lower bound of the repair.
    """
    estimand = "size of the greedy vertex cover (Algorithm 5), plus self-conflicts; repair <= size <= 2 repair"
    return run.by_laplace(_size(run.statistics), _SENSITIVITY, estimand)


def _size(statistics: GraphStatistics) -> int:
    return statistics.self_conflicts + statistics.greedy_cover()


GREEDY = Mechanism("greedy", _greedy, Fraction(1), "greedy_cover", "2", words=_WORDS, truth=_size)
