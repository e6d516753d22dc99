"""Checks of the columns: exact verdicts from public facts, which cost nothing and are tested beside all others."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pyarrow as pa
import pytest

import dpdb
from dpdb.constraints import load_constraints
from dpdb.errors import ConstraintSyntaxError, ParameterError
from dpdb.ledger import Ledger
from dpdb.suites import Session, load_suite, prepare_check

TABLE = pa.table({"id": pa.array([1, 2], pa.int64()), "Email": ["a", None], "total": pa.array([1.5, 2.5])})
LINES = {
    "schema has (id, email)": [],
    "schema has (ID BIGINT, total double)": [],
    "schema has (id INTEGER)": ["id is BIGINT, not INTEGER"],
    "schema has (total DECIMAL(12, 2), gone)": ["total is DOUBLE, not DECIMAL(12, 2)", "no column gone"],
    "schema has no (ssn, phone)": [],
    "schema has no (EMAIL, ssn)": ["Email is there"],
    "schema is (id, email, total)": [],
    "schema is (total, id, email)": [],
    "schema is (total, id, email) in order": ["id, Email, total is the order, not total, id, Email"],
    "schema is (id, email)": ["total is there, too"],
    "schema has (id, total) IN ORDER": [],
    "schema has (total, id) in order": ["id, total is the order, not total, id"],
    'schema has ("e mail", `id`)': ["no column e mail"],
}


@pytest.mark.heavy
@pytest.mark.parametrize("line", LINES)
def test_a_verdict_says_what_differs(line: str) -> None:
    [check] = dpdb.check(TABLE, f"{line}\n")
    assert (check.differs or "").split("; ") == (LINES[line] or [""])
    assert (check.verdict, check.severity) == ("fail" if LINES[line] else "pass", "fail")
    assert check.lower == check.upper == len(LINES[line])


def test_columns_alone_cost_nothing_and_read_no_row(tmp_path: Path) -> None:
    Ledger.create(tmp_path / "l", 1).close()
    with Session(TABLE, ledger=tmp_path / "l") as session:
        found = session.check("schema has (id)\nsecret: schema has no (email)  warn above 0\n")
        assert [check.name for check in found] == ["schema has (id)", "secret"]
        assert (found.exit_code, found.epsilon, found.epsilon_reserved) == (0, 0, 0), "a warning fails nothing"
        assert found[1].verdict == "fail"
        assert session.spent() == 0
        with pytest.raises(ParameterError, match="all checks are of the columns"):
            prepare_check(session, "schema has (id)\n")


def test_beside_others_they_change_nothing_that_is_drawn_or_charged(tmp_path: Path) -> None:
    rules = "id -> total\nrow_count  fail below 1\n"
    with Session(TABLE, constraints="id -> total", budget=10) as session:
        plain, beside = (prepare_check(session, text, run_id=None) for text in (rules, f"schema has (x)\n{rules}"))
        assert plain.plan == beside.plan
        assert plain.charge.request == beside.charge.request
        found = session.check(f"schema has (x)\n{rules}", 1)
        assert [check.statistic for check in found] == ["violations", "row_count", "schema"]
        assert found.exit_code == 1, "a column is missing"
        assert session.spent() == found.epsilon
        assert json.loads(found.to_json())["checks"][2]["differs"] == "no column x"
        assert found.to_arrow().num_rows == 3


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("schema has ()", "a column"),
        ("schema is no (id)", r"'\(' and columns"),
        ("schema has (id, ID)", "each column once"),
        ("schema has no (id INTEGER)", r"',' or '\)'"),
        ("schema has no (id) in order", "the end of the line"),
        ("schema has (id) anyhow", "IN ORDER or the end"),
        ("schema has (id)  fail above 1", "'warn above 0' or no limit"),
        ("schema has (id)  fail below 5", "'warn above 0' or no limit"),
        ("schema has (id DECIMAL(12)", r"a type, ',' or '\)'"),
    ],
)
def test_what_is_no_line_is_refused(line: str, problem: str) -> None:
    with pytest.raises(ConstraintSyntaxError, match=problem):
        load_suite(f"{line}\n")


def test_a_type_that_is_none_is_refused_before_anything_is_spent() -> None:
    with Session(TABLE, constraints="id -> total", budget=1) as session:
        with pytest.raises(ParameterError, match="no type of DuckDB"):
            session.check("schema has (id MONEYS(1,))\nid -> total\n", 1)
        assert session.spent() == 0


def test_a_column_called_schema_has_rules_as_before() -> None:
    [line] = load_suite("schema -> has\n").lines
    assert set(line.rule.columns) == {"schema", "has"}  # type: ignore[union-attr]
    assert load_suite("schema IS NOT NULL\n").lines[0].rule is not None
    assert load_suite("schema is null or id > 3\n").lines[0].rule is not None


def test_rules_of_a_suite_are_constraints_without_them() -> None:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert len(load_constraints(["schema has (id)\nid -> total\n"])) == 1
    assert "1 line about the columns" in str(said[0].message)
