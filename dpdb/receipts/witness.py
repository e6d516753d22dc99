"""`WitnessFile`: checkpoints kept away from the ledger, appended for ever, so that a rollback or a fork is noticed.

The file holds signed notes, each behind an empty line. What is kept was shown to begin with what was kept before: by
the ledger itself, or by the consistency proofs of receipts. A witness with a key of his own adds his cosignature.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from dpdb.errors import ParameterError, RollbackError
from dpdb.files.bounded_file import bounded_bytes, usable
from dpdb.files.owned_file import open_owned
from dpdb.receipts.issue import Issuer
from dpdb.receipts.keys import SigningKey
from dpdb.receipts.notes import COSIGNATURE, DASH, Checkpoint, NoteError, NoteKey, cosign, cosigned_at, open_checkpoint
from dpdb.receipts.receipt import LARGEST, Receipt
from dpdb.receipts.verification import linked


def kept_notes(text: str) -> Iterator[str]:
    """Give the notes of a file: each ends with its signature lines."""
    note, signed = "", False
    for line in text.splitlines(keepends=True):
        if signed and not line.startswith(DASH):
            yield note
            note, signed = "", False
            if line == "\n":
                continue
        signed = signed or line.startswith(DASH)
        note += line
    if note:
        yield note


def read_checkpoints(path: str | Path, keys: Sequence[NoteKey], witness: NoteKey | None = None) -> list[Checkpoint]:
    """Read what a witness keeps.

    Parameters
    ----------
    keys
        The public keys of those who sign the log.
    witness
        The witness's own public key: then every checkpoint must have his cosignature.

    Raises
    ------
    ParameterError
        It cannot be read, is empty, or a checkpoint in it is not signed by one of the keys, or not cosigned.
    """
    try:
        content, found = bounded_bytes(Path(path), LARGEST, "a witness's file"), []
        if not content:
            raise ParameterError(f"{path}: there is no checkpoint")
        for note in kept_notes(content.decode()):
            found.append(open_checkpoint(note, [key.public for key in keys]))
            if witness is not None:
                his = NoteKey(witness.name, witness.public, COSIGNATURE)
                if cosigned_at(note, his) is None:
                    raise NoteError("a checkpoint has not the witness's cosignature")
    except OSError as error:
        raise ParameterError(f"{path}: {error.strerror}") from None
    except ParameterError:
        raise
    except ValueError as error:
        raise ParameterError(f"{path}: {error if isinstance(error, NoteError) else 'it is no text'}") from None
    return found


class WitnessFile:
    """A witness's file.

    Parameters
    ----------
    path
        The file; it is made with the first checkpoint.
    keys
        The public keys of those who sign the log.
    own
        The witness's private key, if he cosigns.
    """

    def __init__(self, path: str | Path, keys: Sequence[NoteKey], own: SigningKey | None = None) -> None:
        self._path, self._own = Path(path), own
        witness = None if own is None else own.note_key
        self.kept = read_checkpoints(path, keys, witness) if self._has_content() else []

    def _has_content(self) -> bool:
        """Return whether the file is there and not empty; it must be this user's alone, and is not waited for."""
        with usable(self._path), suppress(FileNotFoundError):
            held = open_owned(self._path, os.O_RDONLY)
            try:
                return os.fstat(held).st_size > 0
            finally:
                os.close(held)
        return False

    def newest(self, origin: str) -> Checkpoint | None:
        """Return the newest checkpoint of a log."""
        return max((one for one in self.kept if one.origin == origin), default=None, key=lambda one: one.size)

    def keep_ledger(self, issuer: Issuer) -> Checkpoint:
        """Keep the checkpoint of a ledger as it is now.

        Raises
        ------
        RollbackError
            It does not have what is kept.
        """
        issuer.refuse_rollback(self.kept, self._path)
        checkpoint, note = issuer.checkpoint()
        self._keep(checkpoint, note)
        return checkpoint

    def keep_receipts(self, receipts: Iterable[Receipt]) -> list[Checkpoint]:
        """Keep the newest checkpoint of each log that receipts are of."""
        receipts = list(receipts)
        newest: dict[str, Receipt] = {}
        for receipt in sorted(receipts, key=lambda one: one.checkpoint.size):
            newest[receipt.checkpoint.origin] = receipt
        for origin, receipt in newest.items():
            known = self.newest(origin)
            seen = {one.checkpoint for one in receipts if one.checkpoint.origin == origin}
            if known is not None and known.size > receipt.checkpoint.size:
                raise RollbackError(
                    f"{self._path}: the log has {receipt.checkpoint.size} lines, and {known.size} are kept: it went "
                    "back, or the receipts are older than what is kept"
                )
            shown = linked(receipt.checkpoint, receipts)
            missing = (seen if known is None else seen | {known}) - shown
            if missing:
                sizes = ", ".join(str(one.size) for one in sorted(missing))
                raise RollbackError(
                    f"{self._path}: it is not shown that the log of {receipt.checkpoint.size} lines begins with that "
                    f"of {sizes}: it was forked, or a receipt is needed that was asked for --after this file"
                )
        for receipt in newest.values():
            self._keep(receipt.checkpoint, receipt.claims["log"]["checkpoint"])
        return [receipt.checkpoint for receipt in newest.values()]

    def _keep(self, checkpoint: Checkpoint, note: str) -> None:
        if checkpoint in self.kept:
            return
        if self._own is not None:
            key = NoteKey(self._own.name, self._own.public, COSIGNATURE)
            note = cosign(note, key, self._own.seed, int(time.time()))
        with usable(self._path):
            descriptor = open_owned(self._path, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
            try:
                os.write(descriptor, (f"\n{note}" if self.kept else note).encode())
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        self.kept.append(checkpoint)
