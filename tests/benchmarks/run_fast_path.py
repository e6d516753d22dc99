"""Run in a fresh process: one fast path on and off, in turn; prints what each way takes as JSON.

Argument: the name of a case. Processor seconds, the least of five turns; for `thinned rows` the rows that come.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import numpy as np
import pyarrow as pa

import dpdb
from dpdb.graph import load_all_kernels
from dpdb.opening import open_table
from dpdb.release.statistics import SliceStatistics
from dpdb.remote import slice as remote_slice, thinning
from dpdb.thresholds import FEW_ROWS, MOST_HASHES, THINNED_ROUNDS, Threshold

sys.path.append(str(Path(__file__).parents[1]))
from asked_there import AskedThere

DATA = Path(__file__).parents[2] / "examples" / "data"
TURNS = 5


def seconds(run: Callable[[], object]) -> float:
    begun = time.process_time()
    run()
    return time.process_time() - begun


def compared(threshold: Threshold, off: float, run: Callable[[], object]) -> dict[str, float]:
    """Take both ways in turn, after one turn of each that does not count."""
    on = threshold.at
    found: dict[str, list[float]] = {"on": [], "off": []}
    for _ in range(TURNS + 1):
        for way, at in (("on", on), ("off", off)):
            threshold.at = at
            found[way].append(seconds(run))
    return {way: min(taken[1:]) for way, taken in found.items()}


def breakdown() -> dict[str, float]:
    """One release of `problematic` of the bundled table by state: slices of few rows."""
    hospital = str(DATA / "hospital.parquet")
    states = [state for (state,) in duckdb.sql(f"SELECT DISTINCT state FROM '{hospital}' ORDER BY 1").fetchall()]
    with dpdb.open(hospital, constraints=str(DATA / "hospital.dcs.txt")) as session:
        return compared(
            FEW_ROWS, 0, lambda: session.dp_inconsistency("problematic", 1.0, by="state", keys=states, theta=5)
        )  # fmt: skip


def key(columns: str, rows: int) -> dict[str, float]:
    """Count the fewest rows to delete of a clean key of a Parquet file."""
    with TemporaryDirectory() as folder:
        path = f"{folder}/rows.parquet"
        duckdb.sql(f"COPY (SELECT {columns} FROM range({rows}) AS t(i)) TO '{path}' (FORMAT parquet)")
        names = [name for name, *_ in duckdb.sql(f"DESCRIBE FROM '{path}'").fetchall()]
        with open_table(path, constraints=[f"UNIQUE({', '.join(names)})"], threads=2) as table:
            statistic = table.exact_statistic(list(table.constraints), reversed_go=True)
            assert statistic is not None
            return compared(MOST_HASHES, -1, lambda: table.count_all(None, [statistic]))


def thinned_rows(size: int, dirty: float) -> dict[str, float]:
    """Rows of a remote table of 200,000 that come for `repair` of two dependencies in groups of some size."""
    rows, draw = 200_000, np.random.default_rng(1)
    columns = {"id": np.arange(rows), "g": np.arange(rows) // size}
    columns |= {name: np.where(draw.random(rows) < dirty, draw.integers(1, 9, rows), 0) for name in ("v", "w")}
    came = {"on": 0, "off": 0}
    inner, way = remote_slice.in_parts, "on"

    def counted(*arguments: object) -> object:
        for part in inner(*arguments):  # type: ignore[arg-type]
            came[way] += part.num_rows
            yield part

    remote_slice.in_parts = thinning.in_parts = counted  # type: ignore[assignment]
    found = set()
    with open_table(AskedThere(pa.table(columns)), constraints=["g -> v", "g -> w"], gather_rows=rows) as table:
        for way, rounds in (("on", 2), ("off", 0)):  # noqa: B007 - `counted` reads it
            THINNED_ROUNDS.at = rounds
            found.add(SliceStatistics(table.slice()).twice_fractional_cover().value)
    assert len(found) == 1
    return {name: float(number) for name, number in came.items()}


CASES: dict[str, Callable[[], dict[str, float]]] = {
    "columns coded in one query: hospital by state": breakdown,
    "hashed keys: BIGINT, 1M rows": lambda: key("i::BIGINT AS k", 1_000_000),
    "hashed keys: text, 1M rows": lambda: key("'customer-' || lpad(hash(i)::VARCHAR, 20, '0') AS k", 1_000_000),
    "hashed keys: two columns, 10M rows": lambda: key(
        "(i % 5000)::INTEGER AS k, (i // 5000)::INTEGER AS l", 10_000_000
    ),
    "thinned rows: groups of 1,000": lambda: thinned_rows(1_000, 0.005),
    "thinned rows: groups of 100": lambda: thinned_rows(100, 0.01),
}

if __name__ == "__main__":
    load_all_kernels()
    print(json.dumps(CASES[sys.argv[1]]()))
