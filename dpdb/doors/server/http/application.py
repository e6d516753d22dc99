"""The HTTP application: routes onto the desk, and one wrapper around every handler.

A stranger learns nothing: every path but `/healthz` and the two pages, which are constant, needs a token, and without a
good one the answer is a constant 401.
Whatever a handler throws becomes a code and one line (`dpdb.doors.server.refusals`); nothing else leaves.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

import pyarrow as pa
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from dpdb.doors.server.asked import Answer, Asker, RefusedError
from dpdb.doors.server.desk import Desk
from dpdb.doors.server.http.openapi import openapi_document
from dpdb.doors.server.http.pages import PAGES, Page, load_page
from dpdb.doors.server.rates import PerMinute
from dpdb.doors.server.refusals import Refusal
from dpdb.doors.server.values import (
    CHECK_OPTIONS,
    MOST_BODY,
    STATEMENT,
    answer_values,
    checked_fields,
    json_bytes,
    plan_values,
)
from dpdb.owner_log import OWNER_LOG

__all__ = ["ARROW", "ROUTES", "STATUS", "http_application"]

ARROW = "application/vnd.apache.arrow.stream"
_JSON = "application/json"
_MOST_HISTORY = 1_000
_SEEN, _RECEIPT = "if-receipt", "Dpdb-Receipt"

STATUS: Mapping[str, int] = {
    "refused": 422,
    "statement_failed": 422,
    "budget": 402,
    "forbidden": 403,
    "run_id": 409,
    "too_many": 429,
    "failed": 500,
    "closing": 503,
    "unavailable": 503,
    "unauthorized": 401,
    "not_found": 404,
    "bad_request": 400,
    "rollback": 412,
    "too_large": 413,
}
"""The HTTP status of every code."""

ROUTES = (
    ("POST", "/v1/run"),
    ("POST", "/v1/check"),
    ("POST", "/v1/explain"),
    ("GET", "/v1/account"),
    ("GET", "/v1/history"),
    ("GET", "/v1/receipts"),
    ("GET", "/v1/schema"),
    ("GET", "/v1/board"),
    ("GET", "/v1/board/report"),
    ("POST", "/v1/board/revoke"),
    ("POST", "/v1/board/rearm"),
    ("GET", "/metrics"),
    ("GET", "/openapi.json"),
    ("POST", "/mcp"),
)
"""Every route that needs a token; `/healthz` and the pages (`PAGES`) need none."""

_HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
}
_UNAUTHORIZED = Refusal("unauthorized", "a valid token is needed")
_NOT_FOUND = Refusal("not_found", "there is nothing here")
_NO_MCP = Refusal("not_found", "mcp is not installed where the server runs: pip install 'dpdb[mcp]'")
_BAD = Refusal("bad_request", "the request cannot be read")
_LARGE = Refusal("too_large", f"a body has at most {MOST_BODY >> 10} KiB")
_FAILED = Refusal("failed", "the request failed; the reason is in the owner's log")

_Handler = Callable[[Desk, Asker, Request], Awaitable[Response]]


def http_application(desk: Desk) -> Starlette:
    """Return the ASGI application over a desk, which it does not close."""
    served = _Served(desk)
    handlers: Mapping[str, _Handler] = {
        "/v1/run": _run,
        "/v1/check": _check,
        "/v1/explain": _explain,
        "/v1/account": _account,
        "/v1/history": _history,
        "/v1/receipts": _receipts,
        "/v1/schema": _schema,
        "/v1/board": _board,
        "/v1/board/report": _report,
        "/v1/board/revoke": _revoke,
        "/v1/board/rearm": _rearm,
        "/metrics": served.metrics,
        "/openapi.json": _openapi,
        "/mcp": _Mcp().answer,
    }
    routes = [Route(path, served.wrapped(handlers[path]), methods=[method]) for method, path in ROUTES]
    routes += [Route(path, _page(load_page(name)), methods=["GET"]) for path, name in PAGES.items()]
    health = Route("/healthz", served.health, methods=["GET"])
    # Every other path and method, too: a stranger must not tell them apart.
    rest = Route("/{path:path}", served.wrapped(_nothing), methods=["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
    return Starlette(routes=[health, *routes, rest], exception_handlers={404: served.lost, 405: served.lost})


class _Served:
    """The wrapper around every handler: who asks, and what becomes of errors."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._failed = PerMinute(desk.configuration.limits.failed_logins_per_minute)
        self._statuses: Counter[int] = Counter()

    def wrapped(self, handler: _Handler) -> Callable[[Request], Awaitable[Response]]:
        """Return a handler that answers whatever happens."""

        async def answered(request: Request) -> Response:
            try:
                response = await self._answered(handler, request)
            except RefusedError as refused:
                response = _refused(refused.refusal)
            except ClientDisconnect:
                response = _refused(_BAD)
            except Exception:
                OWNER_LOG.exception("a request failed")
                response = _refused(_FAILED)
            self._statuses[response.status_code] += 1
            return response

        return answered

    async def _answered(self, handler: _Handler, request: Request) -> Response:
        address = request.client.host if request.client is not None else "?"
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        analyst = await self._desk.holder(token.strip()) if scheme.lower() == "bearer" and token else None
        if analyst is None:
            if token and not self._failed.allows(address):
                return _refused(Refusal("too_many", _UNAUTHORIZED.message))
            return _refused(_UNAUTHORIZED, {"WWW-Authenticate": "Bearer"})
        return await handler(self._desk, Asker(analyst, "http", address), request)

    async def lost(self, request: Request, error: Exception) -> Response:
        """Answer a request that no route takes."""
        del error
        return await self.wrapped(_nothing)(request)

    async def health(self, request: Request) -> Response:
        """Say whether the server takes statements; to strangers, too."""
        del request
        state = "closing" if self._desk.closing else "ok" if self._desk.trouble is None else "certificate"
        return _json({"status": state}, 200 if state == "ok" else 503)

    async def metrics(self, desk: Desk, asker: Asker, request: Request) -> Response:
        """Count answers by status, for the owner; no statement, no time, nothing of an analyst."""
        del request
        if asker.analyst.role != "owner":
            return _refused(Refusal("forbidden", "only an owner sees this"))
        lines = ["# TYPE dpdb_http_responses_total counter"]
        lines += [f'dpdb_http_responses_total{{status="{status}"}} {n}' for status, n in sorted(self._statuses.items())]
        lines += ["# TYPE dpdb_closing gauge", f"dpdb_closing {int(desk.closing)}", ""]
        return Response("\n".join(lines), media_type="text/plain; version=0.0.4", headers=_HEADERS)


