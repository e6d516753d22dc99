"""The OpenAPI document, made of the table of routes. The tests hold it to what the routes take and answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, NamedTuple

from dpdb._version import __version__
from dpdb.doors.server.exchange import fields_schema

ARROW = "application/vnd.apache.arrow.stream"
_TEXT: dict[str, Any] = {"type": "string"}
MANY: dict[str, Any] = {"type": "array", "items": {"type": "object"}}
_PARAMETERS: Mapping[str, dict[str, Any]] = {
    "Idempotency-Key": {
        "in": "header",
        "description": "Names the run: asked again with the same key, it is answered again and costs nothing.",
        "schema": {"type": "string", "maxLength": 100},
    },
    "If-Receipt": {
        "in": "header",
        "description": "Name, lines and root of an earlier receipt's checkpoint: 412 if the ledger has not these "
        "lines.",
        "schema": _TEXT,
    },
    "table": {"in": "query", "required": True, "schema": _TEXT},
    "most": {"in": "query", "schema": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 100}},
    **{
        name: {"in": "query", "schema": {"type": "array", "items": _TEXT}, "explode": True}
        for name in ("run", "release")
    },
}
# What is said of fields of bodies, beside their types.
_FIELDS = {"epsilon": {"description": "epsilon; a string keeps every digit"}, "date": {"format": "date"}}


def answer_of(fields: str, **schemas: Any) -> dict[str, Any]:
    """Return the schema of an object with these fields, which it always has; any value where no schema is given."""
    return {
        "type": "object",
        "properties": {name: schemas.get(name, {}) for name in fields.split()},
        "required": fields.split(),
    }


ANSWER, PLAN, _REFUSAL = ({"$ref": f"#/components/schemas/{name}"} for name in ("Answer", "Plan", "Refusal"))
_COLUMNS = {"type": "array", "items": answer_of("name type", name=_TEXT, type=_TEXT)}
_RESULT = {"columns": _COLUMNS, "rows": {"type": "array", "items": {"type": "array"}}}
_COST = {"epsilon": {"type": ["number", "null"]}, "parameter": _TEXT, "charged": {"type": "number"}, "cost": _TEXT}
_COSTS = " ".join(_COST)
_SCHEMAS = {
    "Refusal": answer_of("error message", error=_TEXT, message=_TEXT),
    "Answer": answer_of(f"columns rows {_COSTS} releases checks", **_RESULT, **_COST, releases=MANY, checks=MANY),
    "Plan": answer_of(f"{_COSTS} columns rows", **_RESULT, **_COST),
}
_RPC_ERROR = answer_of("jsonrpc id error", jsonrpc=_TEXT, error=answer_of("code message", message=_TEXT))


class ApiRoute(NamedTuple):
    """A route that needs a token: how it is asked, what answers, and what the document says of it.

    Attributes
    ----------
    handler
        Returns a response, or values that go as JSON.
    answer
        The schema of the answer, or the media type of a text.
    known
        The fields of the body with their types, as `checked_fields` takes them; None of one that is not read so.
    """

    method: str
    path: str
    handler: Callable[[Any], Awaitable[Any]]
    summary: str
    answer: Mapping[str, Any] | str
    known: Mapping[str, Any] | None = None
    needed: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()


def openapi_document(routes: Iterable[ApiRoute]) -> dict[str, Any]:
    """Return the document, of version 3.1."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "dpdb serve", "version": __version__, "description": "Releases of private tables; no rows."},
        "security": [{"token": []}],
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}, "schemas": _SCHEMAS},
        "paths": {route.path: {route.method.lower(): _operation(route)} for route in routes},
    }


def _operation(route: ApiRoute) -> dict[str, Any]:
    content = {route.answer: {}} if isinstance(route.answer, str) else _json(route.answer)
    if route.answer == ANSWER:
        content[ARROW] = {}
    responses = {
        "200": {"description": "the answer", "content": content},
        "default": {"description": "a refusal", "content": _json(_REFUSAL)},
    }
    operation: dict[str, Any] = {"summary": route.summary, "responses": responses}
    if route.parameters:
        operation["parameters"] = [{"name": name, **_PARAMETERS[name]} for name in route.parameters]
    if route.known is not None:
        body = fields_schema(route.known, route.needed, _FIELDS)
        operation["requestBody"] = {"required": True, "content": _json(body)}
    elif route.method == "POST":  # a message of JSON-RPC
        operation["requestBody"] = {"required": True, "content": _json({"type": "object"})}
        responses["400"] = {"description": "no message, as JSON-RPC says it", "content": _json(_RPC_ERROR)}
    return operation


def _json(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}
