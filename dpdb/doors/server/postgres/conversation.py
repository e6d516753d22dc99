"""`Conversation`: what a client that has logged in asks, by the simple and the extended protocol.

https://www.postgresql.org/docs/15/protocol-flow.html
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

import pyarrow as pa

from dpdb.doors.server.asked import RefusedError
from dpdb.doors.server.postgres.errors import WireError, wire_error
from dpdb.doors.server.postgres.extended import Extended, Portal
from dpdb.doors.server.postgres.session import bare
from dpdb.doors.server.postgres.statements import Outcome, Statements
from dpdb.doors.server.postgres.types import Column, columns_of
from dpdb.doors.server.postgres.values import encoded
from dpdb.doors.server.postgres.wire import Reading, data_rows, message, report, row_description, texts
from dpdb.doors.server.refusals import refusal_of
from dpdb.doors.sql import split_statements
from dpdb.errors import StatementRefusedError

__all__ = ["Client", "Conversation"]

_ROWS = 1_000  # written at a time
_EMPTY, _NO_DATA, _SUSPENDED = message(b"I"), message(b"n"), message(b"s")


class Client(Protocol):
    """Where answers go."""

    def write(self, content: bytes) -> None:
        """Send bytes, at the latest when `drain` is called."""

    async def drain(self) -> None:
        """Wait until the client has read enough; `OSError` if it does not."""


class Conversation:
    """Answers the messages of one connection, one after the other.

    Parameters
    ----------
    statements : Statements
    client : Client
    """

    def __init__(self, statements: Statements, client: Client) -> None:
        self._statements, self._client = statements, client
        self._extended = Extended(statements)
        self._skips = False  # until the next Sync, after an error
        self._answers: dict[bytes, Callable[[Reading], Awaitable[None]]] = {
            b"P": self._parse, b"B": self._bind, b"D": self._describe, b"E": self._execute, b"C": self._close,
        }  # fmt: skip

    def ready(self) -> None:
        """Say that the next statement may come."""
        self._client.write(message(b"Z", self._statements.settings.state))

    async def answer(self, kind: bytes, body: bytes) -> None:
        """Answer a message.

        Raises
        ------
        WireError
            The connection ends.
        """
        if kind == b"Q":
            if not self._skips:  # as PostgreSQL: behind an error nothing runs before Sync
                await self._told(self._simple, Reading(body))
                self._extended.synchronized()
                self.ready()
        elif kind == b"S":
            self._skips = False
            self._extended.synchronized()
            self.ready()
        elif kind in self._answers:
            if not self._skips:
                self._skips = not await self._told(self._answers[kind], Reading(body))
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
        except StatementRefusedError as error:
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
        text = reading.text()
        reading.end()
        self._extended.forget_unnamed()
        try:
            parts = split_statements(text)
        except StatementRefusedError as error:
            raise WireError("54000", str(error)) from None
        for part in parts:
            outcome = await self._statements.run(bare(part))
            self._extended.dropped(outcome.tag)
            if outcome.table is not None:
                columns = columns_of(outcome.table.schema)
                self._client.write(_description(columns, [0] * len(columns)))
                await self._rows(outcome.table, columns, [0] * len(columns))
            self._complete(outcome)
        if not parts:
            self._client.write(_EMPTY)

    async def _parse(self, reading: Reading) -> None:
        name, text, oids = reading.text(), reading.text(), reading.types()
        reading.end()
        await self._extended.parse(name, text, oids)
        self._client.write(message(b"1"))

    async def _bind(self, reading: Reading) -> None:
        portal, name = reading.text(), reading.text()
        formats = reading.shorts()
        values = [reading.sized() for _ in range(reading.count())]
        wanted = reading.shorts()
        reading.end()
        await self._extended.bind(portal, name, formats, values, wanted)
        self._client.write(message(b"2"))

    async def _describe(self, reading: Reading) -> None:
        kind, name = reading.raw(1), reading.text()
        reading.end()
        if kind == b"S":
            oids, columns = await self._extended.describe_statement(name)
            self._client.write(message(b"t", struct.pack(f"!H{len(oids)}I", len(oids), *oids)))
            formats: Sequence[int] = [0] * len(columns or ())
        elif kind == b"P":
            columns, formats = await self._extended.describe_portal(name)
        else:
            raise WireError("08P01", "what is described is a statement or a portal")
        self._client.write(_NO_DATA if columns is None else _description(columns, formats))

    async def _execute(self, reading: Reading) -> None:
        name, most = reading.text(), reading.whole()
        reading.end()
        portal = await self._extended.execute(name)
        await self._some(portal, most)

    async def _some(self, portal: Portal, most: int) -> None:
        """Send the next rows of a portal, at most so many if that is positive."""
        outcome = portal.outcome
        assert outcome is not None
        if outcome.table is None:
            self._client.write(_EMPTY) if outcome.tag is None else self._complete(outcome)
            return
        left = outcome.table.num_rows - portal.sent
        sent = min(left, most) if most > 0 else left
        columns = portal.columns or columns_of(outcome.table.schema)
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
        self._extended.close(kind, name)
        self._client.write(message(b"3"))

    async def _rows(self, table: pa.Table, columns: Sequence[Column], formats: Sequence[int]) -> None:
        for start in range(0, table.num_rows, _ROWS):
            some = table.slice(start, _ROWS)
            self._client.write(await asyncio.to_thread(_written, some, columns, formats))
            await self._client.drain()

    def _complete(self, outcome: Outcome) -> None:
        if outcome.notice and self._statements.settings.wants_notices:
            self._client.write(report(b"N", {"S": "NOTICE", "V": "NOTICE", "C": "00000", **outcome.notice}))
        self._client.write(_EMPTY if outcome.tag is None else message(b"C", texts(outcome.tag)))


def _written(table: pa.Table, columns: Sequence[Column], formats: Sequence[int]) -> bytes:
    return data_rows(encoded(table, columns, formats))


def _description(columns: Sequence[Column], formats: Sequence[int]) -> bytes:
    found = zip(columns, formats, strict=True)
    return row_description((column.name, column.type.oid, column.type.size, form) for column, form in found)
