"""MCP by the client of the package `mcp`, over HTTP and over standard input and output: answers, costs, refusals."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from attack_statements import ATTACKS
from case_share import fifth
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from private_rows import shows_private
from server_site import COUNT, Server, Site, count, make_site
from test_server_attacks import CANARY, STEPS, SUITE, UNTOLD, Opened, thrown_at

from dpdb.doors.cli.main import main
from dpdb.doors.server.configuration import load_configuration
from dpdb.doors.server.desk import Desk
from dpdb.doors.server.exchange import Asker
from dpdb.doors.server.mcp_tools import TOOLS, Tools
from dpdb.errors import RunIdError
from dpdb.ledger import Ledger

RATION = {"quota": 100, "most_per_statement": 5}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    analysts = {"ann": RATION, "bob": {"quota": 100}, "agent": {"is_agent": True}, "olga": {"role": "owner"}}
    with Server(make_site(tmp_path_factory.mktemp("mcp"), epsilon=500, analysts=analysts)) as running:
        yield running


def over_http(server: Server, name: str, talk: Callable[[Client], Awaitable[Any]], mode: Any = "auto") -> Any:
    async def talked() -> Any:
        headers = {"Authorization": f"Bearer {server.site.tokens[name]}"}
        async with (
            httpx.AsyncClient(headers=headers, timeout=120, trust_env=False) as client,
            Client(streamable_http_client(f"{server.url}/mcp", http_client=client), mode=mode) as opened,
        ):
            return await talk(opened)

    return asyncio.run(talked())


def over_stdio(site: Site, name: str, talk: Callable[[Client], Awaitable[Any]], mode: Any = "auto") -> Any:
    async def talked() -> Any:
        command = StdioServerParameters(
            command=sys.executable,
            args=["-m", "dpdb", "mcp", "--config", str(site.config)],
            env=os.environ | {"DPDB_TOKEN": site.tokens[name]},
        )
        async with Client(command, mode=mode) as opened:
            return await talk(opened)

    return asyncio.run(talked())


async def everything(client: Client) -> list[str]:
    """Call every tool; return the ids of what was released by three runs and a suite, for 0.25 each."""
    assert {tool.name for tool in (await client.list_tools()).tools} == {*TOOLS}
    schema = await client.call_tool("schema", {})
    assert [table["name"] for table in schema.structured_content["tables"]] == ["visits"]
    before = (await client.call_tool("account", {})).structured_content["tables"][0]["spent"]
    plan = await client.call_tool("explain", {"statement": COUNT})
    assert plan.structured_content["epsilon"] == 0.25
    cited = []
    for key in ("one", "two", "two"):
        answer = (await client.call_tool("run", {"statement": COUNT, "run_id": key})).structured_content
        assert answer["rows"] == [[answer["releases"][0]["value"]]]
        assert answer["cite"] == [f"release {answer['releases'][0]['release_id']}"]
        cited += answer["cite"]
    assert cited[1] == cited[2]  # asked again
    checked = await client.call_tool("check", {"suite": "nightly", "run_id": "evening"})
    assert checked.structured_content["checks"][0]["checks"]
    cited += checked.structured_content["cite"]
    sized = {"suite": "nightly", "run_id": "sized", "epsilon": 0.5, "sizes": True}
    numbers = [(await client.call_tool("check", sized)).structured_content for _ in range(2)]
    assert numbers[0] == numbers[1]
    assert numbers[0]["epsilon"] == 0.5
    assert all(check["number"] is not None for check in numbers[0]["checks"][0]["checks"])
    assert (await client.call_tool("check", sized | {"sizes": 1})).is_error
    after = (await client.call_tool("account", {})).structured_content["tables"][0]["spent"]
    after -= 0.5
    assert after - before == pytest.approx(2 * 0.25 + checked.structured_content["epsilon"], abs=1e-9)
    return [cited[0], cited[1], cited[3]]


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_every_tool_over_http(served: Server, mode: str, capsys: pytest.CaptureFixture[str]) -> None:
    name = served.site.add(f"ann-{mode}", **RATION)
    served.site.tokens[f"ann-{mode}"] = name  # type: ignore[index]
    served.wait_for_access(name, 200)
    cited = over_http(served, f"ann-{mode}", everything, mode)
    assert_found(served.site, cited, capsys)


@pytest.mark.heavy(family="long")
def test_every_tool_over_stdio(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Charges are exact, and the next process knows of them."""
    site = make_site(tmp_path, analysts={"ann": RATION})
    cited = over_stdio(site, "ann", everything)
    assert_found(site, cited, capsys)
    spent = site.spent()

    async def again(client: Client) -> None:
        answer = await client.call_tool("run", {"statement": COUNT, "run_id": "one"})
        assert answer.structured_content["cite"] == [cited[0]]

    over_stdio(site, "ann", again, "legacy")
    assert site.spent() == spent


