"""Allowances: at most so much within a period, for all processes, whatever the clock does; nothing expires."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from moving_clock import START, MovingClock
from test_ledger_head import change
from test_ledger_processes import drive
from text_reader import parse_where

from dpdb.errors import BudgetExceededError, LedgerError, ParameterError
from dpdb.ledger import Ledger, SourceMark
from dpdb.ledger.books import Books
from dpdb.ledger.store.head import create_file
from dpdb.ledger.store.periods import parse_period
from dpdb.overlap import maximum_overlap

SOURCE = SourceMark("table", "content")
TENTH = 10**8


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> MovingClock:
    return MovingClock(monkeypatch)


@pytest.fixture
def path(tmp_path: Path, clock: MovingClock) -> Path:
    """A ledger of 3 with 1 within any 30 days."""
    with Ledger.create(tmp_path / "t.ledger", 3) as ledger:
        ledger.owner.allow("30d", 1)
    return tmp_path / "t.ledger"


def spend(path: Path, tenths: int, where: str = "", source: SourceMark = SOURCE) -> bool:
    with Ledger.open(path) as ledger:
        try:
            ledger.reserve(parse_where(where), tenths * TENTH, source=source, request="{}")
        except BudgetExceededError:
            return False
        return True


def test_an_allowance_refuses_says_when_it_fits_again_and_gives_nothing_back(path: Path, clock: MovingClock) -> None:
    assert spend(path, 4)
    clock.set(days=10)
    assert spend(path, 6)
    with Ledger.open(path) as ledger, pytest.raises(BudgetExceededError) as caught:
        ledger.reserve(parse_where(""), 3 * TENTH, source=SOURCE, request="{}")
    assert (caught.value.exit_code, caught.value.requested, caught.value.remaining) == (4, 0.3, 0.0)
    assert "of the allowance of 1 within any 30 days 0 is left" in str(caught.value)
    assert "it fits from 2026-12-22 12:00:01 UTC on" in str(caught.value)
    clock.set(days=30)  # a debit of exactly 30 days ago still counts
    assert not spend(path, 3)
    clock.set(days=30, milliseconds=1)
    assert spend(path, 4)
    assert not spend(path, 1)
    with Ledger.open(path) as ledger:
        found = ledger.summary()
    assert (found.spent, found.allowances[0].spent, found.may_cost) == (1.4, 1.0, 0.0)


@pytest.mark.parametrize("milliseconds", [0, 1, 700, 999])
@pytest.mark.parametrize("period", ["1h", "month", "2026-11-22..2026-11-23"])
def test_a_charge_fits_when_its_refusal_said(
    period: str, milliseconds: int, tmp_path: Path, clock: MovingClock
) -> None:
    path = tmp_path / "t.ledger"
    Ledger.create(path, 3, per=period, at_most=1).close()
    clock.set(milliseconds=milliseconds)
    assert spend(path, 10)
    with Ledger.open(path) as ledger, pytest.raises(BudgetExceededError) as caught:
        ledger.reserve(parse_where(""), TENTH, source=SOURCE, request="{}")
    said = datetime.fromisoformat(str(caught.value).partition(" fits from ")[2].partition(" UTC")[0])
    clock.time = said.replace(tzinfo=UTC) - timedelta(seconds=1)
    assert not spend(path, 1)
    clock.time += timedelta(seconds=1)
    assert spend(path, 1)


def test_the_total_holds_beside_the_allowance(path: Path, clock: MovingClock) -> None:
    allowed = 0
    for month in range(5):
        clock.set(days=31 * month)
        allowed += spend(path, 10)
    assert allowed == 3


def test_a_charge_above_the_allowance_fits_never(path: Path) -> None:
    with Ledger.open(path) as ledger, pytest.raises(BudgetExceededError, match="no period takes so much"):
        ledger.reserve(parse_where(""), 11 * TENTH, source=SOURCE, request="{}")


def test_a_charge_above_an_allowance_between_dates_fits_afterwards(tmp_path: Path, clock: MovingClock) -> None:
    path = tmp_path / "t.ledger"
    Ledger.create(path, 3, per="2026-11-22..2026-11-23", at_most=1).close()
    with Ledger.open(path) as ledger, pytest.raises(BudgetExceededError, match="it fits from 2026-11-24 00:00:00 UTC"):
        ledger.reserve(parse_where(""), 11 * TENTH, source=SOURCE, request="{}")
    clock.set(days=1.5)
    assert spend(path, 11)


def test_disjoint_rows_share_an_allowance_and_epochs_add_up(path: Path, clock: MovingClock) -> None:
    assert spend(path, 10, "a = 1")
    assert spend(path, 10, "a = 2")
    assert not spend(path, 1, "a < 5")
    with Ledger.open(path) as ledger:
        ledger.open_epoch()
    assert not spend(path, 1, "a = 3", SourceMark("table", "changed"))
    clock.set(days=31)
    assert spend(path, 10, "a = 3", SourceMark("table", "changed"))


def test_a_refusal_says_what_an_allowance_has_left_after_an_earlier_epoch(path: Path) -> None:
    """Within 30 days 0.4 was spent in the epoch before and 0.3 in this one, so 0.3 of 1 is left."""
    assert spend(path, 4, "a = 1")
    with Ledger.open(path) as ledger:
        ledger.open_epoch()
    assert spend(path, 3, "", SourceMark("table", "changed"))
    with Ledger.open(path) as ledger, pytest.raises(BudgetExceededError) as caught:
        ledger.reserve(parse_where(""), 5 * TENTH, source=SourceMark("table", "changed"), request="{}")
    assert caught.value.remaining == 0.3
    assert "of the allowance of 1 within any 30 days 0.3 is left" in str(caught.value)


@pytest.mark.parametrize(("tenths", "is_low"), [(9, False), (9.1, True)])
def test_a_debit_says_that_less_than_a_tenth_of_an_allowance_is_left(tenths: float, is_low: bool, path: Path) -> None:
    with Ledger.open(path) as ledger:  # of whose total two thirds are left
        assert ledger.reserve(parse_where(""), int(tenths * TENTH), source=SOURCE, request="{}").is_low == is_low


def test_several_releases_are_checked_together_against_an_allowance(path: Path) -> None:
    every, some = parse_where(""), parse_where("a = 1")
    with Ledger.open(path) as ledger:
        ledger.check_together([(some, 10 * TENTH), (parse_where("a = 2"), 10 * TENTH)])
        with pytest.raises(
            BudgetExceededError, match=r"release 2 of 2 .* more than the allowance of 1 within any 30 days"
        ):
            ledger.check_together([(some, 6 * TENTH), (every, 6 * TENTH)])
        with pytest.raises(BudgetExceededError, match="of the allowance of 1 within any 30 days 1 is left"):
            ledger.check_together([(every, 11 * TENTH)])
        assert ledger.summary().releases == 0


def test_calendar_months_and_dates(tmp_path: Path, clock: MovingClock) -> None:
    path = tmp_path / "t.ledger"
    with Ledger.create(path, 9) as ledger:
        ledger.owner.allow("month", 1)
        ledger.owner.allow("2026-11-25..2026-11-26", "0.2")
    assert spend(path, 8)
    clock.set(days=3)  # 25 November
    assert spend(path, 2)
    clock.set(days=4)
    assert not spend(path, 1)
    clock.set(days=4, hours=11, minutes=59)
    assert not spend(path, 1)
    clock.set(days=9)  # 1 December
    assert spend(path, 10)
    assert not spend(path, 1)


def test_a_clock_that_goes_back_gives_nothing(path: Path, clock: MovingClock) -> None:
    assert spend(path, 10)
    for back in (1, 40, 10_000):
        clock.set(days=-back)
        assert not spend(path, 1)
    with Ledger.open(path) as ledger, pytest.raises(BudgetExceededError, match="the clock is behind the newest debit"):
        ledger.reserve(parse_where(""), TENTH, source=SOURCE, request="{}")
    clock.set(days=31)
    assert spend(path, 5)
    clock.set(days=-100)  # recorded a hundred days too early, it counts as of the newest debit
    assert spend(path, 5)
    clock.set(days=32)
    assert not spend(path, 1)


@pytest.mark.parametrize("year", [1, 1969, 9000, 9999])
def test_a_clock_that_says_no_time_is_refused(year: int, path: Path, clock: MovingClock) -> None:
    """A debit of the year 9000 would stop every allowance until then."""
    clock.time = START.replace(year=year)
    with Ledger.open(path) as ledger, pytest.raises(LedgerError, match="the machine's clock says"):
        ledger.reserve(parse_where(""), TENTH, source=SOURCE, request="{}")
    for usable, tenths, fits in ((1970, 5, True), (8999, 5, True), (1970, 6, False)):
        clock.time = START.replace(year=usable)
        with Ledger.open(path) as ledger:
            ledger.owner.allow("9999w", 1)
        assert spend(path, tenths) is fits


@pytest.mark.heavy(family="spending")
def test_with_a_clock_that_jumps_no_window_of_ledger_time_has_more_than_its_allowance(
    path: Path, clock: MovingClock
) -> None:
    """And whatever an earlier clock admits, the newest debit's time would have admitted, too."""
    rng = random.Random(7)
    with Ledger.open(path) as ledger:
        ledger.owner.raise_budget(100)
        debits: list[tuple[float, str, int]] = []
        newest = true = 0.0
        for _ in range(150):
            true += rng.expovariate(0.3)
            day = true - rng.uniform(0, 90) * (rng.random() < 0.4)
            clock.set(days=day)
            where, tenths = rng.choice(["", "a = 1", "a = 2", "a > 1"]), rng.randint(1, 4)
            try:
                ledger.reserve(parse_where(where), tenths * TENTH, source=SOURCE, request="{}")
            except BudgetExceededError:
                continue
            newest = max(newest, day)
            debits.append((newest, where, tenths))
        recorded = [line.reserved for line in ledger.lines()]
    assert len(debits) > 40
    assert recorded != sorted(recorded)  # the clock did go back between debits
    for last in range(len(debits)):
        inside = [debit for debit in debits[: last + 1] if debit[0] >= debits[last][0] - 30]
        found = maximum_overlap([parse_where(where) for _, where, _ in inside], [tenths for *_, tenths in inside])
        assert found.upper <= 10


