"""`Receipt`: a receipt as it was read: its envelope opened, its signatures and proofs checked, its sums added up.

A file of receipts has one on each line, in the one form in which they are written: so no byte of it can be changed.
`ReceiptFile` opens and checks such a file before anything is spent, and appends a receipt for each answer.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpdb.errors import ParameterError, ReceiptError
from dpdb.files.bounded_file import bounded_bytes, usable
from dpdb.files.owned_file import open_owned
from dpdb.receipts.issue import Issuer
from dpdb.receipts.keys import SigningKey, load_public
from dpdb.receipts.merkle import verify_consistency, verify_inclusion
from dpdb.receipts.notes import Checkpoint, NoteError, NoteKey, open_checkpoint, plain_base64
from dpdb.receipts.statement import PAYLOAD_TYPE, accepted_keys, canonical, check_stated, envelope, shape_of
from dpdb.stopping import Closing

LARGEST = 256 << 20
"""Bytes of a file of receipts, and of a witness's."""


@dataclass(frozen=True)
class Receipt:
    """A receipt whose signatures, proofs and sums hold.

    Attributes
    ----------
    checkpoint : Checkpoint
        The log when it was signed.
    earlier : tuple of Checkpoint
        Checkpoints that it proves to be of the same log.
    key : NoteKey
        Who signed.
    """

    statement: Mapping[str, Any]
    checkpoint: Checkpoint
    earlier: tuple[Checkpoint, ...]
    key: NoteKey

    @property
    def claims(self) -> Mapping[str, Any]:
        """The predicate."""
        found: Mapping[str, Any] = self.statement["predicate"]
        return found

    @property
    def lines(self) -> list[tuple[str, int, str]]:
        """Kind, place and hash of each line of the log that it names."""
        return [(line["kind"], line["place"], line["leaf"]) for line in self.claims["log"]["lines"]]

    @property
    def place(self) -> int:
        """Place of its debit in the log."""
        return self.lines[0][1]


def open_receipt(line: bytes, keys: Sequence[NoteKey]) -> Receipt:
    """Read a receipt and check all that can be checked with nothing else than the public keys.

    Parameters
    ----------
    line
        A line of a file of receipts, without its end.
    keys
        The public keys of those who may sign.
    """
    try:
        found = json.loads(line)
        if canonical(found) != line:
            raise ReceiptError("it is not written as a receipt is: some byte was changed")
        signatures = found.get("signatures") if isinstance(found, dict) else None
        if isinstance(signatures, list) and len(signatures) > 1:  # before millions are verified
            raise ReceiptError("its envelope is not written as that of a receipt: some byte was changed")
        kind, payload, accepted = accepted_keys(found, {key.vkey: key.public for key in keys})
        statement = json.loads(payload)
        is_one = shape_of(statement) and canonical(statement) == payload
    except (ValueError, RecursionError) as error:
        why = str(error) if isinstance(error, ReceiptError) else "it is no JSON of a receipt"
        raise ReceiptError(why) from None
    if kind != PAYLOAD_TYPE or found.keys() != {"payload", "payloadType", "signatures"}:
        raise ReceiptError("it is an envelope of something else")
    if not is_one:
        raise ReceiptError("it is signed by a key that was not given" if not accepted else "it states something else")
    log = statement["predicate"]["log"]
    if not accepted:
        follows = f" that follows {' and '.join(log['key']['follows'])}" if log["key"]["follows"] else ""
        raise ReceiptError(f"no key that was given has signed it (it names {log['key']['vkey']}{follows})")
    key = next(key for key in keys if key.vkey == accepted[0])
    [signed] = found["signatures"][:1]
    if canonical(envelope(PAYLOAD_TYPE, payload, _nodes([signed["sig"]])[0], key.vkey)) != line:
        raise ReceiptError("its envelope is not written as that of a receipt: some byte was changed")
    if log["key"]["vkey"] != key.vkey:
        raise ReceiptError("it names another key than that which signed it")
    return Receipt(statement, *_proven(statement, log, key), key)


def _proven(statement: dict[str, Any], log: dict[str, Any], key: NoteKey) -> tuple[Checkpoint, tuple[Checkpoint, ...]]:
    try:
        checkpoint = open_checkpoint(log["checkpoint"], [key.public])
    except NoteError as error:
        raise ReceiptError(str(error)) from None
    if log["checkpoint"].count("\n") != 5:
        raise ReceiptError("the checkpoint has more than a size, a root and one signature")
    for line in log["lines"]:
        leaf, path = _hash(line["leaf"]), _nodes(line["inclusion"])
        if not verify_inclusion(line["place"] - 1, checkpoint.size, leaf, path, checkpoint.root):
            raise ReceiptError(f"its {line['kind']} is not in the log at place {line['place']}")
    earlier = []
    for link in log["consistency"]:
        root, proof = _nodes([link["root"]])[0], _nodes(link["proof"])
        if link["size"] < 1 or not verify_consistency(link["size"], checkpoint.size, root, checkpoint.root, proof):
            raise ReceiptError(f"the log does not begin with the {link['size']} lines that were signed before")
        earlier.append(Checkpoint(checkpoint.origin, link["size"], root))
    wrong = check_stated(statement)
    if wrong:
        raise ReceiptError("; ".join(wrong))
    if statement["subject"][0]["name"] != f"{checkpoint.origin}/{log['lines'][0]['place']}":
        raise ReceiptError("the subject is of another log")
    return checkpoint, tuple(earlier)


def _hash(text: str) -> bytes:
    try:
        found = bytes.fromhex(text)
    except ValueError:
        found = b""
    if found.hex() != text:
        raise ReceiptError("a hash is not written as one")
    return found


def _nodes(texts: Iterable[str]) -> list[bytes]:
    found = [plain_base64(text) for text in texts]
    if not all(found):
        raise ReceiptError("a proof or signature is not written as one")
    return found


def read_receipts(path: str | Path) -> list[bytes]:
    """Return the lines of a file of receipts; `ParameterError` if it cannot be read, or is cut off or empty."""
    with usable(path):
        content = bounded_bytes(Path(path), LARGEST, "a file of receipts")
    if not content.endswith(b"\n"):
        raise ParameterError(f"{path}: the last receipt is cut off" if content else f"{path}: there is no receipt")
    return content[:-1].split(b"\n")


class ReceiptFile(Closing):
    """A file of receipts (mode 0600), one on each line. A new one is shown to follow those that are there.

    Parameters
    ----------
    key
        The private key.

    Raises
    ------
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
        with usable(path, after="; nothing was spent"):
            self._file = open_owned(self._path, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
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
        with usable(self._path):
            fcntl.flock(self._file, fcntl.LOCK_EX)
            try:
                if os.fstat(self._file).st_size != self._size:
                    self._read()
                yield
            finally:
                fcntl.flock(self._file, fcntl.LOCK_UN)

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
