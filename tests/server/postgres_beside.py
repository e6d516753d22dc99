"""One statement answered by PostgreSQL and by us: equal, refused here, or different."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import NamedTuple

import psycopg
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from postgres_corpus import GOODS, STATES

from dpdb.doors.server.postgres.values import columns_of, encoded
from dpdb.doors.sql import FrontEnd
from dpdb.errors import DpdbError

__all__ = ["Outcome", "compared", "fill", "write_files"]

NUMBERS = (20, 21, 23, 700, 701, 1700)
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


def _of_us(door: FrontEnd, text: str) -> tuple[list[str], Rows] | str:
    try:
        table = door.run(text, "postgres").table
    except DpdbError as error:
        return str(error)
    columns = columns_of(table.schema)
    values = encoded(table, columns, [0] * len(columns))
    kinds = [column.type.oid in NUMBERS for column in columns]
    rows = [
        [(None if one is None else one.decode(), kind) for one, kind in zip(row, kinds, strict=True)]
        for row in zip(*values, strict=True)
    ]
    return [column.name for column in columns], rows


def compared(connection: psycopg.Connection, door: FrontEnd, text: str) -> Outcome:
    """Compare names of columns, the order of rows, and values: numbers as numbers, by their first 12 digits."""
    ours = _of_us(door, text)
    theirs = _of_postgres(connection, text)
    if isinstance(ours, str):
        return Outcome("refused", ours)
    if not isinstance(theirs[0], list):
        is_unknown = theirs[0][:2] in ("42", "0A")  # it has no such syntax, function, operator or type
        return Outcome("only here" if is_unknown else "different", f"PostgreSQL: {theirs[1]}; we: {_short(ours)}")
    same = ours[0] == theirs[0] and len(ours[1]) == len(theirs[1])
    if same and all(
        _equal(one, other) for pair in zip(ours[1], theirs[1], strict=True) for one, other in zip(*pair, strict=True)
    ):
        return Outcome("equal", "")
    return Outcome("different", f"PostgreSQL: {_short(theirs)}; we: {_short(ours)}")


def _short(found: tuple[Sequence[str], Rows]) -> str:
    return f"{[*found[0]]} {[[value for value, _ in row] for row in found[1][:8]]}"[:400]


def _equal(one: tuple[str | None, bool], other: tuple[str | None, bool]) -> bool:
    if one[0] == other[0]:
        return one[1] == other[1] or one[0] is None
    if None in (one[0], other[0]) or not (one[1] and other[1]):
        return False
    try:
        left, right = Decimal(str(one[0])), Decimal(str(other[0]))
    except InvalidOperation:
        return False
    if not (left.is_finite() and right.is_finite()):
        return str(left) == str(right)
    return left == right or math.isclose(left, right, rel_tol=10.0**-_DIGITS, abs_tol=1e-15)
