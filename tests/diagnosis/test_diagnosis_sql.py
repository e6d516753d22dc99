"""`FROM dp_diagnose(...)`: the same answer as in Python, literals only, planned without rows, once per statement."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from stub_noise import StubNoise

import dpdb
from dpdb.diagnosis import DIAGNOSIS_SCHEMA
from dpdb.doors.sql import FrontEnd
from dpdb.errors import DpdbError
from dpdb.privacy.noise import replaced_noise

TABLE = pa.table(
    {
        "state": ["a", "b", "c", "a"] * 50,
        "sex": ["F", "F", "M", "M"] * 50,
        "zip": list(range(200)),
        "age": [-1 if k % 4 == 1 else 30 for k in range(200)],
    }
)
ONE = "dp_diagnose('t', by := 'state', keys := ['a', 'b', 'x'], epsilon := 1)"


@pytest.fixture
def door() -> Iterator[FrontEnd]:
    rules = ["not(t1.age < 0)", "UNIQUE(zip)"]
    with (
        dpdb.open(TABLE, constraints=rules, budget=10) as session,
        FrontEnd(session, "t", seconds=20) as door,
        replaced_noise(StubNoise()),
    ):
        yield door


@pytest.mark.heavy(family="long")
def test_rows_are_named_slices(door: FrontEnd) -> None:
    found = door.run(f"SELECT * FROM {ONE}").table
    assert found.schema.names == DIAGNOSIS_SCHEMA.names
    assert found["key"].to_pylist() == ["b", "a", "x"]
    assert found["by_column"].to_pylist() == ["state"] * 3
    assert door.session.spent() == 1


@pytest.mark.heavy(family="long")
def test_several_columns_and_rules(door: FrontEnd) -> None:
    call = (
        "dp_diagnose('t', ['state', 'sex'], [['a', 'b'], ['F', 'M']], 2, top := 1, expected := '10%', rules := true, "
        "where := 'zip >= 0', confidence := 0.9, label := 'why')"
    )
    [row] = door.run(f"SELECT worst_column, worst_key, key, rule, rank FROM {call}").table.to_pylist()
    assert (row["worst_key"], row["rank"]) in {("b", 1), ("F", 1)}
    assert row["rule"].startswith("not")
    [row] = door.run("SELECT rank, rule FROM dp_diagnose('t', rules := true, epsilon := .5)").table.to_pylist()
    assert row["rank"] is None


@pytest.mark.heavy(family="spending")
def test_the_same_call_twice_is_one_release_and_explain_costs_nothing(door: FrontEnd) -> None:
    shown = door.run(f"EXPLAIN SELECT * FROM {ONE}").table.to_pylist()
    assert shown[0]["explain_value"] == "epsilon 1 by 1 release"
    assert door.session.spent() == 0
    door.run(f"SELECT count(*) FROM {ONE} AS one JOIN {ONE} AS two USING (key)")
    assert door.session.spent() == 1


@pytest.mark.heavy
@pytest.mark.parametrize(
    "call",
    [
        "dp_diagnose('t', by := 'state', epsilon := 1)",
        "dp_diagnose('t', by := 'state', keys := [['a'], ['b']], epsilon := 1)",
        "dp_diagnose('t', by := ['state', 'sex'], keys := ['a', 'b'], epsilon := 1)",
        "dp_diagnose('t', by := 'state', keys := [['a', ['b']]], epsilon := 1)",
        "dp_diagnose('t', by := state, keys := ['a', 'b'], epsilon := 1)",
        "dp_diagnose('t', by := 'state', keys := ['a', 'a'], epsilon := 1)",
        "dp_diagnose('t', by := 5, keys := ['a', 'b'], epsilon := 1)",
        "dp_diagnose('t', by := 'state', keys := ['a', 'b'], top := 'many', epsilon := 1)",
        "dp_diagnose('t', by := 'state', keys := ['a', 'b'], colour := 1, epsilon := 1)",
        "dp_diagnose('other', by := 'state', keys := ['a', 'b'], epsilon := 1)",
        "dp_diagnose(by := 'state', keys := ['a', 'b'], epsilon := 1)",
        "dp_diagnose('t', by := 'nowhere', keys := ['a', 'b'], epsilon := 1)",
    ],
)
def test_bad_calls_spend_nothing(door: FrontEnd, call: str) -> None:
    with pytest.raises(DpdbError) as caught:
        door.run(f"SELECT * FROM {call}")
    assert "\n" not in str(caught.value)
    assert door.session.spent() == 0


def test_as_a_number_it_is_refused_and_discover_is_no_function(door: FrontEnd) -> None:
    for text in (f"SELECT ({ONE}).key", "SELECT * FROM dp_discover('t')", "SELECT * FROM rules_discover('t')"):
        with pytest.raises(DpdbError):
            door.run(text)
    assert door.session.spent() == 0


@pytest.mark.heavy(family="long")
def test_a_run_in_a_ledger_is_answered_again(tmp_path: Path) -> None:
    from dpdb.ledger import Ledger

    Ledger.create(tmp_path / "l", 1).close()
    noise = StubNoise()
    named = ONE.replace("epsilon := 1", "epsilon := 1, run_id := 'r'")
    rules = ["not(t1.age < 0)"]
    with (
        dpdb.open(TABLE, constraints=rules, ledger=tmp_path / "l") as session,
        FrontEnd(session, "t", seconds=20) as door,
        replaced_noise(noise),
    ):
        first = door.run(f"SELECT * FROM {named}").table
        drawn = noise.draws
        assert door.run(f"SELECT * FROM {named}").table == first
        assert noise.draws == drawn
        assert session.spent() == 1
