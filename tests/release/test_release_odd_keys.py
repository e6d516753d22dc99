"""Keys of odd types beside private parents: whatever equals what, one row of either table changes no more than proved.

Types compare in a common one, in which several values may be equal (2^53 and 2^53 + 1 as DOUBLE, a month and 30 days).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from case_share import fifth
from sqlglot import exp
from two_tables import Parents

from dpdb.database.database import Database
from dpdb.engine import unit_rows as children
from dpdb.engine.sql.input_rows import read_columns
from dpdb.engine.table import LocalTable
from dpdb.engine.table_spec import ProtectedChange, TableSpec
from dpdb.engine.unit_rows import value_order
from dpdb.release.limited_children import LimitedChildren
from dpdb.schema import Column, TableSchema
from dpdb.sources.source import Source

_NEAR = ["9007199254740992", "9007199254740993", "0", "NULL"]
_TENTHS = ["0.1", "0.10", "0.3", "0", "NULL"]
_REAL = ["0.0", "-0.0", "'nan'", "'-nan'", "'inf'", "0.1", "9007199254740993", "NULL"]
_TEXT = ["'a'", "'a '", "'A'", "'ä'", "'a\u0308'", "''", "'1'", "NULL"]
_DAY, _MOMENT = ["'2020-01-01'", "'infinity'", "NULL"], ["'2020-01-01 00:00:00'", "'2020-01-01 00:00:00.000001'"]
_ZONED = ["'2020-01-01 12:00+00'", "'2020-01-01 13:00+01'", "'2020-01-01 00:00+00'", "NULL"]
_ENUM = "ENUM('a', 'a ', 'A', '')"
POOLS = {
    "BIGINT": _NEAR, "HUGEINT": [*_NEAR, "-1"], "UTINYINT": ["0", "1", "255", "NULL"],
    "DECIMAL(38,0)": _NEAR, "DECIMAL(4,1)": _TENTHS, "DECIMAL(38,20)": _TENTHS, "FLOAT": [*_TENTHS, "'nan'"],
    "DOUBLE": _REAL, "VARCHAR": _TEXT, "VARCHAR COLLATE NOCASE": _TEXT, _ENUM: ["'a'", "'a '", "'A'", "''", "NULL"],
    "DATE": _DAY, "TIMESTAMP": [*_DAY, *_MOMENT], "TIMESTAMP_NS": [*_MOMENT, "NULL"], "TIMESTAMPTZ": _ZONED,
    "TIMETZ": ["'12:00:00+00'", "'13:00:00+01'", "'11:00:00-01'"], "TIME": ["'24:00:00'", "'00:00:00'", "NULL"],
    "INTERVAL": ["'1 month'", "'30 days'", "'720 hours'", "'24 hours'", "'1 day'"],
    "BOOLEAN": ["true", "false", "NULL"],
    "UUID": ["'00000000-0000-0000-0000-000000000001'", "'{00000000-0000-0000-0000-000000000001}'", "NULL"],
    "BLOB": ["'a'", "'a '", "''", "NULL"],
}  # fmt: skip
PAIRS = [
    *((kind, kind) for kind in POOLS),
    ("BIGINT", "DOUBLE"), ("DOUBLE", "HUGEINT"), ("HUGEINT", "DECIMAL(38,20)"), ("DECIMAL(4,1)", "DOUBLE"),
    ("FLOAT", "DOUBLE"), ("DOUBLE", "FLOAT"), ("DECIMAL(38,20)", "DECIMAL(4,1)"), ("UTINYINT", "DECIMAL(38,0)"),
    ("VARCHAR", _ENUM), (_ENUM, "VARCHAR COLLATE NOCASE"), ("VARCHAR COLLATE NOCASE", "VARCHAR"),
    ("DATE", "TIMESTAMPTZ"), ("TIMESTAMPTZ", "TIMESTAMP"), ("TIMESTAMP_NS", "DATE"), ("TIMESTAMP", "TIMESTAMP_NS"),
]  # fmt: skip
RULES = ["(n, key) IN p(n, id)", "CHECK (a <= p.c) BY n = p.n AND key = p.id", "(n, key) IN p(n, id) WHERE p.c = 1"]
Child, Parent = tuple[int, str, int], tuple[str, int]  # number of the row, key, a; id, c


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    with Database(threads=1) as made:
        yield made


@pytest.fixture(autouse=True)
def numbers_hash_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of a database is no value of its rows: neighbours order theirs alike."""

    def without_number(schema: TableSchema) -> list[exp.Expr]:
        return value_order(TableSchema(tuple(column for column in schema.columns if column.name != "n")))

    monkeypatch.setattr(children, "value_order", without_number)


