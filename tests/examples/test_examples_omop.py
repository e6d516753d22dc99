"""The generator of the tutorial's table set: the same set for the same seed, and as many errors as it says."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import duckdb
import pytest

MAKE = Path(__file__).parents[2] / "examples" / "omop" / "make_tables.py"


@pytest.fixture(scope="module")
def make_tables() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_tables", MAKE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_seed_makes_one_set_with_the_errors_that_it_names(make_tables: ModuleType, tmp_path: Path) -> None:
    for name in ("one", "two"):
        make_tables.write(make_tables.make(1_000, 7), tmp_path / name)
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()
    planted = {each["check"]: each for each in json.loads((tmp_path / "one" / "planted.json").read_text())}
    by_hand = {
        "field_plausiblevaluelow_person_month_of_birth": "FROM 'person.parquet' WHERE month_of_birth < 1",
        "field_isforeignkey_visit_occurrence_visit_concept_id": "FROM 'visit_occurrence.parquet' t "
        "WHERE NOT EXISTS (FROM 'concept.parquet' c WHERE c.concept_id = t.visit_concept_id)",
        "field_isprimarykey_visit_occurrence_visit_occurrence_id": "FROM 'visit_occurrence.parquet' "
        "QUALIFY count(*) OVER (PARTITION BY visit_occurrence_id) > 1",
        "table_measureobservationperiodoverlap_observation_period": "FROM 'observation_period.parquet' "
        "QUALIFY count(*) OVER (PARTITION BY person_id) > 1",
    }
    for check, rows in by_hand.items():
        query = f"SELECT count(*), count(DISTINCT person_id) FROM (SELECT * {rows})".replace(
            "FROM '", f"FROM '{tmp_path / 'one'}/"
        )
        assert duckdb.sql(query).fetchall() == [(planted[check]["rows"], planted[check]["persons"])]
