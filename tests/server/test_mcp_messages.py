"""Messages of MCP as agents write them: headers left out, lists, versions, nulls; a schema says what is taken."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from server_site import COUNT, Server, Site, make_site

from dpdb.doors.server.configuration import load_configuration
from dpdb.doors.server.desk import Desk
from dpdb.doors.server.exchange import Asker
from dpdb.doors.server.http.application import ROUTES
from dpdb.doors.server.mcp_tools import TOOLS, Tools

VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
RATION = {"quota": 100, "most_per_statement": 5}
NOTE = '{"jsonrpc": "2.0", "method": "notifications/initialized"}'


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(make_site(tmp_path_factory.mktemp("messages"), epsilon=200, analysts={"ann": RATION})) as running:
        yield running


def message(method: str, number: int = 1, **parameters: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": parameters})


def called(tool: str, number: int = 1, **arguments: Any) -> str:
    return message("tools/call", number, name=tool, arguments=arguments)


def sent(client: httpx.Client, content: str | bytes, **headers: str) -> tuple[int, Any]:
    """Post a body with these headers and no others of content."""
    request = client.build_request("POST", "/mcp", content=content, headers=headers)
    for name in ("accept", "content-type"):
        if name not in headers:
            request.headers.pop(name, None)
    answer = client.send(request)
    return answer.status_code, answer.json() if answer.content else None


@pytest.mark.heavy(family="long")
def test_another_method_is_told_the_right_one_and_a_stranger_nothing(served: Server) -> None:
    with served.client("ann") as client, served.client() as stranger:
        for method in ("GET", "DELETE", "PUT", "HEAD", "OPTIONS", "PATCH"):
            found = client.request(method, "/mcp")
            assert (found.status_code, found.headers["allow"]) == (405, "POST"), method
        for route in ROUTES:
            other = "POST" if route.method == "GET" else "GET"
            found = client.request(other, route.path)
            assert (found.status_code, found.headers["allow"]) == (405, route.method), route.path
            assert found.json()["error"] == "method"
            assert client.request(other, f"{route.path}x").status_code == 404
            refused = stranger.request(other, route.path)
            nowhere = stranger.request(other, "/nowhere")
            assert (refused.status_code, refused.content) == (401, nowhere.content)
            assert {*refused.headers} == {*nowhere.headers}


@pytest.mark.heavy(family="long")
def test_headers_that_are_left_out_and_a_mark_before_the_text(served: Server) -> None:
    content = called("account")
    with served.client("ann") as client:
        plain = sent(client, content)
        assert (plain[0], plain[1]["result"]["isError"]) == (200, False)
        for headers in ({"accept": "*/*"}, {"accept": "application/json"}, {"content-type": "text/plain"},
                        {"content-type": "Application/JSON; charset=utf-8"}):  # fmt: skip
            assert sent(client, content, **headers) == plain
        for marked in (b"\xef\xbb\xbf" + content.encode(), f" \n{content}\n".encode()):
            assert sent(client, marked) == plain
        assert sent(client, content, accept="text/event-stream")[0] == 406  # answers are JSON, and it takes none
        for other in (content.encode("utf-16"), b"\xef\xbb\xbf" * 2 + content.encode(), b"\xef\xbb\xbf"):
            assert (sent(client, other)[0], sent(client, other)[1]["error"]["code"]) == (400, -32700)


@pytest.mark.heavy(family="long")
def test_versions_are_negotiated(served: Server) -> None:
    with served.client("ann") as client:
        for version in (*VERSIONS, "2026-07-28", "2099-01-01", "1"):
            status, told = sent(
                client,
                message(
                    "initialize", protocolVersion=version, capabilities={}, clientInfo={"name": "c", "version": "1"}
                ),
            )
            assert status == 200
            assert told["result"]["protocolVersion"] == (version if version in VERSIONS else VERSIONS[-1])
            assert {*told["result"]["capabilities"]} == {"tools"}
        for version in VERSIONS:
            named = {"mcp-protocol-version": version}
            assert sent(client, message("ping"), **named) == (200, {"jsonrpc": "2.0", "id": 1, "result": {}})
            status, told = sent(client, message("tools/list"), **named)
            assert [tool["name"] for tool in told["result"]["tools"]] == [*TOOLS]
            assert "nextCursor" not in told["result"]
            for method, code in (("prompts/list", -32601), ("resources/list", -32601), ("no/such", -32601)):
                assert sent(client, message(method), **named)[1]["error"]["code"] == code
            assert sent(client, message("tools/list", cursor="next"), **named)[1]["error"]["code"] == -32602
            assert sent(client, NOTE, **named) == (202, None)
        for version in ("2099-01-01", "", "x" * 5_000):
            status, told = sent(client, message("ping"), **{"mcp-protocol-version": version})
            assert (status, "error" in told) == (400, True)


@pytest.mark.heavy(family="spending")
def test_a_list_is_taken_in_its_version_and_each_message_is_a_message(served: Server) -> None:
    """Each is debited, refused and answered as alone; what has no answer has none in the list."""
    run = {"statement": COUNT, "run_id": "in a list"}
    many = [called("run", 1, **run), NOTE, called("nothing", 2), message("ping", 3), called("run", 4, **run), "7",
            called("account", 5), f"[{message('ping')}]"]  # fmt: skip
    content = f"[{','.join(many)}]"
    before = served.site.spent()
    with served.client("ann") as client:
        for headers in ({}, {"mcp-protocol-version": "2025-03-26"}):
            status, told = sent(client, content, **headers)
            assert status == 200
            assert [one["id"] for one in told] == [1, 2, 3, 4, None, 5, None]
            assert [one["error"]["code"] for one in told if "error" in one] == [-32600, -32600]
            assert [one["result"].get("isError") for one in told if "result" in one] == [
                False,
                True,
                None,
                False,
                False,
            ]
            assert told[0]["result"]["structuredContent"] == told[3]["result"]["structuredContent"]
            assert served.site.spent() == before + 0.25
        for version in ("2024-11-05", "2025-06-18", "2025-11-25"):
            status, told = sent(client, content, **{"mcp-protocol-version": version})
            assert (status, told["id"], told["error"]["code"]) == (400, None, -32600)
        assert sent(client, f"[{NOTE}, {NOTE}]") == (202, None)
        begun = message("initialize", protocolVersion="2025-03-26", capabilities={}, clientInfo={"name": "c"})
        for bad in ("[]", " [ ] ", f"[{','.join([NOTE] * 21)}]", f"[{NOTE}, {begun}]", "[" * 5_000):
            assert (sent(client, bad)[0], sent(client, bad)[1]["error"]["code"]) == (400, -32600), bad[:50]
        for bad in ("[1", "[1,]", "[" * 500, '[{"a": 1, "a": 2}]', "[NaN]"):
            assert (sent(client, bad)[0], sent(client, bad)[1]["error"]["code"]) == (400, -32700), bad[:50]
    assert served.site.spent() == before + 0.25


# A value of every type of JSON, with what a schema calls it.
VALUES = [("string", "x"), ("number", 0.5), ("number", 1), ("boolean", True), ("object", {}), ("array", ["x"])]


def allowed(schema: dict[str, Any]) -> set[str]:
    return {one["type"] for one in schema.get("anyOf", [schema])}


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Desk, Site]]:
    site = make_site(tmp_path_factory.mktemp("desk"), epsilon=200, analysts={"ann": RATION})
    opened = Desk(load_configuration(site.config))
    yield opened, site
    opened.close()


@pytest.mark.heavy(family="long")
def test_what_a_schema_says_is_what_is_taken(desk: tuple[Desk, Site], monkeypatch: pytest.MonkeyPatch) -> None:
    """Of every argument of every tool, each type; and null is the argument left out, wherever it may be left out."""
    opened, site = desk
    taken: list[dict[str, Any]] = []

    async def kept(tools: Tools, asker: Asker, fields: dict[str, Any]) -> dict[str, Any]:
        del tools, asker
        taken.append(fields)
        return {}

    async def tried() -> int:
        analyst = await opened.holder(site.tokens["ann"])
        assert analyst is not None
        tools, count = Tools(opened), 0
        for name, tool in TOOLS.items():
            monkeypatch.setitem(TOOLS, name, type(tool)(**{**vars(tool), "answer": kept}))
            schema = tool.schema()
            needed = dict.fromkeys(schema["required"], "x")
            for argument, said in schema["properties"].items():
                assert said["description"], argument
                for kind, value in VALUES:
                    _, is_error = await tools.call(Asker(analyst, "mcp", "here"), name, {**needed, argument: value})
                    assert is_error == (kind not in allowed(said)), (name, argument, value)
                taken.clear()
                told, is_error = await tools.call(Asker(analyst, "mcp", "here"), name, {**needed, argument: None})
                if argument in needed:
                    assert told.values["message"] == f"the key {argument!r} is missing"
                else:
                    assert (is_error, taken) == (False, [needed])
                count += 1
            told, _ = await tools.call(Asker(analyst, "mcp", "here"), name, {**needed, "no such argument": None})
            assert "unknown key" in told.values["message"]
        return count

    assert asyncio.run(tried()) == sum(len(tool.known) for tool in TOOLS.values()) >= 22
