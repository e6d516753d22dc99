"""Suites of checks in a ledger: opened with one secret, recorded level by level, settled once, then forgotten."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from inside import file_of, state_of
from moving_clock import MovingClock
from test_ledger_head import change
from test_ledger_processes import drive
from text_reader import parse_where

from dpdb.errors import BudgetExceededError, LedgerError, ParameterError, PredicateError, SuiteEndedError
from dpdb.ledger import Ledger, SourceMark, SuiteReservation, open_to_read
from dpdb.ledger.log import leaf_text
from dpdb.ledger.store.file import LedgerFile

SUITES = Path(__file__).parent / "suite_driver.py"
SOURCE = SourceMark("table", "content")
LATER = SourceMark("table", "later content")
TENTH = 10**8
SECRET = "rho is 12345678901234567890"
SPEC = json.dumps({"limits": [0, 20], "epsilon": 8 * TENTH})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "t.ledger"
    Ledger.create(path, 1).close()
    return path


@pytest.fixture
def ledger(path: Path) -> Iterator[Ledger]:
    with Ledger.open(path) as ledger:
        yield ledger


def start(ledger: Ledger, run_id: str = "r", where: str = "", tenths: int = 8, **more: Any) -> SuiteReservation:
    """A run of a suite, whose lock is let go at once, as that of a process that is killed."""
    asked: dict[str, Any] = {"source": SOURCE, "request": '{"suite": "s"}', "spec": SPEC, "wait": 0.05}
    asked |= {"make_secret": lambda: SECRET, "run_id": run_id}
    run = ledger.checks.open_suite(parse_where(where), tenths * TENTH, **asked | more)
    run.close()
    return run


def nowhere(path: Path, *texts: bytes) -> bool:
    """Whether no file beside the ledger has a text."""
    return not any(text in each.read_bytes() for each in path.parent.iterdir() for text in texts if each.is_file())


def test_a_run_is_debited_whole_and_settled_at_what_its_levels_cost(path: Path, ledger: Ledger) -> None:
    run = start(ledger)
    assert (run.secret, run.levels, run.answer, run.spent, run.reserved) == (SECRET, {}, None, 0, 8 * TENTH)
    assert SECRET not in repr(run)
    assert ledger.spent_units() == 8 * TENTH
    with pytest.raises(LedgerError, match="no level of this run is recorded; it cannot end yet"):
        ledger.checks.end_suite(run, "{}")
    ledger.checks.record_level(run, 1, '{"quiet": 2}', spent=2 * TENTH)
    ledger.checks.record_level(run, 2, '{"rings": 1}', spent=3 * TENTH, failed=["zip"])
    assert ledger.spent_units() == 8 * TENTH, "the whole debit while it runs"
    for charge in (2 * TENTH, 9 * TENTH):
        with pytest.raises(LedgerError, match="at least what its levels do, and at most what was debited"):
            ledger.checks.end_suite(run, "{}", charge)
    ledger.checks.end_suite(run, '{"verdicts": []}')
    assert ledger.spent_units() == 3 * TENTH
    [entry] = ledger.history()
    assert (entry.charge, entry.debited, entry.run_id, entry.answer) == (0.3, 0.8, "r", [])
    [suite] = ledger.suites()
    assert (suite.run_id, suite.name, suite.runs, suite.reserved, suite.spent, suite.left) == (
        "r", None, 1, 8 * TENTH, 3 * TENTH, 0
    )  # fmt: skip
    assert [name for name, _ in suite.failed] == ["zip"]
    assert file_of(ledger).rows("SELECT salt, secret FROM suite_secret") == [(None, None)]
    assert nowhere(path, SECRET.encode())
    again = start(ledger, make_secret=lambda: "another")
    assert (again.answer, again.secret, again.levels) == (
        '{"verdicts": []}', "", {1: '{"quiet": 2}', 2: '{"rings": 1}'}
    )  # fmt: skip
    for late in (
        lambda: ledger.checks.record_level(run, 3, "{}", spent=3 * TENTH),
        lambda: ledger.checks.end_suite(run, "{}"),
    ):
        with pytest.raises(LedgerError, match="has an answer already; the new one is not published"):
            late()


def test_a_run_goes_on_with_its_secret_and_its_levels(path: Path) -> None:
    """In another process, as after a kill: the secret is drawn once, and a level is recorded once."""
    with Ledger.open(path) as ledger:
        ledger.checks.record_level(start(ledger), 1, '"one"', spent=TENTH)
    with Ledger.open(path) as ledger:
        run = start(ledger, make_secret=lambda: "another")
        assert (run.secret, dict(run.levels), run.spent) == (SECRET, {1: '"one"'}, TENTH)
        with pytest.raises(LedgerError, match="level 1 of this run is recorded already"):
            ledger.checks.record_level(run, 1, '"two"', spent=TENTH)
        for spent in (0, 9 * TENTH):
            with pytest.raises(LedgerError, match="a suite costs more with every level and at most what was debited"):
                ledger.checks.record_level(run, 2, '"two"', spent=spent)
        with pytest.raises(ParameterError, match="a level is a whole number from 1 on"):
            ledger.checks.record_level(run, 0, '"none"', spent=TENTH)
        with pytest.raises(ParameterError, match="a whole number of units"):
            ledger.checks.record_level(run, 2, '"two"', spent=0.1)  # type: ignore[arg-type]
        for other in ({"spec": "{}"}, {"request": "{}"}, {"analyst": "ann"}, {"where": "a = 1"}, {"tenths": 9}):
            with pytest.raises(LedgerError, match="run id 'r'"):
                start(ledger, **other)  # type: ignore[arg-type]
        assert ledger.spent_units() == 8 * TENTH
        ledger.checks.end_suite(run, "{}", 5 * TENTH)
        assert ledger.spent_units() == 5 * TENTH


def test_a_suite_of_no_row_is_refused_before_its_debit(ledger: Ledger) -> None:
    """It would be debited for nothing, and its verdicts are about rows."""
    with pytest.raises(PredicateError, match="selects no row"):
        start(ledger, where="a = 1 AND a = 2")
    assert (ledger.spent_units(), ledger.suites()) == (0, [])


def test_a_run_that_is_asked_again_forgets_what_a_killed_one_left_in_the_log(
    path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed after its end was committed: the secret is overwritten, and its old page is in SQLite's log still."""
    with monkeypatch.context() as killed:
        killed.setattr(LedgerFile, "truncate_log", lambda file: None)
        run = start(ledger)
        ledger.checks.record_level(run, 1, "{}", spent=TENTH)
        ledger.checks.end_suite(run, '{"verdicts": []}')
        assert not nowhere(path, SECRET.encode())
    assert start(ledger).answer == '{"verdicts": []}'
    assert nowhere(path, SECRET.encode())


