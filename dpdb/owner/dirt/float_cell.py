"""Cells of binary floating point, with NaN and infinities as SQL compares them."""

# ruff: noqa: D102 - `Cell` documents the methods

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dpdb.owner.dirt.cell import NAN_KEY, Cell, Key, Value, pick

__all__ = ["FloatCell"]


class FloatCell(Cell):
    """Floats of 32 or 64 bits. NaN equals NaN and is the largest number. A typo changes a digit."""

    family = "number"

    def __init__(self, arrow: pa.DataType) -> None:
        super().__init__(arrow)
        self._type = np.float32 if pa.types.is_float32(arrow) else np.float64

    def canonical(self, plain: pa.ChunkedArray) -> pa.ChunkedArray:
        return pc.add(plain, pa.scalar(0.0, self.arrow))  # -0.0 becomes 0.0: they are one value

    def values(self, plain: pa.Array | pa.ChunkedArray) -> list[Value | None]:
        # One NaN object, because a dict finds NaN by identity only.
        return [math.nan if value is not None and math.isnan(value) else value for value in plain.to_pylist()]

    def key(self, value: Value) -> Key:
        return NAN_KEY if math.isnan(value) else (0, value)

    def nearest(self, key: Key) -> Value | None:
        if key == NAN_KEY:
            return math.nan
        try:
            return self._rounded(float(key[1]))
        except OverflowError:
            return None

    def constant(self, value: int | Decimal | bool | str) -> Key | None:
        if isinstance(value, bool):
            return None
        try:
            return self.key(self._rounded(float(value)))
        except (ValueError, OverflowError):
            return None

    def typo(self, value: Value, rng: np.random.Generator) -> Value:
        text = str(self._type(value))
        mantissa = text.partition("e")[0]
        places = [at for at, character in enumerate(mantissa) if character.isdigit()]
        if not places:  # NaN or infinite
            return float(pick(rng, 10))
        while True:
            at = places[pick(rng, len(places))]
            changed = self._rounded(float(f"{text[:at]}{pick(rng, 10)}{text[at + 1 :]}"))
            if changed != value and math.isfinite(changed):
                return changed

    def below(self, key: Key, rng: np.random.Generator, *, close: bool = False) -> Value | None:
        if key == NAN_KEY or key[1] == math.inf:
            return 1000 * rng.random()
        return self._beyond(float(key[1]), -1, close, rng)

    def above(self, key: Key, rng: np.random.Generator, *, close: bool = False) -> Value | None:
        if key == NAN_KEY:
            return None
        return math.nan if key[1] == math.inf else self._beyond(float(key[1]), 1, close, rng)

    def _beyond(self, bound: float, sign: int, close: bool, rng: np.random.Generator) -> float:
        """Draw within |bound| + 1 of the bound; 1 - random() is never 0, and far out the distance exceeds rounding."""
        if close:
            return float(np.nextafter(self._type(bound), self._type(sign * math.inf)))
        return self._rounded(bound + sign * (abs(bound) + 1) * (1 - rng.random() * 0.99))

    def _rounded(self, value: float) -> float:
        with np.errstate(over="ignore"):
            return float(self._type(value))
