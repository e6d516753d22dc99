"""Arrays that grow at their end in amortised constant time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

__all__ = ["Growing"]


class Growing:
    """A one-dimensional array with room to spare; `values` is the part in use, and may be written to."""

    def __init__(self, values: ArrayLike, dtype: DTypeLike) -> None:
        self._room: NDArray[Any] = np.array(values, dtype)
        self._used = len(self._room)

    def __len__(self) -> int:
        return self._used

    @property
    def values(self) -> NDArray[Any]:
        """The values that were added, as a view."""
        return self._room[: self._used]

    def extend(self, values: ArrayLike) -> None:
        """Add at the end."""
        added = np.asarray(values, self._room.dtype)
        end = self._used + len(added)
        if end > len(self._room):
            room = np.empty(max(64, 2 * end), self._room.dtype)
            room[: self._used] = self.values
            self._room = room
        self._room[self._used : end] = added
        self._used = end

    def copy(self) -> Growing:
        """An array of its own with the same values."""
        return Growing(self.values, self._room.dtype)
