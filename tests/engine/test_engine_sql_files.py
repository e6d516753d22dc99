"""`sql/` holds the queries of fixed form: each is SQL by itself, each runs, whatever columns are called."""

from __future__ import annotations

import contextlib
import itertools
import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlglot
from case_share import fifth
from sqlglot import exp

from dpdb.database import Database, filled, sql_file
from dpdb.database.templates import files_of, sql_path
from dpdb.doors.cli.main import main
from dpdb.opening import open_table
from dpdb.release import CountedStatistics
from dpdb.thresholds import FEW_ROWS

SQL = Path(__file__).resolve().parents[2] / "sql"
FILES = sorted(SQL.glob("*.sql"))
NAMES = [path.stem[3:] for path in FILES]
STATEMENTS = [name for name in NAMES if name != "settings"]


def test_files_are_numbered_in_order_and_say_what_and_why() -> None:
    assert [int(path.stem[:2]) for path in FILES] == [*range(1, len(FILES) + 1)]
    for path in FILES:
        first, second, third, *_ = path.read_text(encoding="utf-8").splitlines()
        assert first.startswith("-- "), path
        assert second.startswith("-- "), path
        assert path.stem == "01_settings" or not third.startswith("--"), path
        assert sql_path(path.stem[3:]) == path
    with pytest.raises(FileNotFoundError, match="no_such"):
        sql_path("no_such")


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_file_is_one_statement_that_names_tables_for_its_columns(name: str) -> None:
    """A bare name would mean the query's own `size` or a column of the user's table, whichever DuckDB finds first."""
    [tree] = sqlglot.parse(sql_file(name), dialect="duckdb")
    assert tree is not None
    assert isinstance(tree, (exp.Select, exp.Insert, exp.Create))
    assert [column.sql() for column in tree.find_all(exp.Column) if not column.table] == []
    for place in tree.find_all(exp.Placeholder):
        assert not isinstance(place.parent, (exp.EQ, exp.NEQ, exp.GT, exp.Count, exp.Is)), place.parent


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_duckdb_parses_each_file(path: Path) -> None:
    """Its own parser takes the text as it stands, with a name in each slot; a form that sqlglot alone knew fails."""
    text = path.read_text(encoding="utf-8")
    with duckdb.connect() as database:
        statements = database.extract_statements(re.sub(r"\$(\w+)", r"slot_\1", text))
    kinds = {exp.Select: "SELECT", exp.Insert: "INSERT", exp.Create: "CREATE", exp.Set: "SET"}
    read = [kinds[type(tree)] for tree in sqlglot.parse(text, dialect="duckdb") if isinstance(tree, (*kinds,))]
    assert [statement.type.name for statement in statements] == read
    assert len(read) == (1 if path.stem != "01_settings" else text.count("\nSET "))


def test_duckdb_refuses_what_is_no_sql() -> None:
    with duckdb.connect() as database, pytest.raises(duckdb.ParserException):
        database.extract_statements("SELECT slot_a slot_b slot_c FROM slot_d")


# Slots that hold whole expressions, which their makers qualify.
TREES = {"known", "chosen", "violated", "same", "read", "columns", "named", "side", "keys", "u", "v", "first", "second",
         "sharers", "some"}  # fmt: skip


def test_slots_that_are_no_column_of_a_table_are_few() -> None:
    bare = set()
    for name in STATEMENTS:
        for place in sqlglot.parse_one(sql_file(name), dialect="duckdb").find_all(exp.Placeholder):
            if not isinstance(place.parent, (exp.Column, exp.Table, exp.Schema)) and place.arg_key != "alias":
                bare.add(place.name)
    assert bare == TREES | {"position", "place", "dc", "most"}


def test_what_fills_a_slot_is_never_read_as_sql() -> None:
    hostile = 'x" FROM t; DROP TABLE t --'
    query = filled("value_counts", column=hostile, rows=exp.to_table("t"))
    [column] = [each for each in query.find_all(exp.Column) if each.table == "row"]
    assert column.name == hostile
    assert sqlglot.parse_one(query.sql("duckdb"), dialect="duckdb").sql("duckdb") == query.sql("duckdb")
    assert files_of(query) == (sql_path("value_counts").stem,)
    assert files_of(query.subquery("q")) == files_of(exp.select("*").from_(query.subquery())) == files_of(query)


