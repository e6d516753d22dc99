"""Attacks by one row: the ends of every type as bits, values and words, in everything that can hold them.

Each attack is put alone into a table, beside two plain rows, whose owner may be refused when it opens. Those that are
let in are then together in one table of which everything is asked: a failure would come after the debit, and tell that
the row is there. Only if there is one each goes alone.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.orc
import pyarrow.parquet as pq
import pytest
from stub_noise import StubNoise

import dpdb
from dpdb.engine import Table
from dpdb.errors import DpdbError, EngineError, SourceError
from dpdb.opening import open_table
from dpdb.owner import exact_measures
from dpdb.privacy.noise import replaced_noise
from dpdb.schema import TypeOrigin


@dataclass(frozen=True)
class Attack:
    """A value for one cell.

    Attributes
    ----------
    kind : str
        Its type, by any name.
    what : str
        The value, in words.
    column : pyarrow.Array, optional
        It and two plain values, as bits that nobody has checked.
    sql : str, optional
        It as SQL of DuckDB.
    word : str, optional
        It as text, for a column that is declared as `kind`.
    """

    kind: str
    what: str
    column: pa.Array | None = None
    sql: str | None = None
    word: str | None = None

    def __str__(self) -> str:
        return f"{self.kind} {self.what[:60]}"


# -- bits -------------------------------------------------------------------------------------------------------------

_WHOLE = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
_DECIMALS = ((4, 1), (9, 2), (18, 2), (38, 0), (38, 10), (38, 38))
_UNITS = ("s", "ms", "us", "ns")
_OF_BITS: dict[str, tuple[pa.DataType, int]] = {
    **{kind: (pa.type_for_alias(kind), pa.type_for_alias(kind).bit_width // 8) for kind in _WHOLE},
    **{f"decimal({w},{s})": (pa.decimal128(w, s), 16) for w, s in _DECIMALS},
    "date32": (pa.date32(), 4),
    "date64": (pa.date64(), 8),
    "time32 s": (pa.time32("s"), 4),
    "time32 ms": (pa.time32("ms"), 4),
    "time64 us": (pa.time64("us"), 8),
    "time64 ns": (pa.time64("ns"), 8),
    **{f"timestamp {unit}": (pa.timestamp(unit), 8) for unit in _UNITS},
    **{f"timestamp {unit} in a zone": (pa.timestamp(unit, "Asia/Tokyo"), 8) for unit in _UNITS},
    **{f"duration {unit}": (pa.duration(unit), 8) for unit in _UNITS},
    "interval": (pa.month_day_nano_interval(), 16),
}
_YEARS = tuple(  # midnight of the first day of years at which calendars end, in seconds
    int(
        (np.datetime64(f"{year:+05d}-01-01" if year < 1000 else f"{year}-01-01", "s") - np.datetime64(0, "s")).astype(
            int
        )
    )
    for year in (-1, 0, 1, 1582, 1900, 2262, 9999, 10000)
)


def _numbers(kind: str, width: int) -> list[int]:
    """Bit patterns, as signed numbers of so many bytes."""
    top = 1 << (8 * width - 1)
    found = [-top, 1 - top, -1, 0, 1, top - 2, top - 1]
    if kind.startswith("decimal"):
        digits = int(kind.removeprefix("decimal(").partition(",")[0])
        found += [sign * (10**digits - less) for sign in (1, -1) for less in (0, 1)]
        found += [sign * (1 << bits) - less for sign in (1, -1) for bits in (15, 31, 63) for less in (0, 1)]
    if kind.startswith("timestamp"):
        scale = 1000 ** _UNITS.index(kind.split()[1])
        found += [second * scale - less for second in (*_YEARS, -9223372022400, 9223372036854) for less in (0, 1)]
    if kind.startswith("date"):
        found += [second // 86_400 * (1 if width == 4 else 86_400_000) for second in _YEARS] + [106751991, -106751993]
    if kind.startswith(("time3", "time6")):
        found += [86_400 * 1000 ** _UNITS.index(kind.split()[1]) - less for less in (-1, 0, 1)]
    return [number for number in dict.fromkeys(found) if -top <= number < top]


def _of_bits() -> Iterator[Attack]:
    for kind, (arrow, width) in _OF_BITS.items():
        for number in _numbers(kind, width):
            bits = b"".join(each.to_bytes(width, "little", signed=True) for each in (number, 0, 1))
            yield Attack(kind, f"bits of {number}", pa.Array.from_buffers(arrow, 3, [None, pa.py_buffer(bits)]))
    for kind in ("float16", "float32", "float64"):
        limits = np.finfo(kind)
        for number in (np.nan, -np.nan, np.inf, -np.inf, -0.0, limits.max, limits.min, limits.smallest_subnormal):
            yield Attack(kind, str(number), pa.array(np.array([number, 0, 1], dtype=kind)))


_TEXTS = {
    "empty": b"", "NUL": b"\0", "inside NUL": b"a\0b", "not UTF-8": b"caf\xe9", "cut short": b"\xe2\x82",
    "overlong": b"\xc0\xaf",
    "surrogate": b"\xed\xa0\x80", "last code point": "\U0010ffff".encode(), "combined": "e\u0301\u200d".encode(),
    "dotted capital": "\u0130\u1e9e\ufb03".encode(), "long": b"x" * 1_000_000, "blanks": b" \t\n\xc2\xa0 ",
    "percent": b"%_\\%",
    "number": b"1e400", "digits": b"9" * 400, "NaN": b"nan", "moment": b"294247-01-10 04:00:54.775807",
    "BC": b"5877642-06-25 (BC)",
    "quote": b"'; DROP", "JSON": b'{"a": [1', "true": b"TRUE", "infinity": b"-infinity",
    "of full width": "\uff11".encode(),
    "zoned": b"2020-01-01 00:00:00 Nowhere/City", "word of NULL": b"NULL",
}  # fmt: skip


def _of_texts() -> Iterator[Attack]:
    for what, text in _TEXTS.items():
        cells = [text, b"a", b"1"]
        ends = np.cumsum([0, *map(len, cells)])
        for kind, width in (("string", "i4"), ("large_string", "i8"), ("binary", "i4")):
            buffers = [None, pa.py_buffer(ends.astype(width).tobytes()), pa.py_buffer(b"".join(cells))]
            yield Attack(kind, what, pa.Array.from_buffers(pa.type_for_alias(kind), 3, buffers))
        yield Attack("dictionary", what, pa.DictionaryArray.from_arrays(
            pa.array([0, 1, 2], pa.int8()), pa.Array.from_buffers(
                pa.string(), 3, [None, pa.py_buffer(ends.astype("i4").tobytes()), pa.py_buffer(b"".join(cells))])
        ))  # fmt: skip
    yield Attack("dictionary", "no such word", pa.DictionaryArray.from_arrays(
        pa.array([7, 0, 0], pa.int8()), pa.array(["a"]), safe=False))  # fmt: skip
    for kind, storage, odd in (
        ("bit", pa.binary(), (b"", b"\xff", b"\x07", b"\x09\xff")),
        ("time_tz", pa.binary(8), (b"\xff" * 8, b"\0" * 7 + b"\x80")),
        ("hugeint", pa.binary(16), (b"\xff" * 16, b"\0" * 15 + b"\x80")),
    ):
        plain = b"\x07\xff" if kind == "bit" else bytes(storage.byte_width)
        for bits in odd:
            column = pa.array([bits, plain, plain], storage)
            yield Attack(kind, bits.hex(), pa.ExtensionArray.from_storage(pa.opaque(storage, kind, "DuckDB"), column))
    yield Attack("bool8", "5", pa.ExtensionArray.from_storage(pa.bool8(), pa.array([5, 0, 1], pa.int8())))
    yield Attack("uuid", "ones", pa.ExtensionArray.from_storage(
        pa.uuid(), pa.array([b"\xff" * 16, b"\0" * 16, b"\1" * 16], pa.binary(16))))  # fmt: skip
    yield Attack("json", "no JSON", pa.ExtensionArray.from_storage(pa.json_(), pa.array(["{", "[]", "1"])))


BITS = (*_of_bits(), *_of_texts())

# -- values of DuckDB -------------------------------------------------------------------------------------------------

_SQL = {
    "HUGEINT": ("(-170141183460469231731687303715884105728)::HUGEINT",
    "170141183460469231731687303715884105727::HUGEINT"),
    "UHUGEINT": ("340282366920938463463374607431768211455::UHUGEINT", "0::UHUGEINT"),
    "DECIMAL(38,0)": (f"{'9' * 38}::DECIMAL(38,0)", f"-{'9' * 38}::DECIMAL(38,0)"),
    "UUID": (f"'{'0' * 32}'::UUID", f"'{'f' * 32}'::UUID", f"'8{'0' * 31}'::UUID"),
    "BIT": ("'1'::BIT", "'0'::BIT", "repeat('10', 5000)::BIT"),
    "TIMETZ": ("'24:00:00+15:59:59'::TIMETZ", "'00:00:00-15:59:59'::TIMETZ", "'12:00:00.000001+01'::TIMETZ"),
    "INTERVAL": (
        "INTERVAL '9223372036854775807 microseconds'", "INTERVAL '2147483647 months'", "to_days(-2147483648)",
        "to_microseconds(-9223372036854775807 - 1)", "INTERVAL '30 days'",
    ),
    "DATE": ("'infinity'::DATE", "'-infinity'::DATE", "'5877642-06-25 (BC)'::DATE", "'5881580-07-10'::DATE"),
    "TIME": ("'24:00:00'::TIME", "'00:00:00'::TIME"),
    "TIME_NS": ("'23:59:59.999999999'::TIME_NS",),
    **{
        kind: (f"'infinity'::{kind}", f"'-infinity'::{kind}", f"'1677-09-22 (BC)'::{kind}", f"'2262-04-11'::{kind}")
        for kind in ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMPTZ")
    },
    "TIMESTAMP_NS": ("'infinity'::TIMESTAMP_NS", "'1677-09-22'::TIMESTAMP_NS",
    "'2262-04-11 23:47:16.854775806'::TIMESTAMP_NS"),
    "DOUBLE": ("'nan'::DOUBLE", "'-nan'::DOUBLE", "'-inf'::DOUBLE", "'-0'::DOUBLE", "1.7976931348623157e308::DOUBLE"),
    "FLOAT": ("'nan'::FLOAT", "'inf'::FLOAT", "3.4028235e38::FLOAT"),
    "BIGNUM": ("'1'::BIGNUM",),
    "BLOB": ("''::BLOB", r"'\xFF\x00'::BLOB"),
    "ENUM": ("'b'::ENUM('a', 'b')", "'a'::ENUM('b', 'a')"),
    "BOOLEAN": ("true",),
    "JSON": ("'{\"a\": 1}'::JSON",),
    "VARCHAR COLLATE": ("'A'::VARCHAR COLLATE nocase",),
    "LIST": ("[1, NULL]",),
    "STRUCT": ("{'a': -170141183460469231731687303715884105728}",),
}  # fmt: skip
VALUES = tuple(Attack(kind, sql, sql=sql) for kind, listed in _SQL.items() for sql in listed)

# -- words ------------------------------------------------------------------------------------------------------------

_TYPES = (
    "TINYINT", "BIGINT", "HUGEINT", "UBIGINT", "UHUGEINT", "FLOAT", "DOUBLE", "BOOLEAN", "DATE", "TIME", "TIMETZ",
    "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMPTZ", "INTERVAL", "DECIMAL(4,1)",
    "DECIMAL(38,0)",
    "UUID", "BIT", "BLOB", "ENUM('a','b')", "VARCHAR",
)  # fmt: skip
_WORDS = (
    "", "-170141183460469231731687303715884105728", "340282366920938463463374607431768211455", "9" * 60, "-0", "nan",
    "inf",
    "1e400", "0000-01-01", "10000-01-01", "290309-12-21 (BC)", "294247-01-10 04:00:54.775807", "24:00:00",
    "10:30", "12:00:00+01", "12:00+99",
    "2147483647 months 1 month", "\0", "é", "x" * 100_000, "true", r"\xFF", "a", "infinity",
)  # fmt: skip
WORDS = tuple(Attack(kind, word, word=word) for kind, word in product(_TYPES, _WORDS))

# -- what holds them --------------------------------------------------------------------------------------------------

_PLAIN = 2


@dataclass(frozen=True)
class Held:
    """A source with attacks and two plain rows in its column `v`, beside keys `k`."""

    source: Any
    options: dict[str, Any]


class Streamed:
    """An object that is nothing but a stream, of which nobody has looked at the bits; it can be started again."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, schema: object = None) -> object:
        """Start the stream."""
        return self._table.__arrow_c_stream__(schema)


