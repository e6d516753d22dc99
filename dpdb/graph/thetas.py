"""Thresholds of degrees, as they are given."""

from __future__ import annotations

import operator
from collections.abc import Sequence

from dpdb.errors import ParameterError

__all__ = ["bounded_theta", "check_theta", "check_thetas"]


def check_theta(theta: int) -> int:
    """Return a threshold as an integer of at least 1, or raise `ParameterError`."""
    try:
        value = operator.index(theta)
    except TypeError:
        raise ParameterError(f"theta must be an integer, got {theta!r}") from None
    if value < 1:
        raise ParameterError(f"theta must be at least 1, got {value}")
    return value


def check_thetas(thetas: Sequence[int]) -> tuple[int, ...]:
    """Check each of some thresholds."""
    return tuple(check_theta(theta) for theta in thetas)


def bounded_theta(theta: int, node_count: int) -> int:
    """Return a threshold that bounds the same: above `node_count - 1` it bounds nothing."""
    return min(theta, max(node_count - 1, 1))
