"""`ReceiptFile`: a file of receipts, one for each answer, opened and checked before anything is spent."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from dpdb.closing import Closing
from dpdb.errors import ParameterError, ReceiptError
from dpdb.files.owned_file import open_owned
from dpdb.receipts.checkpoint import Checkpoint
from dpdb.receipts.issue import Issuer
from dpdb.receipts.keys import SigningKey, load_public
from dpdb.receipts.receipt import open_receipt, read_receipts

__all__ = ["ReceiptFile"]


class ReceiptFile(Closing):
    """A file of receipts (mode 0600), one on each line. A new one is shown to follow those that are there.

    Parameters
    ----------
    path
        The file.
    key
        The private key.
    ledger
        The ledger that pays.

    Raises
    ------
    ParameterError
        Key or file is missing or not usable.
    LedgerError
        The ledger cannot be used; `RollbackError` if it has not what the key has signed, or what the file holds.
    """

    def __init__(self, path: str | Path, key: SigningKey, ledger: str | Path) -> None:
        self._path, self._file, self._size = Path(path), -1, 0
        self._known = [key.note_key, *(load_public(word) for word in key.earlier)]
        self._seen: list[Checkpoint] = []
        self._lines: dict[tuple[str, int, str | None], bytes] = {}
        if os.path.lexists(self._path) and self._path.stat().st_size:
            self._read()
        try:
            self._file = open_owned(self._path, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
        except OSError as error:
            raise ParameterError(f"{path}: {error.strerror}; nothing was spent") from None
        with ExitStack() as opened:
            opened.callback(os.close, self._file)
            self._issuer = opened.enter_context(Issuer(ledger, key))
            self._issuer.refuse_rollback(self._seen, path)
            opened.pop_all()

    def _read(self) -> None:
        self._seen, self._lines, self._size = [], {}, 0
        for number, line in enumerate(read_receipts(self._path), 1):
            try:
                receipt = open_receipt(line, self._known)
            except ReceiptError as error:
                raise ParameterError(f"{self._path}, receipt {number}: {error}; nothing was spent") from None
            debit = receipt.claims["debit"]
            if debit["answered"]:
                self._lines[receipt.checkpoint.origin, debit["entry"], debit["run"]] = line
            self._seen.append(receipt.checkpoint)
            self._size += len(line) + 1

    def of(self, *, run_id: str | None = None, suite: str | None = None, release_id: str | None = None) -> str:
        """Return the receipt of a run, of a kept `suite` or not, or of a release; it is appended unless it is there.

        Raises
        ------
        LedgerError
            There is no such debit, or the ledger went back.
        ParameterError
            The file cannot be written.
        """
        with self._held():
            number, run = self._issuer.found(run_id=run_id, suite=suite, release_id=release_id)
            mark = self._issuer.log.debit(number, self._issuer.newest.size, run).run
            key = self._issuer.origin, number, mark
            if key not in self._lines:
                self._lines[key] = self._append(number, run)
            return self._lines[key].decode()

    @contextmanager
    def _held(self) -> Iterator[None]:
        """Hold the file: of two runs at once one appends, and the other reads what it has appended."""
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX)
            try:
                if os.fstat(self._file).st_size != self._size:
                    self._read()
                yield
            finally:
                fcntl.flock(self._file, fcntl.LOCK_UN)
        except OSError as error:
            raise ParameterError(f"{self._path}: {error.strerror}") from None

    def _append(self, number: int, run: str | None) -> bytes:
        line = self._issuer.issue(number, run, self._seen[-1:])
        left = memoryview(line)
        while left:
            left = left[os.write(self._file, left) :]
        os.fsync(self._file)
        self._size += len(line)
        self._seen.append(self._issuer.newest)
        return line[:-1]

    def close(self) -> None:
        """Close file and ledger. May be called twice."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
        self._issuer.close()