Attacks = Sequence[Attack]
Holder = Callable[[Attacks, Path], Held]


def keys(attacks: Attacks) -> list[int]:
    return [place % 5 for place in range(len(attacks) + _PLAIN)]


def _table(attacks: Attacks) -> pa.Table:
    columns = [attack.column for attack in attacks if attack.column is not None]
    cells = [*(column.slice(0, 1) for column in columns), columns[0].slice(1)]
    return pa.table({"v": pa.chunked_array(cells), "k": keys(attacks)})


def _query(attacks: Attacks) -> str:
    values = [attack.sql for attack in attacks] + [attacks[0].sql, "NULL"]
    return " UNION ALL ".join(f"SELECT {v} AS v, {k} AS k" for v, k in zip(values, keys(attacks), strict=True))


def _words(attacks: Attacks) -> list[tuple[str | None, int]]:
    return list(zip([*(attack.word for attack in attacks), "1", None], keys(attacks), strict=True))


def _connection(attacks: Attacks, place: str = ":memory:") -> duckdb.DuckDBPyConnection:
    """Make a table of them: bits of Arrow go into DuckDB as they are."""
    connection = duckdb.connect(place)
    if attacks[0].column is not None:
        connection.register("rows_of_arrow", _table(attacks))
    query = "SELECT * FROM rows_of_arrow" if attacks[0].sql is None else _query(attacks)
    connection.execute(f"CREATE TABLE t AS {query}")
    return connection


