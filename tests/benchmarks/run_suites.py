"""Suites of 4,000 checks on a million rows, and counts of one dependency, beside plain DuckDB in the same run.

    python tests/benchmarks/run_suites.py [ROWS]

Processor seconds with two threads. A suite is a whole process of `dpdb check`; its floor is a GROUP BY for each
dependency and key, over the rows that its condition selects, and 250 `count_if` at a time for rules on one row. A
dependency is counted inside this process; its floor is the GROUP BY of its columns.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
from speed_table import measured

from dpdb.opening import open_table

SIZES = (3, 30, 250, 1_000)
"""Rows of a group, by the number of its column."""


def made(path: Path, rows: int) -> None:
    """Write keys of groups, and four columns that each of them decides but in one row of 5,003."""
    keys = ", ".join(f"(hash(i + {n * 7919}) % {rows // size})::BIGINT AS k{n}" for n, size in enumerate(SIZES))
    value = "(hash(k{n} * 31 + {m}) % 997 + (hash(i + {n}{m}) % 5003 = 0)::INT)"
    values = [
        f"{'' if m < 2 else repr('city ') + ' || '}{value.format(n=n, m=m)} AS v{n}{m}"
        for n in range(len(SIZES))
        for m in range(4)
    ]
    others = "hash(i + 999) % 10 AS region, (hash(i + 5) % 100000)::INT AS a, (hash(i + 6) % 1000)::INT AS b"
    with duckdb.connect() as connection:
        connection.execute(
            f"COPY (SELECT i AS id, {others}, {', '.join(f'k{n}' for n in range(len(SIZES)))}, {', '.join(values)} "
            f"FROM (SELECT i, {keys} FROM range({rows}) AS t(i))) TO '{path}' (FORMAT parquet)"
        )


def suite(path: Path, pairs: int) -> list[str]:
    """Write 4,000 checks, of them `pairs` dependencies and as many keys; return the queries of the floor."""
    lines, queries, single = [], [], []
    names = [(f"k{n}", f"v{n}{m}") for n in range(len(SIZES)) for m in range(4)]
    for key, value in names:
        for region in range(pairs // len(names)):
            where = f"WHERE region = {region}"
            lines += [f"{key} -> {value} {where}", f"UNIQUE(id, {value}) {where}"]
            sized = f"SELECT {key}, {value}, count(*) AS n FROM t {where} GROUP BY ALL"
            queries.append(f"SELECT sum(s - m) FROM (SELECT {key}, sum(n) AS s, max(n) AS m FROM ({sized}) GROUP BY 1)")
            queries.append(f"SELECT sum(n - 1) FROM (SELECT count(*) AS n FROM t {where} GROUP BY id, {value})")
    for n in range(4_000 - len(lines)):
        condition = f"{'ab'[n % 2]} <= {100_000 + n}" if n % 4 < 2 else f"{'ab'[n % 2]} >= {-1 - n}"
        lines.append(f"CHECK ({condition})")
        single.append(f"count_if(NOT ({condition}))")
    queries += [f"SELECT {', '.join(single[start : start + 250])} FROM t" for start in range(0, len(single), 250)]
    path.write_text("".join(f"{line}  fail above 500\n" for line in lines))
    return queries


def taken(run: Callable[[], Any], turns: int = 1) -> float:
    """Return the least processor seconds of some turns."""
    found = []
    for _ in range(turns):
        begun = time.process_time()
        run()
        found.append(time.process_time() - begun)
    return min(found)


def main(rows: int = 1_000_000) -> None:
    """Print the table."""
    with TemporaryDirectory() as folder, duckdb.connect() as plain:
        source, checks = Path(folder, "rows.parquet"), Path(folder, "checks.txt")
        made(source, rows)
        plain.execute(f"SET threads = 2; CREATE VIEW t AS FROM '{source}'")
        for pairs, name in ((0, "4,000 one-row rules"), (160, "4,000 checks, of them 160 dependencies and 160 keys")):
            queries = suite(checks, pairs)
            floor = taken(lambda queries=queries: [plain.execute(query).fetchall() for query in queries])  # type: ignore[misc]
            command = [sys.executable, "-m", "dpdb", "check", str(source), str(checks), "--epsilon", "10", "--quiet"]
            subprocess.run([*command[:3], "warm"], check=True, stdout=subprocess.DEVNULL)
            _, cpu, memory = measured(command)
            print(f"{name}: {cpu:.1f} s, {memory:.2f} GB; floor {floor:.1f} s; {cpu / floor:.2f}x", flush=True)
        with open_table(str(source), constraints=["k0 -> v00", "k2 -> v20"], threads=2) as table:
            for place, n in enumerate((0, 2)):
                statistic = table.exact_statistic([table.constraints[place]])
                assert statistic is not None
                grouped = f"SELECT count(*), sum(n) FROM (SELECT count(*) AS n FROM t GROUP BY k{n}, v{n}0)"
                floor = taken(lambda grouped=grouped: plain.execute(grouped).fetchall(), 7)  # type: ignore[misc]
                cpu = taken(lambda statistic=statistic: table.count_all(None, [statistic]), 7)  # type: ignore[misc]
                print(f"a dependency, groups of {SIZES[n]}: {cpu:.3f} s; floor {floor:.3f} s; {cpu / floor:.2f}x")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
