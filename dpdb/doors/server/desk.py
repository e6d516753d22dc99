"""`Desk`: the only thing that a protocol calls: run, explain, check, account, history, and the owner's board.

Every request goes: role, rates, audit, plan and rehearsal (free; they wait for nobody's private work), then, of a
statement that makes releases, the private session in threads of its own, and its answer at a point of the public grid.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager, closing, contextmanager
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeVar

from dpdb.doors.server import views
from dpdb.doors.server.analysts import Analyst, Directory
from dpdb.doors.server.audit import Audit
from dpdb.doors.server.configuration import Configuration
from dpdb.doors.server.exchange import Answer, Asker, Most, Plan, RefusedError, check_run_id, check_statement, explained
from dpdb.doors.server.kept_rows import KeptRows
from dpdb.doors.server.rates import FailedLogins, Line, Slots
from dpdb.doors.server.receipts import ReceiptDesk, Receipts
from dpdb.doors.server.refusals import ForbiddenError, Refusal, refusal_of
from dpdb.doors.server.reopening import ServedTables
from dpdb.doors.server.tables import OpenTable
from dpdb.doors.server.timing import Standing, until_grid
from dpdb.doors.server.workers import Pace, Shares, Turns, Workers, leave_turn, stops
from dpdb.doors.sql import Admitted, AskedErrors, FrontEnd, Spoken, named_first
from dpdb.doors.sql.child.messages import Limits
from dpdb.errors import OWNER_LOG, DpdbError, ParameterError, StatementRefusedError
from dpdb.names import folded, nearest_words

_THREADS = 64
_REQUESTS, _MESSAGES = 4, 2  # of one analyst that are taken on at once: read, or answered without a statement
_REQUEST_SECONDS, _MESSAGE_SECONDS = 0.003, 0.0002  # what one takes of the event loop, about
_END_SECONDS = 5.0
_MOST_RESULT = Limits().result_bytes
_REFRESH_SECONDS = 1.0
_MOST_REFUSED_TEXT = 500  # of what is refused by role or rates: it comes as often as anyone likes
_CHECKERS = ("analyst", "checker")  # roles
_ERRORS = AskedErrors("requests that failed")
Found = TypeVar("Found")


class _Ends(Protocol):
    def close(self) -> None:
        """End it."""


Ending = TypeVar("Ending", bound=_Ends)


class _Wanted(NamedTuple):
    """What is asked: a statement, under which run id, of which table, the limits of its result, and whose SQL it is."""

    text: str
    run_id: str | None
    table: str | None
    most: Most | None
    dialect: Spoken = "duckdb"


class Desk:
    """Opens the tables of a configuration and answers, for any protocol, in the event loop that calls it.

    Raises
    ------
    DpdbError
        A table, a ledger, a suite, a public table or the audit file cannot be used.
    """

    def __init__(self, configuration: Configuration) -> None:
        limits = configuration.limits
        self.configuration = configuration
        self.closing = False
        self.postgres: int | None = None  # the port of that protocol, once clients are answered there
        self.trouble: str | None = None  # why clients cannot rely on the server, as its certificate, for its owner
        self._opened = ExitStack()
        with self._opened as opened:
            self.audit = opened.enter_context(closing(Audit(configuration.audit)))
            beside = configuration.audit.with_name(f"{configuration.audit.name}-slots")
            slots = opened.enter_context(closing(Slots(beside)))
            self.tables = opened.enter_context(closing(ServedTables(configuration)))
            self.failed_logins = FailedLogins(slots, limits.failed_logins_per_minute)
            ledgers = {table.name: table.ledger for table in configuration.tables}
            self.directory = opened.enter_context(closing(Directory(ledgers, self.audit.ended)))
            signed = Receipts(configuration.receipt_key, ledgers, limits.receipt_seconds)
            self._standing = Standing()
            self.receipts = ReceiptDesk(opened.enter_context(closing(signed)), self._told, self._standing.ended)
            self._opened = opened.pop_all()
        self._line = Line(slots, limits.at_once, limits.waiting, limits.waiting_seconds)
        self._shares: list[Shares] = []
        self._pace = Pace()
        self.requests = Turns(self.shares(_REQUESTS), self._pace, _REQUEST_SECONDS)
        self.messages = Turns(self.shares(_MESSAGES), self._pace, _MESSAGE_SECONDS)
        self.workers = Workers(self._pace)
        self.kept = KeptRows(limits.kept_mib_per_analyst << 20, limits.kept_mib << 20)
        self._pools = [self.workers.pool]
        self._to_end: list[_Ends] = []
        # Two pools: whoever plans must not wait where others wait for the private session.
        self._free, self._private = self.pool(_THREADS, "free"), self.pool(_THREADS, "private")
        self._auditing = self.pool(1, "audit")  # one thread: lines are written in their order
        self._reopening = self.pool(1, "reopening")
        self._lines = Shares(1)  # of the audit, in that thread's queue: an analyst has one there
        self._doors: dict[tuple[str, str], tuple[OpenTable, FrontEnd]] = {}
        self._doors_lock = threading.Lock()
        self._looking = asyncio.Lock()

    def shares(self, each: int) -> Shares:
        """Return shares of analysts that are refused to whoever waits for one when the server stops."""
        self._shares.append(Shares(each))
        return self._shares[-1]

    def pool(self, threads: int, name: str) -> ThreadPoolExecutor:
        """Return threads that end with the desk."""
        self._pools.append(ThreadPoolExecutor(threads, f"dpdb-{name}"))
        return self._pools[-1]

    def with_end(self, other: Ending) -> Ending:
        """Close something else at the desk's end, before its threads are waited for; return it."""
        self._to_end.append(other)
        return other

    def stop_taking(self) -> None:
        """Take nothing more: whoever waits for a turn or place is refused; statements that run go on."""
        self.closing = True
        self._line.close()
        for shares in self._shares:
            shares.close()

    # -- statements -------------------------------------------------------------------------------------------

    async def run(
        self,
        asker: Asker,
        text: str,
        *,
        run_id: str | None = None,
        table: str | None = None,
        most: Most | None = None,
        dialect: Spoken = "duckdb",
    ) -> Answer:
        """Answer a statement; asked again under the same run id, with the same releases, at no cost.

        `most` are limits of its result; the statement is in the SQL of `dialect`. What it returns is counted in `kept`
        until it is dropped.

        Raises
        ------
        RefusedError
            With what is said of it.
        """
        return await self._answered(asker, "run", _Wanted(text, run_id, table, most, dialect))

    async def check(
        self,
        asker: Asker,
        suite: str,
        options: Mapping[str, Any],
        run_id: str | None = None,
        most: Most | None = None,
    ) -> Answer:
        """Run a registered suite of checks by its name; `options` are those of `SuiteAsk` but the run id.

        Limits and errors as `run`.
        """
        try:
            text = await self.workers.run(asker.analyst.name, check_statement, suite, options)
        except ParameterError as error:
            async with self._asked(asker, "check", _CHECKERS, f"dp_check of {suite!r}: {error}"):
                raise
        return await self._answered(asker, "check", _Wanted(text, run_id, None, most))

    async def explain(
        self, asker: Asker, text: str, *, table: str | None = None, verb: str = "EXPLAIN", dialect: Spoken = "duckdb"
    ) -> Plan:
        """Check a statement, and return its cost and plan. Spends nothing, and waits for nobody's private work.

        With `verb` DESCRIBE, its columns instead of the plan.
        """

        def planned() -> Plan:
            behind = self._pace.is_heavy(asker.analyst.name)
            with (
                self._door(asker, text, table, dialect) as front_end,
                explained(text, verb) as shown,
                front_end.admitted(shown, dialect=dialect, behind=behind) as statement,
            ):
                return Plan(statement.cost, statement.words, statement.result().table)

        async with self._asked(asker, "explain", _CHECKERS, text) as note:
            plan = await self._paced(asker, planned)
            await note("answered")
            return plan

    async def _answered(self, asker: Asker, action: str, wanted: _Wanted) -> Answer:
        roles = ("analyst",) if action == "run" else _CHECKERS
        room = self.kept.room(asker.analyst.name, (wanted.most or {}).get("result_bytes", _MOST_RESULT))
        async with self._asked(asker, action, roles, wanted.text) as note:
            began = time.monotonic()
            check_run_id(wanted.run_id)
            if asker.door == "mcp":
                await self._in(self._free, lambda: self.directory.refuse_unrationed(asker.analyst))
            with room as holds:
                opened, statement = await self._paced(asker, partial(self._rehearsed, asker, wanted))
                answer, outcome = await self._made(asker, opened, statement, began)
                # Noted not before the grid: others wait for the audit, too, and would see when private work ended.
                await note("answered", *outcome)
                holds(answer.table, answer.table.nbytes)
                return answer

    async def _made(
        self, asker: Asker, opened: ExitStack, statement: Admitted, began: float
    ) -> tuple[Answer, tuple[Any, ...]]:
        """Return the answer to a rehearsed statement, and what the audit notes of it."""
        if not statement.makes_releases:
            return await self._paced(asker, lambda: _result(opened, statement)), ()
        with self._standing.private(asker.analyst.name):  # and one of the statements at once, until the grid
            try:
                answer = await self._in(self._private, lambda: _result(opened, statement))
            finally:
                await until_grid(began, self.configuration.limits.release_seconds)
            releases = [*(release.release_id for release in answer.releases), *answer.runs]
            return answer, (answer.debited.words.removeprefix("epsilon "), releases)

    def _rehearsed(self, asker: Asker, wanted: _Wanted) -> tuple[ExitStack, Admitted]:
        with ExitStack() as opened:
            door = opened.enter_context(self._door(asker, wanted.text, wanted.table, wanted.dialect))
            behind = self._pace.is_heavy(asker.analyst.name)
            admitted = door.admitted(wanted.text, wanted.run_id, wanted.most, wanted.dialect, behind=behind)
            statement = opened.enter_context(admitted)
            statement.rehearse()
            return opened.pop_all(), statement

    @contextmanager
    def _door(self, asker: Asker, text: str, table: str | None, dialect: Spoken) -> Iterator[FrontEnd]:
        """Give the analyst's own entry point to the table that a statement is about, which stays open in the block."""
        name, who = self._table(text, table, dialect), asker.analyst.name
        with ExitStack() as used:
            with self._doors_lock:
                opened = used.enter_context(self.tables.in_use(name))
                of, door = self._doors.get((name, who), (None, None))
                if door is None or of is not opened:
                    made = opened.front_end.of_analyst(who)
                    if door is not None:  # of the table as it was opened before
                        made.take_over(door)
                    door = made
                    self._doors[name, who] = opened, door
            yield door

    def _table(self, text: str, table: str | None, dialect: Spoken) -> str:
        if table is not None:
            if table not in self.tables:
                raise ParameterError(f"there is no table {table!r}{nearest_words(table, self.tables)}")
            return table
        if len(self.tables) == 1:
            return next(iter(self.tables))
        named = named_first(text, dialect)
        meant = [name for name, one in self.tables.items() if {folded(name), *one.suites} & named]
        if len(meant) > 1:
            raise StatementRefusedError(f"one statement asks of one table, and this one of {' and '.join(meant)}")
        return meant[0] if meant else next(iter(self.tables))

    @asynccontextmanager
    async def _asked(
        self, asker: Asker, action: str, roles: tuple[str, ...], text: str
    ) -> AsyncIterator[Callable[..., Awaitable[None]]]:
        """Admit a statement by role and rates, and audit it; every error becomes a `RefusedError`."""
        number = None
        whence = asker.analyst.name, asker.door, asker.address, action
        most = self.configuration.limits.statements_per_minute
        try:
            await leave_turn()
            if self.closing:
                raise stops()
            if asker.analyst.role not in roles:
                raise ForbiddenError(f"the role {asker.analyst.role!r} may not {action}")
            async with self._line.place(asker.analyst.name, asker.is_gone):
                number = await self._audited(whence[0], lambda: self.audit.begin(*whence, text, per_minute=most))
                yield partial(self._note, whence[0], number)
        except Exception as error:
            refusal = _refusal(error)
            try:
                if number is None:
                    start = text[:_MOST_REFUSED_TEXT]
                    number = await self._audited(whence[0], lambda: self.audit.begin(*whence, start))
                await self._note(whence[0], number, refusal.code)
            except Exception:
                OWNER_LOG.exception("the audit failed")
            raise RefusedError(refusal) from None

    async def _audited(self, name: str, work: Callable[[], Found]) -> Found:
        """Write to the audit, after the analyst's other lines: many that are refused keep nobody else waiting."""
        async with self._lines.one(name):
            return await self._in(self._auditing, work)

    async def _note(self, name: str, number: int, outcome: str, epsilon: str | None = None, releases: Any = ()) -> None:
        """Complete a line of the audit; an answer that is paid for is not lost because that fails."""
        try:
            await self._audited(name, lambda: self.audit.end(number, outcome, epsilon, releases))
        except Exception:
            OWNER_LOG.exception("the audit failed")

    # -- what is known ----------------------------------------------------------------------------------------

    async def account(self, asker: Asker) -> dict[str, Any]:
        """Return an analyst's rights and what he has spent, by table; of nobody else."""
        return await self._of_own(asker, "account", lambda: views.account_of(self.directory, asker.analyst))

    async def history(self, asker: Asker, most: int = 100) -> list[dict[str, Any]]:
        """Return an analyst's own debits with their answers, newest first: what is paid for is never lost."""
        name = asker.analyst.name
        return (await self._of_own(asker, "history", lambda: views.history_of(self.directory, name)))[:most]

    async def _of_own(self, asker: Asker, what: str, read: Callable[[], Found]) -> Found:
        """Read what an analyst's own debits say, as `Standing` lets him see them."""
        return await self._standing.seen(asker.analyst.name, what, lambda: self._told(read))

    async def schema(self, asker: Asker) -> dict[str, Any]:
        """Return what is public; see `schema_of`."""
        tables, public = self.tables.values(), self.configuration.public
        return await self.workers.run(asker.analyst.name, views.schema_of, tables, public, self.postgres)

    async def board(self, asker: Asker) -> dict[str, Any]:
        """Return what an owner sees: of every table what is left, who has spent what, and its suites."""
        asker.refuse_unless_owner()
        return {"tables": await self._told(lambda: views.owner_board(self.configuration, self.directory))}

    async def report(self, asker: Asker, table: str) -> str:
        """Return the report on a table's jobs, as a page; for owners. See `jobs_report`."""
        asker.refuse_unless_owner()
        return await self._told(lambda: views.jobs_report(self.configuration, self.directory, table))

    async def revoke(self, asker: Asker, name: str) -> None:
        """Withdraw an analyst's access, as an owner."""
        asker.refuse_unless_owner()
        await self._told(lambda: views.revoke_known(self.configuration, self.directory, name, asker.analyst.name))

    async def rearm(self, asker: Asker, asked: Mapping[str, Any]) -> None:
        """Re-arm a failed check of a kept suite, as an owner; see `rearm_check`."""
        asker.refuse_unless_owner()
        await self._told(lambda: views.rearm_check(self.directory, asked, asker.analyst.name))

    async def holder(self, token: str) -> Analyst | None:
        """Return who holds a token."""
        return self.directory.holder(token)

    async def keep_current(self) -> None:
        """Read again and again who holds which token, until cancelled."""
        while True:
            await asyncio.sleep(_REFRESH_SECONDS)
            try:
                await self._in(self._free, self.directory.refresh)
            except Exception:
                OWNER_LOG.exception("the ledgers cannot be read")

    async def keep_tables(self, say: Callable[[str], None]) -> None:
        """Look again and again whether rows have changed, until cancelled; see `ServedTables`."""
        while True:
            await asyncio.sleep(_REFRESH_SECONDS)
            await self.look_at_tables(say)

    async def look_at_tables(self, say: Callable[[str], None], *, all_changed: bool = False) -> None:
        """Open tables again whose rows have changed: with `all_changed` because the owner says so."""
        async with self._looking:
            try:
                await self._in(self._reopening, partial(self.tables.look, say, all_changed=all_changed))
            except Exception:
                OWNER_LOG.exception("tables cannot be looked at")

    async def _told(self, read: Callable[[], Found]) -> Found:
        try:
            return await self._in(self._free, read)
        except Exception as error:
            raise RefusedError(_refusal(error)) from None

    async def _paced(self, asker: Asker, work: Callable[[], Found]) -> Found:
        """Do what costs nothing and reads no private row, at the analyst's pace."""
        name = asker.analyst.name
        await self._pace.until(name)
        return await self._in(self._free, partial(self.workers.timed, asyncio.get_running_loop(), name, work))

    async def _in(self, pool: ThreadPoolExecutor, work: Callable[[], Found]) -> Found:
        return await asyncio.get_running_loop().run_in_executor(pool, work)

    def close(self) -> bool:
        """Close everything; return whether all threads have ended.

        SQL of analysts is stopped; a release that is being made has a few seconds to be recorded. While one of them
        goes on, what it works with stays open, and the process must be ended by force: its debit stays.
        """
        self.closing = True
        self.workers.close()
        for pool in self._pools:
            pool.shutdown(wait=False, cancel_futures=True)
        for one in (*self._to_end, *(table.front_end for table in self.tables.values())):
            one.close()
        until = time.monotonic() + _END_SECONDS
        threads = [thread for pool in self._pools for thread in pool._threads]
        for thread in threads:
            thread.join(max(0.0, until - time.monotonic()))
        if any(thread.is_alive() for thread in threads):
            return False
        self._opened.close()
        return True


def _result(opened: ExitStack, statement: Admitted) -> Answer:
    with opened:
        result = statement.result()
    return Answer(**vars(result), words=statement.words)


def _refusal(error: Exception) -> Refusal:
    """Return what is said of an error; what is not said goes to the owner's log."""
    refusal = refusal_of(error)
    if not isinstance(error, DpdbError) or str(error) != refusal.message:
        _ERRORS.tell("a request failed", error)
    return refusal
