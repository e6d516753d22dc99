"""Made tables: few values of each type, the odd ones among them. Many small parts, which are slices of one table."""

from __future__ import annotations

import math
import random
import struct
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

from dpdb.names import in_double_quotes

_FLOAT_TENTH = struct.unpack("f", struct.pack("f", 0.1))[0]
ZONED = "TIMESTAMP WITH TIME ZONE"
VALUES: dict[str, list[Any]] = {
    "BIGINT": [0, 1, 2, -1, 2**53, 2**53 + 1, -(2**63), 2**63 - 1],
    "SMALLINT": [0, 1, 2, -1, 32767],
    "DOUBLE": [0.0, -0.0, 1.0, 2.5, 0.1, math.nan, math.inf, -math.inf, 2.0**53],
    "FLOAT": [0.0, -0.0, 1.0, 2.5, _FLOAT_TENTH, math.nan, math.inf],
    "DECIMAL(6,2)": [Decimal("0.00"), Decimal("1.00"), Decimal("2.50"), Decimal("0.10"), Decimal("-1.00")],
    "VARCHAR": ["", "a", "B", "b", "é", "e\u0301", "10", "9", "a ", "\U0001f600", "\uffff", "it's"],
    "DATE": [date(2020, 1, 1), date(2020, 1, 2), date(1969, 12, 31)],
    "TIMESTAMP": [datetime(2020, 1, 1), datetime(2020, 1, 1, 12), datetime(2020, 1, 2)],
    "BOOLEAN": [True, False],
}
"""Of each type: values that meet, both zeros, what is no number, texts that differ by collation or trailing blanks."""
POOLS: dict[str, list[Any]] = VALUES | {
    "DATE": [date(2020, 1, 1), date(1969, 12, 31), date(1899, 12, 31), date(1582, 10, 10), date(1, 1, 1)],
    "TIMESTAMP": [datetime(2020, 1, 1), datetime(1883, 11, 18, 12, 3, 58), datetime(1, 1, 1), datetime(9999, 12, 31)],
    ZONED: [*(datetime(2020, 3, 29, hour, tzinfo=UTC) for hour in (1, 2)), datetime(1890, 1, 1, tzinfo=UTC)],
    "BLOB": [b"", b"\x00", b"a", b"\xff"],
    "DECIMAL(38,0)": [Decimal(10**37), Decimal(10**37 + 1), Decimal(0), Decimal(-(10**37))],
}  # fmt: skip
TYPES: dict[str, pa.DataType] = {
    "BIGINT": pa.int64(), "SMALLINT": pa.int16(), "DOUBLE": pa.float64(), "FLOAT": pa.float32(),
    "DECIMAL(6,2)": pa.decimal128(6, 2), "VARCHAR": pa.string(), "DATE": pa.date32(), "TIMESTAMP": pa.timestamp("us"),
    "BOOLEAN": pa.bool_(), "BLOB": pa.binary(), ZONED: pa.timestamp("us", "UTC"),
    "DECIMAL(38,0)": pa.decimal128(38, 0),
}  # fmt: skip
NAMES = [("g", "a", "b"), ("select", "Größe", "b c"), ('q"t', "x`y", "Part_1"), ("back\\slash", "final", "it's")]


@dataclass(frozen=True)
class Question:
    """A random table.

    Attributes
    ----------
    names : tuple of str
        Of the columns that kinds call g, a and b.
    kinds : tuple of str
        The types of g, and of a and b.
    """

    rows: pa.Table
    names: tuple[str, str, str]
    wheres: tuple[str, ...]
    kinds: tuple[str, ...]

    def written(self, text: str) -> str:
        """Return a text of a kind over the names of the columns."""
        return text.format(**dict(zip("gab", map(in_double_quotes, self.names), strict=True)))


def random_table(seed: int, parts: int) -> Question:
    """Make a table of few values of each column, and NULL; a and b are of one type, so that they can be compared.

    Parameters
    ----------
    seed
        The types of a and b are all there are, one after the other; two rounds of them have all values of each.
    parts
        How many slices it has, of which the first has rows.
    """
    rng = random.Random(seed)
    turn, place = divmod(seed, len(POOLS))
    types = sorted(POOLS)
    group, value = types[(5 * place + 7 * turn + 3) % len(types)], types[place]  # 5 and 12 have no divisor in common
    groups = rng.sample(POOLS[group], min(len(POOLS[group]), rng.choice([2, 3, 4])))
    pools = [[*pool, *pool, None] for pool in (groups, *[_half(rng, POOLS[value], turn % 2)] * 2)]
    cells: list[tuple[Any, ...]] = []
    for part in range(parts):
        sizes = [0, 1, 3, 5, 7, 9] if part else [9, 12, 14]
        cells += [(part, *map(rng.choice, pools)) for _ in range(rng.choice(sizes))]
    rng.shuffle(cells)
    names = rng.choice(NAMES)
    kinds = dict(zip(("part", *names), ("BIGINT", group, value, value), strict=True))
    columns = list(zip(*cells, strict=True)) or [()] * 4
    arrays = [pa.array(list(column), TYPES[kind]) for column, kind in zip(columns, kinds.values(), strict=True)]
    known = in_double_quotes(names[2])
    wheres = [f"part = {part}" + rng.choice(["", "", f" AND {known} IS NOT NULL"]) for part in range(parts)]
    return Question(pa.table(arrays, [*kinds]), names, tuple(wheres), (group, value))


def _half(rng: random.Random, values: list[Any], second: int) -> list[Any]:
    """Return a half of some values, and two of the other one."""
    middle = (len(values) + 1) // 2
    halves = values[:middle], values[middle:]
    other = halves[1 - second]
    return [*halves[second], *rng.sample(other, min(2, len(other)))]
