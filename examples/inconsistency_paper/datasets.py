"""The data sets and their dirty versions (section 6.1): subsets of at most 10,000 consistent rows, RNoise, CONoise.

Adult, Flight, Hospital and Stock are bundled (Stock as a sample of 10,000 rows) and real. Tax is generated in the
literature and here (`tax.py`). A folder given by --data goes before. Row numbers and cells differ from the paper's.
"""

from __future__ import annotations

import functools
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from common import Chosen
from tax import SEED, write_tax

from dpdb.constraints import DenialConstraint, functional_dependency, key_columns, load_constraints
from dpdb.owner.dirt import conoise, rnoise
from dpdb.owner.exact import exact_measures
from dpdb.release import Session

NAMES = ("stock", "tax", "hospital", "flight", "adult")
"""Ordered as in the paper, from the sparsest conflict graph to the densest."""

SUBSET = 10_000
"""Rows of the made Tax where no larger table is asked (section 6.1)."""

ALPHA = 0.01
ITERATIONS = 200

_HERE = Path(__file__).resolve().parent
_BUNDLED = (_HERE / "data", _HERE.parent / "data")


@dataclass(frozen=True)
class DataSet:
    """A table and its constraints."""

    name: str
    path: Path
    constraints: tuple[DenialConstraint, ...]

    @property
    def dependencies(self) -> int:
        """Functional dependencies, keys included as the paper counts them."""
        return sum(functional_dependency(dc) is not None or key_columns(dc) is not None for dc in self.constraints)


@functools.cache
def data_sets(data: Path | None) -> tuple[DataSet, ...]:
    """Find the five data sets, those in the folder `data` first, and say where they are from."""
    found = tuple(_find(name, data) for name in NAMES)
    print(f"data sets: {', '.join(f'{one.name} ({one.path.name})' for one in found)}")
    return found


def _find(name: str, data: Path | None) -> DataSet:
    for folder in (*([data] if data else []), *_BUNDLED):
        rules = folder / f"{name}.dcs.txt"
        for path in (folder / f"{name}_consistent.parquet", folder / f"{name}.parquet"):
            if path.exists() and rules.exists():
                return _read(name, path, rules)
    if name != "tax":
        sys.exit(f"{name}.parquet is neither in {data} nor bundled: is the clone complete?")
    return _read(name, _made(SUBSET), _BUNDLED[0] / "tax.dcs.txt")


def _read(name: str, path: Path, rules: Path) -> DataSet:
    return DataSet(name, path, tuple(load_constraints(rules, pq.read_schema(path).names)))


@functools.cache
def _made(rows: int) -> Path:
    """Generate Tax in a folder that goes with the process."""
    path = Path(_temporary().name) / f"tax_made_{rows}.parquet"
    write_tax(path, rows)
    return path


@functools.cache
def _temporary() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="tax")


def largest_data_set(chosen: Chosen) -> DataSet:
    """Tax for Figure 7: a file of enough rows in the folder of --data if there is one, else made."""
    (tax,) = (one for one in data_sets(chosen.data) if one.name == "tax")
    for path in (tax.path.with_name("tax_synthetic.parquet"), tax.path):
        if path.exists() and pq.read_metadata(path).num_rows >= chosen.scale.largest:
            return DataSet("tax", path, tax.constraints)
    return DataSet("tax", _made(chosen.scale.largest), tax.constraints)


@functools.lru_cache(maxsize=16)
def subset(data: DataSet, rows: int, seed: int = SEED) -> pa.Table:
    """At most `rows` random rows in table order, without those in conflict as published (53 rows of Hospital)."""
    table = pq.read_table(data.path)
    if table.num_rows > rows:
        chosen = np.random.default_rng(seed).choice(table.num_rows, rows, replace=False)
        table = table.take(np.sort(chosen))
    with Session(table, constraints=data.constraints) as session:
        if not session._private.statistics().graph.degree_summary().edge_count:
            return table
    return table.take(np.flatnonzero(~in_conflict(table, data.constraints)))


def in_conflict(table: pa.Table, constraints: Sequence[DenialConstraint]) -> np.ndarray:
    """Booleans, one per row: lists the conflicts, so for tables with few of them."""
    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder) / "violations.parquet"
        exact_measures(table, list(constraints), non_private=True, violations=found, time_limit=0.1)
        pairs = pq.read_table(found, columns=["row_1", "row_2"])
    hit = np.zeros(table.num_rows, np.bool_)
    for column in pairs.columns:
        hit[column.drop_null().to_numpy()] = True
    return hit


def rnoise_levels(data: DataSet, rows: int, levels: int, seed: int) -> Iterator[tuple[int, pa.Table]]:
    """(changes so far, table) at `levels` equal steps up to alpha = 0.01; each step dirties the table before it."""
    table = subset(data, rows)
    cells = table.num_rows * table.num_columns
    done = 0
    for level in range(levels):
        wanted = round(ALPHA * cells * (level + 1) / levels)
        table = rnoise(table, data.constraints, alpha=(wanted - done) / cells, seed=1000 * seed + level)
        done = wanted
        yield done, table


def conoise_levels(data: DataSet, rows: int, levels: int, seed: int) -> Iterator[tuple[int, pa.Table]]:
    """(iterations, table) at `levels` equal steps up to 200; one seed, so each table goes on where the last ended."""
    for level in range(levels):
        iterations = max(1, ITERATIONS * (level + 1) // levels)
        yield iterations, conoise(subset(data, rows), data.constraints, iterations=iterations, seed=seed)


LEVELS = {"rnoise": rnoise_levels, "conoise": conoise_levels}
