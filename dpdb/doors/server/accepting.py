"""`accepted`: the connections of a listening socket, one after another."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator

__all__ = ["accepted"]

_PAUSE = 0.05  # where the system gives no descriptor


async def accepted(listener: socket.socket) -> AsyncIterator[tuple[socket.socket, str]]:
    """Give each connection of a listener that does not block, with the address it comes from; without an end."""
    loop = asyncio.get_running_loop()
    while True:
        try:
            client, (address, *_) = await loop.sock_accept(listener)
        except OSError:
            await asyncio.sleep(_PAUSE)
            continue
        yield client, address
        await asyncio.sleep(0)  # whoever connects without a pause leaves the others their turn
