"""MCP's streamable HTTP, without sessions and streams: a request, an answer.

The bearer check, the rates and the limit of the body are those of every other route, because this is one of them.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from dpdb.doors.server.asked import Asker
from dpdb.doors.server.desk import Desk
from dpdb.doors.server.mcp.protocol import invalid_request, mcp_server
from dpdb.doors.server.mcp.tools import Tools
from dpdb.doors.server.values import MOST_BODY

__all__ = ["McpOverHttp"]

_ASKER = "dpdb.asker"


class McpOverHttp:
    """Answers requests of MCP by a desk."""

    def __init__(self, desk: Desk) -> None:
        self._server = mcp_server(Tools(desk), _asker_of)

    async def answer(self, asker: Asker, scope: MutableMapping[str, Any], body: bytes) -> tuple[int, str, bytes]:
        """Return the status, the type and the bytes of the answer to one request, which was read.

        Parameters
        ----------
        asker : Asker
        scope : mapping
            Of the request, as ASGI has it.
        body : bytes
        """
        error = invalid_request(body)
        if error is not None:
            return 400, "application/json", error
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
            await manager.handle_request({**scope, _ASKER: asker}, receive, send)
        return status, kind, bytes(sent)


async def _asker_of(context: Any) -> Asker | None:
    asker: Asker | None = context.request.scope[_ASKER]
    return asker
