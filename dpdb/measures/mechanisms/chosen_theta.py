"""Mechanisms that choose theta where larger ones add little, then release the statistic somewhat above it: `marginal`.

Sensitivity
-----------
That of the statistic at theta: theta + extra (`ProjectedStatistic`, with proofs).

Proof
-----
The cap, the choice and the answer each spend their share, and the shares add up (`Marginal`). The proof of the choice
is in `dpdb.privacy.selection` (`marginal_choice`).

Source
------
New here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpdb.measures.answer import Answer, ProjectedStatistic, noisy_answer
from dpdb.measures.mechanism import Mechanism, Run
from dpdb.privacy import marginal_choice, split, thirds_grid


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
