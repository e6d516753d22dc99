"""Error fishing: questions that fail on some values, asked of two tables that differ in one row.

Plain SQL tells a row by its errors: `1 / (age - 42)` fails, or the text of a failed cast quotes the cell. The attacker
asks both tables the same questions and compares what comes back but for numbers that are drawn: whether there was an
answer, and every letter of a refusal. The same expressions in plain DuckDB are the control: there they do tell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import duckdb
import pyarrow as pa
from common import Fact

import dpdb

SCHEMA = pa.schema([("name", pa.string()), ("age", pa.int32()), ("big", pa.int64())])
ORDINARY = [{"name": "7", "age": 30, "big": 1}, {"name": "12", "age": 50, "big": 2}]
ODD = {"name": "alice", "age": 42, "big": 2**63 - 1}

PREDICATES = (
    "1 / (age - 42) > 0", "age // (age - 42) = 1", "age % (age - 42) = 1", "big + 1 > 0", "big * big > 0", "-big < 0",
    "abs(big) > 0", "name = 7", "name > 7", "CAST(name AS INTEGER) = 7", "age > (SELECT avg(age) FROM t)",
    "name LIKE '%' || age", "length(name) > 1 / (age - 42)", "age = 1e400", "error(name)", "getenv(name) = ''",
    "age IN (SELECT age FROM t)", "rowid = 3", "name = '\ud800'", "nosuch = 1", "age = 'alice'",
    "age BETWEEN 1 AND 'x'",
)  # fmt: skip
CONSTRAINTS = (
    "not(t1.age / (t1.age - 42) > 1)", "not(t1.big + 1 < t2.big & t1.name = t2.name)", "not(t1.name = 5)",
    "not(t1.name < t2.age)", "not(1 / (t1.age - 42) = t2.age & t1.name = t2.name)", "nosuch -> age",
    "not(lower(t1.age) = 'x')", "CHECK (big * big > 0)", "UNIQUE(name, nosuch)", "not(t1.age = t2.age & t3.age = 1)",
)  # fmt: skip


def attack() -> Iterator[Fact]:
    tables = _tables()
    sessions = [dpdb.open(table, constraints="name -> age") for table in tables]
    told = sum(
        _differ([partial(session.dp_inconsistency, "repair", 1, where=text) for session in sessions])
        for text in PREDICATES
    ) + sum(
        _differ([partial(dpdb.dp_inconsistency, table, text, "repair", 1) for table in tables]) for text in CONSTRAINTS
    )
    asked = len(PREDICATES) + len(CONSTRAINTS)
    yield Fact(f"error fishing, of {asked} questions tell the tables apart", told, 0, "questions")


def control() -> int:
    """How many of the predicates tell the tables apart in plain SQL, by their errors alone."""
    connections = [duckdb.connect() for _ in range(2)]
    for connection, table in zip(connections, _tables(), strict=True):
        connection.register("t", table)
    return sum(
        _differ([partial(_fetched, connection, f"SELECT count(*) FROM t WHERE {text}") for connection in connections])
        for text in PREDICATES
    )


def _tables() -> tuple[pa.Table, pa.Table]:
    """Two tables that differ in one row."""
    return pa.Table.from_pylist(ORDINARY, SCHEMA), pa.Table.from_pylist([*ORDINARY, ODD], SCHEMA)


def _fetched(connection: duckdb.DuckDBPyConnection, query: str) -> list[object]:
    return connection.execute(query).fetchall()


def _differ(asked: list[Callable[[], object]]) -> bool:
    """Whether what comes back differs in more than numbers."""
    return len({_said(ask) for ask in asked}) > 1


def _said(ask: Callable[[], object]) -> str:
    try:
        ask()
    except Exception as error:  # whatever comes is what the attacker reads
        return f"{type(error).__name__}: {error}"
    return "an answer"


if __name__ == "__main__":
    for found in attack():
        print(found)
    print(f"control: in plain SQL {control()} of the {len(PREDICATES)} predicates do")
