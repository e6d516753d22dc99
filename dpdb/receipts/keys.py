"""Keys of receipts: a private key in a file of its owner's alone, away from every ledger, and its public key beside it.

The private file holds Go's encoding of a note's private key, then the public keys that it follows, one a line. Beside
it the signer keeps the last checkpoints that he has signed of each log (`KEY-signed`): a log must not sign what is not
consistent with what it signed before, so a ledger that went back together with its head is noticed here first.
"""

from __future__ import annotations

import base64
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from dpdb.errors import ParameterError
from dpdb.files.bounded_file import bounded_bytes, usable
from dpdb.files.owned_file import open_owned, read_owned, replace_owned
from dpdb.receipts.notes import (
    SEED_BYTES,
    SIGNATURE,
    Checkpoint,
    NoteError,
    NoteKey,
    new_seed,
    parse_checkpoint,
    parse_vkey,
    public_of,
)

_PRIVATE = "PRIVATE+KEY+"
_MOST = 1 << 16
_LARGEST = 1 << 20
_MOST_KEPT = 4


@dataclass(frozen=True)
class SigningKey:
    """A private key.

    Attributes
    ----------
    earlier : tuple of str
        The public keys that it follows: those that were lost or retired.
    """

    path: Path
    name: str
    seed: bytes = field(repr=False)
    earlier: tuple[str, ...] = ()

    @property
    def public(self) -> bytes:
        """The public key."""
        return public_of(self.seed)

    @property
    def note_key(self) -> NoteKey:
        """The public key by its own name."""
        return NoteKey(self.name, self.public)

    def refuse_beside(self, ledger: Path) -> None:
        """Raise `ParameterError` if the key lies where the ledger does, or below: one backup would take both."""
        folder, key = ledger.resolve().parent, self.path.resolve()
        if key.is_relative_to(folder):
            raise ParameterError(
                f"{self.path}: the key lies in the folder of the ledger {ledger}, and whoever puts a backup of that "
                "folder back has the key's memory put back, too; move the key to a folder of its own"
            )


def new_key_file(path: Path, name: str, earlier: tuple[str, ...] = ()) -> NoteKey:
    """Make a private key and, beside it as ``PATH.pub``, its public key; existing files are never touched.

    Parameters
    ----------
    path
        The new file, mode 0600.
    name
        Of the key: a word without plus.
    earlier
        The public keys that it follows, as words.
    """
    seed = new_seed()
    key = NoteKey(name, public_of(seed))
    try:
        parse_vkey(key.vkey)
        for each in earlier:
            parse_vkey(each)
    except NoteError as error:
        raise ParameterError(f"the name of a key is one word without plus: {error}") from None
    private = f"{_PRIVATE}{name}+{key.id.hex()}+{base64.b64encode(bytes([SIGNATURE]) + seed).decode()}"
    public = path.with_name(f"{path.name}.pub")
    if os.path.lexists(public):
        raise ParameterError(f"{public}: exists already; it is not overwritten")
    try:
        for file, lines in ((path, [private, *earlier]), (public, [key.vkey])):
            made = open_owned(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
            with os.fdopen(made, "w", encoding="utf-8") as stream:
                stream.write("".join(f"{line}\n" for line in lines))
                stream.flush()
                os.fsync(made)
        public.chmod(0o644)
    except FileExistsError:
        raise ParameterError(f"{path}: exists already; it is not overwritten") from None
    except OSError as error:
        raise ParameterError(f"{path}: {error.strerror}") from None
    return key


def load_key(path: str | Path) -> SigningKey:
    """Read a private key; `ParameterError` if there is none, others may read it, or it has several names."""
    path = Path(path)
    try:
        private, *earlier = read_owned(path)[:_MOST].splitlines()
        name, shown, coded = private.removeprefix(_PRIVATE).split("+", 2)
        content = base64.b64decode(coded, validate=True)
        known = tuple(parse_vkey(line).vkey for line in earlier)
    except OSError as error:
        raise ParameterError(f"{path}: {error.strerror}") from None
    except ValueError:
        raise ParameterError(f"{path}: no private key of receipts; make one with `dpdb receipts key`") from None
    key = SigningKey(path, name, content[1:], known)
    if len(content) != 1 + SEED_BYTES or content[0] != SIGNATURE or key.note_key.id.hex() != shown:
        raise ParameterError(f"{path}: the private key is damaged")
    return key


def load_public(path: str | Path) -> NoteKey:
    """Read a public key from the file that `new_key_file` made beside the private one, or the key itself as a word."""
    try:
        text = str(path)
        if text.count("+") < 2 or Path(text).is_file():
            text = bounded_bytes(Path(path), _LARGEST, "a public key").decode().strip()
        if text.startswith(_PRIVATE):
            raise ParameterError(f"{path}: this is the private key, which nobody else may see; give its .pub")
        return parse_vkey(text)
    except OSError as error:
        raise ParameterError(f"{path}: {error.strerror}") from None
    except ParameterError:
        raise
    except ValueError:
        raise ParameterError(f"{path}: no public key of receipts; `dpdb receipts key` writes one") from None


class _Signed:
    """The last checkpoints that a key has signed, of each log."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._of: dict[str, list[Checkpoint]] = {}
        try:
            text = read_owned(path)
        except FileNotFoundError:
            return
        except UnicodeDecodeError:
            raise NoteError("it is no text") from None
        for each in filter(None, text.split("\n\n")):
            found = parse_checkpoint(f"{each.rstrip()}\n")
            self._of.setdefault(found.origin, []).append(found)

    def last(self, origin: str) -> list[Checkpoint]:
        """Return what was signed last of a log, and the most of its lines: receipts are linked to all of it."""
        return self._of.get(origin, [])

    def keep(self, checkpoint: Checkpoint) -> None:
        """Remember a checkpoint, before it is signed; also one of fewer lines, as a server shows them for a while."""
        known = self._of.setdefault(checkpoint.origin, [])
        if checkpoint not in known:
            others = sorted(known, key=lambda one: one.size)[1 - _MOST_KEPT :]
            self._of[checkpoint.origin] = [*others, checkpoint]
            replace_owned(self.path, "\n".join(each.text for kept in self._of.values() for each in kept))


@contextmanager
def signing(key: SigningKey) -> Iterator[_Signed]:
    """Hold a key: one process at a time signs with it, and knows what it has signed."""
    with usable(f"{key.path}-signed", after="; it remembers what the key has signed"):
        held = open_owned(key.path, os.O_RDONLY)
        try:
            fcntl.flock(held, fcntl.LOCK_EX)
            yield _Signed(key.path.with_name(f"{key.path.name}-signed"))
        except NoteError:
            raise ParameterError(f"{key.path}-signed: damaged; it remembers what the key has signed") from None
        finally:
            os.close(held)
