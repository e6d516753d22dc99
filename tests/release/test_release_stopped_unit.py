"""A signal while the rows of units are chosen costs its own release only: the next one of the session answers."""

from __future__ import annotations

import pyarrow as pa
import pytest
from stub_noise import StubNoise

import dpdb
from dpdb.engine.duckdb.database import Database
from dpdb.privacy.noise import replaced_noise

TABLE = pa.table({"person": [1, 1, 1, 2, 2, None], "x": [1, 2, 3, 4, 5, 6]})


def test_a_release_after_a_stopped_one_reads_the_same_rows_of_units(monkeypatch: pytest.MonkeyPatch) -> None:
    execute, statements = Database.execute, iter(range(0))

    def stopped(database: Database, query: object) -> None:
        execute(database, query)  # type: ignore[arg-type]
        if next(statements, None) == 0:
            raise KeyboardInterrupt

    monkeypatch.setattr(Database, "execute", stopped)
    stops = 0
    for after in range(6):
        with replaced_noise(StubNoise()), dpdb.open(TABLE, unit="person", max_rows=2) as session:
            statements = iter(range(after, -1, -1))
            try:
                session.dp_count(1)
            except KeyboardInterrupt:
                stops += 1
            statements = iter(range(0))
            assert session.dp_count(1).value == 4
    assert stops >= 5
