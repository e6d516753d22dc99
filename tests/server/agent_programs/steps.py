"""What every Python program of MCP does: steps under their names, each of which works or says what fails."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

CALLS: list[dict[str, Any]] = json.loads((Path(__file__).parent / "calls.json").read_text())
TOOLS = ["schema", "account", "explain", "run", "check", "receipt"]
REFUSED = "refused by an error of JSON-RPC"


async def step(name: str, work: Callable[[], Awaitable[Any]], right: object = None) -> None:
    """Do a step, and print whether it works; `right` is what it must give, if that is fixed."""
    try:
        found = await work()
    except Exception as error:  # whatever an SDK raises, the table says it
        code = getattr(getattr(error, "error", None), "code", None)
        is_right = right == REFUSED and code in (-32601, -32602)
        said = "" if is_right else f"{type(error).__name__}: {' '.join(str(error).split())[:150]}"
        print(f"{name}\t{'ok' if is_right else 'FAIL'}\t{said}", flush=True)
        return
    is_right = right is None or found == right
    print(f"{name}\t{'ok' if is_right else 'FAIL'}\t{'' if is_right else repr(found)[:150]}", flush=True)


async def gone_through(calls: list[dict[str, Any]], called: Callable[[str, Any], Awaitable[tuple[bool, str]]]) -> None:
    """Make every call, then several at once, and one that is given up."""
    for call in calls:
        arguments = json.loads(json.dumps(call["arguments"]).replace("RUN", os.environ["MCP_RUN"]))

        async def one(call: dict[str, Any] = call, arguments: Any = arguments) -> Any:
            is_error, text = await called(call["tool"], arguments)
            return True if is_error == call.get("is_error", False) and call["words"] in text else text

        await step(call["step"], one, True)

    async def at_once() -> list[bool]:
        found = await asyncio.gather(*(called("schema", {}) for _ in range(8)))
        return [is_error for is_error, _ in found]

    async def given_up() -> bool:
        asked = asyncio.create_task(called("explain", {"statement": "SELECT 1"}))
        await asyncio.sleep(0)
        asked.cancel()
        await asyncio.gather(asked, return_exceptions=True)
        return (await called("account", {}))[0]

    await step("several at once", at_once, [False] * 8)
    await step("after one that is given up", given_up, right=False)
