"""The one order of every release: load, debit, draw, record, return; seen at an account that notes what happens."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

import dpdb
from dpdb.errors import BudgetExceededError, EngineError, LedgerError
from dpdb.release.account import Reservation, SuiteLevel, SuiteReservation
from dpdb.release.ask import Ask
from dpdb.release.costs import Charge
from dpdb.release.prepare import Prepared
from dpdb.release.publish import publish, publish_answer, publish_suite
from dpdb.release.published.release import Releases

ORDER = ["will draw", "load", "debit", "draw", "record", "close"]


class Noted(Reservation):
    """A reservation that notes that it was closed."""

    steps: list[str]

    def close(self) -> None:
        self.steps.append("close")


class NotedSuite(SuiteReservation):
    """So does that of a suite."""

    steps: list[str]

    def close(self) -> None:
        self.steps.append("close")


class NotingAccount:
    """Notes every step, and fails at one of them."""

    def __init__(self, answer: str | None = None, fails: str = "", error: BaseException | None = None) -> None:
        self.steps: list[str] = []
        self.charges: list[Charge] = []
        self.answers: list[str] = []
        self._answer, self._fails, self._error = answer, fails, error

    def note(self, step: str) -> None:
        self.steps.append(step)
        if step == self._fails and self._error is not None:
            raise self._error

    def will_draw(self, charge: Charge) -> bool:
        self.note("will draw")
        return self._answer is None

    def debit(self, charge: Charge) -> Reservation:
        self.note("debit")
        self.charges.append(charge)
        reservation = Noted(1, self._answer)
        object.__setattr__(reservation, "steps", self.steps)
        return reservation

    def record(self, reservation: Reservation, answer: str) -> None:
        self.note("record")
        self.answers.append(answer)

    def will_test(self, run: Any) -> bool:
        return self.will_draw(run)

    def open_suite(self, run: Any) -> SuiteReservation:
        self.note("debit")
        held = NotedSuite(
            1,
            self._answer,
            suite=1,
            run_id="run",
            name=None,
            secret="secret",
            levels={},
            spent=0,
            reserved=9,
            failed={},
        )
        object.__setattr__(held, "steps", self.steps)
        return held

    def record_level(self, held: SuiteReservation, level: SuiteLevel) -> None:
        self.note("record")
        self.answers.append(level.answer)

    def end_suite(self, held: SuiteReservation, answer: str, last: SuiteLevel | None = None) -> None:
        assert last is None
        self.note("end")
        self.answers.append(answer)

    def check_together(self, charges: Sequence[Charge]) -> None: ...
    def cost_together(self, charges: Sequence[Charge]) -> float:
        return 0.0

    def spent(self) -> float:
        return 0.0

    def remaining(self) -> float | None:
        return None

    def close(self) -> None: ...


@pytest.fixture(scope="module")
def prepared() -> Prepared:
    with dpdb.open(pa.table({"a": [1], "b": [2]}), constraints="a -> b") as session:
        return session.prepare(Ask("repair", 0.5))


def made(account: NotingAccount, prepared: Prepared, drawn: Any = ()) -> Releases:
    def draw() -> Releases:
        account.note("draw")
        return Releases(drawn)

    return publish(account, prepared.charge, lambda: account.note("load"), draw)


def test_the_order_is_always_the_same(prepared: Prepared) -> None:
    account = NotingAccount()
    assert made(account, prepared) == ()
    assert account.steps == ORDER
    assert account.charges == [prepared.charge]


def test_an_answer_that_is_no_release_is_recorded_before_it_is_returned(prepared: Prepared) -> None:
    account = NotingAccount()

    def draw() -> str:
        account.note("draw")
        return "{}"

    assert publish_answer(account, prepared.charge, lambda: account.note("load"), draw) == "{}"
    assert (account.steps, account.answers) == (ORDER, ["{}"])


def test_each_level_of_a_suite_is_recorded_before_the_next_is_drawn_and_the_verdicts_before_they_are_returned() -> None:
    account = NotingAccount()
    levels = iter([SuiteLevel(1, "first", 5, ()), SuiteLevel(2, "second", 7, ("zip",)), None])

    def draw() -> SuiteLevel | None:
        account.note("draw")
        return next(levels)

    run: Any = SimpleNamespace(answer=lambda held: f"{held.levels}, {held.spent}, {[*held.failed]}")
    verdicts = publish_suite(account, run, lambda: account.note("load"), lambda held: draw)
    assert account.steps == [*ORDER[:3], "draw", "record", "draw", "record", "draw", "end", "close"]
    assert verdicts == "{1: 'first', 2: 'second'}, 7, ['zip']"
    assert account.answers == ["first", "second", verdicts]


def test_an_answered_run_neither_loads_nor_draws(prepared: Prepared) -> None:
    account = NotingAccount(answer="[]")
    assert made(account, prepared) == ()
    assert account.steps == ["will draw", "debit", "close"]


FAILURES: dict[str, tuple[BaseException, type[BaseException], str, int]] = {
    "load": (OSError(28, "No space left"), EngineError, "nothing was spent (OSError: [Errno 28] No space left)", 2),
    "debit": (BudgetExceededError("refused", requested=1, remaining=0), BudgetExceededError, "refused", 3),
    "draw": (ValueError("alice: 5 rows"), EngineError, "after its budget was debited", 4),
    "record": (LedgerError("the source changed"), LedgerError, "the source changed", 5),
}


@pytest.mark.parametrize("step", FAILURES)
def test_a_failure_ends_it_there_and_closes_what_was_reserved(step: str, prepared: Prepared) -> None:
    error, kind, message, reached = FAILURES[step]
    account = NotingAccount(fails=step, error=error)
    with pytest.raises(kind) as caught:
        made(account, prepared)
    assert message in str(caught.value)
    assert "alice" not in str(caught.value)
    closed = ["close"] if reached > 3 else []
    assert account.steps == ORDER[:reached] + closed


@pytest.mark.parametrize("step", ["draw", "record"])
def test_an_interruption_is_passed_on_and_closes_what_was_reserved(step: str, prepared: Prepared) -> None:
    account = NotingAccount(fails=step, error=KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        made(account, prepared)
    assert account.steps == [*ORDER[: ORDER.index(step) + 1], "close"]


REFUSALS: list[tuple[dict[str, Any], Ask, str]] = [
    ({"rows": False}, Ask("repair", 1), "without rows"),
    ({}, Ask("repair", 1, run_id="x"), "needs a ledger"),
]


@pytest.mark.parametrize(("options", "ask", "message"), REFUSALS)
def test_a_session_refuses_before_it_publishes(
    options: dict[str, Any], ask: Ask, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def published(*args: object, **kwargs: object) -> None:
        raise AssertionError("must not be reached")

    monkeypatch.setattr("dpdb.release.session.publish", published)
    with (
        dpdb.open(pa.table({"a": [1], "b": [2]}), constraints="a -> b", **options) as session,
        pytest.raises(dpdb.DpdbError, match=message),
    ):
        session.release(ask)