@pytest.mark.heavy(family="spending")
def test_processes_at_once_never_spend_more_than_an_allowance(tmp_path: Path) -> None:
    path = tmp_path / "shared.ledger"
    with Ledger.create(path, 1) as ledger:
        ledger.owner.allow("30d", "0.02")
    done = drive("debits", path, 2, 30)
    assert done["codes"] == [0, 0]
    with Ledger.open(path) as ledger:
        [allowance] = ledger.summary().allowances
        assert ledger.summary().releases == done["allowed"] < 60
    assert allowance.spent <= allowance.at_most == 0.02


def test_a_ledger_is_made_with_its_allowance_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where whoever makes it is stopped as soon as there is a file."""
    path = tmp_path / "t.ledger"
    for wrong in ({"per": "30d"}, {"at_most": 1}, {"per": "fortnight", "at_most": 1}, {"per": "30d", "at_most": 0}):
        with pytest.raises(ParameterError):
            Ledger.create(path, 3, **wrong)
        assert not path.exists()

    def stopped(*arguments: Any) -> None:
        create_file(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr("dpdb.ledger.ledger.create_file", stopped)
    with pytest.raises(KeyboardInterrupt):
        Ledger.create(path, 3, per="30d", at_most=1)
    monkeypatch.undo()
    assert not spend(path, 11)
    with Ledger.open(path) as ledger:
        [act] = ledger.acts()
        assert (act.after, act.kind, act.period, act.at_most) == (0, "allow", "30d", 1.0)
    with Ledger.create(tmp_path / "z.ledger", notion="zcdp", epsilon=3, delta=1e-6, per="30d", at_most=1) as ledger:
        ledger.owner.allow("30d", epsilon=1)
        made, later = ledger.acts()
        assert made.at_most == later.at_most


def test_a_ledger_that_is_made_without_its_head_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else it stays open as long as somebody holds the error, and its write-ahead log with it."""

    def fails(books: Books) -> None:
        raise LedgerError("no space left")

    monkeypatch.setattr(Books, "write_head", fails)
    with pytest.raises(LedgerError, match="no space left"):
        Ledger.create(tmp_path / "t.ledger", 3, per="30d", at_most=1)
    assert [file.name for file in tmp_path.iterdir()] == ["t.ledger"]


