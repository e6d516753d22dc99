"""How a call's epsilon is shared between row count, degree cap and measures: fixed in advance, exact."""

from __future__ import annotations

from dataclasses import dataclass

from dpdb.measures.rate import rate_shares
from dpdb.privacy import split
from dpdb.release.request import Request

__all__ = ["Share", "measure_shares"]

# `measure="all"`: degree cap, minimal_inconsistency, problematic, repair. Repair has sensitivity 1 and needs less.
# Compared on the five data sets with training seeds at 0.2% and 1% noise, epsilon 0.3 and 1, then fixed.
_ALL_WEIGHTS = (10, 36, 36, 18)

# Both rates: problematic, with the degree cap of its own mechanism, and repair, in the proportion of `_ALL_WEIGHTS`.
_RATE_WEIGHTS = (2, 1)


@dataclass(frozen=True)
class Share:
    """Nano-epsilon of one measure: for the degree cap (0 if another measure of the call pays for it), for the rest.

    `count` is for the row count of rates, and 0 too if another measure pays for it.
    """

    cap: int
    rest: int
    count: int = 0

    @property
    def total(self) -> int:
        """What the measure is booked with."""
        return self.cap + self.rest + self.count


def measure_shares(request: Request) -> tuple[Share, ...]:
    """Share `request.epsilon` among its measures; the shares' totals add up to it.

    One measure alone is shared as its mechanism says. Several share one degree cap, booked with the first. Rates share
    one row count, booked with the first.
    """
    if request.rate:
        return _rate_shares(request)
    if len(request.measures) == 1:
        return (Share(*request.measures[0][1].shares(request.epsilon)),)
    cap, *rest = split(request.epsilon, _ALL_WEIGHTS)
    return tuple(Share(0 if position else cap, share) for position, share in enumerate(rest))


def _rate_shares(request: Request) -> tuple[Share, ...]:
    count, left = rate_shares(request.epsilon)
    parts = split(left, _RATE_WEIGHTS) if len(request.measures) > 1 else (left,)
    shares = [mechanism.shares(part) for (_, mechanism), part in zip(request.measures, parts, strict=True)]
    return tuple(Share(cap, rest, 0 if position else count) for position, (cap, rest) in enumerate(shares))
