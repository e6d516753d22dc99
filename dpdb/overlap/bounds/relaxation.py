"""The overlap problem as the bounds read it: weights, and per attribute the atoms that each row covers, in any form."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpdb.overlap.bounds.coverage import Coverage

__all__ = ["Columns", "FamilyT", "Relaxation"]


class Columns(Protocol):
    """The atoms of one attribute among the rows it restricts, its `users`."""

    @property
    def users(self) -> NDArray[np.int64]:
        """Rows it restricts, ascending."""

    @property
    def matrix(self) -> Coverage:
        """The table (atom, row) of the atoms that each row covers, for sums."""

    @property
    def size(self) -> int:
        """Number of atoms."""

    def covers(self, atom: int) -> NDArray[np.bool_]:
        """Per user whether it covers an atom."""


FamilyT = TypeVar("FamilyT", bound=Columns)


@dataclass(frozen=True)
class Relaxation(Generic[FamilyT]):
    """Rows with weights over attributes; `constant` is collected everywhere."""

    weights: NDArray[np.int64]
    constant: int
    families: tuple[FamilyT, ...]

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.weights)

    @property
    def total(self) -> int:
        """Sum of all weights and the constant: the cost without parallel composition."""
        return self.constant + int(self.weights.sum())

    @cached_property
    def used(self) -> NDArray[np.bool_]:
        """Booleans (row, family): whether the family restricts the row."""
        used = np.zeros((self.size, len(self.families)), bool)
        for column, family in enumerate(self.families):
            used[family.users, column] = True
        return used
