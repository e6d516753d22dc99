"""`SaidReceipts`: the receipts of a command's answers; what fails is said: the answers are paid for and shown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dpdb.doors.cli.streams import say
from dpdb.errors import DpdbError, ParameterError

if TYPE_CHECKING:
    from dpdb.release import Release
    from dpdb.suites import CheckResults

__all__ = ["SaidReceipts"]


class SaidReceipts:
    """Appends receipts to the file of `--receipt`; errors as `ReceiptFile`, and where an option is missing.

    Parameters
    ----------
    path
        The file.
    key
        File of the private key.
    ledger
        The ledger that pays.
    """

    def __init__(self, path: str | None, key: str | None, ledger: str | Path | None) -> None:
        if path is None or key is None or ledger is None:
            raise ParameterError(
                "--receipt FILE, --receipt-key KEY and --ledger go together; `dpdb receipts key KEY` makes the key"
            )
        from dpdb.receipts import ReceiptFile, load_key

        self._path, self._ledger = path, ledger
        self._file = ReceiptFile(path, load_key(key), ledger)

    def add(self, releases: Sequence[Release], checks: Sequence[CheckResults], run_id: str | None = None) -> None:
        """Append the receipts of releases, of verdicts and of a run with another answer, one for each debit."""
        try:
            for release in releases:
                self._file.of(release_id=release.release_id)
            for one in checks:
                self._file.of(run_id=one.run_id, suite=one.name)
            if run_id is not None:
                self._file.of(run_id=run_id)
        except DpdbError as error:
            say(f"{self._path}: the receipt is not written ({error}); `dpdb receipts issue {self._ledger}` writes it")

    def close(self) -> None:
        """Close file and ledger. May be called twice."""
        self._file.close()
