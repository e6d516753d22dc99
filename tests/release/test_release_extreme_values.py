"""Values at the ends of every type, and beyond: a source that opens makes its releases."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from inside import table_of
from stub_noise import StubNoise

import dpdb
from dpdb.errors import SourceError
from dpdb.privacy.noise import replaced_noise

MOST = 2**63 - 1
LONG = [
    MOST, -MOST, -MOST - 1, MOST - 1, 1 - MOST, 2**62, 10**18, -(10**18), -9223372022400000000, -9223372022400000001,
    -9223372036854775, 9223372036854775, -9223372022400000, -9223372022400001, 9223372036854, -9223372022401, 0, 1,
]  # fmt: skip
SHORT = [2**31 - 1, -(2**31), 1 - 2**31, 2**31 - 2, 106751991, 106751992, -106751991, -106751993, 0, 1]


def bits(values: list[int], kind: pa.DataType) -> pa.Array:
    return pa.array(np.array(values, dtype=f"int{kind.bit_width}")).view(kind)


def extension(kind: Any, values: list[Any]) -> pa.Array:
    return pa.ExtensionArray.from_storage(kind, pa.array(values, kind.storage_type))


def floats(kind: str) -> pa.Array:
    limits = np.finfo(kind)
    values = [np.nan, -np.nan, np.inf, -np.inf, -0.0, 0.0, limits.max, limits.tiny, limits.smallest_subnormal]
    return pa.array(np.array(values, dtype=kind))


TIMES: dict[str, pa.Array] = {
    **{f"timestamp {unit}": bits(LONG, pa.timestamp(unit)) for unit in ("s", "ms", "us", "ns")},
    "timestamp with zone": bits(LONG, pa.timestamp("us", tz="UTC")),
    "date": bits(SHORT, pa.date32()),
}
OTHERS: dict[str, pa.Array] = {
    **{f"duration {unit}": bits(LONG, pa.duration(unit)) for unit in ("us", "ns")},
    "interval": pa.array(
        [(2**31 - 1, 2**31 - 1, MOST), (-(2**31), -(2**31), -MOST - 1), (0, 0, MOST), (0, 0, 0)],
        pa.month_day_nano_interval(),
    ),
    **{
        kind: pa.array([np.iinfo(kind).min, np.iinfo(kind).max, 0, 1], pa.from_numpy_dtype(kind))
        for kind in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
    },
    **{kind: floats(kind) for kind in ("float32", "float64")},
    "decimal": pa.array([10**38 - 1, 1 - 10**38, 0], pa.decimal128(38, 0)),
    "NUL": pa.array(["a\0b", "\0", "", None]),
    "long text": pa.array(["x" * 100_000, "y"]),
    "text view": pa.array(["a" * 50, None], pa.string_view()),
    "dictionary": pa.array(["a", "b", None, "a"]).dictionary_encode(),
    "bytes": pa.array([b"\xff", b"", None]),
    "three bytes": pa.array([b"abc", b"\xff\xff\xff"], pa.binary(3)),
    "truth values of 8 bits": extension(pa.bool8(), [5, 1, 0, -1]),
    "UUID": extension(pa.uuid(), [b"\xff" * 16, b"\0" * 16]),
    "JSON": extension(pa.json_(), ['{"a":1}', "[]", None]),
    "runs": pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array([1, None])),
}
ROWS = 40


def table(columns: dict[str, pa.Array]) -> pa.Table:
    repeated = {name: pa.chunked_array([values] * ROWS).slice(0, ROWS) for name, values in columns.items()}
    return pa.table(repeated | {"other": [k % 7 for k in range(ROWS)]})


def storable(columns: dict[str, pa.Array]) -> dict[str, pa.Array]:
    """Those that Parquet can hold and DuckDB reads."""
    return {n: v for n, v in columns.items() if n not in ("interval", "runs", "timestamp s", "timestamp ms")}


def release_everything(source: Any, names: list[str], constraints: list[str]) -> None:
    with replaced_noise(StubNoise()), dpdb.open(source, constraints=constraints) as session:
        session.dp_inconsistency("all", 1.0)
        everything = " AND ".join(f'("{name}" IS NULL OR "{name}" = "{name}")' for name in names)
        assert session.dp_count(1.0, where=everything).value == ROWS  # type: ignore[union-attr]


@pytest.mark.heavy
@pytest.mark.parametrize("columns", [TIMES, OTHERS], ids=["times", "others"])
@pytest.mark.parametrize("stored", [False, True], ids=["Arrow", "Parquet"])
def test_every_type_at_its_ends(columns: dict[str, pa.Array], stored: bool, tmp_path: Path) -> None:
    used = storable(columns) if stored else columns
    rules = [
        rule.format(name) for name in used for rule in ('"{0}" -> other', 'not(t1."{0}"<t2."{0}"&t1.other>t2.other)')
    ]
    source: Any = table(used)
    if stored:
        source = tmp_path / "t.parquet"
        pq.write_table(table(used), source)
    release_everything(source, list(used), rules)


@pytest.mark.heavy
@pytest.mark.parametrize("stored", [False, True], ids=["Arrow", "Parquet"])
def test_times_of_all_types_compare_with_each_other_at_their_ends(stored: bool, tmp_path: Path) -> None:
    """DuckDB's conversions between them, also TRY_CAST, end the database on times beyond its calendar."""
    used = storable(TIMES) if stored else TIMES
    pairs = list(itertools.combinations(used, 2))
    rules = [f'not(t1."{a}"<t2."{b}"&t1.other=t2.other)' for a, b in pairs]
    source: Any = table(used)
    if stored:
        source = tmp_path / "t.parquet"
        pq.write_table(table(used), source)
    with replaced_noise(StubNoise()), dpdb.open(source, constraints=rules) as session:
        session.dp_inconsistency("repair", 1.0)
        session.dp_count(1.0, where=" OR ".join(f'"{a}" <= "{b}"' for a, b in pairs))


