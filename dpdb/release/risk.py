"""The risk of an epsilon for one person: how much an attacker can learn at most, whatever else is known.

Let an attacker know everything but whether one person's row is in the table, and see a release O of an epsilon-DP
mechanism. By Bayes' rule the odds of "in" change by the factor Pr[O | in] / Pr[O | out], which lies between
exp(-epsilon) and exp(epsilon). Who starts from even odds therefore ends at a probability of at most
exp(epsilon) / (1 + exp(epsilon)), and guesses right at most so often (Wasserman and Zhou 2010; Kairouz, Oh and
Viswanath 2015): 1/2 at epsilon 0. Several releases together are one release of the sum of their epsilons.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["Risk", "risk_of"]


@dataclass(frozen=True)
class Risk:
    """The most that a release tells of one person.

    Attributes
    ----------
    epsilon : float
    odds_factor : float
        By how much the odds that the person's row is in the table change at most: exp(epsilon).
    attacker_accuracy : float
        How often an attacker with even odds guesses right at most: exp(epsilon) / (1 + exp(epsilon)).
    """

    epsilon: float
    odds_factor: float
    attacker_accuracy: float

    @property
    def odds_words(self) -> str:
        """The factor as people read it: ``"2.72-fold"``, ``"22,026-fold"``."""
        return f"{self.odds_factor:,.{2 if self.odds_factor < 100 else 0}f}-fold"

    @property
    def accuracy_words(self) -> str:
        """The attacker's accuracy as a percentage that is never rounded up to certainty."""
        return ">99.9%" if self.attacker_accuracy > 0.999 else f"{self.attacker_accuracy:.1%}"

    @property
    def words(self) -> str:
        """The two figures in a sentence."""
        return (
            f"epsilon {self.epsilon:g}: the odds that one person's row is in the table change at most "
            f"{self.odds_words}; an attacker who starts from even odds is right at most "
            f"{self.accuracy_words} of the time (guessing: 50%)"
        )


def risk_of(epsilon: float) -> Risk:
    """Return what an epsilon means for one person.

    Examples
    --------
    >>> risk_of(1.0).accuracy_words, risk_of(0.1).odds_words
    ('73.1%', '1.11-fold')
    """
    factor = math.exp(epsilon) if epsilon < 700 else math.inf  # beyond it exp(epsilon) overflows, promising nothing
    return Risk(epsilon, factor, 1 / (1 + math.exp(-epsilon)))
