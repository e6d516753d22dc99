"""A breakdown by constraint: every constraint alone, one composed charge, slices and caches as for one release."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from inside import table_of, true_numbers

import dpdb
from dpdb.engine.slice import LocalSlice
from dpdb.errors import BudgetExceededError, EngineError, LedgerError, ParameterError
from dpdb.ledger import Ledger
from dpdb.privacy.epsilon import NANO, parse_epsilon, split
from dpdb.release import Release, Session
from dpdb.release.measure_part import MeasurePart

CERTAIN = 1_000_000  # the noise is 0 except with probability below exp(-1,000)
TABLE = pa.table(
    {
        "state": ["CA", "CA", "CA", "NY", "NY", None, "NY"],
        "zip": [1, 1, 2, 1, 1, 1, 9],
        "city": ["a", "b", "c", "a", "a", "z", "q"],
        "age": [3, 4, None, 5, -2, 7, -1],
    }
)
# The last two are one constraint.
RULES = ["zip -> city", "not(t1.age < 0)", "not(t1.age < t2.age & t1.zip < t2.zip)", "UNIQUE(state)", "unique(STATE)"]
MEASURES = ("minimal_inconsistency", "problematic", "repair")


def breakdown(session: Session, measure: str, epsilon: object, **options: object) -> tuple[Release, ...]:
    released = session.dp_inconsistency(measure, epsilon, each_constraint=True, **options)  # type: ignore[call-overload]
    assert isinstance(released, tuple)
    return released


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize("measure", MEASURES)
def test_each_constraint_is_measured_as_if_it_were_alone(measure: str) -> None:
    with Session(TABLE, constraints=RULES, row_bound=7) as session:
        releases = breakdown(session, measure, CERTAIN)
        assert [release.constraint for release in releases] == [str(dc) for dc in session.constraints]
        assert {r.constraints_sha256 for r in releases} == {
            session.dp_inconsistency("repair", epsilon=1).constraints_sha256
        }
        for constraint, release in zip(session.constraints, releases, strict=True):
            with Session(TABLE, constraints=[constraint], row_bound=7) as alone:
                expected = alone.dp_inconsistency(measure, release.epsilon)
                assert isinstance(expected, Release)
                assert (release.value, release.mechanism) == (expected.value, expected.mechanism)
                assert (release.estimand, release.quantity) == (expected.estimand, expected.quantity)


@pytest.mark.heavy(family="long")
def test_each_constraint_has_its_own_default_mechanism() -> None:
    with Session(TABLE, constraints=RULES, row_bound=7) as session:
        assert session.dp_inconsistency("minimal_inconsistency", epsilon=1).mechanism == "ladder"
        names = [release.mechanism for release in breakdown(session, "minimal_inconsistency", 1)]
        assert names == ["ladder", "violating_rows", "ladder", "ladder"]
        chosen = [release.mechanism for release in breakdown(session, "repair", 1, mechanism="greedy")]
        assert chosen == ["greedy"] * 4


@pytest.mark.heavy
@pytest.mark.parametrize("rows_per_person", [1, 3])
@pytest.mark.parametrize("measure", [*MEASURES, "all"])
def test_costs_add_up_to_one_debit(measure: str, rows_per_person: int) -> None:
    with Session(TABLE, constraints=RULES[:3], row_bound=7, rows_per_person=rows_per_person) as session:
        releases = breakdown(session, measure, "0.1")
        assert sum(round(release.epsilon * NANO) for release in releases) == parse_epsilon("0.1")
        assert session.spent() == 0.1
        per_constraint = len(releases) // 3
        costs = [
            sum(round(r.epsilon * NANO) for r in releases[k * per_constraint : (k + 1) * per_constraint])
            for k in range(3)
        ]
        assert costs == list(split(parse_epsilon("0.1"), (1, 1, 1)))
        assert all(r.guarantee.startswith("together with the releases of the same call, pure 0.1") for r in releases)


@pytest.mark.heavy(family="long")
def test_slices_and_groups() -> None:
    with Session(TABLE, constraints=RULES[:2]) as session:
        where = breakdown(session, "problematic", CERTAIN, where="state = 'CA'")
        assert [release.value for release in where] == [2, 0]
        groups = breakdown(session, "all", CERTAIN, where="zip < 5", by="state", keys=["NY", "CA"], rate=True)
        shown = [(r.where, r.constraint, r.measure, r.value) for r in groups]
        rules = [str(dc) for dc in session.constraints]
        values = iter([0, 0, 1 / 2, 1 / 2, 2 / 3, 1 / 3, 0, 0])
        assert shown == [
            (f"(zip < 5) AND state = '{key}'", rule, measure, next(values))
            for key in ("NY", "CA")
            for rule in rules
            for measure in ("problematic", "repair")
        ]
        assert session.spent() == 2 * CERTAIN


def test_one_constraint_alone_gets_all() -> None:
    with Session(TABLE, constraints=RULES[0]) as session:
        (release,) = breakdown(session, "repair", 1)
        assert (release.epsilon, session.spent()) == (1, 1)
        assert release.constraint == str(session.constraints[0])
    (again,) = dpdb.dp_inconsistency(TABLE, RULES[0], "repair", CERTAIN, each_constraint=True)  # type: ignore[misc]
    assert again.value == 2


@pytest.mark.heavy(family="long")
def test_the_graphs_are_built_once_and_dropped_with_their_slice(monkeypatch: pytest.MonkeyPatch) -> None:
    built = []
    real = LocalSlice.__init__

    def counted(self: LocalSlice, *args: object, **options: object) -> None:
        built.append(options["name"])
        real(self, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(LocalSlice, "__init__", counted)
    with Session(TABLE, constraints=RULES, row_bound=7) as session:
        for _ in range(2):
            breakdown(session, "all", 1)
            session.dp_inconsistency("all", epsilon=1)
        assert len(built) == 5
        for k in range(6):
            # the defaults of three of the four are counted without a graph
            breakdown(session, "repair", 1, where=f"age > {k}", mechanism="fractional")
        assert len(built) == 5 + 6 * 4
        kept = table_of(session).database.rows("SELECT 1 FROM duckdb_schemas() WHERE schema_name LIKE 'slice%'")
        assert len(kept) == 4 * 4


@pytest.mark.heavy(family="long")
def test_a_run_id_is_for_the_same_breakdown(tmp_path: Path) -> None:
    path = tmp_path / "t.ledger"
    Ledger.create(path, 1).close()
    with Session(TABLE, constraints=RULES[:2], ledger=path) as session:
        first = breakdown(session, "repair", 1, run_id="x")
        assert breakdown(session, "repair", 1, run_id="x") == first
        assert (session.spent(), len(first)) == (1, 2)
        with pytest.raises(LedgerError, match="another request"):
            session.dp_inconsistency("repair", 1, run_id="x")
        with pytest.raises(BudgetExceededError):
            breakdown(session, "repair", 0.1)


def test_refusals_cost_nothing_and_failures_cost_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: object) -> None:
        raise ValueError("3 rows")

    with Session(TABLE, constraints=RULES[:2], budget=3) as session:
        with pytest.raises(ParameterError, match=r"0\.000001 per row"):
            breakdown(session, "repair", "0.0000015")
        with pytest.raises(ParameterError, match="no rate"):
            breakdown(session, "minimal_inconsistency", 1, rate=True)
        with pytest.raises(BudgetExceededError):
            breakdown(session, "repair", 4)
        assert session.spent() == 0
        assert not true_numbers(session)
        seen = 0
        real = MeasurePart.answers

        def second_fails(*args: object) -> object:
            nonlocal seen
            seen += 1
            return real(*args) if seen == 1 else broken()  # type: ignore[arg-type]

        monkeypatch.setattr(MeasurePart, "answers", second_fails)
        with pytest.raises(EngineError, match="after its budget was debited"):
            breakdown(session, "repair", 1)
        assert (seen, session.spent()) == (2, 1)