def assert_found(site: Site, cited: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """`dpdb budget answers` finds what was cited."""
    for one in cited:
        kind, name = one.split()
        option = {"release": "--release", "run": "--run-id"}[kind]
        assert main(["budget", "answers", str(site.ledger), option, name, "--format", "json"]) == 0
        assert name in capsys.readouterr().out


@pytest.mark.heavy(family="spending")
def test_n_runs_are_n_charges_and_what_is_free_is_free(served: Server) -> None:
    before = served.site.spent()

    async def several(client: Client) -> None:
        for _ in range(5):
            assert not (await client.call_tool("run", {"statement": COUNT})).is_error
        for _ in range(5):
            for name, arguments in (("explain", {"statement": COUNT}), ("account", {}), ("schema", {})):
                assert not (await client.call_tool(name, arguments)).is_error

    over_http(served, "ann", several)
    assert served.site.spent() - before == pytest.approx(5 * 0.25, abs=1e-9)


@pytest.mark.heavy(family="long")
def test_refusals_say_the_same_as_over_http(served: Server) -> None:
    attacks = [statement for group in ATTACKS.values() for statement in group if "@" not in statement]
    chosen = [one for one in fifth(attacks)[::3] if "run_id" not in one]  # all of them come over HTTP
    bodies: list[tuple[str, dict[str, Any]]] = [("run", {"statement": one}) for one in chosen]
    bodies += [("explain", {"statement": "DROP TABLE visits"}), ("check", {"suite": "none"}), ("run", {"statement": 1}),
               ("run", {}), ("check", {"suite": "nightly", "keys": {}}), ("check", {"suite": "nightly", "keys": [[1]]}),
               ("run", {"statement": count(4.5), "table": "nothing"}), ("run", {"statement": count(5.5)})]  # fmt: skip
    before = served.site.spent()

    async def refused(client: Client) -> list[Any]:
        return [await client.call_tool(name, body) for name, body in bodies]

    with served.client("ann") as client:
        for (name, body), found in zip(bodies, over_http(served, "ann", refused), strict=True):
            told = client.post(f"/v1/{name}", json=body).json()
            assert found.is_error, body
            assert found.structured_content == told, body
            assert json.loads(found.content[0].text) == told
            assert not shows_private(str(found))
    assert served.site.spent() == before


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("name", "code", "words"),
    [("bob", "forbidden", "a program asks within a quota and a cap per statement"), ("olga", "forbidden", "the role"),
     ("agent", "budget", "0.1")],
)  # fmt: skip
def test_a_program_asks_within_a_quota_and_a_cap(served: Server, name: str, code: str, words: str) -> None:
    """An analyst without them may ask over HTTP, and what is free stays free; `--agent` gives small ones."""
    before = served.site.spent()

    async def asked(client: Client) -> Any:
        assert (await client.call_tool("explain", {"statement": COUNT})).is_error == (name == "olga")
        assert not (await client.call_tool("account", {})).is_error
        return [await client.call_tool("run", {"statement": COUNT}), await client.call_tool("check", {"suite": "no"})]

    run, check = over_http(served, name, asked)
    assert run.structured_content["error"] == code
    assert words in run.structured_content["message"]
    assert check.is_error
    assert served.site.spent() == before
    assert served.ask(name, COUNT).status_code == {"bob": 200, "olga": 403, "agent": 402}[name]


