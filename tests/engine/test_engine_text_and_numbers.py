"""Text beside a number or a date is refused, whoever says that it is text, with the cast that says what is meant."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from inside import table_of
from stub_noise import StubNoise

import dpdb
from dpdb.errors import ConstraintTypeError, ParameterError, PredicateError
from dpdb.owner import exact_measures
from dpdb.privacy.noise import replaced_noise

AMOUNTS = ["10", "9", "100", "2"]
DAYS = ["2024-01-05", "2023-12-31", "2024-02-01", "2024-01-01"]
TABLE = pa.table({"amt": AMOUNTS, "zip": ["01234"] * 4, "day": DAYS, "n": [1, 2, 3, 4]})


def parquet(folder: Path) -> Any:
    pq.write_table(TABLE, folder / "t.parquet")
    return folder / "t.parquet"


def duckdb_file(folder: Path) -> Any:
    with duckdb.connect(folder / "t.duckdb") as connection:
        connection.register("rows_of_arrow", TABLE)
        connection.execute("CREATE TABLE t AS FROM rows_of_arrow")
    return folder / "t.duckdb"


def sqlite_file(folder: Path) -> Any:
    connection = sqlite3.connect(folder / "t.sqlite")
    with connection:
        connection.execute("CREATE TABLE t (amt TEXT, zip TEXT, day TEXT, n INTEGER)")
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", zip(*TABLE.to_pydict().values(), strict=True))
    connection.close()
    return folder / "t.sqlite"


def enumerated(folder: Path) -> Any:
    del folder
    connection = duckdb.connect()
    connection.register("rows_of_arrow", TABLE)
    kind = "ENUM('10', '100', '2', '9')"
    return connection.sql(f"SELECT amt::{kind} AS amt, zip, day, n FROM rows_of_arrow")


SOURCES: dict[str, Callable[[Path], Any]] = {
    "Arrow": lambda _: TABLE,
    "Parquet": parquet,
    "DuckDB": duckdb_file,
    "SQLite": sqlite_file,
    "pandas": lambda _: pd.DataFrame(TABLE.to_pydict()).astype({"amt": "string", "day": "string", "zip": "string"}),
    "ENUM": enumerated,
}
REFUSED = {
    "amt >= 9": "CAST(amt AS DOUBLE)",
    "9 <= amt": "CAST(amt AS DOUBLE)",
    "amt = 9.0": "CAST(amt AS DOUBLE)",
    "amt <> -9": "CAST(amt AS DOUBLE)",
    "amt IN (1.0, 2)": "CAST(amt AS DOUBLE)",
    "amt IN ('1', 2)": "CAST(amt AS DOUBLE)",
    "amt NOT IN (1)": "CAST(amt AS DOUBLE)",
    "amt BETWEEN 1 AND 5": "CAST(amt AS DOUBLE)",
    "amt = true": "'true'",
    "n > 1 OR NOT (amt > 9)": "CAST(amt AS DOUBLE)",
    "lower(amt) > 10": "AS DOUBLE)",
    "trim(amt) = 10": "AS DOUBLE)",
    "CAST(n AS VARCHAR) > 1": "AS DOUBLE)",
    "day >= DATE '2024-01-01'": "CAST(day AS DATE)",
    "day = DATE '2024-01-01'": "CAST(day AS DATE)",
    "day < TIMESTAMP '2024-01-01 10:00:00'": "CAST(day AS TIMESTAMP)",
    "day < TIME '10:00:00'": "'10:00:00'",
    "amt > n": "CAST(amt AS DOUBLE)",
}
PAIRS = ["not(t1.amt<t2.n)", "not(t1.n=t2.n&t1.amt>9)", "not(t1.amt=9&t2.amt=10)", "not(t1.day<2024-01-01&t1.n=t2.n)"]
# Conditions, and for how many of the rows they hold, by Python.
BORNE: dict[str, int] = {
    "CAST(amt AS DOUBLE) >= 9": sum(float(amt) >= 9 for amt in AMOUNTS),
    "CAST(amt AS INTEGER) IN (1.0, 2)": sum(float(amt) in (1, 2) for amt in AMOUNTS),
    "CAST(amt AS DOUBLE) > n": sum(float(amt) > n for n, amt in enumerate(AMOUNTS, 1)),
    "CAST(day AS DATE) >= DATE '2024-01-01'": sum(day >= "2024-01-01" for day in DAYS),
    "day >= '2024-01-01'": sum(day >= "2024-01-01" for day in DAYS),
    "zip = '01234'": 4,
    "zip = '1234'": 0,
    "amt = '9'": 1,
    "amt IN ('9', '9.0')": 1,
    "length(amt) > 1": sum(len(amt) > 1 for amt in AMOUNTS),
    "n > '2'": 2,
}


@pytest.mark.heavy
@pytest.mark.parametrize("source", SOURCES)
def test_text_beside_a_number_is_refused_with_the_cast(source: str, tmp_path: Path) -> None:
    rows = SOURCES[source](tmp_path)
    with replaced_noise(StubNoise()), dpdb.open(rows, constraints="UNIQUE(n)", budget=99) as session:
        for condition, remedy in REFUSED.items():
            with pytest.raises(PredicateError) as refused:
                session.dp_count(1, where=condition)
            assert remedy in str(refused.value), condition
            for rule in (f"CHECK ({condition})", f"CHECK ({condition} OR n > 9)", f"UNIQUE(n) WHERE {condition}"):
                with pytest.raises(ConstraintTypeError) as wrong:
                    table_of(session).with_constraints(rule)
                assert remedy in str(wrong.value), rule
        for rule in PAIRS:
            with pytest.raises(ConstraintTypeError, match=r"CAST\((amt|day) AS (DOUBLE|DATE)\)"):
                table_of(session).with_constraints(rule)
        with pytest.raises(PredicateError, match=r"CAST\(amt AS DOUBLE\)"):
            session.check("row_count WHERE amt > 9  fail below 1", 1)
        for keys in ([9], [True], ["9", 10]):
            with pytest.raises(ParameterError, match="column 'amt' is text"):
                session.dp_count(1, by="amt", keys=keys)
        assert session.spent() == 0
        for condition, holds in BORNE.items():
            assert session.dp_count(1, where=condition).value == holds, condition  # type: ignore[union-attr]
        assert [each.value for each in session.dp_count(1, by="amt", keys=["9", "2"])] == [1, 1]
    for condition, holds in BORNE.items():
        violated = exact_measures(rows, f"CHECK ({condition})", non_private=True)
        assert violated.problematic == 4 - holds, condition


def test_the_remedy_for_cells_that_nobody_has_typed_comes_first(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("amt,day\n10,2024-01-01\n9,2024-01-02\n")
    with dpdb.open(tmp_path / "t.csv", constraints="amt -> day", budget=9) as session:
        for condition, option in {
            "amt > 9": "--schema 'amt DOUBLE'",
            "amt = 9.5": "--schema 'amt DOUBLE'",
            "day = DATE '2024-01-01'": "--schema 'day DATE'",
        }.items():
            with pytest.raises(PredicateError) as refused:
                session.dp_count(1, where=condition)
            assert option in str(refused.value)
        with replaced_noise(StubNoise()):
            assert session.dp_count(1, where="CAST(amt AS DOUBLE) > 9").value == 1  # type: ignore[union-attr]


def test_dates_beside_texts_that_are_dates_are_read_as_before() -> None:
    rows = pa.table({"d": pa.array([0, 19_723], pa.date32()), "n": [1, 2]})  # 1970-01-01 and 2024-01-01
    with replaced_noise(StubNoise()), dpdb.open(rows, constraints="UNIQUE(n)", budget=9) as session:
        assert session.dp_count(1, where="d = '2024-01-01'").value == 1  # type: ignore[union-attr]
        assert session.dp_count(1, where="d < DATE '2024-01-01'").value == 1  # type: ignore[union-attr]
        for text in ("soon", "2024-13-01", "9"):
            with pytest.raises(PredicateError, match="is not a value for 'd'"):
                session.dp_count(1, where=f"d < '{text}'")
