"""`Conversation`: what a client that has logged in asks, by the simple and the extended protocol.

The statements and portals of the extended protocol are kept within bounds; each execution asks the desk once.

https://www.postgresql.org/docs/15/protocol-flow.html
"""

from __future__ import annotations

import struct
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import pyarrow as pa

from dpdb.doors.server.exchange import RefusedError
from dpdb.doors.server.pieces import slices
from dpdb.doors.server.postgres.cursors import closed, step_of
from dpdb.doors.server.postgres.parameters import read_value
from dpdb.doors.server.postgres.session import bare, deallocated, verb_of
from dpdb.doors.server.postgres.statements import Outcome, Prepared, Statements
from dpdb.doors.server.postgres.values import Column, columns_of, encoded, row_description
from dpdb.doors.server.postgres.wire import Reading, WireError, data_rows, message, report, texts, wire_error
from dpdb.doors.server.refusals import KeptRowsError, refusal_of
from dpdb.doors.sql import split_statements
from dpdb.errors import StatementRefusedError

_EMPTY, _NO_DATA, _SUSPENDED = message(b"I"), message(b"n"), message(b"s")


class Client(Protocol):
    """Where answers go."""

    def write(self, content: bytes) -> None:
        """Send bytes, at the latest when `drain` is called."""

    async def drain(self) -> None:
        """Wait until the client has read enough; `OSError` if it does not."""


_MOST_NAMED = 200  # statements, and portals
_MOST_BYTES = 1 << 20  # of their texts, each
_MOST_UNFINISHED = 2  # portals whose rows are kept


@dataclass
class Portal:
    """A statement with its values, and its rows once it was executed."""

    prepared: Prepared
    text: str
    formats: Sequence[int]
    columns: list[Column] | None = None
    outcome: Outcome | None = None
    sent: int = 0

    def formats_of(self, columns: Sequence[Column]) -> list[int]:
        """Return the format of each column: 0 for text, 1 for binary."""
        if len(self.formats) not in (0, 1, len(columns)) or not {*self.formats} <= {0, 1}:
            raise WireError("08P01", f"{len(self.formats)} formats for {len(columns)} columns")
        return [*self.formats] if len(self.formats) == len(columns) else [*self.formats, 0][:1] * len(columns)

    def finish(self) -> None:
        """Keep no rows of it any more; asked again, it has none."""
        assert self.outcome is not None
        assert self.outcome.table is not None
        self.outcome, self.sent = Outcome("SELECT 0", self.outcome.table.schema.empty_table()), 0

    @property
    def is_unfinished(self) -> bool:
        """Whether rows are kept."""
        return self.outcome is not None and self.outcome.table is not None and self.outcome.table.num_rows > self.sent