def test_an_agents_rights_are_its_owners_if_he_gave_any(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    site = make_site(tmp_path, analysts={"ann": {"quota": 2}, "eve": {}})

    def rights(name: str, *options: str) -> tuple[Any, Any]:
        assert main(["analyst", "add", name, "--config", str(site.config), "--agent", *options]) == 0
        assert len(capsys.readouterr().out.strip()) == 43
        with Ledger.open(site.ledger) as ledger:
            known = ledger.rights.analyst(name)
        assert known is not None
        return known.quota, known.most_per_statement

    assert rights("ann") == (2, 0.1)
    assert rights("eve", "--per-statement", "0.3") == (0.5, 0.3)
    assert rights("new", "--quota", "1") == (1, 0.1)


@pytest.mark.heavy(family="long")
def test_messages_that_are_none(served: Server) -> None:
    with served.client("ann") as client:
        large = client.post("/mcp", content=b"{" + b" " * (128 << 10))
        assert (large.status_code, large.json()["error"]) == (413, "too_large")
        for body in (b"", b"[", b"[" * 10_000, b"null", b'{"jsonrpc":"2.0"}', b'{"jsonrpc":"2.0","id":1,"method":"x"}'):
            answer = client.post("/mcp", content=body, headers={"Content-Type": "application/json"})
            assert answer.status_code < 500, body
            assert not shows_private(answer.text, answer.headers)
    with served.client() as stranger:
        assert stranger.post("/mcp", json={}).status_code == 401


ODD_IDS = [
    "null",
    "1.5",
    "1.0",
    "1e3",
    "true",
    "{}",
    "[1]",
    '{"a": 1}',
    "1" * 1_001,
    "1" * 20_000,
    json.dumps("x" * 1_001),
]
IDS = ["0", "-7", "9007199254740993", "1" * 30, '""', '"1"', json.dumps("\u2603"), json.dumps("x" * 1_000)]


@pytest.mark.heavy(family="long")
def test_ids_that_are_none_are_refused_in_the_words_of_json_rpc(served: Server) -> None:
    """Never an empty 202, which says that nothing is to be answered; every good id comes back as it was sent."""
    body = '{"jsonrpc": "2.0", "id": %s, "method": "tools/call", "params": {"name": "account", "arguments": {}}}'
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    before = served.site.spent()
    with served.client("ann") as client:

        def answered(content: str) -> tuple[int, Any]:
            answer = client.post("/mcp", content=content, headers=headers)
            return answer.status_code, answer.json() if answer.content else None

        for content in [*(body % one for one in ODD_IDS), "[]"]:
            status, told = answered(content)
            assert (status, told["id"], told["error"]["code"]) == (400, None, -32600), content[:80]
            assert told["error"]["message"].startswith("Invalid Request: ")
        for content in (
            "null",
            "5",
            "[" * 10_000,
            '"text"',
            "{}",
            '{"jsonrpc": "2.0"}',
            '{"jsonrpc": "1.0", "method": "ping"}',
        ):
            assert answered(content) == (400, answered(content)[1])
            assert (answered(content)[1]["id"], answered(content)[1]["error"]["code"]) == (None, -32600)
        for content in ("", "{", "nul", "[" * 900, "\0"):
            assert (answered(content)[0], answered(content)[1]["error"]["code"]) == (400, -32700)
        status, told = answered(body.replace('"tools/call"', "7") % '"mine"')
        assert (status, told["id"], told["error"]["code"]) == (400, "mine", -32600)
        for one in [*IDS, "1", "1"]:  # each message stands alone, so an id may come again
            status, told = answered(body % one)
            assert (status, told["id"], "result" in told) == (200, json.loads(one), True)
        assert answered('{"jsonrpc": "2.0", "method": "notifications/initialized"}') == (202, None)
        with ThreadPoolExecutor(4) as pool:
            found = [*pool.map(lambda _: answered(body % '"same"'), range(8))]
        assert [(status, told["id"]) for status, told in found] == [(200, "same")] * 8
    assert served.site.spent() == before


def call(statement: str) -> tuple[str, str, Any]:
    parameters = {"name": "run", "arguments": {"statement": statement}}
    return ("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": parameters})


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    folder = tmp_path_factory.mktemp("canary")
    made = Opened(make_site(folder, epsilon=10_000, analysts={"ann": {"quota": 9_000, "most_per_statement": 9}}))
    yield made
    made.desk.close()


@pytest.mark.heavy
@pytest.mark.parametrize("step", STEPS)
def test_a_canary_thrown_at_a_step_is_not_sent(step: str, opened: Opened) -> None:
    opened.ask(call(SUITE))  # finishes a run that an earlier canary has stopped
    reached = 0
    for error in fifth(UNTOLD):
        with thrown_at(step, error) as thrown:
            answers = opened.ask(call(COUNT), call(SUITE))
        reached += len(thrown)
        for answer in answers:
            assert answer.status_code == 200
            told = answer.json()["result"]
            assert not told.get("isError") or told["structuredContent"]["error"] in ("failed", "unavailable"), told
    assert reached
    assert not shows_private(opened.sent.decode())
    assert CANARY not in opened.sent.decode()


