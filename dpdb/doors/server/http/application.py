"""The HTTP application: routes onto the desk, one wrapper around every handler, and the two pages.

A stranger learns nothing: every path but `/healthz` and the pages needs a token, and without a good one the answer is a
constant 401. Whatever a handler throws becomes a code and one line (`dpdb.doors.server.refusals`); nothing else leaves.

The pages are constant, without names, versions or anything of a table; what they show they ask for with a token. Each
is one file with its style and script inside. Its Content-Security-Policy names their hashes and no other source, so
that neither an answer nor a browser's extension of the page can run or load anything.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlencode

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from dpdb.doors.server.desk import Desk
from dpdb.doors.server.exchange import (
    CHECK_OPTIONS,
    JSON_MOST,
    MOST_BODY,
    STATEMENT,
    Answer,
    Asker,
    Most,
    RefusedError,
    checked_fields,
)
from dpdb.doors.server.http.openapi import ANSWER, ARROW, MANY, PLAN, ApiRoute, answer_of, openapi_document
from dpdb.doors.server.pieces import ManyPartsError, arrow_stream, json_bytes, read_json, together
from dpdb.doors.server.receipts import SignedReceipt
from dpdb.doors.server.refusals import (
    FAILED,
    NOT_FOUND,
    UNAUTHORIZED,
    UNREADABLE,
    ClosingError,
    Refusal,
    refusal_of,
)
from dpdb.doors.sql import AskedErrors

Found = TypeVar("Found")
_ERRORS = AskedErrors("requests over HTTP that failed")
_JSON, _LINES = "application/json", "application/jsonl"
_MOST_HISTORY = 1_000
_RECEIPT = "Dpdb-Receipt"

STATUS: Mapping[str, int] = {
    "bad_request": 400, "unauthorized": 401, "budget": 402, "forbidden": 403, "not_found": 404, "method": 405,
    "run_id": 409, "rollback": 412, "too_large": 413, "unsupported": 415, "refused": 422, "statement_failed": 422,
    "too_many": 429, "too_much": 429, "failed": 500, "closing": 503, "unavailable": 503,
}  # fmt: skip
"""The HTTP status of every code."""

_HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
}
_NO_MCP = Refusal("not_found", "mcp is not installed where the server runs: pip install 'dpdb[mcp]'")
_BAD = Refusal("bad_request", "the request cannot be read")
_ENCODED = Refusal("unsupported", "a body is taken as it is: send it without Content-Encoding")
_LARGE = Refusal("too_large", f"a body has at most {MOST_BODY >> 10} KiB")


def http_application(desk: Desk) -> Starlette:
    """Return the ASGI application over a desk, which it does not close."""
    served = _Served(desk)
    routes = [Route(route.path, served.wrapped(route), methods=[route.method]) for route in ROUTES]
    routes += [Route(path, _page(load_page(name)), methods=["GET"]) for path, name in PAGES.items()]
    health = Route("/healthz", served.health, methods=["GET"])
    # Every other path and method, too: a stranger must not tell them apart.
    rest = Route("/{path:path}", served.wrapped(_REST), methods=["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
    return Starlette(routes=[health, *routes, rest], exception_handlers={404: served.lost, 405: served.lost})


class _Served:
    """The wrapper around every handler: who asks, and what becomes of errors."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.statuses: Counter[int] = Counter()
        self.mcp = _Mcp(desk)

    def wrapped(self, route: ApiRoute) -> Callable[[Request], Awaitable[Response]]:
        """Return a handler of requests that answers whatever happens."""

        async def answered(request: Request) -> Response:
            try:
                response = await self._answered(route, request)
            except RefusedError as refused:
                response = _refused(refused.refusal)
            except ClientDisconnect:
                response = _refused(_BAD)
            except Exception as error:
                _ERRORS.tell("a request failed", error)
                response = _refused(FAILED)
            self.statuses[response.status_code] += 1
            return response

        return answered

    async def _answered(self, route: ApiRoute, request: Request) -> Response:
        address = request.client.host if request.client is not None else "?"
        given = request.headers.getlist("authorization")  # of two, another program may have looked at the other
        scheme, _, token = given[0].partition(" ") if len(given) == 1 else ("", "", "")
        analyst = await self.desk.holder(token.strip()) if scheme.lower() == "bearer" and token else None
        if analyst is None:
            if token and not self.desk.directory.is_readable:
                return _refused(UNREADABLE)
            if token and not self.desk.failed_logins.allows(address):
                return _refused(Refusal("too_many", UNAUTHORIZED.message))
            return _refused(UNAUTHORIZED, {"WWW-Authenticate": "Bearer"})
        call = _Call(self, self.desk, Asker(analyst, "http", address, request.is_disconnected), request, {})
        if route.known is not None:
            async with _in_turn(call):
                content = await _content(request)
                call = call._replace(body=await call.working(_fields, content, route.known, route.needed))
        elif route.method != "POST":
            async with _in_turn(call):
                pass
        found = await route.handler(call)
        return found if isinstance(found, Response) else _written(await call.working(json_bytes, found))

    async def lost(self, request: Request, error: Exception) -> Response:
        """Answer a request that no route takes."""
        del error
        return await self.wrapped(_REST)(request)

    async def health(self, request: Request) -> Response:
        """Say whether the server takes statements; to strangers, too."""
        del request
        state = "closing" if self.desk.closing else "ok" if self.desk.trouble is None else "certificate"
        return _json({"status": state}, 200 if state == "ok" else 503)


