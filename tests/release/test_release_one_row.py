"""No release fails after its debit because of what one row holds."""

from __future__ import annotations

import random
from itertools import groupby
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from inside import table_of
from one_row import CONDITIONS, HOLDERS, Attack, Tried
from stub_noise import StubNoise

import dpdb
from dpdb.errors import ConstraintTypeError, EngineError, PredicateError, SourceError
from dpdb.ledger import Ledger
from dpdb.privacy.noise import replaced_noise

GROUPS = [
    (holder, list(attacks))
    for holder, (held, _) in HOLDERS.items()
    for _, attacks in groupby(sorted(held, key=lambda attack: attack.kind), key=lambda attack: attack.kind)
]


def tried(groups: list[tuple[str, list[Attack]]], conditions: int, most: int | None, folder: Path) -> Tried:
    chance, found = random.Random(42), Tried()
    for place, (holder, attacks) in enumerate(groups):
        found.try_all(holder, attacks, folder / str(place), chance.sample(CONDITIONS, conditions), most)
    assert found.opened + found.refused + found.not_written == sum(len(attacks) for _, attacks in groups)
    return found


@pytest.mark.heavy(family="privacy")
def test_no_release_fails_because_of_one_row(tmp_path: Path) -> None:
    found = tried(random.Random(9).sample(GROUPS, 6), 40, 3, tmp_path)
    assert found.opened > 20


@pytest.mark.slow
@pytest.mark.parametrize("holder", HOLDERS)
def test_no_release_fails_because_of_any_end_value(holder: str, tmp_path: Path) -> None:
    """All conditions where rows are copied from a stream, and where a file is read; else some of them."""
    asked = len(CONDITIONS) if holder in ("connection", "Parquet") else 60
    found = tried([group for group in GROUPS if group[0] == holder], asked, None, tmp_path)
    assert found.opened > 0
    print(f"{holder}: {found}")


LEAST = -(2**127)


def decimals(values: list[int]) -> pa.Array:
    bits = b"".join(value.to_bytes(16, "little", signed=True) for value in values)
    return pa.Array.from_buffers(pa.decimal128(38, 0), len(values), [None, pa.py_buffer(bits)])


@pytest.mark.parametrize("held", ["table", "stream", "Parquet", "connection"])
def test_bits_that_are_no_decimal_are_null(held: str, tmp_path: Path) -> None:
    """The least number of 128 bits has no opposite: what shows it ends DuckDB's database, also within TRY."""
    table = pa.table({"v": decimals([LEAST, 1, 10**38 - 1, 1 - 10**38]), "k": [1, 2, 3, 4]})
    options: dict[str, Any] = {}
    source: Any = table
    if held == "stream":
        source = table.to_reader()
    elif held == "Parquet":
        source = tmp_path / "t.parquet"
        pq.write_table(table, source)
    elif held == "connection":
        source, options = duckdb.connect(), {"table": "t"}
        source.register("rows_of_arrow", table)
        source.execute("CREATE TABLE t AS FROM rows_of_arrow")
    with replaced_noise(StubNoise()), dpdb.open(source, constraints="v -> k", budget=9, **options) as session:
        for where, expected in {
            "v IS NULL": 1,
            "CAST(v AS VARCHAR) = '1'": 1,
            "CAST(v AS DOUBLE) < 0": 1,
            "abs(v) > 1": 2,
            "v * 1.0 <> 7": 3,
        }.items():
            assert session.dp_count(1, where=where).value == expected, where  # type: ignore[union-attr]