def test_a_canary_thrown_by_the_desk_is_not_sent(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    for error in (RuntimeError, RunIdError, ExceptionGroup):

        async def thrown(*_: Any, kind: Any = error, **__: Any) -> None:
            raise kind(CANARY) if kind is not ExceptionGroup else ExceptionGroup(CANARY, [ValueError(CANARY)])

        monkeypatch.setattr(opened.desk, "run", thrown)
        answer = opened.ask(call(COUNT))[0].json()["result"]["structuredContent"]
        assert answer == {"error": "failed", "message": "the request failed; the reason is in the owner's log"}
    assert CANARY not in opened.sent.decode()


@pytest.mark.heavy(family="long")
def test_a_call_that_is_cancelled_does_not_end_the_statement(tmp_path: Path) -> None:
    """Else its end would show, before its time, when the release was made."""
    site = make_site(tmp_path, settings={"release_seconds": 1.0}, analysts={"ann": RATION})
    desk = Desk(load_configuration(site.config))

    async def cancelled() -> None:
        ann = await desk.holder(site.tokens["ann"])
        assert ann is not None
        tools, asker = Tools(desk), Asker(ann, "mcp", "here")
        for _ in range(2):
            asked = asyncio.create_task(tools.call(asker, "run", {"statement": COUNT, "run_id": "one"}))
            while not desk._standing._running:
                await asyncio.sleep(0.01)
            asked.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asked
            account, is_error = await tools.call(asker, "account", {})
            assert not is_error
            assert account.values["tables"][0]["spent"] == 0.25  # as it waits for the statement
            await tools.finished(60)
        told, _ = await tools.call(asker, "run", {"statement": COUNT, "run_id": "one"})
        assert told.values["epsilon"] == 0.25

    try:
        asyncio.run(cancelled())
    finally:
        desk.close()
    assert site.spent() == 0.25


def started(site: Site, *options: str, token: str | None = None, before: str = "") -> Any:
    environment = {name: value for name, value in os.environ.items() if name != "DPDB_TOKEN"}
    command = [sys.executable, "-c", f"{before}\nfrom dpdb.__main__ import run_process\nrun_process()"]
    return subprocess.Popen(
        [*command, "mcp", "--config", str(site.config), *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment | ({} if token is None else {"DPDB_TOKEN": token}),
    )


@pytest.mark.heavy(family="long")
def test_a_process_that_cannot_serve_says_why_in_a_line(tmp_path: Path) -> None:
    site = make_site(tmp_path, analysts={"ann": RATION})
    token = site.tokens["ann"]
    file = tmp_path / "token"
    file.write_text(token)
    file.chmod(0o644)
    cases: list[tuple[dict[str, Any], tuple[str, ...], str]] = [
        ({"token": token, "say": b"x" * (130 << 10)}, (), "a message has at most 128 KiB"),
        ({}, (), "no token: give --token-file FILE or the environment variable DPDB_TOKEN"),
        ({"token": "wrong"}, (), "nobody holds this token"),
        ({}, ("--token-file", str(file)), "others may read or change it"),
        ({"token": token, "before": "import sys; sys.modules['mcp'] = None"}, (), "pip install 'dpdb[mcp]'"),
    ]
    for given, options, words in cases:
        said = given.pop("say", b"")
        with started(site, *options, **given) as process:
            out, err = process.communicate(said, timeout=120)
        assert process.returncode == 2, err
        assert words in err.decode()
        assert err.count(b"\n") == 1
        assert not out


@pytest.mark.heavy(family="privacy")
def test_standard_error_tells_nothing_of_failures(tmp_path: Path) -> None:
    """The client reads it, too."""
    site = make_site(tmp_path, analysts={"ann": RATION})
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    says: list[Any] = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {**call(COUNT)[2], "id": 2},
        "no message",
        {**call(COUNT)[2], "id": None},
    ]
    before = (
        "def failed(*a, **k): raise KeyError('canary_heron')\n"
        "import dpdb.stopping as t; t.watchers.append(lambda step: failed() if step == 'drawn' else None)\n"
    )
    with started(site, token=site.tokens["ann"], before=before) as process:
        process.stdin.write(b"".join(json.dumps(one).encode() + b"\n" for one in says))
        process.stdin.flush()
        lines = [process.stdout.readline() for _ in range(4)]
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, b"", b"")
    told_of = {told["id"]: told for told in map(json.loads, lines)}
    assert [json.loads(line)["error"]["code"] for line in lines if b'"id":null' in line] == [-32600] * 2
    told = told_of[2]["result"]["structuredContent"]
    assert told["error"] == "failed"
    assert b"canary" not in b"".join(lines)
    assert CANARY in (tmp_path / "owner.log").read_text()


@pytest.mark.heavy(family="long")
def test_without_the_package_the_route_says_so(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name == "mcp" or name.startswith(("mcp.", "dpdb.doors.server.mcp"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mcp", None)
    answer = opened.ask(call(COUNT))[0]
    assert answer.status_code == 404
    assert "pip install 'dpdb[mcp]'" in answer.json()["message"]
