"""Clients of PostgreSQL as people install them, each in an environment of its own; a program of each asks a server.

`python tests/server/installed_clients.py` installs all, runs all, and prints one table: version, steps passed of tried.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

PROGRAMS = Path(__file__).parent / "client_programs"
_ODBC = [*Path("/usr/lib").glob("*/odbc/psqlodbcw.so")]


class Client(NamedTuple):
    """What is installed from which index, and the program that uses it."""

    index: str
    packages: tuple[str, ...]
    program: str


CLIENTS: Mapping[str, Client] = {
    "asyncpg": Client("pip", ("asyncpg",), "asyncpg_program.py"),
    "psycopg": Client("pip", ("psycopg[binary]",), "psycopg_program.py"),
    "psycopg2": Client("pip", ("psycopg2-binary",), "psycopg_program.py"),
    "pg8000": Client("pip", ("pg8000",), "pg8000_program.py"),
    "SQLAlchemy": Client(
        "pip", ("sqlalchemy[asyncio]", "psycopg[binary]", "psycopg2-binary", "pg8000", "asyncpg"),
        "sqlalchemy_program.py",
    ),
    "ADBC": Client("pip", ("adbc-driver-postgresql", "pyarrow"), "adbc_program.py"),
    "pgcli": Client("pip", ("pgcli", "psycopg[binary]"), "pgcli_program.py"),
    "psqlodbc": Client("pip", ("pyodbc",), "odbc_program.py"),
    "node-postgres": Client("npm", ("pg", "pg-cursor"), "pg_program.js"),
    "postgres.js": Client("npm", ("postgres",), "postgres_program.js"),
    "knex": Client("npm", ("knex", "pg"), "knex_program.js"),
    "sequelize": Client("npm", ("sequelize", "pg"), "sequelize_program.js"),
    "TypeORM": Client("npm", ("typeorm", "pg", "reflect-metadata"), "typeorm_program.js"),
}  # fmt: skip


class Installed(NamedTuple):
    """A client that can be run: the command before its program, its environment, and its version."""

    command: list[str]
    environment: dict[str, str]
    version: str


def install(name: str, folder: Path) -> Installed | str:
    """Install a client into a folder; or say why that cannot be."""
    if name == "psqlodbc" and not _ODBC:
        return "psqlodbc (odbc-postgresql) is not installed on this machine"
    return install_client(CLIENTS[name], folder)


def install_client(client: Client, folder: Path) -> Installed | str:
    """Install from an index into a folder; or say why that cannot be."""
    try:
        return _by_pip(client, folder) if client.index == "pip" else _by_npm(client, folder)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        return f"{' '.join(client.packages)} cannot be installed: {(error.stderr or b'').decode()[-200:].strip()}"


def _by_pip(client: Client, folder: Path) -> Installed:
    _run([sys.executable, "-m", "venv", str(folder)])
    python = str(folder / "bin" / "python")
    _run([python, "-m", "pip", "install", "--disable-pip-version-check", "-q", *client.packages])
    package = client.packages[0].partition("[")[0].partition("<")[0]
    version = _run([python, "-c", f"import importlib.metadata as m; print(m.version({package!r}))"])
    return Installed([python], {"ODBC_DRIVER": str(_ODBC[0])} if _ODBC else {}, version)


def _by_npm(client: Client, folder: Path) -> Installed | str:
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        return "node and npm are not installed on this machine"
    folder.mkdir(parents=True)
    _run([npm, "install", "--prefix", str(folder), "--silent", "--no-audit", "--no-fund", *client.packages])
    modules = folder / "node_modules"
    described = modules / client.packages[0].removesuffix("@latest") / "package.json"
    version = _run([node, "-p", f"require({str(described)!r}).version"])
    return Installed([node], {"NODE_PATH": str(modules)}, version)


def _run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, timeout=300, check=True)
    return done.stdout.decode().strip()


def steps(name: str, installed: Installed, place: Mapping[str, str]) -> list[tuple[str, bool, str]]:
    """Run a client's program: its steps, whether each works, and what is said of those that do not."""
    return run_steps([*installed.command, str(PROGRAMS / CLIENTS[name].program)], {**place, **installed.environment})


def run_steps(command: list[str], environment: Mapping[str, str]) -> list[tuple[str, bool, str]]:
    """Run a program that prints its steps: whether each works, and what is said of those that do not."""
    given = os.environ | dict(environment)
    done = subprocess.run(command, env=given, capture_output=True, text=True, timeout=300, check=False)
    lines = [line.split("\t") for line in done.stdout.splitlines() if line.count("\t") == 2]
    found = [(step, state == "ok", said) for step, state, said in lines]
    return found if done.returncode == 0 else [*found, ("end", False, done.stderr.strip()[-300:])]


def line_of(name: str, version: str, found: list[tuple[str, bool, str]]) -> str:
    """Return the line of a client in the table."""
    failed = "; ".join(f"{step}: {said}" for step, is_right, said in found if not is_right)
    return f"| {name} | {version} | {sum(is_right for _, is_right, _ in found)} of {len(found)} | {failed} |"


def main() -> None:
    """Print the table of all clients against a server of its own."""
    from tempfile import TemporaryDirectory

    tests = Path(__file__).parents[1]
    sys.path[:0] = [str(tests), *(str(tests / room) for room in ("server", "sql", "receipts"))]
    from server_site import Server, make_site

    print("| client | version | steps passed of tried | |\n| --- | --- | --- | --- |", flush=True)
    with TemporaryDirectory() as folder, Server(make_site(Path(folder), epsilon=50, postgres=True)) as server:
        place = {"PGPORT": str(server.postgres_port), "PGUSER": "ann", "PGPASSWORD": server.site.tokens["ann"]}
        for name in CLIENTS:
            installed = install(name, Path(folder) / f"of {name}")
            if isinstance(installed, str):
                print(f"| {name} | | not run | {installed} |", flush=True)
            else:
                print(line_of(name, installed.version, steps(name, installed, place)), flush=True)


if __name__ == "__main__":
    main()
