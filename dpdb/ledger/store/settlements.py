"""The settlements of a ledger: the real cost of answered debits. Only here is a debit's charge lowered."""

from __future__ import annotations

from typing import NamedTuple

from dpdb.ledger.store.entry_lines import EntryLine
from dpdb.ledger.store.seals import Chain

__all__ = ["Settled", "SettlementLine", "Settlements"]


class SettlementLine(NamedTuple):
    """A settlement as its row, without seal."""

    number: int
    entry: int
    charge: int
    at: str
    closed_overlap: int | None
    table: str | None
    place: int


class Settled(NamedTuple):
    """A settled debit: its charge, and the amount of the debit."""

    charge: int
    debited: int


class Settlements(Chain[SettlementLine]):
    """The settlements in order.

    Attributes
    ----------
    overlaps : dict of int to int
        The cost of closed epochs after their newest settlement.
    """

    def __init__(self) -> None:
        super().__init__("settlement", SettlementLine)
        self.overlaps: dict[int, int] = {}
        self._of: dict[int, Settled] = {}

    def of(self, entry: int) -> Settled | None:
        """Return the settlement of an entry, None if it was not settled."""
        return self._of.get(entry)

    def applied(self, line: EntryLine) -> EntryLine:
        """Return an entry with the charge that counts: the settled charge, or else the debit."""
        settled = self._of.get(line.number)
        return line if settled is None else line._replace(charge=settled.charge)

    def take(self, line: SettlementLine, debited: EntryLine) -> None:
        """Add the next settlement, whose seal was checked; `ValueError` if it settles twice or above the debit."""
        if line.entry in self._of or not 0 <= line.charge <= debited.charge:
            raise ValueError("a settlement is out of order")
        self._of[line.entry] = Settled(line.charge, debited.charge)
        if line.closed_overlap is not None:
            self.overlaps[debited.epoch] = line.closed_overlap
