"""SDKs of MCP and its inspector as people install them: they connect, call every tool well and badly, and close."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from installed_agents import AGENTS, PAID, PROGRAMS, installed_agent, served, steps_of
from installed_clients import Installed, line_of
from server_site import Server


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("agents")


@pytest.fixture(scope="module")
def mcp(place: Path) -> Iterator[Server]:
    with served(place) as running:
        yield running


def hold(name: str, installed: Installed, mcp: Server) -> None:
    before = mcp.site.spent()
    found = steps_of(name, installed, mcp.url, mcp.site.tokens["ann"])
    print(f"\n{line_of(name, installed.version, found)}")
    assert len(found) >= 27
    assert all(is_right for _, is_right, _ in found), line_of(name, installed.version, found)
    assert mcp.site.spent() - before == pytest.approx(0.01 * PAID)


@pytest.mark.heavy
@pytest.mark.parametrize("name", ["Python SDK, newest version", "Python SDK, handshake"])
def test_the_sdk_of_this_environment(name: str, mcp: Server) -> None:
    pytest.importorskip("mcp", reason="mcp is not installed")
    hold(name, Installed([sys.executable], {}, "installed here"), mcp)


@pytest.mark.slow
@pytest.mark.parametrize("name", AGENTS)
def test_agents_from_their_index(name: str, mcp: Server, place: Path) -> None:
    installed = installed_agent(name, place)
    if isinstance(installed, str):
        pytest.skip(installed)
    hold(name, installed, mcp)


def test_every_program_is_of_an_agent() -> None:
    used = {client.program for client, _ in AGENTS.values()} | {"steps.py", "calls.json"}
    assert {path.name for path in PROGRAMS.iterdir() if path.is_file()} == used
