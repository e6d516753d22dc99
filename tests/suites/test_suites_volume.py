"""Checks that fail below their limits: a pass is certain, so what has not arrived never passes, an empty day least."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from simulated import most_allowed

import dpdb
from dpdb.ledger import Ledger
from dpdb.suites import CheckResults, Session

SURE = 0.9999999
"""Beta is 1e-7: every assertion below is wrong with at most that."""
WAYS = {
    "levels": {"epsilon": 1},
    "levels of a kept suite": {"epsilon": 1, "keep": "daily", "runs": 3},
    "numbers": {"epsilon": 1, "sizes": True},
    "worst first": {"rho": 0.5},
    "numbers in rho": {"rho": 0.5, "sizes": True},
    "a certain pass of all": {"epsilon": 1, "certain": "pass"},
}


def rows(count: int) -> pa.Table:
    return pa.table({"id": pa.array(range(count), pa.int64())})


def checked(folder: Path, count: int, suite: str, way: dict[str, object]) -> CheckResults:
    notion = "zcdp" if "rho" in way else "pure"
    name = f"{len(list(folder.iterdir()))}.ledger"
    Ledger.create(folder / name, 2, notion=notion, **({"delta": 1e-6} if notion == "zcdp" else {})).close()
    with Session(rows(count), ledger=folder / name) as session:
        return session.check(suite, confidence=SURE, **way)


@pytest.mark.heavy
@pytest.mark.parametrize("way", WAYS)
def test_an_empty_day_fails_and_a_full_one_passes(tmp_path: Path, way: str) -> None:
    suite = "row_count  fail below 1\nid: row_count WHERE id >= 0  warn below 1\n"
    empty = checked(tmp_path, 0, suite, WAYS[way])
    assert [check.verdict for check in empty] == ["fail", "fail"]
    assert empty.exit_code == 1
    full = checked(tmp_path, 1000, suite, WAYS[way])
    assert [check.verdict for check in full] == ["pass", "pass"]
    assert all(1 <= check.lower <= 1000 for check in full)  # type: ignore[operator]
    assert "no count passed below its limit" in full.certainty or way == "a certain pass of all"


@pytest.mark.heavy
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("count", [29, 20])
def test_one_row_too_few_never_passes(tmp_path: Path, way: str, count: int) -> None:
    [found] = checked(tmp_path, count, "row_count  fail below 30\n", WAYS[way])
    assert found.verdict == "fail"


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize("runs", [100, pytest.param(400, marks=pytest.mark.slow)])
def test_no_pass_is_wrong_more_often_than_said(runs: int) -> None:
    """Runs at beta .2, one row below the limit: more passes than allowed have a chance below 1e-6."""
    with Session(rows(49), budget=1000) as session:
        passed = sum(
            session.check("row_count  fail below 50\n", 1, confidence=0.8)[0].verdict == "pass" for _ in range(runs)
        )
    assert passed <= most_allowed(runs, 0.2)


def test_margins_of_the_plan_are_told_and_kept(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    from dpdb.doors.cli.main import main

    (tmp_path / "s.txt").write_text("row_count  fail below 1\n")
    assert main(["plan", "--suite", str(tmp_path / "s.txt"), "--rows", "100"]) == 0
    said = capsys.readouterr().out
    assert "a count passes only where it is shown, surely with 36 rows above its limit" in said
    assert "no check within its limit fails" not in said


def test_rules_beside_fail_as_before() -> None:
    table = pa.table({"id": range(400), "bad": [1] * 400})
    found = dpdb.check(table, "bad < 1\ngood: id >= 0\nrow_count  fail below 1\n", 2, confidence=SURE)
    assert [check.verdict for check in found] == ["fail", "pass", "pass"]
    assert "no rule failed within its limit" in found.certainty
