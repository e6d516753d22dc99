"""Mechanisms by GROUP BY alone on a table of many rows on disk, beside the plain GROUP BY of the same columns.

    python tests/benchmarks/run_group_by.py [ROWS [duckdb|clickhouse [FOLDER [LINE...]]]]

The table has a row's key (ROWS / 10 groups), a text, a small and a large whole number, about one of a thousand keys in
conflict. Each line is a process of its own with two threads; `cpu` is its user and system time, of ClickHouse the
server's. `floor` is the plain GROUP BY of the same columns, before and after the line. All lines open the table, as
`open` alone does. ROWS is a million unless it is said; a hundred million takes 2 GB of disk.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
THREADS = 2
_RULE = "k -> city"


def _grouped(*keys: str) -> str:
    """Write a query that groups all rows by each of some lists of columns."""
    counted = (f"(SELECT count(*) FROM (SELECT {key}, count(*) AS n FROM {{rows}} GROUP BY {key}))" for key in keys)
    return f"SELECT {', '.join(counted)}"


WORK: dict[str, str | None] = {
    "open": None,
    "by_rule": _grouped("k, city"),
    "checks": _grouped("k, city", "k, small"),
    "dependencies": _grouped("k", "city", "small", "k, city", "k, small", "city, small"),
    "key": _grouped("k, amount"),
}
"""What is asked by name, and the plain GROUP BY of the same columns; `open` has none."""


def made(rows: int, path: Path) -> None:
    """Write the table."""
    import duckdb

    groups = rows // 10
    with duckdb.connect() as connection:
        connection.execute(f"SET threads = {THREADS}; SET memory_limit = '6GB'; SET preserve_insertion_order = false")
        connection.execute(
            f"COPY (SELECT (hash(i) % {groups})::BIGINT AS k, "
            f"'city ' || (hash(hash(i) % {groups}) % 5003 + (hash(i + 1) % 10007 = 0)::INT) AS city, "
            f"(hash(hash(i) % {groups} + 1) % 97 + (hash(i + 2) % 20011 = 0)::INT)::SMALLINT AS small, "
            "(hash(i + 3) % 1000000)::BIGINT AS amount "
            f"FROM range({rows}) r(i)) TO '{path}' (FORMAT parquet)"
        )
        connection.execute(f"SELECT 1 FROM '{path}' LIMIT 1")


def asked(name: str, source: str, table: str | None) -> Any:
    """Answer one line here."""
    import dpdb

    rules = {"key": ["UNIQUE(k, amount)"], "checks": ["k -> city", "k -> small", "NOT NULL(amount)"]}.get(name, [_RULE])
    options: dict[str, Any] = {} if table is None else {"table": table, "gather_rows": 1_000_000}
    with dpdb.open(source, constraints=rules, threads=THREADS, memory_limit="8GB", **options) as session:
        match name:
            case "by_rule":
                found = [
                    session.dp_inconsistency(measure, 1.0, mechanism="by_rule").value
                    for measure in ("minimal_inconsistency", "problematic")
                ]
            case "key":
                found = [session.dp_inconsistency("repair", 1.0).value]
            case "dependencies":
                found = [type(session.discover(epsilon=1.0, columns=["k", "city", "small"])).__name__]
            case "checks":
                suite = "k -> city  fail above 0\nk -> small  fail above 0\nNOT NULL(amount)  fail above 0\n"
                found = [each.verdict for each in session.check(suite, epsilon=1_000).checks]
            case _:
                found = []
    return found


def measured(name: str, source: str, table: str | None, query: str | None, server: Any) -> tuple[float, str]:
    """Run one line in a process of its own, and return its seconds of processor time."""
    before = os.times()
    there = _of_process(server) if server else 0.0
    command = [sys.executable, str(Path(__file__)), "--one", json.dumps([name, source, table, query])]
    shown = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    after = os.times()
    here = after.children_user - before.children_user + after.children_system - before.children_system
    return (_of_process(server) - there if server else here), shown


def _of_process(server: Any) -> float:
    fields = Path(f"/proc/{server._process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def one(name: str, source: str, table: str | None, query: str | None) -> None:
    """Answer in this process, and print it."""
    if query is None:
        print(asked(name, source, table))
    elif table is None:
        import duckdb

        with duckdb.connect() as connection:
            connection.execute(f"SET threads = {THREADS}; SET preserve_insertion_order = false")
            connection.execute("SET memory_limit = '8GB'")
            print(connection.execute(query.format(rows=f"'{source}'")).fetchall())
    else:
        from dpdb.remote.clickhouse.http import ClickHouseAddress, HttpSession

        text = query.format(rows=table) + f" SETTINGS max_threads = {THREADS}"
        print(HttpSession(ClickHouseAddress.parse(source)).run(text).decode().strip())


def main(rows: int = 1_000_000, engine: str = "duckdb", folder: str | None = None, *lines: str) -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory(dir=folder, prefix="dpdb-group-by-") as name:
        path, server, source, table = Path(name) / "rows.parquet", None, "", None
        made(rows, path)
        source = str(path)
        if engine == "clickhouse":
            sys.path.insert(0, str(HERE.parent / "remote"))
            from helpers_clickhouse import ClickHouse

            server = ClickHouse(Path(name) / "server")
            server.run(
                "CREATE TABLE site.t (k Int64, city String, small Int16, amount Int64) "
                "ENGINE = MergeTree ORDER BY tuple()",
                f"INSERT INTO site.t SELECT k, city, small, amount FROM file('{path}', Parquet)",
                f"SET max_threads = {THREADS}",
            )
            source, table = server.address, "t"
        print(f"{engine}, {rows:,} rows, {path.stat().st_size / 1e9:.2f} GB of Parquet", flush=True)
        for line in lines or WORK:
            floor = WORK[line]
            each = [(line, None)] if floor is None else [("floor", floor), (line, None), ("floor", floor)]
            seconds: dict[str, list[float]] = {}
            for asked_name, query in each:
                began = time.monotonic()
                cpu, shown = measured(asked_name, source, table, query, server)
                seconds.setdefault(asked_name, []).append(cpu)
                print(
                    f"  {asked_name:14} cpu {cpu:8.2f}  wall {time.monotonic() - began:7.1f}  {shown[:100]}", flush=True
                )
            if floor is not None:
                mean = sum(seconds["floor"]) / len(seconds["floor"])
                print(f"  {line:14} {seconds[line][0] / mean:.2f} times the floor's mean", flush=True)
        if server is not None:
            server.stop()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(*json.loads(sys.argv[2]))
    else:
        main(*(int(each) if each.isdigit() else each for each in sys.argv[1:]))
