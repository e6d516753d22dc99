"""Rho of zero-concentrated differential privacy (zCDP) as an integer count of 10^-12, exact like epsilon."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from dpdb.privacy.epsilon import parse_amount

__all__ = ["PICO", "format_rho", "parse_rho", "rho_as_float", "rho_as_fraction"]

PICO = 10**12
_LARGEST = 1000  # noise is then 0 but for a probability below 1e-400


def parse_rho(value: float | int | str | Decimal) -> int:
    """Return pico-rho, rounded down: never more privacy loss than asked for.

    Raises
    ------
    ParameterError
        If the value is not a positive finite number between 1e-12 and 1000.
    """
    return parse_amount(value, "rho", PICO, _LARGEST)


def rho_as_fraction(rho: int) -> Fraction:
    """Rho as an exact number."""
    return Fraction(rho, PICO)


def rho_as_float(rho: int) -> float:
    """Rho as the float whose shortest text is the exact decimal."""
    return rho / PICO


def format_rho(rho: int) -> str:
    """Rho as its exact decimal text, without trailing zeros."""
    return f"{Decimal(rho).scaleb(-12).normalize():f}"
