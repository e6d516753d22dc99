"""The table of `examples/manual/speed.md`: dpdb on growing tables, beside floors and peers, as Markdown.

    python tests/benchmarks/speed_table.py
    python tests/benchmarks/speed_table.py --rows 100000 1000000 --peers-to 1000000

Tables are the made Tax of a million rows (`examples/make_data.py`), .3% of whose cells are dirtied; smaller ones are
samples, and larger ones copies of it with states, zips and areas of their own, so conflicts grow like rows. Every
number is of one whole process, but the floor's and the peers', which are without import. Peers run in an environment of
their own (`peers.txt`), and only up to `--peers-to` rows: they make every pair. A run beside other work has good
processor seconds and bad seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmark_data import data_folder
from conditions import conditions
from peers import peers_python

HERE = Path(__file__).resolve().parent
MILLION = 1_000_000
ALPHA = 0.003
TOO_LONG = 900
COPIES = """
import duckdb, sys
source, out, copies = sys.argv[1:]
duckdb.sql("SET memory_limit = '4GB'; SET preserve_insertion_order = false")
duckdb.sql(
    "COPY (SELECT row.* REPLACE (k || ':' || state AS state, zip + k * 100000 AS zip, area_code + k * 1000 AS "
    f"area_code) FROM '{source}' AS row, range({copies}) AS copy(k)) TO '{out}' (FORMAT parquet, COMPRESSION zstd)"
)
"""


def table(folder: Path, rows: int, rules: str) -> str:
    """Write the table of so many rows, in processes of their own: the memory of this one is a floor of all measured."""
    dirty, out = folder / f"dirty-{min(rows, MILLION)}.parquet", folder / f"tax-{rows}.parquet"
    if not dirty.exists():
        made = str(data_folder() / "tax_synthetic.parquet")
        noise = ["rnoise", made, "--constraints", rules, "--out", str(dirty), "--quiet", "--seed", "1"]
        noise += ["--alpha", str(ALPHA), "--sample", str(min(rows, MILLION))]
        subprocess.run([sys.executable, "-m", "dpdb", "noise", *noise], check=True, capture_output=True)
    if rows <= MILLION:
        return str(dirty)
    copying = [sys.executable, "-c", COPIES, str(dirty), str(out), str(rows // MILLION)]
    subprocess.run(copying, check=True, stdout=subprocess.DEVNULL)  # a bar of progress
    return str(out)


def measured(command: list[str]) -> tuple[float, float, float]:
    """Seconds, processor seconds and peak memory in 10^9 bytes of a whole process."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(command[:4])} ... ended with {process.returncode}")
    return time.perf_counter() - start, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e9


def peer(program: str, source: str, rules: str) -> dict[str, Any] | None:
    """Run a program of the peers' environment; None if it does not end, or not well."""
    command = [str(peers_python()), str(HERE / f"run_{program}.py"), source, conditions(source, rules)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=TOO_LONG)
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError):
        return None
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def pairs(source: str, rules: str) -> int:
    """Count the pairs in conflict exactly."""
    command = [sys.executable, "-m", "dpdb", "exact", source, "--constraints", rules, "--non-private"]
    command += ["--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(json.loads(done.stdout)["minimal_inconsistency"])


def row_of(rows: int, folder: Path, rules: str, *, with_peers: bool) -> str:
    """One line of the table."""
    source = table(folder, rows, rules)
    ask = ["measure", source, "--constraints", rules, "--measure", "all", "--epsilon", "1", "--quiet"]
    wall, cpu, memory = measured([sys.executable, "-m", "dpdb", *ask])
    cells = [f"{rows:,}", f"{pairs(source, rules):,}", f"{wall:.1f}", f"{cpu:.1f}", f"{memory:.2f} GB"]
    floor = peer("floor", source, rules)
    cells.append("" if floor is None else f"{floor['cpu']:.1f}")
    for name in ("naive_duckdb", "polars"):
        found = peer(name, source, rules) if with_peers else {}
        did_not = "" if found == {} else "did not end"
        cells.append(f"{found['cpu']:.1f}, {found['peak GB']:.2f} GB" if found else did_not)
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, MILLION, 3 * MILLION, 10 * MILLION])
    parser.add_argument("--peers-to", type=int, default=100_000, help="rows up to which peers run (100,000)")
    given = parser.parse_args()
    if any(rows < 1 or (rows > MILLION and rows % MILLION) for rows in given.rows):
        sys.exit("--rows: at most a million, or whole millions")
    rules = str(data_folder() / "tax.dcs.txt")
    print("| rows | pairs in conflict | seconds | processor seconds | memory | floor | self-join in DuckDB | Polars |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        warm = table(Path(folder), 1_000, rules)
        measured([sys.executable, "-m", "dpdb", "measure", warm, "--constraints", rules, "--epsilon", "1", "--quiet"])
        for rows in given.rows:
            print(row_of(rows, Path(folder), rules, with_peers=rows <= given.peers_to), flush=True)


if __name__ == "__main__":
    main()
