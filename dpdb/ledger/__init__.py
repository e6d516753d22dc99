"""The ledger: the durable record of what was spent on one table, for any number of processes at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.faces import lazy_names

if TYPE_CHECKING:
    from dpdb.ledger.ledger import Ledger
    from dpdb.ledger.lines import LedgerEntry, LedgerSummary, RecordedAnswer, Reservation
    from dpdb.ledger.report import epsilon_at
    from dpdb.ledger.store.marks import SourceMark, is_rows_of, rows_of
    from dpdb.ledger.store.state import EntryLine

__all__ = [
    "EntryLine",
    "Ledger",
    "LedgerEntry",
    "LedgerSummary",
    "RecordedAnswer",
    "Reservation",
    "SourceMark",
    "epsilon_at",
    "is_rows_of",
    "rows_of",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_names(
        __name__,
        {
            "ledger": "Ledger",
            "lines": "LedgerEntry LedgerSummary RecordedAnswer Reservation",
            "report": "epsilon_at",
            "store.marks": "SourceMark is_rows_of rows_of",
            "store.state": "EntryLine",
        },
    )
