"""Make a folder with the five data sets of the experiments and their rules, from the bundled tables and by chance.

    python examples/make_data.py made                  # Tax with a million rows, Flight with 500,000
    python examples/make_data.py made --rows 100000    # both smaller

`accuracy.py`, `interval_coverage.py`, the figures of paper A (`--data made`) and the benchmarks read such a folder.
Hospital, Flight, Stock and Adult are the bundled real tables, and the large Flight is rows of the small one, drawn
again. Tax is made by the literature's recipe (`inconsistency_paper/tax.py`). Every table but Hospital keeps its rules;
the same seed makes the same tables.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dpdb.constraints import functional_dependency, load_constraints

EXAMPLES = Path(__file__).resolve().parent
BUNDLED = EXAMPLES / "inconsistency_paper" / "data"

sys.path.append(str(BUNDLED.parent))
from tax import SEED, write_tax  # noqa: E402 (a program beside this one)


def without_conflicts(table: pa.Table, rules: Path) -> pa.Table:
    """Leave out every row of a group in which a dependency is broken (103 rows of Hospital)."""
    known = [functional_dependency(dc) for dc in load_constraints(rules, table.column_names)]
    bad = np.zeros(table.num_rows, np.bool_)
    for rule in known:
        assert rule is not None, "only dependencies are looked at"
        left = list(zip(*(table.column(name).to_pylist() for name in rule.lhs), strict=True))
        right, seen = table.column(rule.rhs).to_pylist(), {}
        for key, value in zip(left, right, strict=True):
            seen.setdefault(key, set()).add(value)
        bad |= np.array([len(seen[key]) > 1 for key in left])
    return table.filter(pa.array(~bad))


def make_data(folder: Path, rows: int = 1_000_000, seed: int = SEED) -> None:
    """Make the folder; what is there already stays."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("adult", "flight", "stock"):
        for file in (f"{name}.parquet", f"{name}.dcs.txt"):
            shutil.copyfile(BUNDLED / file, folder / file)
    shutil.copyfile(BUNDLED / "tax.dcs.txt", folder / "tax.dcs.txt")
    for file in ("hospital.parquet", "hospital.dcs.txt"):
        shutil.copyfile(EXAMPLES / "data" / file, folder / file)
    table = pq.read_table(folder / "hospital.parquet")
    pq.write_table(without_conflicts(table, folder / "hospital.dcs.txt"), folder / "hospital_consistent.parquet")
    for path, many in ((folder / "tax.parquet", min(rows, 10_000)), (folder / "tax_synthetic.parquet", rows)):
        if not path.exists():
            write_tax(path, many, seed)
    if not (folder / "flight_synthetic.parquet").exists():
        small = pq.read_table(folder / "flight.parquet")
        drawn = np.random.default_rng([seed, 3]).integers(0, small.num_rows, min(rows, 500_000))
        pq.write_table(small.take(drawn), folder / "flight_synthetic.parquet", compression="zstd")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=1_000_000, help="of the large Tax (a million)")
    parser.add_argument("--seed", type=int, default=SEED)
    given = parser.parse_args()
    if given.rows < 1 or given.seed < 0:
        sys.exit("--rows must be at least 1, and --seed at least 0")
    make_data(given.folder, given.rows, given.seed)
