"""The head of a ledger: a file beside it with its counts of lines, so that a ledger that lost lines is noticed.

A ledger that was put back from a backup, or lost its write-ahead log, looks like a current one: it has forgotten its
newest lines, and with them what was spent or forbidden. `<ledger>-head` counts the lines of every chain and names the
newest of each by its seal, and the epoch, under the ledger's key. It is written after the commit that it tells of, so a
crash leaves it behind and never ahead, and inside an exclusive transaction, so it never goes back itself. Where both
files are put back together, or the head is removed, nothing is noticed.
"""

from __future__ import annotations

import hmac
import json
from pathlib import Path

from dpdb.errors import LedgerError
from dpdb.files.owned_file import read_owned, replace_owned
from dpdb.ledger.store.file import VERSION, LedgerFile
from dpdb.ledger.store.marks import mark
from dpdb.ledger.store.state import LedgerState

__all__ = ["LedgerHead", "head_path", "looks_like_head"]

_KIND = f"head of format {VERSION}"
_MARK_BYTES = 32


class LedgerHead:
    """The head file of one ledger; every method runs inside a transaction, after the state was read."""

    def __init__(self, file: LedgerFile, state: LedgerState) -> None:
        self._file = file
        self._state = state

    def check(self) -> None:
        """Raise `LedgerError` if the ledger has lost lines that its head counts, or the head is of another ledger."""
        found = _read(self._file)
        if found is None:
            return
        text, sealed = found
        if not hmac.compare_digest(sealed.encode(), self._mark(text).encode()):
            raise _not_its_head(self._file)
        told, state = json.loads(text), self._state
        for chain, (number, newest) in told["chains"].items():
            found_seal = state.chain_seal(chain, number)
            if found_seal is None or found_seal.hex() != newest:
                raise self._file.lost()
        if state.epoch.number < told["epoch"]:
            raise self._file.lost()

    def write(self) -> None:
        """Write the newest line of every chain and the epoch.

        Raises
        ------
        LedgerError
            It cannot be written; what was recorded stays recorded.
        """
        chains = {chain.table: (chain.last, chain.before.hex()) for chain in self._state.chains}
        text = json.dumps({"format": VERSION, "epoch": self._state.epoch.number, "chains": chains})
        sealed = self._mark(text)
        try:
            replace_owned(head_path(self._file.path), f"{text}\n{sealed}\n", self._file.owner)
        except OSError as error:
            raise LedgerError(
                f"{self._file.shown}-head: cannot be written: {error.strerror}; {self._file.outcome}"
            ) from None

    def _mark(self, text: str) -> str:
        return mark(self._state.terms.key, _KIND, text).hex()


def head_path(ledger: Path) -> Path:
    """Return the path of a ledger's head."""
    return ledger.with_name(f"{ledger.name}-head")


def _read(file: LedgerFile) -> tuple[str, str] | None:
    """Text and mark of the head beside a ledger, None if there is none."""
    try:
        text, sealed = read_owned(head_path(file.path), file.owner).split("\n")[:2]
    except FileNotFoundError:
        return None
    except OSError as error:
        raise LedgerError(f"{file.shown}-head: {error.strerror}; {file.outcome}") from None
    except ValueError:
        raise _not_its_head(file) from None
    return text, sealed


def looks_like_head(path: Path) -> bool:
    """Return whether a file is the head of some ledger, of whatever format."""
    try:
        text, sealed = read_owned(path).split("\n")[:2]
        return bool(json.loads(text)) and len(bytes.fromhex(sealed)) == _MARK_BYTES
    except (OSError, ValueError):
        return False


def _not_its_head(file: LedgerFile) -> LedgerError:
    """The error of a head that is not of this ledger."""
    return LedgerError(
        f"{file.shown}-head: not the head of this ledger; nothing was released. Put the ledger back that it belongs "
        "to, or remove it if it belongs to none"
    )
