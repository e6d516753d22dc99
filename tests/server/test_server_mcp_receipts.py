"""Receipts by MCP: an agent's own, none of others, and the refusal of a ledger that went back."""

from __future__ import annotations

import asyncio
import base64
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from private_rows import shows_private
from server_site import COUNT, Server, Site, make_site
from test_server_mcp import over_http, over_stdio

from dpdb.doors.cli.main import main
from dpdb.doors.server.configuration import load_configuration
from dpdb.doors.server.desk import Desk
from dpdb.doors.server.exchange import Asker
from dpdb.doors.server.mcp_tools import Tools
from dpdb.receipts import Checkpoint, Receipt, load_public, new_key_file, open_receipt

GRID = 0.3
RATION = {"quota": 100, "most_per_statement": 5}


def site_with_key(folder: Path, **settings: Any) -> Site:
    (folder / "site").mkdir()
    new_key_file(folder / "receipts.key", "test")
    given = {"receipt_key": "../receipts.key", "receipt_seconds": GRID} | settings
    return make_site(folder / "site", analysts={"ann": RATION, "bob": RATION}, settings=given)


class Agents:
    """Tools over a desk, for several analysts."""

    def __init__(self, site: Site) -> None:
        self.site, self.desk = site, Desk(load_configuration(site.config))
        self.tools = Tools(self.desk)

    async def call(self, name: str, tool: str, **arguments: Any) -> dict[str, Any]:
        found = await self.refusable(name, tool, **arguments)
        assert "error" not in found, found
        return found

    async def refusable(self, name: str, tool: str, **arguments: Any) -> dict[str, Any]:
        analyst = await self.desk.holder(self.site.tokens[name])
        assert analyst is not None
        told, is_error = await self.tools.call(Asker(analyst, "mcp", "here"), tool, arguments)
        assert is_error == ("error" in told.values)
        return told.values


