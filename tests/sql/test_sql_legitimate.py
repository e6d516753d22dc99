"""Statements that an analyst may well write: all are answered, and every release is drawn and paid for exactly once."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from case_share import fifth
from counting_noise import CountingNoise
from legitimate_statements import CASES, KINDS, Case

import dpdb
from dpdb.doors.sql import FrontEnd
from dpdb.privacy.noise import replaced_noise


def draws_of(session: dpdb.Session, kind: str, epsilon: float) -> int:
    """How often the release draws when it is made by the session alone."""
    noise = CountingNoise()
    function, options = KINDS[kind]
    with replaced_noise(noise):
        getattr(session, function)(epsilon=epsilon, **options)
    return noise.draws


def test_the_suite_is_large() -> None:
    assert len({case.sql for case in CASES}) == len(CASES) >= 100


@pytest.mark.heavy
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.sql[:60])
def test_a_legitimate_statement_is_answered_and_drawn_once(
    case: Case, front_end: FrontEnd, session: dpdb.Session
) -> None:
    wanted = sum(draws_of(session, kind, epsilon) for kind, epsilon in case.releases)
    noise, before = CountingNoise(), session.spent()
    with replaced_noise(noise):
        result = front_end.run(case.sql)
    assert noise.draws == wanted
    assert session.spent() - before == pytest.approx(sum(epsilon for _, epsilon in case.releases), abs=1e-9)
    assert front_end.kept == ()
    if case.rows is not None:
        rows = [tuple(row.values()) for row in renumbered(result.table).to_pylist()]
        assert [pytest.approx(row) for row in case.rows] == rows
    elif "EXPLAIN" not in case.sql.upper() and "DESCRIBE" not in case.sql:
        assert result.table.num_rows >= 1


def renumbered(table: pa.Table) -> pa.Table:
    """Columns by number, because two of them may have one name."""
    return table.rename_columns([str(position) for position in range(table.num_columns)])


def test_results_are_named_after_what_was_written(front_end: FrontEnd) -> None:
    with replaced_noise(CountingNoise()):
        table = front_end.run(
            "SELECT (dp_count('visits', epsilon := 1)).value, dp_count('visits', epsilon := 1).lower + 1, 2 AS two"
        ).table
    assert table.column_names == ["value", "dp_count('visits', epsilon := 1).lower + 1", "two"]


def test_explain_shows_the_cost_and_no_size(front_end: FrontEnd) -> None:
    rows = front_end.run(
        "EXPLAIN SELECT r.value FROM dp_inconsistency('visits', 'all', 3) r, dp_count('visits', epsilon := 1)"
    ).table
    assert rows.to_pylist()[0] == {"explain_key": "privacy_cost", "explain_value": "epsilon 4 by 2 releases"}
    assert "~0 rows" in rows.to_pylist()[1]["explain_value"]


@pytest.mark.heavy(family="alone")
def test_public_statements_mean_what_duckdb_makes_of_their_text(front_end: FrontEnd, public: dict[str, Path]) -> None:
    """What runs is written by our parser; on public tables DuckDB can read the original text."""
    comparable = [case for case in CASES if not (case.releases or "dp_" in case.sql or case.rows is None)]
    assert len(comparable) >= 30
    with duckdb.connect() as connection:
        for name, path in public.items():
            connection.execute(f"CREATE TABLE {name} AS FROM '{path}'")
        for case in fifth(comparable):
            found = [tuple(row.values()) for row in renumbered(front_end.run(case.sql).table).to_pylist()]
            assert found == connection.execute(case.sql).fetchall(), case.sql
