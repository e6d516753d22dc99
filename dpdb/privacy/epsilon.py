"""Epsilon and rho as exact integers, and `Notion`: charges in pure epsilon, zCDP or GDP, which add up along an overlap.

Epsilon is an integer count of 10^-9, rho of zCDP one of 10^-12: exact from the parser to the last share.

Every notion here composes by a sum (of epsilon, of rho, of mu squared), also when releases are chosen adaptively
(Feldman & Zrnic 2021; Whitehouse et al. 2023; Smith & Thakurta 2022). Charges are rounded up and budgets down, so
rounding never spends more than was allowed. The paper's central limit theorem (Theorem 4) is an approximation, not an
upper bound, and is not used.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from dpdb.errors import ParameterError

NANO = 10**9
_LARGEST = 10**6  # beyond it exp(epsilon) promises nothing


def parse_epsilon(value: float | int | str | Decimal, *, name: str = "epsilon") -> int:
    """Return nano-epsilon, rounded down: never more privacy loss than asked for.

    Raises
    ------
    ParameterError
        If the value is not a positive finite number between 1e-9 and 1e6.
    """
    return parse_amount(value, name, NANO, _LARGEST)


def parse_amount(value: float | int | str | Decimal, name: str, unit: int, largest: int) -> int:
    """Return how many of the `unit` parts of 1 a positive number holds, rounded down.

    Parameters
    ----------
    name : str
        Name of the number, for messages.
    unit : int
        How many parts 1 has; a power of ten.
    largest : int
        The largest number allowed.
    """
    if isinstance(value, int) and not isinstance(value, bool) and value > largest:
        raise ParameterError(f"{name} must be at most {largest}")  # the number may be too long to print
    try:
        if isinstance(value, bool) or (isinstance(value, str) and not is_plain(value)):
            raise InvalidOperation
        number = Decimal(repr(float(value)) if isinstance(value, float) else str(value).strip())
    except (InvalidOperation, ValueError):
        raise ParameterError(f"{name} must be a positive number, got {value!r}") from None
    if not number.is_finite() or number <= 0:
        raise ParameterError(f"{name} must be positive and finite, got {value!r}")
    if number > largest:
        raise ParameterError(f"{name} must be at most {largest}, got {value!r}")
    digits = len(str(unit)) - 1
    parts = 0 if number.adjusted() < -digits else math.floor(Fraction(number) * unit)  # exact in any decimal context
    if parts == 0:
        raise ParameterError(f"{name} must be at least 1e-{digits}, got {value!r}")
    return parts


def is_plain(text: str) -> bool:
    """Return whether a number is written in ASCII digits; `Decimal` also takes other scripts' and underscores."""
    return text.isascii() and "_" not in text


