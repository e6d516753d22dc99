"""Cells of text, compared by code point, and of bytes."""

# ruff: noqa: D102 - `Cell` documents the methods

from __future__ import annotations

import string
from decimal import Decimal

import numpy as np
import pyarrow as pa

from dpdb.owner.dirt.cell import Cell, Key, Value, pick

__all__ = ["BytesCell", "TextCell"]

_CHARACTERS = string.ascii_letters + string.digits


class TextCell(Cell):
    """Text. A typo inserts, deletes, replaces or swaps a character; it never empties the text."""

    family = "text"
    wide = pa.large_string()

    def __init__(self, arrow: pa.DataType) -> None:
        super().__init__(arrow, self.wide)

    def key(self, value: Value) -> Key:
        return (0, value)

    def nearest(self, key: Key) -> Value | None:
        return key[1]

    def constant(self, value: int | Decimal | bool | str) -> Key | None:
        return None if isinstance(value, bool) else (0, str(value))

    def typo(self, value: Value, rng: np.random.Generator) -> Value:
        while True:
            changed = _typo(value, self._letter(rng), rng)
            if changed != value:
                return changed

    def below(self, key: Key, rng: np.random.Generator, *, close: bool = False) -> Value | None:
        """Draw a proper prefix; the longest one if it shall be close."""
        length = len(key[1])
        return key[1][: length - 1 if close else pick(rng, length)] if length else None

    def above(self, key: Key, rng: np.random.Generator, *, close: bool = False) -> Value | None:  # noqa: ARG002
        """Append one character: that is close in any case."""
        return key[1] + self._letter(rng)

    def _letter(self, rng: np.random.Generator) -> Value:
        return _CHARACTERS[pick(rng, len(_CHARACTERS))]


class BytesCell(TextCell):
    """Bytes of any length. A typo inserts, deletes, replaces or swaps a byte."""

    family = "bytes"
    wide = pa.large_binary()

    def constant(self, value: int | Decimal | bool | str) -> Key | None:
        # As SQL reads a blob; escapes are not supported.
        return (0, value.encode()) if isinstance(value, str) and value.isascii() and "\\" not in value else None

    def _letter(self, rng: np.random.Generator) -> Value:
        return bytes([pick(rng, 256)])


def _typo(value: Value, letter: Value, rng: np.random.Generator) -> Value:
    """Make one slip, which may leave the text as it is; works on text and on bytes."""
    kind = pick(rng, 4)
    if kind == 0 or not value:
        at = pick(rng, len(value) + 1)
        return value[:at] + letter + value[at:]
    if kind == 1:
        at = pick(rng, len(value))
        return value[:at] + letter + value[at + 1 :]
    if len(value) < 2:  # nothing to swap, and deleting would empty it
        return value
    if kind == 2:
        at = pick(rng, len(value))
        return value[:at] + value[at + 1 :]
    at = pick(rng, len(value) - 1)
    return value[:at] + value[at + 1 : at + 2] + value[at : at + 1] + value[at + 2 :]
