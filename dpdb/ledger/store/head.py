"""The head of a ledger: how far it has come, in a file beside it, so that a ledger that went back is noticed.

A ledger that was put back from a backup, or lost its write-ahead log, looks like a current one: it has forgotten its
newest lines, and with them what was spent or forbidden. `<ledger>-head` counts entries, answers and acts and names the
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
from dpdb.ledger.store.file import LedgerFile
from dpdb.ledger.store.marks import mark
from dpdb.ledger.store.state import LedgerState

__all__ = ["KIND", "OLD_KIND", "LedgerHead", "head_path", "is_marked", "looks_like_head", "not_its_head", "read_head"]

KIND = "head of format 3"
OLD_KIND = "head"
"""Kinds of mark, so that no version of dpdb takes the head of one format for that of another."""
_MARK_BYTES = 32


class LedgerHead:
    """The head file of one ledger; every method runs inside a transaction, after the state was read."""

    def __init__(self, file: LedgerFile, state: LedgerState) -> None:
        self._file = file
        self._state = state

    def check(self) -> None:
        """Raise `LedgerError` if the ledger has not come as far as its head says, or the head is of another ledger."""
        found = read_head(self._file)
        if found is None:
            return
        text, sealed = found
        state = self._state
        if self._is_marked(KIND, text, sealed):
            told = json.loads(text)
            entries, answers, epoch = told["entries"], told["answers"], told["epoch"]
            acts = told.get("acts", 0)  # versions that knew no acts counted none
            newest = (entries == 0 or _hex(state.seal_of(entries)) == told["entry_seal"]) and (
                answers == 0 or _hex(state.answer_seal_of(answers)) == told["answer_seal"]
            )
            newest = newest and (acts == 0 or _hex(state.acts.seal_of(acts)) == told["act_seal"])
            if not newest or state.epoch.number < epoch:
                raise self._file.lost()
        elif self._is_marked(OLD_KIND, text, sealed):
            self._check_old(text)
        else:
            raise not_its_head(self._file)

    def move(self) -> None:
        """Write the head if an upgrade was interrupted before it could: the old one is still there."""
        found = read_head(self._file)
        if found is not None and self._is_marked(OLD_KIND, *found):
            self.write()

    def write(self) -> None:
        """Remember the newest entry, the newest answer and the epoch.

        Raises
        ------
        LedgerError
            It cannot be written; what was recorded stays recorded.
        """
        state = self._state
        text = json.dumps(
            {
                "format": 3,
                "entries": state.last,
                "entry_seal": _hex(state.seal_of(state.last)),
                "answers": state.answers,
                "answer_seal": state.answer_seal.hex(),
                "epoch": state.epoch.number,
                "acts": state.acts.last,
                "act_seal": state.acts.before.hex(),
            }
        )
        sealed = mark(state.terms.key, KIND, text).hex()
        try:
            replace_owned(head_path(self._file.path), f"{text}\n{sealed}\n", self._file.owner)
        except OSError as error:
            raise LedgerError(
                f"{self._file.shown}-head: cannot be written: {error.strerror}; {self._file.outcome}"
            ) from None

    def _check_old(self, text: str) -> None:
        """A head of an older format is that of the moment of the upgrade, and nothing was added since."""
        before, state = self._state.terms.upgraded, self._state
        if before is None or (before.head, before.entries, before.answers) != (text, state.last, state.answers):
            raise LedgerError(
                f"{self._file.shown}-head: the head that the ledger had before its upgrade was put back; nothing was "
                "released. Put its newest head back"
            )

    def _is_marked(self, kind: str, text: str, sealed: str) -> bool:
        return is_marked(self._state.terms.key, kind, text, sealed)


def head_path(ledger: Path) -> Path:
    """Return where the head of a ledger is kept."""
    return ledger.with_name(f"{ledger.name}-head")


def is_marked(key: bytes, kind: str, text: str, sealed: str) -> bool:
    """Return whether the mark of a head is that of its text."""
    return hmac.compare_digest(sealed.encode(), mark(key, kind, text).hex().encode())


def read_head(file: LedgerFile) -> tuple[str, str] | None:
    """Text and mark of the head beside a ledger, None if there is none."""
    try:
        text, sealed = read_owned(head_path(file.path), file.owner).split("\n")[:2]
    except FileNotFoundError:
        return None
    except OSError as error:
        raise LedgerError(f"{file.shown}-head: {error.strerror}; {file.outcome}") from None
    except ValueError:
        raise not_its_head(file) from None
    return text, sealed


def looks_like_head(path: Path) -> bool:
    """Return whether a file is the head of some ledger, of this format or an older one."""
    try:
        text, sealed = read_owned(path).split("\n")[:2]
        return bool(json.loads(text)) and len(bytes.fromhex(sealed)) == _MARK_BYTES
    except (OSError, ValueError):
        return False


def not_its_head(file: LedgerFile) -> LedgerError:
    """The error of a head that is not of this ledger."""
    return LedgerError(
        f"{file.shown}-head: not the head of this ledger; nothing was released. Put the ledger back that it belongs "
        "to, or remove it if it belongs to none"
    )


def _hex(sealed: bytes | None) -> str:
    return "" if sealed is None else sealed.hex()
