"""`peeled`: the names of some of the best candidates, one after another."""

from __future__ import annotations

from collections.abc import Sequence

from dpdb.privacy.noise import noisy_max

__all__ = ["peeled"]


def peeled(scores: Sequence[int], low: int, high: int, shares: Sequence[int]) -> list[int]:
    """Name candidates by noisy maxima, each among those that were not named before.

    Privacy: every round is `noisy_max` of scores whose changes lie in [low, high], so its share of epsilon is what it
    loses whatever the rounds before have named; which candidates it has is decided by those names and public facts
    alone, and the shares are fixed in advance. So the rounds compose adaptively, and all names with their order lose
    at most the sum of the shares.

    Parameters
    ----------
    scores
        The exact scores of all candidates, whose list is public.
    low, high
        The least and the greatest change of any score by one unit.
    shares
        Nano-epsilon of each round; not more rounds than candidates.

    Returns
    -------
    list of int
        Places of the named, in the order in which they were named.
    """
    left = list(range(len(scores)))
    return [left.pop(noisy_max([scores[place] for place in left], low, high, share)) for share in shares]
