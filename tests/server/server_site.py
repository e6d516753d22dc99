"""A folder to serve, and `dpdb serve` over it as a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import httpx
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from fork_server import Forked, ForkServer
from private_rows import NIGHTLY, RULE, private_rows

from dpdb.doors.server.analysts import add_analyst
from dpdb.doors.server.configuration import load_configuration
from dpdb.ledger import Ledger

__all__ = ["COUNT", "Server", "Site", "count", "in_one_of_three", "make_site"]

SERVE = ForkServer(
    "dpdb",
    "dpdb.doors.cli.main",
    "dpdb.doors.cli.commands.serve",
    "dpdb.doors.server.configuration",
    "dpdb.doors.server.http.process",
    "dpdb.sources.stream",
    "opendp.measurements",
    "pandas",  # which the first statement loads
)

COUNT = "SELECT value FROM dp_count('visits', 0.25)"


def count(epsilon: float | str) -> str:
    return f"SELECT value FROM dp_count('visits', {epsilon})"


def crowding() -> float:
    """Seconds that a processor second takes now: 1 on an idle machine, more where others work, too."""
    began, used = time.monotonic(), time.thread_time()
    while time.thread_time() - used < 0.05:
        pass
    return max(1.0, (time.monotonic() - began) / 0.05)


def in_one_of_three(attempt: Callable[[], float], most: float) -> bool:
    """Whether one of three attempts took at most so many seconds: machines pause, a fault is there each time.

    Where others work, seconds are as many times longer as for a loop just before or after the attempt.
    """

    def holds() -> bool:
        before = crowding()
        took = attempt()
        return took <= most * max(before, crowding())

    return any(holds() for _ in range(3))


@dataclass(frozen=True)
class Site:
    folder: Path
    tokens: Mapping[str, str]

    @property
    def config(self) -> Path:
        return self.folder / "serve.toml"

    @property
    def ledger(self) -> Path:
        return self.folder / "visits.ledger"

    def spent(self) -> float:
        with Ledger.open(self.ledger) as ledger:
            return ledger.summary().spent

    def add(self, name: str, **rights: Any) -> str:
        return add_analyst(load_configuration(self.config), name, **rights)


def make_site(
    folder: Path,
    *,
    epsilon: float = 5,
    analysts: Mapping[str, Mapping[str, Any]] | None = None,
    settings: Mapping[str, Any] | None = None,
    postgres: bool = False,
    notion: str = "pure",
    suites: bool = True,
) -> Site:
    """Write a table, a public one, a suite, a ledger and a configuration; the grid of answers is fine, for tests.

    With `postgres` clients of PostgreSQL are answered, too, at a free port. A ledger of another `notion` promises
    `epsilon` at delta 1e-6. Without `suites` none is registered.
    """
    pq.write_table(private_rows(), folder / "visits.parquet")
    pa.csv.write_csv(pa.table({"state": ["CA", "NY", "TX"], "people": [39, 19, 29]}), folder / "states.csv")
    (folder / "nightly.txt").write_text(NIGHTLY)
    if notion == "pure":
        Ledger.create(folder / "visits.ledger", epsilon).close()
    else:
        Ledger.create(folder / "visits.ledger", notion=notion, epsilon=epsilon, delta=1e-6).close()
    given = {"port": 0, "release_seconds": 0.02, "statements_per_minute": 100_000, "owner_log": "owner.log"}
    lines = [f"{key} = {json.dumps(value)}" for key, value in (given | dict(settings or {})).items()]
    (folder / "serve.toml").write_text(
        "\n".join(
            [
                "[server]",
                *lines,
                "[tables.visits]",
                'source = "visits.parquet"',
                f'constraints = ["{RULE}"]',
                'ledger = "visits.ledger"',
                *(['suites = { nightly = "nightly.txt" }'] if suites else []),
                'results = "results.duckdb"',
                "[public]",
                'states = "states.csv"',
                *(["[postgres]", 'listen = "127.0.0.1:0"'] if postgres else []),
            ]
        )
    )
    configuration = load_configuration(folder / "serve.toml")
    known = {"ann": {}} if analysts is None else analysts
    return Site(folder, {name: add_analyst(configuration, name, **rights) for name, rights in known.items()})


class Server:
    """`dpdb serve` while the block lasts; `said` is what it wrote on standard error."""

    command: tuple[str, ...] | None = None
    """What a new interpreter runs instead of a fork of one that has imported what `dpdb serve` needs."""

    def __init__(self, site: Site, *options: str, scheme: str = "http") -> None:
        self.site, self._options, self._scheme = site, options, scheme
        self.said: list[str] = []
        self._clients: list[httpx.Client] = []

    def __enter__(self) -> Server:
        self.process = self._started()
        self._listening = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._listening.wait(120)
        if not self.said or "listening at" not in self.said[-1]:
            raise AssertionError(self.said)
        self.url = self.said[-1].split("listening at ")[1].strip()
        return self

    def _started(self) -> subprocess.Popen[str] | Forked:
        arguments = ["serve", "--config", str(self.site.config), *self._options]
        environment = os.environ | {"PYTHONFAULTHANDLER": "1"}
        if self.command is None:
            return SERVE.start(arguments, Path.cwd(), environment)
        return subprocess.Popen(
            [sys.executable, *self.command, *arguments],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )

    @property
    def postgres_port(self) -> int:
        return next(int(line.rpartition(":")[2]) for line in self.said if "clients of PostgreSQL at" in line)

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said.append(line)
            if "listening at" in line:
                self._listening.set()
        self._listening.set()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for client in self._clients:
            client.close()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(60)
        self._reader.join()
        assert self.process.stderr is not None
        self.process.stderr.close()
        assert code in (0, -signal.SIGKILL), self.said

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def cpu(self) -> float:
        """Seconds of processor time of the server, with its children that have ended and its zygote."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        own = sum(int(field) for field in fields[11:15])
        for entry in Path("/proc").glob("[0-9]*/stat"):
            try:
                other = entry.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(other[1]) == self.process.pid:
                own += sum(int(field) for field in other[11:15])
        return own / os.sysconf("SC_CLK_TCK")

    def client(
        self, name: str | None = None, *, token: str | None = None, timeout: float = 120, address: str | None = None
    ) -> httpx.Client:
        token = self.site.tokens[name] if name is not None else token
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        verified = not self.url.startswith("https")
        transport = httpx.HTTPTransport(verify=verified, local_address=address, trust_env=False)
        made = httpx.Client(base_url=self.url, headers=headers, timeout=timeout, trust_env=False, transport=transport)
        self._clients.append(made)
        return made

    def ask(self, name: str, statement: str, key: str | None = None, path: str = "/v1/run") -> httpx.Response:
        with self.client(name) as client:
            headers = {} if key is None else {"Idempotency-Key": key}
            return client.post(path, json={"statement": statement}, headers=headers)

    def wait_for_access(self, token: str, status: int) -> None:
        """Wait until the server knows of a token's new rights."""
        with self.client(token=token) as client:
            for _ in range(100):
                if client.get("/v1/account").status_code == status:
                    return
                time.sleep(0.1)
        raise AssertionError(f"no {status} in time")
