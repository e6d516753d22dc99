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
        return types.ListToolsResult(
            tools=[
                types.Tool(
                    name=tool.name,
                    description=tool.text,
                    input_schema=tool.schema(),
                    annotations=types.ToolAnnotations(
                        read_only_hint=not tool.spends, destructive_hint=tool.spends, open_world_hint=False
                    ),
                )
                for tool in TOOLS.values()
            ]
        )

    async def called(context: Any, parameters: types.CallToolRequestParams) -> types.CallToolResult:
        values, is_error = await tools.call(await asker_of(context), parameters.name, parameters.arguments or {})
        text = json_bytes(values).decode()
        content: list[types.ContentBlock] = [types.TextContent(type="text", text=text)]
        return types.CallToolResult(content=content, structured_content=json.loads(text), is_error=is_error)

    return Server("dpdb", version=__version__, instructions=INSTRUCTIONS, on_list_tools=listed, on_call_tool=called)


def invalid_request(content: str | bytes) -> bytes | None:
    """Return the error of JSON-RPC 2.0 to a message that the package `mcp` would take for none that wants an answer.

    These are requests whose id is no text or whole number, and several messages in a list, which MCP has no more.
    None of any other message.
    """
    try:
        found = json.loads(content, parse_int=_Digits)
    except (ValueError, RecursionError):  # which `mcp` says of it
        return None
    if isinstance(found, list):
        return _error("Invalid Request: a message is one object; several in a list are not taken")
    if isinstance(found, dict) and "method" in found and "id" in found:
        given = found["id"]
        if not isinstance(given, str) or len(given) > _MOST_ID:
            return _error(f"Invalid Request: an id is a text or a whole number of at most {_MOST_ID:,} characters")
    return None


class _Digits(str):
    """A whole number of JSON, of any length."""


def _error(words: str) -> bytes:
    return json_bytes({"jsonrpc": "2.0", "id": None, "error": {"code": types.INVALID_REQUEST, "message": words}})