def test_rows_may_be_several_queries() -> None:
    one = exp.select("u", "v").from_("p")
    query = filled("edges_by_row", edges=exp.union(one, exp.select("u", "v").from_("q"), distinct=False))
    assert "FROM (SELECT u, v FROM p UNION ALL SELECT u, v FROM q) AS listed" in query.sql("duckdb")


def test_slots_are_given_exactly() -> None:
    with pytest.raises(KeyError, match="has the slots"):
        filled("row_count")
    with pytest.raises(KeyError, match="has the slots"):
        filled("row_count", rows=exp.to_table("t"), more=1)
    query = filled("degree_bound", rows=exp.to_table("t"), known=[], keys=[])
    assert query.sql("duckdb") == "SELECT MAX(sized.size) FROM (SELECT COUNT(*) AS size FROM t) AS sized"


# -- each of them runs -----------------------------------------------------------------------------------------------

TABLE = pa.table(
    {
        "zip": [1, 1, 2, 2, 3, None],
        "city": ["a", "b", "c", None, "d", "e"],
        "pay": [5, 6, 7, 8, 9, 9],
        "tax": [3, 2, 1, 5, 6, 6],
        "kind": ["x", "y", "x", "y", "x", "x"],
    }
)
FD = "zip -> city"
COMMANDS: list[list[str]] = [
    ["measure", "--constraints", FD, "--constraints", "not(t1.zip=t2.zip & t1.pay<t2.pay & t1.tax>t2.tax)",
     "--constraints", "not(t1.pay>100)", "--measure", "all", "--epsilon", "1", "--edges", "table"],
    ["measure", "--constraints", FD, "--constraints", "not(t1.zip=t2.zip & t1.pay=t2.tax)", "--measure", "problematic",
     "--epsilon", "1"],
    ["measure", "--constraints", FD, "--measure", "minimal_inconsistency", "--mechanism", "by_rule", "--epsilon", "1"],
    ["measure", "--constraints", "UNIQUE(zip)", "--measure", "problematic", "--mechanism", "by_rule", "--epsilon", "1"],
    ["measure", "--constraints", "not(t1.zip=t2.zip & t1.kind='x' & t2.pay>5)", "--measure", "problematic",
     "--mechanism", "by_rule", "--epsilon", "1"],
    ["measure", "--constraints", FD, "--measure", "repair", "--epsilon", "1"],
    ["measure", "--constraints", "not(t1.zip=t2.zip & t1.city!=t2.city & t1.kind='x')", "--measure", "repair",
     "--epsilon", "1"],
    ["measure", "--constraints", "not(t1.zip=t2.zip & t1.kind='x' & t2.kind='y')", "--measure", "repair",
     "--epsilon", "1"],
    ["measure", "--constraints", FD, "--constraints", "zip -> kind", "--constraints", "NOT NULL(kind)",
     "--measure", "repair", "--epsilon", "1"],
    ["measure", "--constraints", FD, "--measure", "maximal_consistency", "--epsilon", "1", "--unit", "pay",
     "--max-rows", "2"],
    ["measure", "--constraints", "UNIQUE(zip)", "--constraints", "UNIQUE(pay)", "--measure", "problematic",
     "--epsilon", "1"],
    ["exact", "--constraints", FD, "--non-private", "--materialize", "{folder}/graph.duckdb"],
    ["rules", "discover", "--epsilon", "5"],
    ["compare", "{folder}/t.parquet", "--key", "zip", "--epsilon", "1"],
    ["count", "--unit", "zip -> other.pay, kind", "--max-rows", "1", "--private-parent", "other={folder}/other.parquet",
     "--epsilon", "1"],
]  # fmt: skip


