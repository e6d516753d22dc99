"""Where the tests' engines make tables for the conformance suite."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest
from asked_there import AskedThere
from helpers_adbc import Warehouse

from dpdb.remote import Scratch, scratch_of
from dpdb.remote.scratch import SparkScratch


@dataclass
class OfRows:
    """Rows as they are: nothing is made (implements `Scratch`)."""

    source: Callable[[pa.Table], Any]

    def lacks(self, kind: pa.DataType) -> bool:
        return False

    def hold(self, rows: pa.Table) -> tuple[Any, str | None]:
        return self.source(rows), None

    def as_read(self, rows: pa.Table) -> pa.Table:
        return rows

    def close(self) -> None:
        pass


def of_warehouse(dialect: str) -> Callable[[pytest.FixtureRequest], Scratch]:
    """Ask what reads a warehouse's SQL, for as long as the test runs."""

    def made(request: pytest.FixtureRequest) -> Scratch:
        warehouse = Warehouse(dialect)
        warehouse.install(request.getfixturevalue("monkeypatch"))
        return scratch_of(warehouse.address, None)

    return made


ENGINES: dict[str, Callable[[pytest.FixtureRequest], Scratch]] = {
    "local": lambda _: OfRows(lambda rows: rows),
    "duckdb there": lambda _: OfRows(AskedThere),
    "postgres": lambda request: scratch_of(request.getfixturevalue("postgres").address, None),
    "clickhouse": lambda request: scratch_of(request.getfixturevalue("clickhouse").address, None),
    "duckdb by adbc": lambda request: scratch_of(f"duckdb+adbc://{request.getfixturevalue('tmp_path')}/a.duckdb", None),
    "snowflake": of_warehouse("snowflake"),
    "bigquery": of_warehouse("bigquery"),
    "sail": lambda request: SparkScratch(request.getfixturevalue("sail")),
    "spark": lambda request: SparkScratch(request.getfixturevalue("spark")),
}
