"""Epsilon as an integer count of 10^-9, rho of zCDP as one of 10^-12: exact from the parser to the last share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from dpdb.errors import ParameterError

__all__ = [
    "NANO",
    "PICO",
    "as_float",
    "as_fraction",
    "format_epsilon",
    "format_rho",
    "is_plain",
    "parse_amount",
    "parse_epsilon",
    "parse_rho",
    "rho_as_float",
    "rho_as_fraction",
    "split",
]

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
    value : number or str
        The number as it was given.
    name : str
        Name of the number, for messages.
    unit : int
        How many parts 1 has; a power of ten.
    largest : int
        The largest number allowed.

    Raises
    ------
    ParameterError
        If it is not a positive finite number of at least one part and at most `largest`.
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
