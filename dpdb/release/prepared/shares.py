"""The shares of a call's epsilon for row count, degree cap and measures: fixed in advance, exact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dpdb.measures import Mechanism, measure_named, rate_shares
from dpdb.privacy import split

__all__ = ["Share", "measure_shares", "unit_shares"]

# `measure="all"`: of the degree cap, beside those of the measures (`Measure.weight`): 36 for minimal_inconsistency
# and problematic, 18 for repair, which has sensitivity 1 and needs less. Compared on the five data sets with training
# seeds at 0.2% and 1% noise, epsilon 0.3 and 1, then fixed. Rates have the same proportion (`Measure.rate_weight`);
# the degree cap is there a part of its own mechanism.
_CAP_WEIGHT = 10


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
        """The nano-epsilon of the measure: the sum of its parts."""
        return self.cap + self.rest + self.count

    @property
    def parts(self) -> tuple[int, ...]:
        """The nano-epsilon of each draw for the measure that composes with the other draws."""
        return tuple(filter(None, (self.count, self.cap, self.rest)))


def measure_shares(measures: Sequence[tuple[str, Mechanism]], epsilon: int, *, rate: bool) -> tuple[Share, ...]:
    """Share nano-epsilon among measures of one conflict graph; the shares' totals add up to it.

    One measure alone is shared as its mechanism says. Several share one degree cap, booked with the first. Rates share
    one row count, booked with the first. Where all are one number (`Mechanism.on_one_row`) it is drawn for the first.

    Parameters
    ----------
    measures
        Name and mechanism of each measure, in the order of the releases.
    epsilon
        Nano-epsilon of all measures together.
    rate
        Whether rates are released, which need a row count.
    """
    count, left = rate_shares(epsilon) if rate else (0, epsilon)
    if all(mechanism.on_one_row for _, mechanism in measures):
        return (Share(0, left, count), *[Share(0, 0)] * (len(measures) - 1))
    if rate:
        budgets = split(left, [measure_named(name).rate_weight or 0 for name, _ in measures])
        shares = [mechanism.shares(budget) for (_, mechanism), budget in zip(measures, budgets, strict=True)]
        return tuple(Share(cap, rest, 0 if position else count) for position, (cap, rest) in enumerate(shares))
    if len(measures) == 1:
        return (Share(*measures[0][1].shares(epsilon)),)
    cap, *rest = split(epsilon, (_CAP_WEIGHT, *(measure_named(name).weight for name, _ in measures)))
    return tuple(Share(0 if position else cap, share) for position, share in enumerate(rest))


def unit_shares(shares: Sequence[Share], charged: int) -> tuple[Share, ...]:
    """Share `charged`, what one unit pays, as `shares` share what one row pays.

    The totals add up to `charged`. A unit changes d rows, and what one row pays, epsilon, is `charged` / d, rounded
    down: so a share of w nano-epsilon costs the unit w d at most. It is charged at least that: charged w / epsilon is
    at least the integer w d, also rounded down, and what is left goes to the last one; likewise within a measure.
    """
    costs = _split(charged, [share.total for share in shares])
    return tuple(
        Share(*_split(cost, [share.cap, share.rest, share.count])) for cost, share in zip(costs, shares, strict=True)
    )


def _split(amount: int, weights: Sequence[int]) -> list[int]:
    """Split as `split`; a weight of 0 gets 0."""
    if not any(weights):
        return [0] * len(weights)
    found = iter(split(amount, [weight for weight in weights if weight]))
    return [next(found) if weight else 0 for weight in weights]
