"""Bodies, keys and queries of every type on every route: one line of a known kind; only what is answered is spent."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from private_rows import shows_private
from server_site import COUNT, make_site

from dpdb.doors.server.configuration import load_configuration
from dpdb.doors.server.desk import Desk
from dpdb.doors.server.http.application import ROUTES, STATUS, http_application
from dpdb.ledger import Ledger

KNOWN = ("statement", "table", "suite", "epsilon", "confidence", "certain", "label", "where", "by", "date", "keys",
         "analyst", "check")  # fmt: skip
TAKEN = {
    "/v1/run": ("statement", "table"),
    "/v1/explain": ("statement", "table"),
    "/v1/check": ("suite", "epsilon", "confidence", "certain", "label", "where", "by", "date", "keys"),
    "/v1/board/revoke": ("analyst",),
    "/v1/board/rearm": ("table", "suite", "check", "epsilon", "label"),
}
RIGHT = {"suite": "nightly", "table": "visits", "analyst": "nobody", "check": "zip_city", "statement": "SELECT 1"}
TEXTS = (
    "", " ", "nightly", "visits", "states", "ann", "any", "zip_city", "\x00", "\ud800", "é" * 70, "'", '"', "--", "/*",
    "x" * 5_000, "0.25", "1e-400", "-0", "inf", "NaN", "2026-11-23", "age > 30", "zip", "a\nb", "\u202e", "$1", "${x}",
    "SELECT 1", "EXPLAIN SELECT 1", "SELECT 1; SELECT 2", "DESCRIBE SELECT 1", "SELECT * FROM visits", COUNT,
    "SELECT * FROM dp_check('nightly')", "SELECT getenv('HOME')", "PRAGMA database_list", "(" * 300, "SELECT " * 300,
    "SELECT value FROM dp_count('visits', 1e999)", "SELECT value FROM dp_count('visits', -1)", "SELECT 'a' || chr(0)",
)  # fmt: skip
NUMBERS = (0, -1, 1, 2**31, 2**63, -(2**70), 10**300, 0.25, -0.0, 1e308, 5e-324, float("inf"), float("nan"))
KEYS = ("", "k", "x" * 200, "a:b", "ann:k", "\t", "é", "k\x7f")


class Fuzz:
    """Values of all types of JSON, by one generator."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def value(self, depth: int = 0) -> Any:
        kind = self.chance.randrange(8 if depth < 3 else 6)
        if kind < 3:
            return self.chance.choice(TEXTS)
        if kind < 6:
            return self.chance.choice((*NUMBERS, None, True, False))
        values = [self.value(depth + 1) for _ in range(self.chance.randrange(4))]
        return values if kind == 6 else {self.chance.choice(KNOWN): value for value in values}

    def body(self, path: str) -> bytes:
        chance = self.chance
        if chance.random() < 0.05:
            text = json.dumps(self.value())
        else:
            known = KNOWN if chance.random() < 0.1 else TAKEN.get(path, KNOWN)
            names = chance.sample(known, chance.randrange(1, min(len(known), 4) + 1))
            found = {name: self.value() if chance.random() < 0.4 else chance.choice(TEXTS) for name in names}
            if chance.random() < 0.8:  # what is needed is there, and often right
                found |= {name: chance.choice((right, chance.choice(TEXTS))) for name, right in RIGHT.items()
                          if name in known and (name != "table" or path.endswith("rearm"))}  # fmt: skip
            text = json.dumps(found)
        content = text.encode("utf-8", "surrogatepass")
        if chance.random() < 0.1:  # cut, doubled, or with a byte that no text has
            place = chance.randrange(len(content) + 1)
            content = chance.choice((content[:place], content + content, content[:place] + b"\xff" + content[place:]))
        return content

    def request(self, token: str) -> dict[str, Any]:
        chance = self.chance
        method, path, *_ = chance.choice(ROUTES)
        if chance.random() < 0.1:
            method = chance.choice(("GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE", "BREW"))
        body = self.body(path)
        path += chance.choice((*[""] * 20, "/", "/../board", "?most=-1", "?most=1e3", "?most=%00", "?table=%ff", "//"))
        headers = {"Authorization": f"Bearer {token}"}
        if chance.random() < 0.3:
            headers["Idempotency-Key"] = chance.choice(KEYS).encode("utf-8").decode("latin-1")
        if chance.random() < 0.3:
            headers["Accept"] = chance.choice(("application/vnd.apache.arrow.stream", "*/*", "text/html", "\x01"))
        content = body if method not in ("GET", "HEAD") or chance.random() < 0.1 else None
        raw = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
        return {"method": method, "url": path, "headers": raw, "content": content}


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Desk, dict[str, str]]]:
    analysts = {"ann": {}, "carl": {"role": "checker"}, "olga": {"role": "owner"}}
    settings = {"release_seconds": 0.001, "statement_seconds": 5}
    site = make_site(tmp_path_factory.mktemp("fuzz"), epsilon=100_000, analysts=analysts, settings=settings)
    made = Desk(load_configuration(site.config))
    yield made, dict(site.tokens)
    made.close()


