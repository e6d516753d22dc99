"""Rates through a session: slices, ledgers, refusals, failures; counts without constraints."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from inside import true_numbers
from stub_noise import StubNoise

import dpdb
from dpdb.errors import BudgetExceededError, EngineError, LedgerError, ParameterError
from dpdb.ledger import Ledger
from dpdb.privacy.noise import replaced_noise
from dpdb.release import Session
from dpdb.release.ask import Ask

CERTAIN = 100_000  # the noise is 0 except with probability below exp(-1,000)
TABLE = pa.table(
    {
        "state": ["CA", "CA", "CA", "NY", "NY", None, "NY"],
        "zip": [1, 1, 2, 1, 1, 1, 9],
        "city": ["a", "b", "c", "a", "a", "z", "q"],
        "age": [3, 4, None, 5, 6, 7, -1],
    }
)
RULES = ["zip -> city", "not(t1.age < 0)"]
# In conflict: the five rows of zip 1 (a b a a z) and the row of negative age. To delete: b, z and that row.
PROBLEMATIC, REPAIR = 6 / 7, 3 / 7


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    path = tmp_path / "t.ledger"
    Ledger.create(path, 2 * CERTAIN).close()
    return path


def test_rates_of_the_table() -> None:
    with Session(TABLE, constraints=RULES) as session:
        problematic = session.dp_inconsistency("problematic", CERTAIN, rate=True)
        repair = session.dp_inconsistency("repair", CERTAIN, rate=True)
        assert (problematic.value, repair.value) == (PROBLEMATIC, REPAIR)
        assert {problematic.quantity, repair.quantity} == {"share of rows"}
        assert problematic.lower <= PROBLEMATIC
        assert problematic.upper is None
        assert problematic.upper_reason is not None
        assert repair.upper is not None
        assert repair.lower <= REPAIR <= repair.upper
        assert session.spent() == 2 * CERTAIN
    assert dpdb.dp_inconsistency(TABLE, RULES, "repair", CERTAIN, rate=True).value == REPAIR  # type: ignore[union-attr]


@pytest.mark.heavy(family="alone")
def test_the_rows_counted_are_those_of_the_slice() -> None:
    """With rows on their own in conflict, NULLs, and an absent group: as `dp_count` counts."""
    with Session(TABLE, constraints=RULES) as session:
        for where in (None, "state = 'NY'", "age > 3", "state IS NULL", "zip > 99"):
            session.dp_inconsistency("repair", CERTAIN, where=where)
            (part,) = session.prepare(Ask(where=where, epsilon=1)).parts
            found = true_numbers(session).statistics(part.predicate)
            assert found.row_count == session.dp_count(CERTAIN, where=where).value
        by_state = session.dp_inconsistency("problematic", CERTAIN, by="state", keys=["CA", "NY", "TX"], rate=True)
        assert [release.value for release in by_state] == [2 / 3, 1 / 3, 0]  # type: ignore[union-attr]
        both = session.dp_inconsistency("all", CERTAIN, where="zip < 2", by="state", keys=["CA"], rate=True)
        assert [(r.measure, r.value) for r in both] == [("problematic", 1), ("repair", 0.5)]  # type: ignore[union-attr]


def test_rows_per_person_divides_both_parts() -> None:
    with Session(TABLE, constraints=RULES, rows_per_person=4) as many, Session(TABLE, constraints=RULES) as one:
        with replaced_noise(StubNoise()):
            shared = many.dp_inconsistency("repair", 2, rate=True)
            single = one.dp_inconsistency("repair", 0.5, rate=True)
        assert (shared.noise_scale, shared.lower, shared.upper) == (single.noise_scale, single.lower, single.upper)
        assert (shared.epsilon, many.spent(), single.epsilon) == (2, 2, 0.5)
        assert "up to 4 rows" in shared.guarantee


@pytest.mark.heavy
@pytest.mark.parametrize("epsilon", ["0.000001", 1, "1000000"])
@pytest.mark.parametrize("rows", [0, 1, 3])
def test_no_table_makes_a_rate_fail(rows: int, epsilon: object) -> None:
    for rules in (RULES, RULES[1:], ["not(t1.age < t2.age)"]):
        with Session(TABLE.slice(0, rows), constraints=rules) as session:
            for release in session.dp_inconsistency("all", epsilon, rate=True):  # type: ignore[call-overload]
                assert 0 <= release.lower <= 1
                assert 0 <= release.value <= 1


def test_a_run_id_knows_whether_a_rate_was_asked(ledger: Path) -> None:
    with Session(TABLE, constraints=RULES, ledger=ledger) as session:
        first = session.dp_inconsistency("problematic", 1, rate=True, run_id="x")
        assert session.dp_inconsistency("problematic", 1, rate=True, run_id="x") == first
        assert session.spent() == 1
        with pytest.raises(LedgerError, match="another request"):
            session.dp_inconsistency("problematic", 1, run_id="x")


def test_pairs_have_no_rate_and_the_refusal_costs_nothing() -> None:
    with Session(TABLE, constraints=RULES, budget=1) as session:
        with pytest.raises(ParameterError, match=r"no rate: it counts pairs of rows.*problematic or repair"):
            session.dp_inconsistency("minimal_inconsistency", 1, rate=True)
        with pytest.raises(ParameterError, match="unknown mechanism"):
            session.dp_inconsistency("repair", 1, mechanism="witness", rate=True)
        noise = StubNoise()
        with replaced_noise(noise), pytest.raises(BudgetExceededError):
            session.dp_inconsistency("repair", 2, rate=True)
        assert (noise.draws, session.spent()) == (0, 0)
        assert not true_numbers(session)


def test_a_failure_after_the_debit_costs_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: object) -> None:
        raise ValueError("7 rows")

    with Session(TABLE, constraints=RULES) as session:
        for name in ("noisy_count", "rate_answer"):
            spent = session.spent()
            with monkeypatch.context() as patched:
                patched.setattr(f"dpdb.release.measure_part.{name}", broken)
                with pytest.raises(EngineError, match="after its budget was debited") as caught:
                    session.dp_inconsistency("repair", 1, rate=True)
            assert "7 rows" not in str(caught.value)
            assert session.spent() == spent + 1


def test_the_debit_comes_before_the_count_is_drawn() -> None:
    with Session(TABLE, constraints=RULES) as session:
        seen = []
        with replaced_noise(StubNoise(lambda: seen.append(session.spent()))):
            session.dp_inconsistency("all", 1, rate=True)
    assert seen == [1.0] * 5


def test_a_count_needs_no_constraints() -> None:
    with Session(TABLE, budget=2 * CERTAIN) as session:
        assert session.dp_count(CERTAIN).value == 7  # type: ignore[union-attr]
        with pytest.raises(ParameterError, match="no constraints to measure"):
            session.dp_inconsistency("repair", 1)
        assert session.spent() == CERTAIN
