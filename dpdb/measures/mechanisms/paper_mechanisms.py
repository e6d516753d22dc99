"""Paper A's mechanisms for edges and positive-degree nodes (Algorithms 2, 3, 4), with the corrected sensitivities.

They stay selectable because experiments need them. Differences from the paper: candidates are those of its experiments
up to a public or released cap, never the private number of rows; the degree cap has one noise draw and covers every
kind of constraint; noise is discrete; the exponential mechanism is permute-and-flip, which is never worse.

Sensitivity
-----------
That of the statistic at theta: theta + extra (`projected`, with proofs), not the paper's theta for nodes.

Proof
-----
The cap, the selections and the answer each spend their share, and the shares add up; the exponential mechanism's own
proof is in `dpdb.privacy.selection`.

Source
------
Mohapatra, Gilad, He and Kimelfeld (SIGMOD 2025), Algorithms 2, 3 and 4 and Section 6.
"""

from __future__ import annotations

from fractions import Fraction

from dpdb.measures.answer import Answer
from dpdb.measures.mechanism import Mechanism, Run
from dpdb.measures.mechanisms.projected import ProjectedStatistic, noisy_answer
from dpdb.privacy import paper_exponential_mechanism, paper_grid, split

__all__ = ["paper_mechanisms"]

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
