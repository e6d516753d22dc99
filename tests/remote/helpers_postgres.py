"""A PostgreSQL server of the tests' own on a local socket, run by a user that may do little; tables for it."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from time import sleep
from urllib.parse import quote

import pyarrow as pa
import pytest

from dpdb.names import in_double_quotes

_PLACES = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql*/bin")
_NUMBERS = count()
_TYPES = {
    pa.int16(): "smallint", pa.int32(): "integer", pa.int64(): "bigint", pa.float32(): "real",
    pa.float64(): "double precision", pa.string(): "text", pa.date32(): "date", pa.bool_(): "boolean",
    pa.timestamp("us"): "timestamp", pa.timestamp("us", "UTC"): "timestamptz", pa.binary(): "bytea",
}  # fmt: skip


def programs() -> Path | None:
    """The folder of the newest server's programs."""
    found = [folder for place in _PLACES for folder in Path("/").glob(place[1:]) if (folder / "initdb").exists()]
    on_path = shutil.which("initdb")
    return Path(on_path).parent if on_path else max(found, default=None, key=lambda folder: folder.parts)


def why_no_postgres() -> str | None:
    """Say what is missing for a server."""
    if programs() is None:
        return "there is no PostgreSQL server (initdb) on this machine"
    try:
        import adbc_driver_postgresql  # noqa: F401
    except ImportError:
        return "adbc-driver-postgresql is not installed: pip install 'dpdb[postgres]'"
    if os.geteuid() == 0:
        try:
            pwd.getpwnam("nobody")
        except KeyError:
            return "PostgreSQL refuses to be run by root, and there is no user 'nobody' to run it"
    return None


class NotStartedError(Exception):
    """A server's programs fail on this machine, before anything of ours is asked of them."""


class Server:
    """A server; its role 'owner' needs no password, 'analyst' has the one 'sesame%1'."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._data, self._database = folder, folder / "data", "postgres"
        found = programs()
        assert found is not None
        self._programs = found
        folder.mkdir()
        if os.geteuid() == 0:
            shutil.chown(folder, "nobody")
        self._run(
            "initdb", "-D", str(self._data), "-A", "trust", "-U", "owner", "-E", "UTF8", "--no-sync", "--locale=C"
        )
        rules = self._data / "pg_hba.conf"
        rules.write_text("local all analyst scram-sha-256\nlocal all all trust\n")
        self.start()

    @property
    def address(self) -> str:
        return self.address_of("owner")

    def address_of(self, user: str, database: str | None = None) -> str:
        return f"postgresql://{user}@/{database or self._database}?host={quote(str(self.folder), safe='')}"

    def use_new_database(self) -> None:
        """Go on in a database of its own, where no table of an earlier test file is."""
        name = f"tests_{next(_NUMBERS)}"
        self.run(f"CREATE DATABASE {name}")
        self._database = name

    def start(self) -> None:
        options = f"-c listen_addresses='' -c unix_socket_directories='{self.folder}' -c fsync=off"
        self._run("pg_ctl", "-D", str(self._data), "-w", "-o", options, "-l", str(self.folder / "log"), "start")

    def stop(self) -> None:
        self._run("pg_ctl", "-D", str(self._data), "-w", "-m", "immediate", "stop")

    def stop_during_sleep(self) -> None:
        """Stop as soon as a query is seen in `pg_sleep`, or if none comes to it."""
        wait_for_sleep(self.address)
        self.stop()

    def asked(self, query: str) -> list[tuple[object, ...]]:
        """Run a query as the owner of the database."""
        return _asked(self.address, query)

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [str(self._programs / program), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=(out := (self.folder / "out").open("w")),  # not a pipe, which the server would keep open
            stderr=subprocess.STDOUT,
            cwd=self.folder,
            check=False,
            **(
                {"user": "nobody", "group": pwd.getpwnam("nobody").pw_gid, "extra_groups": []}
                if os.geteuid() == 0
                else {}
            ),
        )
        out.close()
        if done.returncode != 0:
            raise NotStartedError(f"{program}: {(self.folder / 'out').read_text()}")

    def run(self, *statements: str) -> None:
        """Run statements as the owner of the database."""
        from adbc_driver_postgresql import dbapi

        with (
            closing(dbapi.connect(self.address, autocommit=True)) as connection,
            closing(connection.cursor()) as cursor,
        ):
            for statement in statements:
                cursor.execute(statement)

    def holding(self, rows: pa.Table, name: str | None = None) -> str:
        """Make a table of rows, and return its name."""
        from adbc_driver_postgresql import dbapi

        name = name or f"rows_{next(_NUMBERS)}"
        columns = ", ".join(f"{in_double_quotes(field.name)} {_type(field.type)}" for field in rows.schema)
        self.run(f"CREATE TABLE {in_double_quotes(name)} ({columns})")
        with (
            closing(dbapi.connect(self.address, autocommit=True)) as connection,
            closing(connection.cursor()) as cursor,
        ):
            cursor.adbc_ingest(name, rows, mode="append")
        return name


def wait_for_sleep(address: str) -> None:
    """Return when a query is in `pg_sleep`, or if none comes to it."""
    for _ in range(6_000):
        if _asked(address, "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'"):
            break
        sleep(0.01)


def _asked(address: str, query: str) -> list[tuple[object, ...]]:
    from adbc_driver_postgresql import dbapi

    with closing(dbapi.connect(address)) as connection, closing(connection.cursor()) as cursor:
        cursor.execute(query)
        return list(cursor.fetchall())


def _type(kind: pa.DataType) -> str:
    return f"numeric({kind.precision},{kind.scale})" if pa.types.is_decimal(kind) else _TYPES[kind]


@contextmanager
def running_server() -> Iterator[Server]:
    """Start a server, or skip the test and say why; its socket has a short path, which its user may enter."""
    reason = why_no_postgres()
    if reason is not None:
        pytest.skip(reason)
    with TemporaryDirectory(prefix="dpdb-pg-") as folder:
        Path(folder).chmod(0o755)
        try:
            server = Server(Path(folder) / "server")
        except NotStartedError as error:
            pytest.skip(f"PostgreSQL does not start here: {error}")
        try:
            yield server
        finally:
            server.stop()
