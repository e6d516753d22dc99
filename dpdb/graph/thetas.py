"""A list of candidate thetas as the lanes of a kernel's state: one lane per distinct useful theta."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpdb.errors import ParameterError
from dpdb.thresholds import NARROW_LANES

__all__ = ["Lanes", "ThetaLanes", "check_theta", "theta_lanes"]

Lanes: TypeAlias = NDArray[np.unsignedinteger[Any]]

_VECTOR = 16  # lanes come in powers of two up to this, then in multiples: the inner loops vectorize


@dataclass(frozen=True)
class ThetaLanes:
    """The given thetas, and the lane of each."""

    thetas: tuple[int, ...]
    """As given: any order, duplicates, any size."""
    lanes: Lanes
    """Distinct thetas, ascending, capped, the last one repeated as padding; smallest unsigned type."""
    lane_of: tuple[int, ...]
    """For every given theta the index of its lane."""

    @property
    def cost(self) -> int:
        """Cost of an edge in all lanes, in vectors of the inner loops."""
        return -(-len(self.lanes) // _VECTOR)


def theta_lanes(thetas: Sequence[int], node_count: int) -> ThetaLanes:
    """Lay out `thetas` for a graph of `node_count` nodes.

    A theta above `node_count - 1` bounds nothing, so capping it there changes no statistic and keeps
    the state in the smallest type.

    Raises
    ------
    ParameterError
        A theta is not an integer or is below 1.
    """
    asked = tuple(check_theta(theta) for theta in thetas)
    cap = max(node_count - 1, 1)
    distinct = sorted({min(theta, cap) for theta in asked})
    padding = _width(len(distinct)) - len(distinct)
    greatest = max(distinct, default=1)
    kind = np.min_scalar_type(greatest) if greatest <= NARROW_LANES.at else np.dtype(np.uint32)
    lanes = np.array(distinct + distinct[-1:] * padding, dtype=kind)
    position = {theta: lane for lane, theta in enumerate(distinct)}
    return ThetaLanes(asked, lanes, tuple(position[min(theta, cap)] for theta in asked))


def check_theta(theta: int) -> int:
    """Return a threshold as an integer of at least 1, or raise `ParameterError`."""
    try:
        value = operator.index(theta)
    except TypeError:
        raise ParameterError(f"theta must be an integer, got {theta!r}") from None
    if value < 1:
        raise ParameterError(f"theta must be at least 1, got {value}")
    return value


def _width(count: int) -> int:
    if count <= _VECTOR:
        return 1 << max(count - 1, 0).bit_length() if count else 0
    return -(-count // _VECTOR) * _VECTOR
