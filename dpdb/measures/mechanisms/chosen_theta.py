"""Mechanisms that choose theta: `marginal`, `gem` and `witness`, `progressive`.

`marginal` chooses theta where larger ones add little, then releases the statistic somewhat above it. `gem` chooses it
by the generalized exponential mechanism, and so does `witness`; then they release the statistic at about that theta.
`progressive` releases the statistic at the degree cap if that stands out of its noise, else it falls back to `gem`.

Sensitivity
-----------
That of the statistic at theta: theta + extra (`ProjectedStatistic`, with proofs); of the scores of `gem` 1.

Proof
-----
The cap, the choice and the answer each spend their share, and the shares add up (`Marginal`, `gem_answer`). The proofs
of the choices are in `dpdb.privacy.selection`. The branch of `progressive` reads the first released number only, so its
cost is the sum of the shares on either branch (`_release`).

Source
------
`gem`: the generalized exponential mechanism of Raskhodnikova and Smith (2016); the others are new here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpdb.measures.answer import FROM_BELOW, WITNESSES, Answer, GraphStatistics, ProjectedStatistic, noisy_answer
from dpdb.measures.mechanism import Mechanism, Run
from dpdb.privacy import (
    as_fraction,
    discrete_laplace,
    generalized_exponential_mechanism,
    laplace_tail,
    marginal_choice,
    power_grid,
    split,
    thirds_grid,
)


@dataclass(frozen=True)
class Marginal:
    """A `marginal` mechanism for one statistic, which must be monotone with sensitivity theta + extra.

    Its cost is that of the degree cap, the choice and the answer (sequential composition); stretching the chosen theta
    and capping it reads released numbers only.

    Attributes
    ----------
    cap, select, answer : int
        Shares of epsilon, in percent.
    price : Fraction
        Of each doubling of theta; see `marginal_choice`.
    stretch : Fraction
        The answer's theta is this many times the chosen one, rounded up, at most the cap.
    """

    statistic: ProjectedStatistic
    cap: int
    select: int
    answer: int
    price: Fraction
    stretch: Fraction

    def release(self, run: Run) -> Answer:
        """Choose theta, then release the statistic; a cap that leaves no choice leaves all of epsilon to the answer."""
        grid = thirds_grid(run.degree_cap)
        if len(grid) == 1:
            return noisy_answer(self.statistic, run.statistics, run.degree_cap, run.epsilon, run.beta)
        select, answer = split(run.epsilon, (self.select, self.answer))
        # One scan for all that may follow, where statistics come from a stream of edges.
        thetas = self._thetas(run.degree_cap) if run.statistics.scans_once else grid
        values = dict(zip(thetas, self.statistic.read(run.statistics, thetas), strict=True))
        chosen = marginal_choice(
            [values[theta] for theta in grid], [self.statistic.sensitivity(theta) for theta in grid], self.price, select
        )
        theta = self._stretched(grid[chosen], run.degree_cap)
        return noisy_answer(self.statistic, run.statistics, theta, answer, run.beta)

    def mechanism(self, name: str, noise: str) -> Mechanism:
        """Return it as a named mechanism."""
        share = Fraction(self.answer, 100)
        rest = self.select + self.answer
        return Mechanism(name, self.release, share, self.statistic.name, noise, cap_weight=self.cap, answer_weight=rest)

    def _thetas(self, cap: int) -> Sequence[int]:
        """Return every theta that may be read once the cap is released."""
        grid = thirds_grid(cap)
        return sorted({*grid, *(self._stretched(theta, cap) for theta in grid)})

    def _stretched(self, theta: int, cap: int) -> int:
        return min(-(-theta * self.stretch.numerator // self.stretch.denominator), cap)


# The selection's own error grows like the sensitivity times a small multiple of 1/epsilon1; found on synthetic tables.
_SELECTION_PENALTY = 12


def gem(statistic: ProjectedStatistic, noise: str) -> Mechanism:
    """Return the mechanism for one statistic."""

    def release(run: Run) -> Answer:
        """Choose theta below the cap by GEM, which pays for a large cap only logarithmically."""
        select, answer = split(run.epsilon, (35, 55))
        return gem_answer(statistic, run.statistics, run.degree_cap, (select, answer), run.beta)

    return Mechanism("gem", release, Fraction(55, 100), statistic.name, noise, cap_weight=1, answer_weight=9)


def gem_answer(
    statistic: ProjectedStatistic,
    statistics: GraphStatistics,
    cap: int,
    epsilons: tuple[int, int],
    beta: float,
) -> Answer:
    """Select theta below a public cap, and release the statistic at min(2 theta, cap).

    The cost is the sum of both epsilons (sequential composition); doubling and capping read only released numbers. The
    statistic must be monotone with sensitivity theta + extra.

    Parameters
    ----------
    cap
        The public cap.
    epsilons
        Nano-epsilon of the selection, and of the answer.
    beta
        Probability that the lower bound exceeds the exact value, at most.
    """
    select, answer = epsilons
    candidates = power_grid(cap)
    weight = 1 / as_fraction(answer) + Fraction(_SELECTION_PENALTY) / as_fraction(select)
    chosen = generalized_exponential_mechanism(
        statistic.read(statistics, candidates),
        [statistic.sensitivity(theta) for theta in candidates],
        weight,
        select,
    )
    return noisy_answer(statistic, statistics, min(2 * candidates[chosen], cap), answer, beta)


def witness(noise: str) -> Mechanism:
    """Return the mechanism."""
    return Mechanism("witness", _witness, Fraction(70, 100), WITNESSES.name, noise, cap_weight=5, answer_weight=95)


def _witness(run: Run) -> Answer:
    """Count tuples that a witness covers, with theta chosen by GEM. Sensitivity theta + 1 (`WITNESSES`)."""
    select, answer = split(run.epsilon, (25, 70))
    return gem_answer(WITNESSES, run.statistics, run.degree_cap, (select, answer), run.beta)


def progressive(statistic: ProjectedStatistic, noise: str) -> Mechanism:
    """Return the mechanism for one statistic, which must be monotone."""

    def release(run: Run) -> Answer:
        return _release(statistic, run)

    return Mechanism(
        "progressive",
        release,
        Fraction(7, 10),
        statistic.name,
        noise,
        cap_weight=1,
        answer_weight=9,
        no_estimate="the first draw decides whether it is used again, so its noise is not symmetric",
    )


def _release(statistic: ProjectedStatistic, run: Run) -> Answer:
    """Try the cap with a small share; keep it if the first answer stands out of its noise, else fall back to `gem`.

    The branch reads the first released number only, so the cost is the sum of the shares on either branch. The lower
    bound splits beta over the three draws that may occur: it holds whatever branch is taken.
    """
    first, rest = split(run.epsilon, (2, 7))
    theta, statistics = run.degree_cap, run.statistics
    exact = statistic.exact(statistics, theta)
    noisy, scale = discrete_laplace(exact, statistic.sensitivity(theta), first)
    if noisy <= 1.5 * theta / float(as_fraction(first)):
        select, answer = split(rest, (27, 43))
        return gem_answer(statistic, statistics, theta, (select, answer), run.beta / 3)
    again, finer = discrete_laplace(exact, statistic.sensitivity(theta), rest)
    weight, finer_weight = first**2 / (first**2 + rest**2), rest**2 / (first**2 + rest**2)
    value = round(weight * noisy + finer_weight * again)
    tail = weight * laplace_tail(scale, run.beta / 3) + finer_weight * laplace_tail(finer, run.beta / 3)
    spread = math.hypot(weight * scale, finer_weight * finer)
    lower = math.floor(value - tail - 1)  # one for the rounding of value
    return Answer(
        value=value,
        lower=lower,
        upper_reason=FROM_BELOW,
        theta=theta,
        noise_scale=spread,
        estimand=statistic.estimand,
    )
