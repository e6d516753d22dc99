"""Whole servers in a simulated life: the desk, its directory of tokens and its audit, over a table without rows.

Only what is no state of a server is left out: HTTP, threads (work is done where it is asked for), rows and noise. A
server answers clients until it is killed or has done enough; clients ask again with the same key, whichever answers.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import ledger_actors
import pyarrow as pa
import suite_actors
from ledger_actors import Life
from simulated_sqlite import SimulatedConnection
from simulated_world import Actor, require

from dpdb.doors.server import audit as server_audit, desk as server_desk, reopening
from dpdb.doors.server.configuration import Configuration, Limits, ServedTable
from dpdb.doors.server.desk import Desk
from dpdb.doors.server.exchange import Asker, RefusedError
from dpdb.doors.sql import Result
from dpdb.errors import BudgetExceededError, LedgerError, ParameterError
from dpdb.ledger import Ledger

__all__ = ["check_audit", "granted", "named", "server", "servers_in_place"]

AUDIT = "audit.sqlite"
TRIES = 200
_ENDS = {"budget": "over budget", "forbidden": "no access", "run_id": "ended without an answer", "refused": "has ended"}


def named(runs: dict[str, Any]) -> dict[str, Any]:
    """Name the runs of analysts as a server's door names them."""
    return {run_id if run.analyst is None else f"{run.analyst}:{run_id}": run for run_id, run in runs.items()}


