"""`where`: what the grammar takes means what SQL's three-valued logic says."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest
from case_share import examples
from helpers_engine import Table, agree, float32, run
from hypothesis import given, strategies as st
from sqlglot import exp

from dpdb.constraints import parse_constraint
from dpdb.database.database import Database
from dpdb.engine.sql import comparison
from dpdb.engine.sql.comparison import bind_literals
from dpdb.engine.sql.input_rows import count_rows
from dpdb.engine.sql.where import WherePredicate, parse_where
from dpdb.predicates import LiteralValue
from dpdb.sources.source import Source

DEFAULT = examples(60)
TYPES = {
    "a": "BIGINT", "b": "BIGINT", "small": "SMALLINT", "x": "DOUBLE", "f": "FLOAT", "price": "DECIMAL(6,2)",
    "name": "VARCHAR", "other": "VARCHAR", "day": "DATE", "seen": "TIMESTAMP", "ok": "BOOLEAN", "Order": "BIGINT",
}  # fmt: skip
NAN, INF = float("nan"), float("inf")
D1, D2 = date(2020, 1, 1), date(2020, 1, 2)
T1, NOON = datetime(2020, 1, 1), datetime(2020, 1, 1, 12)
ROWS = [
    (1, 1, 1, 0.5, float32(0.1), Decimal("1.50"), "abc", "abc", D1, T1, True, 1),
    (2, 1, 2, 1.5, float32(0.5), Decimal("2.00"), "a%c", "ABC", D2, NOON, False, 2),
    (3, 4, 3, -0.0, 0.0, Decimal("0.00"), "", "x", D1, NOON, None, 3),
    (4, 4, 32767, NAN, NAN, Decimal("-1.25"), "it's", "IT'S", None, None, True, 4),
    (None, 1, None, None, None, None, None, "abc", D1, T1, False, None),
    (2**53 + 1, None, -1, INF, 1.0, Decimal("9999.99"), "5", None, D2, T1, None, 5),
    (-1, -1, -32768, float(2**53), 2.5, Decimal("0.10"), "\U0001f600", "\uffff", D2, D2 and T1, True, 6),
]
TABLE = Table(TYPES, ROWS)
SCHEMA = TABLE.schema()


def rows_of(database: Database, predicate: WherePredicate, table: Table = TABLE) -> list[int]:
    """Positions of the rows that a predicate selects."""
    with database.arrow_table("all_rows", table.arrow()):
        found = database.rows(
            f"SELECT place FROM (SELECT *, row_number() OVER () - 1 AS place FROM all_rows) "
            f"WHERE {predicate.condition.sql('duckdb')} ORDER BY place"
        )
    return [row[0] for row in found]


# (predicate, positions of the rows for which it is true)
ACCEPTED: list[tuple[str, list[int]]] = [
    ("a > 3.5", [3, 5]),
    ("a >= 3.000", [2, 3, 5]),
    ("a = 1.0", [0]),
    ("a < 1e30", [0, 1, 2, 3, 5, 6]),
    ("a > -1e300", [0, 1, 2, 3, 5, 6]),
    ("a <> 99999999999999999999999999999999999", [0, 1, 2, 3, 5, 6]),
    ("a = 9007199254740993", [5]),
    ("a = 9007199254740992", []),
    ("small < 100000", [0, 1, 2, 3, 5, 6]),
    ("small > -100000.5", [0, 1, 2, 3, 5, 6]),
    ("small = 32767", [3]),
    ("a = '2'", [1]),
    ("a = -1", [6]),
    ("a = - 1", [6]),
    ("a = +1", [0]),
    ("a = 1_0", []),
    ("0 < a", [0, 1, 2, 3, 5]),
    ("x = 'nan'", [3]),
    ("x > 1e308", [3, 5]),
    ("x = 0", [2]),
    ("x = -0.0", [2]),
    ("f = 0.1", [0]),
    ("price = 1.5", [0]),
    ("price > 1.499", [0, 1, 5]),
    ("price < 0.105", [2, 3, 6]),
    ("price < 100000", [0, 1, 2, 3, 5, 6]),
    ("name = 'abc'", [0]),
    ("name = '5'", [5]),
    ("name = 'it''s'", [3]),
    ("name = ''", [2]),
    ("name < 'b'", [0, 1, 2, 5]),
    ("name > 'z'", [6]),
    ("name LIKE 'a%'", [0, 1]),
    ("name NOT LIKE 'a%'", [2, 3, 5, 6]),
    ("NOT name LIKE 'a%'", [2, 3, 5, 6]),
    ("NOT (name NOT LIKE 'a%')", [0, 1]),
    ("name LIKE '_'", [5, 6]),
    ("name LIKE 'a\\%c'", []),
    ("name LIKE ''", [2]),
    ("name like '%''%'", [3]),
    ("a IN (1, 3)", [0, 2]),
    ("a IN (1, NULL)", [0]),
    ("a NOT IN (1, 3)", [1, 3, 5, 6]),
    ("a NOT IN (1, NULL)", []),
    ("NOT a IN (1, NULL)", []),
    ("a in (1, 2.5, '3')", [0, 2]),
    ("a IN (b)", [0, 3, 6]),
    ("name IN ('abc', other)", [0]),
    ("a BETWEEN 2 AND 4", [1, 2, 3]),
    ("a NOT BETWEEN 2 AND 4", [0, 5, 6]),
    ("a BETWEEN 4 AND 2", []),
    ("a BETWEEN 2 AND NULL", []),
    ("a NOT BETWEEN 2 AND NULL", [0, 6]),
    ("2 BETWEEN b AND a", [1]),
    ("a BETWEEN b AND 3", [0, 1, 6]),
    ("a = b", [0, 3, 6]),
    ("a > b", [1]),
    ("a <> b", [1, 2]),
    ("a = x", []),
    ("small = price", [1]),
    ("name = other", [0]),
    ("day < seen", [2]),
    ("day = seen", [0, 4]),
    ("a = NULL", []),
    ("NOT a = NULL", []),
    ("a = NULL OR a = 1", [0]),
    ("a = NULL AND a = 1", []),
    ("a IS NULL", [4]),
    ("a IS NOT NULL", [0, 1, 2, 3, 5, 6]),
    ("NOT a IS NULL", [0, 1, 2, 3, 5, 6]),
    ("ok", [0, 3, 6]),
    ("NOT ok", [1, 4]),
    ("ok = true", [0, 3, 6]),
    ("ok = 'false'", [1, 4]),
    ("ok <> TRUE", [1, 4]),
    ("ok IN (true, NULL)", [0, 3, 6]),
    ("ok OR a = 2", [0, 1, 3, 6]),
    ("ok AND a = 1", [0]),
    ("NOT ok AND a = 2 OR a = 3", [1, 2]),
    ("NOT (ok AND a = 2 OR a = 3)", [0, 1, 3, 5, 6]),
    ("a = 1 OR a = 2 AND b = 4", [0]),
    ("(a = 1 OR a = 2) AND b = 1", [0, 1]),
    ("true", [0, 1, 2, 3, 4, 5, 6]),
    ("NOT true", []),
    ("false OR ok", [0, 3, 6]),
    ("day = '2020-01-01'", [0, 2, 4]),
    ("day = DATE '2020-01-01'", [0, 2, 4]),
    ("day >= '2020-01-01 12:00'", [1, 5, 6]),
    ("seen > '2020-01-01'", [1, 2]),
    ("seen = TIMESTAMP '2020-01-01 12:00:00'", [1, 2]),
    ("day BETWEEN '2020-01-01' AND '2020-01-01'", [0, 2, 4]),
    ('"Order" = 2', [1]),
    ('"order" = 2', [1]),
    ("A = 1", [0]),
    ("((a)) = ((1))", [0]),
    ("a = 1 -- and the rest", [0]),
    ("a = 1 /* OR true */", [0]),
    ("a = 1 /* /* */ OR (SELECT true) */", [0]),
    ("name = '-- no comment'", []),
    ("a == 1", [0]),
    ("a != 1", [1, 2, 3, 5, 6]),
    ("a ISNULL", [4]),
    ("a NOTNULL", [0, 1, 2, 3, 5, 6]),
]


@pytest.mark.heavy
@pytest.mark.parametrize(("text", "expected"), ACCEPTED, ids=[text for text, _ in ACCEPTED])
def test_accepted(database: Database, text: str, expected: list[int]) -> None:
    assert rows_of(database, parse_where(database, text, SCHEMA)) == expected


# -- random predicates against three-valued logic in Python ---------------------------------------------------

Truth = bool | None
COLUMNS = {"a": [None, 0, 1, 2], "b": [None, 0, 1, 2]}
SMALL = Table({"a": "BIGINT", "b": "BIGINT"}, [(a, b) for a in COLUMNS["a"] for b in COLUMNS["b"]])
OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda p, q: p == q,
    "<>": lambda p, q: p != q,
    "<": lambda p, q: p < q,
    "<=": lambda p, q: p <= q,
    ">": lambda p, q: p > q,
    ">=": lambda p, q: p >= q,
}
Node = tuple[str, Callable[[dict[str, Any]], Truth]]


def negated(value: Truth) -> Truth:
    return None if value is None else not value


def both(one: Truth, other: Truth) -> Truth:
    if one is False or other is False:
        return False
    return None if one is None or other is None else True


def compared(op: str, left: Any, right: Any) -> Truth:
    return None if left is None or right is None else OPERATORS[op](left, right)


def value(operand: Any, row: dict[str, Any]) -> Any:
    return row[operand] if isinstance(operand, str) else operand


operands = st.sampled_from(["a", "b", 0, 1, 1.5, None])


def sql(operand: Any) -> str:
    return "NULL" if operand is None else str(operand)


@st.composite
def leaves(draw: st.DrawFn) -> Node:
    column = draw(st.sampled_from(["a", "b"]))
    kind = draw(st.sampled_from(["compare", "in", "between", "null"]))
    no = draw(st.booleans())
    if kind == "compare":
        op, right = draw(st.sampled_from(sorted(OPERATORS))), draw(operands)
        return f"{column} {op} {sql(right)}", lambda row: compared(op, row[column], value(right, row))
    if kind == "null":
        return f"{column} IS {'NOT ' * no}NULL", lambda row: (row[column] is None) != no
    if kind == "between":
        low, high = draw(operands), draw(operands)

        def between(row: dict[str, Any]) -> Truth:
            inside = both(compared(">=", row[column], value(low, row)), compared("<=", row[column], value(high, row)))
            return negated(inside) if no else inside

        return f"{column} {'NOT ' * no}BETWEEN {sql(low)} AND {sql(high)}", between
    items = draw(st.lists(operands, min_size=1, max_size=3))

    def member(row: dict[str, Any]) -> Truth:
        outside: Truth = True
        for item in items:
            outside = both(outside, negated(compared("=", row[column], value(item, row))))
        return outside if no else negated(outside)

    return f"{column} {'NOT ' * no}IN ({', '.join(map(sql, items))})", member


def combined(children: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    def pair(op: str, one: Node, other: Node) -> Node:
        text = f"({one[0]}) {op} ({other[0]})"
        if op == "AND":
            return text, lambda row: both(one[1](row), other[1](row))
        return text, lambda row: negated(both(negated(one[1](row)), negated(other[1](row))))

    return st.one_of(
        st.builds(pair, st.sampled_from(["AND", "OR"]), children, children),
        children.map(lambda child: (f"NOT ({child[0]})", lambda row: negated(child[1](row)))),
    )


@DEFAULT
@given(st.recursive(leaves(), combined, max_leaves=6))
def test_random_predicates(database: Database, node: Node) -> None:
    text, oracle = node
    expected = [i for i, row in enumerate(SMALL.rows) if oracle(dict(zip("ab", row, strict=True))) is True]
    assert rows_of(database, parse_where(database, text, SMALL.schema()), SMALL) == expected


@DEFAULT
@given(
    st.text(alphabet="ab%_\\.*\u00e9\U0001f600", max_size=4), st.text(alphabet="ab%_\\.*\u00e9\U0001f600", max_size=5)
)
def test_like(database: Database, cell: str, pattern: str) -> None:
    table = Table({"s": "VARCHAR"}, [(cell,), (None,)])
    likes = "".join({"%": ".*", "_": "."}.get(c, re.escape(c)) for c in pattern)
    expected = [0] if re.fullmatch(likes, cell, re.DOTALL) else []
    where = parse_where(database, f"s LIKE '{pattern}'", table.schema())
    assert rows_of(database, where, table) == expected
    negative = parse_where(database, f"s NOT LIKE '{pattern}'", table.schema())
    assert rows_of(database, negative, table) == [0][len(expected) :]


def test_a_predicate_without_columns_counts_what_it_says(database: Database) -> None:
    with database.arrow_table("some_rows", SMALL.arrow()):
        source = Source("rows", SMALL.schema(), exp.to_table("some_rows"))
        asked = [parse_where(database, text, SMALL.schema()) for text in ("false", "true", "NOT true", "a = 1")]
        total = len(SMALL.rows)
        assert count_rows(database, source, [*asked[:3], None], name="counted") == [0, total, 0, total]
        some = sum(row[0] == 1 for row in SMALL.rows)
        assert count_rows(database, source, [*asked, None], name="counted") == [0, total, 0, some, total]


# -- slices ---------------------------------------------------------------------------------------------------


@pytest.mark.heavy
@pytest.mark.parametrize("text", ["b < 2", "b >= 2", "c = 'x'", "b IS NULL", "a = 1 AND c <> 'x'", "NOT true", "true"])
def test_a_slice_is_the_induced_subgraph(database: Database, text: str) -> None:
    """Both tuples lie in the slice; `c` is in no constraint, so the slice reads it and forgets it."""
    rows = [(k % 2, k % 5 or None, "xyz"[k % 3]) for k in range(14)] + [(-1, 0, "x")]
    table = Table({"a": "BIGINT", "b": "BIGINT", "c": "VARCHAR"}, rows)
    dcs = [*parse_constraint("a -> b"), *parse_constraint("not(t1.a<0)")]
    where = parse_where(database, text, table.schema())
    chosen = rows_of(database, where, table)
    result = run(database, table, dcs, where)
    agree(table, dcs, result, chosen)
    assert len(result.source) + result.self_conflicts == len(chosen)


@pytest.mark.heavy
@pytest.mark.parametrize("terms", [60, 250])
@pytest.mark.parametrize("word", [" AND ", " OR "])
def test_what_is_accepted_also_runs(database: Database, terms: int, word: str) -> None:
    table = Table({"a": "BIGINT"}, [(1,), (1,)])
    where = parse_where(database, word.join(["a = 1"] * terms), table.schema())
    assert len(run(database, table, list(parse_constraint("UNIQUE(a)")), where).edges) == 1


@pytest.mark.heavy(family="long")
def test_long_lists_run(database: Database) -> None:
    table = Table({"a": "BIGINT"}, [(4998,), (4998,), (5001,)])
    where = parse_where(database, f"a IN ({', '.join(map(str, range(4600, 5000)))})", table.schema())
    assert len(run(database, table, list(parse_constraint("not(t1.a<=t2.a)")), where).edges) == 1


def test_deepest_accepted_nesting_runs_from_a_deep_stack(database: Database) -> None:
    table = Table({"a": "BIGINT", "ok": "BOOLEAN"}, [(1, True), (1, True)])
    where = parse_where(database, "NOT " * 38 + "ok", table.schema())
    assert len(run(database, table, list(parse_constraint("UNIQUE(a)")), where).edges) == 1


LITERALS: dict[str, list[LiteralValue]] = {
    "INTEGER": [Decimal(5), Decimal("5.0"), Decimal("5.5"), "5"],
    "DOUBLE": [Decimal(5), Decimal("5.0")],
    "BOOLEAN": [True],
    "DATE": ["2026-01-01", "2026-01-01 00:00", "2026-01-01 12:00", "never"],
    "VARCHAR": ["5", "true", "2026-01-01"],
}


def test_the_engine_is_asked_of_a_literal_once(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = []
    with Database() as database:
        for kind, values in LITERALS.items():
            for value in values:
                alone += bind_literals(database, [value], kind)
                database.constants.clear()
        first = [literal for kind, values in LITERALS.items() for literal in bind_literals(database, values, kind)]
        asked: list[object] = []
        rows = Database.rows
        monkeypatch.setattr(Database, "rows", lambda self, query: asked.append(query) or rows(self, query))
        again = [literal for kind, values in LITERALS.items() for literal in bind_literals(database, values, kind)]
        assert repr(first) == repr(again) == repr(alone)
        assert len(asked) == 1  # "never", of which nothing is remembered
        known = len(database.constants)
        bind_literals(database, ["x" * 1_000], "VARCHAR")
        assert len(database.constants) == known
        monkeypatch.setattr(comparison, "MOST_REMEMBERED", 20)
        for _ in range(2):
            bind_literals(database, [str(number) for number in range(30)], "VARCHAR")
            assert 10 <= len(database.constants) <= 20
