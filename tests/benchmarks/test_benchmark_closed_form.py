"""Exact statistics of rules beside plain GROUP BY, one and many in one call: `pytest -m benchmark -s ...`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

HERE = Path(__file__).parent
ROWS = 10_000_000
COLUMNS, WIDE_ROWS = 60, 1_000_000

pytestmark = pytest.mark.benchmark


def counted(source: Path, rules: list[str], *columns: str) -> dict[str, float]:
    command = [sys.executable, str(HERE / "run_closed_form.py"), str(source), json.dumps(rules), *columns]
    found: dict[str, float] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    print(", ".join(f"{name} {number:.2f}" for name, number in found.items()))
    return found


def made(path: Path, columns: str, rows: int) -> Path:
    with duckdb.connect() as connection:
        connection.execute("SET threads = 2; SET memory_limit = '3GB'; SET preserve_insertion_order = false")
        connection.execute(f"COPY (SELECT {columns} FROM range({rows}) AS t(i)) TO '{path}' (FORMAT parquet)")
    return path


SHAPES = {  # x and y of row i, of which one in a hundred has another value, and how long it may take (asked: 1.3)
    "250 rows a group": ("'zip' || i % 40000", "'city' || (i % 20000 + (hash(i) % 100 = 0)::INT)", 1.3),
    "3 rows a group": ("'zip' || i // 3", "'city' || (i // 3 % 20000 + (hash(i) % 100 = 0)::INT)", 2.2),
    "almost every row a group": ("'zip' || (i - (hash(i) % 100 = 0)::INT)", "'city' || i % 20000", 2.6),
}


@pytest.mark.parametrize("name", SHAPES)
def test_a_dependency_takes_hardly_longer_than_the_plain_group_by(name: str, tmp_path: Path) -> None:
    """Both in one run. Of groups of a few rows the second GROUP BY, of groups, is as large as the first."""
    x, y, most = SHAPES[name]
    found = counted(made(tmp_path / "t.parquet", f"{x} AS zip, {y} AS city", ROWS), ["zip -> city"], "zip", "city")
    print(f"{name}: {found['counted'] / found['plain']:.2f}x the plain GROUP BY")
    assert found["counted"] < most * found["plain"]


def test_many_rules_of_a_wide_table_are_counted_in_shared_scans(tmp_path: Path) -> None:
    """400 dependencies that nearly hold, and 3,600 rules on one row."""
    values = [(1_000, 30_000, 300_000)[k % 3] for k in range(COLUMNS)]
    columns = ", ".join(
        f"i % {most} // {2 ** (k // 15)} + (hash(i, {k}) % 500 = 0)::INT AS c{k}" for k, most in enumerate(values)
    )
    pairs = [(a, b) for a in range(COLUMNS) for b in range(COLUMNS) if a % 3 == b % 3 and a < b][:400]
    rules = [f"c{a} -> c{b}" for a, b in pairs]
    rules += [f"CHECK (c{k} >= {least})" for k in range(COLUMNS) for least in range(60)]
    found = counted(made(tmp_path / "wide.parquet", columns, WIDE_ROWS), rules)
    assert found["rules"] == len(pairs) + 60 * COLUMNS
    assert found["counted"] < 60
    assert found["peak GB"] < 3
