"""Seals of a ledger's lines: a line that was changed, removed, put in or moved no longer agrees with its seal.

A seal is a BLAKE2b hash of the line and of the seal before it, under the ledger's own key and with the kind of line in
the hash itself (RFC 7693, keyed and personalised): as strong as an HMAC and several times as fast, and opening a ledger
looks at every one.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

__all__ = ["FIRST", "Chain", "seal"]

FIRST = bytes(32)
"""The seal before the first line of a chain, and before a line that is in no chain."""


def seal(key: bytes, kind: str, before: bytes, line: tuple[Any, ...]) -> bytes:
    """Seal of a line after the line sealed by `before`.

    Different lines are hashed as different texts: `~` is NULL, a number ends in a comma, text and bytes come after
    their length and their kind.

    Parameters
    ----------
    key
        The ledger's own key.
    kind
        The kind of line, at most 16 bytes.
    before
        Seal of the line before.
    line
        Values of the line: None, numbers, texts and bytes.
    """
    parts = [
        f"{len(value)}:{value}" if value.__class__ is str
        else "~" if value is None
        else f"{len(value)}x{value.hex()}" if value.__class__ is bytes
        else f"{value},"
        for value in line
    ]  # fmt: skip
    message = before + "".join(parts).encode()
    return hashlib.blake2b(message, digest_size=32, key=key, person=kind.encode()).digest()


@dataclass
class Chain:
    """Lines of one kind in order, each sealed behind the one before.

    Attributes
    ----------
    seals : list of bytes
        One per line.
    """

    seals: list[bytes] = field(default_factory=list)

    @property
    def last(self) -> int:
        """Number of the newest line."""
        return len(self.seals)

    @property
    def before(self) -> bytes:
        """Seal of the newest line."""
        return self.seals[-1] if self.seals else FIRST

    def _sealed(self, key: bytes, kind: str, line: tuple[Any, ...]) -> tuple[object, ...]:
        return *line, seal(key, kind, self.before, line)

    def _follow(self, key: bytes, kind: str, row: tuple[Any, ...]) -> None:
        if row[0] != self.last + 1 or self._sealed(key, kind, row[:-1]) != row:
            raise ValueError(f"a line of the table {kind!r} does not agree with its seal")
        self.seals.append(row[-1])