def test_a_suite_and_a_release_do_not_share_a_run_id(ledger: Ledger) -> None:
    ledger.reserve(parse_where(""), TENTH, source=SOURCE, request='{"suite": "s"}', run_id="x").close()
    with pytest.raises(LedgerError, match="'x' was used for another request"):
        start(ledger, "x", tenths=1)
    run = start(ledger, tenths=1)
    with pytest.raises(LedgerError, match="debit 2 is of a suite of checks"):
        ledger.reserve(parse_where(""), TENTH, source=SOURCE, request='{"suite": "s"}', run_id="r")
    for act in (lambda: ledger.record(run, "[]"), lambda: ledger.settle("r", 0)):  # type: ignore[arg-type]
        with pytest.raises(LedgerError, match="debit 2 is of a suite of checks"):
            act()


def test_nothing_is_spent_where_no_suite_can_be_opened(path: Path, ledger: Ledger, tmp_path: Path) -> None:
    def fails() -> str:
        raise ParameterError("no noise")

    with pytest.raises(ParameterError, match="no noise"):
        start(ledger, make_secret=fails)
    with pytest.raises(BudgetExceededError):
        start(ledger, tenths=11)
    with pytest.raises(LedgerError, match="a kept suite is charged for every row"):
        start(ledger, name="nightly", where="a = 1")
    with pytest.raises(LedgerError, match="only the owner opens kept suites"):
        start(ledger, name="nightly", analyst="ann")
    assert (ledger.spent_units(), ledger.suites()) == (0, [])
    for notion, name, what in (("zcdp", "nightly", "kept suite"), ("gdp", None, "suite of checks")):
        with Ledger.create(tmp_path / f"{notion}.ledger", 1, notion) as other:
            with pytest.raises(LedgerError, match=f"a {notion} ledger takes no {what}"):
                start(other, name=name)
            assert other.spent_units() == 0
    with Ledger.create(tmp_path / "days.ledger", 1, append_only=True) as days:
        assert start(days, name="one day", where="a = 1").name == "one day"


