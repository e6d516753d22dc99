"""`laplace_answer`: an exact whole number, released once with discrete Laplace noise, and its two-sided interval."""

from __future__ import annotations

from dpdb.measures.answer import Answer
from dpdb.measures.mechanism import Run
from dpdb.privacy import discrete_laplace, laplace_tail

__all__ = ["laplace_answer"]


def laplace_answer(run: Run, exact: int, sensitivity: int, estimand: str, *, theta: int | None = None) -> Answer:
    """Release a number: epsilon-DP by its sensitivity, with a symmetric interval of confidence 1 - beta.

    Parameters
    ----------
    run
        The release, with its nano-epsilon and beta.
    exact
        The number. Private.
    sensitivity
        By how much one unit changes it, at most; whoever calls has the proof.
    estimand
        What the number is, in words.
    theta
        The public theta at which it was read, if there is one.
    """
    noisy, scale = discrete_laplace(exact, sensitivity, run.epsilon)
    tail = laplace_tail(scale, run.beta / 2)
    return Answer(
        value=noisy, lower=noisy - tail, upper=noisy + tail, theta=theta, noise_scale=scale, estimand=estimand
    )
