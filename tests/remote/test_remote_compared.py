"""Two tables compared, one or both of them in another engine: the numbers of our own, and its refusals."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from asked_there import AskedThere
from helpers_postgres import Server
from stub_noise import StubNoise

import dpdb
from dpdb.doors.cli.main import main
from dpdb.errors import BudgetExceededError, ParameterError
from dpdb.ledger import Ledger
from dpdb.owner.conformance.predicates import extreme_rows
from dpdb.privacy.noise import replaced_noise
from dpdb.remote import asking

pytestmark = pytest.mark.filterwarnings("ignore")  # of PySpark, pandas and py4j, which are not ours to mend

Sent = Callable[[pa.Table], tuple[Any, dict[str, Any]]]
QUESTIONS: list[dict[str, Any]] = [
    {"key": "h"},
    {"key": ["s", "b"], "each_column": True, "columns": ["x", "f", "i"]},
    {"key": ["x"], "columns": ["s", "z", "e"], "each_column": True},
    {"key": ["i", "c"], "where": "i > 0 AND c > '1970-01-01'"},
    {"key": "h", "unit": "h", "max_rows": 2, "where": "h <> 1"},
]


@pytest.fixture(params=["duckdb", "postgres", pytest.param("spark", marks=pytest.mark.slow)])
def sent(request: pytest.FixtureRequest) -> Sent:
    """Make rows a table of another engine; returns it with its settings."""
    if request.param == "duckdb":
        return lambda rows: (AskedThere(rows), {})
    if request.param == "spark":
        frame = request.getfixturevalue("spark").createDataFrame
        return lambda rows: (frame(rows), {})
    server: Server = request.getfixturevalue("postgres")
    return lambda rows: (server.address, {"table": server.holding(rows)})


def numbers(left: Any, right: Any, question: dict[str, Any], **settings: Any) -> list[float]:
    with replaced_noise(StubNoise()):
        return [release.value for release in dpdb.compare(left, right, **question | {"epsilon": 5} | settings)]


def sides(seed: int) -> tuple[pa.Table, pa.Table]:
    """Rows that both tables have, rows of one of them, and rows that one has twice.

    Without times that have no zone: a frame of Spark's has none.
    """
    rng = random.Random(seed)
    rows = extreme_rows(rng.randrange(1 << 30), count=40).drop_columns(["m"])
    chosen = [sorted(rng.choices(range(40), k=30)) for _ in range(2)]
    left, right = (rows.take(pa.array(places)) for places in chosen)
    return left, right


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize("seed", [1, 2])
def test_either_table_or_both_may_be_in_another_engine(seed: int, sent: Sent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "_PART_ROWS", 10)  # rows come in parts
    left, right = sides(seed)
    (there, of_left), (beside, of_right) = sent(left), sent(right)
    of_left = {f"left_{name}": value for name, value in of_left.items()} | {"left_gather_rows": 30}
    of_right = {f"right_{name}": value for name, value in of_right.items()} | {"right_gather_rows": 30}
    changed = set()
    for question in QUESTIONS:
        here = numbers(left, right, question)
        assert numbers(there, right, question, **of_left) == here, question
        assert numbers(left, beside, question, **of_right) == here, question
        assert numbers(there, beside, question, **of_left, **of_right) == here, question
        changed.update(here)
    assert len(changed) > 3


def test_rows_come_only_if_the_owner_has_said_how_many(sent: Sent) -> None:
    left, right = sides(3)
    there, settings = sent(left)
    of_left = {f"left_{name}": value for name, value in settings.items()}
    with pytest.raises(ParameterError, match=r"all rows that are compared come to this machine.*--gather-rows N"):
        numbers(there, right, {"key": "h"}, **of_left)


def test_a_dry_run_and_a_refusal_ask_for_no_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of another engine as well: both ledgers are debited before its rows come."""
    left, right = sides(4)
    pq.write_table(right, tmp_path / "r.parquet")
    for name in ("l", "r"):
        Ledger.create(tmp_path / f"{name}.ledger", 1).close()
    spent: list[list[float]] = []
    gathered = asking.fetched

    def looking(asked: asking.Asking, *args: Any, **named: Any) -> Any:
        if asked.sees_rows:
            found = []
            for name in ("l", "r"):
                with Ledger.open(tmp_path / f"{name}.ledger") as ledger:
                    found.append(ledger.summary().spent)
            spent.append(found)
        return gathered(asked, *args, **named)

    monkeypatch.setattr("dpdb.remote.opened.fetched", looking)
    ledgers = {"left_ledger": tmp_path / "l.ledger", "right_ledger": tmp_path / "r.ledger", "left_gather_rows": 30}
    source = AskedThere(left)
    dpdb.compare(source, tmp_path / "r.parquet", "h", 0.7, **ledgers)
    assert spent == [[0.7, 0.7]]
    with pytest.raises(BudgetExceededError):
        dpdb.compare(source, tmp_path / "r.parquet", "h", 0.7, **ledgers)
    assert spent == [[0.7, 0.7]]


@pytest.mark.heavy(family="long")
def test_suites_of_a_schema_compare_its_tables_and_debit_both_ledgers(
    postgres: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The verdicts are those of plain SQL there: 40 keys are lost, 25 have other rows, and every key is at most 600."""
    rows = pa.table({"id": range(600), "ward": ["a"] * 600})
    moved = pa.table({"pid": range(40, 600), "place": ["b" if each < 65 else "a" for each in range(40, 600)]})
    postgres.holding(rows, "old")
    postgres.holding(moved, "new")
    lost = "SELECT count(*) FROM old WHERE id NOT IN (SELECT pid FROM new)"
    assert postgres.asked(lost) == [(40,)]
    assert postgres.asked("SELECT count(*) FROM old JOIN new ON id = pid WHERE ward <> place") == [(25,)]
    (tmp_path / "suites").mkdir()
    (tmp_path / "suites" / "old.suite.txt").write_text(
        "lost: COMPARE new BY id = new.pid  fail above 30 keys missing right\n"
        "moved: COMPARE new BY id = new.pid COLUMNS ward = new.place  fail above 100 keys that differ\n"
    )
    for name in ("old", "new"):
        Ledger.create(tmp_path / f"{name}.ledger", 200).close()
    words = ["check", postgres.address, str(tmp_path / "suites"), "--epsilon", "100", "--ledger", str(tmp_path)]
    assert main([*words, "--quiet"]) == 2
    assert "--gather-rows N" in capsys.readouterr().err
    assert main([*words, "--gather-rows", "1000", "--quiet", "--format", "json"]) == 1
    found = json.loads(capsys.readouterr().out)["tables"]["old"]
    assert {one["name"]: one["verdict"] for one in found["checks"]} == {"lost": "fail", "moved": "pass"}
    assert found["checks"][0]["lower"] <= 40 <= found["checks"][0]["upper"]
    for name in ("old", "new"):
        with Ledger.open(tmp_path / f"{name}.ledger") as ledger:
            assert ledger.summary().spent == pytest.approx(found["epsilon"])