def _in_parquet(attacks: Attacks, folder: Path, **options: Any) -> Held:
    path = folder / "t.parquet"
    if attacks[0].sql is None:
        pq.write_table(_table(attacks), path, **options)
    else:
        with duckdb.connect() as connection:
            connection.execute(f"COPY ({_query(attacks)}) TO '{path}' (FORMAT parquet)")
    return Held(path, {})


def _in_feather(attacks: Attacks, folder: Path) -> Held:
    pa.feather.write_feather(_table(attacks), folder / "t.feather")
    return Held(folder / "t.feather", {})


def _in_orc(attacks: Attacks, folder: Path) -> Held:
    pa.orc.write_table(_table(attacks), folder / "t.orc")
    return Held(folder / "t.orc", {})


def _in_duckdb_file(attacks: Attacks, folder: Path) -> Held:
    _connection(attacks, str(folder / "t.duckdb")).close()
    return Held(folder / "t.duckdb", {"table": "t"})


def _in_pandas(attacks: Attacks, *, of_arrow: bool) -> Held:
    pandas = pytest.importorskip("pandas")
    return Held(_table(attacks).to_pandas(types_mapper=pandas.ArrowDtype if of_arrow else None), {})


def _in_polars(attacks: Attacks) -> Held:
    return Held(pytest.importorskip("polars").from_arrow(_table(attacks)), {})


