"""The canonical order: a matter of values, not of arrival; no row moves the edges of others."""

import itertools
import random

import pytest
from case_share import of_all
from helpers_engine import Row, Table, run
from hypothesis import given, settings, strategies as st
from sqlglot import exp
from strategies_engine import questions

from dpdb.constraints import DenialConstraint, parse_constraint
from dpdb.database.database import BATCH_ROWS, Database
from dpdb.engine.slice import LocalSlice
from dpdb.engine.sql.bind import bind
from dpdb.schema import Column, TableSchema
from dpdb.sources.source import Source

Question = tuple[Table, list[DenialConstraint]]
DEFAULT = settings(derandomize=True, deadline=None, max_examples=of_all(15))
LONG = settings(derandomize=True, deadline=None, max_examples=2500)
Edge = tuple[int, Row, Row]


def shown(edges: list[Edge]) -> list[str]:
    """Edges as text, so that NaN compares and -0.0 is 0.0."""
    return [repr(edge).replace("-0.0", "0.0") for edge in edges]


def sequence(database: Database, table: Table, dcs: list[DenialConstraint]) -> list[Edge]:
    """The ordered edges in terms of the values of the constrained columns, which is all that the rank may read."""
    used = sorted({name for dc in dcs for name in dc.columns})
    places = [list(table.types).index(name) for name in used]

    def cut(row: Row) -> Row:
        return tuple(row[place] for place in places)

    return [(dc, cut(u), cut(v)) for dc, u, v in run(database, table, dcs).by_value(table)]


def check_shuffled(database: Database, question: Question, seed: int) -> None:
    table, dcs = question
    shuffled = random.Random(seed).sample(table.rows, len(table.rows))
    assert shown(sequence(database, table, dcs)) == shown(sequence(database, Table(table.types, shuffled), dcs))


def check_one_more(database: Database, question: Question, at: int) -> None:
    """Take a row away: the other edges stay in their order (rows equal to it are interchangeable)."""
    table, dcs = question
    if not table.rows:
        return
    at %= len(table.rows)
    fewer = Table(table.types, table.rows[:at] + table.rows[at + 1 :])
    remaining = iter(shown(sequence(database, table, dcs)))
    assert all(any(edge == other for other in remaining) for edge in shown(sequence(database, fewer, dcs)))


@pytest.mark.heavy(family="long")
@DEFAULT
@given(questions(), st.integers(0, 10**6))
def test_shuffled_rows_give_the_same_edge_sequence(database: Database, question: Question, seed: int) -> None:
    check_shuffled(database, question, seed)


@pytest.mark.heavy(family="privacy")
@DEFAULT
@given(questions(), st.integers(0, 11))
def test_one_row_leaves_the_order_of_the_others(database: Database, question: Question, at: int) -> None:
    check_one_more(database, question, at)


@pytest.mark.slow
@LONG
@given(questions(row_bound=20), st.integers(0, 10**6))
def test_order_long(database: Database, question: Question, seed: int) -> None:
    check_shuffled(database, question, seed)
    check_one_more(database, question, seed)


@pytest.mark.heavy(family="long")
def test_order_on_more_rows_than_one_vector(tmp_path) -> None:
    # 5000 rows cross DuckDB's vectors of 2048 and, on several threads, its morsels.
    source = random.Random(1)
    rows = [(source.randrange(900), source.randrange(4), source.choice("xyz")) for _ in range(5000)]
    types = {"a": "BIGINT", "b": "SMALLINT", "c": "VARCHAR"}
    dcs = [*parse_constraint("a -> b"), *parse_constraint("not(t1.a=t2.a&t1.b<t2.b&t1.c!=t2.c)")]
    with Database(threads=4) as database:
        before = sequence(database, Table(types, rows), dcs)
        shuffled = source.sample(rows, len(rows))
        assert sequence(database, Table(types, shuffled), dcs) == before
        with_one = iter(sequence(database, Table(types, [(7, 9, "w"), *rows]), dcs))
        assert all(any(edge == other for other in with_one) for edge in before)
    assert len(before) > 5000


@pytest.mark.heavy(family="long")
def test_equal_rows_are_interchangeable(database: Database) -> None:
    types = {"a": "BIGINT", "b": "BIGINT", "unused": "VARCHAR"}
    dcs = list(parse_constraint("a -> b"))
    rows = [(1, 1, "x"), (1, 2, "y"), (1, 1, "z"), (1, 2, "x"), (2, 1, "x")]
    renamed = [(a, b, other) for (a, b, _), other in zip(rows, "vwxyz", strict=True)]
    first = run(database, Table(types, rows), dcs).edges
    assert len(first) == 4
    assert first == run(database, Table(types, renamed), dcs).edges
    assert first == run(database, Table(types, rows[::-1]), dcs).edges


@pytest.mark.heavy(family="long")
def test_duplicates_lie_beside_each_other(database: Database) -> None:
    rows = [(k % 5, k % 2) for k in range(40)]
    table = Table({"a": "BIGINT", "b": "BIGINT"}, rows)
    ranked = [table.rows[position] for position in run(database, table, list(parse_constraint("a -> b"))).source]
    runs = sum(one != other for one, other in itertools.pairwise(ranked))
    assert runs == len(set(rows)) - 1


def test_rank_is_no_code(database: Database) -> None:
    """A dense code would rank the values by size: 64 small numbers would come in ascending order."""
    table = Table({"a": "BIGINT"}, [(k,) for k in range(64)])
    ranked = [table.rows[position] for position in run(database, table, list(parse_constraint("UNIQUE(a)"))).source]
    assert sorted(ranked) == table.rows
    assert ranked != table.rows


@pytest.mark.heavy(family="long")
def test_streams_follow_the_canonical_order_over_several_batches() -> None:
    with Database(threads=4) as database:
        database.execute("CREATE TABLE big AS SELECT range // 1500 AS a, range AS b FROM range(3000)")
        schema = TableSchema((Column("a", "BIGINT"), Column("b", "BIGINT")))
        dcs = bind(database, parse_constraint("a -> b"), schema)
        part = LocalSlice(database, Source("big", schema, exp.to_table("big")), dcs, None, name="big_part")
        batches = list(part.edges.batches())
        streamed = [(int(batch[0].min()), int(batch[0].max()), len(batch[0])) for batch in batches]
        ordered = all(_lexicographic(u, v) for u, v in batches)
        part.close()
    assert sum(size for _, _, size in streamed) == 2 * (1500 * 1499 // 2)
    assert sum(size for _, _, size in streamed) > 2 * BATCH_ROWS
    assert len(streamed) > 2
    assert ordered
    assert all(one[1] <= other[0] for one, other in itertools.pairwise(streamed))


def _lexicographic(u, v) -> bool:
    u, v = u.astype("int64"), v.astype("int64")
    key = (u << 32) | v
    return bool((key[1:] > key[:-1]).all())
