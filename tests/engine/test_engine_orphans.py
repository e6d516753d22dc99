"""Orphans: the engine finds those that plain SQL finds, whatever the values and types."""

from __future__ import annotations

import itertools
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from dpdb.engine.sql import input_rows, input_rows as orphans
from dpdb.errors import ConstraintTypeError
from dpdb.opening import open_local_table

KEYS = (1, 2, None)


def every_small_instance() -> tuple[pa.Table, pa.Table]:
    """All children of up to 3 rows beside all parents of up to 2, with NULL and duplicates, numbered in one column."""
    bags = [bag for size in range(4) for bag in itertools.combinations_with_replacement(KEYS, size)]
    pairs = list(itertools.product(bags, [bag for bag in bags if len(bag) <= 2]))
    child = [(number, key) for number, (mine, _) in enumerate(pairs) for key in mine]
    parent = [(number, key) for number, (_, theirs) in enumerate(pairs) for key in theirs]
    assert len(pairs) == 200
    return tuple(  # type: ignore[return-value]
        pa.table({"n": pa.array([row[0] for row in rows]), "k": pa.array([row[1] for row in rows], pa.int64())})
        for rows in (child, parent)
    )


def found(child: pa.Table, parent: pa.Table, rule: str) -> list[int]:
    """Positions of the rows that the engine takes for orphans."""
    with open_local_table(child, constraints=rule, public_parents={"p": parent}) as table:
        part = table.slice(keep_source_row=True)
        rows = part.database.rows(f'SELECT "source_row" FROM {part.table("self_conflict").sql("duckdb")}')
        assert part.self_conflicts == len(rows)
        return sorted(row for (row,) in rows)


def in_sql(child: pa.Table, parent: pa.Table, known: str, same: str) -> list[int]:
    with duckdb.connect() as connection:
        connection.register("child", child.append_column("row", pa.array(range(child.num_rows))))
        connection.register("p", parent)
        query = f'SELECT "row" FROM child c WHERE {known} AND NOT EXISTS (FROM p WHERE {same}) ORDER BY 1'
        return [row for (row,) in connection.execute(query).fetchall()]


KNOWN, SAME = "c.n IS NOT NULL AND c.k IS NOT NULL", "p.n = c.n AND p.k = c.k"


@pytest.mark.heavy(family="long")
def test_every_small_instance_has_the_orphans_of_plain_sql() -> None:
    child, parent = every_small_instance()
    expected = in_sql(child, parent, KNOWN, SAME)
    assert found(child, parent, "(n, k) IN p(n, k)") == expected
    assert 0 < len(expected) < child.num_rows
    some = in_sql(child, parent, f"{KNOWN} AND c.k = 2", SAME)
    assert found(child, parent, "FOREIGN KEY (n, k) REFERENCES p(n, k) WHERE k = 2") == some


@pytest.mark.heavy(family="long")
def test_the_comparison_sees_null_taken_for_an_orphan(monkeypatch: pytest.MonkeyPatch) -> None:
    real = orphans.violates_across

    def without_known(column: orphans.AcrossColumn, rows: object) -> object:
        update = real(column, rows)  # type: ignore[arg-type]
        setting = update.expressions[0]
        setting.set("expression", list(setting.expression.flatten())[-1])
        return update

    monkeypatch.setattr(input_rows, "violates_across", without_known)
    child, parent = every_small_instance()
    assert found(child, parent, "(n, k) IN p(n, k)") != in_sql(child, parent, KNOWN, SAME)


TYPES = [
    ("INTEGER", "BIGINT", ["1", "2", "3"], ["2", "9223372036854775807"]),
    ("DECIMAL(9,2)", "INTEGER", ["1.00", "1.50", "2.00"], ["1", "2"]),
    ("UBIGINT", "BIGINT", ["18446744073709551615", "5"], ["5", "-1"]),
    ("DOUBLE", "FLOAT", ["'nan'", "'-0.0'", "0.1", "0.5"], ["'nan'", "0", "0.1", "0.5"]),
    ("DATE", "TIMESTAMP", ["'2020-01-01'", "'2020-01-02'", "'infinity'"], ["'2020-01-01'", "'2020-01-02 00:00:01'"]),
    ("VARCHAR", "VARCHAR COLLATE NOCASE", ["'a'", "'A'", "''"], ["'a'", "'b'"]),
    ("UUID", "UUID", ["'00000000-0000-0000-0000-000000000001'"], ["'00000000-0000-0000-0000-000000000002'"]),
    ("HUGEINT", "DOUBLE", ["9007199254740993", "9007199254740995"], ["9007199254740992"]),
    ("BLOB", "BLOB", ["'\\x00a'", "'b'"], ["'b'"]),
]


def expected_of(kind: str, other: str, common: str, mine: list[str], theirs: list[str]) -> list[int]:
    """The orphans by hand: values compared one by one in the common type, without collations."""
    with duckdb.connect() as connection:
        plain = other.split(" COLLATE", maxsplit=1)[0]

        def equal(left: str, right: str) -> bool:
            query = f"SELECT TRY_CAST(({left})::{kind} AS {common}) = TRY_CAST(({right})::{plain} AS {common})"
            return bool(connection.execute(query).fetchall()[0][0])

        return [row for row, left in enumerate(mine) if not any(equal(left, right) for right in theirs)]


@pytest.mark.heavy
@pytest.mark.parametrize(("kind", "other", "mine", "theirs"), TYPES, ids=lambda each: str(each)[:20])
def test_values_compare_in_the_common_type_as_columns_do(
    tmp_path: Path, kind: str, other: str, mine: list[str], theirs: list[str]
) -> None:
    path = tmp_path / "t.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE c (k {kind}); CREATE TABLE p (k {other})")
        for name, values in (("c", mine), ("p", theirs)):
            for value in values:
                connection.execute(f"INSERT INTO {name} VALUES ({value}), (NULL)")
    with open_local_table(path, table="c", constraints="k IN p.k", public_parents="p") as table:
        (rule,) = table.inclusions
        part = table.slice(keep_source_row=True)
        rows = part.database.rows(f'SELECT "source_row" FROM {part.table("self_conflict").sql("duckdb")}')
        common = rule.pairs[0].compared_as
    assert sorted(row // 2 for (row,) in rows) == expected_of(kind, other, common, mine, theirs)


@pytest.mark.heavy(family="long")
def test_columns_that_do_not_compare_are_refused_by_name() -> None:
    numbers, words = pa.table({"k": [1]}), pa.table({"k": ["1"], "list": [[1]]})
    for rule, message in (
        ("k IN p.k", "cannot compare 'k' .BIGINT. with p.k .VARCHAR."),
        ("k IN p.list", "column p.list has type BIGINT.., which constraints cannot compare"),
    ):
        with pytest.raises(ConstraintTypeError, match=message):
            open_local_table(numbers, constraints=rule, public_parents={"p": words})


@pytest.mark.heavy(family="long")
def test_a_public_parent_is_known_by_its_keys_in_any_order_and_number() -> None:
    def keys(values: list[str | None]) -> str:
        parent = pa.table({"k": pa.array(values, pa.string()), "beside": list(range(len(values)))})
        child = pa.table({"k": ["a"]})
        with open_local_table(child, constraints="k IN p.k", public_parents={"p": parent}) as table:
            return table.public_keys["p"]

    assert keys(["a", "b", "b"]) == keys(["b", "a"])
    assert len({keys(["a", "b"]), keys(["ab"]), keys(["a"]), keys(["a", None]), keys([])}) == 5
