"""Lists from which places leave: each place leads to the next present one, itself while it is present."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dpdb.compiled import kernel

__all__ = ["next_present"]

Number = TypeVar("Number", int, int | np.int64)


@kernel
def next_present(chain: NDArray[np.int32], place: Number) -> Number:
    """Find the next present place not below `place` (path halving)."""
    while chain[place] != place:
        chain[place] = chain[chain[place]]
        place = chain[place]
    return place
