"""`fractional`: the fractional vertex cover of the conflict graph.

Sensitivity
-----------
2 for 2 tau* + 2 U: a row adds two nodes to the bipartite double cover (`_fractional`).

Proof
-----
One draw of discrete Laplace noise of that sensitivity over epsilon: epsilon-DP.

Source
------
tau* in place of the minimum cover of Mohapatra et al. (SIGMOD 2025).
"""

from __future__ import annotations

from fractions import Fraction

from dpdb.measures.answer import Answer, GraphStatistics
from dpdb.measures.mechanism import Mechanism, Run
from dpdb.privacy import discrete_laplace, laplace_tail

__all__ = ["FRACTIONAL", "fractional_cover"]

_SENSITIVITY = 2


def _fractional(run: Run) -> Answer:
    """Release the fractional vertex cover tau*; tau* <= I_R <= 2 tau*.

    2 tau* is the maximum matching of the bipartite double cover, an integer of sensitivity 2 (a row adds two nodes to
    the double cover, each in at most one matched edge); a self-conflicting row adds 2 to 2U instead. The noise is
    symmetric and nothing is lost, so the interval around tau* is two-sided.
    """
    statistics = run.statistics
    doubled = 2 * statistics.self_conflicts + statistics.twice_fractional_cover().value
    noisy, scale = discrete_laplace(doubled, _SENSITIVITY, run.epsilon)
    tail = laplace_tail(scale, run.beta / 2)
    return Answer(
        value=noisy / 2,
        lower=(noisy - tail) / 2,
        upper=(noisy + tail) / 2,
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
