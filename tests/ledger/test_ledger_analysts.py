"""Analysts in a ledger: the total protects, quotas ration, and a refusal names nobody else's rows."""

from __future__ import annotations

import hashlib
import sqlite3
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime, timedelta
from multiprocessing import get_context
from pathlib import Path

import pytest
from ledger_driver import SOURCE
from text_reader import parse_where

from dpdb.errors import BudgetExceededError, LedgerError, ParameterError, RightsError, RunIdError
from dpdb.ledger import Ledger
from dpdb.ledger.store import clock

NANO = 10**9
TOKEN = hashlib.sha256(b"token").hexdigest()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    Ledger.create(tmp_path / "ledger", 5).close()
    return tmp_path / "ledger"


def ask(ledger: Ledger, who: str | None, epsilon: float, where: str = "a = 1", run_id: str | None = None) -> None:
    found = ledger.reserve(
        parse_where(where), round(epsilon * NANO), source=SOURCE, request="{}", run_id=run_id, analyst=who
    )
    if found.answer is None:
        ledger.record(found, "[]")
    found.close()


def test_the_newest_line_of_a_name_holds(path: Path) -> None:
    with Ledger.open(path) as ledger:
        ledger.rights.grant("ann", TOKEN, quota="1.5", most_per_statement=1, approved_by="olga")
        ledger.rights.ration("ann", 2, None)
        [ann] = ledger.rights.analysts()
        assert (ann.quota, ann.most_per_statement, ann.role, ann.ended) == (2.0, 1.0, "analyst", None)
        other = hashlib.sha256(b"other").hexdigest()
        ledger.rights.grant("ann", other, role="checker")
        [ann] = ledger.rights.analysts()
        assert (ann.quota, ann.role, ann.token) == (2.0, "checker", other)
        ledger.rights.revoke("ann")
    with Ledger.open(path) as ledger:
        [ann] = ledger.rights.analysts()
        assert (ann.token, ann.ended) == (None, "was revoked")
        with pytest.raises(RightsError, match="the access of 'ann' was revoked; nothing was spent"):
            ask(ledger, "ann", 0.1)
        assert ledger.spent_units() == 0


def test_quotas_are_exact_and_the_total_decides(path: Path) -> None:
    with Ledger.open(path) as ledger:
        ledger.rights.grant("ann", TOKEN, quota=3)
        ledger.rights.grant("bob", TOKEN, quota=3)
        ask(ledger, "ann", 2.999999999)
        with pytest.raises(BudgetExceededError, match=r"requested epsilon 0.000000002, and 0.000000001 of your 3 is"):
            ask(ledger, "ann", 0.000000002)
        ask(ledger, "ann", 0.000000001)
        ask(ledger, "bob", 2)
        with pytest.raises(BudgetExceededError) as refused:
            ask(ledger, "bob", 0.5)
        assert "covered by" not in str(refused.value)
        assert str(refused.value) == (
            "budget refused: requested epsilon 0.5, and the table's budget does not allow so much more for these rows; "
            "nothing was spent"
        )
        assert ledger.spent_units() == 5 * NANO
        assert [analyst.spent for analyst in ledger.rights.analysts()] == [3.0, 2.0]


def test_a_quota_counts_disjoint_rows_once(path: Path) -> None:
    with Ledger.open(path) as ledger:
        ledger.rights.grant("ann", TOKEN, quota=1)
        for value in range(3):
            ask(ledger, "ann", 1, f"a = {value}")
        with pytest.raises(BudgetExceededError, match="your quota"):
            ask(ledger, "ann", 0.000000001, "a > 1")
        ledger.open_epoch()
        with pytest.raises(BudgetExceededError, match="0 of your 1 is left"):
            ask(ledger, "ann", 0.000000001, "a = 7")


