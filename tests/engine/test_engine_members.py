"""Members, `x IN (SELECT ...)` of a public parent: the rows of plain SQL in every place where a condition may stand."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sqlglot import exp

import dpdb
from dpdb.constraints import parse_constraint
from dpdb.engine.parents import across as binding
from dpdb.engine.sql import input_rows as orphans
from dpdb.errors import ConstraintTypeError, DpdbError
from dpdb.ledger import Ledger
from dpdb.opening import open_local_table

CHILDREN = list(itertools.product((1, None), (0, 1, None), (0, 2, None)))  # k, a, b
PARENTS = [(), ((1, 0),), ((1, 1),), ((1, None),), ((1, 0), (1, 1)), ((None, 1), (2, 1))]  # id, c
WORDS = [(), ((0, 1),), ((0, 2),), ((None, 1),), ((0, 1), (0, 1), (None, 1)), ((0, 2), (1, 1), (1, None))]  # x, y

SAME = "p.n = child.n AND p.id = child.k"


def member(column: str, condition: str = "true", of: str = "x") -> str:
    return (
        f"(CASE WHEN {column} IS NOT NULL THEN EXISTS "
        f"(FROM v WHERE v.n = child.n AND v.{of} = child.{column} AND {condition}) END)"
    )


def rules(number: int) -> dict[str, str]:
    """Rules on the tables of one number: members have one column, so it is chosen by WHERE."""
    a, b = f"a IN (SELECT x FROM v WHERE v.n = {number} AND y = 1)", f"b IN (SELECT y FROM v WHERE n = {number})"
    in_a, in_b, by = member("a", "y = 1"), member("b", of="y"), "BY n = p.n AND k = p.id"
    return {
        f"CHECK ({a})": f"NOT {in_a}",
        f"CHECK (NOT {a})": in_a,
        f"CHECK (a NOT IN (SELECT x FROM v WHERE v.n = {number} AND y = 1) OR b > 1)": f"{in_a} AND b <= 1",
        f"CHECK (({a}) = ({b}))": f"{in_a} <> {in_b}",
        f"CHECK (({a}) IS NOT NULL AND (b = 2 OR {b}))": f"NOT ({in_a} IS NOT NULL AND (b = 2 OR {in_b}))",
        f"not({a} AND p.c <> 0) {by}": f"EXISTS (FROM p WHERE {SAME} AND {in_a} AND p.c <> 0)",
        f"CHECK (p.c = 0) {by} WHERE {a} AND b = 2": f"b = 2 AND {in_a} AND EXISTS (FROM p WHERE {SAME} AND p.c <> 0)",
        f"CHECK (p.c = 0 OR {a} OR {b}) {by}": f"NOT {in_a} AND NOT {in_b} AND EXISTS (FROM p WHERE {SAME} AND c <> 0)",
        f"CHECK (p.c = b OR {a}) {by} WHERE p.c > 0": (
            f"EXISTS (FROM p WHERE {SAME} AND p.c > 0 AND NOT (p.c = b OR {in_a}))"
        ),
        f"(n, k) IN p(n, id) WHERE {a}": f"{in_a} AND k IS NOT NULL AND NOT EXISTS (FROM p WHERE {SAME})",
    }


def table(rows: Sequence[Sequence[Any]], names: str) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else [[] for _ in names.split()]
    return pa.table([pa.array(column, pa.int64()) for column in columns], names=names.split())


def instances(number: int) -> dict[str, pa.Table]:
    """Every row beside small parents: one of them and one of the values of a member for each number."""
    pairs = list(itertools.product(PARENTS, WORDS))
    parents, words = pairs[number]
    return {
        "child": table([(number, *row) for row in CHILDREN], "n k a b"),
        "p": table([(number, *row) for row in parents], "n id c"),
        "v": table([(number, *row) for row in words], "n x y"),
    }


def violating(tables: dict[str, pa.Table], rule: str, **options: Any) -> list[int]:
    options = options or {"public_parents": {"p": tables["p"], "v": tables["v"]}}
    with open_local_table(tables["child"], constraints=rule, **options) as opened:
        part = opened.slice(keep_source_row=True)
        rows = part.database.rows(f'SELECT "source_row" FROM {part.table("self_conflict").sql("duckdb")}')
        [asked] = [opened.exact_statistic([dc]) for dc in opened.constraints]
        assert asked is not None
        assert opened.count_all(None, [asked]) == [len(rows)] == [part.self_conflicts]
        owners = opened.count_owners("k", [*opened.constraints])
        found = sorted(row for (row,) in rows)
        keys = tables["child"]["k"].to_pylist()
        assert owners == [len({keys[row] for row in found} - {None})]
        return found


def in_sql(tables: dict[str, pa.Table], violates: str) -> list[int]:
    with duckdb.connect() as connection:
        for name, rows in tables.items():
            connection.register(name, rows)
        query = f"SELECT row FROM (SELECT *, row_number() OVER () - 1 AS row FROM child) child WHERE {violates}"
        return sorted(row for (row,) in connection.execute(query).fetchall())


COUNT = len(PARENTS) * len(WORDS)


@pytest.mark.heavy(of=20)
@pytest.mark.parametrize("number", range(COUNT))
def test_every_small_instance_has_the_violations_of_plain_sql(number: int) -> None:
    tables = instances(number)
    for rule, violates in rules(number).items():
        assert violating(tables, rule) == in_sql(tables, violates), rule


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize("mutant", ["NULL is false", "NULL of the parent is a value", "all rows count"])
def test_the_comparison_sees_mutants(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if mutant == "NULL is false":
        monkeypatch.setattr(orphans.AcrossColumn, "told", lambda _, found, __=None: found)
    elif mutant == "NULL of the parent is a value":
        real = orphans.AcrossColumn.told

        def told(self: Any, found: exp.Expr, table: str | None = None) -> exp.Expr:
            has_null = f"(SELECT bool_or(x IS NULL) FROM {self.keys.sql('duckdb')})"
            return exp.maybe_parse(f"CASE WHEN {has_null} AND NOT ({real(self, found, table).sql('duckdb')}) THEN NULL "
                                   f"ELSE {real(self, found, table).sql('duckdb')} END", dialect="duckdb")  # fmt: skip

        monkeypatch.setattr(orphans.AcrossColumn, "told", told)
    else:
        monkeypatch.setattr(binding._Conditions, "sql", lambda *_: exp.true())
    seen = False
    for number in range(COUNT):
        tables = instances(number)
        for rule, violates in list(rules(number).items())[:4]:
            seen = seen or violating(tables, rule) != in_sql(tables, violates)
    assert seen


ODD = [
    'CHECK ("in" IN (SELECT "select" FROM "from"."where" WHERE "and" = \'x)y\') OR "or" = 1)',
    "k -> b WHERE a IN (SELECT x FROM v)",
    "not(t1.k = t2.k & t1.a IN (SELECT x FROM v) & t1.b != t2.b)",
    "UNIQUE(k) WHERE a NOT IN (SELECT x FROM v WHERE y > 1)",
    "CHECK (select IN (select, b))",
    "not(t1.a NOT IN (SELECT x FROM v) = t2.b & t1.k = t2.k)",
    "CHECK ((a NOT IN (SELECT x FROM v)) = (b IN (SELECT x FROM v)))",
    "CHECK ((b IN (SELECT x FROM v)) <> (NOT f) OR (a NOT IN (SELECT x FROM v)) IS NULL)",
]


def test_rules_are_read_again_as_they_are_written() -> None:
    for rule in [*rules(3), *ODD]:
        (dc,) = parse_constraint(rule)
        (again,) = parse_constraint(str(dc))
        assert again == dc
        assert str(again) == str(dc)


def test_inside_select_the_parent_is_called_by_its_name_or_the_end_of_it() -> None:
    read = {
        str(*parse_constraint(f"CHECK (a IN (SELECT {before}x FROM s.v WHERE {within}y = 1))"))
        for before in ("", "v.", "S.V.")
        for within in ("", "v.", "s.V.")
    }
    assert read == {"not(t1.a IN (SELECT x FROM s.v WHERE s.v.y = 1) = FALSE)"}


def text_of(rule: str, parts: Sequence[str]) -> str:
    return rule.format(*parts).replace("(t1.m = TRUE) != (t2.m = TRUE)", "t1.m != t2.m")


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize("seed", range(4))
def test_rules_on_pairs_take_members_as_columns_of_the_row(seed: int) -> None:
    rng = random.Random(seed)
    rows = [tuple(rng.choice([0, 1, 2, None]) for _ in range(3)) for _ in range(25)]
    words = [(rng.choice([0, 1, None]), rng.choice([1, 2])) for _ in range(rng.randrange(4))]
    known = {x for x, y in words if y == 1 and x is not None}
    beside = [(*row, None if row[1] is None else row[1] in known) for row in rows]
    columns = [pa.array(column, kind) for column, kind in
               zip(zip(*beside, strict=True), [pa.int64()] * 3 + [pa.bool_()], strict=True)]  # fmt: skip
    plain, child = pa.table(columns, names=["k", "a", "b", "m"]), table(rows, "k a b")
    said = "a IN (SELECT x FROM v WHERE y = 1)"
    one, two = f"t1.{said}", f"t2.{said}"
    for rule in (
        "not(t1.k = t2.k & t1.b != t2.b & {1})",
        "k -> b WHERE {0}",
        "UNIQUE(k) WHERE NOT ({0})",
        "not(t1.k = t2.k & ({1}) != ({2}))",
        "not(t1.k = t2.k & t1.b < t2.b & ({1} OR t1.b = 0))",
    ):
        found = []
        for source, parts in ((child, (said, one, two)), (plain, ("m = TRUE", "t1.m = TRUE", "t2.m = TRUE"))):
            with open_local_table(source, constraints=text_of(rule, parts), public_parents={"v": table(words, "x y")}
                                  if source is child else None) as opened:  # fmt: skip
                part = opened.slice()
                asked = opened.exact_statistic([*opened.constraints])
                found.append((part.node_count, part.degree_bound(), asked and opened.count_all(None, [asked]),
                              opened.count_owners("k", [*opened.constraints])))  # fmt: skip
        assert found[0] == found[1], rule


TYPES: dict[str, tuple[list[Any], list[Any], list[Any]]] = {
    "text": (["a", "B", None, ""], ["b", "", None, ""], ["", None]),
    "day": (["2020-01-31", "2020-02-01"], ["2020-02-01"], ["2020-02-01"]),
    "flag": ([True, False, None], [False], [False]),
    "number": ([1, 2, None], [2, 2, None], [2]),
    "float": ([0.5, -0.0, float("nan")], [0.0, float("nan")], [-0.0, float("nan")]),
}


@pytest.mark.heavy
@pytest.mark.parametrize("kind", TYPES)
def test_values_are_compared_as_columns_are(kind: str) -> None:
    cells, theirs, equal = TYPES[kind]
    arrow = {"day": pa.date32()}.get(kind)
    child = pa.table({"a": pa.array(cells).cast(arrow) if arrow else pa.array(cells)})
    parent = pa.table({"x": pa.array(theirs).cast(arrow) if arrow else pa.array(theirs)})
    with open_local_table(child, constraints="not(t1.a IN (SELECT x FROM v))", public_parents={"v": parent}) as opened:
        part = opened.slice()
        with duckdb.connect() as connection:
            connection.register("c", child)
            connection.register("v", parent)
            expected = connection.execute("SELECT count(*) FROM c WHERE EXISTS (FROM v WHERE x = a)").fetchone()
        assert (part.self_conflicts,) == expected
        assert part.self_conflicts == len([each for each in equal if each is not None])


ODD_KINDS = {  # the measured column's type, the parent's, and texts of values
    "zoned time": ("TIMETZ", "TIMETZ", ["00:00:00+00", "01:00:00+01", "00:00:00+01", "24:00:00+00"]),
    "collation": ("VARCHAR COLLATE NOCASE", "VARCHAR COLLATE NOACCENT", ["a", "A", "á", "", "b"]),
    "categories": ("ENUM('a', 'B', 'c', '')", "ENUM('c', 'a', 'A', '')", ["a", "B", "c", "A", ""]),
    "category and text": ("ENUM('a', 'B', '')", "VARCHAR COLLATE NOCASE", ["a", "b", "B", ""]),
    "bytes": ("BLOB", "BLOB", ["\\x00", "a", "", "\\xFF"]),
    "UUID": ("UUID", "UUID", ["f" * 32, "F" * 32, "0" * 32, "8" + "0" * 31]),
    "huge": ("HUGEINT", "UBIGINT", ["9007199254740993", "9007199254740992", "-1", str(2**64 - 1), str(-(2**127))]),
    "decimals": ("DECIMAL(4,2)", "DECIMAL(20,4)", ["1.00", "1.0001", "99.99", "-1", "0.10"]),
    "interval": ("INTERVAL", "INTERVAL", ["1 month", "30 days", "29 days 24:00:00", "-1 day", "720:00:00"]),
    "bits": ("BIT", "BIT", ["1", "01", "0"]),
}


def test_values_of_all_types_are_found_as_plain_sql_finds_them(tmp_path: Path) -> None:
    """Collations are left out on both sides: text compares by code point."""
    kinds, rules, queries = list(enumerate(ODD_KINDS.values())), [], []
    with duckdb.connect(str(tmp_path / "odd.duckdb")) as connection:
        connection.execute(f"CREATE TABLE child ({', '.join(f'a{n} {kind}' for n, (kind, _, _) in kinds)})")
        connection.execute(f"CREATE TABLE v ({', '.join(f'x{n} {kind}' for n, (_, kind, _) in kinds)}, y BOOLEAN)")
        for n, (mine, theirs, texts) in kinds:
            listed = ", ".join(f"('{text}', {place % 2 == 0})" for place, text in enumerate([*texts, *texts[1::2]]))
            values = f"(VALUES {listed}, (NULL, true), (NULL, NULL)) r(t, y)"
            connection.execute(f"INSERT INTO child (a{n}) SELECT TRY_CAST(t AS {mine.split(' COLL')[0]}) FROM {values}")
            connection.execute(
                f"INSERT INTO v (x{n}, y) SELECT TRY_CAST(t AS {theirs.split(' COLL')[0]}), y FROM {values}"
            )
            rules.append(f"CHECK (a{n} NOT IN (SELECT x{n} FROM v WHERE y))")
            binary = '::VARCHAR COLLATE "binary"' if "VARCHAR" in theirs else ""
            found = f"EXISTS (FROM v WHERE y AND x{n}{binary} = a{n}{binary})"
            queries.append(f"SELECT count(*) FROM child WHERE a{n} IS NOT NULL AND {found}")
        expected = [connection.execute(query).fetchall()[0][0] for query in queries]
    with open_local_table(tmp_path / "odd.duckdb", table="child", constraints=rules, public_parents=["v"]) as opened:
        asked = [opened.exact_statistic([dc]) for dc in opened.constraints]
        counted = opened.count_all(None, [each for each in asked if each is not None])
    assert dict(zip(ODD_KINDS, counted, strict=True)) == dict(zip(ODD_KINDS, expected, strict=True))
    assert min(counted) > 0


REFUSED = {
    "CHECK (a IN (SELECT w FROM v))": "cannot compare 'a' .BIGINT. with v.w .VARCHAR.",
    "CHECK (a IN (SELECT z FROM v))": "v: there is no column 'z'",
    "CHECK (a IN (SELECT x FROM v WHERE z = 1))": "v: there is no column 'z'",
    "CHECK (a IN (SELECT x FROM v WHERE y = 'no'))": "is not a value for",
    "CHECK (a IN (SELECT x FROM u))": "table 'u' is not declared",
    "CHECK ((a NOT IN (SELECT x FROM v)) IS NULL)": "is not allowed; allowed are",
    "CHECK (a IN (SELECT x FROM child))": "table 'child' is not declared",
    "CHECK (q IN (SELECT x FROM v))": "no column 'q'",
    "CHECK (a + 1 IN (SELECT x FROM v))": "expected a column of the row before IN .SELECT ...., found 'a . 1'",
    "CHECK ((a, b) IN (SELECT x, y FROM v))": "expected a",
    "CHECK (a IN (SELECT x, y FROM v))": "expected one column in SELECT",
    "CHECK (a > (SELECT x FROM v))": "expected IN before",
    "CHECK (a IN (SELECT x FROM v WHERE y IN (SELECT x FROM v)))": "expected a column of the row before IN",
    "CHECK (a IN (SELECT x FROM v WHERE t.b = 1))": "column 36: expected a column of v, as all inside .* found 't'",
    "CHECK (a IN (SELECT x FROM v WHERE y = 1 AND t1.b = 1))": "column 46: expected a column of v, .* found 't1'",
    "not(t1.a IN (SELECT x FROM v WHERE t2.b = 1) & t1.k = t2.k)": "column 36: expected a column of v, .* found 't2'",
    "a IN (SELECT x FROM v WHERE t.b = 1)": "column 29: expected a column of v, as all inside .* found 't'",
    "CHECK (a IN (SELECT child.k FROM v))": "column 21: expected a column of v, as all inside .* found 'child'",
    "CHECK (a IN (SELECT x FROM v WHERE y = 1 OR TRUE))": "is true whatever the rows hold",
    "CHECK (a IN (SELECT x FROM s))": "s is private, and IN .SELECT .... inside a condition reads public tables only; "
    "declare it .* such as a IN s.x",
    "not(a IN (SELECT x FROM s) AND p.c = 0) BY k = p.id": "s is private, and IN .SELECT .... inside a condition",
    "not(p.c IN (SELECT x FROM v) AND a = 0) BY k = p.id": "expected a column of the row before IN",
}


@pytest.mark.heavy
@pytest.mark.parametrize("rule", REFUSED)
def test_what_is_not_sound_or_not_there_is_one_line_and_costs_nothing(rule: str, tmp_path: Any) -> None:
    child, words = table([(1, 1, 0)], "k a b"), pa.table({"x": [1], "y": [1], "w": ["1"]})
    ledger = tmp_path / "l.ledger"
    Ledger.create(ledger, 1).close()
    parents = {
        "public_parents": {"v": words, "p": table([(1, 0)], "id c")},
        "private_parents": {"s": table([(1, 0)], "x y")},
    }
    with pytest.raises(DpdbError, match=REFUSED[rule]) as refused:
        dpdb.open(child, constraints=[rule], ledger=ledger, unit="a", max_rows=1, **parents)
    assert "\n" not in str(refused.value).split("\n    ")[0]  # a syntax error shows the line, too
    with Ledger.open(ledger) as opened:
        assert opened.summary().spent == 0


@pytest.mark.parametrize("rule", ["CHECK (a IN (SELECT x FROM v))", "CHECK (a IN (SELECT y FROM v))", "a IN v.y"])
def test_a_parent_none_of_whose_columns_compare_is_refused_by_the_column(rule: str, tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": pa.nulls(2), "y": [[1], [2]]}), tmp_path / "v.parquet")
    with pytest.raises(ConstraintTypeError, match=r"column v\.[xy] has type .*, which constraints cannot compare"):
        open_local_table(table([(1,)], "a"), constraints=rule, public_parents={"v": tmp_path / "v.parquet"})
