"""Draws from an active domain with Zipf skew."""

from __future__ import annotations

from bisect import bisect_right

import numpy as np
import numpy.typing as npt

from dpdb.owner.dirt.cell import Value

__all__ = ["ZipfDomain"]


class ZipfDomain:
    """An active domain whose value of frequency rank r is drawn with probability proportional to 1 / r**skew.

    Parameters
    ----------
    values
        Distinct values, ascending; of equally frequent ones the smaller has the smaller rank.
    counts
        How often each occurs.
    skew
        0 is uniform.
    """

    def __init__(self, values: list[Value], counts: npt.NDArray[np.int64], skew: float) -> None:
        self._values = [values[k] for k in np.argsort(-counts, kind="stable")]
        self._rank = {value: rank for rank, value in enumerate(self._values)}
        weights = np.arange(1, len(values) + 1, dtype=float) ** -skew
        # Summed from the rare end: there, sums from the frequent end would lose all precision to cancellation.
        self._tails: list[float] = np.cumsum(weights[::-1]).tolist()

    def draw_other(self, current: Value | None, rng: np.random.Generator) -> Value | None:
        """Draw a value other than the current one; return the current one if there is no other."""
        count = len(self._values)
        own = -1 if current is None else self._rank.get(current, -1)
        if count == 0 or (count == 1 and own == 0):
            return current
        if own < 0:
            return self._values[self._at(rng.random() * self._tail(0))]
        rarer, kept = self._tail(own + 1), self._tail(own)
        commoner = self._tail(0) - kept
        mass = rng.random() * (rarer + commoner)
        rank = self._at(mass if mass < rarer else kept + mass - rarer)
        if rank == own:  # rounding at a border
            rank = own + 1 if own + 1 < count else own - 1
        return self._values[rank]

    def _tail(self, rank: int) -> float:
        """Return the weight of this rank and all higher ones."""
        return self._tails[-1 - rank] if rank < len(self._tails) else 0.0

    def _at(self, mass: float) -> int:
        """Return the highest rank whose tail exceeds `mass`."""
        return max(0, len(self._tails) - 1 - bisect_right(self._tails, mass))