class _Call(NamedTuple):
    """One request of a known asker, with the fields of its body where the route reads them."""

    served: _Served
    desk: Desk
    asker: Asker
    request: Request
    body: dict[str, Any]

    async def working(self, work: Callable[..., Found], *arguments: Any) -> Found:
        """Do work whose time the request decides."""
        return await self.desk.workers.run(self.asker.analyst.name, work, *arguments)

    @property
    def most(self) -> Most | None:
        """The limits of a result in the form that the request wants."""
        return None if self.wants_arrow else JSON_MOST

    @property
    def wants_arrow(self) -> bool:
        """Whether it wants rows as Arrow."""
        return ARROW in self.request.headers.get("accept", "")

    @property
    def run_id(self) -> str | None:
        """The run that the request names."""
        return self._only("Idempotency-Key")

    @property
    def seen(self) -> str | None:
        """What the request says that an earlier receipt has shown."""
        return self._only("If-Receipt")

    def _only(self, name: str) -> str | None:
        given = self.request.headers.getlist(name)
        if len(given) > 1:
            raise RefusedError(Refusal("bad_request", f"{name} is given twice: send one"))
        return given[0] if given else None


async def _run(call: _Call) -> Response:
    await call.desk.receipts.refuse_rollback(call.seen)
    statement, table = call.body["statement"], call.body.get("table")
    found = await call.desk.run(call.asker, statement, run_id=call.run_id, table=table, most=call.most)
    return await _answer(call, found)


async def _check(call: _Call) -> Response:
    asked = {name: call.body[name] for name in CHECK_OPTIONS if name in call.body}
    await call.desk.receipts.refuse_rollback(call.seen)
    return await _answer(call, await call.desk.check(call.asker, call.body["suite"], asked, call.run_id, call.most))


async def _explain(call: _Call) -> dict[str, Any]:
    plan = await call.desk.explain(call.asker, call.body["statement"], table=call.body.get("table"))
    return await call.working(plan.values)


