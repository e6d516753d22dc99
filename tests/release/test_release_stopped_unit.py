"""A signal or a change while the rows of units are chosen costs its own release only: the next one answers."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from stub_noise import StubNoise

import dpdb
from dpdb.database.database import Database
from dpdb.errors import EngineError, SourceError
from dpdb.ledger import Ledger
from dpdb.privacy.noise import replaced_noise

TABLE = pa.table({"person": [1, 1, 1, 2, 2, None], "x": [1, 2, 3, 4, 5, 6]})


@pytest.mark.heavy(family="long")
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


def test_rows_of_units_that_were_chosen_of_another_file_are_not_used_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is exchanged behind the debit of an answer that is refused for it, and then put back."""
    path, other, aside = (tmp_path / name for name in ("t.parquet", "other", "aside"))
    pq.write_table(TABLE, path)
    pq.write_table(TABLE.slice(0, 1), other)
    Ledger.create(tmp_path / "t.ledger", 2).close()

    def exchanged(step: str) -> None:
        if step == "reserved":
            path.replace(aside)
            other.replace(path)

    with (
        replaced_noise(StubNoise()),
        dpdb.open(path, unit="person", max_rows=2, ledger=tmp_path / "t.ledger") as session,
    ):
        with monkeypatch.context() as once:
            once.setattr("dpdb.stopping.watchers", [exchanged])
            with pytest.raises(EngineError, match="failed after its budget was debited"):
                session.dp_count(1)
        path.replace(other)
        aside.replace(path)
        with pytest.raises(SourceError, match="changed after this session opened it"):
            session.dp_count(1)
        assert session.spent() == 1
