"""The ledger: the durable record of what was spent on one table, for any number of processes at once."""

from __future__ import annotations

from dpdb.ledger.ledger import Ledger
from dpdb.ledger.lines import LedgerEntry, LedgerSummary, RecordedAnswer, Reservation
from dpdb.ledger.report import epsilon_at
from dpdb.ledger.store.marks import SourceMark

__all__ = ["Ledger", "LedgerEntry", "LedgerSummary", "RecordedAnswer", "Reservation", "SourceMark", "epsilon_at"]
