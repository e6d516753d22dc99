"""The made data sets keep their rules, are the same again, and are what benchmarks and experiments find in a clone."""

from __future__ import annotations

import hashlib
import importlib
import sys
from pathlib import Path
from types import ModuleType

import pyarrow.parquet as pq
import pytest

from dpdb.owner import exact_measures

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
ROWS = 3_000
TABLES = {
    "tax": ("tax", ROWS),
    "tax_synthetic": ("tax", ROWS),
    "adult": ("adult", 32_561),
    "flight": ("flight", 9_746),
    "flight_synthetic": ("flight", ROWS),
    "stock": ("stock", 10_000),
    "hospital_consistent": ("hospital", 9_897),
}


@pytest.fixture(scope="module")
def make_data() -> ModuleType:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(EXAMPLES))
        return importlib.import_module("make_data")


@pytest.fixture(scope="module")
def folder(make_data: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made: Path = tmp_path_factory.mktemp("made")
    make_data.make_data(made, ROWS)
    return made


@pytest.mark.heavy
@pytest.mark.parametrize("table", TABLES)
def test_a_made_table_keeps_its_rules(table: str, folder: Path) -> None:
    rules, rows = TABLES[table]
    found = exact_measures(folder / f"{table}.parquet", folder / f"{rules}.dcs.txt", non_private=True)
    assert (found.rows, found.drastic) == (rows, 0)


def test_the_bundled_hospital_table_loses_the_rows_of_broken_groups(folder: Path) -> None:
    """103 rows are in some conflict (README's demo), and each of them is in a group that breaks a dependency."""
    before, after = (pq.read_metadata(folder / f"hospital{end}.parquet").num_rows for end in ("", "_consistent"))
    assert before - after == 103


def test_the_same_seed_makes_the_same_tables_and_another_one_others(
    make_data: ModuleType, folder: Path, tmp_path: Path
) -> None:
    def digest(made: Path) -> str:
        return hashlib.sha256((made / "tax_synthetic.parquet").read_bytes()).hexdigest()

    make_data.make_data(tmp_path / "again", ROWS)
    make_data.make_data(tmp_path / "other", ROWS, seed=7)
    assert digest(tmp_path / "again") == digest(folder) != digest(tmp_path / "other")


def test_a_large_tax_has_one_phone_for_each_row_across_batches(
    make_data: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys.modules[make_data.write_tax.__module__], "BATCH", 700)
    make_data.write_tax(tmp_path / "tax.parquet", ROWS, 1)
    table = pq.read_table(tmp_path / "tax.parquet")
    assert len(set(table["phone"].to_pylist())) == table.num_rows == ROWS


def test_adult_is_the_table_of_its_repository(folder: Path) -> None:
    """Counts that the repository's documentation prints: incomes, sexes, and what is missing (`?`)."""
    table = pq.read_table(folder / "adult.parquet")
    counts = {
        (name, value): table[name].to_pylist().count(value)
        for name, value in (
            ("income", ">50K"),
            ("income", "<=50K"),
            ("sex", "Male"),
            ("workclass", "?"),
            ("occupation", "?"),
            ("native_country", "?"),
        )
    }
    assert list(counts.values()) == [7_841, 24_720, 21_790, 1_836, 1_843, 583]
    assert (table.num_rows, table.num_columns) == (32_561, 15)
