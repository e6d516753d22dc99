"""A hundred dependencies at once, beside their floor: `pytest -m benchmark -s tests/benchmarks/..._many_rules.py`.

Most rows break some rule, so pairs of each rule are compared with all earlier ones. The floor is a GROUP BY for each
rule in plain DuckDB; it counts groups in conflict, and makes no pair.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytestmark = pytest.mark.benchmark

HERE = Path(__file__).resolve().parent
ROWS, RULES, DIRTY = 100_000, 100, 0.003


def table(keys: int, groups: int) -> pa.Table:
    """Make keys with so many groups each; of a hundred columns that they determine, .3% of the values are others."""
    rng = np.random.default_rng(1)
    columns = {f"k{k}": rng.integers(0, groups, ROWS) for k in range(keys)}
    for rule in range(RULES):
        clean = rng.integers(0, 50, groups)[columns[f"k{rule % keys}"]]
        columns[f"b{rule}"] = np.where(rng.random(ROWS) < DIRTY, rng.integers(0, 50, ROWS), clean)
    return pa.table(columns)


def run(script: str, *arguments: str) -> dict[str, Any]:
    command = [sys.executable, str(HERE / script), *arguments]
    found: dict[str, Any] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return found


@pytest.mark.parametrize(("keys", "groups", "most"), [(100, 1000, 18), (100, 10, 40), (10, 1000, 13), (10, 10, 21)])
def test_a_hundred_dependencies_beside_a_group_by_for_each(tmp_path: Path, keys: int, groups: int, most: int) -> None:
    """What the ratios were when pairs were compared by minorities first, and a third more."""
    pq.write_table(table(keys, groups), tmp_path / "t.parquet")
    rules = [(f"k{rule % keys}", f"b{rule}") for rule in range(RULES)]
    (tmp_path / "rules.txt").write_text("".join(f"{key} -> {column}\n" for key, column in rules))
    pairs = [[["t1", key, "=", "t2", key], ["t1", column, "!=", "t2", column]] for key, column in rules]
    floor = run("run_floor.py", str(tmp_path / "t.parquet"), json.dumps(pairs))
    ours = run("run_dpdb.py", str(tmp_path / "t.parquet"), str(tmp_path / "rules.txt"))
    ratio = ours["cpu"] / floor["cpu"]
    print(
        f"{keys} keys of {groups} groups, {ours['edges']:,} pairs: {ours['cpu']:.1f} CPU s, {ours['peak GB']:.2f} GB; "
        f"floor {floor['cpu']:.2f} CPU s = {ratio:.1f}x"
    )
    assert ratio <= most
