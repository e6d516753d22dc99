"""Debits as lines of the ledger; those of the current epoch, and the index that decides about the next one."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import NamedTuple

from dpdb.overlap import Added, OverlapIndex
from dpdb.predicates import region_from_text

__all__ = ["UNKNOWN", "EntryLine", "EpochLines"]


class EntryLine(NamedTuple):
    """A debit as its row, without seal; `charge` is the settled charge, where a settlement has lowered it.

    `place` counts the lines of all chains in the order in which they were written.
    """

    number: int
    epoch: int
    run_id: str | None
    request: str
    predicate: str
    charge: int
    upper: int
    source_mark: bytes
    reserved: str
    analyst: str | None = None
    label: str | None = None
    rule_set: str | None = None
    place: int = 0


UNKNOWN = -1
"""The bound of a debit before a settlement: its decision has counted charges that were lowered since."""


class EpochLines:
    """Debits, in order; their predicates are read when a decision needs them.

    Most ledgers are opened to be looked at, or to find a recorded answer; then no predicate is read at all.
    """

    def __init__(self) -> None:
        self._predicates: list[str] = []
        self._charges, self._uppers = array("q"), array("q")
        self._index: OverlapIndex | None = None

    def __bool__(self) -> bool:
        return bool(self._predicates) or bool(self._index)

    def add(self, predicates: Sequence[str], charges: Sequence[int], uppers: Sequence[int]) -> None:
        """Add debits.

        Parameters
        ----------
        predicates
            The stored predicate of each debit.
        charges
            The charge of each debit.
        uppers
            The bound that the decision on each debit has proven, or `UNKNOWN`.
        """
        if self._index is None:
            self._predicates.extend(predicates)
            self._charges.extend(charges)
            self._uppers.extend(uppers)
            return
        for predicate, charge, upper in zip(predicates, charges, uppers, strict=True):
            self._index.add(region_from_text(predicate), charge, _proven(upper))

    @property
    def index(self) -> OverlapIndex:
        """The index of all debits; made at the first look."""
        if self._index is None:
            merged: dict[str, tuple[int, int, int]] = {}
            for predicate, charge, upper in zip(self._predicates, self._charges, self._uppers, strict=True):
                weight, _, releases = merged.pop(predicate, (0, 0, 0))  # moved to the end: the newest comes last
                merged[predicate] = weight + charge, upper, releases + 1
            self._index = OverlapIndex.of(
                Added(region_from_text(text), weight, _proven(upper), releases)
                for text, (weight, upper, releases) in merged.items()
            )
            self._predicates, self._charges, self._uppers = [], array("q"), array("q")
        return self._index


def _proven(upper: int) -> int | None:
    return None if upper == UNKNOWN else upper
