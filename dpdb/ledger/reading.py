"""`LedgerReading`: the readings of a ledger, also on a read-only disk or in an archive (`open_to_read`).

Each reading first reads the lines that other processes have added.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

from dpdb.errors import LedgerError
from dpdb.files.owned_file import open_owned
from dpdb.ledger.books import Books
from dpdb.ledger.debit import earlier_try
from dpdb.ledger.lines import (
    LedgerAct,
    LedgerEntry,
    LedgerSummary,
    RecordedAnswer,
    RecordedLevel,
    RecordedRearm,
    RecordedSuite,
    UnseenRows,
)
from dpdb.ledger.log import LedgerLog
from dpdb.ledger.report import acts, history, little_left, recorded_answers, summary, unseen_rows
from dpdb.ledger.reservation import Reservation
from dpdb.ledger.store.head import head_path
from dpdb.ledger.store.rows import EntryLine
from dpdb.ledger.store.seals import SourceMark
from dpdb.ledger.suite_runs import suite_history, suite_levels, suites
from dpdb.names import check_name
from dpdb.predicates import Region, region_to_text
from dpdb.stopping import Closing


class LedgerReading(Closing):
    """An open ledger for reading; `Ledger` adds the methods that spend.

    Attributes
    ----------
    shown : str
        The path of the ledger's file, as the user gave it.
    notion : Notion
        By which this ledger counts.
    append_only : bool
        Whether rows never change once written.
    """

    def __init__(self, path: str | Path) -> None:
        self._books = Books(Path(path))
        self._file, self._state = self._books.file, self._books.state
        self.shown = self._file.shown
        self.notion, self.append_only = self._state.terms.notion, self._state.terms.append_only

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Open a ledger; `LedgerError` if it cannot be used."""
        return cls(path)

    def answered(self, run_id: str, request: str) -> str | None:
        """The recorded answer of a run, None if there is none yet or the run had another request."""
        check_name("a run id", run_id)
        with self._books.current():
            number = self._state.runs.get(run_id)
            if number is None or self._state.entry(number).request != request:
                return None
            return self._state.answer(number)

    def reserved_at(self, run_id: str) -> datetime | None:
        """Return when a run was debited, before any private computation; None if it was not debited."""
        check_name("a run id", run_id)
        debit = self._debit_of(run_id)
        return None if debit is None else datetime.fromisoformat(debit.reserved)

    def is_debited(self, run_id: str | None) -> bool:
        """Return whether a run was debited, answered or not; False without a run id."""
        return run_id is not None and self.reserved_at(run_id) is not None

    def earlier_try(
        self, predicate: Region, charge: int, *, source: SourceMark, request: str, run_id: str, analyst: str | None
    ) -> Reservation | None:
        """Return the reservation that `Ledger.reserve` would find for a run, with its errors; None without a debit.

        Parameters
        ----------
        predicate
            The rows that the run would cover now.
        charge
            What it would be charged now, in units of the ledger's notion.
        source
            The marks of the table and its rows.
        request
            JSON object of the request.
        analyst
            Who asks; None for the owner.
        """
        check_name("a run id", run_id)
        with self._books.current():
            charged = region_to_text(predicate), charge
            return earlier_try(self._books, run_id, (request, analyst), charged, source)

    def request_of(self, run_id: str) -> str | None:
        """The recorded request of a run; None if the run was not debited."""
        debit = self._debit_of(run_id)
        return None if debit is None else debit.request

    def _debit_of(self, run_id: str) -> EntryLine | None:
        with self._books.current():
            number = self._state.runs.get(run_id)
            return None if number is None else self._state.entry(number)

    def run_ids(self) -> list[str]:
        """Names of the runs that were debited, oldest first."""
        self._books.refresh()
        return list(self._state.runs)

    def spent_units(self) -> int:
        """Units spent, over all epochs."""
        self._books.refresh()
        return self._state.spent

    def summary(self) -> LedgerSummary:
        """Return the promise, the budget spent and the budget left."""
        with self._books.current():
            return summary(self._state)

    def unseen_rows(self) -> UnseenRows | None:
        """Return the budget left for rows with new values of some column, if the whole table has less."""
        with self._books.current():
            return unseen_rows(self._state)

    def little_left(self) -> str | None:
        """Say how much is left if that is little of the budget or of an allowance for every row; None otherwise."""
        with self._books.current():
            return little_left(self._state)

    def history(self) -> list[LedgerEntry]:
        """Every debit, oldest first."""
        with self._books.current():
            return history(self._state)

    def acts(self) -> list[LedgerAct]:
        """Every act of the owner (raised, retired, allowed), oldest first."""
        with self._books.current():
            return acts(self._state)

    def answers(self, *, release_id: str | None = None, run_id: str | None = None) -> list[RecordedAnswer]:
        """Return recorded answers: all of them, the answer of one run, or the answer with one release.

        Spends nothing; nothing is drawn again.
        """
        with self._books.current():
            return recorded_answers(self._state, release_id, run_id)

    def suites(self) -> list[RecordedSuite]:
        """Every suite, oldest first: public, without its secret."""
        with self._books.current():
            return suites(self._books)

    def kept_suite(self, name: str) -> RecordedSuite | None:
        """Return the kept suite of a name, open or closed; None if there is none."""
        return next((suite for suite in self.suites() if suite.name == name), None)

    def suite_levels(self, number: int) -> list[RecordedLevel]:
        """Return the levels that the runs of a suite have recorded, in this order; public.

        Parameters
        ----------
        number
            The number of the suite, as in `RecordedSuite`.
        """
        with self._books.current():
            return suite_levels(self._books, number)

    def suite_history(self, number: int) -> list[RecordedLevel | RecordedRearm]:
        """Return the recorded levels of a suite and its re-armed checks, in this order; as `suite_levels`."""
        with self._books.current():
            return suite_history(self._books, number)

    def lines(self) -> list[EntryLine]:
        """Every debit as its line in the ledger, oldest first."""
        with self._books.current():
            return list(self._state.entries())

    def leaves(self) -> list[bytes]:
        """Return the hash of every line, in the order of writing; see `dpdb.ledger.log`."""
        return self.log().read()

    def log(self) -> LedgerLog:
        """Follow the lines in the order of writing, for receipts."""
        return LedgerLog(self._books)

    def close(self) -> None:
        """Close the file. May be called twice."""
        self._file.close()

    def __repr__(self) -> str:
        return f"<dpdb ledger {self._file.shown}: {self.notion.name}>"


