"""`dpdb mcp`: MCP over standard input and output, for one analyst, over the desk of a server's configuration."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any, BinaryIO, cast

import anyio
from mcp.server.stdio import stdio_server

from dpdb.doors.server.asked import Asker
from dpdb.doors.server.configuration import Configuration
from dpdb.doors.server.desk import Desk
from dpdb.doors.server.mcp.protocol import invalid_request, mcp_server
from dpdb.doors.server.mcp.tools import Tools
from dpdb.doors.server.values import MOST_BODY
from dpdb.errors import ParameterError
from dpdb.owner_log import tell_owner

__all__ = ["serve_stdio"]


def serve_stdio(configuration: Configuration, token: str) -> None:
    """Answer the program at the other end until it closes standard input; then finish what runs.

    Parameters
    ----------
    configuration
        Of the server; nothing listens.
    token
        Of the analyst on whose behalf the program asks; looked up again at every call.

    Raises
    ------
    ParameterError
        Nobody holds the token, or a message is too long.
    DpdbError
        A table, a ledger or the audit file cannot be used.
    """
    tell_owner("mcp")  # standard error is the client's to read
    wire = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever else is printed is no message
    desk = Desk(configuration)
    try:
        asyncio.run(_until_closed(desk, token, wire))
    finally:
        desk.close()


async def _until_closed(desk: Desk, token: str, wire: BinaryIO) -> None:
    if await desk.holder(token) is None:
        raise ParameterError("nobody holds this token; `dpdb analyst add NAME --agent` makes one")

    async def asker_of(context: Any) -> Asker | None:
        del context
        analyst = await desk.holder(token)
        return None if analyst is None else Asker(analyst, "mcp", "stdio")

    tools = Tools(desk)
    server = mcp_server(tools, asker_of)
    current = asyncio.create_task(desk.keep_current())
    answers = _Wire(wire)
    lines = _Lines(answers)
    try:
        streams = stdio_server(cast("anyio.AsyncFile[str]", lines), cast("anyio.AsyncFile[str]", answers))
        async with streams as (read, write):
            await server.run(read, write, server.create_initialization_options())
        await tools.finished(desk.configuration.limits.stop_seconds)
    finally:
        current.cancel()
    if lines.is_too_long:
        raise ParameterError(f"a message has at most {MOST_BODY >> 10} KiB")


class _Lines:
    """The lines of standard input, read by a thread that nobody waits for; they end at one that is too long.

    What is no request is answered here.
    """

    def __init__(self, answers: _Wire) -> None:
        self.is_too_long, self._answers = False, answers
        self._loop = asyncio.get_running_loop()
        self._read: asyncio.Queue[bytes] = asyncio.Queue(1)
        threading.Thread(target=self._feed, name="dpdb-stdin", daemon=True).start()

    def _feed(self) -> None:
        with suppress(RuntimeError):  # the loop has ended
            while True:
                line = sys.stdin.buffer.readline(MOST_BODY + 1)
                asyncio.run_coroutine_threadsafe(self._read.put(line), self._loop).result()
                if not line or len(line) > MOST_BODY:
                    return

    async def __aiter__(self) -> AsyncIterator[str]:
        while line := await self._read.get():
            if len(line) > MOST_BODY:
                self.is_too_long = True
                return
            error = invalid_request(line) if line.strip() else None
            if error is None:
                yield line.decode("utf-8", "replace")
            else:
                await self._answers.write(f"{error.decode()}\n")
                await self._answers.flush()


class _Wire:
    """Standard output as it was; a reader that has gone is no failure."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    async def write(self, text: str) -> None:
        """Take one message."""
        self._stream.write(text.encode("utf-8", "replace"))

    async def flush(self) -> None:
        """Write what was taken."""
        with suppress(BrokenPipeError):
            await asyncio.to_thread(self._stream.flush)
