"""Kept suites on a real ledger: what is charged for rings, re-armed checks, later runs and their limits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from killed import killed_at
from stub_noise import StubNoise

import dpdb
from dpdb.doors.cli.main import main
from dpdb.doors.cli.texts import checks_text
from dpdb.engine.table import LocalTable
from dpdb.errors import LedgerError, ParameterError
from dpdb.ledger import Ledger
from dpdb.privacy import NANO
from dpdb.privacy.noise import replaced_noise
from dpdb.release.statistics import PrivateSlices
from dpdb.suites import CheckResults, LevelVerdicts, SuitePlan, check as one_run, load_suite, prepare_check, run_check
from dpdb.suites.check import recorded_verdicts
from dpdb.suites.counted import CountedSuite
from dpdb.suites.mechanism.levels import run_level

ROWS = 400
SUITE = "plain: zip -> city\nkey: UNIQUE(id)\nfew: row_count  fail below 300\n"
Options = dict[str, object]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A table with 200 rows to delete for `plain`, none for the others; without noise, so that verdicts are certain."""
    monkeypatch.chdir(tmp_path)
    write_table()
    Ledger.create("t.ledger", 5).close()
    with replaced_noise(StubNoise()):
        yield tmp_path


def write_table(dirty: int = ROWS) -> None:
    row = range(ROWS)
    city = [f"c{k % 2 * (k < dirty)}" for k in row]
    pq.write_table(pa.table({"id": list(row), "zip": [k // 2 for k in row], "city": city}), "t.parquet")


def session(suite: str = SUITE, ledger: str | None = "t.ledger", **options: object) -> dpdb.Session:
    rules = [line.rule for line in load_suite(suite).lines if line.rule is not None]
    return dpdb.open("t.parquet", constraints=rules or None, ledger=ledger, **options)


def check(suite: str = SUITE, **options: object) -> CheckResults:
    with session(suite) as opened:
        return opened.check(suite, **{"epsilon": 1, **options})


def kept(run_id: str | None = None, **options: object) -> CheckResults:
    return check(keep="nightly", run_id=run_id, **options)


def plan(suite: str = SUITE, **options: object) -> SuitePlan:
    with session(suite, None) as opened:
        return prepare_check(opened, suite, **options).plan


def found(results: CheckResults) -> dict[str, str]:
    return {check.name if check.key is None else f"{check.name} {check.key}": check.verdict for check in results}


def recorded(number: int = 1) -> list[list[LevelVerdicts]]:
    with Ledger.open("t.ledger") as ledger:
        return [recorded_verdicts(one.answer)[0] for one in ledger.suite_levels(number) if one.level]


def budget() -> float:
    with Ledger.open("t.ledger") as ledger:
        return ledger.summary().spent


def killed_run(run_id: str, levels: int = 2, **options: object) -> None:
    """Run a suite that dies once so many levels are recorded."""
    with killed_at("level recorded", levels - 1):
        check(run_id=run_id, **options)


@pytest.mark.heavy(family="spending")
def test_rings_that_a_re_arm_paid_are_settled_too() -> None:
    made = plan(keep="nightly")
    assert found(kept("monday")) == {"plain": "fail", "key": "pass", "few": "pass"}
    for run_id, own in (("tuesday", 3 * 10**8), ("wednesday", None)):
        with Ledger.open("t.ledger") as ledger:
            ledger.owner.rearm("nightly", "plain", own)
        assert found(kept(run_id))["plain"] == "fail"
    rings = [made.ring_cost(test, one.level) for [one] in recorded() for test in one.rings]
    assert len(rings) == 3
    with Ledger.open("t.ledger") as ledger:
        assert ledger.summary().spent == 1.3
        ledger.owner.close_suite("nightly")
        assert ledger.summary().spent == (made.first_share + sum(rings)) / NANO


@pytest.mark.heavy(family="long")
def test_a_statistic_that_is_counted_otherwise_elsewhere_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without closed forms the lattice is one of halves, on which the same hidden thresholds are half as many rows."""
    kept("monday")
    killed_run("tuesday")
    spent = budget()
    monkeypatch.setattr(LocalTable, "exact_statistic", lambda *_, **__: None)
    with pytest.raises(LedgerError, match=r"'nightly' was opened with other rules or limits, mechanism;"):
        kept("wednesday")
    with pytest.raises(LedgerError, match="'tuesday' was used for another request"):
        check(run_id="tuesday")
    assert budget() == spent


def test_too_little_epsilon_for_a_re_arm_is_refused_and_bricks_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    kept("monday")
    assert main(["budget", "rearm", "t.ledger", "nightly", "plain", "--epsilon", "0.01"]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "dpdb: epsilon 0.01 is too little: a failure may cost 0.25; give at least that, or none, so that the suite "
        "pays; nothing was spent"
    ]
    assert budget() == 1
    with Ledger.open("t.ledger") as ledger:  # as an owner's own program
        ledger.owner.rearm("nightly", "plain", 10**7)
    assert found(kept("tuesday"))["plain"] == "fail"
    assert budget() == 1.01
    with Ledger.open("t.ledger") as ledger:
        suite = ledger.kept_suite("nightly")
        assert suite is not None
        assert suite.reserved - suite.spent == suite.left == 10**9 * 1.01 - suite.spent


def test_rows_are_read_once_a_run_and_never_taken_from_an_earlier_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A prepared run that was stopped and is run again, as `dp_check` does."""
    calls: list[str] = []
    for owner, name in ((CountedSuite, "counts"), (PrivateSlices, "forgotten_if_unpublished")):
        real = getattr(owner, name)
        monkeypatch.setattr(
            owner, name, lambda *args, real=real, name=name, **more: calls.append(name) or real(*args, **more)
        )
    one_reading = ["forgotten_if_unpublished", "counts"]
    levels: list[int] = []
    monkeypatch.setattr(one_run, "run_level", lambda *args, **more: levels.append(args[2]) or run_level(*args, **more))
    with session() as opened:
        run = prepare_check(opened, SUITE, run_id="monday")
        with killed_at("level recorded", 2):
            run_check(opened, run)
        assert calls == one_reading
        assert found(run_check(opened, run))["plain"] == "fail"
        assert calls == 2 * one_reading
    assert levels == [*range(1, 24)]  # those of both runs of the program, none twice


@pytest.mark.heavy(family="spending")
def test_rows_are_counted_once_for_all_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """And exactly what is counted is rehearsed before the debit."""
    asked: dict[str, list[list[object]]] = {"counts": [], "rehearse": []}
    for owner, name in ((PrivateSlices, "counts"), (LocalTable, "rehearse")):
        real = getattr(owner, name)

        def spy(self: object, predicates: list[object], *, real: object = real, name: str = name, **more: object):
            asked[name].append([None if one is None else one.text for one in predicates])
            return real(self, predicates, **more)

        monkeypatch.setattr(owner, name, spy)
    rules = "".join(f"r{k}: not(t1.id < {k})  warn above 1%, fail above 10%\n" for k in range(50))
    shares = "known: not(t1.city < 'c')  warn above 1% of non-null, fail above 5% of non-null\n"
    check(rules + shares + "all: row_count  fail below 300\nsome: row_count WHERE id < 50  fail below 300\n")
    assert asked["counts"] == asked["rehearse"] == [[None, 'NOT "city" IS NULL', "id < 50"]]
    check(rules + shares, where="id < 200")
    assert asked["counts"][1:] == [["id < 200", '(id < 200) AND (NOT "city" IS NULL)']]
    check("plain: zip -> city")
    assert asked["counts"][2:] == []


def test_a_run_that_is_finished_on_other_rows_bounds_those_alone() -> None:
    """Quiet at 21 levels with no row to delete, where 200 would have rung; then a ring with those 200."""
    write_table(dirty=0)
    kept("monday")
    killed_run("tuesday", levels=21, keep="nightly")
    write_table()
    finished = kept("tuesday")
    plain = finished[0]
    assert (plain.verdict, plain.level) == ("fail", 22)
    assert plain.lower is not None
    assert plain.upper is not None
    assert plain.lower <= 200 <= plain.upper
    assert [check.upper for check in finished[1:]] == [check.upper for check in kept("wednesday")[1:]]


@pytest.mark.heavy(family="long")
def test_a_check_re_armed_while_its_run_is_held_is_tested_by_the_rest_of_it() -> None:
    made = plan(keep="nightly")
    killed_run("monday", levels=22, keep="nightly")
    with Ledger.open("t.ledger") as ledger:
        ledger.owner.rearm("nightly", "plain", 3 * 10**8)
    finished = kept("monday")
    assert [(check.verdict, check.level) for check in finished] == [("fail", 23), ("pass", 23), ("pass", 23)]
    assert (finished.epsilon_reserved, finished.epsilon) == (1.3, 1.3)
    rings = [made.ring_cost(test, one.level) for [one] in recorded() for test in one.rings]
    assert len(rings) == 2
    with Ledger.open("t.ledger") as ledger:
        ledger.owner.close_suite("nightly")
        assert ledger.summary().spent == (made.first_share + sum(rings)) / NANO


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("certain", "before", "after"),
    [
        ("fail", "none failed within its limit", "the bounds of what passed hold"),
        ("pass", "none passed beyond its limit", "none passed beyond its limit"),
    ],
)
def test_after_its_runs_a_kept_suite_says_that_only_passes_are_as_sure(certain: str, before: str, after: str) -> None:
    suite = "plain: zip -> city  fail above 50\nkey: UNIQUE(id)  fail above 50\n"
    asked = {"keep": "nightly", "runs": 2, "certain": certain}
    results = [check(suite, run_id=run_id, **asked) for run_id in ("one", "two", "three")]
    assert [(each.to_dict()["run"], each.to_dict()["runs"]) for each in results] == [(1, 2), (2, 2), (3, 2)]
    planned = f"With 99% {before}; with 98% all numbers hold, too."
    later = "This was run 3 of 2 that were planned: by now a check may fail within its limit. "
    later += f"With 99% {after}; with 97% all numbers hold, too."
    assert [each.certainty for each in results] == [planned, planned, later]
    for each in results:
        assert each.certainty in checks_text(each)
        assert each.certainty in each._repr_html_()
    again = check(suite, run_id="three", **asked)
    assert (again.to_dict(), again.certainty) == (results[2].to_dict(), later)
    assert again.to_arrow().column("run").to_pylist() == [3, 3]


# -- slices ---------------------------------------------------------------------------------------------------


BY = {"by": "city", "keys": ["c0", "c1"]}
SLICED = "even: not(t1.id % 2 = 0)\nlow: not(t1.id < 100)\n"


@pytest.mark.heavy(family="long")
def test_a_check_fails_in_two_slices_at_different_levels() -> None:
    """200 even rows in one slice; of the 100 low ones 50 in each, so that the second check fails in both at a level."""
    results = check(SLICED, run_id="whole", **BY)
    assert found(results) == {"even c0": "fail", "low c0": "fail", "even c1": "pass", "low c1": "fail"}
    uneven = "low: not(t1.id < 50 OR t1.id % 2 = 0)"
    rings = {}
    results = check(uneven, run_id="uneven", **BY)
    for levels in recorded(2):
        rings |= {key: one.level for key, one in enumerate(levels) if one.rings}
    assert len(set(rings.values())) == 2
    killed_run("killed", levels=rings[0], suite=uneven, **BY)
    again = check(uneven, run_id="killed", **BY)
    assert [(one.verdict, one.level) for one in again] == [(one.verdict, one.level) for one in results]
    with Ledger.open("t.ledger") as ledger:
        assert {name for name, _ in ledger.suites()[0].failed} == {"even [c0]", "low [c0]", "low [c1]"}
        assert {name for name, _ in ledger.suites()[2].failed} == {"low [c0]", "low [c1]"}
    with pytest.raises(ParameterError, match="a kept suite has no slices"):
        kept(**BY)


@pytest.mark.parametrize(
    ("suite", "options", "name"),
    [
        ('a: UNIQUE(id)  warn above 0, fail above 3\n"a (warn)": UNIQUE(zip)\n', {}, "a (warn)"),
        ('a: UNIQUE(id)\n"a [c0]": UNIQUE(zip)\n', {"by": "city", "keys": ["c0", "c0] [c0"]}, "a [c0] [c0]"),
    ],
)
def test_checks_that_a_ledger_could_not_tell_apart_are_refused(suite: str, options: Options, name: str) -> None:
    words = f"two checks would be called '{name}', as a line with two limits and a slice are; name one otherwise"
    with pytest.raises(ParameterError) as refused:
        check(suite, **options)
    assert str(refused.value) == words
    assert budget() == 0


DATED = (
    "ofrules: zip -> city WHERE day = {date}  fail above 300",
    "ofrows: row_count WHERE day = {date}  fail below 10",
    "ofboth: zip -> city, id WHERE day = {date}  fail above 300",
    "share: CHECK (id >= 0) WHERE day = {date}  fail above 50% of selected",
)


@pytest.mark.heavy
@pytest.mark.parametrize("line", DATED)
def test_a_kept_suite_about_a_day_says_so_at_once_and_on_every_other_day(
    line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    days = pa.array(["2026-11-09", "2026-11-10"] * (ROWS // 2)).cast(pa.date32())
    pq.write_table(pq.read_table("t.parquet").append_column("day", days), "t.parquet")
    Path("suite.txt").write_text(line + "\n")
    command = ["check", "t.parquet", "suite.txt", "--ledger", "t.ledger", "--keep", "daily", "--date"]
    names = []
    for _ in range(2):  # of one day it goes on
        assert main([*command, "2026-11-09"]) == 0
        out, _ = capsys.readouterr()
        assert "Kept as 'daily', for this {date} alone (other days are other rules): epsilon 1 stays reserved" in out
        assert "2026" not in out  # a check has one name on all days
        names.append(out.splitlines()[1])
    spent = budget()
    for numbers in ([], ["--numbers", "0.5"]):
        assert main([*command, "2026-11-10", *numbers]) == 2
        _, err = capsys.readouterr()
        assert (
            "kept suite 'daily' was opened for another day: its rules have {date}, and one name keeps the rules of one "
            "day; ask for that day, or check each day in a run of its own that is not kept, or keep rules without "
            "{date}"
        ) in err
        assert "nothing was spent" in err
    assert budget() == spent
    Path("suite.txt").write_text(line.replace("fail", "warn") + "\n")
    assert main([*command, "2026-11-10"]) == 2  # not only the day differs
    assert "was opened with other rules or limits; ask for the same" in capsys.readouterr().err


def test_a_text_in_quotes_is_no_place_for_a_day() -> None:
    """Nor is what only looks like the day: the rule's own text stays."""
    suite = load_suite("zip -> city, id WHERE note = '2026-11-09' AND day = {date}", date="2026-11-09")
    texts = [each.text for each in suite.lines]
    assert texts == [f"zip -> {name} WHERE note = '2026-11-09' AND day = {{date}}" for name in ("city", "id")]
