"""Lists from which places leave: `jumps` has for each place how far to go on, 0 while the place is present."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dpdb.compiled import kernel

__all__ = ["next_present"]

Number = TypeVar("Number", int, int | np.int64)


@kernel
def next_present(jumps: NDArray[np.int32], place: Number) -> Number:
    """Find the next present place not below `place` (path halving)."""
    while jumps[place] != 0:
        jumps[place] += jumps[place + jumps[place]]
        place += jumps[place]
    return place
