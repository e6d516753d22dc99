"""SDKs of MCP and its inspector as people install them: what each is, and how its program asks a server.

`python tests/server/installed_agents.py` installs all, runs all, and prints one table: version, steps passed of tried.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from installed_clients import Client, Installed, install_client, line_of, run_steps

PROGRAMS = Path(__file__).parent / "agent_programs"
RATION = {"quota": 3, "most_per_statement": 1}
PAID = 5  # steps of `calls.json` that cost; of a repeated run one
_NEWEST = "@modelcontextprotocol/client"
_INSPECTOR = Client("npm", ("@modelcontextprotocol/inspector@latest", "node@22"), "inspector.mjs")

# What is installed, and the arguments of its program; an environment serves all that have the same packages.
AGENTS: Mapping[str, tuple[Client, tuple[str, ...]]] = {
    "Python SDK, newest version": (Client("pip", ("mcp",), "python_sdk.py"), ("auto",)),
    "Python SDK, handshake": (Client("pip", ("mcp",), "python_sdk.py"), ("legacy",)),
    "Python SDK 1": (Client("pip", ("mcp<2",), "python_sdk_1.py"), ()),
    "TypeScript SDK 1": (Client("npm", ("@modelcontextprotocol/sdk",), "typescript_sdk.mjs"), ("first",)),
    "TypeScript SDK 2, newest version": (Client("npm", (_NEWEST,), "typescript_sdk.mjs"), ("newest", "auto")),
    "TypeScript SDK 2, handshake": (Client("npm", (_NEWEST,), "typescript_sdk.mjs"), ("newest", "legacy")),
    "inspector, handshake": (_INSPECTOR, ("legacy",)),
    "inspector, newest version": (_INSPECTOR, ("auto",)),
}  # fmt: skip


def installed_agent(name: str, folder: Path) -> Installed | str:
    """Install what an agent needs into a folder for its packages; or say why that cannot be."""
    client = AGENTS[name][0]
    place = folder / str(sorted({one.packages for one, _ in AGENTS.values()}).index(client.packages))
    done = place / "installed.json"
    if not done.exists():
        found = install_client(client, place)
        done.parent.mkdir(exist_ok=True)
        done.write_text(json.dumps(found))
    kept = json.loads(done.read_text())
    return kept if isinstance(kept, str) else Installed(*kept)


def steps_of(name: str, installed: Installed, url: str, token: str) -> list[tuple[str, bool, str]]:
    """Run an agent's program; its steps, and whether each works."""
    client, arguments = AGENTS[name]
    environment = {"MCP_URL": f"{url}/mcp", "MCP_TOKEN": token, "MCP_RUN": f"of {name}", **installed.environment}
    if client is _INSPECTOR:
        modules = Path(installed.environment["NODE_PATH"])
        launcher = modules / "@modelcontextprotocol" / "inspector" / "clients" / "launcher" / "build" / "index.js"
        node = modules / ".bin" / "node"  # it needs a newer one than most machines have
        environment |= {"MCP_INSPECTOR": json.dumps([str(node), str(launcher)]), "HOME": str(modules.parent)}
    return run_steps([*installed.command, str(PROGRAMS / client.program), *arguments], environment)


@contextmanager
def served(folder: Path) -> Iterator[Any]:
    """Give a server that signs receipts, with an analyst."""
    from server_site import Server, make_site

    from dpdb.receipts import new_key_file

    (folder / "site").mkdir()
    new_key_file(folder / "receipts.key", "test")
    settings = {"receipt_key": "../receipts.key", "receipt_seconds": 0.3}
    with Server(make_site(folder / "site", epsilon=50, analysts={"ann": RATION}, settings=settings)) as server:
        yield server


def main() -> None:
    """Print the table of all agents against a server of their own."""
    from tempfile import TemporaryDirectory

    tests = Path(__file__).parents[1]
    sys.path[:0] = [str(tests), *(str(tests / room) for room in ("server", "sql", "receipts"))]
    print("| agent | version | steps passed of tried | |\n| --- | --- | --- | --- |", flush=True)
    with TemporaryDirectory() as folder, served(Path(folder)) as server:
        for name in AGENTS:
            installed = installed_agent(name, Path(folder))
            if isinstance(installed, str):
                print(f"| {name} | | not run | {installed} |", flush=True)
            else:
                found = steps_of(name, installed, server.url, server.site.tokens["ann"])
                print(line_of(name, installed.version, found), flush=True)


if __name__ == "__main__":
    main()