async def _run(desk: Desk, asker: Asker, request: Request) -> Response:
    body = await _body(request, STATEMENT, "statement")
    key = request.headers.get("idempotency-key")
    await desk.receipts.refuse_rollback(request.headers.get(_SEEN))
    answer = await desk.run(asker, body["statement"], run_id=key, table=body.get("table"))
    return _answer(answer, request, asker, desk)


async def _check(desk: Desk, asker: Asker, request: Request) -> Response:
    body = await _body(request, {"suite": str, **CHECK_OPTIONS}, "suite")
    asked = {name: body[name] for name in CHECK_OPTIONS if name in body}
    await desk.receipts.refuse_rollback(request.headers.get(_SEEN))
    answer = await desk.check(asker, body["suite"], asked, request.headers.get("idempotency-key"))
    return _answer(answer, request, asker, desk)


async def _explain(desk: Desk, asker: Asker, request: Request) -> Response:
    body = await _body(request, STATEMENT, "statement")
    plan = await desk.explain(asker, body["statement"], table=body.get("table"))
    return _json(plan_values(plan))


async def _account(desk: Desk, asker: Asker, request: Request) -> Response:
    del request
    return _json(await desk.account(asker))


async def _history(desk: Desk, asker: Asker, request: Request) -> Response:
    text = request.query_params.get("most", "100")
    most = int(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0
    if not 0 < most <= _MOST_HISTORY:
        raise RefusedError(_BAD)
    return _json({"releases": await desk.history(asker, most)})


async def _receipts(desk: Desk, asker: Asker, request: Request) -> Response:
    asked = [pair for pair in request.query_params.multi_items() if pair[0] in ("run", "release")]
    found = await desk.receipts.of(asker, asked, request.headers.get(_SEEN))
    lines = b"".join(one.line for one in found)
    return Response(lines, media_type="application/jsonl", headers=_HEADERS)


async def _schema(desk: Desk, asker: Asker, request: Request) -> Response:
    del asker, request
    return _json(await desk.schema())


async def _board(desk: Desk, asker: Asker, request: Request) -> Response:
    del request
    return _json(await desk.board(asker))


async def _report(desk: Desk, asker: Asker, request: Request) -> Response:
    page = await desk.report(asker, request.query_params.get("table", ""))
    # As a file: in a page of ours the browser would refuse its style.
    headers = {**_HEADERS, "Content-Disposition": 'attachment; filename="report.html"'}
    return Response(page.encode("utf-8", "replace"), media_type="text/html; charset=utf-8", headers=headers)


async def _revoke(desk: Desk, asker: Asker, request: Request) -> Response:
    body = await _body(request, {"analyst": str}, "analyst")
    await desk.revoke(asker, body["analyst"])
    return _json({"revoked": body["analyst"]})


async def _rearm(desk: Desk, asker: Asker, request: Request) -> Response:
    names = {"table": str, "suite": str, "check": str}
    body = await _body(request, {**names, "epsilon": (str, int, float), "label": str}, *names)
    await desk.rearm(asker, body)
    return _json({"rearmed": body["check"]})


async def _openapi(desk: Desk, asker: Asker, request: Request) -> Response:
    del desk, asker, request
    return _json(openapi_document())


class _Mcp:
    """MCP, whose package is loaded at the first request."""

    def __init__(self) -> None:
        self._served: Any = None
        self._loading = asyncio.Lock()

    async def answer(self, desk: Desk, asker: Asker, request: Request) -> Response:
        """Answer one message."""
        content = await _content(request)
        async with self._loading:
            if self._served is None:
                self._served = (await asyncio.to_thread(_load_mcp))(desk)
        status, kind, answer = await self._served.answer(replace(asker, door="mcp"), request.scope, content)
        if status >= 400 and not kind.startswith(_JSON):
            raise RefusedError(_BAD)
        return Response(answer, status, _HEADERS, kind or None)


def _load_mcp() -> Any:
    try:
        from dpdb.doors.server.mcp.over_http import McpOverHttp
    except ImportError:
        raise RefusedError(_NO_MCP) from None
    return McpOverHttp


def _page(page: Page) -> Callable[[Request], Awaitable[Response]]:
    async def shown(request: Request) -> Response:
        del request
        headers = {**_HEADERS, "Content-Security-Policy": page.policy}
        return Response(page.content, media_type="text/html; charset=utf-8", headers=headers)

    return shown


async def _nothing(desk: Desk, asker: Asker, request: Request) -> Response:
    del desk, asker, request
    return _refused(_NOT_FOUND)


async def _body(request: Request, known: Mapping[str, Any], *needed: str) -> dict[str, Any]:
    """Read a JSON object whose keys are known, each of its type; `needed` must be there."""
    try:
        found = json.loads(await _content(request))
    except (ValueError, RecursionError):
        raise RefusedError(Refusal("bad_request", "the body is not JSON")) from None
    return checked_fields(found, known, *needed)


async def _content(request: Request) -> bytes:
    content = bytearray()
    async for piece in request.stream():
        content += piece
        if len(content) > MOST_BODY:
            raise RefusedError(_LARGE)
    return bytes(content)


def _answer(answer: Answer, request: Request, asker: Asker, desk: Desk) -> Response:
    named = desk.receipts.named(asker, answer)
    linked = {_RECEIPT: f"/v1/receipts?{urlencode(named)}"} if named else {}
    if ARROW in request.headers.get("accept", ""):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, answer.table.schema) as writer:
            writer.write_table(answer.table)
        ids = ",".join(release.release_id for release in answer.releases)
        headers = {**_HEADERS, **linked, "Dpdb-Epsilon": f"{answer.epsilon:.9f}", "Dpdb-Releases": ids[:4_000]}
        return Response(sink.getvalue().to_pybytes(), media_type=ARROW, headers=headers)
    return _json(answer_values(answer), headers=linked)


def _refused(refusal: Refusal, headers: Mapping[str, str] | None = None) -> Response:
    told = {"error": refusal.code, "message": refusal.message}
    return _json(told, STATUS[refusal.code], {**(headers or {}), "Connection": "close"} if _ends(refusal) else headers)


def _ends(refusal: Refusal) -> bool:
    """Whether the connection ends with this answer: what is left of the request is not read."""
    return refusal.code in ("too_large", "bad_request", "unauthorized", "too_many")


def _json(found: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(json_bytes(found), status, {**_HEADERS, **(headers or {})}, _JSON)
