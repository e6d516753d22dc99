"""Checkpoints (C2SP tlog-checkpoint): a log's size and root as a signed note; cosignatures (C2SP tlog-cosignature)."""

from __future__ import annotations

import base64
import re
from typing import NamedTuple

from dpdb.receipts.ed25519 import is_signed, signature
from dpdb.receipts.notes import COSIGNATURE, NoteError, NoteKey, NoteSignature, open_note, plain_base64, sign_note

__all__ = ["Checkpoint", "cosign", "cosigned_at", "open_checkpoint", "parse_checkpoint", "sign_checkpoint"]

_ROOT_BYTES, _TIME_BYTES = 32, 8
_SIZE = re.compile("0|[1-9][0-9]{0,18}")


class Checkpoint(NamedTuple):
    """A log as it was: its name, its number of leaves, its root."""

    origin: str
    size: int
    root: bytes

    @property
    def text(self) -> str:
        """The text that is signed."""
        return f"{self.origin}\n{self.size}\n{base64.b64encode(self.root).decode()}\n"


def parse_checkpoint(text: str) -> Checkpoint:
    """Read the text of a checkpoint; extension lines are passed over. `NoteError` if it is none."""
    lines = text.split("\n")
    if len(lines) < 4 or lines[-1] or not all(lines[:-1]):
        raise NoteError("the checkpoint is malformed")
    origin, size, root = lines[:3]
    content = plain_base64(root)
    if not _SIZE.fullmatch(size) or int(size) >= 1 << 63 or len(content) != _ROOT_BYTES:
        raise NoteError("the checkpoint is malformed")
    return Checkpoint(origin, int(size), content)


def sign_checkpoint(checkpoint: Checkpoint, seed: bytes, public: bytes) -> str:
    """Return the signed note of a checkpoint; the name of the key that signs it is the log's.

    Parameters
    ----------
    checkpoint
        The log as it is; it must be consistent with all that the key has signed.
    seed, public
        The private and the public key.
    """
    return sign_note(checkpoint.text, NoteKey(checkpoint.origin, public), seed)


def open_checkpoint(note: str, publics: list[bytes]) -> Checkpoint:
    """Return the checkpoint of a note that one of some keys has signed, as the log's.

    Raises
    ------
    NoteError
        It is malformed, or none of the keys has signed it.
    """
    origin = note.partition("\n")[0]
    text, verified, _ = open_note(note, [NoteKey(origin, public) for public in publics])
    if not verified:
        raise NoteError("the checkpoint is signed by none of the keys that were given")
    return parse_checkpoint(text)


def cosign(note: str, key: NoteKey, seed: bytes, time: int) -> str:
    """Return a checkpoint's note with one more line: a witness has seen it, consistent with all that he saw before.

    Parameters
    ----------
    note
        The signed checkpoint.
    key
        The witness's public key, of the type of cosignatures.
    seed
        His private key.
    time
        Seconds of Unix time.
    """
    text = f"{note.rpartition(chr(10) * 2)[0]}\n"
    signed = time.to_bytes(_TIME_BYTES, "big") + signature(seed, _cosigned(text, time))
    return note + NoteSignature(key.name, key.id, signed).line


def cosigned_at(note: str, key: NoteKey) -> int | None:
    """Return when a witness has cosigned a checkpoint, in Unix time; None if he has not.

    Raises
    ------
    NoteError
        The note is malformed, or his cosignature is not valid.
    """

    def verifies(known: NoteKey, text: str, signed: bytes) -> bool:
        time = int.from_bytes(signed[:_TIME_BYTES], "big")
        message = _cosigned(text, time)
        return known.kind == COSIGNATURE and time < 1 << 63 and is_signed(key.public, signed[_TIME_BYTES:], message)

    _, verified, _ = open_note(note, [key], verifies)
    return int.from_bytes(verified[0].signature[:_TIME_BYTES], "big") if verified else None


def _cosigned(text: str, time: int) -> bytes:
    return f"cosignature/v1\ntime {time}\n{text}".encode()
