"""Checks of the public numbers in a release's options, before any row is read or budget spent."""

from __future__ import annotations

from dpdb.errors import ParameterError
from dpdb.privacy import format_epsilon

__all__ = ["is_degree", "largest_degree_words", "parse_confidence", "parse_share"]

# Below this the shares of a mechanism's steps would round to nothing.
_SMALLEST_EPSILON = 1_000

# Rows are numbered with 32 bits.
_LARGEST_DEGREE = 2**32 - 1


def parse_confidence(confidence: float) -> float:
    """Check the confidence of the bounds."""
    if not isinstance(confidence, (int, float)) or not 0.5 <= confidence < 1:
        raise ParameterError(f"confidence must be at least 0.5 and below 1, got {confidence!r}")
    return float(confidence)


def parse_share(charged: int, rows_per_person: int) -> int:
    """Divide nano-epsilon among the rows of one person (group privacy)."""
    per_row = charged // rows_per_person
    if per_row < _SMALLEST_EPSILON:
        raise ParameterError(f"epsilon {format_epsilon(charged)} leaves less than 0.000001 per row: too small to use")
    return per_row


def largest_degree_words() -> str:
    """Return the valid range of a degree or a theta, in words."""
    return f"a whole number from 1 to {_LARGEST_DEGREE:,}"


def is_degree(value: object) -> bool:
    """Return whether a value is in the valid range of a degree or a theta."""
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= _LARGEST_DEGREE
