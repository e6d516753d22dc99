"""Numbers that the owner buys for what a kept suite has left open: by an entry of their own, or for all that is left.

Without noise (`StubNoise`) two checks at their thresholds ring at the last level and one far above early: that leaves
just too little to test the others at the last level, and the most for numbers.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from killed import killed_at
from stub_noise import StubNoise

import dpdb
from dpdb.doors.cli.main import main
from dpdb.errors import LedgerError, ParameterError
from dpdb.ledger import Ledger
from dpdb.privacy import NANO
from dpdb.privacy.noise import replaced_noise
from dpdb.suites import CheckResults, TableSet, prepare_check
from dpdb.suites.numbers import recorded_numbers

DRIVER = Path(__file__).parent / "numbers_driver.py"
ROWS, CHECKS, CLOSE = 4_000, 18, 12
RULES = [f"not(t1.c{i} > 0)" for i in range(CHECKS)]
SUITE = "\n".join(f"r{i}: {rule}  fail above 0" for i, rule in enumerate(RULES))


def columns(seed: int = 1) -> dict[str, list[int]]:
    """Twelve columns with 300 bad rows, which are too many failures for epsilon 1, and six with twenty."""
    rng = np.random.default_rng(seed)
    found = {f"c{i}": np.zeros(ROWS, dtype=int) for i in range(CHECKS)}
    for i in range(CHECKS):
        found[f"c{i}"][rng.choice(ROWS, 300 if i < CLOSE else 20, replace=False)] = 1
    return {name: values.tolist() for name, values in found.items()}


TRUTH = [300] * CLOSE + [20] * (CHECKS - CLOSE)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    made(tmp_path)
    Ledger.create("t.ledger", 10).close()
    return tmp_path


def made(place: Path) -> None:
    pq.write_table(pa.table(columns()), place / "t.parquet")
    (place / "suite.txt").write_text(SUITE)
    (place / "rules.txt").write_text("\n".join(RULES))


def checked(
    source: str = "t.parquet", suite: str = "suite.txt", ledger: str = "t.ledger", **options: Any
) -> CheckResults:
    with dpdb.open(source, constraints="rules.txt", ledger=ledger) as session:
        return session.check(suite, **{"epsilon": 1, "keep": "nightly", **options})


def suite_of(ledger: str = "t.ledger", name: str | None = "nightly") -> Any:
    with Ledger.open(ledger) as opened:
        return next(each for each in opened.suites() if each.name == name)


def open_of(results: CheckResults) -> list[str]:
    return [each.name for each in results if each.verdict != "fail" and each.level < 23]


@pytest.mark.heavy(family="long")
@pytest.mark.usefixtures("folder")
def test_numbers_are_an_entry_of_their_own_and_the_suite_stays() -> None:
    """Each bound misses with 2% in all of a purchase: that four of four do has a chance below 2e-7."""
    alarm, held = checked(run_id="monday"), 0
    assert alarm.count("fail") >= 1
    before = suite_of()
    for run in range(4):
        bought = checked(run_id=f"buy {run}", numbers=0.5)
        assert [each.name for each in bought] == open_of(alarm)
        assert bought.count("undecided") == 0
        assert (bought.epsilon_reserved, bought.epsilon, bought.name) == (0.5, 0.5, None)
        [counted] = bought.capped
        assert counted.checks == len(bought)
        held += all((each.lower or 0) <= TRUTH[int(each.name[1:])] <= each.upper for each in bought)
        assert checked(run_id=f"buy {run}", numbers=0.5).to_dict() == bought.to_dict()
    assert held > 0
    assert suite_of() == before, "the purse of the suite and its failures are as they were"
    with Ledger.open("t.ledger") as ledger:
        assert ledger.summary().spent == 1 + 4 * 0.5
        own = [each for each in ledger.history() if each.run_id == "buy 0"]
        assert [(each.charge, each.answered, each.request["numbers_of"]) for each in own] == [(0.5, True, "nightly")]
    tuesday = checked(run_id="tuesday")
    assert {each.name for each in tuesday if each.since is not None} == {e.name for e in alarm if e.verdict == "fail"}


def close_table(place: Path = Path(), more: dict[str, list[int]] | None = None) -> dict[str, int]:
    """Write a table of which every check but three stays open; return its true counts."""
    with dpdb.open(place / "t.parquet", constraints=place / "rules.txt") as session:
        at = prepare_check(session, place / "suite.txt", keep="nightly").plan.thresholds[0]
    counts = {"c0": at, "c1": at, "c2": ROWS} | {f"c{i}": 20 for i in range(3, CHECKS)}
    pq.write_table(
        pa.table({k: [int(r < n) for r in range(ROWS)] for k, n in counts.items()} | (more or {})), place / "t.parquet"
    )
    return counts


@pytest.mark.usefixtures("folder")
def test_all_that_is_left_buys_numbers_and_closes_the_suite() -> None:
    counts = close_table()
    with replaced_noise(StubNoise()):
        alarm = checked(run_id="monday")
        assert open_of(alarm) == [f"r{i}" for i in range(3, CHECKS)]
        left = suite_of().left
        bought = checked(run_id="tuesday", numbers="left")
    assert [each.name for each in bought] == open_of(alarm)
    assert bought.count("undecided") == 0
    for each in bought:
        assert (each.lower or 0) <= counts[each.name.replace("r", "c")] <= each.upper
    [counted] = bought.capped
    assert counted.checks == CHECKS - 3
    suite = suite_of()
    assert suite.ended is not None
    with Ledger.open("t.ledger") as ledger:
        levels = ledger.suite_levels(suite.number)
        [drawn] = recorded_numbers(next(each.answer for each in levels if each.level == 24)) or []
        assert drawn.amount == left, "the price is all that was left"
        assert suite.spent == suite.reserved == NANO, "first share, rings and the price"
        assert ledger.summary().spent == bought.epsilon == 1
        assert ledger.summary().unanswered == 0
    assert checked(run_id="tuesday", numbers="left").to_dict() == bought.to_dict()
    assert checked(run_id="tuesday").to_dict() == bought.to_dict()
    with pytest.raises(LedgerError, match="was closed on"):
        checked(run_id="wednesday")
    with pytest.raises(ParameterError, match="was closed"):
        checked(run_id="thursday", numbers=0.5)


@pytest.mark.usefixtures("folder")
def test_what_a_check_was_re_armed_with_is_not_the_suites() -> None:
    """Money of its own that a re-armed check has not used stays unspent: the suite settles without it."""
    close_table()
    with replaced_noise(StubNoise()):
        checked(run_id="monday")
        left = suite_of().left
        close_table(more={"c0": [0] * ROWS})
        with Ledger.open("t.ledger") as ledger:
            ledger.owner.rearm("nightly", "r0", 4 * NANO // 10)
        bought = checked(run_id="tuesday", numbers="left")
    assert {each.name for each in bought} == {"r0"} | {f"r{i}" for i in range(3, CHECKS)}
    suite = suite_of()
    assert (suite.reserved, suite.spent) == (14 * NANO // 10, NANO)
    with Ledger.open("t.ledger") as ledger:
        [drawn] = recorded_numbers(next(e.answer for e in ledger.suite_levels(suite.number) if e.level == 24)) or []
        assert drawn.amount == left
        assert ledger.summary().spent == bought.epsilon == 1


@pytest.mark.usefixtures("folder")
def test_where_nothing_is_open_nothing_is_bought() -> None:
    pq.write_table(pa.table({f"c{i}": [0] * ROWS for i in range(CHECKS)}), "t.parquet")
    with replaced_noise(StubNoise()):
        first = checked(run_id="monday")
        assert open_of(first) == []
        for numbers in (0.5, "left"):
            with pytest.raises(ParameterError, match="run monday of 'nightly' has left no check on single rows open"):
                checked(run_id="buy", numbers=numbers)
    assert suite_of().ended is None
    with Ledger.open("t.ledger") as ledger:
        assert len(ledger.lines()) == 1


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"keep": None, "numbers": 1}, "give keep="),
        ({"numbers": 1}, "no run of a kept suite 'nightly' has ended"),
        ({"numbers": "left"}, "no run of a kept suite 'nightly' has ended"),
    ],
)
def test_numbers_need_a_kept_suite_that_has_run(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        checked(**options)
    with Ledger.open("t.ledger") as ledger:
        assert len(ledger.lines()) == 0


@pytest.mark.heavy
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("numbers", ["all", "0", "-1", "nan", ""])
def test_what_is_no_epsilon_buys_nothing(numbers: str) -> None:
    checked(run_id="monday")
    with pytest.raises(ParameterError, match="numbers"):
        checked(run_id="buy", numbers=numbers)
    with Ledger.open("t.ledger") as ledger:
        assert len(ledger.lines()) == 1


@pytest.mark.heavy
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("numbers", ["1e-9", "0.00000001"])
def test_what_cannot_be_split_is_refused_before_the_debit(numbers: str) -> None:
    """After it the run would fail for ever, by what all may know."""
    checked(run_id="monday")
    with pytest.raises(ParameterError, match=r"is too small for numbers of \d+ statistics"):
        checked(run_id="bought", numbers=numbers)
    with Ledger.open("t.ledger") as ledger:
        assert ledger.summary().spent == 1
    checked(run_id="bought", numbers="0.00000002")  # whatever its noise is, it is an answer


@pytest.mark.usefixtures("folder")
def test_a_suite_without_checks_on_single_rows_has_no_numbers() -> None:
    Path("rules.txt").write_text("c0 -> c1")
    checked(suite="fd: c0 -> c1  fail above 5000", run_id="monday")
    with pytest.raises(ParameterError, match="no check of 'nightly' is on single rows"):
        checked(suite="fd: c0 -> c1  fail above 5000", run_id="buy", numbers="left")


@pytest.mark.heavy(family="spending")
@pytest.mark.usefixtures("folder")
def test_a_killed_purchase_goes_on_with_what_it_was_was_opened_for() -> None:
    """A run of the suite in between leaves other checks open: the purchase is of those of its opening."""
    alarm = checked(run_id="monday")

    with killed_at("level drawn"):
        checked(run_id="buy", numbers=0.5)
    with Ledger.open("t.ledger") as ledger:
        for name, _ in suite_of().failed:
            ledger.owner.rearm("nightly", name)
    between = checked(run_id="tuesday")
    bought = checked(run_id="buy", numbers=0.5)
    assert [each.name for each in bought] == open_of(alarm)
    later = checked(run_id="later", numbers=0.25)
    assert [each.name for each in later] == open_of(between)
    with Ledger.open("t.ledger") as ledger:
        assert [each.charge for each in ledger.history() if each.run_id in ("buy", "later")] == [0.5, 0.25]


@pytest.mark.heavy(family="long")
@pytest.mark.usefixtures("folder")
def test_the_commands_say_what_is_bought_and_what_it_was(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["check", "t.parquet", "suite.txt", "--ledger", "t.ledger", "--keep", "nightly"]
    assert main([*asked, "--run-id", "monday"]) == 1
    said = capsys.readouterr().out
    assert (
        "--numbers E for an entry of its own, --numbers left for all that 'nightly' has left, which closes it." in said
    )
    assert main([*asked, "--numbers", "0.5", "--dry-run"]) == 0
    assert "epsilon 0.5 buys numbers for " in (said := capsys.readouterr().out)
    assert "that run monday of 'nightly' has left open" in said
    assert "the suite stays kept" in said
    assert main([*asked, "--numbers", "0.5", "--run-id", "buy"]) in (0, 1, 5)
    said = capsys.readouterr().out
    assert "Cost: epsilon 0.5 of 0.5." in said
    assert "k = " in said
    assert main(["budget", "history", "t.ledger"]) == 0
    assert "epsilon 0.5  numbers of kept suite nightly of every row, run id buy" in capsys.readouterr().out
    close_table()
    Ledger.create("u.ledger", 10).close()
    asked[asked.index("nightly")], asked[asked.index("t.ledger")] = "other", "u.ledger"
    with replaced_noise(StubNoise()):
        assert main([*asked, "--run-id", "one"]) == 1
        assert main([*asked, "--numbers", "left", "--dry-run"]) == 0
        assert "left open: all that the suite has left, which closes it" in capsys.readouterr().out
        assert main([*asked, "--numbers", "left", "--run-id", "two"]) in (0, 5)
    assert "'other' is closed, because all that it had left bought numbers: epsilon 1 of 1." in capsys.readouterr().out
    assert main(["budget", "suites", "u.ledger"]) == 0
    assert "other  closed on " in capsys.readouterr().out
    assert main(["budget", "history", "t.ledger", "--format", "json"]) == 0
    capsys.readouterr()
    assert main(["budget", "answers", "t.ledger", "--run-id", "buy"]) == 0
    assert "have a number" in capsys.readouterr().out


@pytest.mark.heavy
@pytest.mark.parametrize("numbers", [0.5, "left"])
def test_a_set_of_tables_buys_numbers_for_all_its_tables(tmp_path: Path, numbers: Any) -> None:
    tables, suites = tmp_path / "tables", tmp_path / "suites"
    tables.mkdir()
    suites.mkdir()
    Ledger.create(tmp_path / "t.ledger", 5).close()

    def write(counts: dict[str, int]) -> None:
        rows = {k: [int(r < counts.get(k, 20)) for r in range(ROWS)] for k in columns()}
        for name in ("one", "two"):
            own = rows if name == "one" else {k: [0] * ROWS for k in rows}
            people = [k // 2 for k in range(ROWS)]
            pq.write_table(pa.table({**own, "person_id": people}), tables / f"{name}.parquet")
            (suites / f"{name}.suite.txt").write_text(SUITE.replace("r", f"{name}_", 1))

    def check(run_id: str, **options: Any) -> CheckResults:
        with TableSet(tables, suites, unit="person_id", max_rows=2, ledger=tmp_path / "t.ledger") as opened:
            return opened.check(epsilon=1, keep="nightly", run_id=run_id, **options)

    write({})
    with TableSet(tables, suites, unit="person_id", max_rows=2, ledger=tmp_path / "t.ledger") as opened:
        at = opened.prepare(epsilon=1, keep="nightly").plan.thresholds[0]
    write({"c0": at, "c1": at, "c2": ROWS})
    with replaced_noise(StubNoise()):
        alarm = check("monday")
        bought = check("buy", numbers=numbers)
    assert len(open_of(alarm)) == 2 * CHECKS - 3
    assert bought.capped[0].unit == "unit"
    assert bought.capped[0].checks == 2 * CHECKS - 3
    assert [each.name for each in bought] == open_of(alarm)
    assert (suite_of(str(tmp_path / "t.ledger")).ended is not None) == (numbers == "left")


OPENING = ["asked:1", "begun:1", "secret written:1", "inserted:1"]
CASES = {  # steps, each for the nth time: of level 24 are the numbers of one run
    "once": [*OPENING, "reserved:1", "level drawn:24", "level written:24", "level recorded:24", "ending:1",
             "end written:1", "secret overwritten:1", "ended:1"],
    "own": [*OPENING, "reserved:1", "level drawn:1", "level written:1", "level recorded:1", "ending:1", "end written:1",
            "secret overwritten:1", "ended:1"],
    "left": ["level drawn:1", "end written:1", "secret overwritten:1", "ended:1"],
}  # fmt: skip
RECORDED = {"level recorded", "ending", "end written", "secret overwritten", "ended"}


def killed(place: Path, mode: str, cases: list[str]) -> Iterator[None]:
    made(place)
    if mode == "left":
        close_table(place)
    done = subprocess.run(
        [sys.executable, str(DRIVER), str(place), mode, *cases],
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
    )
    assert done.returncode == 0, done.stderr
    for case, one in json.loads(done.stdout).items():
        step = case.split(":")[0]
        assert one["ended"] == [-signal.SIGKILL, 0, 0], case
        first, again = one["said"]
        assert first == again, case
        before, after = one["numbers"]
        is_recorded = step in RECORDED and not (mode == "left" and step == "end written")
        assert len(before) == is_recorded, case
        assert len(after) == 1, case
        assert before in ([], after), "recorded numbers are shown, and no others"
        [drawn] = recorded_numbers(after[0]) or []
        assert drawn.most == first["capped"][0]["most"], case
        assert len(drawn.values) == first["capped"][0]["checks"], case
        assert one["debits"] == (2 if mode == "own" else 1), case
        assert one["open"] == {"once": [False], "own": [True, False], "left": [False]}[mode], case
        assert one["spent"] == {"once": 0.5, "own": 1.5, "left": one["settled"][0] / NANO}[mode], case
        yield


@pytest.mark.heavy(family="ends")
@pytest.mark.parametrize(
    ("mode", "cases"),
    [("once", ["level recorded:24", "end written:1"]), ("own", ["reserved:1", "level recorded:1"]),
     ("left", ["level drawn:1", "end written:1", "secret overwritten:1"])],
)  # fmt: skip
def test_runs_that_are_killed_around_their_numbers(tmp_path: Path, mode: str, cases: list[str]) -> None:
    assert len([*killed(tmp_path, mode, cases)]) == len(cases)


@pytest.mark.slow
@pytest.mark.parametrize("mode", list(CASES))
def test_runs_that_are_killed_at_each_step_around_their_numbers(tmp_path: Path, mode: str) -> None:
    assert len([*killed(tmp_path, mode, CASES[mode])]) == len(CASES[mode])


@pytest.mark.heavy
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("append_only", [True, False])
@pytest.mark.parametrize("units", [True, False])
@pytest.mark.parametrize("where", ["day = 1", None])
def test_numbers_with_units_and_with_a_condition(append_only: bool, units: bool, where: str | None) -> None:
    """Suites of some rows are kept in append-only ledgers, which count for rows: so a unit's suite is of all rows.

    What is bought is of the rows of the condition, and is charged for them.
    """
    close_table(more={"who": [k // 2 for k in range(ROWS)], "day": [1] * (ROWS - 4) + [2] * 4})
    Ledger.create("own.ledger", 10, append_only=append_only).close()
    settings = {"unit": "who", "max_rows": 2} if units else {}

    def check(run_id: str, **options: Any) -> CheckResults:
        with dpdb.open("t.parquet", constraints="rules.txt", ledger="own.ledger", **settings) as session:
            return session.check("suite.txt", epsilon=1, keep="day", run_id=run_id, where=where, **options)

    if (units and append_only) or (where is not None and not append_only):
        with pytest.raises(LedgerError, match="cannot count for values of who" if units and append_only else "of some"):
            check("monday")
        return
    with dpdb.open("t.parquet", constraints="rules.txt", **settings) as session:
        at = prepare_check(session, "suite.txt", keep="day").plan.thresholds[0]
    counts = {"c0": at, "c1": at, "c2": ROWS} | {f"c{i}": 20 for i in range(3, CHECKS)}
    made = {k: [int(r < n) for r in range(ROWS)] for k, n in counts.items()}
    pq.write_table(
        pa.table(made | {"who": [k // 2 for k in range(ROWS)], "day": [1] * (ROWS - 4) + [2] * 4}), "t.parquet"
    )
    with replaced_noise(StubNoise()):
        alarm, bought = check("monday"), check("buy", numbers=0.5)
    assert [each.name for each in bought] == open_of(alarm) != []
    assert all((each.lower or 0) <= 20 <= each.upper for each in bought)
    assert bought.epsilon == 0.5
    assert check("buy", numbers=0.5).to_dict() == bought.to_dict()
    with Ledger.open("own.ledger") as ledger:
        [entry] = [each for each in ledger.history() if each.run_id == "buy"]
        assert entry.charge == 0.5
        assert entry.rows == ("every row" if where is None else where)


@pytest.mark.heavy(family="long")
@pytest.mark.usefixtures("folder")
def test_numbers_are_bought_for_the_suite_that_is_kept_and_no_other() -> None:
    checked(run_id="monday")
    Path("other.txt").write_text(SUITE.replace("above 0", "above 10"))
    for options, other in (
        ({"suite": "other.txt"}, "rules or limits"),
        ({"where": "c0 = 1"}, "where"),
        ({"epsilon": 2}, "epsilon"),
    ):
        with pytest.raises(ParameterError, match=f"'nightly' was opened with other .*{other}"):
            checked(run_id="buy", numbers=0.5, **options)
    with Ledger.open("t.ledger") as ledger:
        assert len(ledger.lines()) == 1


@pytest.mark.usefixtures("folder")
def test_a_run_of_some_rows_of_units_says_why_no_numbers_follow(capsys: pytest.CaptureFixture[str]) -> None:
    close_table(more={"who": [k // 2 for k in range(ROWS)]})
    asked = ["check", "t.parquet", "suite.txt", "--unit", "who", "--max-rows", "2", "--dry-run"]
    assert main([*asked, "--where", "c0 = 1"]) == 0
    assert "no numbers follow: units have several rows" in (said := capsys.readouterr().out)
    assert "get numbers" not in said
    assert main(asked) == 0
    assert "18 checks on single rows get numbers" in (said := capsys.readouterr().out)
    assert "no numbers follow" not in said