def _in_delta(attacks: Attacks, folder: Path) -> Held:
    pytest.importorskip("deltalake").write_deltalake(str(folder / "delta"), _table(attacks))
    return Held(folder / "delta", {})


def _declared(attacks: Attacks) -> dict[str, Any]:
    return {"csv_schema": {"v": attacks[0].kind, "k": "INTEGER"}}


def _in_csv(attacks: Attacks, folder: Path) -> Held:
    lines = ['"{}",{}\n'.format((word or "").replace('"', '""'), key) for word, key in _words(attacks)]
    (folder / "t.csv").write_text("v,k\n" + "".join(lines), newline="")
    return Held(folder / "t.csv", _declared(attacks))


def _in_json(attacks: Attacks, folder: Path) -> Held:
    (folder / "t.jsonl").write_text("\n".join(json.dumps({"v": word, "k": key}) for word, key in _words(attacks)))
    return Held(folder / "t.jsonl", _declared(attacks))


def _in_sqlite(attacks: Attacks, folder: Path) -> Held:
    connection = sqlite3.connect(folder / "t.sqlite")
    with connection:
        connection.execute("CREATE TABLE t (v, k)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", _words(attacks))
    connection.close()
    return Held(folder / "t.sqlite", _declared(attacks))


HOLDERS: dict[str, tuple[tuple[Attack, ...], Holder]] = {
    "Arrow table": (BITS, lambda attacks, _: Held(_table(attacks), {})),
    "Arrow stream": (BITS, lambda attacks, _: Held(Streamed(_table(attacks)), {})),
    "Arrow file": (BITS, _in_feather),
    "ORC": (BITS, _in_orc),
    "Parquet": (BITS, _in_parquet),
    "Parquet, decimals as integers": (
        tuple(attack for attack in BITS if attack.kind.startswith("decimal")),
        lambda attacks, folder: _in_parquet(attacks, folder, store_decimal_as_integer=True),
    ),
    "Parquet, INT96": (
        tuple(attack for attack in BITS if attack.kind.startswith("timestamp")),
        lambda attacks, folder: _in_parquet(attacks, folder, use_deprecated_int96_timestamps=True),
    ),
    "Parquet of DuckDB": (VALUES, _in_parquet),
    "pandas": (BITS, lambda attacks, _: _in_pandas(attacks, of_arrow=False)),
    "pandas of Arrow": (BITS, lambda attacks, _: _in_pandas(attacks, of_arrow=True)),
    "Polars": (BITS, lambda attacks, _: _in_polars(attacks)),
    "Delta": (BITS, _in_delta),
    "connection": (BITS + VALUES, lambda attacks, _: Held(_connection(attacks), {"table": "t"})),
    "relation": (BITS + VALUES, lambda attacks, _: Held(_connection(attacks).sql("FROM t WHERE k < 9"), {})),
    "DuckDB file": (VALUES, _in_duckdb_file),
    "CSV": (WORDS, _in_csv),
    "JSON lines": (WORDS, _in_json),
    "SQLite": (WORDS, _in_sqlite),
}