def test_a_statement_has_a_cap(path: Path) -> None:
    with Ledger.open(path) as ledger:
        ledger.rights.grant("ann", TOKEN, most_per_statement=1)
        with pytest.raises(BudgetExceededError, match="one statement of yours may cost epsilon 1 at most"):
            ask(ledger, "ann", 1.000000001)
        two = [(parse_where("a = 1"), NANO // 2), (parse_where("a = 2"), NANO // 2 + 1)]
        with pytest.raises(BudgetExceededError, match=r"this one asks for 1\.000000001"):
            ledger.check_together(two, analyst="ann")
        ledger.check_together(two, analyst="somebody whom nothing limits")


def test_a_quota_below_what_was_spent_refuses_and_takes_nothing_back(path: Path) -> None:
    with Ledger.open(path) as ledger:
        ledger.rights.grant("ann", TOKEN, quota=3)
        ask(ledger, "ann", 2)
        ledger.rights.ration("ann", 1, None)
        with pytest.raises(BudgetExceededError, match="0 of your 1 is left"):
            ask(ledger, "ann", 0.1)
        [ann] = ledger.rights.analysts()
        assert (ann.spent, ann.remaining) == (2.0, 0.0)


def test_a_clock_that_goes_back_revives_nobody(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    times = [datetime(2030, 1, 1, tzinfo=UTC)]
    monkeypatch.setattr(clock, "present", lambda: times[0])
    monkeypatch.setattr("dpdb.ledger.debit.present", lambda: times[0])
    monkeypatch.setattr("dpdb.ledger.ledger_analysts.present", lambda: times[0])
    with Ledger.open(path) as ledger:
        ledger.rights.grant("ann", TOKEN, expires=times[0] + timedelta(days=1))
        ask(ledger, "ann", 0.1)
        times[0] += timedelta(days=1)
        with pytest.raises(RightsError, match="has expired; nothing was spent"):
            ask(ledger, "ann", 0.1)
        ask(ledger, None, 0.1)
        times[0] -= timedelta(days=1)
        with pytest.raises(RightsError, match="has expired; nothing was spent"):
            ask(ledger, "ann", 0.1)
        assert ledger.rights.analysts()[0].ended == "has expired"


def test_run_ids_are_one_analysts(path: Path) -> None:
    with Ledger.open(path) as ledger:
        ledger.rights.grant("ann", TOKEN)
        ask(ledger, "ann", 0.1, run_id="x")
        ask(ledger, "ann", 0.1, run_id="x")
        with pytest.raises(RunIdError):
            ask(ledger, "bob", 0.1, run_id="x")
        assert ledger.spent_units() == NANO // 10
        assert [entry.run_id for entry in ledger.rights.history_of("ann")] == ["x"]
        assert ledger.rights.history_of("bob") == []


@pytest.mark.parametrize(
    ("name", "token", "options"),
    [
        ("Ann", TOKEN, {}),
        ("ann:x", TOKEN, {}),
        ("", TOKEN, {}),
        ("ann", "secret", {}),
        ("ann", TOKEN, {"role": "root"}),
        ("ann", TOKEN, {"quota": -1}),
        ("ann", TOKEN, {"quota": "many"}),
    ],
)
def test_bad_rights_are_refused(path: Path, name: str, token: str, options: dict[str, object]) -> None:
    with Ledger.open(path) as ledger:
        with pytest.raises(ParameterError):
            ledger.rights.grant(name, token, **options)  # type: ignore[arg-type]
        with pytest.raises(LedgerError, match="no analyst 'eve'"):
            ledger.rights.revoke("eve")
        assert ledger.rights.analysts() == []


def test_rights_are_sealed(path: Path) -> None:
    with Ledger.open(path) as ledger:
        ledger.rights.grant("ann", TOKEN, quota=1)
        ask(ledger, "ann", 1)
    connection = sqlite3.connect(path)
    connection.execute("UPDATE analyst SET quota = 5000000000")
    connection.commit()
    connection.close()
    with pytest.raises(LedgerError, match="damaged"):
        Ledger.open(path)


def test_rights_that_were_lost_are_noticed(path: Path) -> None:
    with Ledger.open(path) as ledger:
        ledger.rights.grant("ann", TOKEN, quota=1)
        ledger.rights.revoke("ann")
    connection = sqlite3.connect(path)
    connection.execute("DELETE FROM analyst WHERE number = 2")
    connection.commit()
    connection.close()
    with pytest.raises(LedgerError, match="lost its newest"):
        Ledger.open(path)


def spend_all(task: tuple[str, str]) -> int:
    """Ask for a hundredth, again and again, until refused for good; return how often it was allowed."""
    path, who = task
    allowed = 0
    with Ledger.open(path) as ledger:
        for _ in range(40):
            try:
                ask(ledger, who, 0.01)
                allowed += 1
            except BudgetExceededError:
                break
    return allowed


@pytest.mark.heavy(family="long")
def test_analysts_in_many_processes_stay_below_quota_and_total(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    names = [f"a{number}" for number in range(6)]
    with Ledger.create(path, 1) as ledger:
        for name in names:
            ledger.rights.grant(name, TOKEN, quota="0.25")
    with ProcessPoolExecutor(3, get_context("spawn")) as pool:
        allowed = list(pool.map(spend_all, [(str(path), name) for name in names]))
    with Ledger.open(path) as ledger:
        assert ledger.spent_units() == NANO
        assert max(allowed) <= 25
        assert [round(100 * one.spent) for one in ledger.rights.analysts()] == allowed