def opened(folder: Path, found: dict[str, Any]) -> list[Receipt]:
    key = load_public(folder / "receipts.key.pub")
    return [open_receipt(one["receipt"].encode(), [key]) for one in found["receipts"]]


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize("over", [pytest.param(over_http, marks=pytest.mark.slow), over_stdio])
def test_an_agent_has_the_receipts_of_what_it_ran(
    tmp_path: Path, over: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """By a real client over both transports; the lines verify elsewhere, with the public key alone."""
    site = site_with_key(tmp_path)
    said: list[Any] = []

    async def talk(client: Any) -> None:
        for tool, asked in (
            ("run", {"statement": COUNT, "run_id": "a"}),
            ("check", {"suite": "nightly", "run_id": "b"}),
        ):
            answer = (await client.call_tool(tool, asked)).structured_content
            said.append((answer, (await client.call_tool("receipt", answer["receipt"])).structured_content))
        again = await client.call_tool(
            "run", {"statement": COUNT, "if_receipt": said[-1][1]["receipts"][0]["if_receipt"]}
        )
        assert not again.is_error

    if over is over_http:
        with Server(site) as server:
            over(server, "ann", talk)
    else:
        over(site, "ann", talk)
    (run, first), (check, second) = said
    assert run["receipt"] == {"releases": [run["releases"][0]["release_id"]]}
    assert check["receipt"] == {"runs": ["b"]}
    [count], [verdicts] = opened(tmp_path, first), opened(tmp_path, second)
    assert count.statement["subject"][1]["name"] == run["releases"][0]["release_id"]
    assert verdicts.claims["accounting"]["spent_before"] == 250_000_000
    kept = tmp_path / "kept.jsonl"
    kept.write_text("".join(f"{one['receipts'][0]['receipt']}\n" for one in (first, second)))
    shown = ["verify", str(kept), "--key", str(tmp_path / "receipts.key.pub")]
    assert main([*shown, "--ledger", str(site.ledger)]) == 0
    assert "3 of 3 recorded overlaps" in capsys.readouterr().out
    assert main(shown) == 0


@pytest.mark.heavy(family="privacy")
def test_nothing_of_others_is_in_a_receipt_and_no_receipt_is_of_others(tmp_path: Path) -> None:
    site = site_with_key(tmp_path)
    agents = Agents(site)

    async def talk() -> None:
        hers = (await agents.call("ann", "run", statement=COUNT, run_id="a"))["receipt"]["releases"]
        his = await agents.call("bob", "run", statement=COUNT, run_id="b")
        [receipt] = opened(tmp_path, await agents.call("bob", "receipt", **his["receipt"]))
        sums = receipt.claims["accounting"]
        assert (sums["spent_before"], sums["debits_before"], sums["overlap_bound"]) == (0, 0, None)
        text = json.dumps([receipt.statement["subject"], {**receipt.claims, "log": None}])  # no log: hashes
        assert not [word for word in ("ann", "bob", "state", "visits", "dp_count") if f'"{word}' in text]
        assert not shows_private(text)
        other = Checkpoint("dpdb.ledger/other", 1, base64.b64decode("A" * 43 + "=")).text.strip().replace("\n", " ")
        wrong: list[tuple[str, dict[str, Any]]] = [
            ("refused", {"releases": hers}), ("refused", {"runs": ["a"]}), ("refused", {"runs": ["ann:a"]}),
            ("refused", {"releases": [], "runs": []}), ("refused", {}), ("refused", {"runs": ["b"] * 101}),
            ("refused", {"runs": ["b"], "if_receipt": other}), ("refused", {"runs": ["b"], "if_receipt": "x"}),
            ("bad_request", {"runs": "b"}), ("bad_request", {"runs": [1]}), ("bad_request", {"runs": [["b"]]}),
            ("bad_request", {"runs": ["b"], "if_receipt": 1}), ("bad_request", {"run": "b"}),
            ("refused", {"runs": ["b\0", "é" * 1000, "%", ""]}), ("refused", {"releases": ['"', "'; --", "\ud800"]}),
        ]  # fmt: skip
        for code, asked in wrong:
            found = await agents.refusable("bob", "receipt", **asked)
            assert found["error"] == code, (asked, found)
            assert not shows_private(found["message"])
        spent = site.spent()
        for seen in (other, "", "a b c", "x", "log 1 AAAA", "é 1 x"):
            for tool, asked in (("run", {"statement": COUNT}), ("check", {"suite": "nightly"})):
                assert (await agents.refusable("bob", tool, **asked, if_receipt=seen))["error"] == "refused"
        assert site.spent() == spent

    try:
        asyncio.run(talk())
    finally:
        agents.desk.close()


@pytest.mark.heavy(family="long")
def test_an_agent_with_a_receipt_is_refused_by_a_ledger_that_went_back(tmp_path: Path) -> None:
    """Ledger, head and the key's memory put back together: nothing is spent, whatever tool the agent calls."""
    site = site_with_key(tmp_path)
    files = [site.ledger, site.ledger.with_name("visits.ledger-head"), tmp_path / "receipts.key-signed"]

    async def receipt_of(run: str) -> str:
        agents = Agents(site)
        try:
            answer = await agents.call("ann", "run", statement=COUNT, run_id=run)
            shown: str = (await agents.call("ann", "receipt", **answer["receipt"]))["receipts"][0]["if_receipt"]
            return shown
        finally:
            agents.desk.close()

    old = asyncio.run(receipt_of("one"))
    for file in files:
        shutil.copy2(file, f"{file}.old")
    held = asyncio.run(receipt_of("two"))
    for file in files:
        shutil.copy2(f"{file}.old", file)

    async def refused() -> None:
        agents = Agents(site)
        asks: list[tuple[str, dict[str, Any]]] = [
            ("run", {"statement": COUNT}), ("check", {"suite": "nightly"}), ("receipt", {"runs": ["one"]}),
            ("run", {"statement": "SELECT 1", "run_id": "one"}),
        ]  # fmt: skip
        try:
            for grows in (False, True):  # beyond what the receipt has shown, with other lines
                before = site.spent()
                for tool, asked in asks:
                    told = await agents.refusable("ann", tool, **asked, if_receipt=held)
                    assert told["error"] == "rollback"
                    assert str(site.folder) not in told["message"]
                assert site.spent() == before
                if not grows:
                    for _ in range(3):
                        await agents.call("ann", "run", statement=COUNT)
            await agents.call("ann", "run", statement=COUNT, if_receipt=old)
        finally:
            agents.desk.close()

    asyncio.run(refused())


@pytest.mark.heavy(family="long")
def test_a_server_without_a_key_says_so(tmp_path: Path) -> None:
    agents = Agents(make_site(tmp_path, analysts={"ann": RATION}))

    async def talk() -> None:
        answer = await agents.call("ann", "run", statement=COUNT, run_id="a")
        assert "receipt" not in answer
        assert "signs no receipts" in (await agents.refusable("ann", "receipt", runs=["a"]))["message"]

    try:
        asyncio.run(talk())
    finally:
        agents.desk.close()
