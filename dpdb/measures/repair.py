"""repair (I_R): the fewest tuples to delete, that is the minimum vertex cover, plus self-conflicts."""

from __future__ import annotations

from fractions import Fraction

from dpdb.measures.answer import Answer
from dpdb.measures.mechanism import Mechanism, Run
from dpdb.privacy import discrete_laplace, laplace_tail

__all__ = ["MECHANISMS", "default_mechanism"]

_SENSITIVITY = 2


def _fractional(run: Run) -> Answer:
    """Release the fractional vertex cover tau*; tau* <= I_R <= 2 tau*.

    2 tau* is the maximum matching of the bipartite double cover, an integer of sensitivity 2 (a row adds two nodes to
    the double cover, each in at most one matched edge); a self-conflicting row adds 2 to 2U instead. The noise is
    symmetric and nothing is lost, so the interval around tau* is two-sided.
    """
    statistics = run.statistics
    doubled = 2 * statistics.self_conflicts + statistics.twice_fractional_cover()
    noisy, scale = discrete_laplace(doubled, _SENSITIVITY, run.epsilon)
    tail = laplace_tail(scale, run.beta / 2)
    return Answer(
        value=noisy / 2,
        lower=(noisy - tail) / 2,
        upper=(noisy + tail) / 2,
        noise_scale=scale / 2,
        estimand="fractional vertex cover tau* of the conflict graph, plus self-conflicts; tau* <= repair <= 2 tau*",
    )


def _greedy(run: Run) -> Answer:
    """Algorithm 5: the greedy cover in canonical edge order, sensitivity 2 (Proposition 3).

    The cover is at most twice the minimum, so half the lower bound of its size is a lower bound of the repair.
    """
    statistics = run.statistics
    exact = statistics.self_conflicts + statistics.greedy_cover()
    noisy, scale = discrete_laplace(exact, _SENSITIVITY, run.epsilon)
    tail = laplace_tail(scale, run.beta / 2)
    return Answer(
        value=noisy,
        lower=noisy - tail,
        upper=noisy + tail,
        noise_scale=scale,
        estimand="size of the greedy vertex cover (Algorithm 5), plus self-conflicts; repair <= size <= 2 repair",
    )


MECHANISMS = {
    mechanism.name: mechanism
    for mechanism in (
        Mechanism("fractional", _fractional, Fraction(1), "twice_fractional_cover", "1", step=Fraction(1, 2)),
        Mechanism("greedy", _greedy, Fraction(1), "greedy_cover", "2"),
    )
}


def default_mechanism(*, covers_all_rows: bool) -> Mechanism:
    """`fractional`, whatever the constraints."""
    del covers_all_rows
    return MECHANISMS["fractional"]
