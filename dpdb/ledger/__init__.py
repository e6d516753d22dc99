"""The ledger: the durable record of the debits on one table, for any number of processes at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.faces import lazy_names

if TYPE_CHECKING:
    from dpdb.ledger.ledger import Ledger
    from dpdb.ledger.ledger_analysts import RecordedAnalyst
    from dpdb.ledger.lines import (
        Allowance,
        LedgerAct,
        LedgerEntry,
        LedgerSummary,
        RecordedAnswer,
        RecordedLevel,
        RecordedRearm,
        RecordedSuite,
        UnseenRows,
    )
    from dpdb.ledger.log import LedgerLog, LoggedDebit, Sums
    from dpdb.ledger.reading import LedgerReading, open_to_read
    from dpdb.ledger.report import epsilon_at
    from dpdb.ledger.reservation import Reservation, SuiteReservation
    from dpdb.ledger.store.rows import EntryLine
    from dpdb.ledger.store.seals import SourceMark, is_rows_of, rows_of

__all__ = [
    "Allowance",
    "EntryLine",
    "Ledger",
    "LedgerAct",
    "LedgerEntry",
    "LedgerLog",
    "LedgerReading",
    "LedgerSummary",
    "LoggedDebit",
    "RecordedAnalyst",
    "RecordedAnswer",
    "RecordedLevel",
    "RecordedRearm",
    "RecordedSuite",
    "Reservation",
    "SourceMark",
    "SuiteReservation",
    "Sums",
    "UnseenRows",
    "epsilon_at",
    "is_rows_of",
    "open_to_read",
    "rows_of",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_names(
        __name__,
        {
            "ledger": "Ledger",
            "ledger_analysts": "RecordedAnalyst",
            "lines": (
                "Allowance LedgerAct LedgerEntry LedgerSummary RecordedAnswer RecordedLevel RecordedRearm "
                "RecordedSuite UnseenRows"
            ),
            "log": "LedgerLog LoggedDebit Sums",
            "reading": "LedgerReading open_to_read",
            "report": "epsilon_at",
            "reservation": "Reservation SuiteReservation",
            "store.rows": "EntryLine",
            "store.seals": "SourceMark is_rows_of rows_of",
        },
    )