def test_a_kept_suite_is_charged_whole_until_it_is_closed(path: Path, ledger: Ledger) -> None:
    first = start(ledger, "monday", name="nightly")
    ledger.checks.record_level(first, 1, '"quiet"', spent=2 * TENTH)
    with pytest.raises(ParameterError, match="settles nothing"):
        ledger.checks.end_suite(first, '"passed"', 2 * TENTH)
    ledger.checks.end_suite(first, '"passed"')
    with pytest.raises(LedgerError, match="has an answer already"):
        ledger.checks.end_suite(first, '"failed"')
    later = start(ledger, "tuesday", name="nightly", source=LATER, make_secret=lambda: "another")
    assert (later.secret, later.levels, later.spent, later.number) == (SECRET, {}, 2 * TENTH, first.number)
    ledger.checks.record_level(later, 1, '"rings"', spent=4 * TENTH, failed=["zip", "age"])
    assert start(ledger, "monday", name="nightly").answer == '"passed"'
    killed = start(ledger, "tuesday", name="nightly")
    assert (killed.levels, sorted(killed.failed)) == ({1: '"rings"'}, ["age", "zip"])
    with pytest.raises(LedgerError, match="check 'zip' failed before and was not re-armed"):
        ledger.checks.record_level(killed, 2, '"rings again"', spent=5 * TENTH, failed=["zip"])
    ledger.checks.end_suite(killed, '"failed"')
    assert ledger.spent_units() == 8 * TENTH
    suite = ledger.kept_suite("nightly")
    assert suite is not None
    assert (suite.runs, suite.reserved, suite.spent, suite.left) == (2, 8 * TENTH, 4 * TENTH, 4 * TENTH)
    levels = [(one.run_id, one.level, one.answer) for one in ledger.suite_levels(suite.number)]
    assert levels == [
        ("monday", 1, '"quiet"'), ("monday", 0, '"passed"'), ("tuesday", 1, '"rings"'), ("tuesday", 0, '"failed"')
    ]  # fmt: skip
    for _ in range(2):  # as after a kill
        ledger.owner.close_suite("nightly", who="bob")
        assert ledger.spent_units() == 4 * TENTH
        assert nowhere(path, SECRET.encode())
    with pytest.raises(SuiteEndedError, match="kept suite 'nightly' was closed on"):
        start(ledger, "wednesday", name="nightly")
    with pytest.raises(LedgerError, match="kept suite 'nightly' was closed on"):
        ledger.checks.record_level(later, 2, "", spent=4 * TENTH)
    assert start(ledger, "monday", name="nightly").answer == '"passed"'


def test_runs_of_a_kept_suite_are_one_askers_and_the_owner_reads_them_all(ledger: Ledger) -> None:
    """Of one that has its answer, and of one that was killed after a level."""
    start(ledger, name="nightly")
    asks = {"hers": "ann", "killed": "ann", "mine": None}
    for run_id, analyst in asks.items():
        run = start(ledger, run_id, name="nightly", analyst=analyst)
        ledger.checks.record_level(run, 1, '"quiet"', spent=TENTH)
        if run_id != "killed":
            ledger.checks.end_suite(run, f'"{run_id}"')
    for run_id, analyst in asks.items():
        for other in {"ann", "eve"} - {analyst}:
            with pytest.raises(LedgerError) as refused:
                start(ledger, run_id, name="nightly", analyst=other)
            assert str(refused.value) == (
                f"run id '{run_id}' was used under another name (--who, who=); run ids are one asker's"
            )
    assert start(ledger, "hers", name="nightly", analyst="ann").answer == '"hers"'
    assert start(ledger, "hers", name="nightly").answer == '"hers"'
    finished = start(ledger, "killed", name="nightly")
    ledger.checks.record_level(finished, 2, '"quiet"', spent=TENTH)
    ledger.checks.end_suite(finished, '"killed"')
    assert start(ledger, "killed", name="nightly", analyst="ann").answer == '"killed"'


