"""One statement answered by PostgreSQL and by us: equal, refused here, or different."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import duckdb
import psycopg
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from postgres_corpus import GOODS, STATES

from dpdb.database import sql_file
from dpdb.doors.server.postgres.values import columns_of, encoded
from dpdb.doors.sql import FrontEnd
from dpdb.doors.sql.child import worker
from dpdb.doors.sql.child.messages import Limits
from dpdb.doors.sql.child.remote_database import read_result
from dpdb.doors.sql.postgres_macros import MACROS
from dpdb.doors.sql.rewrite import ANSWERS
from dpdb.errors import DpdbError, StatementRefusedError

__all__ = ["Outcome", "compared", "fill", "in_one_process", "write_files"]

NUMBERS = (20, 21, 23, 700, 701, 1700, 1005, 1007, 1016, 1021, 1022, 1231)  # and arrays of them
_DIGITS = 12  # as many does a sum in another order, or a root of another library, have in common


class Outcome(NamedTuple):
    """``"equal"``, ``"refused"``, ``"different"``, or ``"only here"`` of what PostgreSQL has not; and what was told."""

    kind: str
    told: str


def write_files(folder: Path) -> dict[str, Path]:
    """Write the public tables of the corpus."""
    columns = [*zip(*GOODS, strict=True)]
    types = [
        pa.int32(),
        pa.int64(),
        pa.float64(),
        pa.decimal128(10, 2),
        pa.string(),
        pa.bool_(),
        pa.date32(),
        pa.timestamp("us"),
    ]
    arrays = [pa.array(values, kind) for values, kind in zip(columns, types, strict=True)]
    pq.write_table(pa.table(arrays, names=["id", "n", "x", "d", "t", "b", "day", "at"]), folder / "goods.parquet")
    pa.csv.write_csv(
        pa.table({"state": [one for one, _ in STATES], "people": [one for _, one in STATES]}), folder / "people.csv"
    )
    return {"goods": folder / "goods.parquet", "states": folder / "people.csv"}


def fill(connection: psycopg.Connection) -> None:
    """Make the same tables in PostgreSQL."""
    connection.execute("SET lc_monetary = 'C'; SET TimeZone = 'UTC'")
    connection.execute("CREATE TABLE states (state text, people bigint)")
    connection.execute(
        "CREATE TABLE goods (id integer, n bigint, x double precision, d numeric(10,2), t text, b boolean, day date, "
        "at timestamp)"
    )
    with connection.cursor() as cursor:
        cursor.executemany("INSERT INTO states VALUES (%s, %s)", STATES)
        cursor.executemany("INSERT INTO goods VALUES (%s, %s, %s, %s, %s, %s, %s, %s)", GOODS)


class _Here:
    """A statement in this process instead of one of its own; by the worker's own functions."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, query: str, answers: Mapping[str, pa.Schema]) -> None:
        self._connection, self._answers = connection, answers
        self._request = worker._Request(query, "query", [*answers], ANSWERS, None, "", Limits())

    def rehearse(self) -> None:
        self.run({name: pa.Table.from_batches([], schema) for name, schema in self._answers.items()})

    def run(self, answers: Mapping[str, pa.Table]) -> pa.Table:
        try:
            for name, rows in answers.items():
                worker._fill(self._connection, self._request, name, rows)
            statement = worker._statement(self._connection, self._request)
            return read_result(worker._result(self._connection, statement, Limits()).to_pybytes(), Limits())
        except (duckdb.Error, pa.ArrowException, worker._RefusedError) as error:
            raise StatementRefusedError(str(error).partition("\n\nLINE ")[0]) from None


@contextmanager
def in_one_process(door: FrontEnd) -> Iterator[None]:
    """Run statements as a door's processes do, but in this one: thousands of processes would take an hour."""
    macros = "".join(f"CREATE MACRO as_pg_{name}{text};\n" for name, text in MACROS.items())
    with door._remote._public.in_use() as file:
        connection = worker._database(
            worker._Request("", "query", [], ANSWERS, str(file), sql_file("settings") + macros, Limits())
        )

        @contextmanager
        def statement(query: str, answers: Mapping[str, pa.Schema], *_: Any, **__: Any) -> Iterator[_Here]:
            yield _Here(connection, query, answers)

        with patch.object(door._remote, "statement", statement):
            yield
        connection.close()


