"""Golden SQL: one file per shape of constraint, compared as syntax trees and executed.

A file has a title, constraints and a schema in comments, then the SQL of the ordered edges and, where a constraint is
over one tuple, the condition of a self-conflict. After a wanted change write them anew with DPDB_WRITE_GOLDEN=1.
"""

from __future__ import annotations

import os
import random
from dataclasses import dataclass
from pathlib import Path

import pytest
import sqlglot
from helpers_engine import Table, conflicts, ordered_edges
from sqlglot import exp
from strategies_engine import VALUES

from dpdb.constraints import DenialConstraint, load_constraints
from dpdb.database.database import Database
from dpdb.engine.sql.bind import BoundConstraint, bind, self_conflict

FOLDER = Path(__file__).parent / "golden"
FILES = sorted(FOLDER.glob("*.sql"))


@dataclass(frozen=True)
class Golden:
    title: str
    constraints: tuple[DenialConstraint, ...]
    types: dict[str, str]
    statements: list[str]
    header: str


def load(path: Path) -> Golden:
    lines = path.read_text(encoding="utf-8").splitlines()
    header = [line for line in lines if line.startswith("-- ")]
    fields = [line.removeprefix("-- ").split(": ", 1) for line in header]
    types = dict(column.rsplit(" ", 1) for name, value in fields if name == "schema" for column in value.split("; "))
    texts = [value for name, value in fields if name == "constraint"]
    statements = [part.strip() for part in "\n".join(lines[len(header) :]).split(";") if part.strip()]
    (title,) = (value for name, value in fields if name == "title")
    return Golden(title, load_constraints(texts, list(types)), types, statements, "\n".join(header))


def compiled(bound: tuple[BoundConstraint, ...]) -> list[exp.Expr]:
    pairwise = [(k, dc) for k, dc in enumerate(bound) if not dc.constraint.is_single_tuple]
    statements: list[exp.Expr] = [ordered_edges(pairwise, exp.to_table("tuple_row"), "id")] if pairwise else []
    if len(pairwise) < len(bound):
        row = exp.alias_(exp.to_table("tuple_row"), "row", table=True)
        statements.append(exp.select("id").from_(row).where(self_conflict(bound, "row")).order_by("id"))
    return statements


def test_every_shape_has_a_file() -> None:
    assert len(FILES) >= 12
    assert len({load(path).title for path in FILES}) == len(FILES)


@pytest.mark.heavy
@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_compiled_sql(database: Database, path: Path) -> None:
    golden = load(path)
    found = compiled(bind(database, golden.constraints, Table(golden.types, []).schema()))
    if os.environ.get("DPDB_WRITE_GOLDEN") == "1":
        texts = [statement.sql("duckdb", pretty=True, normalize_functions=False) + ";" for statement in found]
        path.write_text("\n\n".join([golden.header, *texts]) + "\n", encoding="utf-8")
        golden = load(path)
    assert [normal(statement.sql("duckdb")) for statement in found] == [normal(text) for text in golden.statements]


def normal(text: str) -> str:
    """The statement as the installed sqlglot writes it, so that only the tree counts."""
    return sqlglot.parse_one(text, dialect="duckdb").sql("duckdb", comments=False)


@pytest.mark.heavy
@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_golden_sql_gives_the_edges_of_the_definition(database: Database, path: Path) -> None:
    golden = load(path)
    source = random.Random(path.stem)
    pools = [[*VALUES[kind], None] for kind in golden.types.values()]
    rows = [tuple(source.choice(pool) for pool in pools) for _ in range(60)]
    table = Table(golden.types, rows)
    truth = conflicts(table, golden.constraints)
    arrow = table.arrow().append_column("id", [range(len(rows))])
    statements = list(golden.statements)
    with database.arrow_table("tuple_row", arrow):
        if any(dc.is_single_tuple for dc in golden.constraints):
            alone = [row[0] for row in database.rows(statements.pop())]
            assert alone == sorted(truth.self_conflicts)
        pairs = database.rows(statements[0]) if statements else []
    edges = [(u, dc, v) for u, v, dc in pairs if not {u, v} & set(truth.self_conflicts)]
    assert edges == sorted((i, k, j) for (i, j), k in truth.edges.items())
    assert truth.edges or truth.self_conflicts, "a fixture without conflicts shows nothing"
