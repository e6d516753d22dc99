"""Engines behind ADBC: DuckDB for real; Snowflake and BigQuery as far as sqlglot reads their SQL and DuckDB answers."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from helpers_adbc import Warehouse
from helpers_scratch import ENGINES

import dpdb
from dpdb.errors import PredicateError, SourceError, UnansweredError
from dpdb.opening import open_table
from dpdb.remote import scratch_of
from dpdb.remote.adbc.vendors import VENDORS

WAREHOUSES = ["snowflake", "bigquery"]
ROWS = pa.table(
    {
        "zip": [1, 1, 2, 2, 3, None],
        "city": ["a", "b", "it's", "it's", "é\\", "x"],
        "x": [0.0, -0.0, float("nan"), 1.5, None, float("inf")],
    }
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    with duckdb.connect(tmp_path / "shop.duckdb") as connection:
        connection.execute(
            "CREATE TABLE visits AS SELECT i % 5 AS zip, if(i = 7, 'x', 'a') AS city FROM range(20) r(i)"
        )
    return tmp_path / "shop.duckdb"


def test_duckdb_is_asked_by_its_driver(file: Path) -> None:
    """Twenty rows, of which one is of another city: as plain SQL counts them."""
    with dpdb.open(f"duckdb+adbc://{file}", table="visits", constraints="zip -> city", gather_rows=99) as session:
        assert session.dp_inconsistency("repair", 1_000).value == 1
        assert session.dp_count(epsilon=1_000).value == 20
        assert session.dp_count(epsilon=1_000, where="city LIKE 'x%'").value == 1


@pytest.mark.parametrize("dialect", WAREHOUSES)
def test_a_warehouse_that_nobody_ran_releases_nothing(dialect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exact values, which its owner can compare, need no record; the password is in no statement and no message."""
    warehouse = Warehouse(dialect)
    warehouse.install(monkeypatch)
    scratch = scratch_of(warehouse.address, None)
    source, table = scratch.hold(ROWS)
    with dpdb.open(source, table=table, constraints="zip -> city", gather_rows=9) as session:
        with pytest.raises(SourceError, match=r"nobody has tried whether (Snowflake|BigQuery) .*conformance") as caught:
            session.dp_count(epsilon=1)
        assert "sesame" not in str(caught.value)
        assert session.spent() == 0
    with open_table(source, table=table, constraints="zip -> city", gather_rows=9) as there:
        wheres = ["city = 'it''s'", "city LIKE 'it%'", "x = 0", "x IS NULL", "length(city) = 4", "zip >= 2"]
        assert there.count_rows([there.where(text) for text in wheres]) == [2, 2, 2, 2, 2, 3]
    assert not any("sesame" in text for text in warehouse.asked)
    scratch.close()
    assert warehouse.asked[-1].startswith("DROP TABLE")


def test_a_driver_that_shows_its_address_shows_no_password(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither as it is nor as the driver's address writes it: logs are kept, and copied."""
    warehouse = Warehouse("snowflake")
    warehouse.install(monkeypatch)

    def refused(uri: str) -> Warehouse:
        raise OSError(f"cannot reach {uri}, password sesame@1")

    monkeypatch.setattr(warehouse, "connect", refused)
    with pytest.raises(SourceError, match="no connection"), open_table(warehouse.address, table="t"):
        pass
    assert "cannot reach owner:***@account" in caplog.text
    assert "sesame" not in caplog.text


@pytest.mark.parametrize("dialect", WAREHOUSES)
def test_what_could_differ_is_refused(dialect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    warehouse = Warehouse(dialect)
    warehouse.install(monkeypatch)
    source, table = scratch_of(warehouse.address, None).hold(ROWS)
    with open_table(source, table=table) as there:
        for text in ("city ~ 'a'", "city LIKE 'a\\%'", "zip < x", "x + 1 > 2", "lower(city) = 'a'", "zip / 2 > 1"):
            with pytest.raises(PredicateError, match=VENDORS[dialect].name):
                there.where(text)


@pytest.mark.parametrize(
    "source",
    [
        "snowflake://",
        "snowflake://o@a/d",
        "bigquery://p",
        "bigquery://p/d/e",
        "duckdb+adbc://",
        "snowflake://a@b@c/d/s",
    ],
)
def test_what_is_no_address_is_one_line(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Warehouse("snowflake").install(monkeypatch)
    with pytest.raises(SourceError, match="not an address") as caught, open_table(source, table="t"):
        pass
    assert len(str(caught.value).splitlines()) == 1


def test_a_driver_is_named_that_is_not_installed_and_no_table_is_there(file: Path) -> None:
    with pytest.raises(SourceError, match="dpdb\\[adbc\\]"), open_table("snowflake://o:pw@a/d/s", table="t"):
        pass
    with pytest.raises(SourceError, match="no such table"), open_table(f"duckdb+adbc://{file}", table="nothing"):
        pass
    with pytest.raises(SourceError, match="name the table"), open_table(f"duckdb+adbc://{file}"):
        pass


@pytest.mark.parametrize("engine", ["duckdb by adbc", *WAREHOUSES])
def test_made_tables_hold_what_is_in_them(engine: str, request: pytest.FixtureRequest) -> None:
    """Signs, zeros, NULL and NaN, which a warehouse reads as NULL; each as the answer key reads it."""
    scratch = ENGINES[engine](request)
    source, table = scratch.hold(ROWS)
    with open_table(source, table=table, gather_rows=9) as there, open_table(scratch.as_read(ROWS)) as here:
        for text in ("city < 'b'", "x >= 0", "x IS NULL", "zip = 1", "city = 'é\\'"):
            assert there.count_rows([there.where(text)]) == here.count_rows([here.where(text)]), text


@pytest.mark.parametrize("dialect", WAREHOUSES)
def test_a_query_that_fails_there_costs_nothing(dialect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpdb.remote.opened.refuse_untried", lambda _: None)
    warehouse = Warehouse(dialect)
    warehouse.install(monkeypatch)
    source, table = scratch_of(warehouse.address, None).hold(ROWS)
    with dpdb.open(source, table=table, constraints="zip -> city", gather_rows=9) as session:
        session.dp_count(epsilon=1)
        spent = session.spent()
        monkeypatch.setattr("helpers_adbc._in_duckdb", lambda node: 1 / 0)
        with pytest.raises(UnansweredError):
            session.dp_inconsistency("repair", 1)
        assert session.spent() == spent
