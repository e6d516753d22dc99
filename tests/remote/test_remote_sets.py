"""Suites over a set of tables in another engine: counted there as of Parquet files of the same rows, check by check."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from helpers_postgres import Server
from helpers_sets import SUITES, compare, random_tables, written

from dpdb.remote.duckdb import AskedThere

_NUMBERS = count()
# The sorted form of rules on ordered pairs needs rows; of them what is counted of rows is another statistic there.
BY_AGGREGATES = {name: text.split("overlap:")[0] for name, text in SUITES.items()}


def in_postgres(server: Server, tables: dict[str, pa.Table]) -> str:
    """Make a schema with the tables, and return what names them all."""
    schema = f"set_{next(_NUMBERS)}"
    server.run(f"CREATE SCHEMA {schema}")
    for name, rows in tables.items():
        made = server.holding(rows)
        server.run(f"ALTER TABLE {made} SET SCHEMA {schema}", f"ALTER TABLE {schema}.{made} RENAME TO {name}")
    return f"{schema}.*"


def both_ways(folder: Path, tables: dict[str, pa.Table], there: Any, **options: Any) -> None:
    """Persons, and rows."""
    here, suites = written(folder, tables)
    persons = compare(here, there, suites, **options)
    _, suites = written(folder / "rows", {}, BY_AGGREGATES)
    rows = compare(here, there, suites, max_rows=1_000, **options)
    assert sum(found[0] > 0 for found in persons.values()) > len(persons) // 2
    assert any(found[0] > persons[name][0] for name, found in rows.items() if name in persons)


@pytest.mark.parametrize("seed", range(2))
def test_our_own_engine_as_another(tmp_path: Path, seed: int) -> None:
    tables = random_tables(Random(seed), 40)
    with duckdb.connect() as connection:
        for name, rows in tables.items():
            connection.register(name, rows)
        both_ways(tmp_path, tables, AskedThere(connection))


def test_postgresql(postgres: Server, tmp_path: Path) -> None:
    tables = random_tables(Random(3), 40)
    both_ways(tmp_path, tables, postgres.address, table=in_postgres(postgres, tables))
