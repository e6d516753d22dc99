"""An overlap problem in numbers: rows (boxes of queries), attributes, and the atoms each row covers on each attribute.

An atom is a set of values of one attribute that no predicate tells apart. A point of the domain is one atom per
attribute, and a row covers it when it covers every one of those atoms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpdb.errors import ParameterError

__all__ = ["MOST_WEIGHT", "Attribute", "Instance", "check_weights"]

MOST_WEIGHT = 2**50
"""Largest total weight: below it, sums of weights are exact in 64-bit integers and in 64-bit floats."""


@dataclass(frozen=True)
class Attribute:
    """One attribute, reduced to the atoms that the rows tell apart.

    Parameters
    ----------
    name
        Name of the attribute.
    codes
        Per row the pattern it has on this attribute, -1 for every atom.
    patterns
        Booleans (pattern, atom).
    describe
        Words for an atom, by its index.
    """

    name: str
    codes: NDArray[np.int32]
    patterns: NDArray[np.bool_]
    describe: Callable[[int], str] = field(compare=False)


@dataclass(frozen=True)
class Instance:
    """Rows with weights over attributes; `origin` says to which query a row belongs.

    The rows of one query are disjoint boxes, so a point meets at most one of them.
    """

    weights: NDArray[np.int64]
    origin: NDArray[np.int64]
    queries: int
    attributes: tuple[Attribute, ...]

    def covering(self, atoms: Sequence[int]) -> NDArray[np.int64]:
        """The queries that cover the point with these atoms, ascending."""
        covered = np.ones(len(self.weights), bool)
        for attribute, atom in zip(self.attributes, atoms, strict=True):
            column = np.append(attribute.patterns[:, atom], True)
            covered &= column[attribute.codes]
        return np.unique(self.origin[covered])

    def describe(self, atoms: Sequence[int]) -> dict[str, str]:
        """Words for a point: one condition per attribute that any row restricts."""
        return {
            attribute.name: attribute.describe(atom) for attribute, atom in zip(self.attributes, atoms, strict=True)
        }

    def query_weights(self) -> NDArray[np.int64]:
        """Weight per query (0 for a query without rows)."""
        weights = np.zeros(self.queries, np.int64)
        weights[self.origin] = self.weights
        return weights


def check_weights(weights: Sequence[int] | NDArray[np.int64] | None, queries: int) -> NDArray[np.int64]:
    """Weights as an array; ones by default.

    Raises
    ------
    ParameterError
        A weight is negative or not an integer, there are not as many weights as queries, or their total is too large.
    """
    if weights is None:
        return np.ones(queries, np.int64)
    if len(weights) != queries:
        raise ParameterError(f"got {len(weights)} weights for {queries} queries; give one weight per query")
    exact = [int(weight) for weight in weights]
    for given, weight in zip(weights, exact, strict=True):
        if given != weight or weight < 0:
            raise ParameterError(f"weights are charges in whole units and cannot be {given!r}; round them up first")
    if sum(exact) > MOST_WEIGHT:
        raise ParameterError(f"the weights sum to {sum(exact)}, above {MOST_WEIGHT}; use a coarser unit of charge")
    return np.array(exact, np.int64)
