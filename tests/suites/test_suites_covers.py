"""A fractional cover is a lower bound of the fewest rows to delete: upper ends and passes are true at twice it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from stub_noise import StubNoise
from suite_cases import count, share

import dpdb
from dpdb import suites
from dpdb.doors.cli.main import main
from dpdb.ledger import Ledger
from dpdb.privacy.noise import replaced_noise
from dpdb.suites import CheckResults, plan_suite

FAR = "not(t1.a!=t2.a&t1.b!=t2.b&t1.c!=t2.c)"


def fewest(rows: Sequence[tuple[int, ...]]) -> int:
    """Return the fewest rows to delete under `FAR`, by trying all sets: written apart from the engine."""
    edges = [
        (i, j)
        for i, j in itertools.combinations(range(len(rows)), 2)
        if all(x != y for x, y in zip(rows[i], rows[j], strict=True))
    ]
    for size in range(len(rows) + 1):
        for gone in itertools.combinations(range(len(rows)), size):
            if all(i in gone or j in gone for i, j in edges):
                return size
    raise AssertionError


def checked(rows: Sequence[tuple[int, ...]], suite: str, **options: object) -> CheckResults:
    table = pa.table({name: [row[place] for row in rows] for place, name in enumerate("abc")})
    with dpdb.open(table, constraints=FAR, row_bound=10_000) as session:
        return session.check(suite, epsilon=40, **options)


@pytest.mark.heavy(family="long")
@pytest.mark.usefixtures("in_folder")
def test_two_thousand_rows_of_which_all_but_one_must_go(capsys: pytest.CaptureFixture[str]) -> None:
    """tau* is 1,000 and 1,999 rows must go: this passed as `at most 1,535 rows`. False with a chance of 2%, at most."""
    rows = list(range(2_000))
    pq.write_table(pa.table({"a": rows, "b": rows, "c": rows}), "far.parquet")
    Path("far.txt").write_text(f"far: {FAR}  fail above 1500\n")
    asked = ["check", "far.parquet", "far.txt", "--row-bound", "2000", "--format", "json", "--quiet"]
    assert main(asked) == 5
    [check] = json.loads(capsys.readouterr().out)["checks"]
    assert (check["verdict"], check["statistic"]) == ("not shown", "fractional cover")
    assert check["upper"] >= 1_999
    assert check["within"] == check["upper"] - 1_500
    needed = str(int(check["within"]))  # of a quiet cover always the same: public
    assert main([*asked, "--within", str(int(needed) - 1)]) == 5
    assert json.loads(capsys.readouterr().out)["checks"][0]["verdict"] == "not shown"
    assert main([*asked, "--within", needed]) == 0
    capsys.readouterr()
    assert main(["check", "far.parquet", "far.txt", "--row-bound", "2000", "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert "far: tested by a fractional cover" in said
    assert f"passes with --within {needed}" in said


@pytest.fixture
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


TABLES = {
    "all far": [(k, k, k) for k in range(7)],
    "a triangle": [(0, 0, 0), (1, 1, 1), (2, 2, 2), (0, 9, 2)],
    "a star": [(0, 0, 0), *((1, 1, k) for k in range(1, 6))],
    "clean": [(0, k, k) for k in range(5)],
    "two triangles": [(k, k, k) for k in range(3)] + [(k, k, k) for k in range(3)],
}


@pytest.mark.heavy
@pytest.mark.parametrize("rows", TABLES.values(), ids=TABLES)
@pytest.mark.parametrize("certain", ["fail", "pass"])
@pytest.mark.parametrize("limit", ["1", "4", "6", "30%", "60%"])
def test_every_bound_and_pass_holds_of_the_fewest_rows(
    rows: Sequence[tuple[int, ...]], certain: str, limit: str
) -> None:
    """Without noise all bounds hold, so a false one would be a fault and no bad luck."""
    must_go = fewest(rows)
    with replaced_noise(StubNoise()):
        [check] = checked(rows, f"far: {FAR}  fail above {limit}", certain=certain)
    within = must_go - (int(limit) if limit.isdigit() else Fraction(limit[:-1]) * len(rows) / 100)
    measured = must_go if limit.isdigit() else within
    assert check.lower is None or check.lower <= measured
    assert check.upper is None or measured <= check.upper
    assert check.within is None or within <= check.within
    if check.verdict == "pass":
        assert within <= (check.asked or 0)
    if check.verdict == "fail" and certain == "fail":
        assert within > 0


def test_by_default_no_cover_passes_and_with_a_certain_pass_it_does() -> None:
    rows = [(k, k, k) for k in range(4)]
    suite = f"far: {FAR}  fail above 60"
    assert [each.verdict for each in checked(rows, suite)] == ["not shown"]
    assert [each.verdict for each in checked(rows, suite, certain="pass")] == ["pass"]
    assert [each.verdict for each in checked(rows, f"far: {FAR}  fail above 5", within=1e6)] == ["pass"]
    shares = checked(rows, f"far: {FAR}  fail above 90%", within=1e6)
    assert [(each.verdict, each.upper) for each in shares] == [("not shown", None)]  # 2 p n rows, and n is private


def test_a_cover_is_tested_against_half_its_limit_where_a_pass_is_certain() -> None:
    """f <= p' n with 2 p' <= p shows that 2 f <= p n; one unit of k rows moves f - p' n by -p' k to k (1 - p')."""
    tests = [
        count(limit=Fraction(1_001), halves=True),
        suites.Tested(Fraction(-3, 100), Fraction(297, 100), "above", Fraction(0), rate=Fraction(1, 100), halves=True),
        share(Fraction(1, 100)),
    ]
    plan = plan_suite(tests, 10**9, Fraction(99, 100), certain="pass")
    rows, part, other = plan.tests
    assert rows.limit == Fraction(1_001, 2)
    assert (part.rate, part.low, part.high) == (Fraction(1, 200), Fraction(-3, 200), Fraction(597, 200))
    assert other == tests[2]
    least = replace(tests[1], rate=Fraction(1, 10**6), low=-Fraction(3, 10**6), high=Fraction(3)).for_certain_pass()
    assert (least.rate, least.low, least.high) == (0, 0, 3)
    assert plan_suite(plan.tests, 10**9, Fraction(99, 100), certain="pass") == plan


@pytest.mark.heavy(family="long")
@pytest.mark.usefixtures("in_folder")
def test_a_suite_that_was_kept_before_goes_on_with_its_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """Passes were to be certain, and covers were tested against whole limits: so a quiet one is not shown to pass."""
    table = pa.table({name: list(range(400)) for name in "abc"})
    suite = f"far: {FAR}  fail above 500\nfew: row_count  fail above 5000\n"
    Ledger.create("t.ledger", 2).close()

    def run(**options: object) -> CheckResults:
        with dpdb.open(table, constraints=FAR, row_bound=1_000, ledger="t.ledger") as session:
            return session.check(suite, epsilon=1, certain="pass", keep="old", runs=4, **options)

    with monkeypatch.context() as patch:
        patch.setattr(suites.Tested, "for_certain_pass", lambda tested: tested)  # as it was
        run(run_id="monday")
    found = run(run_id="tuesday")
    assert [each.verdict for each in found] == ["not shown", "pass"]
    assert found[0].upper is not None
    assert found[0].upper >= 399
    assert run(run_id="wednesday", within=600).exit_code == 0
    with Ledger.open("t.ledger") as ledger:
        assert ledger.summary().spent == 1
        ledger.owner.close_suite("old")
        assert ledger.summary().spent == 0.25


@pytest.mark.usefixtures("in_folder")
def test_the_truth_stands_beside_each_limit(capsys: pytest.CaptureFixture[str]) -> None:
    """71 rows to delete are 71 here, however many pairs they are; all numbers are counted apart."""
    groups = [k // 10 for k in range(1_000)]
    city = [f"c{g}" if k % 10 or g >= 71 else "other" for k, g in enumerate(groups)]
    ages = [None if k < 100 else -1 if k < 140 else 7 for k in range(1_000)]
    pq.write_table(pa.table({"zip": groups, "city": city, "age": ages}), "t.parquet")
    Path("s.txt").write_text(
        "fd: zip -> city  warn above 70, fail above 71\nage: not(t1.age < 0)  fail above 4% of non-null\n"
        "many: row_count WHERE zip < 5  fail below 51\n"
    )
    asked = ["exact", "t.parquet", "--suite", "s.txt", "--format", "json"]
    assert main(asked) == 2
    assert "not private" in capsys.readouterr().err
    assert main([*asked, "--non-private"]) == 0
    found = json.loads(capsys.readouterr().out)["checks"]
    wanted = {"verdict": ["fail", "pass", "fail", "fail"], "value": [71, 71, 40, 50], "rows": [None, None, 900, None]}
    assert {name: [each[name] for each in found] for name in wanted} == wanted
    assert found[2]["share"] == 40 / 900
    assert main([*asked[:-2], "--non-private"]) == 0
    assert [line.split()[:3] for line in capsys.readouterr().out.splitlines()[2:]] == [
        ["WARN", "fd", "71"], ["pass", "fd", "71"], ["FAIL", "age", "40"], ["FAIL", "many", "50"],
    ]  # fmt: skip
    assert main([*asked, "--non-private", "--constraints", "zip -> city"]) == 2
    assert main(["exact", "t.parquet", "--non-private"]) == 2