def fuzz(desk: Desk, tokens: dict[str, str], seed: int, asks: int) -> None:
    made, spent = Fuzz(seed), 0.0
    path = desk.configuration.tables[0].ledger
    with Ledger.open(path) as ledger:
        before = ledger.spent_units()

    async def asked() -> float:
        total = 0.0
        transport = httpx.ASGITransport(http_application(desk))
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            for _ in range(asks):
                who = made.chance.choice(("ann", "ann", "carl", "olga"))
                request = made.request(tokens[who])
                if b"ann" in (request["content"] or b"") and "revoke" in request["url"]:
                    continue  # she asks
                found = await client.request(**request)
                total += looked_at(request, found)
        return total

    spent = asyncio.run(asked())
    with Ledger.open(path) as ledger:
        assert (ledger.spent_units() - before) / 1e9 <= spent + 1e-6  # overlap and retries may make it less


def looked_at(request: dict[str, Any], found: httpx.Response) -> float:
    """Check an answer; return what it says that it has cost."""
    assert not shows_private(found.text, found.headers), request
    assert found.status_code in {200, *STATUS.values()}, request
    assert found.status_code < 500, (request, found.text)
    if found.status_code != 200:
        if request["method"] != "HEAD":
            told = found.json()
            if request["url"].startswith("/mcp") and "jsonrpc" in told:
                assert told.keys() == {"jsonrpc", "id", "error"}, request
                assert told["error"]["message"].isprintable(), (request, told)
                return 0.0
            assert told.keys() == {"error", "message"}, request
            assert told["message"].isprintable(), (request, told)
            assert STATUS[told["error"]] == found.status_code
        return 0.0
    if request["method"] == "HEAD":
        return 0.0
    if "dpdb-epsilon" in found.headers:
        return float(found.headers["dpdb-epsilon"])
    is_answer = found.headers["content-type"] == "application/json" and "releases" in found.json()
    return float(found.json().get("epsilon", 0.0)) if is_answer else 0.0


@pytest.mark.heavy(family="long")
def test_requests_of_every_type(desk: tuple[Desk, dict[str, str]]) -> None:
    fuzz(*desk, seed=0, asks=250)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 21))
def test_many_requests_of_every_type(desk: tuple[Desk, dict[str, str]], seed: int) -> None:
    fuzz(*desk, seed=seed, asks=1_000)


@pytest.mark.heavy(family="long")
def test_the_fuzz_reaches_answers_and_every_kind_of_refusal(desk: tuple[Desk, dict[str, str]]) -> None:
    made, seen = Fuzz(1), set[int]()

    async def asked() -> None:
        transport = httpx.ASGITransport(http_application(desk[0]))
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            for _ in range(150):
                seen.add((await client.request(**made.request(desk[1]["ann"]))).status_code)

    asyncio.run(asked())
    assert seen >= {200, 400, 403, 404, 422}
    assert Path(desk[0].configuration.path).exists()
