"""Sums of charges in the parameter of their notion, in words and as numbers that never claim too much."""

from __future__ import annotations

from decimal import Decimal
from math import isqrt, nextafter

from dpdb.errors import ParameterError
from dpdb.overlap import MOST_WEIGHT
from dpdb.privacy import GDP, PURE, Notion, Number

_LITTLE = 10


def in_parameter(notion: Notion, units: int) -> float:
    """`units` as epsilon, rho or mu; a root is rounded down."""
    value = notion.value(max(0, units))
    return nextafter(value, 0.0) if notion is GDP else value


def in_words(notion: Notion, units: int) -> str:
    """`units` as an exact decimal (a root to nine digits, rounded down), without the parameter's name."""
    units = max(0, units)
    exact = Decimal(isqrt(units * 10**6)).scaleb(-9) if notion is GDP else Decimal(units) / notion.unit
    return f"{exact.normalize():f}"


def check_units(charge: object) -> None:
    """Raise `ParameterError` unless a charge is a whole number of units, from 0 on."""
    if isinstance(charge, bool) or not isinstance(charge, int) or charge < 0:
        raise ParameterError(f"a charge is a whole number of units, got {charge!r}")


def is_little(left: float, total: float) -> bool:
    """Return whether `left` is less than a tenth of `total`."""
    return left * _LITTLE < total


def budget_units(notion: Notion, budget: Number | None, epsilon: Number | None, delta: float) -> int:
    """Return the units of a budget given in the notion's parameter or as the epsilon that it promises with `delta`.

    Parameters
    ----------
    budget
        Total in the notion's own parameter, or None.
    epsilon
        What the total promises together with `delta`, or None.
    delta
        In [0, 1); 0 for a pure ledger.

    Raises
    ------
    ParameterError
        Not exactly one of the two is given, it is too small or too large, or `delta` does not go with the notion.
    """
    if (budget is None) == (epsilon is None):
        raise ParameterError(f"give a ledger either its budget ({notion.parameter}) or its epsilon")
    if not 0 <= delta < 1:
        raise ParameterError(f"delta must be at least 0 and below 1, got {delta!r}")
    if notion is PURE and delta:
        raise ParameterError("delta belongs to zcdp and gdp ledgers; a pure ledger has none")
    if epsilon is None:
        assert budget is not None
        units = notion.budget(budget)
    elif notion is PURE:
        units = notion.budget(epsilon)
    else:
        units = _largest(notion, PURE.budget(epsilon) / PURE.unit, delta)
    if not 0 < units <= MOST_WEIGHT:
        raise ParameterError(
            f"a budget must be positive and at most {in_words(notion, MOST_WEIGHT)} in {notion.parameter}"
        )
    return units


def _largest(notion: Notion, epsilon: float, delta: float) -> int:
    """The largest sum of charges that still promises (epsilon, delta)."""
    if delta == 0:
        raise ParameterError(f"a {notion.name} ledger with a budget in epsilon needs a delta, such as 1e-6")
    low, high = 0, MOST_WEIGHT
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if notion.epsilon(middle, delta) <= epsilon else (low, middle - 1)
    return low
