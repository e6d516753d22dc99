"""PostgreSQL's catalog, as clients ask it: made of what is public, and answered in a process of its own, for nothing.

A query of the catalog is rewritten (`rewrite`, default deny) and runs where an analyst's statements do, but over these
tables alone (`content`): no ledger, no table, no desk takes part in it. So the worst that a rewriting could let through
is a query of what its analyst may know anyway.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from weakref import WeakKeyDictionary

import pyarrow as pa
from sqlglot import exp

from dpdb.doors.server.analysts import Analyst
from dpdb.doors.server.desk import Desk
from dpdb.doors.server.exchange import RefusedError
from dpdb.doors.server.postgres.catalog.content import HIDDEN, Content, Shown, pg_type_of, relation_name
from dpdb.doors.server.postgres.catalog.functions import FUNCTIONS, macros
from dpdb.doors.server.postgres.catalog.question import parsed, query_of, with_kinds
from dpdb.doors.server.postgres.catalog.rewrite import Rewritten, rewritten
from dpdb.doors.server.rates import PerMinute
from dpdb.doors.server.refusals import Refusal
from dpdb.doors.server.workers import Workers, leave_turn
from dpdb.doors.sql import AskedErrors, ParameterType
from dpdb.doors.sql.child.messages import Limits
from dpdb.doors.sql.child.remote_database import RemoteDatabase
from dpdb.doors.sql.postgres_computing import without_inner_names
from dpdb.errors import DpdbError, StatementRefusedError
from dpdb.names import folded

__all__ = ["answer", "is_about", "parsed", "public_columns"]

_LIMITS = Limits(seconds=5.0, memory=1 << 30, result_bytes=16 << 20, rows=100_000, values=2_000_000)
_MOST_TEXT = 65_536
_PER_MINUTE = 1_000  # a tool that connects asks fifty at once
_AT_ONCE = 4  # of one analyst half of them
# Without any of these, or of its functions, a statement is not about the catalog.
_WORDS = re.compile(
    rf"\b(?:pg_|information_schema|current_|session_user|user\b|version\b|::\s*reg|reg[a-z]+\b|{'|'.join(FUNCTIONS)})",
    re.I,
)
_ERRORS = AskedErrors("questions to the catalog that failed")
_VALUES: Mapping[str, ParameterType] = {
    "int2": "BIGINT", "int4": "BIGINT", "int8": "BIGINT", "float4": "DOUBLE", "float8": "DOUBLE", "numeric": "DECIMAL",
    "bool": "BOOLEAN", "date": "DATE", "timestamp": "TIMESTAMP", "timestamptz": "TIMESTAMPTZ",
}  # fmt: skip
_FAILED = "the catalog cannot answer this"


async def answer(text: str, desk: Desk, analyst: Analyst, database: str) -> pa.Table | None:
    """Return what a statement about the catalog says, None of any other statement; spends nothing.

    Parameters
    ----------
    text : str
        One statement, without a semicolon.

    Raises
    ------
    StatementRefusedError
        It is about the catalog and cannot be answered.
    RefusedError
        The analyst asks too often.
    """
    catalog = await _catalog_of(desk)
    return await catalog.answer(text, desk.workers, analyst.name, database)


def is_about(text: str) -> bool:
    """Return whether a statement is about the catalog: whether `answer` answers or refuses it."""
    try:
        return _may_be_about(text) and query_of(text) is not None
    except StatementRefusedError:
        return True


async def public_columns(desk: Desk) -> Mapping[str, ParameterType]:
    """Return the types that values beside columns of public tables have, by folded name; without doubtful ones."""
    return (await _catalog_of(desk)).public_columns


def _may_be_about(text: str) -> bool:
    return len(text) <= _MOST_TEXT and "\0" not in text and _WORDS.search(text) is not None


class _Catalog:
    """The catalog of a desk, and the processes that answer from it; used in one event loop."""

    def __init__(self, desk: Desk, tables: Sequence[Shown]) -> None:
        self._content = Content(tuple(tables))
        self.public_columns = _column_types(one for one in tables if one.is_public)
        self._remote = desk.with_end(RemoteDatabase({}, _LIMITS))
        self._rate = PerMinute(_PER_MINUTE)
        self._shares, self._free = desk.shares(_AT_ONCE // 2), asyncio.Semaphore(_AT_ONCE)
        self._asking = desk.pool(_AT_ONCE, "catalog")

    async def answer(self, text: str, workers: Workers, analyst: str, database: str) -> pa.Table | None:
        query = await workers.run(analyst, self._rewritten, text)
        if query is None:
            return None
        if not self._rate.allows(analyst):
            raise RefusedError(Refusal("too_many", "too many questions to the catalog: wait a little"))
        await leave_turn()
        async with self._shares.one(analyst), self._free:
            ask = partial(self._answered, query, analyst, database)
            return await asyncio.get_running_loop().run_in_executor(self._asking, ask)

    def _rewritten(self, text: str) -> Rewritten | None:
        with _failures():
            tree = query_of(text) if _may_be_about(text) else None
            return None if tree is None else rewritten(tree, self._content)

    def _answered(self, query: Rewritten, analyst: str, database: str) -> pa.Table:
        with _failures():
            rows = {
                relation_name(name): self._content.table(name, analyst, database) for name in sorted(query.relations)
            }
            unseen = HIDDEN.keys() - query.hidden
            rows = {name: table.drop_columns([*unseen & {*table.schema.names}]) for name, table in rows.items()}
            defined = macros(self._content, analyst, database, query.functions)
            schemas = {name: table.schema for name, table in rows.items()}
            with self._remote.statement(query.sql, schemas, macros=defined) as statement:
                statement.rehearse()
                return with_kinds(statement.run(rows), query.kinds)


@contextmanager
def _failures() -> Iterator[None]:
    """Say in public words why the catalog does not answer."""
    try:
        yield
    except StatementRefusedError:
        raise
    except DpdbError as error:
        raise StatementRefusedError(without_inner_names(str(error))) from None
    except Exception as error:
        _ERRORS.tell("the catalog failed", error)
        raise StatementRefusedError(_FAILED) from None


def _column_types(tables: Iterable[Shown]) -> dict[str, ParameterType]:
    found: dict[str, set[ParameterType]] = {}
    for shown in tables:
        for name, kind in shown.columns:
            found.setdefault(folded(name), set()).add(_VALUES.get(pg_type_of(kind)[0], "TEXT"))
    return {name: next(iter(kinds)) for name, kinds in found.items() if len(kinds) == 1}


_CATALOGS: WeakKeyDictionary[Desk, _Catalog] = WeakKeyDictionary()
_LOCK = threading.Lock()


async def _catalog_of(desk: Desk) -> _Catalog:
    with _LOCK:
        known = _CATALOGS.get(desk)
    if known is None:
        shown = await asyncio.to_thread(_shown, desk)
        with _LOCK:
            known = _CATALOGS.setdefault(desk, _Catalog(desk, shown))
    return known


def _shown(desk: Desk) -> list[Shown]:
    found = []
    for table in desk.tables.values():
        text = f"private: ask for releases, such as dp_count('{table.name}', 0.1); its rows cannot be selected"
        found.append(Shown(table.name, tuple(table.columns), text))
    front_end = next(iter(desk.tables.values())).front_end
    for name in desk.configuration.public:
        query = exp.select("*").from_(exp.to_identifier(name, quoted=True)).sql("duckdb")
        with front_end.admitted(f"DESCRIBE {query}") as statement:
            columns = statement.result().table
        names, kinds = columns.column("column_name").to_pylist(), columns.column("column_type").to_pylist()
        found.append(
            Shown(name, tuple(zip(names, kinds, strict=True)), "public: its rows can be selected", is_public=True)
        )
    return found
