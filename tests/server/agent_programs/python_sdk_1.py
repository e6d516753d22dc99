"""The official Python SDK of the years before, which most agents have: a session over a stream."""

from __future__ import annotations

import asyncio
import os
from contextlib import AsyncExitStack
from typing import Any

from mcp import ClientSession
from mcp.client.streamable_http import streamablehttp_client
from steps import CALLS, REFUSED, TOOLS, gone_through, step


async def main() -> None:
    stack = AsyncExitStack()
    headers = {"Authorization": f"Bearer {os.environ['MCP_TOKEN']}"}
    read, write, _ = await stack.enter_async_context(streamablehttp_client(os.environ["MCP_URL"], headers=headers))
    session = await stack.enter_async_context(ClientSession(read, write))
    begun: list[Any] = []

    async def begin() -> None:
        begun.append(await session.initialize())

    await step("connect", begin)
    print(f"protocol {begun[0].protocolVersion}")
    await step("ping", session.send_ping)

    async def listed() -> list[str]:
        return [tool.name for tool in (await session.list_tools()).tools]

    async def called(tool: str, arguments: Any) -> tuple[bool, str]:
        found = await session.call_tool(tool, arguments)
        assert found.structuredContent is not None
        return bool(found.isError), found.content[0].text

    await step("list tools", listed, TOOLS)
    await gone_through(CALLS, called)
    await step("refused: cursor", lambda: session.list_tools(cursor="next"), REFUSED)
    await step("refused: prompts", session.list_prompts, REFUSED)
    await step("refused: resources", session.list_resources, REFUSED)
    await step("close", stack.aclose)


asyncio.run(main())
