"""What goes over a door as JSON: the answers of the desk as plain values, and the fields of what it is asked."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

import pyarrow as pa

from dpdb.doors.server.asked import Answer, Plan, RefusedError
from dpdb.doors.server.refusals import Refusal
from dpdb.suites import spoken

__all__ = [
    "CHECK_OPTIONS", "MOST_BODY", "STATEMENT", "answer_values", "checked_fields", "fields_schema", "json_bytes",
    "plan_values",
]  # fmt: skip

MOST_BODY = 128 << 10
"""Bytes of a request."""

STATEMENT: Mapping[str, Any] = {"statement": str, "table": str}
CHECK_OPTIONS: Mapping[str, Any] = {
    "epsilon": (str, int, float),
    "confidence": (int, float),
    **dict.fromkeys(("certain", "label", "where", "by", "date"), str),
    "keys": list,
}
"""Fields and their types: of what names a statement, and of the options of a suite of checks."""
_SCHEMAS: Mapping[Any, Mapping[str, Any]] = {
    str: {"type": "string"},
    (int, float): {"type": "number"},
    (str, int, float): {"type": ["number", "string"]},
    list: {"type": "array", "items": {"type": ["string", "number"]}},
}


def checked_fields(found: object, known: Mapping[str, Any], *needed: str) -> dict[str, Any]:
    """Return the fields of an object whose keys are known, each of its type; `needed` must be there.

    Raises
    ------
    RefusedError
        They are not so.
    """
    if not isinstance(found, dict):
        raise RefusedError(Refusal("bad_request", "the body is no JSON object"))
    for key, value in found.items():
        if key not in known:
            raise RefusedError(Refusal("bad_request", f"unknown key; known are {', '.join(known)}"))
        if not isinstance(value, known[key]) or isinstance(value, bool):
            raise RefusedError(Refusal("bad_request", f"the key {key!r} has a value of another type"))
    for key in needed:
        if key not in found:
            raise RefusedError(Refusal("bad_request", f"the key {key!r} is missing"))
    return found


def fields_schema(
    known: Mapping[str, Any], needed: Iterable[str], described: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the JSON schema of the objects that `checked_fields` takes.

    Parameters
    ----------
    known
        The fields with their types.
    needed
        Those that must be there.
    described
        What the schema says of some fields beside their types.
    """
    fields = {name: {**_SCHEMAS[kind], **described.get(name, {})} for name, kind in known.items()}
    return {"type": "object", "properties": fields, "required": [*needed], "additionalProperties": False}


def answer_values(answer: Answer) -> dict[str, Any]:
    """Return an answer: its rows, what it has cost, and its releases and verdicts with their ids."""
    return {
        **_rows(answer.table),
        "epsilon": answer.epsilon,
        "cost": answer.words,
        "releases": [release.to_dict() for release in answer.releases],
        "checks": [{**results.to_dict(), "words": spoken(results)} for results in answer.checks],
    }


def plan_values(plan: Plan) -> dict[str, Any]:
    """Return a plan and its cost."""
    return {"epsilon": plan.epsilon, "cost": plan.words, **_rows(plan.table)}


def json_bytes(found: object) -> bytes:
    """Return values as JSON, which has neither infinite numbers nor halves of characters."""
    content = json.dumps(_plain(found), ensure_ascii=False, allow_nan=False, default=str, separators=(",", ":"))
    return content.encode("utf-8", "replace")


def _rows(table: pa.Table) -> dict[str, Any]:
    columns = [column.to_pylist() for column in table.columns]
    return {
        "columns": [{"name": field.name, "type": str(field.type)} for field in table.schema],
        "rows": [[*row] for row in zip(*columns, strict=True)],
    }


def _plain(value: object) -> object:
    """Return a value that JSON has: numbers that are none become null, decimals with places and times text."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Decimal) and value.is_finite() and value.as_tuple().exponent == 0:
        return int(value)  # such as the sum of whole numbers
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return value
