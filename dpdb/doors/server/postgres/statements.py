"""`Statements`: where each statement of a connection is answered: here, by the catalog, or by the desk.

A statement that a client prepares is read first: what it is about, and its parameters (`Prepared`).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, TypeVar

import pyarrow as pa
from sqlglot import exp
from sqlglot.errors import SqlglotError

from dpdb.doors.server.desk import Desk
from dpdb.doors.server.exchange import Answer, Asker
from dpdb.doors.server.postgres import catalog
from dpdb.doors.server.postgres.cursors import Cursors, declared
from dpdb.doors.server.postgres.parameters import OIDS, parameter_type
from dpdb.doors.server.postgres.session import Settings, verb_of
from dpdb.doors.server.postgres.values import ARRAYS, Column, columns_of, described_columns
from dpdb.doors.server.postgres.wire import WireError, wire_error
from dpdb.doors.server.refusals import UNREADABLE, refusal_of
from dpdb.doors.server.workers import stops
from dpdb.doors.sql import MOST_PARAMETERS, ParameterType, Template, Value, literal_node, replace_all, split_statements
from dpdb.errors import StatementRefusedError

# What a client is told of a parameter of the catalog that the statement casts.
_CASTS = {
    "oid": 26, "oid[]": 1028, "_oid": 1028, "text[]": 1009, "int": 23, "bigint": 20, "smallint": 21, "name[]": 1003,
}  # fmt: skip


_THREE_PARTS = re.compile(r"\.\s*(?:\"[^\"]*\"|\w+)\s*\.")
_EXPLAIN = re.compile(r"\s*explain\b", re.IGNORECASE)


@dataclass
class Prepared:
    """A statement that was prepared.

    Attributes
    ----------
    text : str
        Without comments before it.
    about : str
        ``"nothing"``, the ``"session"``, a ``"cursor"``, the ``"catalog"``, or ``"desk"`` for all that the
        desk decides on.
    template : Template or sqlglot tree, optional
        Of a statement with parameters that could be read; what cannot be read, the desk refuses in its words.
    head : str
        What DECLARE says before the query, which the template is of.
    """

    text: str
    about: Literal["nothing", "session", "cursor", "catalog", "desk"]
    oids: tuple[int, ...] = ()
    template: Template | exp.Expr | None = None
    columns: list[Column] | None = None
    head: str = ""

    @property
    def types(self) -> list[ParameterType]:
        """The types of its parameters as literals have them."""
        return [parameter_type(oid) for oid in self.oids]

    @property
    def shapes_columns(self) -> bool:
        """Whether the values of parameters may change the types of columns."""
        return isinstance(self.template, Template) and self.template.shapes_columns

    def bound(self, values: Sequence[Value]) -> str:
        """Return the statement with literals instead of its parameters.

        Raises
        ------
        WireError, StatementRefusedError
            It cannot be written.
        """
        if self.template is None or not values:
            return self.text
        if isinstance(self.template, Template):
            return self.head + self.template.bound(values, self.types)
        tree = self.template.copy()
        try:
            replace_all([(node, literal_node(values[int(node.name) - 1])) for node in tree.find_all(exp.Parameter)])
            return self.head + tree.sql("postgres", comments=False)
        except (SqlglotError, RecursionError):
            raise WireError("0A000", "this statement about the catalog is not answered") from None


def _merged(given: Sequence[int], suggested: Sequence[int]) -> tuple[int, ...]:
    count = max(len(given), len(suggested))
    if count > MOST_PARAMETERS:
        raise WireError("54000", f"a statement has at most {MOST_PARAMETERS:,} parameters")
    said = [*given, *[0] * (count - len(given))]
    known = [*suggested, *[OIDS["TEXT"]] * (count - len(suggested))]
    return tuple(oid or other for oid, other in zip(said, known, strict=True))


def _catalog_tree(text: str) -> tuple[exp.Expr, list[int]]:
    """Read a statement about the catalog, which clients write in PostgreSQL's SQL; and the types of its parameters."""
    refused = WireError("0A000", "this statement about the catalog is not answered")
    if len(text.encode()) > 65_536:
        raise refused
    tree = catalog.parsed(text)
    if tree is None:
        raise refused
    oids: dict[int, int] = {}
    for node in tree.find_all(exp.Parameter):
        if not (node.name.isascii() and node.name.isdigit() and 0 < int(node.name[:9]) <= MOST_PARAMETERS):
            raise refused
        to = node.parent.args["to"].sql("postgres").lower() if isinstance(node.parent, exp.Cast) else ""
        oids[int(node.name) - 1] = _CASTS.get(to, OIDS["TEXT"])
    return tree, [oids.get(one, OIDS["TEXT"]) for one in range(max(oids, default=-1) + 1)]


