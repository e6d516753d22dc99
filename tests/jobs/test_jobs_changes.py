"""An alarm names what changed since the run before, and what stands in one line."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpdb.doors.cli import main
from dpdb.doors.jobs.changes import Earlier, changed_words, earlier_run, key_of
from dpdb.ledger import Ledger
from dpdb.suites import CheckResult


def check(name: str, verdict: str, since: str | None = None, limit: int = 0) -> CheckResult:
    return CheckResult(
        name, "a -> b", verdict, "fail", limit, "above", "rows", "violations", 12, 40, 3, since,  # type: ignore[arg-type]
    )  # fmt: skip


def test_what_is_new_what_recovered_and_what_stands() -> None:
    was = [("a", "pass"), ("b", "fail"), ("c", "fail"), ("d", "not shown"), ("e", "not shown")]
    before = Earlier("mon", {key_of(check(name, "x")): verdict for name, verdict in was})
    checks = [check(*one) for one in [("a", "fail"), ("b", "pass"), ("c", "fail"), ("d", "not shown"), ("e", "pass"),
                                      ("f", "not shown")]]  # fmt: skip
    assert list(changed_words(checks, before)) == [
        "new: check failed: a: 12 to 40 rows (fail above 0)",
        "recovered: check passed: b: 12 to 40 rows (fail above 0)",
        "new: check not shown: f: 12 to 40 rows (fail above 0)",
        "unchanged since run mon: 1 failed, 1 not shown",
    ]
    assert list(changed_words([check("a", "pass")], None)) == []
    assert list(changed_words([check("a", "fail", since="2026-11-20"), check("b", "fail")], None)) == [
        "check failed: b: 12 to 40 rows (fail above 0)",
        "unchanged: 1 failed (what failed is not re-armed)",
    ]
    [line] = changed_words([check("a", "fail", limit=7)], before)  # another limit
    assert line.startswith("new: ")


def test_the_run_before_is_the_last_of_the_same_suite_and_no_later_day() -> None:
    def row(run_id: str, day: int, hour: int, **more: object) -> dict[str, object]:
        time = datetime(2026, 11, 20, hour, tzinfo=UTC)
        of_check = vars(check("a", "fail"))
        return {
            "job": "j",
            "suite": "s",
            "run_id": run_id,
            "day": date(2026, 11, day),
            "time": time,
            **of_check,
            **more,
        }

    rows = [row("one", 1, 1), row("two", 2, 9), row("late", 4, 2), row("other", 3, 1, suite="t"), row("me", 3, 3)]
    asked = {"run_id": "me", "at": (date(2026, 11, 3), datetime(2026, 11, 20, 3, tzinfo=UTC))}
    found = earlier_run(rows, "j", "s", **asked)  # type: ignore[arg-type]
    assert found == Earlier("two", {("a", "fail above 0", None): "fail"})
    assert earlier_run(rows[2:], "j", "s", **asked) is None  # type: ignore[arg-type]


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize("results", ["results", "results.duckdb"])
def test_a_suite_of_each_day_fails_on_its_day_and_recovers(
    results: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thousand rows a day; on the second all are wrong, far beyond any noise (below exp(-100))."""
    monkeypatch.chdir(tmp_path)
    days = [date(2026, 11, 1 + k // 1_000) for k in range(3_000)]
    pq.write_table(pa.table({"day": days, "qty": [-1 if one.day == 2 else 1 for one in days]}), "t.parquet")
    Path("daily.txt").write_text('"no debts": CHECK (qty > 0)  fail above 300\nrow_count  fail below 500\n')
    Path("j.toml").write_text(
        f'name = "j"\nsource = "t.parquet"\nledger = "t.ledger"\nresults = "{results}"\n'
        '[[check]]\nsuite = "daily.txt"\nepsilon = 1\nwhere = "day = {date}"\n'
    )
    Ledger.create("t.ledger", 1, append_only=True).close()

    def said(day: int) -> tuple[int, list[str]]:
        code = main(["run", "j.toml", "--run-id", f"2026-11-0{day}", "--quiet"])
        err = capsys.readouterr().err
        return code, [line.removeprefix("dpdb: ") for line in err.splitlines() if "daily: " in line]

    assert said(1) == (0, [])
    code, lines = said(2)
    assert code == 1
    assert [line.split(": no debts: ")[0] for line in lines] == ["daily: new: check failed"]
    assert said(2) == (code, lines)  # repeated, it says the same
    code, lines = said(3)
    assert code == 0
    assert [line.split(": no debts: ")[0] for line in lines] == ["daily: recovered: check passed"]
