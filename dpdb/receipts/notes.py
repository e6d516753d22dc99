"""Signed notes (C2SP signed-note, Go's `sumdb/note`): text with one signature a line, those who sign, and checkpoints.

Signatures are Ed25519 (RFC 8032) by the package cryptography, which is loaded here and nowhere else. A checkpoint (C2SP
tlog-checkpoint) is a log's size and root as a signed note; witnesses add cosignatures (C2SP tlog-cosignature).
"""

from __future__ import annotations

import base64
import hashlib
import re
import secrets
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from dpdb.errors import ParameterError

SEED_BYTES = 32


def new_seed() -> bytes:
    """Return a new private key, from the operating system's randomness."""
    return secrets.token_bytes(SEED_BYTES)


def public_of(seed: bytes) -> bytes:
    """Return the public key of a private one; `ParameterError` without the package."""
    return bytes(_ed25519().Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw())


def signature(seed: bytes, message: bytes) -> bytes:
    """Return the signature of a message; `ParameterError` without the package."""
    return bytes(_ed25519().Ed25519PrivateKey.from_private_bytes(seed).sign(message))


def is_signed(public: bytes, signed: bytes, message: bytes) -> bool:
    """Return whether a signature is that of a public key for a message; `ParameterError` without the package."""
    keys = _ed25519()
    from cryptography.exceptions import InvalidSignature

    try:
        keys.Ed25519PublicKey.from_public_bytes(public).verify(signed, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def _ed25519() -> Any:
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise ParameterError("receipts need the package cryptography: pip install 'dpdb[receipts]'") from None
    return ed25519


SIGNATURE, COSIGNATURE = 0x01, 0x04
"""Types of keys: Ed25519 signatures of the text, and timestamped cosignatures of a checkpoint."""

DASH = "\N{EM DASH} "
"""Begins a line with a signature."""
_MOST_SIGNATURES = 100
_MOST_TEXT = 1 << 20
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
        return f"{DASH}{self.name} {base64.b64encode(self.id + self.signature).decode()}\n"


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
    verify
        Whether a signature of a key is valid for a text; by default that of `sign_note`.
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
    name, _, coded = line.removeprefix(DASH).partition(" ")
    content = plain_base64(coded)
    if not line.startswith(DASH) or not _is_name(name) or len(content) <= _ID_BYTES:
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
    """Return the checkpoint of a note that one of some keys has signed, as the log's."""
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