def test_another_suite_under_a_kept_name_is_refused(ledger: Ledger) -> None:
    start(ledger, name="nightly")
    other = json.dumps({"limits": [0, 21], "epsilon": 8 * TENTH})
    for what, asked in (
        ("limits", {"spec": other}),
        ("epsilon", {"tenths": 7}),
        ("rows", {"where": "a = 1"}),
    ):
        with pytest.raises(LedgerError, match=f"'nightly' was opened with other {what}; ask for the same"):
            start(ledger, "later", name="nightly", **asked)  # type: ignore[arg-type]
    with pytest.raises(LedgerError, match="ledger of another table"):
        start(ledger, "later", name="nightly", source=SourceMark("other columns", "content"))
    with pytest.raises(LedgerError, match="this ledger counts for"):
        start(ledger, "later", name="nightly", source=SourceMark("table", "content", 3, "person"))
    assert ledger.spent_units() == 8 * TENTH


def test_a_failed_check_is_re_armed_for_nothing_or_for_a_debit_of_its_own(ledger: Ledger) -> None:
    run = start(ledger, name="nightly", tenths=4)
    with pytest.raises(LedgerError, match="'zip' of kept suite 'nightly' has not failed since it was armed"):
        ledger.owner.rearm("nightly", "zip")
    ledger.checks.record_level(run, 1, "", spent=2 * TENTH, failed=["zip"])
    ledger.checks.end_suite(run, "")
    ledger.owner.rearm("nightly", "zip", who="bob", label="fixed")
    with pytest.raises(LedgerError, match="has not failed since it was armed"):
        ledger.owner.rearm("nightly", "zip", TENTH)
    assert ledger.spent_units() == 4 * TENTH
    ledger.open_epoch()
    second = start(ledger, "second", name="nightly", tenths=4, source=LATER)
    assert second.failed == {}
    ledger.checks.record_level(second, 1, "", spent=4 * TENTH, failed=["zip"])
    ledger.checks.end_suite(second, "")
    with pytest.raises(BudgetExceededError):
        ledger.owner.rearm("nightly", "zip", 7 * TENTH)
    assert ledger.spent_units() == 4 * TENTH
    ledger.owner.rearm("nightly", "zip", 3 * TENTH)
    assert ledger.spent_units() == 7 * TENTH
    assert [line.epoch for line in ledger.lines()] == [1, 2]
    third = start(ledger, "third", name="nightly", tenths=4, source=LATER)
    assert third.reserved == 7 * TENTH
    ledger.checks.record_level(third, 1, "", spent=5 * TENTH, failed=["zip"])
    [suite] = ledger.suites()
    assert [name for name, _ in suite.rearmed] == ["zip", "zip"]
    ledger.owner.close_suite("nightly")
    assert [line.charge for line in ledger.lines()] == [4 * TENTH, TENTH]
    assert ledger.spent_units() == 5 * TENTH
    with pytest.raises(LedgerError, match="'nightly' was closed on"):
        ledger.owner.rearm("nightly", "zip")


def test_a_suite_of_a_closed_epoch_lowers_what_that_epoch_cost(path: Path) -> None:
    with Ledger.open(path) as ledger:
        run = start(ledger, name="nightly", tenths=4)
        found = ledger.reserve(parse_where("a = 1"), 2 * TENTH, source=SOURCE, request="{}", run_id="x")
        ledger.record(found, "[]")
        found.close()
        ledger.checks.record_level(run, 1, "", spent=TENTH)
        ledger.open_epoch()
        assert ledger.spent_units() == 6 * TENTH
        ledger.owner.close_suite("nightly")
        assert ledger.spent_units() == 3 * TENTH
    with Ledger.open(path) as ledger:
        assert ledger.spent_units() == 3 * TENTH


def test_the_owner_closes_a_run_that_nobody_finishes(path: Path, ledger: Ledger) -> None:
    run = start(ledger)
    ledger.checks.record_level(run, 1, "", spent=2 * TENTH)
    ledger.owner.close_suite("r")
    assert ledger.spent_units() == 2 * TENTH
    assert nowhere(path, SECRET.encode())
    with pytest.raises(SuiteEndedError, match="this run was closed on"):
        start(ledger)
    with pytest.raises(LedgerError, match="this run was closed on"):
        ledger.checks.end_suite(run, "{}")
    with pytest.raises(LedgerError, match="no kept suite 'other'"):
        ledger.owner.close_suite("other")