# -- what is asked ----------------------------------------------------------------------------------------------------

_CASTS = ("TINYINT", "INTEGER", "BIGINT", "HUGEINT", "UBIGINT", "UHUGEINT", "FLOAT", "DOUBLE", "DECIMAL(4,1)",
          "DECIMAL(38,0)", "DECIMAL(38,38)", "VARCHAR", "DATE", "TIMESTAMP")  # fmt: skip
_TERMS = (
    "v", "lower(v)", "upper(v)", "trim(v)", "length(v)", "abs(v)", "-v", "year(v)", "month(v)", "day(v)", "v + 1",
    "v - 1",
    "1 - v", "v * 2", "v * 1.5", "v / 3", "v // 3", "v % 3", "3 // v", "3 % v", "v + v", "v - v", "v * v", "v / v",
    "v // v",
    "v % v", "v + k", "v - k", "v + INTERVAL '1 day'", "v - INTERVAL '300000 years'", "v - DATE '2020-01-01'",
    "DATE '2020-01-01' - v", "v - TIMESTAMP '2020-01-01'", "DATE '2020-01-01' + v", "TIMESTAMP '2020-01-01' + v",
    "coalesce(v, v)", "make_date(v, 1, 1)", "make_date(2020, v, v)", "CAST(v + 1 AS VARCHAR)", "CAST(-v AS DOUBLE)",
    "abs(v * v)", "length(CAST(v AS VARCHAR))", "CAST(CAST(v AS VARCHAR) AS DOUBLE)",
    "CAST(CAST(v AS DOUBLE) AS BIGINT)",
    *(f"CAST(v AS {kind})" for kind in _CASTS),
)  # fmt: skip
_CONDITIONS = (
    "{0} IS NULL", "{0} = {0}", "{0} < k", "{0} <= 0", "{0} > -1.5", "{0} <> 1e300", "{0} = 'a'", "{0} < '2020-01-01'",
    "{0} >= DATE '2020-01-01'", "{0} = TIMESTAMP '2020-01-01 00:00:01'", "{0} IN (0, 1, 2)", "{0} IN ('a', '1')",
    "{0} LIKE '%1%'", "{0} BETWEEN v AND v", "{0} > '1 month'", "{0} = true",
    "{0} < '99999999-0000-0000-0000-000000000000'",
)  # fmt: skip
PAIRS = (
    "v -> k",
    "k -> v",
    "UNIQUE(v)",
    "not(t1.v<t2.v&t1.k>t2.k)",
    "not(t1.v!=t2.v&t1.k=t2.k)",
    "not(t1.k=t2.k&t1.v>=t2.v)",
)


