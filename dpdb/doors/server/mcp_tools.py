"""MCP: the desk as tools of a language model: what each takes, and how the desk answers it.

Refusals are values, and say the same as over HTTP.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

from dpdb.doors.server.desk import Desk
from dpdb.doors.server.exchange import (
    CHECK_OPTIONS,
    MCP_MOST,
    STATEMENT,
    Answer,
    Asker,
    RefusedError,
    checked_fields,
    fields_schema,
)
from dpdb.doors.server.pieces import json_bytes
from dpdb.doors.server.refusals import FAILED, NOT_FOUND, UNAUTHORIZED, UNREADABLE, Refusal
from dpdb.doors.server.workers import leave_turn
from dpdb.doors.sql import AskedErrors
from dpdb.suites import SUITE_OPTIONS

Found = TypeVar("Found")
_ERRORS = AskedErrors("calls of tools that failed")
_MOST_NAME = 100
INSTRUCTIONS = (
    "Releases of private tables under differential privacy; rows are never seen. First call schema and account (free), "
    "then explain (free) with a statement such as SELECT value, lower, upper FROM dp_count('TABLE', EPSILON), and run "
    "it only when its cost is worth it: what is spent stays spent. Every number is noisy: give its interval, and cite "
    "it by its release id (`cite` in the answer). Where an answer has `receipt`, these are the arguments of the tool "
    "receipt. A refusal is an answer with the fields error and message."
)

_NAMES: dict[str, Any] = {"items": {"type": "string"}, "maxItems": 100}
# What is said of arguments, beside their types.
_DESCRIBED: Mapping[str, Mapping[str, Any]] = {
    **{
        name: {"description": one.words.replace("--", ""), **({"enum": [*one.choices]} if one.choices else {})}
        for name, one in SUITE_OPTIONS.items()
    },
    "statement": {
        "description": "SQL over releases: SELECT .. FROM dp_count(..), dp_inconsistency(..), public tables."
    },
    "table": {"description": "The private table that the statement is about, if it names none."},
    "keys": {"description": "The public list of keys: a slice for each."},
    "suite": {"description": "The name of a suite, as schema lists it."},
    "run_id": {
        "maxLength": 100,
        "description": "Names the run: asked again under the same id, it is answered again and costs nothing.",
    },
    "if_receipt": {
        "description": "NAME SIZE ROOT of an earlier receipt (its `if_receipt`): refused, and nothing is spent, if the "
        "ledger does not have the lines that it has shown.",
    },
    "releases": {**_NAMES, "description": "Ids of your releases, as `receipt` of an answer names them."},
    "runs": {**_NAMES, "description": "Ids of your runs, as `receipt` of an answer names them."},
}


@dataclass(frozen=True)
class Tool:
    """A tool: its name and answer, what it does, types of its arguments, those that it needs, whether it may spend."""

    name: str
    answer: Callable[[Tools, Asker, dict[str, Any]], Awaitable[dict[str, Any]]]
    text: str
    known: Mapping[str, Any]
    needed: tuple[str, ...]
    spends: bool

    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of its arguments."""
        return fields_schema(self.known, self.needed, _DESCRIBED)


class Told(NamedTuple):
    """The answer of a tool: as JSON, and as the values that JSON has."""

    text: str
    values: dict[str, Any]

    @classmethod
    def of(cls, found: dict[str, Any]) -> Told:
        """Return values as they are told."""
        text = json_bytes(found).decode()
        return cls(text, json.loads(text))


