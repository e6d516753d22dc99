"""`by=` with public keys, and `dp_count`: what is selected, what is charged, what is refused."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from dpdb.errors import BudgetExceededError, ParameterError, UnknownColumnError
from dpdb.release import Session

CERTAIN = 100_000  # the noise is 0 except with probability below exp(-10,000)
TABLE = pa.table(
    {
        "state": ["CA", "CA", "CA", "NY", "NY", None, "it's"],
        "zip": [1, 1, 2, 1, 1, 1, 9],
        "city": ["a", "b", "c", "a", "a", "z", "q"],
        "day": [datetime.date(2026, 1, k + 1) for k in range(7)],
        "price": [Decimal("1.50"), Decimal("2.00"), *[Decimal("0.00")] * 5],
        "score": [0.0, -0.0, 1.5, 2.5, float("nan"), 1.0, 1.0],
        "open": [True, False, True, True, None, False, True],
    }
)
RULE = "zip -> city"


def values(session: Session, by: str, keys: list[object]) -> list[float]:
    released = session.dp_count(CERTAIN, by=by, keys=keys)  # type: ignore[arg-type]
    assert isinstance(released, tuple)
    return [release.value for release in released]


def test_groups_are_induced_subgraphs_and_cost_one_charge() -> None:
    with Session(TABLE, constraints=RULE, budget=CERTAIN) as session:
        releases = session.dp_inconsistency("minimal_inconsistency", CERTAIN, by="STATE", keys=["NY", "CA", "TX"])
        assert isinstance(releases, tuple)
        # 5 conflicts in the whole table, 1 of them between two rows of CA; an absent group is answered like the others
        assert [release.value for release in releases] == [0, 1, 0]
        assert [release.where for release in releases] == ["state = 'NY'", "state = 'CA'", "state = 'TX'"]
        assert all(release.epsilon == CERTAIN for release in releases)
        assert all(release.guarantee.startswith("together with") for release in releases)
        assert (session.spent(), session.remaining()) == (CERTAIN, 0)
        with pytest.raises(BudgetExceededError):
            session.dp_count(1)


def test_all_measures_of_every_group_with_where() -> None:
    with Session(TABLE, constraints=RULE) as session:
        releases = session.dp_inconsistency("all", CERTAIN, where="zip < 2", by="state", keys=["CA"])
        assert isinstance(releases, tuple)
        assert [release.value for release in releases] == [1, 2, 1]
        assert {release.where for release in releases} == {"(zip < 2) AND state = 'CA'"}
        assert session.spent() == CERTAIN


def test_keys_of_every_type() -> None:
    with Session(TABLE, constraints=RULE) as session:
        assert values(session, "zip", [1, "2", 3]) == [5, 1, 0]
        assert values(session, "state", ["it's", "CA"]) == [1, 3]
        assert values(session, "day", ["2026-01-01", "2030-01-01"]) == [1, 0]
        assert values(session, "price", ["0", Decimal("1.5"), 2]) == [5, 1, 1]
        assert values(session, "score", [0.0, "nan", 1.5]) == [2, 1, 1]
        assert values(session, "open", [True, False]) == [4, 2]


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("by", "keys", "says"),
    [
        ("zip", ["1", "01"], "same value"),
        ("zip", [1, 1.0], "same value"),
        ("score", [0.0, -0.0], "same value"),
        ("score", ["nan", "-nan"], "same value"),
        ("score", [1, "01"], "same value"),
        ("zip", [b"1"], "not a value"),
        ("zip", ["1\udcff"], "not a value"),
        (5, [1], "name of a column"),
        ("zip", [10**5000], "hundreds of digits is not a value"),
        ("zip", ["x" * 10**6], r"x\.\.\. is not a value"),
        ("price", ["2", "2.00"], "same value"),
        ("zip", [1.5], "not a value"),
        ("zip", ["x"], "not a value"),
        ("zip", [10**30], "not a value"),
        ("day", ["2026-01-01 10:00"], "not a value"),
        ("open", ["perhaps"], "not a value"),
        ("zip", [None], "not a value"),
        ("zip", [], "at least one"),
        ("zip", "12", "list"),
        ("zip", None, "go together"),
        (None, [1], "go together"),
    ],
)
def test_bad_keys_cost_nothing(by: str | None, keys: object, says: str) -> None:
    with Session(TABLE, constraints=RULE) as session:
        with pytest.raises(ParameterError, match=says):
            session.dp_count(1, by=by, keys=keys)  # type: ignore[arg-type]
        with pytest.raises(ParameterError, match=says):
            session.dp_inconsistency("repair", 1, by=by, keys=keys)  # type: ignore[arg-type]
        assert session.spent() == 0


def test_intervals_of_one_length_are_one_key() -> None:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t AS SELECT INTERVAL '1 month' AS stay FROM range(3)")
        with Session(connection) as session:
            for keys in (["1 month", "30 days"], ["2 days", "29 days 24:00:00", "720 hours"]):
                with pytest.raises(ParameterError, match="the same value of 'stay'"):
                    session.dp_count(1, by="stay", keys=keys)
            assert session.spent() == 0
            assert values(session, "stay", ["30 days", "1 year"]) == [3, 0]


def test_an_unknown_group_column_names_the_nearest() -> None:
    with Session(TABLE, constraints=RULE) as session, pytest.raises(UnknownColumnError, match="'state'"):
        session.dp_count(1, by="stat", keys=["CA"])


def test_counts_of_the_table_and_of_a_slice(hospital: Path, hospital_constraints: Path) -> None:
    with Session(hospital, constraints=hospital_constraints) as session:
        whole = session.dp_count(CERTAIN)
        part = session.dp_count(CERTAIN, where="state = 'AL'")
        assert (whole.value, part.value) == (10_000, 2_562)  # type: ignore[union-attr]
        loose = session.dp_count(1)
        assert loose.lower < loose.value < loose.upper  # type: ignore[union-attr, operator]
        assert (loose.noise_scale, loose.measure, loose.mechanism) == (1.0, "count", "laplace")  # type: ignore[union-attr]
        assert session.spent() == 2 * CERTAIN + 1


def test_rows_per_person_divides_the_epsilon_of_a_count() -> None:
    with Session(TABLE, constraints=RULE, rows_per_person=4) as session:
        release = session.dp_count(1)
        assert release.noise_scale == 4.0  # type: ignore[union-attr]
        assert session.spent() == 1


def test_disjoint_groups_share_a_ledger(tmp_path: Path) -> None:
    """Groups are charged once, and later releases of other groups do not add to them."""
    from dpdb.ledger import Ledger

    path = tmp_path / "t.ledger"
    Ledger.create(path, 2).close()
    table = TABLE.select(["state", "zip", "city"])
    with Session(table, constraints=RULE, ledger=path) as session:
        session.dp_count(1, by="zip", keys=[1, "2"])
        session.dp_inconsistency("repair", 1, by="zip", keys=[2, 1])
        session.dp_inconsistency("repair", 2, where="zip > 5")
        assert session.spent() == 2
        with pytest.raises(BudgetExceededError):
            session.dp_count(1, by="zip", keys=[9, 2])
        again = [session.dp_count(0.0001, where="zip = 3", run_id="r") for _ in range(2)]
        assert again[0] == again[1]