def split(epsilon: int, weights: Sequence[int]) -> tuple[int, ...]:
    """Split nano-epsilon in proportion to positive integer weights; the shares sum to it exactly.

    Every share but the last is rounded down, the remainder goes to the last.

    Raises
    ------
    ParameterError
        If a share would be zero: the mechanism would have nothing to spend on a step.
    """
    total = sum(weights)
    shares = [epsilon * weight // total for weight in weights[:-1]]
    shares.append(epsilon - sum(shares))
    if min(shares) <= 0:
        raise ParameterError(f"epsilon {format_epsilon(epsilon)} is too small to be split into {len(weights)} steps")
    return tuple(shares)


def as_fraction(epsilon: int) -> Fraction:
    """Epsilon as an exact number."""
    return Fraction(epsilon, NANO)


def as_float(epsilon: int) -> float:
    """Epsilon as the float whose shortest text is the exact decimal."""
    return epsilon / NANO


def format_epsilon(epsilon: int) -> str:
    """Epsilon as its exact decimal text, without trailing zeros."""
    whole, billionths = divmod(epsilon, NANO)
    return f"{whole}.{billionths:09d}".rstrip("0").rstrip(".")


PICO = 10**12
_LARGEST_RHO = 1000  # noise is then 0 but for a probability below 1e-400


def parse_rho(value: float | int | str | Decimal) -> int:
    """Return pico-rho, rounded down: never more privacy loss than asked for.

    Raises
    ------
    ParameterError
        If the value is not a positive finite number between 1e-12 and 1000.
    """
    return parse_amount(value, "rho", PICO, _LARGEST_RHO)


def rho_as_fraction(rho: int) -> Fraction:
    """Rho as an exact number."""
    return Fraction(rho, PICO)


def rho_as_float(rho: int) -> float:
    """Rho as the float whose shortest text is the exact decimal."""
    return rho / PICO


def format_rho(rho: int) -> str:
    """Rho as its exact decimal text, without trailing zeros."""
    return f"{Decimal(rho).scaleb(-12).normalize():f}"


Number = int | float | str | Decimal | Fraction

_MOST_EXPONENT = 400  # written out, 1e999999999 would take a gigabyte


@dataclass(frozen=True)
class Notion:
    """A way of counting privacy loss.

    Parameters
    ----------
    name
        `pure`, `zcdp` or `gdp`.
    parameter
        Name of its native parameter.
    unit
        Units per 1.0 of the sum: nano-epsilon for pure, 10^-12 for rho and mu squared.
    """

    name: str
    parameter: str
    unit: int

    def charge(self, value: Number) -> int:
        """Charge of a release with native parameter `value` (epsilon, rho or mu), rounded up."""
        return _ceil(self._additive(value) * self.unit)

    def budget(self, value: Number) -> int:
        """Charges that fit in a budget with native parameter `value`, rounded down."""
        return math.floor(self._additive(value) * self.unit)

    def charge_pure(self, epsilon: Number) -> int:
        """Charge of a pure epsilon-DP release under this notion, rounded up.

        Notes
        -----
        zCDP: rho = epsilon^2 / 2 (Bun & Steinke 2016, Proposition 1.4). GDP: the largest Gaussian trade-off curve below
        that of epsilon-DP touches it where both errors are equal, mu = 2 Phi^-1(e^epsilon / (1 + e^epsilon)); see
        `gdp_of_pure`.
        """
        exact = _fraction(epsilon, "epsilon")
        if self is PURE:
            return _ceil(exact * self.unit)
        if self is ZCDP:
            return _ceil(exact * exact / 2 * self.unit)
        if exact == 0:
            return 0
        if exact > 30:
            raise ParameterError(f"epsilon {float(exact)} is too large to be charged as GDP; use at most 30")
        return _ceil(Fraction(gdp_of_pure(float(exact))) ** 2 * self.unit)

    def value(self, charge: int) -> float:
        """Native parameter of a sum of charges."""
        added = charge / self.unit
        return math.sqrt(added) if self is GDP else added

    def epsilon(self, charge: int, delta: float = 0.0) -> float:
        """The epsilon of (epsilon, delta)-DP for a sum of charges; infinite at `delta` 0 unless the notion is pure."""
        _check_delta(delta)
        if self is PURE:
            return charge / self.unit
        return (zcdp_epsilon if self is ZCDP else gdp_epsilon)(self._at_least(charge), delta)

    def delta(self, charge: int, epsilon: float) -> float:
        """The delta of (epsilon, delta)-DP for a sum of charges."""
        if self is PURE:  # tight for a pure guarantee: randomized response reaches it
            loss = charge / self.unit
            return max(0.0, math.tanh(loss / 2) if epsilon <= 0 else _pure_delta(loss, epsilon))
        return (zcdp_delta if self is ZCDP else gdp_delta)(self._at_least(charge), epsilon)

    def _at_least(self, charge: int) -> float:
        """`value`, rounded up."""
        value = self.value(charge)
        return math.nextafter(value, math.inf) if value else 0.0

    def _additive(self, value: Number) -> Fraction:
        exact = _fraction(value, self.parameter)
        return exact * exact if self is GDP else exact


PURE = Notion("pure", "epsilon", 10**9)
ZCDP = Notion("zcdp", "rho", 10**12)
GDP = Notion("gdp", "mu", 10**12)

NOTIONS = {notion.name: notion for notion in (PURE, ZCDP, GDP)}
"""The notions by name."""


def _fraction(value: Number, name: str) -> Fraction:
    """The number as it was written: 0.1 is one tenth."""
    try:
        if isinstance(value, (str, Decimal)) and not _is_usable(str(value)):
            raise ValueError
        exact = Fraction(repr(value)) if isinstance(value, float) else Fraction(value)
    except (ValueError, TypeError, ArithmeticError) as error:
        raise ParameterError(f"{name} must be a finite number, got {value!r}") from error
    if exact < 0:
        raise ParameterError(f"{name} must be non-negative, got {value!r}")
    return exact


def _is_usable(text: str) -> bool:
    """Return whether a number is in ASCII digits (`Fraction` reads those of all scripts) and not too long to write."""
    return is_plain(text) and ("/" in text or abs(Decimal(text).adjusted()) <= _MOST_EXPONENT)


def _ceil(value: Fraction) -> int:
    return -((-value.numerator) // value.denominator)


def _check_delta(delta: float) -> None:
    if not 0 <= delta < 1:
        raise ParameterError(f"delta must be at least 0 and below 1, got {delta!r}")


def _pure_delta(loss: float, epsilon: float) -> float:
    return max(0.0, -math.expm1(epsilon - loss) / (1 + math.exp(-loss)))


def zcdp_epsilon(rho: float, delta: float) -> float:
    """Epsilon of a rho-zCDP guarantee (Canonne, Kamath & Steinke 2020, Proposition 12): safe for every order tried."""
    if rho == 0:
        return 0.0
    if delta == 0:
        return math.inf

    def at(log_order: float) -> float:
        order = 1 + math.exp(log_order)
        return rho * order + math.log1p(-1 / order) - math.log(delta * order) / (order - 1)

    return max(0.0, _least(at, -20.0, 25.0))


def zcdp_delta(rho: float, epsilon: float) -> float:
    """Delta of a rho-zCDP guarantee at `epsilon`, from the same proposition."""
    if rho == 0:
        return 0.0

    def at(log_order: float) -> float:
        order = 1 + math.exp(log_order)
        return (order - 1) * (order * rho - epsilon + math.log1p(-1 / order)) - math.log(order)

    return min(1.0, math.exp(min(0.0, _least(at, -20.0, 25.0))))


def _least(function: Callable[[float], float], low: float, high: float) -> float:
    """Smallest value found by a grid and a golden section around its best point."""
    step = (high - low) / 200
    start = min((low + k * step for k in range(201)), key=function)
    low, high = start - step, start + step
    ratio = (math.sqrt(5) - 1) / 2
    for _ in range(60):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (low, right) if function(left) <= function(right) else (left, high)
    return float(min(function(start), function((low + high) / 2)))


_ERROR = 1e-12
"""More than the relative error of `erfcx`, `exp` and the few operations around them, about 1e-13."""

_ROOT_2 = math.sqrt(2)
_ROOT_2_PI = math.sqrt(2 * math.pi)


def gdp_delta(mu: float, epsilon: float) -> float:
    """Delta of a mu-GDP guarantee at `epsilon` (Dong, Roth & Su 2019, Corollary 2.13), rounded up.

    Notes
    -----
    With a = epsilon/mu - mu/2 and b = epsilon/mu + mu/2 it is Phi(-a) - e^epsilon Phi(-b). Since e^epsilon phi(b) =
    phi(a), it equals phi(a) (R(a) - R(b)) with Mills' ratio R(x) = Phi(-x) / phi(x) = sqrt(pi/2) erfcx(x / sqrt 2): no
    tail is ever taken as 1 minus almost 1, and no power of e overflows.
    """
    if mu == 0:
        return 0.0
    a, b = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    if b <= 0:  # a large negative epsilon: delta is 1 - e^epsilon or more
        return 1.0
    error = _ERROR * (1 + b + abs(a) * b)  # a is a difference, as exact as b, and its square is in an exponent
    density = math.exp(-a * a / 2) / _ROOT_2_PI
    if a <= 0:
        delta = math.erfc(a / _ROOT_2) / 2 * (1 + error) - density * _mills_ratio(b) * (1 - error)
    else:
        delta = density * (1 + error) * (_mills_ratio(a) * (1 + _ERROR) - _mills_ratio(b) * (1 - _ERROR))
    return min(1.0, max(delta, sys.float_info.min))  # never 0, and a smaller number is not exact


def _mills_ratio(x: float) -> float:
    from scipy.special import erfcx  # loaded for reports of gdp ledgers only

    return math.sqrt(math.pi / 2) * float(erfcx(x / _ROOT_2))


def gdp_epsilon(mu: float, delta: float) -> float:
    """Epsilon of a mu-GDP guarantee at `delta`, rounded up."""
    if mu == 0:
        return 0.0
    if delta < sys.float_info.min:
        return math.inf
    low, high = 0.0, 1.0
    if gdp_delta(mu, 0.0) <= delta:
        return 0.0
    while gdp_delta(mu, high) > delta:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if gdp_delta(mu, middle) > delta else (low, middle)
    return high


def gdp_of_pure(epsilon: float) -> float:
    """The least mu such that every epsilon-DP release is mu-GDP, rounded up.

    Notes
    -----
    Phi(-mu/2) = 1 / (1 + e^epsilon): the error at which both kinds are equally likely. Twice that is
    erfc(mu / sqrt 8), and 1 minus it is erf(mu / sqrt 8) = tanh(epsilon / 2): the former is accurate where mu is large,
    the latter where it is small. Both are monotone, so halving an interval finds mu to the last bits.
    """
    tail = 2 / (1 + math.exp(epsilon))

    def too_small(mu: float) -> bool:
        if epsilon < 1:
            return math.erf(mu / math.sqrt(8)) < math.tanh(epsilon / 2)
        return math.erfc(mu / math.sqrt(8)) > tail

    low, high = 0.0, 2.0 * epsilon + 1.0
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if too_small(middle) else (low, middle)
    return high * (1 + _ERROR)
