"""Rules with names, conditions and terms through a session: what is shown, charged and kept of them."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

import dpdb
from dpdb.constraints import load_constraints
from dpdb.errors import ConstraintTypeError, ParameterError, PredicateError
from dpdb.owner import exact_measures
from dpdb.owner.dirt import conoise, rnoise
from dpdb.release import Ask
from dpdb.release.explain import explain

TABLE = pa.table(
    {"zip": ["1", "1", "2", None], "city": ["a", "A ", "b", "c"], "age": pa.array([1, 2, 3, 400], pa.int16())}
)
RULES = ["city_by_zip: zip -> city", "old: CHECK (age < 60 + 60)", "not(lower(trim(t1.city)) = lower(trim(t2.city)))"]
IDENTITIES = [
    "city_by_zip: not(t1.zip=t2.zip&t1.city!=t2.city)",
    "old: not(t1.age >= 60 + 60)",
    RULES[2],
]
LABELS = [RULES[0], RULES[1], "not(lower(trim(t1.city)) = lower(trim(t2.city)))"]


def test_each_constraint_is_called_by_its_name_and_text() -> None:
    with dpdb.open(TABLE, constraints=RULES) as session:
        releases = session.dp_inconsistency("problematic", epsilon=3, each_constraint=True)
        assert [release.constraint_text for release in releases] == LABELS
        assert [release.constraint for release in releases] == IDENTITIES
        assert "city_by_zip: zip -> city" in str(releases)
        assert f"<code>{LABELS[1].replace('<', '&lt;')}</code>" in releases[1]._repr_html_()
    explained = explain(TABLE, RULES, edges="table")
    assert [each["constraint"] for each in explained["constraints"]] == LABELS
    assert "lower(trim(city))" in explained["constraints"][2]["sql"]
    assert sorted(explained["degree_bound"]["terms"]) == [
        "largest group of (lower(trim(city))) - 1",
        "largest group of (zip) - 1",
    ]


def test_a_release_is_compared_with_one_whose_constraint_was_written_otherwise() -> None:
    def released(rule: str) -> dpdb.Release:
        with dpdb.open(TABLE, constraints=rule) as session:
            [release] = session.dp_inconsistency("problematic", epsilon=3, each_constraint=True, theta=1)
            return release

    earlier, now = released("k: zip -> city"), released("k: not(t1.zip = t2.zip & t1.city != t2.city)")
    assert earlier.constraint_text != now.constraint_text
    assert now.change(earlier).earlier_id == earlier.release_id


def test_owners_see_exact_counts_by_name() -> None:
    measured = exact_measures(TABLE, RULES, non_private=True, by_constraint=True)
    assert [(rule.constraint, rule.violations) for rule in measured.by_constraint or ()] == [
        (each, 1) for each in LABELS
    ]


def test_messages_name_the_rule() -> None:
    with pytest.raises(ConstraintTypeError, match=r"^sum_of_text: not\(t1.zip \+ 1 > 2\): 'zip \+ 1' is not defined"):
        dpdb.open(TABLE, constraints="sum_of_text: not(t1.zip + 1 > 2)")


def test_a_name_does_not_change_the_request() -> None:
    def request(rules: list[str]) -> str:
        with dpdb.open(TABLE, constraints=rules) as session:
            return session.prepare(Ask.called("dp_inconsistency", {"epsilon": 1})).charge.request_text

    assert request(["a: zip -> city", "b: NOT NULL (age)"]) == request(["zip -> city", "not(t1.age IS NULL)"])
    assert request(["zip -> city"]) != request(["zip -> city WHERE age > 3"])


def test_what_where_computes_is_charged_for_every_row() -> None:
    with dpdb.open(TABLE, budget=1) as session:
        for where in ("abs(age) = 5", "age + 1 = 6", "lower(city) = 'a'"):
            prepared = session.prepare(Ask.called("dp_count", {"epsilon": 0.1, "where": where}))
            assert prepared.charge.coverage.covers_everything
            assert json.loads(prepared.charge.request_text)["where"].lower() == where
        assert not session.prepare(
            Ask.called("dp_count", {"epsilon": 1, "where": "age = 5"})
        ).charge.coverage.covers_everything
        with pytest.raises(PredicateError, match=r"selects no row"):
            session.dp_count(where="age + 1 = NULL", epsilon=0.1)
        assert session.spent() == 0


def test_a_unit_keeps_its_rows_under_computed_columns() -> None:
    with dpdb.open(TABLE, constraints=["CHECK (age + 1 < 3)"], unit="zip", max_rows=1) as session:
        assert session.dp_inconsistency("problematic", epsilon=1).value is not None


@pytest.mark.heavy(family="alone")
def test_plans_and_dirt_read_what_is_computed_or_say_why_not() -> None:
    columns = {"zip": "VARCHAR", "city": "VARCHAR"}
    rules = ["not(lower(t1.zip) = lower(t2.zip) & t1.city != t2.city)", "NOT NULL(city)"]
    assert (
        dpdb.plan(None, rules, rows=200, error_rate=0.01, schema=columns, repetitions=2).distinct.keys()
        == columns.keys()
    )
    with pytest.raises(ParameterError, match=r"not built around the rule: known: CHECK \(length"):
        dpdb.plan(
            None,
            "known: CHECK (length(zip) = length(city) * 100)",
            rows=200,
            error_rate=0,
            schema=columns,
            repetitions=2,
        )
    dcs = load_constraints("not(t1.age > t2.age + 60 & t1.zip = t2.zip)")
    dirty = rnoise(TABLE, dcs, alpha=0.5, seed=1)
    assert dirty.column("city") == TABLE.column("city")
    assert dirty != TABLE
    with pytest.raises(ParameterError, match=r"conoise changes what is compared"):
        conoise(TABLE, dcs, seed=1)
