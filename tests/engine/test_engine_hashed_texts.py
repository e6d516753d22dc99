"""Texts of which hashes are copied: the same order, codes and counts as where texts are, also where hashes collide."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sqlglot import exp

from dpdb.database.database import Database
from dpdb.engine.sql import coded_rows, input_rows
from dpdb.errors import OutOfMemoryError
from dpdb.opening import open_local_table
from dpdb.release.statistics import CountedStatistics, SliceStatistics
from dpdb.thresholds import THRESHOLDS

TEXTS = ["", "a", "a\0", "b", "é", "e\u0301", "it's", "x" * 300, "x" * 299 + "y", None]


def random_table(rng: random.Random, rows: int) -> pa.Table:
    return pa.table(
        {
            "t": pa.array([rng.choice(TEXTS) for _ in range(rows)], pa.string()),
            "u": pa.array([rng.choice(TEXTS[:4]) for _ in range(rows)], pa.string()),
            "n": pa.array([rng.choice([1, 2, None]) for _ in range(rows)], pa.int64()),
            "d": pa.array([rng.choice([0.0, -0.0, float("nan"), 1.5]) for _ in range(rows)], pa.float64()),
            "k": pa.array(range(rows), pa.int64()),
        }
    )


RULES: list[list[str]] = [
    ["t -> u"],
    ["t, n -> u", "u -> d"],
    ["[] -> t, u, n, d", "not(t1.n>1)"],
    ["t -> n", "not(t1.t=t2.t&t1.k<t2.k&t1.d!=t2.d)"],
    ["u -> t", "not(t1.u='a')", "t -> n"],
    ["not(t1.u=t2.u)"],
    ["not(t1.t=t2.t&t1.n=t2.n)", "not(t1.n>1)"],
]


@contextmanager
def at(**moved: float) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in moved.items():
            patch.setattr(THRESHOLDS[name], "at", value)
        yield


def told(table: Any, rules: list[str], where: str | None) -> dict[str, Any]:
    steps: list[str] = []
    with open_local_table(table, constraints=rules, progress=steps.append) as opened:
        predicate = None if where is None else opened.where(where)
        with closing(opened.slice(predicate)) as part:
            found: dict[str, Any] = {"order": part.canonical_order().tolist(), "alone": part.self_conflicts}
            found |= {name: codes.tolist() for name, codes in part.codes(part.columns).items()}
            counted = CountedStatistics(opened, predicate)
            of = SliceStatistics(part, counted)
            found["bound"] = of.degree_bound()
            if counted.is_closed:
                found["fewest"] = of.counted("violations")
                assert CountedStatistics(opened, predicate).counted("violations") == found["fewest"]
        tables = opened.database.rows("SELECT table_name FROM duckdb_tables() WHERE schema_name LIKE 'slice%'")
        assert tables == []
    return found | {"steps": [step for step in steps if step != "counting groups"]}


@pytest.mark.parametrize(
    ("rules", "where"),
    [
        (RULES[0], "n = 1"),
        (RULES[1], None),
        (RULES[2], "u <> 'a'"),
        (RULES[3], None),
        (RULES[4], "k % 3 <> 0"),
        (RULES[5], None),
        (RULES[6], "k > 3"),
    ],
    ids=str,
)
def test_hashed_and_copied_texts_give_the_same_slice(rules: list[str], where: str | None) -> None:
    """Of few rows and of many, by hash and after hashes were found to be shared."""
    rng = random.Random(f"{rules} {where}")
    for rows in (0, 60):
        table = random_table(rng, rows)
        with at(FEW_TEXTS=1e18):
            plain = told(table, rules, where)
        for few_rows, shared in [(-1, 0), (1e18, 0), (-1, -1)]:
            with at(FEW_TEXTS=-1, FEW_ROWS=few_rows, SHARED_HASHES=shared):
                assert told(table, rules, where) == plain


def test_a_hash_that_two_texts_share_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    table = random_table(random.Random(7), 60)
    with at(FEW_TEXTS=1e18):
        plain = told(table, RULES[0], None)
    for module in (coded_rows, input_rows):
        monkeypatch.setattr(module, "hash_of", lambda _values: exp.cast(exp.convert(3), "UBIGINT", dialect="duckdb"))
    with at(FEW_TEXTS=-1):
        assert told(table, RULES[0], None) == plain


def test_the_count_is_that_of_plain_python(tmp_path: Path) -> None:
    table = random_table(random.Random(3), 500)
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=70)
    groups: dict[str, Counter[str]] = defaultdict(Counter)
    for t, u in zip(table["t"].to_pylist(), table["u"].to_pylist(), strict=True):
        if t is not None and u is not None:
            groups[t][u] += 1
    with at(FEW_TEXTS=-1):
        found = told(str(tmp_path / "rows.parquet"), ["t -> u"], None)
    assert found["fewest"] == sum(each.total() - max(each.values()) for each in groups.values())


@pytest.mark.parametrize(("rows", "is_hashed"), [(4, False), (5, True)])
def test_texts_are_hashed_beyond_the_threshold(rows: int, *, is_hashed: bool) -> None:
    table = random_table(random.Random(1), rows)
    with (
        at(FEW_TEXTS=4),
        open_local_table(table, constraints="t -> u") as opened,
        opened.database.traced() as statements,
    ):
        opened.slice().close()
    assert any("row_hash" in each.sql and "INSERT" in each.sql for each in statements) == is_hashed


def test_what_does_not_fit_into_little_memory_works_again() -> None:
    with closing(Database()) as database:
        most = database.value("SELECT current_setting('memory_limit')")
        tried = []

        def work() -> str:
            tried.append(database.value("SELECT current_setting('memory_limit')"))
            if len(tried) == 1:
                raise OutOfMemoryError("too little")
            return "done"

        assert database.sparing(work) == "done"
        assert tried == ["640.0 MiB", most]
    with closing(Database(memory_limit="64MiB")) as database, pytest.raises(OutOfMemoryError):
        database.sparing(lambda: _fail(database))


def _fail(database: Database) -> None:
    assert database.value("SELECT current_setting('memory_limit')") == "64.0 MiB"
    raise OutOfMemoryError("too little")
