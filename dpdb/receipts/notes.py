"""Signed notes (C2SP signed-note, Go's `sumdb/note`): text with one signature a line, and those who sign."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterable
from typing import NamedTuple

from dpdb.receipts.ed25519 import is_signed, signature

__all__ = [
    "COSIGNATURE", "SIGNATURE", "NoteError", "NoteKey", "NoteSignature", "open_note", "parse_vkey", "plain_base64",
    "sign_note",
]  # fmt: skip

SIGNATURE, COSIGNATURE = 0x01, 0x04
"""Types of keys: Ed25519 signatures of the text, and timestamped cosignatures of a checkpoint."""

_MOST_SIGNATURES = 100
_MOST_TEXT = 1 << 20
_DASH = "\N{EM DASH} "
_ID_BYTES, _KEY_BYTES = 4, 32


class NoteError(ValueError):
    """A note or a key is malformed, or a signature of a known key is not valid."""


class NoteKey(NamedTuple):
    """A public key by its name, of one type."""

    name: str
    public: bytes
    kind: int = SIGNATURE

    @property
    def id(self) -> bytes:
        """Four bytes that tell keys of one name apart: of the hash of name, type and key."""
        return hashlib.sha256(self.name.encode() + b"\n" + bytes([self.kind]) + self.public).digest()[:_ID_BYTES]

    @property
    def vkey(self) -> str:
        """The key as one word: name, id, and type and key in base64."""
        return f"{self.name}+{self.id.hex()}+{base64.b64encode(bytes([self.kind]) + self.public).decode()}"


class NoteSignature(NamedTuple):
    """A line of a note: who signed, the id of his key, what follows the id."""

    name: str
    id: bytes
    signature: bytes

    @property
    def line(self) -> str:
        """The line, with its end."""
        return f"{_DASH}{self.name} {base64.b64encode(self.id + self.signature).decode()}\n"


def parse_vkey(text: str) -> NoteKey:
    """Read a key as `NoteKey.vkey` writes it; `NoteError` if it is none.

    Examples
    --------
    >>> parse_vkey("PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW").name
    'PeterNeumann'
    """
    name, _, rest = text.partition("+")
    shown, _, coded = rest.partition("+")
    content = plain_base64(coded)
    if not _is_name(name) or len(content) != 1 + _KEY_BYTES or content[0] not in (SIGNATURE, COSIGNATURE):
        raise NoteError("it is no public key of a note")
    key = NoteKey(name, content[1:], content[0])
    if key.id.hex() != shown:
        raise NoteError("the public key does not agree with its id")
    return key


def sign_note(text: str, key: NoteKey, seed: bytes) -> str:
    """Return a note with one signature.

    Parameters
    ----------
    text
        Ends in a newline.
    key
        The public key, by the name that signs.
    seed
        Of the private key.
    """
    _check_text(text)
    return f"{text}\n{NoteSignature(key.name, key.id, signature(seed, text.encode())).line}"


def open_note(
    note: str, keys: Iterable[NoteKey], verify: Callable[[NoteKey, str, bytes], bool] | None = None
) -> tuple[str, list[NoteSignature], list[NoteSignature]]:
    """Return the text of a note, its verified signatures, and those of unknown keys.

    Parameters
    ----------
    note
        The note.
    keys
        The known keys.
    verify
        Whether a signature of a key is valid for a text; by default that of `sign_note`.

    Raises
    ------
    NoteError
        It is malformed, or a signature of a known key is not valid.
    """
    text, signatures = _parsed(note)
    known = {(key.name, key.id): key for key in keys}
    verified, unknown, seen = [], [], set()
    for one in signatures:
        key = known.get((one.name, one.id))
        if key is None:
            unknown.append(one)
        elif key not in seen:
            seen.add(key)
            if not (verify or _verifies)(key, text, one.signature):
                raise NoteError(f"the signature of {one.name} is not valid")
            verified.append(one)
    return text, verified, unknown


def _verifies(key: NoteKey, text: str, signed: bytes) -> bool:
    return key.kind == SIGNATURE and is_signed(key.public, signed, text.encode())


def _parsed(note: str) -> tuple[str, list[NoteSignature]]:
    text, blank, lines = note.rpartition("\n\n")
    text += "\n"
    _check_text(text)
    if not blank or not lines.endswith("\n"):
        raise NoteError("the note is malformed")
    signatures = [_signature(line) for line in lines[:-1].split("\n")]
    if len(signatures) > _MOST_SIGNATURES:
        raise NoteError("the note has too many signatures")
    return text, signatures


def _signature(line: str) -> NoteSignature:
    name, _, coded = line.removeprefix(_DASH).partition(" ")
    content = plain_base64(coded)
    if not line.startswith(_DASH) or not _is_name(name) or len(content) <= _ID_BYTES:
        raise NoteError("the note is malformed")
    return NoteSignature(name, content[:_ID_BYTES], content[_ID_BYTES:])


def _check_text(text: str) -> None:
    if not text.endswith("\n") or len(text) > _MOST_TEXT or any(sign < " " and sign != "\n" for sign in text):
        raise NoteError("the note is malformed")


def _is_name(name: str) -> bool:
    return bool(name) and "+" not in name and not any(sign.isspace() for sign in name) and name.isprintable()


def plain_base64(coded: str) -> bytes:
    """Decode base64 that is written as its encoder writes it; empty if it is not."""
    try:
        content = base64.b64decode(coded, validate=True)
    except ValueError:
        return b""
    return content if base64.b64encode(content).decode() == coded else b""
