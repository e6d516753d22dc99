"""Memory that does not suffice: what public facts take fails before the debit, what rows take says so behind it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from stub_noise import StubNoise

import dpdb
from dpdb.database.database import Database
from dpdb.errors import EngineError, OutOfMemoryError, ParameterError
from dpdb.privacy.noise import replaced_noise
from dpdb.release.statistics import PrivateSlices

MESSAGE = "failed after its budget was debited: memory did not suffice"


@pytest.mark.slow
def test_many_keys_fail_before_the_debit() -> None:
    """They need memory, if there are but three rows."""
    with dpdb.open(pa.table({"a": [1, 1, 2, 3]}), budget=10, memory_limit="12MB", threads=1) as session:
        session.dp_count(1, by="a", keys=list(range(10)))
        with pytest.raises(EngineError, match="nothing was spent"):
            session.dp_count(1, by="a", keys=list(range(1_001)))
        assert session.spent() == 1


@pytest.mark.slow
def test_memory_that_rows_need_is_named_behind_the_debit(tmp_path: Path) -> None:
    draw = np.random.default_rng(1)
    rows = pa.table({"a": draw.integers(0, 300_000, 1_000_000), "b": draw.integers(0, 50, 1_000_000)})
    pq.write_table(rows, tmp_path / "t.parquet")
    with dpdb.open(tmp_path / "t.parquet", constraints="a -> b", memory_limit="10MB", threads=2) as session:
        with pytest.raises(EngineError, match=MESSAGE) as caught:
            session.dp_inconsistency("problematic", 1)
        assert "MiB" not in str(caught.value)
        assert session.spent() == 1


@pytest.mark.heavy
@pytest.mark.parametrize("error", [MemoryError(), OutOfMemoryError("5 rows of alice"), pa.ArrowMemoryError("alice")])
def test_so_is_that_of_every_part(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object) -> None:
        raise error

    monkeypatch.setattr(PrivateSlices, "counts", failing)
    with dpdb.open(pa.table({"a": [1]})) as session:
        with pytest.raises(EngineError, match=MESSAGE) as caught:
            session.dp_count(1)
        assert "alice" not in str(caught.value)
        assert session.spent() == 1


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize(("keys", "rehearsed"), [(100, 0), (101, 1)])
def test_only_many_slices_are_rehearsed_and_no_row_is_read(
    keys: int, rehearsed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dpdb.engine.sql import input_rows as count

    seen: list[list[int]] = []
    counted = count.count_rows

    def noted(*arguments: object, **options: object) -> list[int]:
        seen.append(counted(*arguments, **options))  # type: ignore[arg-type]
        return seen[-1]

    monkeypatch.setattr(count, "count_rows", noted)
    with dpdb.open(pa.table({"a": [1, 2, 2]})) as session:
        session.dp_count(1, by="a", keys=list(range(keys)))
    assert len(seen) == rehearsed + 1
    assert [sum(each) for each in seen] == [0] * rehearsed + [3]


def test_a_limit_that_is_too_small_is_one_line() -> None:
    with (
        Database(memory_limit="32MiB", threads=1) as database,
        pytest.raises(OutOfMemoryError, match="memory does not suffice") as caught,
    ):
        database.rows("SELECT list(range) FROM range(100_000_000)")
    assert "\n" not in str(caught.value)
    with pytest.raises(ParameterError, match=r"^memory_limit '1MB' is too small .* give at least '32MiB'$"):
        Database(memory_limit="1MB", threads=1)


@pytest.mark.heavy(family="long")
def test_many_constraints_are_rehearsed_without_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []
    execute = Database.execute
    monkeypatch.setattr(Database, "execute", lambda self, query: (ran.append(str(query)), execute(self, query))[1])
    with dpdb.open(pa.table({"a": [1, 2]}), constraints=[f"not(t1.a > {k})" for k in range(10, 111)]) as session:
        ran.clear()
        session.dp_inconsistency("problematic", 1)
    made = [text for text in ran if text.startswith("CREATE SCHEMA")]
    assert len(made) == 2


@pytest.mark.heavy(family="long")
def test_a_rehearsal_reads_no_row_of_a_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    """How much memory a private parent takes is private: it may not decide between a refusal and an answer."""
    read: list[int] = []
    execute = Database.execute

    def noted(self: Database, query: Any) -> None:
        text = query if isinstance(query, str) else query.sql("duckdb")
        if text.startswith("UPDATE"):
            [(_, plan)] = self.rows(f"EXPLAIN (ANALYZE, FORMAT JSON) {text}")
            read.append(_scanned(json.loads(plan)))
        execute(self, query)

    monkeypatch.setattr(Database, "execute", noted)
    rules = ["k IN p.k", *(f"not(t1.k > {k})" for k in range(10, 111))]
    parents = {"p": pa.table({"k": range(5)})}
    with (
        dpdb.open(pa.table({"k": [1, 2, 7]}), constraints=rules, private_parents=parents, max_children=1) as session,
        replaced_noise(StubNoise()),
    ):
        assert session.dp_inconsistency("problematic", 1).value == 1  # type: ignore[union-attr]
    before, after = read
    assert before == 0
    assert after >= 5


def _scanned(plan: Any) -> int:
    """Rows that the scans of an analyzed plan gave, in whatever DuckDB calls them."""
    if isinstance(plan, list):
        return sum(map(_scanned, plan))
    below = [value for value in plan.values() if isinstance(value, list)]
    if any(below):
        return sum(map(_scanned, below))
    return int(plan.get("intermediate_rows", plan.get("operator_cardinality", 0)))
