"""`dp_diagnose` in a connection: once per statement, whatever its keys are; mistakes cost nothing."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from stub_noise import StubNoise
from visits_table import RULE

import dpdb
from dpdb.errors import BudgetExceededError, ParameterError, UnknownColumnError
from dpdb.ledger import Ledger
from dpdb.privacy.noise import replaced_noise

NAMED = "dp_diagnose('visits', by_column := 'state', group_keys := ['CA', 'NY'], epsilon := 0.5)"
MISTAKES = [
    ("dp_diagnose(NULL, 'state', ['CA', 'NY'], epsilon := 1)", ParameterError, "table_name is NULL"),
    ("dp_diagnose('visits', epsilon := 1)", ParameterError, "needs a column with its keys"),
    ("dp_diagnose('visits', 'state', epsilon := 1)", ParameterError, "go together"),
    ("dp_diagnose('visits', 'state', ['CA'], epsilon := 1)", ParameterError, "at least two keys"),
    ("dp_diagnose('visits', 'nope', ['CA', 'NY'], epsilon := 1)", UnknownColumnError, "no column 'nope'"),
    ("dp_diagnose('visits', 'state', ['CA', NULL], epsilon := 1)", ParameterError, "not a value"),
    ("dp_diagnose('visits', 'state', ['CA', 'NY'], NULL)", ParameterError, "epsilon is NULL"),
    ("dp_diagnose('visits', 'state', ['CA', 'NY'], 'nan')", ParameterError, "epsilon must be positive and finite"),
    ("dp_diagnose('visits', 'state', ['CA', 'NY'], 101)", BudgetExceededError, "requested epsilon 101"),
    ("dp_diagnose('visits', 'state', ['CA', 'NY'], top := 0, epsilon := 1)", ParameterError, "top must be"),
    (
        "dp_diagnose('visits', 'state', ['CA', 'NY'], expected := '2', epsilon := 1)",
        ParameterError,
        "expected must be a share",
    ),
    ("dp_diagnose('visits', 'state', ['CA', 'NY'], measure := NULL, epsilon := 1)", ParameterError, "measure is NULL"),
    (
        "dp_diagnose('visits', 'state', ['CA', 'NY'], measure := 'all', epsilon := 1)",
        ParameterError,
        "compares by one of repair",
    ),
    ("dp_diagnose('visits', rules := true, epsilon := 1)", ParameterError, "at least two rules"),
]


@pytest.mark.heavy
@pytest.mark.parametrize(("call", "kind", "says"), MISTAKES)
def test_mistakes_cost_nothing(
    registration: dpdb.Registration, noise: StubNoise, call: str, kind: type[Exception], says: str
) -> None:
    with pytest.raises(kind, match=says):
        registration.execute(f"FROM {call}")
    assert (noise.draws, registration.spent("visits")) == (0, 0)


@pytest.mark.heavy(family="long")
def test_a_statement_diagnoses_once(registration: dpdb.Registration) -> None:
    for free in (f"DESCRIBE FROM {NAMED}", f"EXPLAIN FROM {NAMED}"):
        registration.execute(free)
    assert registration.spent("visits") == 0
    found = registration.execute(f"SELECT a.rank, a.key FROM {NAMED} a JOIN {NAMED} b USING (rank)")
    assert found.to_pylist()[0] == {"rank": 1, "key": "CA"}
    assert registration.spent("visits") == 0.5
    both = "dp_diagnose('visits', ['state', 'zip'], [['CA', 'NY'], ['1', '2']], 1, where_clause := 'zip < 3')"
    [row] = registration.execute(f"SELECT DISTINCT worst_column, worst_key, slices, epsilon FROM {both}").to_pylist()
    assert row == {"worst_column": "zip", "worst_key": "1", "slices": 2, "epsilon": 1.0}
    parameters = ["state", ["CA", "NY"], 0.25]
    registration.execute("FROM dp_diagnose('visits', by_column := ?, group_keys := ?, epsilon := ?)", parameters)
    assert registration.spent("visits") == 1.75
    bits = NAMED.replace("epsilon := 0.5", "epsilon := 0.25, measure := 'maximal_consistency'")
    assert {row["statistic"] for row in registration.execute(f"FROM {bits}").to_pylist()} == {"decision bits"}
    assert registration.spent("visits") == 2


def test_a_run_is_answered_again_and_the_functions_go_with_the_registration(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    Ledger.create(tmp_path / "visits.ledger", 3).close()
    asked = f"FROM {NAMED[:-1]}, run_id := 'monday')"
    with (
        replaced_noise(StubNoise()),
        dpdb.register(connection, constraints=RULE, ledger=tmp_path / "visits.ledger") as registration,
    ):
        assert registration.execute(asked).equals(registration.execute(asked))
        assert registration.spent("visits") == 0.5
    with pytest.raises(duckdb.CatalogException, match="dp_diagnose"):
        connection.execute(asked)