REFUSED: dict[str, Callable[[], pa.Array]] = {
    "dictionary without such a word": lambda: pa.DictionaryArray.from_arrays(
        pa.array([0, 7], pa.int8()), pa.array(["a"]), safe=False
    ),
    "decimal of too many digits": lambda: pa.Array.from_buffers(
        pa.decimal128(5, 2), 2, [None, pa.py_buffer((10**30).to_bytes(16, "little") + bytes(16))]
    ),
    "time of day": lambda: bits([2**62, 0], pa.time64("us")),
    "seconds with zone": lambda: bits([2**62, 0], pa.timestamp("s", tz="UTC")),
    "seconds of duration": lambda: bits([2**62, 0], pa.duration("s")),
}


@pytest.mark.heavy
@pytest.mark.parametrize("name", REFUSED)
def test_what_arrow_takes_on_trust_is_checked_when_it_is_opened(name: str) -> None:
    with pytest.raises(SourceError, match="reading its rows failed") as caught:
        dpdb.open(pa.table({"a": REFUSED[name](), "b": [1, 2]}), constraints="UNIQUE(b)")
    assert "\n" not in str(caught.value)


@pytest.mark.heavy
@pytest.mark.parametrize(
    "values",
    [
        pa.array([10**75, 0], pa.decimal256(76, 0)),
        pa.array(np.array([1.5, np.nan], dtype="float16")),
        pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array([1, 2]), pa.array(["a", "b"])]),
        pa.nulls(2),
        pa.array([[1], None]),
    ],
    ids=lambda values: str(values.type),
)
def test_a_type_that_cannot_be_compared_may_lie_beside(values: pa.Array) -> None:
    source = pa.table({"a": values, "b": [1, 1]})
    with replaced_noise(StubNoise()), dpdb.open(source, constraints="UNIQUE(b)") as session:
        assert session.dp_inconsistency("repair", 1.0).value == 1  # type: ignore[union-attr]
    with pytest.raises(dpdb.DpdbError, match=r"column 'a' has type .* which constraints cannot compare"):
        dpdb.open(source, constraints="UNIQUE(a)")


TYPES = [
    "TINYINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "UBIGINT", "UHUGEINT", "FLOAT", "DOUBLE", "BOOLEAN",
    "VARCHAR", "BLOB", "BIT", "UUID", "DATE", "TIME", "TIMETZ", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS",
    "TIMESTAMP_NS", "TIMESTAMPTZ", "INTERVAL", "DECIMAL(4,1)", "DECIMAL(38,10)", "DECIMAL(38,38)", "JSON",
    "ENUM('a','b')",
]  # fmt: skip
WORDS = [
    "0", "-0", "01", " 1 ", "1.5", "1e5", "1e400", "-1e400", "nan", "-nan", "inf", "infinity", "-infinity", "9" * 50,
    "-" + "9" * 50, "0x1F", "1_000", "\uff11", "n/a", "true", "\\x", "\\xZZ", "\\xFF", "é", "\0", "a\0b", "2020-01-01",
    "2020-13-45", "0000-01-01", "-0001-01-01", "2020-01-01 (BC)", "290309-12-22 (BC)", "290309-12-21 (BC)",
    "5877642-06-25 (BC)", "5881580-07-10", "5881580-07-11", "294247-01-10 04:00:54.775806", "294247-01-10 04:00:55",
    "290309-12-21 (BC) 23:59:59.999999", "2020-01-01 00:00:00+15:59", "24:00:00", "24:00:01",
    "10:30", "12:00:00+01", "12:00+99", "1 month",
    "999999999999 years", "9223372036854775807 microseconds", "2147483647 months 1 month",
    "2262-04-11 23:47:16.854775808",
    "1969-12-31 23:59:59 America/New_York", "2020-01-01 00:00:00 Nowhere/City", "294247-01-10 04:00:54.775806-15:00",
    "00000000-0000-0000-0000-000000000000", "0101", '{"a":1}', "{", "a", "x" * 100_000,
]  # fmt: skip


@pytest.mark.heavy
@pytest.mark.parametrize("kind", TYPES)
def test_no_cell_of_a_csv_file_fails_in_any_type(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    words = [word.replace('"', '""') for word in WORDS]
    path.write_text("k,v\n" + "".join(f'"{word}",{number % 7}\n' for number, word in enumerate(words)), newline="")
    with replaced_noise(StubNoise()), dpdb.open(path, constraints="k -> v", csv_schema={"k": kind}) as session:
        assert table_of(session).faults is not None
        assert all(file.first_line is None and not file.not_utf8 for file in table_of(session).faults.files.values())
        assert ("k" in table_of(session).faults.not_of_type) is (kind != "VARCHAR")
        assert session.dp_count(1.0).value == len(WORDS)  # type: ignore[union-attr]
        assert 0 < session.dp_count(1.0, where="k IS NOT NULL").value <= len(WORDS)  # type: ignore[union-attr]
        session.dp_inconsistency("repair", 1.0)
