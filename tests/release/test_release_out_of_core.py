"""Too little memory spills and changes no answer; too little disk is one clear error that leaves nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from inside import table_of

from dpdb.errors import EngineError
from dpdb.release import Session
from dpdb.thresholds import FEW_TEXTS

ROWS = 400_000
RULES = ["zip -> city", "not(t1.state=t2.state&t1.pay>t2.pay&t1.rate<t2.rate)"]
LIMIT = "32MiB"


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a table that does not fit in the limit, consistent but for a few rows."""
    zips = np.arange(ROWS) % 5_000
    city = np.char.add("a rather long name of the city number ", (zips // 7).astype(str))
    city[::9_973] = "nowhere"
    pay = (np.arange(ROWS) * 7_919) % 100_003
    columns = {"zip": zips, "city": city, "state": zips % 50, "pay": pay, "rate": pay // 100}
    path = tmp_path_factory.mktemp("large") / "large.parquet"
    pq.write_table(pa.table(columns), path)
    return path


@pytest.mark.heavy(family="privacy")
def test_a_memory_limit_spills_and_changes_no_answer(table: Path, tmp_path: Path) -> None:
    values = []
    for limits in ({}, {"memory_limit": LIMIT, "temp_directory": tmp_path, "threads": 1}):
        with Session(table, constraints=RULES, **limits) as session:  # type: ignore[arg-type]
            # scale 2e-6: the noise is 0 except with probability below exp(-500,000)
            values.append(session.dp_inconsistency("repair", 1_000_000).value)
    assert values[0] == values[1] > 0
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_one_constant_error_and_leaves_nothing(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Texts are copied whole: their hashes fit into the limit."""
    monkeypatch.setattr(FEW_TEXTS, "at", 2**62)
    with Session(table, constraints=RULES, budget=3, memory_limit=LIMIT, temp_directory=tmp_path, threads=1) as session:
        table_of(session).database.execute("SET max_temp_directory_size = '1MB'")
        with pytest.raises(EngineError, match="failed after its budget was debited") as caught:
            session.dp_inconsistency("repair", 1)
        assert caught.value.__cause__ is None
        assert session.spent() == 1.0
    assert list(tmp_path.iterdir()) == []
