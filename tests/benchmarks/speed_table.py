"""The tables of `examples/manual/speed.md`: dpdb on growing tables, beside floors and peers, as Markdown.

    python tests/benchmarks/speed_table.py
    python tests/benchmarks/speed_table.py --rows 100000 1000000 --peers-to 1000000
    python tests/benchmarks/speed_table.py --rows --works rules texts

The second table grows in one thing each: rules, conflicts at equal rows, length of texts.

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
from collections.abc import Callable
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


WIDE = """COPY (SELECT * FROM (SELECT {columns} FROM range(100000) AS row(i))) TO '{out}' (FORMAT parquet)"""
GROUPS = """COPY (SELECT i // {size} AS a, (hash(i) % 10 = 0)::INTEGER AS b FROM range(1000000) AS row(i))
TO '{out}' (FORMAT parquet)"""
TEXTS = """COPY (SELECT repeat(md5((i % 100000)::VARCHAR), {length}) || (i % 100000) AS a,
repeat(md5((i % 100000)::VARCHAR), {length}) || CASE WHEN i % 1000 = 7 THEN i ELSE 0 END AS b
FROM range(1000000) AS row(i)) TO '{out}' (FORMAT parquet, COMPRESSION zstd)"""
_KEY = "(hash({number}, i) % 1000)::INTEGER"
_VALUE = "((hash({number}, i) % 1000 + (hash(i, {number}) % 333 = 0)::INTEGER) % 50)::INTEGER"


def wide(out: str, rules: int) -> str:
    """Write 100,000 rows of 500 columns; return so many dependencies of them, .3% of whose rows break each."""
    columns = [
        f"{text.format(number=n)} AS {name}{n}" for n in range(100) for name, text in (("a", _KEY), ("b", _VALUE))
    ]
    columns += [f"(hash(i, {n}, 1) % 1000)::INTEGER AS z{n}" for n in range(300)]
    _written(WIDE.format(columns=", ".join(columns), out=out))
    return "".join(f"a{n} -> b{n}\n" for n in range(rules))


def in_groups(out: str, size: int) -> str:
    """Write a million rows in groups of so many, a tenth of whose rows differ."""
    _written(GROUPS.format(size=size, out=out))
    return "a -> b\n"


def texts(out: str, length: int) -> str:
    """Write a million rows of two texts of so many times 32 characters."""
    _written(TEXTS.format(length=length, out=out))
    return "a -> b\n"


def _written(query: str) -> None:
    command = [sys.executable, "-c", "import duckdb, sys; duckdb.sql(sys.argv[1])", query]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


WORKS: dict[str, tuple[str, Callable[[str, int], str], tuple[int, ...]]] = {
    "rules": ("100,000 rows of 500 columns, {:,} dependencies", wide, (1, 10, 100)),
    "edges": ("1,000,000 rows in groups of {:,}, one dependency", in_groups, (10, 100, 1_000)),
    "texts": ("1,000,000 rows, texts of {:,} times 32 characters, one dependency", texts, (1, 5, 15)),
}


def work_row(folder: Path, name: str, number: int) -> str:
    """One line of the second table."""
    words, make, _ = WORKS[name]
    source, rules = str(folder / f"{name}-{number}.parquet"), folder / f"{name}-{number}.txt"
    rules.write_text(make(source, number), encoding="utf-8")
    ask = ["measure", source, "--constraints", str(rules), "--measure", "all", "--epsilon", "1", "--quiet"]
    wall, cpu, memory = measured([sys.executable, "-m", "dpdb", *ask])
    floor = peer("floor", source, str(rules))
    cells = [words.format(number), f"{wall:.1f}", f"{cpu:.1f}", f"{memory:.2f} GB"]
    cells.append("" if floor is None else f"{floor['cpu']:.2f}, {floor['peak GB']:.2f} GB")
    Path(source).unlink()
    return f"| {' | '.join(cells)} |"


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
    parser.add_argument("--rows", type=int, nargs="*", default=[100_000, MILLION, 3 * MILLION, 10 * MILLION])
    parser.add_argument("--peers-to", type=int, default=100_000, help="rows up to which peers run (100,000)")
    parser.add_argument("--works", nargs="*", choices=[*WORKS], default=[*WORKS], help="of the second table (all)")
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
        print("\n| work | seconds | processor seconds | memory | floor |")
        print("| --- | --- | --- | --- | --- |")
        for name in given.works:
            for number in WORKS[name][2]:
                print(work_row(Path(folder), name, number), flush=True)


if __name__ == "__main__":
    main()
