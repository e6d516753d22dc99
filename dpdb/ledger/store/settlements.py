"""The settlements of a ledger: what answered debits really cost. The one place where a debit's charge is lowered."""

from __future__ import annotations

from typing import NamedTuple

from dpdb.ledger.store.entry_line import EntryLine
from dpdb.ledger.store.seals import FIRST, seal

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
    """A debit that was settled: its charge, and what was debited."""

    charge: int
    debited: int


class Settlements:
    """The settlements in order.

    Attributes
    ----------
    seals : list of bytes
        One per line.
    overlaps : dict of int to int
        What closed epochs come to after their newest settlement.
    """

    def __init__(self) -> None:
        self.seals: list[bytes] = []
        self.overlaps: dict[int, int] = {}
        self._of: dict[int, Settled] = {}

    @property
    def last(self) -> int:
        """Number of the newest settlement."""
        return len(self.seals)

    @property
    def before(self) -> bytes:
        """Seal of the newest settlement."""
        return self.seals[-1] if self.seals else FIRST

    def of(self, entry: int) -> Settled | None:
        """Return what an entry was settled at, None if it was not."""
        return self._of.get(entry)

    def applied(self, line: EntryLine) -> EntryLine:
        """Return an entry with the charge that counts: what it was settled at, or else what was debited."""
        settled = self._of.get(line.number)
        return line if settled is None else line._replace(charge=settled.charge)

    def seal(self, key: bytes, line: SettlementLine, entry_seal: bytes) -> bytes:
        """Return the seal of the next settlement, which is of the entry with this seal.

        Parameters
        ----------
        key
            The ledger's own key.
        line
            The settlement, without its seal.
        entry_seal
            Seal of the entry that it settles.
        """
        return seal(key, "settlement", self.before, (*line, entry_seal))

    def take(self, line: SettlementLine, sealed: bytes, debited: EntryLine) -> None:
        """Take in the next settlement, whose seal was checked; `ValueError` if it is none of this debit.

        Parameters
        ----------
        line
            The settlement, without its seal.
        sealed
            Its seal, which was checked.
        debited
            The entry that it settles.
        """
        if line.number != self.last + 1 or line.entry in self._of or not 0 <= line.charge <= debited.charge:
            raise ValueError("a settlement is out of order")
        self.seals.append(sealed)
        self._of[line.entry] = Settled(line.charge, debited.charge)
        if line.closed_overlap is not None:
            self.overlaps[debited.epoch] = line.closed_overlap