_MOST_DESCRIBED = 5_000  # columns, of statements that are kept as described
_TREE = 256  # bytes that a parsed statement takes for each of its characters
Found = TypeVar("Found")


def _refuse_other_databases(text: str, database: str) -> None:
    """Refuse what names a table of another database than the connection's, as PostgreSQL does."""
    if not _THREE_PARTS.search(text):
        return
    tree = catalog.parsed(_EXPLAIN.sub("", text))
    for node in () if tree is None else tree.find_all(exp.Table, exp.Column):  # who reads it says why it cannot be read
        named = node.args.get("catalog")
        if named is not None and (named.name if named.args.get("quoted") else named.name.lower()) != database:
            parts = [node.args.get(part) for part in ("catalog", "db", "table", "this")]
            words = ".".join(part.name for part in parts if isinstance(part, exp.Expr))
            raise WireError("0A000", f'cross-database references are not implemented: "{words}"')


def _is_catalog(text: str, database: str) -> bool:
    _refuse_other_databases(text, database)
    return catalog.is_about(text)


def _refuse_several(text: str) -> None:
    try:
        if len(split_statements(text, "postgres")) > 1:
            raise WireError("42601", "one message prepares one statement")
    except StatementRefusedError as error:
        raise WireError("54000", str(error)) from None


def _catalog_prepared(text: str, given: Sequence[int]) -> Prepared:
    tree, oids = _catalog_tree(text) if "$" in text else (None, [])
    return Prepared(text, "catalog", _merged(given, oids), tree)


def _desk_prepared(text: str, given: Sequence[int], columns: Mapping[str, ParameterType]) -> Prepared:
    template = _template(text, columns) if "$" in text else None
    if template is None or not template.types:
        return Prepared(text, "desk", _merged(given, ()))
    suggested = [ARRAYS[OIDS[kind]] if one in template.lists else OIDS[kind] for one, kind in enumerate(template.types)]
    return Prepared(text, "desk", _merged(given, suggested), template)


def _template(text: str, columns: Mapping[str, ParameterType] | None = None) -> Template | None:
    """Read a statement; None if it cannot be read."""
    try:
        return Template(text, "postgres", columns)
    except StatementRefusedError:
        return None


@dataclass(frozen=True)
class Outcome:
    """What a statement has come to.

    Attributes
    ----------
    tag : str or None
        None of an empty statement.
    table : pyarrow.Table or None
        Its rows, if it has any.
    notice : mapping
        What it cost, as the fields of a notice.
    """

    tag: str | None
    table: pa.Table | None = None
    notice: Mapping[str, str] = field(default_factory=dict)

    def with_count(self, rows: int) -> Outcome:
        """Return the outcome of the last rows alone."""
        return replace(self, tag=_counted(str(self.tag), rows))


