"""The two-sided interval of an answer's own estimand at its own theta: from the last noise alone."""

from __future__ import annotations

from dataclasses import replace

from dpdb.measures.answer import Answer
from dpdb.measures.mechanism import Mechanism
from dpdb.privacy import laplace_tail

__all__ = ["with_estimate"]


def with_estimate(answer: Answer, mechanism: Mechanism, beta: float) -> Answer:
    """Add the interval to an answer. Reads released numbers only, so it costs nothing.

    Proof. Let T be everything that is drawn before the last noise: the degree cap, the choice, theta. The value is
    g_T + N, where g_T is the exact statistic at theta and N is discrete Laplace noise of a scale that T fixes, drawn
    afterwards and hence independent of T. With t = `laplace_tail(scale, beta / 2)`, Pr[|N| > t | T] <= beta for every
    T, and |N| <= t is the same as g_T in [raw - t, raw + t]. So the interval holds with probability at least
    1 - beta given T, and therefore also over T. It is no interval of the measure, of which the projection at theta may
    leave a part out: what it says about two answers at one theta it says about one and the same statistic. QED

    A mechanism that publishes one of m draws, and looks at the draw itself to decide which, gets t for beta / (2 m):
    the draws leave their intervals with probability at most beta in all (union bound), whichever is published. An
    answer that has its interval keeps it: a mechanism whose draws have different laws proves its own (`Ladder`).

    Parameters
    ----------
    answer
        The released answer.
    mechanism
        The mechanism that released it.
    beta
        Probability that the interval misses the estimand, at most.
    """
    if answer.estimate_lower is not None:
        return answer
    if mechanism.no_estimate is not None:
        return replace(answer, estimate_reason=mechanism.no_estimate)
    step = float(mechanism.step)
    tail = step * laplace_tail(answer.noise_scale / step, beta / (2 * mechanism.alternatives))
    return replace(answer, estimate_lower=answer.unclamped - tail, estimate_upper=answer.unclamped + tail)
