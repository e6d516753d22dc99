"""The tools as a server of the package `mcp`, for either transport."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server

from dpdb._version import __version__
from dpdb.doors.server.asked import Asker
from dpdb.doors.server.mcp.tools import INSTRUCTIONS, TOOLS, Tools
from dpdb.doors.server.values import json_bytes

__all__ = ["invalid_request", "mcp_server"]

_MOST_ID = 1_000


def mcp_server(tools: Tools, asker_of: Callable[[Any], Awaitable[Asker | None]]) -> Server[Any]:
    """Return a server whose calls the tools answer.

    Parameters
    ----------
    tools : Tools
    asker_of : callable
        Tells who makes the request of a context of `mcp`; None for a stranger.
    """

    async def listed(context: Any, parameters: Any) -> types.ListToolsResult:
        del context, parameters
        found = []
        for tool in TOOLS.values():
            schema, spends = tool.schema(), tool.spends
            hints = types.ToolAnnotations(read_only_hint=not spends, destructive_hint=spends, open_world_hint=False)
            found.append(types.Tool(name=tool.name, description=tool.text, input_schema=schema, annotations=hints))
        return types.ListToolsResult(tools=found)

    async def called(context: Any, parameters: types.CallToolRequestParams) -> types.CallToolResult:
        values, is_error = await tools.call(await asker_of(context), parameters.name, parameters.arguments or {})
        text = json_bytes(values).decode()
        content: list[types.ContentBlock] = [types.TextContent(type="text", text=text)]
        return types.CallToolResult(content=content, structured_content=json.loads(text), is_error=is_error)

    return Server("dpdb", version=__version__, instructions=INSTRUCTIONS, on_list_tools=listed, on_call_tool=called)


def invalid_request(content: str | bytes) -> bytes | None:
    """Return the error of JSON-RPC 2.0 to what is no message, None of a message.

    The package `mcp` takes a request whose id is no text or whole number for a notification, which nobody answers.
    """
    try:
        found = json.loads(content, parse_int=lambda digits: int(digits[: _MOST_ID + 1]))
    except (ValueError, RecursionError):
        return _error(types.PARSE_ERROR, "Parse error: a message is JSON")
    if isinstance(found, list):
        return _error(types.INVALID_REQUEST, "Invalid Request: several messages in a list are not taken: send one")
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


def _error(code: int, words: str, given: object = None) -> bytes:
    return json_bytes({"jsonrpc": "2.0", "id": given, "error": {"code": code, "message": words}})