class Statements:
    """The statements of one connection.

    Parameters
    ----------
    holds : function
        Says whether the analyst still has the token by which he has logged in.
    may_read : function
        Says whether he may have so many characters read in this minute.
    keep : function
        Takes the work of a cancelled statement, which goes on to its end.
    """

    def __init__(
        self,
        desk: Desk,
        asker: Asker,
        database: str,
        settings: Settings,
        *,
        holds: Callable[[], bool],
        may_read: Callable[[int], bool],
        keep: Callable[[asyncio.Task[Any]], None],
        is_gone: Callable[[], bool],
    ) -> None:
        self.settings = settings
        self._desk, self._asker, self._database = desk, asker, database
        self._is_gone = is_gone
        self._holds, self._may_read, self._keep = holds, may_read, keep
        self._cancelled: asyncio.Future[None] | None = None
        self._described: dict[str, list[Column]] = {}
        self._cursors = Cursors()

    async def prepared(self, text: str, given: Sequence[int]) -> Prepared:
        """Read a statement.

        Parameters
        ----------
        given
            Types of parameters that the client knows; 0 where it does not.

        Raises
        ------
        WireError
            There are several statements, or the parameters are no `$1`, `$2`, ...
        KeptRowsError
            Too much is kept for the analyst.
        """
        if not text:
            return Prepared(text, "nothing")
        await self.working(_refuse_several, text)
        if self.settings.is_about(text):
            return Prepared(text, "session")
        if self._cursors.is_about(text):
            return await self._of_named(text, given)
        is_catalog = await self.is_catalog(text)
        size = len(text) * (_TREE if "$" in text else 1)
        if is_catalog:
            found = await self.working(_catalog_prepared, text, given)
        else:
            columns = await catalog.public_columns(self._desk) if "$" in text else {}
            found = await self.working(_desk_prepared, text, given, columns)
        return self._desk.kept.hold(self._asker.analyst.name, found, size)

    async def _of_named(self, text: str, given: Sequence[int]) -> Prepared:
        """Read a statement about a cursor: the parameters of DECLARE are those of its query."""
        if verb_of(text) != "DECLARE":
            return Prepared(text, "cursor")
        said = await self.working(declared, text)
        query = await self.prepared(said.query, given)
        query.text, query.about, query.head = text, "cursor", said.head
        return query

    async def run(self, text: str, about: str | None = None) -> Outcome:
        """Answer a bare statement.

        Parameters
        ----------
        about
            As `Prepared` has it, where that is known.

        Raises
        ------
        WireError, RefusedError
            With what is said of it.
        """
        if not text:
            return Outcome(None)
        if self._desk.closing:
            raise wire_error(refusal_of(stops()))
        self.refuse_after_failure(text)
        if self._cursors.is_about(text):
            return await self._of_cursor(text)
        told = await self.working(self.settings.answer, text)
        if self.settings.state == b"I":
            self._cursors.end_transaction(is_kept=told is None or told[0] != "ROLLBACK")
        if told is not None and told[0] == "DISCARD ALL":
            self._cursors.forget()
        if told is not None:
            return Outcome(*told)
        if about == "catalog" or (about is None and await self.is_catalog(text)):
            found = await self.catalog(text)
            if found is not None:
                return Outcome(_counted("SELECT", found.num_rows), found)
        run_id = self.settings.run_id
        answer = await self._asked(lambda asker: self._desk.run(asker, text, run_id=run_id, dialect="postgres"))
        tag = "EXPLAIN" if verb_of(text) == "EXPLAIN" else _counted("SELECT", answer.table.num_rows)
        return Outcome(tag, answer.table, _cost(answer))

    async def _of_cursor(self, text: str) -> Outcome:
        verb = verb_of(text)
        if verb == "CLOSE":
            self._cursors.close(text)
            return Outcome("CLOSE CURSOR")
        if verb in ("FETCH", "MOVE"):
            rows = await self.working(self._cursors.fetch, text)
            return Outcome(_counted(verb, rows.num_rows), rows if verb == "FETCH" else None)

        async def run(query: str) -> tuple[pa.Table, Mapping[str, str]]:
            outcome = await self.run(query)
            return outcome.table, outcome.notice

        notice = await self._cursors.declare(text, self.settings.state == b"T", run)
        return Outcome("DECLARE CURSOR", None, notice)

    def refuse_after_failure(self, text: str) -> None:
        """Raise `WireError` for a statement after a failed one of the same transaction."""
        if self.settings.state == b"E" and not self.settings.ends_failure(text):
            raise WireError("25P02", "a statement before has failed: end the transaction by ROLLBACK")

    async def columns(self, prepared: Prepared, bound: str | None = None) -> list[Column] | None:
        """Return the columns of a statement, for nothing; None of one that has no rows.

        Parameters
        ----------
        bound
            With its values, where they are known.
        """
        if prepared.about == "nothing":
            return None
        if prepared.about == "cursor":
            is_fetch = verb_of(prepared.text) == "FETCH"
            return await self.working(columns_of, self._cursors.schema(prepared.text)) if is_fetch else None
        if prepared.about == "session":
            if verb_of(prepared.text) != "SHOW":
                return None
            shown = await self.working(self.settings.answer, prepared.text)
            return None if shown is None or shown[1] is None else await self.working(columns_of, shown[1].schema)
        if prepared.about == "catalog":
            found = await self.catalog(bound or prepared.bound([None] * len(prepared.oids)))
            if found is not None:
                return await self.working(columns_of, found.schema)
        return await self._of_desk(prepared, bound)

    async def cursor_columns(self, name: str) -> list[Column] | None:
        """Return the columns of a cursor, which is a portal of its name; None if there is none."""
        schema = self._cursors.schema_of(name)
        return None if schema is None else await self.working(columns_of, schema)

    async def _of_desk(self, prepared: Prepared, bound: str | None) -> list[Column]:
        text, template = prepared.text, prepared.template
        if isinstance(template, Template):
            if bound is not None and template.shapes_columns:
                self.refuse_much(len(bound))
                template = await self.working(_template, bound) or template
            table = next(iter(self._desk.tables))
            suite = next((name for one in self._desk.tables.values() for name in one.suites), "")
            text = await self.working(template.described, prepared.types[: len(template.types)], table, suite)
        elif verb_of(text) == "CALL":  # which DESCRIBE does not take; as long as the other word
            text = re.sub("CALL", "FROM", text, count=1, flags=re.IGNORECASE)
        if text not in self._described:
            explain = partial(self._desk.explain, text=text, verb="DESCRIBE", dialect="postgres")
            plan = await self._asked(explain)
            is_shown = verb_of(prepared.text) in ("EXPLAIN", "DESCRIBE")
            shown = (columns_of, plan.table.schema) if is_shown else (described_columns, plan.table)
            found = await self.working(*shown)
            if sum(map(len, self._described.values())) + len(found) + len(self._described) > _MOST_DESCRIBED:
                self._described.clear()
            self._described[text] = found
        return self._described[text]

    async def working(self, work: Callable[..., Found], *arguments: Any) -> Found:
        """Do work whose time a message decides, in the analyst's turn; see `Workers`."""
        return await self._desk.workers.run(self._asker.analyst.name, work, *arguments)

    def close(self) -> None:
        """Drop all that is kept for the client."""
        self._cursors.forget()
        self._described.clear()

    async def is_catalog(self, text: str) -> bool:
        """Return whether a statement is about the catalog; refuse one about another database's."""
        self.refuse_much(len(text))
        return await self.working(_is_catalog, text, self._database)

    def refuse_much(self, size: int) -> None:
        """Raise `WireError` where an analyst has had too many characters read or written in this minute."""
        if not self._may_read(size):
            raise WireError("53000", "too many statements in a minute: wait a little")

    async def catalog(self, text: str) -> pa.Table | None:
        """Return what a statement about the catalog says, None of any other."""
        self._refuse_ended()
        try:
            found = await catalog.answer(text, self._desk, self._asker.analyst, self._database)
        except StatementRefusedError as error:
            raise WireError("0A000", str(error)) from None
        return None if found is None else self._desk.kept.hold(self._asker.analyst.name, found, found.nbytes)

    def cancel(self) -> None:
        """Tell the client that the statement that runs is cancelled; what was debited stays so."""
        if self._cancelled is not None and not self._cancelled.done():
            self._cancelled.set_result(None)

    async def _asked(self, ask: Callable[[Asker], Coroutine[Any, Any, Found]]) -> Found:
        """Ask the desk, until it answers or the client cancels; what the desk has begun is never stopped.

        A statement that still waits for others of the analyst does not begin once its client has cancelled it, or gone.
        """
        self._refuse_ended()
        cancelled = self._cancelled = asyncio.get_running_loop().create_future()

        async def is_gone() -> bool:
            return cancelled.done() or self._is_gone()

        task = asyncio.ensure_future(ask(replace(self._asker, is_gone=is_gone)))
        self._keep(task)
        try:
            await asyncio.wait((task, cancelled), return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._cancelled = None
        if task.done():
            return task.result()
        raise WireError(
            "57014", "the statement was cancelled; what it has debited, or still debits, stays so: its answer is in "
            "the history, and the same dpdb.run_id gives it again at no cost",
        )  # fmt: skip

    def _refuse_ended(self) -> None:
        if not self._desk.directory.is_readable:
            raise wire_error(UNREADABLE)
        if not self._holds():
            raise WireError("28000", "the token by which you have logged in is void", is_final=True)


def _counted(tag: str, rows: int) -> str:
    return f"{tag.partition(' ')[0]} {rows}"


def _cost(answer: Answer) -> dict[str, str]:
    ids = [release.release_id for release in answer.releases] + answer.runs
    if not ids:
        return {}
    return {"M": answer.spent, "D": f"{'release' if answer.releases else 'run'} {', '.join(map(str, ids))}"[:4_000]}
