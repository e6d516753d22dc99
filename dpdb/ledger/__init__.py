"""The ledger: the durable record of what was spent on one table, for any number of processes at once."""

from __future__ import annotations

from dpdb.ledger.ledger import Ledger
from dpdb.ledger.lines import LedgerEntry, LedgerSummary, Reservation
from dpdb.ledger.store.marks import SourceMark

__all__ = ["Ledger", "LedgerEntry", "LedgerSummary", "Reservation", "SourceMark"]
