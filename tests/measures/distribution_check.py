"""Is the output distribution on two tables within exp(epsilon)? A one-sided exact test, with an event chosen apart.

The event is chosen on a first pair of samples and tested on a second, independent one: reject only if the
Clopper-Pearson lower bound of Pr[M(D) in O] exceeds exp(epsilon) times the upper bound of Pr[M(D') in O]. Each bound
fails with probability at most ALPHA / 2, so a private mechanism is rejected with probability at most ALPHA per
direction, for every choice of the event.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence

from scipy.stats import beta

ALPHA = 2e-9

Outcome = Hashable
Sampler = Callable[[int], list[Outcome]]


def lower_bound(hits: int, trials: int) -> float:
    return 0.0 if hits == 0 else float(beta.ppf(ALPHA / 2, hits, trials - hits + 1))


def upper_bound(hits: int, trials: int) -> float:
    return 1.0 if hits == trials else float(beta.isf(ALPHA / 2, hits + 1, trials - hits))


def choose_event(likely: Sequence[Outcome], unlikely: Sequence[Outcome], epsilon: float) -> set[Outcome]:
    """Outcomes in falling order of their likelihood ratio, as many as promise the clearest excess."""
    here, there = Counter(likely), Counter(unlikely)
    order = sorted(here, key=lambda outcome: (here[outcome] + 0.5) / (there[outcome] + 0.5), reverse=True)
    trials, hits, misses, best, chosen = len(likely), 0, 0, -math.inf, 1
    for size, outcome in enumerate(order, 1):
        hits, misses = hits + here[outcome], misses + there[outcome]
        p, q = hits / trials, (misses + 0.5) / trials
        spread = math.sqrt(p + math.exp(2 * epsilon) * q)
        excess = (p - math.exp(epsilon) * q) / spread
        if hits >= 20 and excess > best:
            best, chosen = excess, size
    return set(order[:chosen])


def exceeds(likely: Sequence[Outcome], unlikely: Sequence[Outcome], event: set[Outcome], epsilon: float) -> bool:
    """Whether the samples prove Pr[likely in event] > exp(epsilon) Pr[unlikely in event]."""
    hits, misses = (sum(outcome in event for outcome in sample) for sample in (likely, unlikely))
    return lower_bound(hits, len(likely)) > math.exp(epsilon) * upper_bound(misses, len(unlikely))


def is_caught(first: Sampler, second: Sampler, epsilon: float, trials: int, pilot: int) -> bool:
    """Whether samples of the two tables prove a loss above epsilon, in either direction."""
    train, test = (first(pilot), second(pilot)), (first(trials), second(trials))
    forward = choose_event(train[0], train[1], epsilon)
    backward = choose_event(train[1], train[0], epsilon)
    return exceeds(test[0], test[1], forward, epsilon) or exceeds(test[1], test[0], backward, epsilon)
