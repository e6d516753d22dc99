"""The OpenAPI document of the HTTP routes. The tests hold it to the routes and to what they answer."""

from __future__ import annotations

from typing import Any

from dpdb._version import __version__

__all__ = ["openapi_document"]

_TEXT: dict[str, Any] = {"type": "string"}
_NUMBER: dict[str, Any] = {"type": "number"}
_LEVEL: dict[str, Any] = {"type": ["number", "string"], "description": "epsilon; a string keeps every digit"}
_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "Names the run: asked again with the same key, it is answered again and costs nothing.",
    "schema": {"type": "string", "maxLength": 100},
}
_SEEN = {
    "name": "If-Receipt",
    "in": "header",
    "description": "Name, lines and root of an earlier receipt's checkpoint: 412 if the ledger has not these lines.",
    "schema": _TEXT,
}
_KEYS: dict[str, Any] = {"type": "array", "items": {"type": ["string", "number"]}}
_TABLE = {"name": "table", "in": "query", "required": True, "schema": _TEXT}
_MOST = {"name": "most", "in": "query", "schema": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 100}}
_NAMED = [
    {"name": name, "in": "query", "schema": {"type": "array", "items": _TEXT}, "explode": True}
    for name in ("run", "release")
]


def openapi_document() -> dict[str, Any]:
    """Return the document, of version 3.1."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "dpdb serve", "version": __version__, "description": "Releases of private tables; no rows."},
        "security": [{"token": []}],
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {
                "Refusal": _object("error", error=_TEXT, message=_TEXT),
                "Answer": _object("columns rows epsilon cost releases checks", **_table(), **_cost(), **_released()),
                "Plan": _object("epsilon cost columns rows", **_table(), **_cost()),
            },
        },
        "paths": {
            "/v1/run": {"post": _run("Answer a statement of SQL over releases.", {"statement": _TEXT, "table": _TEXT})},
            "/v1/check": {
                "post": _run(
                    "Run a suite of checks that the owner has registered.",
                    {"suite": _TEXT, "epsilon": _LEVEL, "confidence": _NUMBER, "certain": _TEXT, "label": _TEXT}
                    | {"where": _TEXT, "by": _TEXT, "keys": _KEYS, "date": {**_TEXT, "format": "date"}},
                )
            },
            "/v1/explain": {
                "post": _route(
                    "Say what a statement would cost. Spends nothing.",
                    {"$ref": "#/components/schemas/Plan"},
                    body=_object("statement", statement=_TEXT, table=_TEXT),
                )
            },
            "/v1/account": {"get": _route("Say what is left of the asker's quotas.", _object("analyst role tables"))},
            "/v1/history": {"get": _route("Repeat the asker's own releases.", _object("releases"), parameters=[_MOST])},
            "/v1/receipts": {
                "get": _route(
                    "Signed receipts of the asker's own runs and releases, one for each debit.",
                    None,
                    parameters=[*_NAMED, _SEEN],
                    text="application/jsonl",
                )
            },
            "/v1/schema": {"get": _route("Say what is public.", _object("tables public words"))},
            "/v1/board": {"get": _route("For owners: who has spent what.", _object("tables"))},
            "/v1/board/report": {
                "get": _route("For owners: the report on a table's jobs.", None, parameters=[_TABLE], text="text/html")
            },
            "/v1/board/revoke": {
                "post": _route(
                    "For owners: withdraw an analyst's access.",
                    _object("revoked"),
                    body=_object("analyst", analyst=_TEXT),
                )
            },
            "/v1/board/rearm": {
                "post": _route(
                    "For owners: let a failed check of a kept suite be tested again.",
                    _object("rearmed"),
                    body=_object(
                        "table suite check", table=_TEXT, suite=_TEXT, check=_TEXT, epsilon=_LEVEL, label=_TEXT
                    ),
                )
            },
            "/metrics": {"get": _route("For owners: answers by status, for Prometheus.", None)},
            "/openapi.json": {"get": _route("This document.", {"type": "object"})},
            "/mcp": {"post": _mcp()},
        },
    }


def _object(needed: str, **properties: Any) -> dict[str, Any]:
    known = {name: {} for name in needed.split()} | properties
    return {"type": "object", "properties": known, "required": needed.split()}


def _table() -> dict[str, Any]:
    column = _object("name type", name=_TEXT, type=_TEXT)
    return {"columns": {"type": "array", "items": column}, "rows": {"type": "array", "items": {"type": "array"}}}


def _cost() -> dict[str, Any]:
    return {"epsilon": _NUMBER, "cost": _TEXT}


def _released() -> dict[str, Any]:
    several = {"type": "array", "items": {"type": "object"}}
    return {"releases": several, "checks": several}


def _run(summary: str, properties: dict[str, Any]) -> dict[str, Any]:
    answer = {"$ref": "#/components/schemas/Answer"}
    body = _object(next(iter(properties)), **properties)
    found = _route(summary, answer, body=body, parameters=[_KEY, _SEEN])
    found["responses"]["200"]["content"]["application/vnd.apache.arrow.stream"] = {}
    return found


def _mcp() -> dict[str, Any]:
    found = _route("MCP, one message: the same as tools.", {"type": "object"}, body={"type": "object"})
    error = _object("jsonrpc id error", jsonrpc=_TEXT, error=_object("code message", message=_TEXT))
    content = {"application/json": {"schema": error}}
    found["responses"]["400"] = {"description": "no message, as JSON-RPC says it", "content": content}
    return found


def _route(
    summary: str,
    answer: dict[str, Any] | None,
    *,
    body: dict[str, Any] | None = None,
    parameters: list[dict[str, Any]] | None = None,
    text: str = "text/plain",
) -> dict[str, Any]:
    """Return one operation; `answer` None is a text of the media type `text`."""
    refused = {"$ref": "#/components/schemas/Refusal"}
    content = {text: {}} if answer is None else {"application/json": {"schema": answer}}
    operation: dict[str, Any] = {
        "summary": summary,
        "responses": {
            "200": {"description": "the answer", "content": content},
            "default": {"description": "a refusal", "content": {"application/json": {"schema": refused}}},
        },
    }
    if parameters:
        operation["parameters"] = parameters
    if body is not None:
        closed = {**body, "additionalProperties": False}
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": closed}}}
    return operation
