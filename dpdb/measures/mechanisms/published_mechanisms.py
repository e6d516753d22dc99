"""Mechanisms of papers: Algorithms 2, 3 and 4 of paper A, with the corrected sensitivities, and `r2t`.

Those of paper A are for edges and positive-degree nodes. They stay selectable because experiments need them.
Differences from the paper: candidates are those of its experiments up to a public or released cap, never the private
number of rows; the degree cap has one noise draw and covers every kind of constraint; noise is discrete; the
exponential mechanism is permute-and-flip, which is never worse. `r2t` is a race to the top over LP truncations of
minimal_inconsistency.

Sensitivity
-----------
Paper A: that of the statistic at theta, theta + extra (`ProjectedStatistic`, with proofs), not the paper's theta for
nodes. `r2t`: 2 tau for 2 (U + Q(tau)) (`dpdb.graph.twice_truncated_edges`, with proof).

Proof
-----
Paper A: the cap, the selections and the answer each spend their share, and the shares add up; the exponential
mechanism's own proof is in `dpdb.privacy.selection`. `r2t`: each truncation is released for an equal share, and the
shares add up (`_r2t`).

Source
------
Mohapatra, Gilad, He and Kimelfeld (SIGMOD 2025), Algorithms 2, 3 and 4 and Section 6. Dong, Fang, Yi, Tao and
Machanavajjhala (R2T, SIGMOD 2022).
"""

from __future__ import annotations

from fractions import Fraction

from dpdb.measures.answer import FROM_BELOW, Answer, ProjectedStatistic, noisy_answer
from dpdb.measures.mechanism import Mechanism, Run
from dpdb.privacy import discrete_laplace, laplace_tail, paper_exponential_mechanism, paper_grid, split

# Section 6: epsilon1 = 0.4 for theta, epsilon2 = 0.6 for the answer; Algorithm 4 takes a quarter of epsilon1 first.
_SELECT, _ANSWER = 4, 6
_OPTIMIZED_CAP, _OPTIMIZED_REST = 1, 9
_OPTIMIZED_SELECT, _OPTIMIZED_ANSWER = 3, 6


def paper_mechanisms(statistic: ProjectedStatistic, noise: str) -> tuple[Mechanism, ...]:
    """Return `em`, `hierarchical`, `optimized` and `baseline_max` for one statistic."""

    def em(run: Run) -> Answer:
        """Algorithm 3 on a public grid up to max_degree."""
        select, answer = split(run.epsilon, (_SELECT, _ANSWER))
        theta = _choose(statistic, run, run.public_degree, select, answer)
        return noisy_answer(statistic, run.statistics, theta, answer, run.beta)

    def hierarchical(run: Run) -> Answer:
        """Algorithm 4 without its degree cap: two selections, the second below the first's choice."""
        select, answer = split(run.epsilon, (_SELECT, _ANSWER))
        return _two_steps(run, run.public_degree, select, answer)

    def optimized(run: Run) -> Answer:
        """Algorithm 4."""
        select, answer = split(run.epsilon, (_OPTIMIZED_SELECT, _OPTIMIZED_ANSWER))
        return _two_steps(run, run.degree_cap, select, answer)

    def baseline_max(run: Run) -> Answer:
        """Section 6, baseline 1: project to the public maximum degree, spend everything on the answer."""
        return noisy_answer(statistic, run.statistics, run.public_degree, run.epsilon, run.beta)

    def _two_steps(run: Run, cap: int, select: int, answer: int) -> Answer:
        first, second = split(select, (1, 1))
        theta = _choose(statistic, run, _choose(statistic, run, cap, first, answer), second, answer)
        return noisy_answer(statistic, run.statistics, theta, answer, run.beta)

    share = Fraction(_ANSWER, _SELECT + _ANSWER)
    return (
        Mechanism("em", em, share, statistic.name, noise, needs_max_degree=True),
        Mechanism("hierarchical", hierarchical, share, statistic.name, noise, needs_max_degree=True),
        Mechanism("optimized", optimized, share, statistic.name, noise, _OPTIMIZED_CAP, _OPTIMIZED_REST),
        Mechanism("baseline_max", baseline_max, Fraction(1), statistic.name, noise, needs_max_degree=True),
    )


def _choose(statistic: ProjectedStatistic, run: Run, cap: int, epsilon: int, answer_epsilon: int) -> int:
    candidates = paper_grid(cap)
    high = statistic.sensitivity(cap)
    chosen = paper_exponential_mechanism(
        statistic.read(run.statistics, candidates),
        candidates,
        0 if statistic.monotone else -high,
        high,
        answer_epsilon=answer_epsilon,
        epsilon=epsilon,
    )
    return candidates[chosen]


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