KINDS = {
    "HUGEINT": [str(LEAST), str(2**127 - 1), "1"],
    "UHUGEINT": [str(2**128 - 1), "0", "1"],
    "UUID": ["'FFFFFFFF-ffff-ffff-ffff-ffffffffffff'", "'00000000-0000-0000-0000-000000000000'"],
    "TIME WITH TIME ZONE": ["'12:00:00+01'", "'12:00:00+02'", "'24:00:00-15:59:59'"],
    "BIT": ["'1'", "'01'", "'101'"],
    "INTERVAL": ["'2562047788:00:54.775807'", "'1000000000 hours'", "'1 month'"],
}


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize("is_relation", [False, True], ids=["connection", "relation"])
def test_a_connection_has_the_types_and_values_of_its_file(is_relation: bool, tmp_path: Path) -> None:
    """What Arrow has no type for, or another one, comes as what it is: as in the file of the same tables."""
    path = tmp_path / "t.duckdb"
    most = max(map(len, KINDS.values()))
    rows = [[values[place % len(values)] for values in KINDS.values()] for place in range(most)]
    with duckdb.connect(path) as connection:
        columns = ", ".join(f'"{kind}" {kind}' for kind in KINDS)
        connection.execute(f"CREATE TABLE t ({columns})")
        connection.execute(f"INSERT INTO t VALUES {', '.join('(' + ', '.join(row) + ')' for row in rows)}")
    found = []
    for source, options in ((path, {"table": "t"}), (duckdb.connect(path, read_only=True), {"table": "t"})):
        held = source.sql("FROM t") if is_relation and source is not path else source  # type: ignore[union-attr]
        given: dict[str, Any] = {} if is_relation and source is not path else options
        with replaced_noise(StubNoise()), dpdb.open(held, constraints='"BIT" -> "UUID"', budget=99, **given) as session:
            counted = [
                session.dp_count(1, where=f'"{kind}" = {value}').value  # type: ignore[union-attr]
                for kind, values in KINDS.items()
                for value in values
            ]
            found.append(([column.type for column in table_of(session).schema.columns], counted))
    assert found[0] == found[1]
    assert found[0][0] == list(KINDS)
    assert min(found[0][1]) == 1


def test_after_a_failure_inside_the_database_nothing_is_debited(tmp_path: Path) -> None:
    ledger = tmp_path / "t.ledger"
    Ledger.create(ledger, 5).close()
    with (
        replaced_noise(StubNoise()),
        dpdb.open(pa.table({"a": [1, 2]}), constraints="UNIQUE(a)", ledger=ledger) as session,
    ):
        session.dp_count(1)
        database = table_of(session).database
        with database.arrow_table("held", pa.table({"v": decimals([LEAST])})), pytest.raises(EngineError):
            database.rows("SELECT v::VARCHAR FROM held")
        for ask in (
            lambda: session.dp_count(1),
            lambda: session.dp_count(1, where="a > 1.5"),
            lambda: session.dp_inconsistency("repair", 1),
            lambda: session.check("UNIQUE(a)  fail above 0", 1),
            lambda: session.diagnose("a", [1, 2], 1),
        ):
            with pytest.raises(SourceError, match="failed inside and is closed; nothing more is spent"):
                ask()
        assert session.spent() == 1


@pytest.mark.parametrize("kind", ["bit", "time_tz"])
def test_types_of_duckdb_whose_bits_nobody_checks_are_refused_by_name(kind: str) -> None:
    """Of BIT and TIMETZ in an Arrow table one row of other bits ended the database, after the debit."""
    storage = pa.binary() if kind == "bit" else pa.binary(8)
    column = pa.ExtensionArray.from_storage(pa.opaque(storage, kind, "DuckDB"), pa.array([b"\xff" * 8] * 2, storage))
    rows = pa.table({"v": column, "k": [1, 1]})
    with pytest.raises(ConstraintTypeError, match=rf"column 'v' has type .*type_name={kind}"):
        dpdb.open(rows, constraints="v -> k")
    with replaced_noise(StubNoise()), dpdb.open(rows, constraints="UNIQUE(k)", budget=9) as session:
        assert session.dp_inconsistency("repair", 1).value == 1  # type: ignore[union-attr]
        with pytest.raises(PredicateError, match="cannot be compared"):
            session.dp_count(1, where="v = v")


def test_times_of_day_beyond_the_day_are_null() -> None:
    """What Arrow gives as a time of day DuckDB keeps as it is; shown, such a one ends the database."""
    bits = np.array([2**62, -1, 86_400_000_000, 0], dtype="int64")
    column = pa.Array.from_buffers(pa.time64("us"), 4, [None, pa.py_buffer(bits.tobytes())])
    connection = duckdb.connect()
    connection.register("rows_of_arrow", pa.table({"v": column, "k": [1, 2, 3, 4]}))
    connection.execute("CREATE TABLE t AS FROM rows_of_arrow")
    with replaced_noise(StubNoise()), dpdb.open(connection, constraints="v -> k", table="t", budget=9) as session:
        for where, expected in {"v IS NULL": 2, "v >= '00:00:00'": 2, "v = '24:00:00'": 1}.items():
            assert session.dp_count(1, where=where).value == expected, where  # type: ignore[union-attr]
        assert session.dp_count(1, by="v", keys=["00:00:00"])[0].value == 1
