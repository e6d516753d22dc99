"""What all attacks share: how often an attacker guesses right, beside what epsilon allows."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpdb.release import risk_of

FALSE_ALARM = 1e-7


@dataclass(frozen=True)
class Guesses:
    """Guesses of independent even coins by an attacker to whom each coin's releases cost `epsilon` in all."""

    attack: str
    epsilon: float
    right: int
    trials: int

    @property
    def share(self) -> float:
        return self.right / self.trials

    @property
    def bound(self) -> float:
        """How often anybody can be right on average: e^epsilon / (1 + e^epsilon) (`dpdb/release/costs.py`)."""
        return risk_of(self.epsilon).attacker_accuracy

    @property
    def error(self) -> float:
        """Standard error of a share of so many guesses that are right as often as the bound allows."""
        return math.sqrt(self.bound * (1 - self.bound) / self.trials)

    @property
    def within(self) -> bool:
        """Whether the bound stands: by Hoeffding's inequality a sound one fails this once in ten million."""
        return self.share <= self.bound + math.sqrt(math.log(1 / FALSE_ALARM) / (2 * self.trials))

    def __str__(self) -> str:
        return (
            f"{self.attack}: right in {self.share:.1%} of {self.trials:,} guesses; epsilon {self.epsilon:g} allows "
            f"{self.bound:.1%} on average, with a sampling error of {self.error:.1%}"
            f"{'' if self.within else ': BROKEN'}"
        )


@dataclass(frozen=True)
class Fact:
    """What holds for every draw of noise: `learnt` is not above `allowed`."""

    attack: str
    learnt: float
    allowed: float
    unit: str

    @property
    def within(self) -> bool:
        return self.learnt <= self.allowed

    def __str__(self) -> str:
        return (
            f"{self.attack}: {self.learnt:g} {self.unit}; allowed are {self.allowed:g}"
            f"{'' if self.within else ': BROKEN'}"
        )
