"""`r2t`: race to the top over LP truncations of minimal_inconsistency (Dong et al., SIGMOD 2022).

Sensitivity
-----------
2 tau for 2 (U + Q(tau)) (`dpdb.graph.twice_truncated_edges`, with proof).

Proof
-----
Each truncation is released for an equal share, and the shares add up (`_r2t`).

Source
------
Dong, Fang, Yi, Tao and Machanavajjhala (R2T, SIGMOD 2022).
"""

from __future__ import annotations

from fractions import Fraction

from dpdb.measures.answer import FROM_BELOW, Answer
from dpdb.measures.mechanism import Mechanism, Run
from dpdb.privacy import discrete_laplace, laplace_tail, split

__all__ = ["R2T"]


def _r2t(run: Run) -> Answer:
    """Release every truncation with an equal share, each lowered by the tail of its noise; the largest wins.

    With L = ceil(log2(max_degree)), for tau = 2, 4, ..., 2**L: Q(tau) + Lap(L tau/epsilon) - ln(L/beta) L tau/epsilon;
    the answer is the maximum, at least Q(0) = 0. max_degree is the global sensitivity of the query if it is true; the
    privacy holds whether it is or not.

    2 (U + Q(tau)) is an integer of sensitivity 2 tau (`dpdb.graph.twice_truncated_edges`; a row with a self-conflict
    changes 2 U by 2 instead), so each draw costs its share and their sum is epsilon. ln(L/beta) L tau/epsilon is the
    quantile that the noise exceeds with probability beta/(2L), here of the discrete noise. Since Q(tau) is at most the
    measure, the answer itself is a lower bound with probability at least 1 - beta/2.
    """
    levels = (run.public_degree - 1).bit_length()
    taus = [1 << level for level in range(1, levels + 1)] or [1]
    shares = split(run.epsilon, [1] * len(taus))
    exact = run.statistics.twice_truncated_edges(taus)
    racers = []
    for tau, share, twice in zip(taus, shares, exact, strict=True):
        noisy, scale = discrete_laplace(2 * run.statistics.self_conflicts + twice, 2 * tau, share)
        racers.append((noisy - laplace_tail(scale, run.beta / (2 * len(taus))), tau, scale))
    best, tau, scale = max(racers)
    value = best // 2  # a count; rounded down, it stays a lower bound
    return Answer(
        value=value,
        lower=value,
        upper_reason=FROM_BELOW,
        theta=tau,
        noise_scale=scale / 2,
        estimand="minimal_inconsistency, from below: conflicts beyond theta per tuple may be left out in part, and the "
        "answer is lowered by what its noise may add",
    )


R2T = Mechanism(
    "r2t", _r2t, Fraction(1), "twice_truncated_edges", "theta log2(max_degree)", needs_max_degree=True,
    no_estimate="it is the largest of several draws, each lowered by what its noise may add, so it errs to one side",
)  # fmt: skip