Rows = list[list[tuple[str | None, bool]]]


def _of_postgres(connection: psycopg.Connection, text: str) -> tuple[list[str], Rows] | tuple[str, str]:
    result = connection.pgconn.exec_(text.encode())
    if result.status not in (psycopg.pq.ExecStatus.TUPLES_OK,):
        return (
            result.error_field(psycopg.pq.DiagnosticField.SQLSTATE) or b""
        ).decode(), result.error_message.decode().partition("\n")[0]
    names = [(result.fname(place) or b"").decode() for place in range(result.nfields)]
    kinds = [result.ftype(place) in NUMBERS for place in range(result.nfields)]
    rows = [
        [
            (None if (value := result.get_value(row, place)) is None else value.decode(), kinds[place])
            for place in range(result.nfields)
        ]
        for row in range(result.ntuples)
    ]  # fmt: skip
    return names, rows


_INNER = re.compile(r"\b(?:as|of)_pg_|\bmacro\b", re.IGNORECASE)
"""Names under which we compute what is PostgreSQL's: nobody who asks should meet them."""


def _without_inner_names(shown: str, text: str) -> str:
    assert not _INNER.search(shown), (text, shown)
    return shown


def _of_us(door: FrontEnd, text: str) -> tuple[list[str], Rows] | str:
    try:
        table = door.run(text, "postgres").table
    except DpdbError as error:
        return _without_inner_names(str(error), text)
    _without_inner_names(" ".join(table.schema.names), text)
    columns = columns_of(table.schema)
    values = encoded(table, columns, [0] * len(columns))
    kinds = [column.type.oid in NUMBERS for column in columns]
    rows = [
        [(None if one is None else one.decode(), kind) for one, kind in zip(row, kinds, strict=True)]
        for row in zip(*values, strict=True)
    ]
    return [column.name for column in columns], rows


def compared(connection: psycopg.Connection, door: FrontEnd, text: str, ours_text: str | None = None) -> Outcome:
    """Compare names of columns, the order of rows, and values: numbers as numbers, by their first 12 digits.

    `ours_text` is asked here, where it differs.
    """
    ours = _of_us(door, ours_text or text)
    theirs = _of_postgres(connection, text)
    if isinstance(ours, str):
        return Outcome("refused", ours)
    if not isinstance(theirs[0], list):
        is_unknown = theirs[0][:2] in ("42", "0A")  # it has no such syntax, function, operator or type
        return Outcome("only here" if is_unknown else "different", f"PostgreSQL: {theirs[1]}; we: {_short(ours)}")
    same = ours[0] == theirs[0] and len(ours[1]) == len(theirs[1])
    if same and all(
        _equal(one, other) for pair in zip(theirs[1], ours[1], strict=True) for one, other in zip(*pair, strict=True)
    ):
        return Outcome("equal", "")
    return Outcome("different", f"PostgreSQL: {_short(theirs)}; we: {_short(ours)}")


def _short(found: tuple[Sequence[str], Rows]) -> str:
    return f"{[*found[0]]} {[[value for value, _ in row] for row in found[1][:8]]}"[:400]


def _equal(one: tuple[str | None, bool], other: tuple[str | None, bool]) -> bool:
    """Whether a value of PostgreSQL is the other, which is ours."""
    if one[0] == other[0]:
        return one[1] == other[1] or one[0] is None
    if None in (one[0], other[0]) or not (one[1] and other[1]):
        return False
    if one[0] is not None and other[0] is not None and one[0][:1] == "{" == other[0][:1]:
        lists = [text.strip("{}").split(",") for text in (one[0], other[0])]
        pairs = [*zip(*lists, strict=False)]
        return len(lists[0]) == len(lists[1]) and all(_equal((a, True), (b, True)) for a, b in pairs)
    try:
        left, right = Decimal(str(one[0])), Decimal(str(other[0]))
    except InvalidOperation:
        return False
    if not (left.is_finite() and right.is_finite()):
        return str(left) == str(right)
    if left == right or math.isclose(left, right, rel_tol=10.0**-_DIGITS, abs_tol=1e-15):
        return True
    # PostgreSQL rounds numerics, such as a deviation: ours must round to its last digit.
    _, digits, exponent = left.as_tuple()
    return len(digits) >= _DIGITS and abs(left - right) <= Decimal((0, (5,), int(exponent) - 1))