def test_the_act_a_ledger_is_made_with_cannot_be_taken_away(tmp_path: Path) -> None:
    Ledger.create(tmp_path / "t.ledger", 3, per="30d", at_most=1).close()
    change(tmp_path / "t.ledger", "DELETE FROM act")
    with pytest.raises(LedgerError, match="lost its newest releases"):
        Ledger.open(tmp_path / "t.ledger")


def test_an_allowance_is_replaced_or_ended_by_its_own_period(path: Path, clock: MovingClock) -> None:
    with Ledger.open(path) as ledger:
        ledger.owner.allow("30d", "0.5")
        ledger.owner.allow("1d", "0.2")
        assert [(one.period, one.at_most) for one in ledger.summary().allowances] == [("30d", 0.5), ("1d", 0.2)]
        ledger.owner.allow("30d")
        with pytest.raises(ParameterError, match=r"no allowance for 30d \(there are: 1d\)"):
            ledger.owner.allow("30d")
    assert spend(path, 2)
    assert not spend(path, 1)
    with Ledger.open(path) as ledger:
        ledger.owner.allow("1d")
    assert spend(path, 9)


@pytest.mark.parametrize(
    "text",
    ["0d", "30", "d", "-1d", "30 d", "³0d", "99999d", "2026-12-31..2026-12-01", "2026-13-01..2026-13-02", ""],
)
def test_what_is_no_period_is_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="a period is a number of hours, days or weeks"):
        parse_period(text)


def test_the_last_day_of_a_month_and_of_the_year() -> None:
    december = START.replace(month=12, day=31)
    assert (
        parse_period("month").end(december)
        == parse_period("year").end(december)
        == december.replace(year=2027, month=1, day=1, hour=0)
    )
    begin = parse_period("2026-12-31..2026-12-31").begin
    assert begin(december) == december.replace(hour=0)
    assert begin(december + timedelta(hours=12)) is None
