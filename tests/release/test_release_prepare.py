"""A prepared charge is what the call is charged, and nothing else happens."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from inside import account_of
from stub_noise import StubNoise

import dpdb
from dpdb.errors import ParameterError, PredicateError
from dpdb.privacy.noise import replaced_noise
from dpdb.release import Session
from dpdb.release.ask import Ask

TABLE = pa.table({"zip": ["1", "1", "2"], "city": ["a", "b", "c"]})
ASKS: dict[str, Ask] = {
    "one": Ask("repair", 0.25),
    "all in slices": Ask("all", "0.3", by="zip", keys=["1", "2"]),
    "count": Ask("count", 0.5, where="zip = '1'"),
}
DOORS: dict[str, Callable[[Session], object]] = {
    "one": lambda session: session.dp_inconsistency("repair", 0.25),
    "all in slices": lambda session: session.dp_inconsistency("all", "0.3", by="zip", keys=["1", "2"]),
    "count": lambda session: session.dp_count(0.5, where="zip = '1'"),
}


@pytest.mark.parametrize("door", DOORS)
def test_the_prepared_charge_is_the_charge_of_the_call(door: str, monkeypatch: pytest.MonkeyPatch) -> None:
    noise = StubNoise()
    with replaced_noise(noise), dpdb.open(TABLE, constraints="zip -> city", budget=1) as session:
        prepared = session.prepare(ASKS[door]).charge
        assert (session.spent(), noise.draws) == (0.0, 0)
        charges = []
        debit = account_of(session).debit
        monkeypatch.setattr(account_of(session), "debit", lambda charge: charges.append(charge) or debit(charge))
        DOORS[door](session)
    assert charges == [prepared]


def test_prepare_refuses_what_the_call_refuses() -> None:
    with dpdb.open(TABLE, constraints="zip -> city", budget=1) as session:
        with pytest.raises(PredicateError):
            session.prepare(Ask("count", 1, where="random() < 1"))
        with pytest.raises(ParameterError, match="unknown measure"):
            session.prepare(Ask("repairs", 1))
        # No budget is asked, and the session's own account is not touched.
        assert session.prepare(Ask("repair", 5)).charge.epsilon == 5 * 10**9
        with pytest.raises(dpdb.BudgetExceededError):
            session.dp_inconsistency("repair", 5)


def test_no_row_is_read(tmp_path: Path) -> None:
    """The rows are gone before it is prepared, and it does not notice."""
    import pyarrow.parquet as pq

    path = tmp_path / "t.parquet"
    pq.write_table(TABLE, path)
    with dpdb.open(path, constraints="zip -> city") as session:
        path.unlink()
        assert session.prepare(ASKS["all in slices"]).charge.epsilon == 300_000_000