def test_a_held_run_is_named_to_the_owner_and_to_its_own_analyst(ledger: Ledger) -> None:
    start(ledger, analyst="ann")
    words = "epsilon 0.8 is held by run 'r'"
    for analyst in (None, "ann", "eve"):
        with pytest.raises(BudgetExceededError) as refused:
            ledger.reserve(parse_where("a = 1"), 5 * TENTH, source=SOURCE, request="{}", analyst=analyst)
        assert (words in str(refused.value)) == (analyst != "eve")
    start(ledger, name="nightly", tenths=1)
    with pytest.raises(BudgetExceededError, match=f"{words}, epsilon 0.1 is held by kept suite 'nightly'"):
        start(ledger, "other")


def test_a_kept_suite_does_not_run_behind_its_newest_line(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = MovingClock(monkeypatch)
    with Ledger.open(path) as ledger:
        clock.set(days=10)
        ledger.checks.record_level(start(ledger, name="nightly"), 1, "", spent=TENTH, failed=["zip"])
        clock.set(days=3)
        with pytest.raises(LedgerError, match="clock is behind the newest run of kept suite 'nightly'"):
            start(ledger, "later", name="nightly")
        ledger.owner.rearm("nightly", "zip")
        clock.set(days=11)
        start(ledger, "later", name="nightly")
        [suite] = ledger.suites()
        assert suite.failed == ()


def test_a_lost_secret_is_never_drawn_again(path: Path, ledger: Ledger) -> None:
    run = start(ledger, name="nightly")
    ledger.checks.record_level(run, 1, "", spent=TENTH)
    change(path, "UPDATE suite_secret SET secret = '7'")
    with pytest.raises(SuiteEndedError, match=r"the secret of suite 'nightly' is damaged, and it is never drawn again"):
        start(ledger, "later", name="nightly")
    ledger.owner.close_suite("nightly")
    assert ledger.spent_units() == TENTH


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE suite SET name = 'other'",
        "UPDATE suite SET spec = '{}'",
        "UPDATE suite_answer SET answer = replace(answer, '\"spent\": 1', '\"spent\": 0')",
        "DELETE FROM suite_answer",
        "DELETE FROM suite_act",
        "UPDATE suite_act SET detail = replace(detail, 'zip', 'age')",
    ],
)
def test_a_changed_line_is_noticed(statement: str, path: Path) -> None:
    with Ledger.open(path) as ledger:
        ledger.checks.record_level(start(ledger, name="nightly"), 1, "", spent=TENTH, failed=["zip"])
        ledger.owner.rearm("nightly", "zip")
    change(path, statement)
    with pytest.raises(LedgerError, match=r"is damaged|has lost its newest"):
        Ledger.open(path)


def test_a_level_that_was_changed_while_the_ledger_is_open_is_not_given_back(path: Path, ledger: Ledger) -> None:
    ledger.checks.record_level(start(ledger, name="nightly"), 1, "quiet", spent=TENTH)
    change(path, "UPDATE suite_answer SET answer = replace(answer, 'quiet', 'rings')")
    with pytest.raises(LedgerError, match="is damaged"):
        ledger.suite_levels(1)


def test_an_old_copy_is_noticed(path: Path, tmp_path: Path) -> None:
    """Of a kept suite whose levels were recorded since: its secret would be drawn again, or its answers again."""
    with Ledger.open(path) as ledger:
        run = start(ledger, name="nightly")
        ledger.close()
    shutil.copy(path, tmp_path / "old")
    with Ledger.open(path) as ledger:
        ledger.checks.record_level(run, 1, "", spent=TENTH)
    shutil.copy(tmp_path / "old", path)
    with pytest.raises(LedgerError, match="has lost its newest releases"):
        Ledger.open(path)


