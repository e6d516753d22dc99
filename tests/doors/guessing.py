"""A game in which a loss that is not paid for shows after few draws: an attacker guesses which table was asked.

The attacker sees one draw of a door and says "the larger table", "the smaller one", or nothing. The charge bounds how
often it is right. Let A and B be the events in which it says the one and the other, P and Q the answers' laws on the
larger and the smaller table. Draws come in pairs, one from each table.

- Pure epsilon: P[A] <= e^epsilon Q[A] and Q[B] <= e^epsilon P[B], so of what it says at most g = 1 / (1 + e^-epsilon)
  is right (as in Steinke, Nasr and Jagielski 2023).
- Other notions, for an attacker who always says something: P[A] - Q[A] is at most d, the greatest that the charge
  allows, so it is right with probability at most g = (1 + d) / 2.

It bets. Right multiplies its wealth by h / g, wrong by (1 - h) / (1 - g), with h > g chosen before. A pair multiplies
it on average by at most 1: that average is (1 + u)(1 + v), one factor for each table, at most (1 + (u + v) / 2)^2; and
u + v is at most 0, because

- pure: A adds P[A] (h/g - 1) + Q[A] ((1-h)/(1-g) - 1) <= P[A] (1 + e^-epsilon) (g (h/g - 1) + (1-g) ((1-h)/(1-g) - 1)),
  which is 0; likewise B;
- others: of two guesses 2 s are right on average, s <= g: u + v = 2 (s h / g + (1 - s)(1 - h) / (1 - g) - 1) <= 0.

So, if no more is lost than was paid, the wealth *ever* reaches 1 / alarm with probability at most `alarm` (Ville
1939): one may look after every pair. Conversely, if its guesses are right as often as h or oftener (the same with g and
h exchanged), the wealth ever falls to `MISSED` with probability at most `MISSED`. A game in which it neither rises nor
falls so far goes on. h is what the attacker reaches where the loss is twice the charge, by the noise's law; another h
weakens a game, but lets it report no more of correct code.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from excess_loss import ALARM, GRID, SAMPLINGS, most_allowed
from numpy.typing import NDArray

from dpdb.privacy import PURE, Notion

MISSED = 1e-6  # of a doubled loss, by one game that ends

LARGER, NOTHING, SMALLER = 1, 0, -1


def rightly_said(notion: Notion, charge: int) -> float:
    """Return g: the greatest share of right guesses that a charge allows, rounded up."""
    if notion is PURE:
        return 1 / (1 + math.exp(-notion.value(charge)))
    most = most_allowed(notion, charge)
    return (1 + float(np.max(most[1:] - GRID[:-1]))) / 2


@dataclass
class Game:
    """Wealth of an attacker against the claim that answers lose no more than `charge`.

    Attributes
    ----------
    allowed, expected : float
        g and h.
    passes : bool
        Whether the attacker may say nothing.
    """

    allowed: float
    expected: float
    passes: bool
    right: int = 0
    wrong: int = 0

    def play(self, larger: NDArray[np.int_], smaller: NDArray[np.int_]) -> None:
        """Guesses on the larger and on the smaller table, equally many."""
        assert len(larger) == len(smaller)
        assert self.passes or ((larger != NOTHING).all() and (smaller != NOTHING).all())
        self.right += int((larger == LARGER).sum() + (smaller == SMALLER).sum())
        self.wrong += int((larger == SMALLER).sum() + (smaller == LARGER).sum())

    @property
    def log_wealth(self) -> float:
        won, lost = math.log(self.expected / self.allowed), math.log((1 - self.expected) / (1 - self.allowed))
        return self.right * won + self.wrong * lost

    @property
    def refuted(self) -> bool:
        """Whether more is lost than the charge."""
        return self.log_wealth >= math.log(SAMPLINGS / (ALARM / 2))

    @property
    def not_doubled(self) -> bool:
        """Whether not twice the charge is lost."""
        return self.log_wealth <= math.log(MISSED)

    def __str__(self) -> str:
        said = self.right + self.wrong
        return f"{self.right} of {said} guesses are right; {self.allowed:.3f} may be, doubled {self.expected:.3f}"
