"""Public hashes of a ledger's lines, for receipts: its holder can be shown the line later, and learns nothing before.

A hash is that of a leaf of a Merkle tree (RFC 6962, RFC 9162): SHA-256 of a zero byte and the line's text, a JSON
object with sorted keys. The text has a nonce made with the ledger's key, so that no line can be guessed from its hash;
key, seals and credentials are no part of it. The leaves stand in the order of `place`, and none ever changes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from dpdb.ledger.store.file import LedgerFile
from dpdb.ledger.store.marks import mark
from dpdb.ledger.store.tables import CHAINS

__all__ = ["leaf", "leaf_text", "leaves", "logged_lines"]

_SECRET = {"seal", "credentials"}


def leaf_text(key: bytes, kind: str, line: Mapping[str, object]) -> str:
    """Return the text of a line by its columns; bytes are written as hexadecimal digits.

    Parameters
    ----------
    key
        The ledger's own key.
    kind
        The chain of the line, such as `entry`.
    line
        Values by column, with the line's `place`.
    """
    public = {
        name: value.hex() if isinstance(value, bytes) else value for name, value in line.items() if name not in _SECRET
    }
    nonce = mark(key, "leaf", str(line["place"])).hex()
    return json.dumps({"kind": kind, "line": public, "nonce": nonce}, sort_keys=True, separators=(",", ":"))


def leaf(key: bytes, kind: str, line: Mapping[str, object]) -> bytes:
    """Return the hash of a line.

    Parameters
    ----------
    key, kind, line
        As for `leaf_text`.

    Examples
    --------
    >>> leaf(b"key", "act", {"number": 1, "at": "now", "place": 1}).hex()[:16]
    '58dbac2c975f278c'
    """
    return hashlib.sha256(b"\0" + leaf_text(key, kind, line).encode()).digest()


def leaves(file: LedgerFile, key: bytes, lines: int) -> list[bytes]:
    """Return the hashes of all lines of a ledger in their order.

    Parameters
    ----------
    file
        The ledger's file.
    key
        The ledger's own key.
    lines
        Number of lines of all chains together.
    """
    found = [b""] * lines
    for chain, line in logged_lines(file, dict.fromkeys(CHAINS, 0)):
        found[line["place"] - 1] = leaf(key, chain, line)
    return found


def logged_lines(file: LedgerFile, after: Mapping[str, int]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Give the lines of every chain behind a number, each with its chain and by its columns.

    Parameters
    ----------
    file
        The ledger's file.
    after
        Per chain the number of the last line that is not wanted.
    """
    for chain in CHAINS:
        names = [str(name) for _, name, *_ in file.rows(f"PRAGMA table_info({chain})")]
        for rows in file.batches(f"SELECT * FROM {chain} WHERE number > ? ORDER BY number", (after[chain],)):
            for row in rows:
                yield chain, dict(zip(names, row, strict=True))