def _some(random: Random, kinds: tuple[str, str]) -> tuple[list[Child], list[Parent]]:
    keys, ids = (POOLS[kind] for kind in kinds)
    rows = [(row, random.choice(keys), random.randrange(2)) for row in range(random.randint(2, 5))]
    return rows, [(random.choice(ids), random.randrange(2)) for _ in range(random.randint(1, 3))]


def _write(database: Database, name: str, columns: str, kind: str, rows: list[tuple[Any, ...]]) -> None:
    """Make a table whose second column has a type, of texts of SQL."""
    database.execute(f"CREATE OR REPLACE TABLE {name} ({columns})")
    plain = kind.removesuffix(" COLLATE NOCASE")
    values = ", ".join(f"({n}, CAST({key} AS {plain}), {', '.join(map(str, rest))})" for n, key, *rest in rows)
    database.execute(f"INSERT INTO {name} VALUES {values}")


def _read(
    database: Database, kinds: tuple[str, str], sets: list[tuple[list[Child], list[Parent]]], most: int
) -> tuple[dict[int, dict[int, tuple[Any, ...]]], LimitedChildren]:
    """Return by set and row what every release reads of it: what it violates."""
    own, theirs = kinds
    rows = [(n, key, row, a) for n, (child, _) in enumerate(sets) for row, key, a in child]
    _write(database, "tested", f"n INTEGER, key {own}, r INTEGER, a INTEGER", own, rows)
    beside = [(n, key, c) for n, (_, parent) in enumerate(sets) for key, c in parent]
    _write(database, "written_p", f"n INTEGER, id {theirs}, c INTEGER", theirs, beside)
    columns = TableSchema(tuple(Column(*each) for each in database.describe("FROM written_p")))
    database.execute("DROP TABLE IF EXISTS tested_p")
    parent_rows = Source("written_p", columns, exp.to_table("written_p"))
    read_columns(database, parent_rows, set(columns.names), exp.to_table("tested_p"))  # as parents are opened
    schema = TableSchema(tuple(Column(*each) for each in database.describe("FROM tested")))
    source, change = Source("tested", schema, exp.to_table("tested")), ProtectedChange(max_children=most)
    found: dict[int, dict[int, tuple[Any, ...]]] = defaultdict(dict)
    table = LocalTable(database, source, TableSpec(None, RULES, private_parents="p", change=change), parents=Parents())
    try:
        names = list(table.rows.schema.names)
        read_columns(database, table.rows, set(names), exp.to_table("read_row"))
        across = ", ".join(f'"{name}"' for name in names if name not in ("n", "key", "r", "a"))
        for n, row, *violated in database.rows(f"SELECT n, r, {across} FROM read_row"):
            found[n][row] = tuple(violated)
        return found, LimitedChildren(most).linked(table.inclusions)
    finally:
        for made in ("unit_input", "read_row"):
            database.execute(f"DROP TABLE IF EXISTS {made}")


@pytest.mark.heavy
@pytest.mark.parametrize("kinds", fifth(PAIRS), ids="-".join)
def test_a_row_of_either_table_changes_no_more_than_proved(database: Database, kinds: tuple[str, str]) -> None:
    _check(database, kinds, 15)


@pytest.mark.slow
@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_a_row_of_either_table_changes_no_more_than_proved_often(database: Database, kinds: tuple[str, str]) -> None:
    _check(database, kinds, 150)


def _check(database: Database, kinds: tuple[str, str], times: int) -> None:
    random = Random(f"33 {kinds}")
    for most in (1, 2):
        sets, neighbours = [], []
        for _ in range(times):
            child, parent = _some(random, kinds)
            whole = len(sets)
            sets.append((child, parent))
            for at in range(len(child)):
                neighbours.append((whole, len(sets), False))
                sets.append((child[:at] + child[at + 1 :], parent))
            for at in range(len(parent)):
                neighbours.append((whole, len(sets), True))
                sets.append((child, parent[:at] + parent[at + 1 :]))
        found, limit = _read(database, kinds, sets, most)
        assert (limit.divisor([]), len(limit.links)) == (2, 1)  # m = 1, r = 1
        reached: Counter[str] = Counter()
        for one, other, of_parent in neighbours:
            mine, theirs = found[one], found[other]
            moved, flipped = len(mine.keys() ^ theirs.keys()), sum(mine[r] != theirs[r] for r in mine.keys() & theirs)
            assert flipped <= (most if of_parent else 0)
            assert moved <= (0 if of_parent else 2)
            reached["flipped" if flipped else "moved" if moved else "same"] += 1
        assert reached["flipped"]
        assert reached["moved"]
