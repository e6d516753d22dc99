"""The head of a ledger: how far it has come, in a file beside it, so that a ledger that went back is noticed.

A ledger that was put back from a backup, or lost its write-ahead log, looks like a current one: it has forgotten its
newest lines, and with them what was spent. `<ledger>-head` names the newest line, the newest answer and the epoch under
the ledger's key. It is written after the commit that it tells of, so a crash leaves it behind and never ahead, and
inside an exclusive transaction, so it never goes back itself. Where both files are put back together, or the head is
removed, nothing is noticed.
"""

from __future__ import annotations

import hmac
import json
import os
from contextlib import suppress
from pathlib import Path

from dpdb.accounting.ledger_file import LedgerFile
from dpdb.accounting.ledger_state import LedgerState
from dpdb.accounting.marks import mark
from dpdb.errors import LedgerError

__all__ = ["LedgerHead", "head_path"]


class LedgerHead:
    """The head file of one ledger; every method runs inside a transaction, after the state was read."""

    def __init__(self, file: LedgerFile, state: LedgerState) -> None:
        self._file = file
        self._state = state
        self._path = head_path(file.path)

    def check(self) -> None:
        """Raise `LedgerError` if the ledger has not come as far as its head says, or the head is of another ledger."""
        try:
            text, sealed = self._path.read_text("utf-8").split("\n")[:2]
        except FileNotFoundError:
            return
        except (OSError, ValueError):
            text, sealed = "", ""
        if not hmac.compare_digest(sealed.encode(), self._mark(text).encode()):
            raise LedgerError(
                f"{self._path}: not the head of this ledger; nothing was released. Put the ledger back that it "
                "belongs to, or remove it if it belongs to none"
            )
        number, seal, answered, epoch = json.loads(text)
        if not (self._has(number, seal) and self._is_answered(answered) and self._state.epoch.number >= epoch):
            raise LedgerError(
                f"{self._file.path}: the ledger has lost its newest releases (an old copy was put back, or its "
                "write-ahead log is gone); nothing was released. Put the newest ledger back; whoever removes "
                f"{self._path} and goes on spends again what was spent since"
            )

    def write(self, answered: int = 0) -> None:
        """Remember the newest line and the newest answer, which may be the one of entry `answered`.

        Raises
        ------
        LedgerError
            It cannot be written; what was recorded stays recorded.
        """
        state = self._state
        text = json.dumps([state.last, state.before.hex(), self._newest(answered), state.epoch.number])
        partial = self._path.with_name(f"{self._path.name}.partial")
        try:
            descriptor = os.open(partial, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
                stream.write(f"{text}\n{self._mark(text)}\n")
                stream.flush()
                os.fsync(stream.fileno())
            partial.rename(self._path)
        except OSError as error:
            with suppress(OSError):
                partial.unlink()
            raise LedgerError(f"{self._path}: cannot be written: {error.strerror}; nothing is published") from None

    def _newest(self, answered: int) -> int:
        """The entry that was answered last: `answered`, or what another process has remembered in between."""
        before = 0
        with suppress(FileNotFoundError):
            before = json.loads(self._path.read_text("utf-8").split("\n")[0])[2]
        found = self._file.rows(
            "SELECT number FROM entry WHERE number IN (?, ?) ORDER BY answered DESC, number DESC LIMIT 1",
            (before, answered),
        )
        return int(str(found[0][0])) if found else 0

    def _has(self, number: int, seal: str) -> bool:
        found = self._file.rows("SELECT hex(seal) FROM entry WHERE number = ?", (number,))
        return number == 0 or found == [(seal.upper(),)]

    def _is_answered(self, number: int) -> bool:
        return number == 0 or self._file.rows(
            "SELECT 1 FROM entry WHERE number = ? AND answer IS NOT NULL", (number,)
        ) == [(1,)]

    def _mark(self, text: str) -> str:
        return mark(self._state.terms.key, "head", text).hex()


def head_path(ledger: Path) -> Path:
    """Where the head of a ledger is kept."""
    return ledger.with_name(f"{ledger.name}-head")