CONDITIONS = tuple(condition.format(term) for term, condition in product(_TERMS, _CONDITIONS))

_borne: dict[tuple[str, str | None, TypeOrigin], bool] = {}


def borne(table: Table, texts: Iterable[str], most: int | None = None) -> list[str]:
    """Return the rules that the columns of a table bear, or the first so many of them."""
    column = table.schema["v"]
    found: list[str] = []
    for text in texts:
        asked = text, column.type, column.origin
        if asked not in _borne:
            try:
                table.with_constraints(text)
                _borne[asked] = True
            except DpdbError:
                _borne[asked] = False
        if _borne[asked]:
            found.append(text)
        if len(found) == most:
            break
    return found


@dataclass
class Tried:
    """How many attacks there were, and what became of them.

    Attributes
    ----------
    opened, refused, not_written : int
        Attacks that were let in, that were refused when the table was opened, that the holder itself did not take.
    asked : int
        Releases, and what the owner alone asks, with how many conditions of them.
    """

    opened: int = 0
    refused: int = 0
    not_written: int = 0
    asked: int = 0
    conditions: int = 0

    def try_all(self, holder: str, attacks: Attacks, place: Path, conditions: Sequence[str], most: int | None) -> None:
        """Ask everything of all attacks that a holder lets in.

        Parameters
        ----------
        holder, attacks
            What holds what; all of one kind.
        place
            An empty folder, for files.
        conditions, most
            Those that are asked, if the type bears them; no more than so many.
        """
        hold = HOLDERS[holder][1]
        let_in: list[tuple[Attack, Held]] = []
        for number, attack in enumerate(attacks):
            held = self._held(hold, attack, _folder(place / str(number)))
            if held is not None:
                let_in.append((attack, held))
        self.opened += len(let_in)
        if not let_in:
            return
        try:
            self._ask(hold([attack for attack, _ in let_in], _folder(place / "all")), conditions, most)
        except EngineError:
            for attack, held in let_in:
                try:
                    self._ask(held, conditions, most)
                except EngineError as error:
                    raise AssertionError(f"{attack} in {holder}: {error}") from error
            raise

    def _held(self, hold: Holder, attack: Attack, place: Path) -> Held | None:
        """Return a source of one attack; None if it is not let in."""
        try:
            held = hold([attack], place)
        except (pa.ArrowException, duckdb.Error, ValueError, TypeError, OverflowError, OSError):
            self.not_written += 1  # it has no such type, or looks itself
            return None
        except BaseException as error:
            if type(error).__name__ not in ("DeltaError", "PanicException", "ComputeError"):
                raise
            self.not_written += 1
            return None
        try:
            open_table(held.source, constraints="UNIQUE(k)", **held.options).close()
        except SourceError:
            self.refused += 1
            return None
        return held

    def _ask(self, held: Held, conditions: Sequence[str], most: int | None) -> None:
        with open_table(held.source, constraints="UNIQUE(k)", **held.options) as table:
            is_compared = table.schema["v"].type is not None
            kept = borne(table, [f"CHECK ({each})" for each in conditions], most) if is_compared else []
            rules = ["UNIQUE(k)", "CHECK (k < 4)", *borne(table, PAIRS if is_compared else ()), *kept]
            rows = table.count_rows([None])[0]
        with (
            replaced_noise(StubNoise()),
            dpdb.open(held.source, constraints=rules, budget=1e6, **held.options) as session,
        ):
            session.dp_inconsistency("all", 1)
            session.dp_inconsistency("repair", 1, each_constraint=True)
            for check in kept:
                session.dp_count(1, where=check.removeprefix("CHECK "))
            session.check("\n".join(f"r{place}: {rule}  fail above 0" for place, rule in enumerate(rules)), 1)
            session.diagnose("k", [1, 2], 1, rules=True)
            if is_compared:
                both = [session.dp_count(1, where=text).value for text in ("v = v", "v IS NULL")]  # type: ignore[union-attr]
                assert sum(both) == rows  # also NaN equals itself
        exact_measures(held.source, rules, non_private=True, by_constraint=True, **held.options)
        self.asked += 7 + len(kept)
        self.conditions += len(kept)


def _folder(place: Path) -> Path:
    place.mkdir(parents=True)
    return place