class Conversation:
    """Answers the messages of one connection, one after the other."""

    def __init__(self, statements: Statements, client: Client) -> None:
        self._statements, self._client = statements, client
        self._prepared: dict[str, Prepared] = {}
        self._portals: dict[str, Portal] = {}
        self._skips = False  # until the next Sync, after an error

    def close(self) -> None:
        """Drop all that is kept for the client."""
        self._prepared.clear()
        self._portals.clear()
        self._statements.close()

    def ready(self) -> None:
        """Say that the next statement may come."""
        self._client.write(message(b"Z", self._statements.settings.state))

    async def answer(self, kind: bytes, body: bytes) -> None:
        """Answer a message."""
        if kind == b"Q":
            if not self._skips:  # as PostgreSQL: behind an error nothing runs before Sync
                await self._told(self._simple, Reading(body))
                self._synchronized()
                self.ready()
        elif kind == b"S":
            self._skips = False
            self._synchronized()
            self.ready()
        elif kind in _ANSWERS:
            if not self._skips:
                self._skips = not await self._told(partial(_ANSWERS[kind], self), Reading(body))
        elif kind == b"F":
            self._failed(WireError("0A000", "functions are called by SELECT"))
            self.ready()
        elif kind not in (b"H", b"d", b"c", b"f"):  # those of COPY are ignored outside of it
            raise WireError("08P01", "there is no such message")
        await self._client.drain()

    async def _told(self, answer: Callable[[Reading], Awaitable[None]], reading: Reading) -> bool:
        """Answer, and say what is refused or fails; returns whether nothing was."""
        try:
            await answer(reading)
        except RefusedError as error:
            self._failed(wire_error(error.refusal))
        except (StatementRefusedError, KeptRowsError) as error:
            self._failed(wire_error(refusal_of(error)))
        except WireError as error:
            if error.is_final:
                raise
            self._failed(error)
        else:
            return True
        return False

    def _failed(self, error: WireError) -> None:
        settings = self._statements.settings
        settings.state = b"E" if settings.state == b"T" else settings.state
        self._client.write(report(b"E", error.fields("ERROR")))

    async def _simple(self, reading: Reading) -> None:
        self._prepared.pop("", None)  # the simple protocol forgets what has no name
        self._portals.pop("", None)
        parts = await self._statements.working(_split_message, reading)
        for part in parts:
            outcome = await self._of_portal(part) or await self._statements.run(part)
            self._dropped(part, outcome.tag)
            if outcome.table is not None:
                columns = await self._statements.working(columns_of, outcome.table.schema)
                formats = [0] * len(columns)
                self._client.write(await self._statements.working(row_description, columns, formats))
                await self._rows(outcome.table, columns, formats)
            self._complete(outcome)
        if not parts:
            self._client.write(_EMPTY)

    async def _of_portal(self, text: str) -> Outcome | None:
        """Answer FETCH, MOVE and CLOSE of a portal, which is a cursor, too; None of any other statement."""
        verb = verb_of(text)
        if verb not in ("FETCH", "MOVE", "CLOSE") or not self._portals:
            return None
        if verb == "CLOSE":
            found = self._portals.pop(closed(text) or "", None)
            return None if found is None else Outcome("CLOSE CURSOR")
        name, way, count = step_of(text)
        portal = self._portals.get(name)
        if portal is None:
            return None
        if way != "FORWARD":
            raise WireError("55000", "the cursor only goes forward: declare it with SCROLL")
        if portal.outcome is None:
            await self._run(portal)
        outcome = portal.outcome
        if outcome is None or outcome.table is None:
            raise WireError("34000", f"{name[:60]!r} has no rows")
        left = outcome.table.num_rows - portal.sent
        rows = outcome.table.slice(portal.sent, left if count is None else min(count, left))
        portal.sent += rows.num_rows
        return Outcome(f"{verb} {rows.num_rows}", rows if verb == "FETCH" else None)

    async def _parse(self, reading: Reading) -> None:
        name, text, oids = await self._statements.working(_parse_message, reading)
        self._statements.refuse_after_failure(text)
        if name and name in self._prepared:
            raise WireError("42P05", f"there is a statement {name[:60]!r} already")
        self._prepared.pop(name, None)
        found = await self._statements.prepared(text, oids)
        _refuse_many([*self._prepared.values(), found])
        self._prepared[name] = found
        self._client.write(message(b"1"))

    async def _bind(self, reading: Reading) -> None:
        name, statement = reading.text(), reading.text()
        found = self._statement(statement)
        self._statements.refuse_after_failure(found.text)
        if name and name in self._portals:
            raise WireError("42P03", f"there is a portal {name[:60]!r} already")
        if found.oids:  # what has no parameters is not written again
            self._statements.refuse_much(len(found.text) + reading.left)
        portal = await self._statements.working(_bound_message, reading, found)
        self._portals.pop(name, None)
        _refuse_many([*self._portals.values(), portal])
        self._portals[name] = portal
        self._client.write(message(b"2"))

    async def _describe(self, reading: Reading) -> None:
        kind, name = reading.raw(1), reading.text()
        reading.end()
        if kind == b"S":
            found = self._statement(name)
            self._statements.refuse_after_failure(found.text)
            columns = found.columns = await self._statements.columns(found)
            self._client.write(message(b"t", struct.pack(f"!H{len(found.oids)}I", len(found.oids), *found.oids)))
            formats = [0] * len(columns or ())
        elif kind == b"P" and name not in self._portals and (of_cursor := await self._statements.cursor_columns(name)):
            columns, formats = of_cursor, [0] * len(of_cursor)
        elif kind == b"P":
            portal = self._portal(name)
            self._statements.refuse_after_failure(portal.prepared.text)
            columns = portal.columns = await self._statements.columns(portal.prepared, portal.text)
            formats = portal.formats_of(columns or ())
        else:
            raise WireError("08P01", "what is described is a statement or a portal")
        working = self._statements.working
        self._client.write(_NO_DATA if columns is None else await working(row_description, columns, formats))

    async def _execute(self, reading: Reading) -> None:
        name, most = reading.text(), reading.whole()
        reading.end()
        portal = self._portal(name)
        if portal.outcome is None:
            await self._run(portal)
        await self._some(portal, most)

    async def _run(self, portal: Portal) -> None:
        """Get the rows of a portal: its statement is run when it is first executed, and only then."""
        self._statements.refuse_after_failure(portal.prepared.text)
        if sum(one.is_unfinished for one in self._portals.values()) >= _MOST_UNFINISHED:
            raise WireError("54000", f"{_MOST_UNFINISHED} statements have rows that were not fetched: close one")
        told = portal.prepared.columns
        if portal.columns is None and told is not None and portal.prepared.shapes_columns:
            portal.columns = await self._statements.columns(portal.prepared, portal.text)
            if [one.type for one in portal.columns or ()] != [one.type for one in told]:
                raise WireError("0A000", "with these values the columns are others than was told: cast them")
        portal.columns = portal.columns or told
        if portal.columns is None and portal.formats not in ([], [0], [1]):  # before it costs anything
            portal.columns = await self._statements.columns(portal.prepared, portal.text)
        if portal.columns is not None:
            portal.formats_of(portal.columns)
        portal.outcome = await self._statements.run(portal.text, portal.prepared.about)
        self._dropped(portal.text, portal.outcome.tag)

    async def _some(self, portal: Portal, most: int) -> None:
        """Send the next rows of a portal, at most so many if that is positive."""
        outcome = portal.outcome
        assert outcome is not None
        if outcome.table is None:
            self._client.write(_EMPTY) if outcome.tag is None else self._complete(outcome)
            return
        left = outcome.table.num_rows - portal.sent
        sent = min(left, most) if most > 0 else left
        columns = portal.columns or []
        if portal.columns is None:
            columns = await self._statements.working(columns_of, outcome.table.schema)
        await self._rows(outcome.table.slice(portal.sent, sent), columns, portal.formats_of(columns))
        portal.sent += sent
        if sent < left:
            self._client.write(_SUSPENDED)
            return
        self._complete(outcome if sent == outcome.table.num_rows else outcome.with_count(sent))
        portal.finish()

    async def _close(self, reading: Reading) -> None:
        kind, name = reading.raw(1), reading.text()
        reading.end()
        if kind not in (b"S", b"P"):
            raise WireError("08P01", "what is closed is a statement or a portal")
        (self._prepared if kind == b"S" else self._portals).pop(name, None)
        self._client.write(message(b"3"))

    async def _rows(self, table: pa.Table, columns: Sequence[Column], formats: Sequence[int]) -> None:
        for some in slices(table):
            self._client.write(await self._statements.working(_written, some, columns, formats))
            await self._client.drain()

    def _complete(self, outcome: Outcome) -> None:
        if outcome.notice and self._statements.settings.wants_notices:
            self._client.write(report(b"N", {"S": "NOTICE", "V": "NOTICE", "C": "00000", **outcome.notice}))
        self._client.write(_EMPTY if outcome.tag is None else message(b"C", texts(outcome.tag)))

    def _synchronized(self) -> None:
        """Forget the portals of a statement that is over; within a transaction they stay."""
        if self._statements.settings.state == b"I":
            self._portals.clear()

    def _dropped(self, text: str, tag: str | None) -> None:
        """Forget what a statement with this tag has dropped."""
        if tag in ("DISCARD ALL", "DEALLOCATE ALL"):
            self._prepared.clear()
        elif tag == "DEALLOCATE":
            name = deallocated(text)
            self._statement(str(name))
            del self._prepared[str(name)]

    def _statement(self, name: str) -> Prepared:
        if name not in self._prepared:
            raise WireError("26000", f"there is no statement {name[:60]!r}")
        return self._prepared[name]

    def _portal(self, name: str) -> Portal:
        if name not in self._portals:
            raise WireError("34000", f"there is no portal {name[:60]!r}")
        return self._portals[name]


