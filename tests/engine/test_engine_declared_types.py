"""Cells of a declared type: which are values, and which of them, by a reader that was written apart."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from cell_reference import DIGITS, SHOWN, UNITS, value
from sqlglot import exp

from dpdb.database import Database
from dpdb.sources import typed

KINDS = (
    "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT",
    "DECIMAL(10,2)", "DECIMAL(38,0)", "DECIMAL(4,4)", "DECIMAL(18,6)", "FLOAT", "DOUBLE", "BOOLEAN", "DATE", "TIME",
    "TIME WITH TIME ZONE", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE",
    "TIMESTAMPTZ_NS", "INTERVAL", "UUID", "BIT",
)  # fmt: skip

WRITTEN = [
    *("12.7", "0x1F", "1e3", "1_000", "007", "-0", "+5", " 12 ", "\t12\t", "12 3", "", " ", "-", "+", ".", "1.", ".5"),
    *(str(end + near) for bits in (8, 16, 32, 64, 127, 128) for end in (2**bits, -(2**bits), 2 ** (bits - 1))
      for near in (-1, 0, 1)),
    *("12/5/25", "25-03-04", "2025-03-04", "2025-3-4", "2025-02-29", "2024-02-29", "0000-02-29", "12025-03-04"),
    *("2025-03-04 10:00", "2025-03-04 00:00:00", "20250304", "2025/03/04", "infinity", "epoch", "2025-03-04 (BC)"),
    *("10:00", "9:05", "24:00:00", "23:59:60", "10:00:00.123456", "10:00:00.1234567", "10:00:00.1230000000"),
    *("2025-03-04T10:00:00+05:00", "2025-03-04 10:00:00.5", "2025-03-04 10:00:00 UTC", "2025-03-04 10:00:00Z"),
    *("2025-03-04 10:00:00.123456789", "2025-03-04 10:00:00.1234567891", "2025-03-04 10:00:00 +0530"),
    *("2025-03-04 10:00:00 Europe/Berlin", "2025-03-04 10:00:00+99", "0001-01-01 00:00:00+15:59"),
    *("1.235", "1.2300", "12345678.90", "123456789.00", "1e-400", "1e400", "-1e999", "0e999", "inf", "-Infinity"),
    *("nan", "NaN", "1.5e", "1e+5", "1e1.5", "9007199254740993", "16777217", "3.4028236e38", "7e-46", "1.4e-45"),
    *("true", "T", "Yes", "n", "on", "2", "ja", " true ", "P1D", "1.5 days", "1 day", "1 month -2 days", "1 day ago"),
    *("01:30:00", "-01:30", "1 day 100:00:00", "1 year 2 mons 3 days 04:05:06.7", "2147483648 months", "1day", "1 d"),
    *("123e4567-e89b-12d3-a456-426614174000", "{123e4567-e89b-12d3-a456-426614174000}"),
    "123E4567E89B12D3A456426614174000",
    *("0101", "01 01", "²", "١٢", "12\n", "2025-03-04\n", "12\x00", "1,5", "1.234,50", "12\u00a0"),
]  # fmt: skip
SIGNS = [*"+-.:/,_eETZ \txX", " UTC", "+05", "-0530", "+05:30", "inf", "nan", " days", "\n", "é", "\uff12"]


def near(rng: random.Random) -> Iterator[str]:
    """Texts that are values of some type, and such with one to three small changes."""
    units = [*UNITS]
    while True:
        some = ["".join(rng.choices(DIGITS, k=rng.choice([1, 2, 2, 4, 6, 9, 19, 39]))) for _ in range(4)]
        day = f"{rng.randrange(10_000):04}-{rng.randrange(14):02}-{rng.randrange(33):02}"
        clock = f"{rng.randrange(25):02}:{rng.randrange(61):02}"
        clock += rng.choice(["", f":{rng.randrange(61):02}", f":00.{some[0]}", f":{rng.randrange(60):02}.{some[0]}000"])
        text = rng.choice([
            some[0], "-" + some[0], f"{some[0]}.{some[1]}", f".{some[0]}", f"{some[0]}.{some[1][:2]}000",
            f"{some[0]}.{some[1]}e{rng.randrange(-420, 420)}", day, clock, f"{day} {clock}", f"{day}T{clock}",
            f"{day} {clock}{rng.choice(['Z', '+05', ' -0130', '+15:59', ' UTC', '+16:00'])}",
            f"{clock}{rng.choice(['Z', '+05', ' -0130', '+15:59', ' UTC'])}", rng.choice(WRITTEN),
            f"{rng.randrange(-99, 99)} {rng.choice(units)}s {rng.randrange(9)} {rng.choice(units)} {clock}",
        ])  # fmt: skip
        for _ in range(rng.choice([0, 0, 0, 1, 1, 2, 3])):
            at = rng.randrange(len(text) + 1)
            text = text[:at] + rng.choice([*DIGITS, *SIGNS, ""]) + text[at + rng.choice([0, 1]) :]
        yield text


def read(texts: list[str], kind: str) -> list[Any]:
    """The values that the engine reads."""
    cell = typed(exp.column("cell"), kind).sql("duckdb", normalize_functions=False)
    shown = SHOWN.get(kind, "{}").format("value")
    table = pa.table({"place": range(len(texts)), "cell": texts})
    with Database() as database, database.arrow_table("cells", table):
        rows = database.rows(f"SELECT {shown} FROM (SELECT place, {cell} AS value FROM cells) ORDER BY place")
    return [row[0] for row in rows]


def compare(kind: str, texts: list[str]) -> int:
    """How many of the texts are values, which are those of the other reader."""
    found = read(texts, kind)
    for text, mine in zip(texts, found, strict=True):
        assert mine == value(kind, text), (kind, text)
    return sum(one is not None for one in found)


@pytest.mark.heavy
@pytest.mark.parametrize("kind", KINDS)
def test_cells_are_read_as_by_a_reader_written_apart(kind: str) -> None:
    rng = random.Random(kind)
    texts = [*WRITTEN, *(text for text, _ in zip(near(rng), range(1_500), strict=False))]
    assert 0 < compare(kind, texts) < len(texts)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_many_cells_are_read_as_by_a_reader_written_apart(kind: str) -> None:
    rng = random.Random(kind + "more")
    texts = [text for text, _ in zip(near(rng), range(200_000), strict=False)]
    assert 0 < compare(kind, texts) < len(texts)
