"""A mechanism at a theta that is public already: given by hand, or kept from an earlier release."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from dpdb.errors import ParameterError
from dpdb.measures.answer import Answer
from dpdb.measures.mechanism import Mechanism, Run
from dpdb.measures.mechanisms.projected import STATISTICS, noisy_answer

__all__ = ["at_theta", "takes_theta"]


def takes_theta(measure: str, mechanism: Mechanism) -> None:
    """Raise `ParameterError` unless the mechanism chooses a theta and nothing else depends on that choice."""
    if mechanism.reads not in STATISTICS:
        why = "it needs several of them" if mechanism.reads == "twice_truncated_edges" else "it has no theta"
    elif mechanism.name == "two_sided":
        why = "it needs one that is above every degree; declare a public max_group"
    else:
        return
    raise ParameterError(f"theta does not apply to mechanism {mechanism.name!r} of {measure}: {why}")


def at_theta(mechanism: Mechanism, theta: int) -> Mechanism:
    """Return the mechanism without its choice of theta: all of epsilon goes to the answer.

    Proof. For a theta that does not depend on the rows, g_theta has sensitivity theta + extra (`ProjectedStatistic`),
    and adding discrete Laplace noise of that sensitivity over epsilon is epsilon-DP (`noisy_answer`). A theta that was
    released before is such a constant for every later release: for each value of it the later mechanism is epsilon-DP
    on all tables, whatever rows it was chosen on, and adaptive composition adds the epsilons, that of the earlier
    release being paid. So it may be reused for nothing, also for other slices, epochs, units and changed rows. QED
    """
    statistic = mechanism.statistic or STATISTICS[mechanism.reads]

    def answer(run: Run) -> Answer:
        return noisy_answer(statistic, run.statistics, theta, run.epsilon, run.beta)

    return replace(
        mechanism,
        answer=answer,
        answer_share=Fraction(1),
        cap_weight=0,
        answer_weight=1,
        needs_max_degree=False,
        alternatives=1,
        no_estimate=None,
        thetas=None,
    )