def test_an_act_of_a_later_version_is_not_ignored(path: Path) -> None:
    with Ledger.open(path) as ledger:
        ledger.checks.record_level(start(ledger, name="nightly"), 1, "", spent=TENTH, failed=["zip"])
        suites = state_of(ledger).suites
        from dpdb.ledger.store.suite_lines import SuiteActLine

        line = SuiteActLine(1, 1, "2026-11-23T10:00:00.000+00:00", "paused", "{}", None, state_of(ledger).next_place)
        row = suites.acts.row(line)
        file_of(ledger).change("INSERT INTO suite_act VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
    with pytest.raises(LedgerError, match="only a newer version of dpdb understands"):
        Ledger.open(path)


def test_public_hashes_and_readings_have_no_secret(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Ledger.open(path) as ledger:
        run = start(ledger, name="nightly")
        ledger.checks.record_level(run, 1, '"quiet"', spent=TENTH, failed=["zip"])
        ledger.checks.end_suite(run, '"passed"')
        ledger.owner.rearm("nightly", "zip", TENTH)
        key, [[salt]] = state_of(ledger).terms.key, file_of(ledger).rows("SELECT salt FROM suite_secret")
        found = ledger.leaves()
        assert len(found) == len(set(found)) == state_of(ledger).lines == 7
        texts = []
        for chain in ("suite", "suite_act", "suite_answer"):
            names = [str(name) for _, name, *_ in file_of(ledger).rows(f"PRAGMA table_info({chain})")]
            for row in file_of(ledger).rows(f"SELECT * FROM {chain}"):
                texts.append(leaf_text(key, chain, dict(zip(names, row, strict=True))))
        shown = [*texts, *map(repr, (ledger.history(), ledger.suites(), ledger.answers(), ledger.acts()))]
        assert isinstance(salt, bytes)
        assert not any(SECRET in text or salt.hex() in text for text in shown)
        assert not any("secret" in json.loads(text)["line"] for text in texts)
    with open_to_read(path) as reading:
        assert not hasattr(reading, "open_suite")


def test_a_retired_ledger_forgets_the_secrets_of_its_suites(path: Path, ledger: Ledger) -> None:
    run = start(ledger, name="nightly")
    ledger.checks.record_level(run, 1, "", spent=TENTH)
    ledger.checks.end_suite(run, '"passed"')
    ledger.owner.retire()
    assert nowhere(path, SECRET.encode())
    assert start(ledger, name="nightly").answer == '"passed"'
    for act in (lambda: start(ledger, "later", name="nightly"), lambda: ledger.owner.close_suite("nightly")):
        with pytest.raises(LedgerError, match="was retired"):
            act()
    assert ledger.spent_units() == 8 * TENTH


@pytest.mark.heavy(family="long")
def test_no_page_keeps_a_forgotten_secret(tmp_path: Path) -> None:
    """Secrets of many sizes, beside others that stay, closed in another order than they were opened."""
    path = tmp_path / "many.ledger"
    with Ledger.create(path, 100) as ledger:
        secrets = {f"run {n}": f"<secret {n}>" * (1 + n * n % 97 * (10 if n % 7 == 0 else 1)) for n in range(60)}
        for run_id, secret in secrets.items():
            run = start(ledger, run_id, tenths=1, make_secret=lambda secret=secret: secret)
            ledger.checks.record_level(run, 1, "x" * (len(run_id) * 50), spent=0)
        for number in sorted(range(60), key=lambda n: n * 23 % 60):
            ledger.owner.close_suite(f"run {number}")
            found = [n for n in range(60) if not nowhere(path, f"<secret {n}>".encode())]
            assert number not in found
        assert found == []


@pytest.mark.heavy(family="spending")
@pytest.mark.parametrize("number", [6, pytest.param(150, marks=pytest.mark.slow)])
def test_a_suite_killed_at_any_step_is_finished_with_its_secret(number: int, tmp_path: Path) -> None:
    """And then by two processes at once: one debit, nothing shown that is not recorded, settled once, forgotten."""
    Ledger.create(tmp_path / "t.ledger", 2).close()
    done = drive("runs", tmp_path / "t.ledger", tmp_path / "told", number, program=SUITES)
    assert done["kills"] >= number
    print(f"{done['kills']} kills over {number} suites")


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize("number", [4, pytest.param(70, marks=pytest.mark.slow)])
def test_a_kept_suite_killed_at_any_step_goes_on(number: int, tmp_path: Path) -> None:
    """Its opening, its runs (of two processes), re-armed checks and its closing."""
    Ledger.create(tmp_path / "t.ledger", 2).close()
    done = drive("kept", tmp_path / "t.ledger", tmp_path / "told", number, program=SUITES)
    assert done["kills"] >= 1.5 * number
    print(f"{done['kills']} kills over {2 * number} runs of a kept suite")
