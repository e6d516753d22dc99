"""The ledger: the durable record of the debits on one table, for any number of processes at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.faces import lazy_names

if TYPE_CHECKING:
    from dpdb.ledger.amounts import in_words as in_words
    from dpdb.ledger.kept_suites import kept_otherwise as kept_otherwise
    from dpdb.ledger.ledger import Ledger as Ledger
    from dpdb.ledger.ledger_analysts import RecordedAnalyst as RecordedAnalyst
    from dpdb.ledger.lines import (
        Allowance as Allowance,
        LedgerAct as LedgerAct,
        LedgerEntry as LedgerEntry,
        LedgerSummary as LedgerSummary,
        RecordedAnswer as RecordedAnswer,
        RecordedLevel as RecordedLevel,
        RecordedRearm as RecordedRearm,
        RecordedSuite as RecordedSuite,
        UnseenRows as UnseenRows,
    )
    from dpdb.ledger.log import LedgerLog as LedgerLog, LoggedDebit as LoggedDebit, Sums as Sums
    from dpdb.ledger.reading import LedgerReading as LedgerReading, open_to_read as open_to_read
    from dpdb.ledger.report import epsilon_at as epsilon_at
    from dpdb.ledger.reservation import Reservation as Reservation, SuiteReservation as SuiteReservation
    from dpdb.ledger.store.rows import EntryLine as EntryLine
    from dpdb.ledger.store.seals import SourceMark as SourceMark, is_rows_of as is_rows_of, rows_of as rows_of
else:
    __getattr__, __all__ = lazy_names(__name__)
