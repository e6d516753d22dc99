"""`Receipt`: a receipt as it was read: its envelope opened, its signatures and proofs checked, its sums added up.

A file of receipts has one on each line, in the one form in which they are written: so no byte of it can be changed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpdb.errors import ParameterError, ReceiptError
from dpdb.files.bounded_file import bounded_bytes
from dpdb.receipts.checkpoint import Checkpoint, open_checkpoint
from dpdb.receipts.envelope import EnvelopeError, accepted_keys, canonical, envelope
from dpdb.receipts.merkle import verify_consistency, verify_inclusion
from dpdb.receipts.notes import NoteError, NoteKey, plain_base64
from dpdb.receipts.stated import check_stated, shape_of
from dpdb.receipts.statement import PAYLOAD_TYPE

__all__ = ["Receipt", "open_receipt", "read_receipts"]

_LARGEST = 256 << 20


@dataclass(frozen=True)
class Receipt:
    """A receipt whose signatures, proofs and sums hold.

    Attributes
    ----------
    statement : dict
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

    Raises
    ------
    ReceiptError
        Something does not hold.
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
        why = str(error) if isinstance(error, EnvelopeError | ReceiptError) else "it is no JSON of a receipt"
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
    try:
        content = bounded_bytes(Path(path), _LARGEST, "a file of receipts")
    except OSError as error:
        raise ParameterError(f"{path}: {error.strerror}") from None
    if not content.endswith(b"\n"):
        raise ParameterError(f"{path}: the last receipt is cut off" if content else f"{path}: there is no receipt")
    return content[:-1].split(b"\n")
