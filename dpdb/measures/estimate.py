"""What released numbers alone add to an answer: the interval of its own estimand, and whether theta cut it.

This module knows no statistics of a table, and a test holds that.
"""

from __future__ import annotations

from dataclasses import replace

from dpdb.measures.answer import Answer, DegreeCap
from dpdb.measures.mechanism import Mechanism
from dpdb.privacy import laplace_tail


def with_estimate(answer: Answer, mechanism: Mechanism, beta: float) -> Answer:
    """Add the interval to an answer. Reads released numbers only, so it costs nothing.

    Proof. Let T be everything that is drawn before the last noise: the degree cap, the choice, theta. The value is
    g_T + N, where g_T is the exact statistic at theta and N is discrete Laplace noise of a scale that T fixes, drawn
    afterwards and hence independent of T. With t = `laplace_tail(scale, beta / 2)`, Pr[|N| > t | T] <= beta for every
    T, and |N| <= t is the same as g_T in [raw - t, raw + t]. So the interval holds with probability at least
    1 - beta given T, and therefore also over T. It is no interval of the measure, of which the projection at theta may
    leave a part out: what it says about two answers at one theta it says about one and the same statistic. QED

    An answer that has its interval keeps it: a mechanism whose draws have different laws proves its own (`Ladder`).

    Parameters
    ----------
    beta
        Probability that the interval misses the estimand, at most.
    """
    if answer.estimate_lower is not None:
        return answer
    if mechanism.no_estimate is not None:
        return replace(answer, estimate_reason=mechanism.no_estimate)
    step = float(mechanism.step)
    tail = step * laplace_tail(answer.noise_scale / step, beta / 2)
    return replace(answer, estimate_lower=answer.unclamped - tail, estimate_upper=answer.unclamped + tail)


# Chosen on training seeds of the 29 tables, at epsilon .1, 1 and 5; `examples/accuracy.py --limits` shows fresh ones.
_FEW_SCALES = 25
_ROOM = 2
_DOUBT = 0.05


def theta_limits(*, theta: int, value: float, noise_scale: float, cap: DegreeCap | None) -> bool | None:
    """Return whether theta may keep the value small; None if these numbers cannot tell.

    True: the released bound of the degrees is more than twice theta, and the value is below 25 noise scales. A row adds
    at most theta and the noise scale is about theta / epsilon, so 25 / epsilon rows, each cut off at theta, would
    explain the whole value. So few rows may have far more conflicts without a mechanism seeing it: k rows change the
    odds of what it sees by exp(k epsilon) at most. More rows than that would mostly have moved its choice to a larger
    theta. It is a judgement, not a test: a large clean group with few errors looks the same and is announced, too.

    False: nothing released shows it. The bound is not above twice theta, or theta is a choice (not the bound itself)
    and the value is 25 noise scales or more.

    None: there is no released bound (theta was given), or its noise leaves open whether it is above twice theta.

    Parameters
    ----------
    theta, value, noise_scale
        As in the `Answer`.
    cap : DegreeCap or None
        The released bound of the degrees, or a public one without noise.

    Notes
    -----
    Costs nothing: a function of released numbers (theta, value, cap), already paid for, and of public ones, hence
    post-processing; no statistic of the table is among its arguments.
    """
    if cap is None:
        return None
    if theta != cap.value and value >= _FEW_SCALES * noise_scale:
        return False
    if _ROOM * theta < cap.value:
        return True
    return None if _ROOM * theta < cap.above_all_degrees(_DOUBT) else False


def with_theta_limits(answer: Answer, mechanism: Mechanism, cap: DegreeCap | None, max_degree: int | None) -> Answer:
    """Add the announcement to an answer.

    An answer with an upper end says itself how much may be missing; one without a theta leaves nothing out.

    Parameters
    ----------
    answer
        The released answer.
    mechanism
        The mechanism that released it.
    cap
        The degree cap that was released for the call; None if none was.
    max_degree
        The public bound of the degrees that the caller gave, or None.
    """
    if answer.theta is None:
        return answer
    if answer.upper is not None:
        return replace(answer, theta_limits=False)
    known = cap if mechanism.cap_weight else None
    if mechanism.needs_max_degree and max_degree is not None:
        known = DegreeCap(max_degree, 0.0)
    limits = theta_limits(theta=answer.theta, value=answer.value, noise_scale=answer.noise_scale, cap=known)
    return replace(answer, theta_limits=limits)
