"""`dpdb.plan`: reads no row, simulates with the real noise, says what it did differently.

Statistical tests fail by chance with probability below 1e-8 each (their docstrings say why); there are three of them.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpdb
import dpdb.owner.expected_error as planning
from dpdb.database.database import Database
from dpdb.engine import TableSpec
from dpdb.errors import DpdbError, ParameterError, SourceError, UnknownColumnError
from dpdb.measures import measures_named
from dpdb.opening import empty_table, open_table
from dpdb.owner import planned_table
from dpdb.owner.exact import exact_measures
from dpdb.owner.simulation import Simulation
from dpdb.release.costs import risk_of

FD = "zip -> city"
SCHEMA = {"zip": "VARCHAR", "city": "VARCHAR"}
SMALL = {"rows": 400, "error_rate": 0.02, "repetitions": 2, "seed": 5}


def small(source=None, constraints=FD, *, schema=None, **changed):
    given = SCHEMA if source is None and schema is None else schema
    return dpdb.plan(source, constraints, schema=given, **(SMALL | changed))


# -- no row is read -------------------------------------------------------------------------------------------


class Exploding:
    """A stream whose schema can be seen and whose rows cannot."""

    schema = pa.schema([("zip", pa.string()), ("city", pa.string())])

    def __arrow_c_stream__(self, requested_schema=None):
        raise AssertionError("rows were read")


def exploding_batches():
    raise AssertionError("rows were read")
    yield


def parquet_without_pages(folder: Path) -> str:
    """A file whose footer is whole and whose pages are not."""
    path = folder / "t.parquet"
    pq.write_table(pa.table({"zip": ["a"] * 1000, "city": ["b"] * 1000}), path, compression=None)
    content = bytearray(path.read_bytes())
    pages = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    content[4:pages] = b"\xff" * (pages - 4)
    path.write_bytes(content)
    return str(path)


# A row of it cannot be made; its types are known without one.
VIEW = (
    "CREATE VIEW visits AS SELECT CASE WHEN range >= 0 THEN error('rows were read') ELSE '' END AS zip, 'x' AS city "
    "FROM range(9)"
)


def duckdb_file(folder: Path) -> str:
    path = folder / "t.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute(VIEW)
    return str(path)


def connection_with_view() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute(VIEW)
    return connection


UNREADABLE = {
    "stream": lambda folder: Exploding(),
    "reader": lambda folder: pa.RecordBatchReader.from_batches(Exploding.schema, exploding_batches()),
    "Parquet without pages": parquet_without_pages,
    "view in a file": duckdb_file,
    "view of a connection": lambda folder: connection_with_view(),
    "relation": lambda folder: connection_with_view().table("visits"),
}


@pytest.mark.heavy
@pytest.mark.parametrize("kind", UNREADABLE)
def test_no_row_of_the_source_is_read(kind, tmp_path):
    source = UNREADABLE[kind](tmp_path)
    planned = small(source)
    assert planned.rows == 400
    with pytest.raises((DpdbError, AssertionError)):  # whoever does read fails
        dpdb.dp_inconsistency(source, FD, epsilon=1)


@pytest.mark.heavy(family="long")
def test_the_only_statements_on_a_file_describe_it(tmp_path, monkeypatch):
    path = tmp_path / "visits.parquet"
    pq.write_table(pa.table({"zip": ["secret"] * 9, "city": ["x"] * 9}), path)
    statements = []
    for name in ("execute", "rows", "stream"):
        run = getattr(Database, name)
        monkeypatch.setattr(
            Database, name, lambda self, query, run=run: statements.append(str(query)) or run(self, query)
        )
    small(str(path))
    touching = [text for text in statements if "visits.parquet" in text]
    assert touching
    described = re.compile("DESCRIBE |.*parquet_(schema|kv_metadata)\\(", re.IGNORECASE)  # of the file's footer
    assert all(described.match(text) for text in touching)
    assert not any("secret" in text for text in statements)


@pytest.mark.heavy(family="long")
def test_the_rows_make_no_difference(tmp_path):
    """Two tables of one schema, one of them empty: with one seed, all but the noise is the same."""
    full, empty = tmp_path / "full.parquet", tmp_path / "empty.parquet"
    pq.write_table(pa.table({"zip": ["1", "1", "2"], "city": ["x", "y", "z"]}), full)
    pq.write_table(pa.table({"zip": pa.array([], pa.string()), "city": pa.array([], pa.string())}), empty)

    def without_noise(planned):
        truths = [(error.measure, error.mechanism, error.truth) for error in planned.expected]
        return planned.rows, planned.distinct, planned.notes, truths

    plans = [small(str(path)) for path in (full, empty)]
    assert without_noise(plans[0]) == without_noise(plans[1]) == without_noise(small())


@pytest.mark.heavy
@pytest.mark.parametrize(
    "source",
    [
        pa.table({"zip": ["1"], "city": ["x"]}),
        pd.DataFrame({"zip": ["1"], "city": [object()]}),
        pl.DataFrame({"zip": ["1"], "city": ["x"]}),
    ],
    ids=["pyarrow", "pandas", "Polars"],
)
def test_schemas_of_what_lives_in_this_process(source):
    assert small(source).distinct == {"zip": 20, "city": 20}


@pytest.mark.heavy(family="long")
def test_csv_columns_are_typed_by_the_schema(tmp_path):
    path = tmp_path / "visits.csv"
    path.write_text("zip,city,age\n\xff broken", encoding="latin-1")
    assert small(str(path), "not(t1.age < 18)", schema={"age": "INTEGER"}).distinct == {"age": 20}


# -- what is simulated ----------------------------------------------------------------------------------------


@pytest.mark.heavy(family="long")
def test_every_mechanism_is_simulated_or_said_to_be_skipped():
    known = {(measure.name, one.name): one for measure in measures_named("all") for one in measure.mechanisms}
    every = {key for key, one in known.items() if not one.is_default_where_it_applies}
    planned = small()
    shown = {(error.measure, error.mechanism) for error in planned.expected}
    skipped = {tuple(name.split()) for name in planned.skipped}
    defaults = {(error.measure, error.mechanism) for error in planned.expected if error.default}
    assert shown | skipped == every | defaults
    assert not shown & skipped
    assert {name for _, name in skipped} == {"em", "hierarchical", "baseline_max", "r2t"}
    assert set(planned.skipped.values()) == {"it needs a public max_degree"}
    with_degree = small(max_degree=100)
    assert {(error.measure, error.mechanism) for error in with_degree.expected} == every | defaults
    assert with_degree.skipped == {}
    assert [error.mechanism for error in with_degree.together] == ["ladder", "ladder", "fewest_deletions"]
    assert sum(error.epsilon for error in with_degree.together) == pytest.approx(1)


@pytest.mark.heavy(family="long")
def test_the_error_of_repair_is_that_of_its_noise():
    """E|DLap(1)| = 0.85 at epsilon 1. With q = 1/e, E exp(t |DLap(1)|) = (1 - q) / (1 + q) (1 + 2 q e^t / (1 - q e^t)),
    so by Chernoff's bound (t = 0.292, t = -0.444) the mean of 300 draws lies outside [0.5, 1.3] with probability below
    exp(-300 0.0724) + exp(-300 0.0689) < 2e-9."""
    table = pa.table({"zip": ["1"] * 90, "city": [str(k) for k in range(90)]})
    with dpdb.open(table, constraints=FD) as session:
        found = Simulation(session, repetitions=300, max_degree=None).alone(
            "repair", "fewest_deletions", 1, seconds=600
        )
    assert (found.repetitions, found.truth, found.default) == (300, 89, True)
    assert 0.5 < found.absolute_error < 1.3
    assert found.absolute_error <= found.absolute_error_90
    assert found.relative_error == found.absolute_error / 89
    assert found.lower_held > 0.8  # 0.975 expected


@pytest.mark.heavy(family="privacy")
def test_at_a_huge_epsilon_what_loses_nothing_has_no_error():
    """Noise of scale 1e-3 and less is 0 but with probability exp(-1000)."""
    planned = small(epsilon=100_000, max_degree=399)
    exact = {("repair", "fewest_deletions"), ("minimal_inconsistency", "baseline_max"), ("problematic", "baseline_max")}
    for error in planned.expected:
        assert error.lower_held == 1
        if (error.measure, error.mechanism) in exact:
            assert error.absolute_error == 0


def test_the_truth_is_that_of_the_synthetic_table():
    table = pa.table({"zip": ["1"] * 6 + ["2"], "city": ["x", "x", "x", "x", "y", "z", "w"]})
    exact = exact_measures(table, FD, non_private=True)
    with dpdb.open(table, constraints=FD) as session:
        simulation = Simulation(session, repetitions=1, max_degree=None)
    assert simulation.truth == {
        "minimal_inconsistency": exact.minimal_inconsistency,
        "problematic": exact.problematic,
        "repair": exact.repair_lower,
    }


@pytest.mark.heavy(family="long")
def test_a_target_names_the_smallest_epsilon_of_the_ladder():
    """A target that every release meets, and one that means no noise in 18 of 20 releases at epsilon 10: the noise of
    `bound` has a scale of at least 2, so that happens with probability below 190 (1 / 4)^18 < 1e-8."""
    reached = small(target=1e9).smallest_epsilon
    assert reached == {"minimal_inconsistency": 0.1, "problematic": 0.1, "repair": 0.1}
    assert small(target=1e-9, repetitions=20).smallest_epsilon["minimal_inconsistency"] is None
    assert small().smallest_epsilon == {}


@pytest.mark.heavy(family="long")
def test_a_clean_table_has_no_relative_error():
    planned = small(error_rate=0)
    assert {error.truth for error in planned.expected} == {0}
    assert {error.relative_error for error in planned.expected} == {None}
    assert small(error_rate=0, target=0.1).smallest_epsilon["repair"] is None


@pytest.mark.heavy(family="long")
def test_more_time_than_there_is_means_fewer_repetitions(monkeypatch):
    monkeypatch.setattr(planning, "_SECONDS", 0.0)
    assert {error.repetitions for error in small(repetitions=40).expected} == {5}


# -- what is different from the guess --------------------------------------------------------------------------


@pytest.mark.heavy(family="long")
def test_larger_tables_are_scaled_down_and_that_is_said(monkeypatch):
    monkeypatch.setattr(planned_table, "MOST_ROWS", 300)
    planned = small(rows=9000, distinct={"zip": 900})
    assert planned.rows == 300
    assert planned.distinct == {"zip": 30, "city": 3}
    assert "planned on 300 rows instead of 9,000" in planned.notes[0]


@pytest.mark.heavy(family="long")
def test_general_constraints_are_met_by_leaving_rows_out(monkeypatch):
    rules = [FD, "not(t1.start > t1.stop)"]
    schema = SCHEMA | {"start": "INTEGER", "stop": "INTEGER"}
    planned = small(constraints=rules, schema=schema, error_rate=0)
    assert planned.rows == 400
    assert {error.truth for error in planned.expected} == {0}
    assert "not made around the rule: not(t1.start > t1.stop)" in planned.notes[0]
    monkeypatch.setattr(planned_table, "MOST_ROWS_IF_GENERAL", 100)
    pairwise = small(constraints=[FD, "not(t1.start = t2.stop and t1.zip = t2.zip)"], schema=schema, error_rate=0)
    assert {error.truth for error in pairwise.expected} == {0}
    assert 25 <= pairwise.rows <= 100
    assert f"only {pairwise.rows} that agree with one another were kept" in pairwise.notes[1]


@pytest.mark.heavy(family="long")
def test_constraints_without_a_synthetic_table_are_refused():
    with pytest.raises(ParameterError, match=r"only \d agree with one another; it is not built around the rule"):
        small(constraints="not(t1.zip != t2.city)")


BAD = [
    ({"rows": 0}, ParameterError, "rows must be a whole number"),
    ({"error_rate": 1.5}, ParameterError, "error_rate must be"),
    ({"epsilon": 0}, ParameterError, "epsilon must be"),
    ({"repetitions": 0}, ParameterError, "repetitions must be"),
    ({"seed": -1}, ParameterError, "seed must be"),
    ({"target": 0}, ParameterError, "target must be"),
    ({"max_degree": 0}, ParameterError, "max_degree must be"),
    ({"distinct": {"zip": 401}}, ParameterError, "401 are more than the 400 rows"),
    ({"distinct": {"zip": 0}}, ParameterError, "must be a whole number"),
    ({"distinct": {"zap": 4}}, ParameterError, "no constraint has that column"),
    ({"schema": {}}, ParameterError, "needs a source"),
    ({"schema": {"zip": "VARCHAR", "city": "NOTATYPE"}}, SourceError, "not a SQL type"),
    ({"schema": {"zip": "VARCHAR"}}, UnknownColumnError, "city"),
    (
        {"source": pa.table({"zip": [1], "city": [1]}), "schema": SCHEMA},
        SourceError,
        "columns without a type",
    ),
    ({"source": "missing.parquet"}, SourceError, "no such file"),
]


@pytest.mark.heavy
@pytest.mark.parametrize(("changed", "error", "message"), BAD, ids=[message for _, _, message in BAD])
def test_bad_guesses_are_refused(changed, error, message):
    with pytest.raises(error, match=message):
        small(**changed)


def test_a_table_without_rows_has_the_schema_of_the_source(hospital):
    with empty_table(TableSpec(str(hospital))) as empty, open_table(str(hospital)) as opened:
        assert empty.schema == opened.schema


@pytest.mark.heavy(family="long")
def test_a_target_shows_the_risk_beside_the_accuracy():
    """Every epsilon that was tried, up to the one that is recommended; e^1 and e^1 / (1 + e^1) by hand."""
    planned = small(target=1e9)
    assert (planned.risk.epsilon, round(planned.risk.odds_factor, 4), round(planned.risk.attacker_accuracy, 5)) == (
        1.0, 2.7183, 0.73106,
    )  # fmt: skip
    [rung] = planned.ladder
    assert rung.risk.epsilon == 0.1
    assert set(rung.relative_error_90) == {"minimal_inconsistency", "problematic", "repair"}
    assert small().ladder == ()
    assert planned.to_dict()["ladder"][0]["risk"]["odds_factor"] == pytest.approx(1.1051709)


@pytest.mark.parametrize("epsilon", [0.001, 0.1, 1, 5])
def test_the_risk_is_that_of_the_worst_mechanism(epsilon):
    """Randomized response reaches both figures, and no epsilon-DP mechanism exceeds them (binary worst case)."""
    risk = risk_of(epsilon)
    right = math.exp(epsilon) / (1 + math.exp(epsilon))
    assert risk.attacker_accuracy == pytest.approx(right)
    assert risk.odds_factor == pytest.approx(right / (1 - right))
    assert risk_of(10**6).attacker_accuracy == 1.0
