"""`by_rule` on 1 and 10 million rows of the dirtied Tax table, beside the default: `pytest -m benchmark -s ...`.

The larger table is the smaller one ten times, each copy with areas, zips and states of its own, so that conflicts grow
like rows. The rules are the Tax table's without its orders, and one dependency with a condition: eight.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from benchmark_data import data_folder
from test_benchmark_graph import HERE, noisy

COPIES = 10
CONDITIONAL = "not(t1.gender='M'&t2.gender='M'&t1.zip=t2.zip&t1.area_code!=t2.area_code)"

pytestmark = pytest.mark.benchmark


def counted(source: str, rules: Path, *mechanism: str) -> dict[str, float]:
    command = [sys.executable, str(HERE / "run_by_rule.py"), source, str(rules), *mechanism]
    found: dict[str, float] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return found


def test_ten_times_the_rows(tmp_path: Path) -> None:
    one, rules = noisy(tmp_path, "tax_synthetic", "tax", 0.003, 1_000_000)[0], tmp_path / "rules.txt"
    lines = [line for line in (data_folder() / "tax.dcs.txt").read_text().splitlines() if ">" not in line]
    rules.write_text("\n".join([*lines, CONDITIONAL]))
    ten = str(tmp_path / "ten.parquet")
    with duckdb.connect() as connection:
        connection.execute("SET memory_limit = '4GB'; SET preserve_insertion_order = false")
        connection.execute(
            f"COPY (SELECT row.* REPLACE (k || ':' || state AS state, zip + k * 100000 AS zip, "
            f"area_code + k * 1000 AS area_code) FROM '{one}' AS row, range({COPIES}) AS copy(k)) "
            f"TO '{ten}' (FORMAT parquet, COMPRESSION zstd)"
        )
    small, default, large = counted(one, rules), counted(one, rules, "ladder"), counted(ten, rules)
    for label, found in (("1M, by_rule", small), ("1M, ladder", default), ("10M, by_rule", large)):
        print(f"{label:14}" + ", ".join(f"{name} {number:.2f}" for name, number in found.items()))
    print(f"    growth {large['cpu'] / small['cpu']:.1f}x, counting alone {large['counted'] / small['counted']:.1f}x;")
    print(f"    ladder takes {default['counted'] / small['counted']:.1f}x the processor time")
    assert large["cpu"] / small["cpu"] < 8
    assert default["counted"] > small["counted"]
    assert large["peak GB"] < 2