@pytest.mark.heavy(family="long")
def test_each_file_is_run_by_a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: set[str] = set()
    noted = Database._noted

    def tracing(database: Database, query: Any) -> str:
        if isinstance(query, str):
            ran.update(sql_path(name).stem for name in ("settings", "conflict") if sql_file(name).strip() in query)
        else:
            ran.update(files_of(query))
        return noted(database, query)

    monkeypatch.setattr(Database, "_noted", tracing)
    for name in ("t", "other"):
        pq.write_table(TABLE, tmp_path / f"{name}.parquet")
    for command, *options in COMMANDS:
        action = [options.pop(0)] if command == "rules" else []
        words = [word.format(folder=tmp_path) for word in options]
        assert main([command, *action, str(tmp_path / "t.parquet"), *words]) == 0, command
    monkeypatch.setattr(FEW_ROWS, "at", 0)
    assert main([COMMANDS[0][0], str(tmp_path / "t.parquet"), *COMMANDS[0][1:]]) == 0
    assert sorted(ran) == [path.stem for path in FILES]


# -- names of columns ------------------------------------------------------------------------------------------------

TAKEN = [
    "size", "largest", "class", "minor", "x", "y", "dc", "u", "v", "id", "code", "value", "row", "a", "b", "t", "g",
    "sized", "grouped", "chosen", "known", "one", "other", "total", "number", "found", "e", "singles", "sizes",
    "groups", "side", "goes", "stay", "best", "first", "second", "both", "g0", "equal_0", "class_0", "loose_0",
    "coded_row",
]  # fmt: skip


@pytest.mark.parametrize("seeds", [fifth(range(40)), pytest.param(range(40, 600), marks=pytest.mark.slow)])
def test_columns_may_be_called_as_what_queries_count(seeds: Sequence[int]) -> None:
    for seed in seeds:
        rng = random.Random(seed)
        key, value, other = rng.sample(TAKEN, 3)
        rows = [[rng.choice([1, 1, 2, 3, None]) for _ in range(3)] for _ in range(25)]
        columns = [pa.array([row[place] for row in rows], pa.int64()) for place in range(3)]
        table = pa.table(columns, names=[key, value, other])
        quoted = ['"' + name + '"' for name in (key, value, other)]
        compared(table, rows, *quoted)


def compared(table: pa.Table, rows: list[list[Any]], key: str, value: str, other: str) -> None:
    order = f"not(t1.{key}=t2.{key} & t1.{other}>t2.{other} & t1.{value}<t2.{value})"

    def differ(r: list[Any], s: list[Any]) -> bool:
        return r[0] is not None and r[0] == s[0] and None not in (r[1], s[1]) and r[1] != s[1]

    def cross(r: list[Any], s: list[Any]) -> bool:
        if None in (*r, *s) or r[0] != s[0]:
            return False
        return (r[2] - s[2]) * (r[1] - s[1]) < 0

    pairs = [*itertools.combinations(rows, 2)]
    groups = [[row for row in rows if row[0] == number and row[1] is not None] for number in (1, 2, 3)]
    fewest = sum(len(group) - max([0, *map([row[1] for row in group].count, (1, 2, 3))]) for group in groups)
    largest = max(sum(row[0] == number for row in rows) for number in (1, 2, 3))
    for edges in ("auto", "table"):
        with open_table(table, constraints=[f"{key} -> {value}", order], edges=edges) as opened:
            with contextlib.closing(opened.slice()) as part:
                assert part.edges.edge_count == sum(differ(r, s) or cross(r, s) for r, s in pairs), table.column_names
                assert part.degree_bound() == max(0, largest - 1)
            counts = opened.count_dependencies(table.column_names[:1], [tuple(table.column_names[:2])])  # type: ignore[list-item]
            assert counts.values[0].rows == sum(row[0] is not None for row in rows)
            assert counts.pairs[0].rows == sum(None not in row[:2] for row in rows)
        with open_table(table, constraints=f"{key} -> {value}", edges=edges) as opened:
            assert CountedStatistics(opened, None).if_known("violations") == fewest, table.column_names
            _, [histogram] = opened.class_histograms()
            held = sum((sum(row["sizes"] or []) + row["singles"]) * row["groups"] for row in histogram.to_pylist())
            assert held == sum(map(len, groups))