def _split_message(reading: Reading) -> list[str]:
    text = reading.text()
    reading.end()
    try:
        return [bare(part) for part in split_statements(text, "postgres")]
    except StatementRefusedError as error:
        raise WireError("54000", str(error)) from None


def _parse_message(reading: Reading) -> tuple[str, str, list[int]]:
    name, text, oids = reading.text(), reading.text(), reading.types()
    reading.end()
    return name, bare(text), oids


def _bound_message(reading: Reading, found: Prepared) -> Portal:
    """Read what follows the names in a message, and write the statement with its values."""
    formats = reading.shorts()
    values, wanted = [reading.sized() for _ in range(reading.count())], reading.shorts()
    reading.end()
    if len(values) != len(found.oids) or len(formats) not in (0, 1, len(values)):
        raise WireError("08P01", f"{len(values)} values for {len(found.oids)} parameters")
    each = formats if len(formats) == len(values) else [*formats, 0][:1] * len(values)
    read = [read_value(*one) for one in zip(values, found.oids, each, strict=True)]
    return Portal(found, found.bound(read), wanted)


_ANSWERS: Mapping[bytes, Callable[[Conversation, Reading], Awaitable[None]]] = {
    b"P": Conversation._parse, b"B": Conversation._bind, b"D": Conversation._describe,
    b"E": Conversation._execute, b"C": Conversation._close,
}  # fmt: skip


def _written(table: pa.Table, columns: Sequence[Column], formats: Sequence[int]) -> bytes:
    return data_rows(encoded(table, columns, formats))


def _refuse_many(found: Sequence[Prepared | Portal]) -> None:
    if len(found) > _MOST_NAMED or sum(len(one.text) for one in found) > _MOST_BYTES:
        raise WireError("54000", "too many statements are prepared, or too long ones: close some")
