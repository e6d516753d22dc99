"""The official Python SDK of today: a client of its newest protocol version, or of a handshake."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from steps import CALLS, REFUSED, TOOLS, gone_through, step


async def main(mode: Any) -> None:
    headers = {"Authorization": f"Bearer {os.environ['MCP_TOKEN']}"}
    async with httpx2.AsyncClient(headers=headers, timeout=60, trust_env=False) as http:
        client = Client(streamable_http_client(os.environ["MCP_URL"], http_client=http), mode=mode)
        await step("connect", client.__aenter__)
        print(f"protocol {client.protocol_version}")
        if mode == "legacy":  # the newest version has no ping
            await step("ping", client.send_ping)

        async def listed() -> list[str]:
            return [tool.name for tool in (await client.list_tools()).tools]

        async def called(tool: str, arguments: Any) -> tuple[bool, str]:
            found = await client.call_tool(tool, arguments)
            assert found.structured_content is not None
            return bool(found.is_error), found.content[0].text

        await step("list tools", listed, TOOLS)
        await gone_through(CALLS, called)
        for name, asked in (("cursor", lambda: client.list_tools(cursor="next")), ("prompts", client.list_prompts),
                            ("resources", client.list_resources)):  # fmt: skip
            await step(f"refused: {name}", asked, REFUSED)
        await step("close", lambda: client.__aexit__(None, None, None))


asyncio.run(main(sys.argv[1]))
