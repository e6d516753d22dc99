"""Charges that are checked together are decided as their debits would be, also where some are paid in rho."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import dpdb
from dpdb.errors import BudgetExceededError, ParameterError
from dpdb.ledger import Ledger
from dpdb.privacy import ZCDP
from dpdb.release.ask import Ask
from dpdb.release.costs import Charge

TABLE = pa.table({"zip": ["1", "1", "2"], "city": ["a", "b", "c"]})


def charge(session: dpdb.Session, **asked: object) -> Charge:
    return session.prepare(Ask.called("dp_count", asked)).charge


def opened(tmp_path: Path, notion: str, budget: float | None = None) -> dpdb.Session:
    path = tmp_path / "t.ledger"
    Ledger.create(path, 1, notion).close()
    return dpdb.open(TABLE, constraints="zip -> city", ledger=path, budget=budget)


def test_a_budget_is_kept_to_the_last_billionth() -> None:
    with dpdb.open(TABLE, constraints="zip -> city", budget="0.3") as session:
        session.check_together([charge(session, epsilon="0.3")])
        with pytest.raises(BudgetExceededError, match=r"short by 0\.000000001"):
            session.check_together([charge(session, epsilon="0.15"), charge(session, epsilon="0.150000001")])


def test_rho_counts_in_a_ledger(tmp_path: Path) -> None:
    with opened(tmp_path, "zcdp") as session:
        once, slice_ = charge(session, rho=0.6), charge(session, rho=0.6, where="zip = '1'")
        session.check_together([once])
        for too_many in ([once, once], [once, slice_], [slice_, charge(session, rho=0.3), charge(session, rho=0.2)]):
            with pytest.raises(BudgetExceededError, match="requests rho"):
                session.check_together(too_many)
        session.check_together([slice_, charge(session, rho=0.6, where="zip = '2'")])
        session.check_together([once, charge(session, epsilon="0.8")])  # 0.8^2 / 2 = 0.32
        with pytest.raises(BudgetExceededError):
            session.check_together([once, charge(session, epsilon="0.9")])
        assert session.spent() == 0


def test_an_answered_run_counts_no_more(tmp_path: Path) -> None:
    with opened(tmp_path, "zcdp") as session:
        session.dp_count(rho=0.6, run_id="x")
        asked = charge(session, rho=0.6, run_id="x")
        session.check_together([asked, charge(session, rho=0.4)])
        with pytest.raises(BudgetExceededError):
            session.check_together([charge(session, rho=0.6), charge(session, rho=0.4)])


@pytest.mark.parametrize(("notion", "budget"), [("pure", None), ("gdp", None), ("zcdp", 1.0)])
def test_rho_is_refused_where_its_debit_is(notion: str, budget: float | None, tmp_path: Path) -> None:
    with opened(tmp_path, notion, budget) as session:
        asked = charge(session, rho=0.1)
        for ask in (lambda: session.check_together([asked]), lambda: session.dp_count(rho=0.1)):
            with pytest.raises(ParameterError, match="rho"):
                ask()
        assert session.spent() == 0


def test_a_session_without_a_ledger_does_not_take_rho_for_nothing() -> None:
    with dpdb.open(TABLE, constraints="zip -> city", budget=1) as session:
        with pytest.raises(ParameterError, match="needs a ledger that counts in rho"):
            session.check_together([charge(session, rho=100)])
        with pytest.raises(ParameterError, match="needs a ledger that counts in rho"):
            session.cost_together([charge(session, rho=100)])
        session.check_together([charge(session, epsilon=0.5)] * 2)
        assert session.cost_together([charge(session, epsilon=0.5)] * 2) == 1
        with pytest.raises(BudgetExceededError):
            session.check_together([charge(session, epsilon=0.5)] * 3)


def test_what_charges_cost_together_is_in_the_parameter_of_the_ledger(tmp_path: Path) -> None:
    with opened(tmp_path, "zcdp") as session:
        slices = [charge(session, rho=0.3, where=f"zip = '{k}'") for k in (1, 2)]
        whole = charge(session, epsilon=1)
        assert session.cost_together(slices) == pytest.approx(0.3)
        assert session.cost_together([*slices, whole]) == pytest.approx(0.3 + ZCDP.charge_pure(1) / ZCDP.unit)
        assert session.cost_together([]) == 0