def digest_of(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def granted(life: Life, name: str, token: str) -> None:
    """Note that an analyst has this token now, empty for none: those he had before are void."""
    life.model.void |= {old for old in life.model.tokens.get(name, []) if old != token}
    life.model.tokens.setdefault(name, []).append(token)


class Inline:
    """Stands for a pool of threads."""

    _threads = ()

    def __init__(self, *_: object) -> None:
        pass

    def submit(self, work: Callable[..., Any], *arguments: Any) -> Future[Any]:
        done: Future[Any] = Future()
        try:
            done.set_result(work(*arguments))
        except Exception as error:  # whoever is killed goes no further
            done.set_exception(error)
        return done

    def shutdown(self, **_: object) -> None:
        pass


@contextmanager
def servers_in_place(life: Life) -> Iterator[None]:
    """Put what a server of this life needs in the place of rows, threads, time and SQLite."""

    async def until_grid(*_: float) -> None:
        life.world.step("grid")

    with ExitStack() as stack:
        stack.enter_context(patch.object(reopening, "OpenTable", lambda *_: Table(life)))
        stack.enter_context(patch.object(server_desk, "ThreadPoolExecutor", Inline))
        stack.enter_context(patch.object(server_desk, "until_grid", until_grid))
        stack.enter_context(patch.object(server_audit, "datetime", life.world))
        stack.enter_context(patch.object(server_audit, "_make", lambda path: make(life, path)))
        stack.enter_context(patch.object(server_audit, "_connected", lambda path: Patient(life.disk, path, "rwc")))
        yield


def make(life: Life, path: Path) -> None:
    """Make the audit file; one that is there is not opened: closing it would end what SQLite here has locked."""
    if not path.exists():
        descriptor = life.disk.open_file(path, os.O_CREAT | os.O_RDWR)
        del life.disk.opened[descriptor]
        os.close(descriptor)


class Patient(SimulatedConnection):
    """Waits where others keep the file busy, as the audit does for seconds."""

    def execute(self, sql: str, values: tuple[object, ...] = ()) -> Any:
        for _ in range(TRIES):
            try:
                return super().execute(sql, values)
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                    raise
        raise TimeoutError


class Table:
    """A served table without rows: its statements are the runs of the life."""

    def __init__(self, life: Life) -> None:
        self._life, self._generation = life, life.generation
        self._ledger = Ledger.open(life.path)
        self.suites: dict[str, Any] = {}
        self.front_end = SimpleNamespace(
            of_analyst=lambda who: SimpleNamespace(admitted=self._admitted(who)), close=lambda: None
        )

    def in_use(self) -> AbstractContextManager[None]:
        return nullcontext()

    def close(self) -> None:
        self._ledger.close()

    def _admitted(self, who: str) -> Callable[..., Any]:
        @contextmanager
        def admitted(text: str, run_id: str, most: object, dialect: str, *, behind: bool) -> Iterator[Any]:
            del most, dialect, behind
            require(text == run_id, "another statement")
            yield SimpleNamespace(
                makes_releases=True, release_epsilon=0, words="", rehearse=lambda: None,
                result=lambda: self._released(f"{who}:{run_id}"),
            )  # fmt: skip

        return admitted

    def _released(self, run_id: str) -> Any:
        life, actor = self._life, self._life.world.current
        assert actor is not None
        make = ledger_actors.release if life.model.runs[run_id].suite is None else suite_actors.check
        try:
            make(life, actor, self._ledger, run_id, self._generation)
        except LedgerError as error:
            life.ends[run_id] = life.expected(actor, error)
            raise
        if life.ends[run_id] == "over budget":
            raise BudgetExceededError("budget refused", requested=0.0)
        return Result(pa.table({}), ())


def server(life: Life, run_ids: list[str], *, until_ended: bool = False) -> Any:
    """A server that is started, answers requests for these runs, two at once where it may, and is stopped."""
    configuration = Configuration(
        path=life.path, address="", port=0, certificate=None, private_key=None, audit=life.disk.root / AUDIT,
        postgres=None,        owner_log=None, limits=Limits(statements_per_minute=10**5),
        tables=(ServedTable("t", None, life.path, {}, None),), public={},
    )  # type: ignore[arg-type]  # fmt: skip

    def work(actor: Actor) -> None:
        for _ in range(TRIES if until_ended else 1):
            try:
                desk = Desk(configuration)
            except LedgerError as error:
                life.expected(actor, error)
                continue
            except ParameterError as error:
                require(bool(actor.faults) or "busy" in str(error) or "locked" in str(error), str(error))
                life.world.events["server: no audit"] += 1
                continue
            life.world.events["server: started"] += 1
            try:
                asyncio.run(Served(life, actor, desk).answer(run_ids, until_ended=until_ended))
            finally:
                desk.close()
            return

    return work


class Served:
    """The clients of one server, while it lives."""

    def __init__(self, life: Life, actor: Actor, desk: Desk) -> None:
        self._life, self._actor, self._desk = life, actor, desk
        self._generation = life.generation
        self._accepted: set[str] = set()
        self._ended: set[str] = set()

    async def answer(self, run_ids: list[str], *, until_ended: bool) -> None:
        if not until_ended:
            for _ in range(self._life.world.chance.randint(1, 6)):
                for first, second in zip(run_ids, [*run_ids[1:], run_ids[0]], strict=True):
                    await asyncio.gather(self._request(first), self._request(second))
            return
        for run_id in run_ids:
            for _ in range(TRIES):
                if await self._request(run_id) not in ("unavailable", "too_many"):
                    break

    async def _request(self, run_id: str) -> str:
        life, name = self._life, str(self._life.model.runs[run_id].analyst)
        if life.world.chance.random() < 0.5:
            self._refresh()
        tokens = life.model.tokens.get(name) or ["none"]
        token = tokens[-1] if life.world.chance.random() < 0.8 else life.world.chance.choice(tokens)
        analyst = await self._desk.holder(token)
        if analyst is None:
            return self._told(run_id, "unauthorized", "no access")
        require(analyst.name == name, "another's token")
        self._accepted.add(token)
        key = run_id.removeprefix(f"{name}:")
        try:
            await self._desk.run(Asker(analyst, "simulated", ""), key, run_id=key)
        except RefusedError as refused:
            code = refused.refusal.code
            require(code in (*_ENDS, "unavailable", "too_many"), f"{code}: {refused.refusal.message}")
            return self._told(run_id, code, _ENDS.get(code))
        return self._told(run_id, "answered", "published")

    def _told(self, run_id: str, code: str, end: str | None) -> str:
        self._life.world.events[f"server: {code}"] += 1
        if end is not None:
            self._life.ends[run_id] = end
        return code

    def _refresh(self) -> None:
        """As the server does each second: what is void stays void, and what has ended, however the clock jumps."""
        life, void = self._life, set(self._life.model.void)
        try:
            self._desk.directory.refresh()
        except LedgerError as error:
            life.expected(self._actor, error)
            return
        if life.generation != self._generation or life.newest is not None:
            return
        holds = {token for token in (*void, *self._accepted) if self._desk.directory.holder(token)}
        require(not holds & void, "a token that was withdrawn is good")
        require(not holds & self._ended, "a token that had ended is good again")
        ended = self._accepted - holds
        life.world.events["server: a token has ended"] += len(ended - self._ended)
        self._ended |= ended


def check_audit(life: Life, entries: list[Any]) -> None:
    """No analyst was debited whose statement is not in the audit, whatever has failed."""
    debited = {(entry.analyst, entry.run_id) for entry in entries if entry.analyst is not None}
    if not debited:
        return
    connection = SimulatedConnection(life.disk, life.disk.root / AUDIT, "rw")
    try:
        lines = connection.execute("SELECT who, text FROM statement").fetchall()
    finally:
        connection.close()
    require(debited <= {(who, f"{who}:{text}") for who, text in lines}, "a debit is not audited")


def expiry(life: Life) -> Any:
    """When an access is to end: soon, or after days."""
    return life.world.clock + timedelta(hours=life.world.chance.choice([1, 12, 24 * 10, 24 * 30]))
