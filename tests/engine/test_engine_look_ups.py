"""Look-ups and filtered parents: the engine finds the rows that plain SQL finds, whatever the values."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from sqlglot import exp

from dpdb.engine.parents import across as binding
from dpdb.engine.sql import input_rows, input_rows as orphans
from dpdb.errors import ConstraintSyntaxError, DpdbError
from dpdb.opening import open_local_table
from dpdb.predicates import Not

CHILDREN = list(itertools.product((1, None), (0, 1, None), (0, 1)))  # key, a, b
PARENTS = list(itertools.product((1, 2, None), (0, 1, None)))  # key, c


def table(rows: Sequence[Sequence[Any]], names: str) -> pa.Table:
    columns = zip(*rows, strict=True)
    return pa.table([pa.array(column, pa.int64()) for column in columns], names=names.split())


def every_small_instance() -> tuple[pa.Table, pa.Table]:
    """Every row beside all parents of up to 2 rows, with NULL and repeated keys, numbered in one column."""
    bags = [bag for size in range(3) for bag in itertools.combinations_with_replacement(PARENTS, size)]
    assert len(bags) == 55
    child = [(number, *row) for number in range(len(bags)) for row in CHILDREN]
    parent = [(number, *row) for number, bag in enumerate(bags) for row in bag]
    return table(child, "n k a b"), table(parent, "n id c")


def found(child: pa.Table, parent: pa.Table, rule: str) -> list[int]:
    """Positions of the rows that violate a rule."""
    with open_local_table(child, constraints=rule, public_parents={"p": parent}) as opened:
        part = opened.slice(keep_source_row=True)
        rows = part.database.rows(f'SELECT "source_row" FROM {part.table("self_conflict").sql("duckdb")}')
        assert part.self_conflicts == len(rows)
        return sorted(row for (row,) in rows)


def in_sql(child: pa.Table, parent: pa.Table, violates: str) -> list[int]:
    with duckdb.connect() as connection:
        connection.register("child", child.append_column("row", pa.array(range(child.num_rows))))
        connection.register("p", parent)
        query = f'SELECT "row" FROM child WHERE {violates} ORDER BY 1'
        return [row for (row,) in connection.execute(query).fetchall()]


BY, SAME = "BY n = p.n AND k = p.id", "p.n = child.n AND p.id = child.k"
RULES = {
    f"CHECK (a <= p.c) {BY}": f"EXISTS (FROM p WHERE {SAME} AND a > c)",
    f"CHECK (a <= p.c OR b = 1) {BY}": f"EXISTS (FROM p WHERE {SAME} AND a > c AND b <> 1)",
    f"CHECK (p.c = 0) {BY} WHERE b = 0": f"b = 0 AND EXISTS (FROM p WHERE {SAME} AND c <> 0)",
    f"CHECK (p.c IS NOT NULL) {BY}": f"EXISTS (FROM p WHERE {SAME} AND c IS NULL)",
    f"CHECK (a + p.c < 2) {BY} WHERE p.c > 0": f"EXISTS (FROM p WHERE {SAME} AND c > 0 AND a + c >= 2)",
    f"CHECK (a IN (0, 1) AND a <> p.c) {BY}": f"EXISTS (FROM p WHERE {SAME} AND NOT (a IN (0, 1) AND a <> c))",
    "(n, k) IN p(n, id) WHERE c = 0 AND b = 1": (
        f"b = 1 AND k IS NOT NULL AND NOT EXISTS (FROM p WHERE {SAME} AND c = 0)"
    ),
    "(n, k) IN (SELECT n, id FROM p WHERE c = 0 OR c = 1)": (
        f"k IS NOT NULL AND NOT EXISTS (FROM p WHERE {SAME} AND c IN (0, 1))"
    ),
    "child IN p BY n AND k = p.id": f"k IS NOT NULL AND NOT EXISTS (FROM p WHERE {SAME})",
    "EXISTS p BY k = p.id, n": f"k IS NOT NULL AND NOT EXISTS (FROM p WHERE {SAME})",
}


@pytest.mark.heavy
@pytest.mark.parametrize("rule", RULES)
def test_every_small_instance_has_the_violations_of_plain_sql(rule: str) -> None:
    child, parent = every_small_instance()
    expected = in_sql(child, parent, RULES[rule])
    assert found(child, parent, rule) == expected
    assert 0 < len(expected) < child.num_rows


def negated_nulls(real: Callable[..., exp.Expr]) -> Callable[..., exp.Expr]:
    """What is NULL breaks a rule, too."""

    def sql(self: Any, tree: Any) -> exp.Expr:
        value = real(self, tree)
        return exp.func("coalesce", value, exp.true()) if isinstance(tree, Not) else value

    return sql


def any_key(real: Callable[..., exp.Update]) -> Callable[..., exp.Update]:
    """All rows of the parent are looked at."""

    def update(column: Any, rows: exp.Table) -> exp.Update:
        made = real(column, rows)
        for equal in list(made.find_all(exp.EQ)):
            if isinstance(equal.this, exp.Column) and equal.this.name == "id":
                equal.replace(exp.true())
        return made

    return update


def every_parent(real: Callable[..., exp.Update]) -> Callable[..., exp.Update]:
    """A row violates only where all rows of the parent that have its key break the rule."""

    def update(column: Any, rows: exp.Table) -> exp.Update:
        made = real(column, rows)
        [found] = made.find_all(exp.Exists)
        kept = exp.Exists(
            this=exp.select("1")
            .from_(exp.alias_(column.keys.copy(), "parent_row", table=True))
            .where("parent_row.n = child_row.n AND parent_row.id = child_row.k AND parent_row.c >= child_row.a")
        )
        found.replace(exp.paren(exp.and_(found.copy(), exp.Not(this=kept))))
        return made

    return update


@pytest.mark.heavy
@pytest.mark.parametrize("mutant", [negated_nulls, any_key, every_parent])
def test_the_comparison_sees_mutants(mutant: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    rule = f"CHECK (a <= p.c) {BY}"
    if mutant is negated_nulls:
        monkeypatch.setattr(binding._Conditions, "sql", mutant(binding._Conditions.sql))
    else:
        monkeypatch.setattr(input_rows, "violates_across", mutant(orphans.violates_across))
    child, parent = every_small_instance()
    assert found(child, parent, rule) != in_sql(child, parent, RULES[rule])


REFUSED = {
    "CHECK (a <= p.word) BY k = p.id": "cannot compare 'a' .BIGINT. with 'p.word' .VARCHAR.",
    "CHECK (a <= p.id) BY k = p.word": "cannot compare 'k' .BIGINT. with p.word .VARCHAR.",
    "CHECK (a <= p.list) BY k = p.id": "column 'p.list' has type BIGINT.., which cannot be compared",
    "CHECK (a <= p.cc) BY k = p.id": "p: there is no column 'cc'",
    "CHECK (p.id = NULL) BY k = p.id": "a part of it is NULL whatever the rows hold",
    "CHECK (p.id + 1) BY k = p.id": "is not allowed; allowed are columns",
    "CHECK (random() < p.id) BY k = p.id": "is not allowed; allowed are columns",
    "CHECK (a <= p.id) BY k = q.id": "the table has no column 'id'",
    "CHECK (a <= q.id) BY k = q.id": "table 'q' is not declared",
    "k IN p.id WHERE wrod = 'a'": "p: there is no column 'wrod'; the nearest is 'word'",
}


@pytest.mark.heavy
@pytest.mark.parametrize("rule", REFUSED)
def test_what_cannot_be_looked_up_is_refused_by_name(rule: str) -> None:
    child, parent = table([(1, 2)], "k a"), pa.table({"id": [1], "word": ["a"], "list": [[1]]})
    with pytest.raises(DpdbError, match=REFUSED[rule]):
        open_local_table(child, constraints=rule, public_parents={"p": parent})


@pytest.mark.heavy(family="long")
def test_a_column_that_is_called_like_one_of_the_parent_stays_the_tables_own() -> None:
    child = pa.table({"k": [1, 1], "p.c": [9, 0], "c": [0, 9]})
    parent = pa.table({"id": [1], "c": [5]})
    assert found(child, parent, "CHECK (c <= p.c) BY k = p.id") == [1]
    assert found(child, parent, 'CHECK ("p.c" <= p.c) BY k = p.id') == [0]
    with pytest.raises(ConstraintSyntaxError, match="expected a condition"):  # what nests too deeply
        found(child, parent, "CHECK (c <= p.c AND " + "NOT " * 3000 + "p.c = 1) BY k = p.id")


@pytest.mark.heavy(family="long")
def test_a_public_parent_is_known_by_all_columns_that_rules_read() -> None:
    def digest(values: list[int], rule: str) -> str:
        parent = pa.table({"id": [1, 2], "c": values})
        with open_local_table(table([(1, 2)], "k a"), constraints=rule, public_parents={"p": parent}) as opened:
            return opened.public_keys["p"]

    look_up = "CHECK (a <= p.c) BY k = p.id"
    assert digest([3, 4], look_up) == digest([3, 4], look_up) != digest([3, 5], look_up)
    assert digest([3, 4], "k IN p.id") == digest([3, 5], "k IN p.id")
    assert digest([3, 4], "k IN p.id WHERE p.c > 0") != digest([3, 5], "k IN p.id WHERE p.c > 0")