@contextmanager
def open_to_read(path: str | Path) -> Iterator[LedgerReading]:
    """Open a ledger to read it; if it or its folder is read-only, open a copy in a private temporary folder.

    SQLite writes beside a file that it reads. The copy has the write-ahead log and the head, so it passes the same
    checks as the ledger. Nothing can be spent from the returned ledger.

    A copy of a ledger, like a backup of its file, has what the file has. While a suite of checks is open that is its
    secret, too: whoever reads it learns from every quiet day what should have cost epsilon, so such a copy is kept as
    closely as the table itself. Closing the suite overwrites the secret in the ledger and in no copy made before:
    backups of closed suites have none, older ones do, and are thrown away or kept like the table. Putting one back is
    noticed by the head beside the ledger, unless that is put back, too. The copy made here lies in a folder of this
    user alone, and is removed with it.

    Raises
    ------
    LedgerError
        It cannot be used.
    """
    given = Path(path)
    try:
        resolved = given.resolve(strict=True)
    except (OSError, ValueError, RuntimeError):
        resolved = given  # the error of opening says why
    if os.access(resolved, os.W_OK) and os.access(resolved.parent, os.W_OK):
        with LedgerReading.open(path) as ledger:
            yield ledger
        return
    with TemporaryDirectory(prefix="dpdb-") as folder:
        copy = Path(folder) / resolved.name
        for source in (resolved, Path(f"{resolved}-wal"), head_path(resolved)):
            _copy(source, copy.with_name(source.name), given)
        with LedgerReading.open(copy) as ledger:
            yield ledger


def _copy(source: Path, target: Path, shown: Path) -> None:
    try:
        with os.fdopen(open_owned(source, os.O_RDONLY), "rb") as read:
            new = open_owned(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
            with os.fdopen(new, "wb") as write:
                shutil.copyfileobj(read, write)
    except FileNotFoundError:
        if source.name == shown.name:
            raise LedgerError(f"{shown}: no ledger there; make one with `dpdb budget create`") from None
    except OSError as error:
        raise LedgerError(f"{shown}: {error.strerror}") from None
