"""Every limit allows exactly what it says: the last unit fits, one unit more does not, and a refusal spends nothing."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from moving_clock import MovingClock
from text_reader import parse_where

from dpdb.errors import BudgetExceededError, LedgerError
from dpdb.ledger import Ledger, SourceMark, limits
from dpdb.overlap import MOST_WEIGHT, Decision
from dpdb.predicates import Region
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
        self.ledger.checks.open_suite(
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
    ledger.rights.grant("ann", TOKEN, quota=1)
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
        ledger.rights.grant("ann", TOKEN, most_per_statement=f"{units / NANO:.9f}")
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
        run = ledger.checks.open_suite(parse_where(""), NANO - 5, run_id="r", name="kept", **asked)
        ledger.checks.record_level(run, 1, "{}", spent=NANO - 5, failed=["zip"])  # all that was debited
        run.close()
        with pytest.raises(BudgetExceededError):
            ledger.owner.rearm("kept", "zip", 6)
        assert ledger.spent_units() == NANO - 5
        ledger.owner.rearm("kept", "zip", 5)
        assert ledger.spent_units() == NANO


def test_a_level_may_cost_all_that_was_debited_and_a_settlement_may_keep_it(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "t.ledger", 1) as ledger:
        asked = {"source": SOURCE, "request": "{}", "spec": "{}", "make_secret": lambda: "s"}
        run = ledger.checks.open_suite(parse_where(""), 10, run_id="r", **asked)
        with pytest.raises(LedgerError, match="at most what was debited"):
            ledger.checks.record_level(run, 1, "{}", spent=11)
        ledger.checks.record_level(run, 1, "{}", spent=10)
        for charge in (9, 11):
            with pytest.raises(LedgerError, match="at least what its levels do, and at most what was debited"):
                ledger.checks.end_suite(run, "{}", charge)
        ledger.checks.end_suite(run, "{}", 10)
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


def test_all_releases_together_may_fill_a_ledger_to_its_last_unit(tmp_path: Path) -> None:
    """Also those of rows that have nothing in common, for which the budget suffices."""
    most = 10**6 * NANO
    with Ledger.create(tmp_path / "t.ledger", 10**6) as ledger:
        purse = Purse(ledger, most)
        purse.ask(most, "a = 1")
        left = MOST_WEIGHT - most
        with pytest.raises(LedgerError, match=r"the ledger is full: .* may cost epsilon 1125899\.9"):
            purse.ask(left + 1, "a = 2")
        purse.ask(left, "a = 2")
        with pytest.raises(LedgerError, match="the ledger is full"):
            purse.ask(1, "a = 3")


# -- what is said of a refusal ----------------------------------------------------------------------------------------


class Undecided:
    """An index of rows that have collected `most`, whose bounds are apart where they do not decide."""

    def __init__(self, most: int, above: Callable[[int], int], below: Callable[[int], int]) -> None:
        self.most, self.above, self.below = most, above, below

    def would_exceed(self, predicate: Region, weight: int, budget: int, deadline: float) -> Decision:
        upper, lower = self.most + weight + self.above(weight), self.most + weight - self.below(weight)
        return Decision(upper <= budget, upper, lower, None)


def left_of(index: Undecided, available: int, charge: int) -> int:
    refused = index.would_exceed(Region(), charge, available, 1.0)
    assert not refused.allowed
    return limits.units_left(index, available, Region(), charge, refused)  # type: ignore[arg-type]


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "_REMAINING_SECONDS", 5.0)


@pytest.mark.usefixtures("patient")
def test_what_is_left_is_never_said_to_be_more_than_it_is() -> None:
    chance = random.Random(7)
    for _ in range(3_000):
        available, most = chance.randrange(40), chance.randrange(40)
        loose = chance.choice([0, 1, 9])
        index = Undecided(most, lambda _, by=loose: chance.randint(0, by), lambda _, by=loose: chance.randint(0, by))
        charge = max(0, available - most) + chance.randint(1, 9)
        left = left_of(index, available, charge)
        assert 0 <= left < charge
        assert left <= max(0, available - most)
        assert loose or left == max(0, available - most)


@pytest.mark.usefixtures("patient")
def test_what_is_left_is_found_where_the_first_bounds_leave_it_open() -> None:
    """A large charge is not decided closely; the search goes down to one that is."""
    for most in (0, 3, 19, 20, 25):
        left = max(0, 20 - most)
        index = Undecided(most, lambda weight, fits=left: 5 * (weight > fits), lambda _: 3)
        assert left_of(index, 20, left + 9) == left
        assert left_of(index, 20, left + 1) == left
        never = Undecided(most, lambda _: 5, lambda _: 3)
        assert left_of(never, 20, left + 9) == max(0, left - 5)
        whole = Undecided(most, lambda weight, fits=left: 30 * (weight > fits - 1), lambda _: 30)
        assert left_of(whole, 20, max(1, left)) == max(0, left - 1)  # it was refused: less than that is left


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("left", [1, 2, 20])
def test_less_is_left_than_was_refused_also_if_it_would_be_allowed_now(left: int) -> None:
    """The first decision ran out of time."""
    late = iter([5])
    index = Undecided(20 - left, lambda _: next(late, 0), lambda _: 0)
    assert left_of(index, 20, left) == left - 1


def test_without_time_the_bounds_of_the_refusal_say_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "_REMAINING_SECONDS", 0.0)
    for most in (0, 13, 20):
        assert left_of(Undecided(most, lambda _: 0, lambda _: 0), 20, 30) == 20 - most
        assert left_of(Undecided(most, lambda _: 4, lambda _: 2), 20, 30) == max(0, 20 - most - 4)


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("seed", range(4))
def test_a_refusal_says_what_is_left_for_its_rows(seed: int, tmp_path: Path) -> None:
    """Beside a count by hand: the most that any whole number from 0 to 9 of the rows has collected."""
    chance = random.Random(seed)
    with Ledger.create(tmp_path / "t.ledger", 3, at_most=1, per="30d") as ledger:
        purse, collected = Purse(ledger, NANO), [0] * 10
        for _ in range(12):
            low, high = sorted(chance.choices(range(10), k=2))
            charge, left = chance.randint(1, NANO), NANO - max(collected[low : high + 1])
            where = f"a >= {low} AND a <= {high} AND a IN ({', '.join(map(str, range(10)))})"
            if charge <= left:
                purse.ask(charge, where)
                collected[low : high + 1] = [units + charge for units in collected[low : high + 1]]
            else:
                with pytest.raises(BudgetExceededError) as told:
                    purse.ask(charge, where)
                assert told.value.remaining == left / NANO


@pytest.mark.parametrize(
    ("period", "tenths", "when"),
    [
        ("30d", 4, "it fits from 2026-12-22 12:00:01 UTC"),  # when the first debit no longer counts
        ("30d", 5, "it fits from 2027-01-01 12:00:01 UTC"),
        ("30d", 10, "it fits from 2027-01-01 12:00:01 UTC"),  # all of it
        ("30d", 11, "no period takes so much"),
        ("month", 10, "it fits from 2027-01-01 00:00:00 UTC"),
        ("month", 11, "no period takes so much"),
        ("2026-11-22..2026-12-04", 11, "it fits from 2026-12-05 00:00:00 UTC"),  # it does not come again
    ],
)
def test_a_refusal_says_when_it_fits(
    period: str, tenths: int, when: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = MovingClock(monkeypatch)
    clock.set(days=0 if period == "30d" else 9)
    with Ledger.create(tmp_path / "t.ledger", 3, at_most=1, per=period) as ledger:
        purse = Purse(ledger, NANO)
        purse.ask(4 * NANO // 10, "")
        clock.set(days=10)
        purse.ask(6 * NANO // 10, "")
        with pytest.raises(BudgetExceededError, match=when):
            purse.ask(tenths * NANO // 10, "")


@pytest.mark.parametrize("held", [2, 3, 4, 5])
def test_a_refusal_names_three_suites_that_hold_the_budget_and_counts_the_others(held: int, tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "t.ledger", 1) as ledger:
        purse = Purse(ledger, NANO)
        for _ in range(held):
            purse.open_suite(NANO // 10, "")
        with pytest.raises(BudgetExceededError) as told:
            purse.ask(NANO, "")
    named = [f"epsilon 0.1 is held by run 'run {number}'" for number in range(1, 1 + min(held, 3))]
    more = [f"more by {held - 3} others"] * (held > 3)
    assert str(told.value).endswith(f"nothing was spent; {', '.join(named + more)}")