async def _history(call: _Call) -> dict[str, Any]:
    text = call.request.query_params.get("most", "100")
    most = int(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0
    if not 0 < most <= _MOST_HISTORY:
        raise RefusedError(_BAD)
    return {"releases": await call.desk.history(call.asker, most)}


async def _receipts(call: _Call) -> Response:
    return Response(b"".join(one.line for one in await _signed(call)), media_type=_LINES, headers=_HEADERS)


async def _receipt_salts(call: _Call) -> dict[str, Any]:
    return {"receipts": [one.values() for one in await _signed(call)]}


async def _signed(call: _Call) -> list[SignedReceipt]:
    asked = [pair for pair in call.request.query_params.multi_items() if pair[0] in ("run", "release")]
    return await call.desk.receipts.of(call.asker, asked, call.seen)


async def _report(call: _Call) -> Response:
    page = await call.desk.report(call.asker, call.request.query_params.get("table", ""))
    # As a file: in a page of ours the browser would refuse its style.
    headers = {**_HEADERS, "Content-Disposition": 'attachment; filename="report.html"'}
    return Response(page.encode("utf-8", "replace"), media_type="text/html; charset=utf-8", headers=headers)


async def _revoke(call: _Call) -> dict[str, Any]:
    await call.desk.revoke(call.asker, call.body["analyst"])
    return {"revoked": call.body["analyst"]}


async def _rearm(call: _Call) -> dict[str, Any]:
    await call.desk.rearm(call.asker, call.body)
    return {"rearmed": call.body["check"]}


async def _metrics(call: _Call) -> Response:
    """Count answers by status, for the owner; no statement, no time, nothing of an analyst."""
    if call.asker.analyst.role != "owner":
        return _refused(Refusal("forbidden", "only an owner sees this"))
    lines = ["# TYPE dpdb_http_responses_total counter"]
    counts = sorted(call.served.statuses.items())
    lines += [f'dpdb_http_responses_total{{status="{status}"}} {count}' for status, count in counts]
    lines += ["# TYPE dpdb_closing gauge", f"dpdb_closing {int(call.desk.closing)}", ""]
    return Response("\n".join(lines), media_type="text/plain; version=0.0.4", headers=_HEADERS)


async def _openapi(call: _Call) -> dict[str, Any]:
    del call
    return openapi_document(ROUTES)


async def _nothing(call: _Call) -> Response:
    """Refuse what no route takes: another method than that of a route, or another path."""
    asked = call.request
    methods = ", ".join(route.method for route in ROUTES if route.path == asked.url.path)
    if not methods:
        return _refused(NOT_FOUND)
    words = f"{asked.url.path} takes {methods}, and not {asked.method}"
    return _refused(Refusal("method", words), {"Allow": methods})


class _Mcp:
    """MCP, whose package is loaded at the first request."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._served: Any = None
        self._loading = asyncio.Lock()

    async def answer(self, call: _Call) -> Response:
        """Answer one message."""
        async with self._loading:
            if self._served is None:
                self._served = (await asyncio.to_thread(_load_mcp))(self._desk)
        asker = replace(call.asker, door="mcp", is_gone=None)
        async with _in_turn(call):
            content = await _content(call.request)
            status, kind, answer = await self._served.answer(asker, call.request.scope, content)
        if status >= 400 and not kind.startswith(_JSON):
            raise RefusedError(_BAD)
        return Response(answer, status, _HEADERS, kind or None)


def _load_mcp() -> Any:
    try:
        from dpdb.doors.server.mcp_protocol import McpOverHttp
    except ImportError:
        raise RefusedError(_NO_MCP) from None
    return McpOverHttp


def _page(page: Page) -> Callable[[Request], Awaitable[Response]]:
    async def shown(request: Request) -> Response:
        del request
        headers = {**_HEADERS, "Content-Security-Policy": page.policy}
        return Response(page.content, media_type="text/html; charset=utf-8", headers=headers)

    return shown


def _fields(content: bytes, known: Mapping[str, Any], needed: Sequence[str]) -> dict[str, Any]:
    """Read a JSON object whose keys are known, each of its type; `needed` must be there."""
    try:
        found = read_json(content)
    except ManyPartsError as error:
        raise RefusedError(Refusal("bad_request", f"the body has {error}")) from None
    except (ValueError, RecursionError):
        words = "the body is not JSON with finite numbers, each key of an object once"
        raise RefusedError(Refusal("bad_request", words)) from None
    return checked_fields(found, known, *needed)


@asynccontextmanager
async def _in_turn(call: _Call) -> AsyncIterator[None]:
    """Read and answer in the analyst's turn; until then nothing of the body is read."""
    try:
        async with call.desk.requests.one(call.asker.analyst.name):
            yield
    except ClosingError as error:
        raise RefusedError(refusal_of(error)) from None


async def _content(request: Request) -> bytes:
    if request.headers.get("content-encoding", "identity").strip().lower() not in ("identity", ""):
        raise RefusedError(_ENCODED)
    content = bytearray()
    async for piece in request.stream():
        content += piece
        if len(content) > MOST_BODY:
            raise RefusedError(_LARGE)
    return bytes(content)


async def _answer(call: _Call, answer: Answer) -> Response:
    named = call.desk.receipts.named(call.asker, answer)
    linked = {_RECEIPT: f"/v1/receipts?{urlencode(named)}"} if named else {}
    if call.wants_arrow:
        ids = ",".join(release.release_id for release in answer.releases)
        linked |= {
            f"Dpdb-{answer.charged.parameter.title()}": f"{answer.charged.value:.9f}",
            "Dpdb-Releases": ids[:4_000],
        }
    pieces = arrow_stream(answer.table) if call.wants_arrow else answer.json_pieces()
    made = call.desk.workers.each(call.asker.analyst.name, together(pieces))
    kind, headers = ARROW if call.wants_arrow else _JSON, {**_HEADERS, **linked}
    first = await anext(made)
    second = await anext(made, None)
    if second is None:
        return Response(first, 200, headers, kind)
    return StreamingResponse(_chained((first, second), made), 200, headers, kind)


async def _chained(first: Iterable[bytes], rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    for piece in first:
        yield piece
    async for piece in rest:
        yield piece


def _refused(refusal: Refusal, headers: Mapping[str, str] | None = None) -> Response:
    told = {"error": refusal.code, "message": refusal.message}
    return _json(told, STATUS[refusal.code], {**(headers or {}), "Connection": "close"} if _ends(refusal) else headers)


def _ends(refusal: Refusal) -> bool:
    """Whether the connection ends with this answer: what is left of the request is not read."""
    return refusal.code in ("too_large", "unsupported", "bad_request", "unauthorized", "too_many")


def _json(found: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return _written(json_bytes(found), status, headers)


def _written(content: bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(content, status, {**_HEADERS, **(headers or {})}, _JSON)


_NAMING = ("Idempotency-Key", "If-Receipt")
_FAILED_CHECK = {"table": str, "suite": str, "check": str}
ROUTES = (
    ApiRoute("POST", "/v1/run", _run, "Answer a statement of SQL over releases.",
             ANSWER, STATEMENT, ("statement",), _NAMING),
    ApiRoute("POST", "/v1/check", _check, "Run a suite of checks that the owner has registered.",
             ANSWER, {"suite": str, **CHECK_OPTIONS}, ("suite",), _NAMING),
    ApiRoute("POST", "/v1/explain", _explain, "Say what a statement would cost. Spends nothing.",
             PLAN, STATEMENT, ("statement",)),
    ApiRoute("GET", "/v1/account", lambda call: call.desk.account(call.asker),
             "Say what is left of the asker's quotas.", answer_of("analyst role tables")),
    ApiRoute("GET", "/v1/history", _history, "Repeat the asker's own releases.",
             answer_of("releases"), parameters=("most",)),
    ApiRoute("GET", "/v1/receipts", _receipts,
             "Signed receipts of the asker's own runs and releases, one for each debit.",
             _LINES, parameters=("run", "release", "If-Receipt")),
    ApiRoute("GET", "/v1/receipts/salts", _receipt_salts,
             "The same receipts with the salts of their answers, by which the asker finds his answers in them.",
             answer_of("receipts", receipts=MANY), parameters=("run", "release", "If-Receipt")),
    ApiRoute("GET", "/v1/schema", lambda call: call.desk.schema(call.asker), "Say what is public.",
             answer_of("tables public measures postgres words")),
    ApiRoute("GET", "/v1/board", lambda call: call.desk.board(call.asker), "For owners: who has spent what.",
             answer_of("tables")),
    ApiRoute("GET", "/v1/board/report", _report, "For owners: the report on a table's jobs.",
             "text/html", parameters=("table",)),
    ApiRoute("POST", "/v1/board/revoke", _revoke, "For owners: withdraw an analyst's access.",
             answer_of("revoked"), {"analyst": str}, ("analyst",)),
    ApiRoute("POST", "/v1/board/rearm", _rearm, "For owners: let a failed check of a kept suite be tested again.",
             answer_of("rearmed"), {**_FAILED_CHECK, "epsilon": (str, int, float), "label": str}, (*_FAILED_CHECK,)),
    ApiRoute("GET", "/metrics", _metrics, "For owners: answers by status, for Prometheus.", "text/plain"),
    ApiRoute("GET", "/openapi.json", _openapi, "This document.", {"type": "object"}),
    ApiRoute("POST", "/mcp", lambda call: call.served.mcp.answer(call), "MCP, one message: the same as tools.",
             {"type": "object"}),
)  # fmt: skip
"""Every route that needs a token; `/healthz` and the pages (`PAGES`) need none."""
_REST = ApiRoute("", "", _nothing, "", "")


_ASSETS = Path(__file__).parent / "assets"

PAGES: Mapping[str, str] = {"/": "analyst", "/owner": "owner"}
"""The page of every path; strangers get them, too, as a browser has no token when it opens a page."""
_SCRIPTS = {"analyst": ("common", "form", "analyst"), "owner": ("common", "owner")}


@dataclass(frozen=True)
class Page:
    """A page, and the policy that its browser enforces."""

    content: bytes
    policy: str


def load_page(name: str) -> Page:
    """Read a page and put its style and its script in."""
    style = _text("style.css")
    script = "".join(_text(f"{part}.js") for part in _SCRIPTS[name])
    page = _text(f"{name}.html").replace("<style></style>", f"<style>{style}</style>")
    page = page.replace("<script></script>", f"<script>{script}</script>")
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return Page(page.encode(), policy)


def _text(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
