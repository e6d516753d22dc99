"""The tools as a server of the package `mcp`, over HTTP (`/mcp`) or standard input and output (`dpdb mcp`).

Over HTTP there are no sessions and no streams: a request, an answer. The bearer check, the rates and the limit of the
body are those of every other route, because this is one of them. Over standard input and output one analyst asks the
desk of a server's configuration.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any, BinaryIO, cast

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError

from dpdb._version import __version__
from dpdb.doors.server.configuration import Configuration
from dpdb.doors.server.desk import Desk
from dpdb.doors.server.exchange import MOST_BODY, Asker
from dpdb.doors.server.mcp_tools import INSTRUCTIONS, TOOLS, Tools
from dpdb.doors.server.pieces import ManyPartsError, json_bytes, read_json
from dpdb.errors import OWNER_LOG, ParameterError, tell_owner
from dpdb.stopping import end_by_force

_MOST_ID = 1_000
_MOST_MESSAGES = 20  # of a list
_BOM = b"\xef\xbb\xbf"
# The one version whose servers must take lists of messages; a request that names no version is of it.
_VERSION, _LISTS = b"mcp-protocol-version", "2025-03-26"


def mcp_server(tools: Tools, asker_of: Callable[[Any], Awaitable[Asker | None]]) -> Server[Any]:
    """Return a server whose calls the tools answer.

    Parameters
    ----------
    asker_of : callable
        Tells who makes the request of a context of `mcp`; None for a stranger.
    """

    async def listed(context: Any, parameters: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        del context
        if parameters is not None and parameters.cursor is not None:
            raise MCPError(
                types.INVALID_PARAMS, "Invalid params: all tools are on one page, and no cursor was given out"
            )
        found = []
        for tool in TOOLS.values():
            schema, spends = tool.schema(), tool.spends
            hints = types.ToolAnnotations(read_only_hint=not spends, destructive_hint=spends, open_world_hint=False)
            found.append(types.Tool(name=tool.name, description=tool.text, input_schema=schema, annotations=hints))
        return types.ListToolsResult(tools=found)

    async def called(context: Any, parameters: types.CallToolRequestParams) -> types.CallToolResult:
        told, is_error = await tools.call(await asker_of(context), parameters.name, parameters.arguments or {})
        content: list[types.ContentBlock] = [types.TextContent(type="text", text=told.text)]
        return types.CallToolResult(content=content, structured_content=told.values, is_error=is_error)

    return Server("dpdb", version=__version__, instructions=INSTRUCTIONS, on_list_tools=listed, on_call_tool=called)


def invalid_request(content: str | bytes) -> bytes | None:
    """Return the error of JSON-RPC 2.0 to what is no message, None of a message.

    The package `mcp` takes a request whose id is no text or whole number for a notification, which nobody answers.
    """
    try:
        found = _read(content)
    except ManyPartsError as error:
        return _error(types.INVALID_REQUEST, f"Invalid Request: {error}")
    except (ValueError, RecursionError):
        return _error(types.PARSE_ERROR, "Parse error: a message is JSON, each key of an object once")
    if isinstance(found, list):
        words = f"Invalid Request: only version {_LISTS}, over HTTP, has several messages in a list: send one"
        return _error(types.INVALID_REQUEST, words)
    given = found.get("id") if isinstance(found, dict) else None
    is_id = isinstance(given, (str, int)) and not isinstance(given, bool) and len(str(given)) <= _MOST_ID
    if isinstance(found, dict) and "method" in found and "id" in found and not is_id:
        words = f"Invalid Request: an id is a text or a whole number of at most {_MOST_ID:,} characters"
        return _error(types.INVALID_REQUEST, words)
    try:
        types.jsonrpc_message_adapter.validate_python(found, by_name=False)
    except ValueError:
        words = 'Invalid Request: a message has "jsonrpc": "2.0", a method and its params as an object'
        return _error(types.INVALID_REQUEST, words, given if is_id else None)
    return None


def messages_of(content: bytes) -> list[bytes] | bytes | None:
    """Return the messages of a list of them, or the error of JSON-RPC 2.0 to the list; None of what is no list."""
    try:
        found = _read(content)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, list):
        return None
    if not 0 < len(found) <= _MOST_MESSAGES:
        return _error(types.INVALID_REQUEST, f"Invalid Request: a list has 1 to {_MOST_MESSAGES} messages")
    if any(isinstance(one, dict) and one.get("method") == "initialize" for one in found):
        return _error(types.INVALID_REQUEST, "Invalid Request: initialize stands in no list")
    return [json_bytes(one) for one in found]


def _read(content: str | bytes) -> Any:
    return read_json(content, lambda digits: int(digits[: _MOST_ID + 1]))


def _error(code: int, words: str, given: object = None) -> bytes:
    return json_bytes({"jsonrpc": "2.0", "id": given, "error": {"code": code, "message": words}})


_ASKER, _JSON = "dpdb.asker", "application/json"


class McpOverHttp:
    """Answers requests of MCP by a desk."""

    def __init__(self, desk: Desk) -> None:
        self._desk, self._server = desk, mcp_server(Tools(desk), _asker_of)

    async def answer(self, asker: Asker, scope: MutableMapping[str, Any], body: bytes) -> tuple[int, str, bytes]:
        """Return the status, the type and the bytes of the answer to one request, which was read."""
        body = body.removeprefix(_BOM)
        if body.lstrip()[:1] == b"[" and dict(scope["headers"]).get(_VERSION, _LISTS.encode()) == _LISTS.encode():
            found = await self._desk.workers.run(asker.analyst.name, messages_of, body)
            if isinstance(found, bytes):
                return 400, _JSON, found
            if found is not None:
                told = [(await self._one(asker, scope, message))[2] for message in found]
                answers = [one for one in told if one]  # notifications have none
                return (200, _JSON, b"[" + b",".join(answers) + b"]") if answers else (202, _JSON, b"")
        return await self._one(asker, scope, body)

    async def _one(self, asker: Asker, scope: MutableMapping[str, Any], body: bytes) -> tuple[int, str, bytes]:
        error = await self._desk.workers.run(asker.analyst.name, invalid_request, body)
        if error is not None:
            return 400, _JSON, error
        status, kind, sent = 500, "", bytearray()

        async def receive() -> MutableMapping[str, Any]:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: MutableMapping[str, Any]) -> None:
            nonlocal status, kind
            if message["type"] == "http.response.start":
                status = message["status"]
                kind = dict(message["headers"]).get(b"content-type", b"").decode("latin-1")
            else:
                sent.extend(message.get("body", b""))

        manager = StreamableHTTPSessionManager(
            self._server, json_response=True, stateless=True, max_request_body_size=MOST_BODY
        )
        async with manager.run():
            await manager.handle_request({**scope, "headers": _headers(scope), _ASKER: asker}, receive, send)
        return status, kind, bytes(sent)


def _headers(scope: MutableMapping[str, Any]) -> list[tuple[bytes, bytes]]:
    """Return a request's headers, with what many clients leave out: who names no types takes and sends JSON.

    The body is JSON whatever its type is called, as on every other route.
    """
    given = [pair for pair in scope["headers"] if pair[0] != b"content-type"]
    accepts = [] if any(name == b"accept" for name, _ in given) else [(b"accept", b"*/*")]
    return [*given, *accepts, (b"content-type", _JSON.encode())]


async def _asker_of(context: Any) -> Asker | None:
    asker: Asker | None = context.request.scope[_ASKER]
    return asker


def serve_stdio(configuration: Configuration, token: str) -> None:
    """Answer the program at the other end until it closes standard input; then finish what runs.

    Parameters
    ----------
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
        if not desk.close():  # a release that is being made outlasts its time: its debit stays
            end_by_force(0)


async def _until_closed(desk: Desk, token: str, wire: BinaryIO) -> None:
    if await desk.holder(token) is None:
        raise ParameterError("nobody holds this token; `dpdb analyst add NAME --agent` makes one")

    async def asker_of(context: Any) -> Asker | None:
        del context
        analyst = await desk.holder(token)
        return None if analyst is None else Asker(analyst, "mcp", "stdio")

    tools = Tools(desk)
    server = mcp_server(tools, asker_of)
    current = [asyncio.create_task(desk.keep_current()), asyncio.create_task(desk.keep_tables(OWNER_LOG.warning))]
    answers = _Wire(wire)
    lines = _Lines(answers)
    try:
        streams = stdio_server(cast("anyio.AsyncFile[str]", lines), cast("anyio.AsyncFile[str]", answers))
        async with streams as (read, write):
            await server.run(read, write, server.create_initialization_options())
        await tools.finished(desk.configuration.limits.stop_seconds)
    finally:
        for task in current:
            task.cancel()
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
            line = line.removeprefix(_BOM)
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
