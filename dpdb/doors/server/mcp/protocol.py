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

__all__ = ["mcp_server"]


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
