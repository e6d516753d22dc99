"""What protocols and the desk exchange: who asks, what he asks, what he gets; and all of it as values for JSON."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import pyarrow as pa
from sqlglot import exp

from dpdb.doors.server.analysts import Analyst
from dpdb.doors.server.pieces import json_bytes, json_rows, rows_of
from dpdb.doors.server.refusals import Refusal
from dpdb.doors.sql import Result
from dpdb.doors.sql_parameters import CHECK, FUNCTIONS
from dpdb.errors import ParameterError, StatementRefusedError
from dpdb.options import Kind
from dpdb.release import Cost
from dpdb.suites import SUITE_OPTIONS, spoken

_MOST_RUN_ID = 100


@dataclass(frozen=True)
class Asker:
    """Who asks, by which protocol, whence; `is_gone` says whether he still listens, where that can be known."""

    analyst: Analyst
    door: str
    address: str
    is_gone: Callable[[], Awaitable[bool]] | None = field(default=None, compare=False)

    def refuse_unless_owner(self) -> None:
        """Raise `RefusedError` for whoever is no owner."""
        if self.analyst.role != "owner":
            raise RefusedError(Refusal("forbidden", "only an owner sees and does this"))


@dataclass(frozen=True, kw_only=True)
class Answer(Result):
    """The result of a statement, with what it costs.

    Attributes
    ----------
    words : str
        What the statement is debited at most, in words.
    """

    words: str

    def values(self) -> dict[str, Any]:
        """Return its rows, what it has cost, and its releases and verdicts with their ids."""
        return {
            "columns": columns_of(self.table),
            "rows": [*rows_of(self.table)],
            **self._told(),
        }

    def json_pieces(self) -> Iterator[bytes]:
        """Give `values` as JSON, in pieces."""
        yield b'{"columns":' + json_bytes(columns_of(self.table)) + b',"rows":'
        yield from json_rows(self.table)
        yield b"," + json_bytes(self._told())[1:]

    def _told(self) -> dict[str, Any]:
        return {
            **_charged(self.charged),
            "cost": self.words,
            "releases": [release.to_dict() for release in self.releases],
            "checks": [{**results.to_dict(), "words": spoken(results)} for results in self.checks],
        }

    @property
    def runs(self) -> list[str]:
        """The names of its runs that are no releases, under which the ledger keeps their answers."""
        checked = [results.run_id for results in self.checks]
        return checked + [found.run_id for found in self.diagnoses if found.run_id is not None]


@dataclass(frozen=True)
class Plan:
    """What a statement would cost at most, and how it would run."""

    charged: Cost
    words: str
    table: pa.Table

    def values(self) -> dict[str, Any]:
        """Return the plan and its cost."""
        rows = [*rows_of(self.table)]
        return {**_charged(self.charged), "cost": self.words, "columns": columns_of(self.table), "rows": rows}


def columns_of(table: pa.Table) -> list[dict[str, str]]:
    """Return the columns of a result as values."""
    return [{"name": field.name, "type": str(field.type)} for field in table.schema]


class RefusedError(Exception):
    """A request was refused or has failed; `refusal` has the public words, and nothing else leaves the server."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.code)
        self.refusal = refusal


def check_run_id(run_id: str | None) -> None:
    """Raise `ParameterError` for a run id that a ledger could not keep behind the name of its analyst."""
    if run_id is not None and not (run_id.isprintable() and 0 < len(run_id) <= _MOST_RUN_ID):
        raise ParameterError(f"a run id (Idempotency-Key) has 1 to {_MOST_RUN_ID} printable characters")


def check_statement(suite: str, options: Mapping[str, Any]) -> str:
    """Write the run of a registered suite as a statement; `ParameterError` where a value is no literal."""
    spelled = {option: name for name, option in FUNCTIONS[CHECK].items()}
    given = {spelled[name]: value for name, value in options.items() if value is not None}
    arguments = "".join(f", {name} := {_literal(value)}" for name, value in given.items())
    return f"SELECT * FROM dp_check({_literal(suite)}{arguments})"


def _literal(value: object) -> str:
    if isinstance(value, list) and not any(isinstance(one, list) for one in value):
        return f"[{', '.join(map(_literal, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, (str, int, float)):
        raise ParameterError("an option of a check is a text, a number, a truth value, or a list of such")
    text = exp.Literal.string(value) if isinstance(value, str) else exp.Literal.number(repr(value))
    return text.sql("duckdb")


@contextmanager
def explained(text: str, verb: str) -> Iterator[str]:
    """Give a statement as one that shows its plan and cost (EXPLAIN), or its columns (DESCRIBE).

    Errors name places as in the text that the analyst wrote, without the word that was put before it.
    """
    shown = text if text.lstrip().upper().startswith(("EXPLAIN", "DESCRIBE")) else f"{verb} {text}"
    try:
        yield shown
    except StatementRefusedError as error:
        added = len(shown) - len(text)
        if error.line != 1 or error.column is None or error.column <= added:
            raise
        column = error.column - added
        raise StatementRefusedError(error.reason, line=1, column=column, kind=error.kind) from None


MOST_BODY = 128 << 10
"""Bytes of a request."""

Most: TypeAlias = Mapping[str, Any]
"""Limits of a result, as `dpdb.doors.sql.child.messages.Limits` has them."""
JSON_MOST: Most = {
    "rows": 100_000, "values": 1_000_000, "result_bytes": 8 << 20,
    "advice": " as JSON: write LIMIT, or ask for Arrow (Accept: application/vnd.apache.arrow.stream)",
}  # fmt: skip
MCP_MOST: Most = {"rows": 10_000, "values": 20_000, "result_bytes": 1 << 20, "advice": " for a program: write LIMIT"}

STATEMENT: Mapping[str, Any] = {"statement": str, "table": str}
_TYPES: Mapping[Kind, Any] = {
    "text": str, "amount": (str, int, float), "number": (int, float), "keys": list, "flag": bool,
}  # fmt: skip
# A run's id has a field of its own.
CHECK_OPTIONS: Mapping[str, Any] = {name: _TYPES[one.kind] for name, one in SUITE_OPTIONS.items() if name != "run_id"}
"""Fields and their types: of what names a statement, and of the options of a suite of checks."""
_SCHEMAS: Mapping[Any, Mapping[str, Any]] = {
    str: {"type": "string"},
    (int, float): {"type": "number"},
    (str, int, float): {"anyOf": [{"type": "number"}, {"type": "string"}]},  # one type each: some models need that
    list: {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "number"}]}},
    bool: {"type": "boolean"},
}


def checked_fields(found: object, known: Mapping[str, Any], *needed: str) -> dict[str, Any]:
    """Return the fields of an object whose keys are known, each of its type; `needed` must be there."""
    if not isinstance(found, dict):
        raise RefusedError(Refusal("bad_request", "the body is no JSON object"))
    for key, value in found.items():
        if key not in known:
            raise RefusedError(Refusal("bad_request", f"unknown key; known are {', '.join(known)}"))
        if not isinstance(value, known[key]) or isinstance(value, bool) != (known[key] is bool):
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
    described
        What the schema says of some fields beside their types.
    """
    fields = {name: {**_SCHEMAS[kind], **described.get(name, {})} for name, kind in known.items()}
    return {"type": "object", "properties": fields, "required": [*needed], "additionalProperties": False}


def _charged(cost: Cost) -> dict[str, Any]:
    """Return an amount and its unit; as `epsilon` only of a ledger that counts so."""
    epsilon = cost.value if cost.parameter == "epsilon" else None
    return {"epsilon": epsilon, "parameter": cost.parameter, "charged": cost.value}
