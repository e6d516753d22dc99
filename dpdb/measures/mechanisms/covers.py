"""Covers of the conflict graph: `fractional`, and `greedy`, which a scan of the conflicts finds.

Sensitivity
-----------
`fractional`: 2 for 2 tau* + 2 U, because a row adds two nodes to the bipartite double cover (`_fractional`). `greedy`:
2 (Mohapatra et al., Proposition 3), for edges in the canonical order.

Proof
-----
One draw of discrete Laplace noise of that sensitivity over epsilon: epsilon-DP.

Source
------
Mohapatra et al. (SIGMOD 2025): `greedy` is their Algorithm 5, tau* stands in place of their minimum cover.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from dpdb.measures.answer import Answer, GraphStatistics
from dpdb.measures.mechanism import Mechanism, Run, Words
from dpdb.privacy import discrete_laplace, laplace_tail

SENSITIVITY = 2


def _fractional(run: Run) -> Answer:
    """Release the fractional vertex cover tau*; tau* <= I_R <= 2 tau*.

    2 tau* is the maximum matching of the bipartite double cover, an integer of sensitivity 2 (a row adds two nodes to
    the double cover, each in at most one matched edge); a self-conflicting row adds 2 to 2U instead. The noise is
    symmetric and nothing is lost, so the interval around tau* is two-sided. The bounds are those of I_R: it is at least
    U + tau*, and at most U + 2 tau*, so its upper end is twice that of U + tau*.
    """
    statistics = run.statistics
    doubled = 2 * statistics.self_conflicts + statistics.twice_fractional_cover().value
    noisy, scale = discrete_laplace(doubled, SENSITIVITY, run.epsilon)
    tail = laplace_tail(scale, run.beta / 2)
    return Answer(
        value=noisy / 2,
        lower=(noisy - tail) / 2,
        upper=noisy + tail,
        noise_scale=scale / 2,
        estimand="fractional vertex cover tau* of the conflict graph, plus self-conflicts; tau* <= repair <= 2 tau*",
    )


def fractional_cover(statistics: GraphStatistics) -> float:
    """Return the exact estimand. Private."""
    return statistics.self_conflicts + statistics.twice_fractional_cover().value / 2


FRACTIONAL = Mechanism(
    "fractional",
    _fractional,
    Fraction(1),
    "twice_fractional_cover",
    "1",
    step=Fraction(1, 2),
    truth=fractional_cover,
)


_WORDS = Words(
    heading="Rows to delete",
    counted="rows of a cover that removes all conflicts; half as many may do",
    short="rows that suffice to delete",
    meaning="a cover of about {value} rows removes all conflicts; half of them may be needed",
    of_rate="a cover of about {value} of the rows removes all conflicts; half of them may be needed",
)


def _greedy(run: Run) -> Answer:
    """Algorithm 5: the greedy cover in canonical edge order, sensitivity 2 (Proposition 3).

    The cover is at most twice the minimum, so half the lower bound of its size is a lower bound of the repair, and the
    upper bound of its size an upper one.
    """
    estimand = "size of the greedy vertex cover (Algorithm 5), plus self-conflicts; repair <= size <= 2 repair"
    answer = run.by_laplace(_size(run.statistics), SENSITIVITY, estimand)
    return replace(answer, lower=-(-answer.lower // 2))  # whole rows


def _size(statistics: GraphStatistics) -> int:
    return statistics.self_conflicts + statistics.greedy_cover()


GREEDY = Mechanism("greedy", _greedy, Fraction(1), "greedy_cover", "2", words=_WORDS, truth=_size)
