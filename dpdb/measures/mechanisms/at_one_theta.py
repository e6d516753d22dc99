"""Mechanisms at one theta: `bound` at the released cap, `two_sided` above every degree, `at_theta` at a public theta.

`two_sided` has an interval with an upper end, at the price of accuracy; it must be asked for by name.

Sensitivity
-----------
That of the statistic at theta: theta + extra (`ProjectedStatistic`, with proofs).

Proof
-----
The cap is released first (`release_degree_cap`); given it theta is public, and `noisy_answer` is epsilon-DP for its
share. The two shares add up (sequential composition), for `bound` and for `two_sided` alike. With a theta that the
owner declares (`declared`), or that is public already (`at_theta`), there is one release only.

Source
------
The degree cap is that of Mohapatra et al. (SIGMOD 2025), Lemma 3 and Theorem 3; the rest is new here.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from dpdb.errors import ParameterError
from dpdb.measures.answer import STATISTICS, Answer, ProjectedStatistic, noisy_answer
from dpdb.measures.mechanism import Mechanism, Run
from dpdb.privacy import discrete_laplace, laplace_tail


def bound(statistic: ProjectedStatistic, noise: str) -> Mechanism:
    """Return the mechanism for one statistic."""

    def release(run: Run) -> Answer:
        """Project to the released degree cap. Sensitivity of edges(pi_theta) is theta (`EDGES`)."""
        return noisy_answer(statistic, run.statistics, run.degree_cap, run.epsilon, run.beta)

    return Mechanism("bound", release, Fraction(9, 10), statistic.name, noise, cap_weight=1, answer_weight=9)


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
        no_estimate=None,
        thetas=None,
    )


def two_sided(statistic: ProjectedStatistic, measure: str, noise: str) -> Mechanism:
    """Return the mechanism for a statistic that equals the measure once theta is at least every degree.

    theta is the released degree cap plus the tail of its noise, so it is below some degree with probability at most
    beta / 3; the answer's noise leaves either side of its tail with probability at most beta / 3. By the union bound
    the interval holds with confidence 1 - beta, on both sides at once. The cost is that of the cap and of the answer;
    everything else reads released numbers. `value` pays for the largest group of rows, clean or not.

    Parameters
    ----------
    statistic
        The statistic to release.
    measure
        The measure's name, the estimand of the answer.
    noise
        The statistic's sensitivity in words.
    """

    def release(run: Run) -> Answer:
        theta = run.released_cap.above_all_degrees(run.beta / 3)
        exact = statistic.exact(run.statistics, theta)
        noisy, scale = discrete_laplace(exact, statistic.sensitivity(theta), run.epsilon)
        tail = laplace_tail(scale, run.beta / 3)
        return Answer(
            value=noisy, lower=noisy - tail, upper=noisy + tail, theta=theta, noise_scale=scale, estimand=measure
        )

    return Mechanism("two_sided", release, Fraction(9, 10), statistic.name, noise, cap_weight=1, answer_weight=9)


def declared(mechanism: Mechanism, measure: str, theta: int) -> Mechanism:
    """Return `two_sided` for a public theta that the owner declares to be at least every degree.

    theta comes from `max_group`, the owner's word that no group of rows with a common left-hand side is larger. No row
    is asked whether that is true, so nothing is spent on it and nothing leaks if it is not.

    Privacy, for every theta, true or not: the statistic at theta has sensitivity theta + extra (`ProjectedStatistic`),
    and it is released once with discrete Laplace noise of that sensitivity over epsilon. The declaration is a constant.

    Interval, if the declaration is true: the projection at theta keeps every conflict, so the statistic is the measure
    itself, and the noise leaves [-t, t] with probability at most beta. If it is wrong, the statistic is below the
    measure: `lower` still holds with probability at least 1 - beta / 2, `upper` is one of the projection only. QED

    Parameters
    ----------
    mechanism
        The measure's `two_sided`.
    measure
        The measure's name, for the estimand.
    theta
        The declared bound of the degrees.
    """
    statistic = STATISTICS[mechanism.reads]

    def release(run: Run) -> Answer:
        exact = statistic.exact(run.statistics, theta)
        estimand = f"{measure}, if no group of rows is larger than the owner declares"
        return run.by_laplace(exact, statistic.sensitivity(theta), estimand, theta=theta)

    return replace(mechanism, answer=release, answer_share=Fraction(1), cap_weight=0, answer_weight=1)
