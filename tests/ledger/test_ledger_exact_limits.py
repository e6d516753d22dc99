"""Every limit allows exactly what it says: the last unit fits, one unit more does not, and a refusal spends nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from moving_clock import MovingClock
from text_reader import parse_where

from dpdb.errors import BudgetExceededError, LedgerError
from dpdb.ledger import Ledger, SourceMark
from dpdb.privacy import NOTIONS
from dpdb.release.account import Budget

SOURCE = SourceMark("table", "content")
NANO = 10**9
TOKEN = "0" * 64


@dataclass
class Purse:
    """What a limit of `most` units rations: `ask` spends units of some rows, `look` only looks ahead."""

    ledger: Ledger
    most: int
    analyst: str | None = None
    _asked: int = field(default=0)

    def ask(self, units: int, where: str) -> None:
        notion = self.ledger.notion.name
        asked = {"source": SOURCE, "request": "{}", "notion": notion, "analyst": self.analyst}
        self.ledger.reserve(parse_where(where), units, **asked).close()

    def open_suite(self, units: int, where: str) -> None:
        self._asked += 1
        self.ledger.open_suite(
            parse_where(where), units, source=SOURCE, request="{}", spec="{}", make_secret=lambda: "s",
            run_id=f"run {self._asked}", analyst=self.analyst,
        ).close()  # fmt: skip

    def look(self, *releases: tuple[int, str]) -> None:
        asked = [(parse_where(where), units) for units, where in releases]
        self.ledger.check_together(asked, deadline=5.0, analyst=self.analyst)

    @property
    def spent(self) -> int:
        return self.ledger.spent_units()


def total(path: Path, notion: str) -> Purse:
    return Purse(Ledger.create(path, 1, notion), NOTIONS[notion].budget(1))


def allowance(path: Path, period: str) -> Purse:
    return Purse(Ledger.create(path, 3, at_most=1, per=period), NANO)


def quota(path: Path) -> Purse:
    ledger = Ledger.create(path, 3)
    ledger.grant("ann", TOKEN, quota=1)
    return Purse(ledger, NANO, "ann")


PURSES: dict[str, Callable[[Path], Purse]] = {
    "total": lambda path: total(path, "pure"),
    "total in rho": lambda path: total(path, "zcdp"),
    "total in mu": lambda path: total(path, "gdp"),
    "hour": lambda path: allowance(path, "1h"),
    "month": lambda path: allowance(path, "month"),
    "dates": lambda path: allowance(path, "2026-11-22..2026-11-23"),
    "quota": quota,
}


@pytest.fixture(params=PURSES)
def purse(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    MovingClock(monkeypatch)
    made = PURSES[request.param](tmp_path / "t.ledger")
    yield made
    made.ledger.close()


Spend = Callable[[int, str], None]
WAYS = [(name, way) for name in PURSES for way in ("ask", "open_suite") if (name, way) != ("total in mu", "open_suite")]
each_way = pytest.mark.parametrize(("purse", "way"), WAYS, indirect=["purse"])  # gdp ledgers take no suites


def refused(spend: Spend, purse: Purse, units: int, where: str = "") -> None:
    before = purse.spent
    with pytest.raises(BudgetExceededError):
        spend(units, where)
    assert purse.spent == before


@each_way
def test_all_of_a_limit_may_be_asked_at_once(purse: Purse, way: str) -> None:
    spend: Spend = getattr(purse, way)
    refused(spend, purse, purse.most + 1)
    spend(purse.most, "")
    assert purse.spent == purse.most
    refused(spend, purse, 1)


@each_way
def test_the_last_unit_may_be_asked_for(purse: Purse, way: str) -> None:
    spend: Spend = getattr(purse, way)
    spend(purse.most - 1, "")
    refused(spend, purse, 2)
    spend(1, "")
    assert purse.spent == purse.most
    refused(spend, purse, 1)


@each_way
def test_overlapping_rows_may_collect_exactly_the_limit(purse: Purse, way: str) -> None:
    """The charges add up to more than the limit, so the rows that collect most decide: those from 5 to 9."""
    spend: Spend = getattr(purse, way)
    third = purse.most // 3
    spend(third, "age < 10")
    spend(third, "age > 30")
    spend(third, "age > 4 AND age < 20")
    left = purse.most - 2 * third
    refused(spend, purse, left + 1, "age > 8")
    spend(left, "age > 8")
    refused(spend, purse, 1, "age = 9")
    spend(third, "age = 4")
    assert purse.spent == purse.most


def test_looks_ahead_know_the_last_unit(purse: Purse) -> None:
    """Several releases are looked at together, without a debit, as they would be debited."""
    half = purse.most // 2
    purse.look((half, ""), (purse.most - half, ""))
    purse.look((purse.most, "age < 5"), (purse.most, "age > 5"))
    for asked in ([(half, ""), (purse.most - half + 1, "")], [(purse.most, "age < 5"), (1, "age < 7")]):
        with pytest.raises(BudgetExceededError):
            purse.look(*asked)
    assert purse.spent == 0


def test_earlier_epochs_leave_the_rest_and_no_unit_more(purse: Purse) -> None:
    purse.ask(purse.most - 7, "age < 5")
    purse.ledger.open_epoch()
    refused(purse.ask, purse, 8)
    purse.ask(7, "age > 5")
    refused(purse.ask, purse, 1, "age > 5")
    assert purse.spent == purse.most


@pytest.mark.parametrize("units", [1, 2, NANO])
def test_a_statement_may_cost_its_cap_and_no_unit_more(units: int, tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "t.ledger", 5) as ledger:
        ledger.grant("ann", TOKEN, most_per_statement=f"{units / NANO:.9f}")
        purse = Purse(ledger, units, "ann")
        for spend in (purse.ask, purse.open_suite):
            refused(spend, purse, units + 1)
            spend(units, "")
            spend(max(1, units - 1), "")
        refused(lambda asked, _: purse.look((asked, "")), purse, units + 1)
        refused(lambda asked, _: purse.look((asked, "a = 1"), (1, "a = 2")), purse, units)  # disjoint, one statement
        purse.look((units, ""))
        if units > 1:
            purse.look((units - 1, ""), (1, ""))


def test_a_rearmed_check_may_take_all_that_is_left(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "t.ledger", 1) as ledger:
        asked = {"source": SOURCE, "request": "{}", "spec": "{}", "make_secret": lambda: "s"}
        run = ledger.open_suite(parse_where(""), NANO - 5, run_id="r", name="kept", **asked)
        ledger.record_level(run, 1, "{}", spent=NANO - 5, failed=["zip"])  # all that was debited
        run.close()
        with pytest.raises(BudgetExceededError):
            ledger.rearm("kept", "zip", 6)
        assert ledger.spent_units() == NANO - 5
        ledger.rearm("kept", "zip", 5)
        assert ledger.spent_units() == NANO


def test_a_level_may_cost_all_that_was_debited_and_a_settlement_may_keep_it(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "t.ledger", 1) as ledger:
        asked = {"source": SOURCE, "request": "{}", "spec": "{}", "make_secret": lambda: "s"}
        run = ledger.open_suite(parse_where(""), 10, run_id="r", **asked)
        with pytest.raises(LedgerError, match="at most what was debited"):
            ledger.record_level(run, 1, "{}", spent=11)
        ledger.record_level(run, 1, "{}", spent=10)
        for charge in (9, 11):
            with pytest.raises(LedgerError, match="at least what its levels do, and at most what was debited"):
                ledger.end_suite(run, "{}", charge)
        ledger.end_suite(run, "{}", 10)
        run.close()
        made = ledger.reserve(parse_where(""), 10, source=SOURCE, request="{}", run_id="s")
        ledger.record(made, "{}")
        made.close()
        with pytest.raises(LedgerError, match="only lowers"):
            ledger.settle("s", 11)
        ledger.settle("s", 10)
        assert ledger.spent_units() == 20


@pytest.mark.parametrize("parts", [[NANO], [NANO - 1, 1], [1, NANO - 2, 1]])
def test_a_budget_in_memory_allows_its_last_unit(parts: list[int]) -> None:
    budget = Budget(1)
    with pytest.raises(BudgetExceededError, match=r"short by 0\.000000001"):
        budget.spend(NANO + 1)
    for part in parts:
        budget.check(part)
        budget.spend(part)
    with pytest.raises(BudgetExceededError, match=r"remaining 0, short by 0\.000000001"):
        budget.spend(1)
    assert (budget.spent(), budget.remaining()) == (1.0, 0.0)
