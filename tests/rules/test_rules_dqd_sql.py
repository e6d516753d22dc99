"""Exact values of imported checks are those of DQD's own SQL, check by check, on the synthetic set of the tutorial.

DQD's files and templates are not part of this repository. Whoever has them gives the folder of its CSV files and a JSON
file of its SQL by check id, rendered for DuckDB with tables in the schema `main` and GETDATE() as 2026-11-23.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import date
from pathlib import Path

import duckdb
import pytest

from dpdb.errors import UnknownColumnError
from dpdb.opening import open_local_table
from dpdb.rules import import_dqd

FILES, SQL = os.environ.get("DPDB_DQD_FILES"), os.environ.get("DPDB_DQD_SQL")
MAKE = Path(__file__).parents[2] / "examples" / "omop" / "make_tables.py"
_PERSONS = {"table_measureobservationperiodoverlap_observation_period"}  # DQD counts persons


@pytest.mark.slow
@pytest.mark.skipif(
    FILES is None or SQL is None,
    reason="DQD's files are not here: DPDB_DQD_FILES is the folder of its CSV files, DPDB_DQD_SQL its rendered SQL",
)
def test_exact_values_are_those_of_dqd(tmp_path: Path) -> None:
    assert FILES is not None
    assert SQL is not None
    subprocess.run([sys.executable, str(MAKE), str(tmp_path), "--persons", "2000"], check=True, capture_output=True)
    _make_odder(tmp_path)
    tables = {path.stem: path for path in tmp_path.glob("*.parquet")}
    queries = json.loads(Path(SQL).read_text())
    equal, other = 0, {}
    with duckdb.connect() as database:
        for name, path in tables.items():
            database.execute(f"CREATE TABLE {name} AS FROM '{path}'")
        for imported in import_dqd(FILES, "5.4", date(2026, 11, 23)):
            if imported.table not in tables:
                continue
            for name, ours in _counts(imported.table, {r.name or "": r.text for r in imported.rules}, tables).items():
                row = database.execute(queries[name]).fetchone()
                assert row is not None
                equal += row[0] == ours
                if row[0] != ours:
                    other[name] = (row[0], ours)
    print(f"{equal} checks equal, {len(other)} not: {other}")
    assert not other
    assert equal >= 300


def _make_odder(folder: Path) -> None:
    """Let births lack parts or be unknown, give visits times, and let some of both be of the day of birth."""
    births = (
        "CASE WHEN person_id % 3 > 0 THEN birth_datetime + INTERVAL (person_id % 24) HOUR END AS birth_datetime, "
        "CASE WHEN person_id % 7 > 0 THEN month_of_birth END AS month_of_birth, "
        "CASE WHEN person_id % 5 > 0 THEN day_of_birth END AS day_of_birth"
    )
    born = (
        "coalesce(birth_datetime::DATE, CASE WHEN coalesce(month_of_birth, 1) > 0 AND year_of_birth > 1800 "
        "THEN make_date(year_of_birth, coalesce(month_of_birth, 1), coalesce(day_of_birth, 1)) END)"
    )
    first = f"CASE WHEN visit_occurrence_id % 40 = 0 THEN {born} - (visit_occurrence_id % 3)::INTEGER END"
    day = f"coalesce({first}, visit_start_date)"
    changes = {
        "person": f"SELECT * REPLACE ({births}) FROM old",
        "visit_occurrence": (
            f"SELECT old.* REPLACE ({day} AS visit_start_date), "
            f"{day} + INTERVAL (visit_occurrence_id % 24) HOUR AS visit_start_datetime, "
            "visit_end_date + INTERVAL (visit_occurrence_id % 11) HOUR AS visit_end_datetime "
            "FROM old JOIN person USING (person_id)"
        ),
    }
    with duckdb.connect() as database:
        for name, query in changes.items():
            path = folder / f"{name}.parquet"
            database.execute(f"CREATE OR REPLACE TABLE old AS FROM '{path}'")
            database.execute(f"CREATE TABLE {name} AS {query}")
            database.execute(f"COPY {name} TO '{path}'")


def _counts(table: str, rules: dict[str, str], tables: dict[str, Path]) -> dict[str, int]:
    """Return how many rows violate each rule whose tables and columns are here; of keys, rows in duplicates."""
    parents = {name: str(path) for name, path in tables.items() if name != table}
    kept = {}
    for name, text in rules.items():
        try:
            with open_local_table(str(tables[table]), constraints=[text], public_parents=parents):
                kept[name] = text
        except UnknownColumnError:
            continue
        except Exception as error:
            if "is neither declared" not in str(error) and "public-parent" not in str(error):
                raise
    counts = {}
    with open_local_table(str(tables[table]), constraints=[*kept.values()], public_parents=parents) as opened:
        bound = {each.constraint.text: each for each in opened.constraints}
        for name, text in kept.items():
            rule = bound[text]
            if name in _PERSONS:
                [counts[name]] = opened.count_owners("person_id", [rule])
                continue
            kind = "violations" if rule.constraint.is_single_tuple else "rows in duplicates"
            asked = opened.exact_statistic([rule], kind, reversed_go=True)
            assert asked is not None
            [counts[name]] = opened.count_all(None, [asked])
    return counts