class Tools:
    """Answers calls of tools by a desk, whatever happens; used in one event loop."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._running: set[asyncio.Task[tuple[Told, bool]]] = set()

    async def call(self, asker: Asker | None, name: str, arguments: object) -> tuple[Told, bool]:
        """Return a tool's answer, and whether it is a refusal; `asker` None is a stranger.

        A client that cancels its call, or goes, does not end the statement: the moment of its end would tell when a
        release was made, and whoever asks again under the run id gets the answer.
        """
        task = asyncio.create_task(self._answered(asker, name, arguments))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return await asyncio.shield(task)

    async def finished(self, seconds: float) -> None:
        """Wait for the statements that run."""
        if self._running:
            await asyncio.wait([*self._running], timeout=seconds)

    async def _answered(self, asker: Asker | None, name: str, arguments: object) -> tuple[Told, bool]:
        try:
            if asker is None:
                raise RefusedError(UNAUTHORIZED if self._desk.directory.is_readable else UNREADABLE)
            if name not in TOOLS:
                words = f"there is no tool {name[:_MOST_NAME]!r}; tools are {', '.join(TOOLS)}"
                raise RefusedError(replace(NOT_FOUND, message=words))
            known = TOOLS[name].known
            if isinstance(arguments, dict):  # a model that has no value for an argument writes null
                arguments = {key: value for key, value in arguments.items() if value is not None or key not in known}
            fields = checked_fields(arguments, known, *TOOLS[name].needed)
            await leave_turn()
            values = await TOOLS[name].answer(self, asker, fields)
            return await self._working(asker, Told.of, values), False
        except RefusedError as refused:
            refusal = refused.refusal
        except Exception as error:
            _ERRORS.tell("a request failed", error)
            refusal = FAILED
        return Told.of({"error": refusal.code, "message": refusal.message}), True

    async def _working(self, asker: Asker, work: Callable[..., Found], *arguments: Any) -> Found:
        return await self._desk.workers.run(asker.analyst.name, work, *arguments)

    async def _schema(self, asker: Asker, fields: dict[str, Any]) -> dict[str, Any]:
        del fields
        return {
            name: found for name, found in (await self._desk.schema(asker)).items() if name not in ("words", "postgres")
        }

    async def _account(self, asker: Asker, fields: dict[str, Any]) -> dict[str, Any]:
        del fields
        return await self._desk.account(asker)

    async def _explain(self, asker: Asker, fields: dict[str, Any]) -> dict[str, Any]:
        plan = await self._desk.explain(asker, fields["statement"], table=fields.get("table"))
        return await self._working(asker, plan.values)

    async def _run(self, asker: Asker, fields: dict[str, Any]) -> dict[str, Any]:
        await self._desk.receipts.refuse_rollback(fields.get("if_receipt"))
        run_id, table = fields.get("run_id"), fields.get("table")
        answer = await self._desk.run(asker, fields["statement"], run_id=run_id, table=table, most=MCP_MOST)
        return await self._working(asker, self._cited, asker, answer)

    async def _check(self, asker: Asker, fields: dict[str, Any]) -> dict[str, Any]:
        await self._desk.receipts.refuse_rollback(fields.get("if_receipt"))
        options = {name: fields[name] for name in CHECK_OPTIONS if name in fields}
        answer = await self._desk.check(asker, fields["suite"], options, fields.get("run_id"), MCP_MOST)
        return await self._working(asker, self._cited, asker, answer)

    async def _receipt(self, asker: Asker, fields: dict[str, Any]) -> dict[str, Any]:
        """As `GET /v1/receipts`. No answer has its receipt in it: it would have to wait until the log shows it."""
        named = [(kind, name) for kind in ("release", "run") for name in fields.get(f"{kind}s", [])]
        if not all(isinstance(name, str) for _, name in named):
            raise RefusedError(Refusal("bad_request", "releases and runs are lists of texts"))
        found = await self._desk.receipts.of(asker, named, fields.get("if_receipt"))
        return {"receipts": [one.values() for one in found]}

    def _cited(self, asker: Asker, answer: Answer) -> dict[str, Any]:
        """Return an answer with the ids under which `dpdb budget answers` finds its numbers, to be cited."""
        cite = [f"release {release.release_id}" for release in answer.releases]
        cite += [f"run {run_id}" for run_id in answer.runs]
        named: dict[str, list[str]] = {}
        for kind, name in self._desk.receipts.named(asker, answer):
            named.setdefault(f"{kind}s", []).append(name)
        return {**answer.values(), "cite": cite, **({"receipt": named} if named else {})}


_SEEN = {"if_receipt": str}
_RUN = {"run_id": str, **_SEEN}
TOOLS = {tool.name: tool for tool in (
    Tool("schema", Tools._schema, "Say which tables there are, with columns, rules and suites. Free.", {}, (), False),
    Tool("account", Tools._account, "Say what is left of your quotas, and what one statement may cost. Free.",
         {}, (), False),
    Tool("explain", Tools._explain, "Say what a SQL statement would cost, and its plan. Free.",
         STATEMENT, ("statement",), False),
    Tool("run", Tools._run,
         "Answer a SQL statement over releases. Spends what explain says; under a run_id a repetition is free.",
         {**STATEMENT, **_RUN}, ("statement",), True),
    Tool("check", Tools._check,
         "Run a suite of checks that the owner has registered. Spends at most what the owner has set. Only `pass` is a "
         "pass, and within its bounds; `not shown` (to be within its limit) and `undecided` are none.",
         {"suite": str, **CHECK_OPTIONS, **_RUN}, ("suite",), True),
    Tool("receipt", Tools._receipt,
         "Return signed receipts of your releases and runs, by their ids: what each has cost, and where it stands "
         "in the ledger. Keep every one in the very bytes that it has; its salts are for you alone. May take some "
         "seconds. Free.",
         {"releases": list, "runs": list, **_SEEN}, (), False),
)}  # fmt: skip
