"""The synthetic table of `dpdb plan` under everyday rules: clean rows keep them, and dirt breaks some of them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from dpdb.constraints import load_constraints
from dpdb.errors import ParameterError
from dpdb.owner.planned_table import PlannedTable, consistent_rows, planned_table

TYPES = {
    "id": "BIGINT", "age": "INTEGER", "gender": "VARCHAR", "zip": "VARCHAR", "city": "VARCHAR", "tail": "VARCHAR",
    "start": "DATE", "stop": "DATE", "weight": "DOUBLE", "kind": "VARCHAR",
}  # fmt: skip
TEN = (
    "age >= 0", "CHECK (age BETWEEN 0 AND 120)", "gender IN ('F', 'M', 'U')", "NOT NULL(zip)", "zip -> city",
    "UNIQUE(id)", "CHECK (stop >= start)", "CHECK (length(zip) = 5)", "kind IN ('inpatient', 'outpatient')",
    "CHECK (tail LIKE 'N%' AND tail = upper(tail))",
)  # fmt: skip


def planned(rules: Sequence[str], **options: object) -> PlannedTable:
    dcs = load_constraints(list(rules))
    named = {name for dc in dcs for name in dc.table_columns}
    types = {name: kind for name, kind in TYPES.items() if name in named}
    given = {"rows": 400, "error_rate": 0.0, "distinct": {}, "values": {}, "seed": 3} | options
    return planned_table(dcs, types, **given)  # type: ignore[arg-type]


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize(
    "rule",
    [
        "gender IN ('F', 'M')", "CHECK (age BETWEEN 30 AND 40)", "tail LIKE 'N%'", "tail LIKE '%@%.org'",
        "CHECK (length(zip) = 5)", "CHECK (tail = upper(trim(tail)))", "CHECK (age % 10 = 3)",
        "CHECK (weight BETWEEN 0.5 AND 0.9)", "CHECK (start > DATE '2030-01-01' AND start < DATE '2031-01-01')",
        "CHECK (stop >= start)", "not(t1.gender != 'F' & t1.gender != 'it''s')",
    ],
)  # fmt: skip
def test_clean_rows_keep_a_rule_and_only_dirt_breaks_it(rule: str) -> None:
    dcs = load_constraints([rule])
    assert len(consistent_rows(planned([rule]).rows, dcs)) == 400
    dirty = planned([rule], error_rate=0.1)
    assert 300 < len(consistent_rows(dirty.rows, dcs)) < 400


@pytest.mark.heavy(family="long")
def test_ten_everyday_rules() -> None:
    made = planned(TEN)
    assert made.rows.num_rows == 400
    assert len(consistent_rows(made.rows, load_constraints(list(TEN)))) == 400
    assert (made.distinct["gender"], made.distinct["kind"], made.distinct["zip"]) == (3, 2, 20)
    [note] = made.notes
    assert note.endswith("they are not made around the rule: CHECK (stop >= start)")


@pytest.mark.heavy(family="privacy")
def test_what_a_rule_alone_does_not_tell_is_asked_for() -> None:
    with pytest.raises(ParameterError, match=r"no value of 'tail' is known that its rules allow .*--values tail=VALUE"):
        planned(["CHECK (length(tail) = 60)"])
    made = planned(["CHECK (length(tail) = 60)"], values={"tail": ["a" * 60, "b" * 60]})
    assert set(made.rows["tail"].to_pylist()) == {"a" * 60, "b" * 60}


@pytest.mark.heavy(family="long")
def test_the_rule_that_no_row_keeps_is_named_alone() -> None:
    rules = ["gender IN ('F', 'M')", "CHECK (stop >= start)", "CHECK (age = id // 100)"]
    with pytest.raises(ParameterError, match=r"not built around the rule: CHECK \(age = id // 100\); plan without it"):
        planned(rules)
    assert planned(rules, values={"id": ["150", "250"], "age": ["1", "2"]}).rows.num_rows == 400


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"age": ["x"]}, "one is none of its type, INTEGER"),
        ({"age": ["7", "200"]}, "its own rules do not allow all of them"),
        ({"agee": ["7"]}, "values of 'agee': no constraint has that column"),
    ],
)
def test_values_that_cannot_be(values: dict[str, list[str]], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        planned(["CHECK (age BETWEEN 0 AND 120)"], values=values)
