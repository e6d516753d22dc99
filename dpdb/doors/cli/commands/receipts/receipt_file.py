"""`ReceiptFile`: receipts that a command appends to a file, opened and checked before anything is spent."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dpdb.doors.cli.streams import say
from dpdb.errors import DpdbError, ParameterError, ReceiptError
from dpdb.files.owned_file import open_owned
from dpdb.receipts import Checkpoint, Issuer, load_key, load_public, open_receipt, read_receipts

if TYPE_CHECKING:
    from dpdb.release import Release
    from dpdb.suites import CheckResults

__all__ = ["ReceiptFile"]


class ReceiptFile:
    """A file of receipts (mode 0600), one on each line. A new one is shown to follow those that are there.

    Parameters
    ----------
    path
        The file.
    key
        File of the private key.
    ledger
        The ledger that pays.

    Raises
    ------
    ParameterError
        Ledger, key or file is missing or not usable.
    LedgerError
        The ledger cannot be used; `RollbackError` if it has not what the key has signed, or what the file holds.
    """

    def __init__(self, path: str | None, key: str | None, ledger: str | Path | None) -> None:
        if path is None or key is None or ledger is None:
            raise ParameterError(
                "--receipt FILE, --receipt-key KEY and --ledger go together; `dpdb receipts key KEY` makes the key"
            )
        self._path, self._ledger, self._done = Path(path), ledger, set[tuple[int, str | None]]()
        signer = load_key(key)
        self._after: list[Checkpoint] = []
        if os.path.lexists(path) and self._path.stat().st_size:
            known = [signer.note_key, *(load_public(word) for word in signer.earlier)]
            for number, line in enumerate(read_receipts(path), 1):
                try:
                    self._after.append(open_receipt(line, known).checkpoint)
                except ReceiptError as error:
                    raise ParameterError(f"{path}, receipt {number}: {error}; nothing was spent") from None
        try:
            self._file = open_owned(self._path, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
        except OSError as error:
            raise ParameterError(f"{path}: {error.strerror}; nothing was spent") from None
        try:
            self._issuer = Issuer(ledger, signer)
            try:
                self._issuer.refuse_rollback(self._after, path)
            except BaseException:
                self._issuer.close()
                raise
        except BaseException:
            os.close(self._file)
            raise

    def add(self, releases: Sequence[Release], checks: Sequence[CheckResults], run_id: str | None = None) -> None:
        """Append the receipts of releases, of verdicts and of a run with another answer, one for each debit.

        What fails is said, and the same receipt can be had later: the answers are paid for and shown.
        """
        try:
            wanted = [self._issuer.found(release_id=release.release_id) for release in releases]
            wanted += [self._issuer.found(run_id=one.run_id, suite=one.name) for one in checks]
            wanted += [] if run_id is None else [self._issuer.found(run_id=run_id)]
            for found in wanted:
                if found not in self._done:
                    self._append(*found)
                    self._done.add(found)
        except (DpdbError, OSError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            say(f"{self._path}: the receipt is not written ({why}); `dpdb receipts issue {self._ledger}` writes it")

    def _append(self, number: int, run: str | None) -> None:
        line = self._issuer.issue(number, run, self._after[-1:])
        left = memoryview(line)
        while left:
            left = left[os.write(self._file, left) :]
        os.fsync(self._file)
        self._after.append(self._issuer.newest)

    def close(self) -> None:
        """Close file and ledger. May be called twice."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
        self._issuer.close()
