"""Random tables and constraints: the engine's conflict graph is the one of the definition."""

import pytest
from case_share import of_all
from helpers_engine import Table, agree, conflicts, run
from hypothesis import given, settings, strategies as st
from strategies_engine import VALUES, questions

from dpdb.constraints import DenialConstraint, distinct
from dpdb.database.database import Database

Question = tuple[Table, list[DenialConstraint]]
DEFAULT = settings(derandomize=True, deadline=None, max_examples=of_all(25))
LONG = settings(derandomize=True, deadline=None, max_examples=4000)


def check(database: Database, question: Question) -> None:
    table, dcs = question
    agree(table, dcs, run(database, table, dcs))


@pytest.mark.heavy(family="long")
@DEFAULT
@given(questions())
def test_conflict_graph(database: Database, question: Question) -> None:
    check(database, question)


@pytest.mark.heavy(family="long")
@DEFAULT
@given(questions(kinds=["BIGINT", "DOUBLE", "DECIMAL(6,2)", "FLOAT"]))
def test_numbers_compare_across_types(database: Database, question: Question) -> None:
    check(database, question)


@pytest.mark.heavy(family="long")
@settings(DEFAULT, max_examples=of_all(12))
@given(questions(kinds=["DATE", "TIMESTAMP", "VARCHAR"]))
def test_times_and_text(database: Database, question: Question) -> None:
    check(database, question)


@pytest.mark.heavy
@pytest.mark.parametrize("kind", sorted(VALUES))
@settings(DEFAULT, max_examples=4)
@given(data=st.data())
def test_two_columns_of_one_type(database: Database, kind: str, data: st.DataObject) -> None:
    check(database, data.draw(questions(kinds=[kind, kind])))


@pytest.mark.heavy(family="privacy")
@settings(DEFAULT, max_examples=of_all(15))
@given(questions(), st.data())
def test_degree_bound_changes_by_its_sensitivity_at_most(
    database: Database, question: Question, data: st.DataObject
) -> None:
    table, dcs = question
    if not table.rows:
        return
    gone = data.draw(st.integers(0, len(table.rows) - 1))
    smaller = Table(table.types, table.rows[:gone] + table.rows[gone + 1 :])
    before, after = run(database, table, dcs), run(database, smaller, dcs)
    assert 0 <= before.degree_bound - after.degree_bound <= before.sensitivity
    assert after.degree_bound >= conflicts(smaller, distinct(dcs)).max_degree


@pytest.mark.slow
@LONG
@given(questions())
def test_conflict_graph_long(database: Database, question: Question) -> None:
    check(database, question)


@pytest.mark.slow
@LONG
@given(questions(kinds=["BIGINT", "DOUBLE", "DECIMAL(6,2)", "FLOAT"]))
def test_numbers_long(database: Database, question: Question) -> None:
    check(database, question)
