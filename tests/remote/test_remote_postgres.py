"""PostgreSQL gives the values of our own engine, and refuses what it might read differently."""

from __future__ import annotations

import random
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pytest
from helpers_postgres import Server
from helpers_remote import FEW_ROWS, compare, cover, random_question, statistics

from dpdb.errors import ConstraintTypeError, PredicateError, SourceError
from dpdb.opening import open_table
from dpdb.release import statistics as release_statistics
from dpdb.remote import postgres_catalog as postgres_transaction


def check(postgres: Server, seeds: range) -> None:
    seen = {"edges": 0, "self-conflicts": 0, "tables": 0}
    for seed in seeds:
        rows, constraints, where = random_question(random.Random(seed))
        found = compare(rows, postgres.address, constraints, where, remote_table=postgres.holding(rows))
        seen["edges"] += found["degrees"][0]
        seen["self-conflicts"] += found["self-conflicts"]
        seen["tables"] += 1
    print("equal on", seen)
    assert all(seen.values()), seen


@pytest.mark.heavy(family="long")
def test_random_tables(postgres: Server) -> None:
    check(postgres, range(4, 9))


@pytest.mark.heavy(family="long")
def test_repair_from_some_of_the_rows_in_conflict(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(release_statistics, "ROUNDS", FEW_ROWS)
    for seed in (1, 18):
        rows, constraints, where = random_question(random.Random(seed))
        there = cover(postgres.address, constraints, where, table=postgres.holding(rows), gather_rows=100)
        assert there == cover(rows, constraints, where) > 0


@pytest.mark.heavy(family="long")
def test_repair_where_dependent_values_have_no_least_one(postgres: Server) -> None:
    """PostgreSQL has no MIN of booleans and none of binary values, under whatever name a query passes them on."""
    odd = {"flag": [True] * 3 + [False] * 197, "raw": [b"a"] * 190 + [b"b"] * 10}
    rows = pa.table({"zip": [1] * 200, **odd}, pa.schema({"zip": pa.int32(), "flag": pa.bool_(), "raw": pa.binary()}))
    rules = ["zip -> flag", "[] -> raw", "not(t1.flag=t2.flag&t1.raw<t2.raw&t1.zip<t2.zip)"]
    there = cover(postgres.address, rules, table=postgres.holding(rows), gather_rows=100)
    assert there == cover(rows, rules) == 26


@pytest.mark.heavy(family="long")
def test_no_setting_of_server_or_user_changes_a_value(postgres: Server) -> None:
    """Nor what the user's search path finds before PostgreSQL's own functions."""
    postgres.run(
        "CREATE SCHEMA evil", "CREATE FUNCTION evil.char_length(text) RETURNS int LANGUAGE sql AS 'SELECT 0'"
    )  # fmt: skip
    settings = (
        "client_encoding=LATIN1", "TimeZone=Asia/Tokyo", "DateStyle=SQL,DMY", "standard_conforming_strings=off",
        "search_path=evil,pg_catalog,public", "transform_null_equals=on", "bytea_output=escape", "row_security=off",
        "default_transaction_isolation=serializable", "extra_float_digits=-15",
    )  # fmt: skip
    address = f"{postgres.address}&options={quote(' '.join(f'-c {setting}' for setting in settings))}"
    day = datetime(2026, 3, 4, 5)
    rows = pa.table(
        {
            "zip": [1, 1, 2, 2, 2],
            "city": ["é", "a\\b", "Ł", "ł", None],
            "m": [day] * 5,
            "z": pa.array([datetime(2026, 3, 4, 1)] * 3 + [day] * 2, pa.timestamp("us", "UTC")),
        },
    )
    name = postgres.holding(rows)
    rules = ["zip -> city", "zip -> z", "city -> m"]
    where = "(length(city) > 0 AND m <= z) OR city = 'a\\b' OR city = 'é'"
    assert compare(rows, address, rules, where, remote_table=name)["rows"] == 3


@pytest.mark.heavy(family="long")
def test_databases_and_drivers_that_would_read_other_values_are_refused(
    postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = postgres.holding(pa.table({"zip": [1]}))
    with pytest.raises(SourceError, match="quote_all_identifiers has to be off"):
        open_table(f"{postgres.address}&options=-cquote_all_identifiers%3Don", table=name)
    postgres.run("CREATE DATABASE bytes ENCODING 'SQL_ASCII' TEMPLATE template0")
    with pytest.raises(SourceError, match="encoding of the database is SQL_ASCII, which has to be UTF8"):
        open_table(postgres.address_of("owner", "bytes"), table="pg_catalog.pg_type")
    monkeypatch.setattr(postgres_transaction, "_OLDEST", 990_000)
    with pytest.raises(SourceError, match="the server is older"):
        open_table(postgres.address, table=name)


@pytest.mark.slow
def test_two_hundred_random_tables(postgres: Server) -> None:
    check(postgres, range(200, 400))


ORDER = "not(t1.g=t2.g&t1.{0}<t2.{0}&t1.{1}>t2.{1})"
TYPED = {
    "smallint": ["1", "-32768", "32767"],
    "bigint": ["9007199254740993", "9007199254740992", "-1"],
    "numeric(38,3)": ["99999999999999999999999999999999999.999", "-0.001", "0"],
    "real": ["NaN", "Infinity", "0.1", "-0"],
    "double precision": ["NaN", "-Infinity", "-0", "0", "5e-324", "1e300"],
    "boolean": ["true", "false"],
    "text": ["", "a", "a ", "A", "é", "e\u0301", "\U0001f600", "\uffff"],
    "varchar(9)": ["b", "B", "a", "_"],
    "char(3)": ["a", "a ", "b"],
    "uuid": ["00000000-0000-0000-0000-000000000001", "f0000000-0000-0000-0000-000000000000"],
    "bytea": ["\\x", "\\x00", "\\xff", "\\x61"],
    "date": ["0001-01-01", "9999-12-31", "infinity", "-infinity", "2026-03-29"],
    "timestamp": ["1600-01-01", "1969-12-31 23:59:59.999999", "infinity", "-infinity", "2026-03-29"],
    "timestamptz": ["2026-03-29 01:30:00+00", "2026-03-29 03:30:00+02", "infinity", "-infinity"],
}


def quoted(text: str) -> str:
    return f"'{text}'"


def ours(kind: str, value: str | None) -> str:
    """A value as SQL of our own database, which has no CHAR(n) and no numbers by these names."""
    if value is None:
        return "NULL"
    if kind == "bytea":
        return f"from_hex('{value[2:]}')"
    if kind.startswith("char("):
        return f"'{value:3}'"
    return f"CAST('{value}' AS {'VARCHAR' if kind.startswith('varchar') else kind.replace('numeric', 'DECIMAL')})"


@pytest.mark.heavy(family="long")
def test_values_of_every_type_compare_as_they_do_here(postgres: Server, tmp_path: Path) -> None:
    """Extremes, infinities, NaN, blanks of CHAR, and no collation; as keys, as dependent values, as orders."""
    import duckdb

    rng = random.Random(1)
    names = {f"c{place}": kind for place, kind in enumerate(TYPED)}
    cells = [[rng.choice([*TYPED[kind], None]) for kind in names.values()] for _ in range(60)]
    groups = [rng.randrange(4) for _ in cells]
    written = [
        f"({group}, {', '.join('NULL' if cell is None else quoted(cell) for cell in row)})"
        for group, row in zip(groups, cells, strict=True)
    ]
    columns = ", ".join(f"{name} {kind}" for name, kind in names.items())
    collated = columns.replace("c6 text", 'c6 text COLLATE "und-x-icu"')
    postgres.run(f"CREATE TABLE typed (g int, {collated})", f"INSERT INTO typed VALUES {', '.join(written)}")
    known = [
        f"SELECT {group} AS g, "
        + ", ".join(f"{ours(k, v)} AS {n}" for (n, k), v in zip(names.items(), row, strict=True))
        for group, row in zip(groups, cells, strict=True)
    ]
    file = tmp_path / "typed.duckdb"
    with duckdb.connect(file) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute(f"CREATE TABLE typed AS {' UNION ALL '.join(known)}")
    shuffled = rng.sample(list(names), len(names))
    for name, other in zip(shuffled[::2], shuffled[1::2], strict=True):
        rules = [f"{name} -> {other}", f"g, {other} -> {name}", ORDER.format(name, other)]
        rules += [f"not(t1.g=t2.g&t1.{name}<=t2.{name}&t1.{other}!=t2.{other})"]
        assert compare(file, postgres.address, rules, remote_table="typed")["degrees"][0]


def opened(postgres: Server, table: str, *constraints: str) -> Any:
    return open_table(postgres.address, table=table, constraints=list(constraints), gather_rows=99)


@pytest.mark.heavy(family="long")
def test_what_has_no_like_here_is_null_or_not_compared(postgres: Server) -> None:
    postgres.run(
        "CREATE DOMAIN code AS varchar(5)", "CREATE DOMAIN short_code AS code CHECK (length(VALUE) < 4)",
        "CREATE TYPE mood AS ENUM ('z', 'a')",
        "CREATE TABLE odd (n numeric(6,2), free numeric, wide numeric(50,2), d date, c short_code, m mood, j jsonb,"
        " t time, k int NOT NULL)",
        "INSERT INTO odd VALUES ('NaN', 1, 1, '0044-03-15 BC', 'ab', 'z', '{}', '12:00', 1),"
        " (1.5, 'NaN', 2, '20000-01-01', 'ab', 'a', '{}', '12:00', 2)",
    )  # fmt: skip
    with opened(postgres, "odd", "c -> k") as there:
        assert there.count_rows([there.where(text) for text in ("n IS NULL", "d IS NULL", "c = 'ab'")]) == [1, 2, 2]
        assert statistics(there)["degrees"][0] == 1
        assert [column.nullable for column in there.rows.schema.columns][-1] is False
        for text in ("free = 1", "wide = 1", "m = 'z'", "j = '{}'", "t = '12:00'"):
            with pytest.raises(PredicateError):
                there.where(text)
        with pytest.raises(PredicateError, match="outside the years 1 to 9999"):
            there.where("d > DATE '12000-01-01'")
        assert there.count_rows([there.where("d < DATE 'infinity'")]) == [0]
    with pytest.raises(ConstraintTypeError, match="numeric, which constraints cannot compare"):
        opened(postgres, "odd", "free -> k")
    postgres.run("CREATE TABLE nothing (j jsonb)")
    with pytest.raises(SourceError, match="no column has a type"):
        opened(postgres, "nothing")


@pytest.mark.heavy(family="long")
def test_no_null_is_believed_where_every_row_read_keeps_it(postgres: Server) -> None:
    """Heirs may drop it, views promise nothing, some values are read as NULL. Rules are merged by it."""
    columns = "(k int NOT NULL, v int NOT NULL)"
    postgres.run(
        f"CREATE TABLE alone {columns}", f"CREATE TABLE elder {columns}", "CREATE TABLE heir () INHERITS (elder)",
        "CREATE TABLE grandheir () INHERITS (heir)", "ALTER TABLE grandheir ALTER v DROP NOT NULL",
        f"CREATE TABLE divided {columns} PARTITION BY LIST (k)", "CREATE TABLE rest PARTITION OF divided DEFAULT",
        "CREATE VIEW over_alone AS SELECT * FROM alone",
        "CREATE TABLE read_as_null (k int NOT NULL, d date NOT NULL, z timestamptz NOT NULL, n numeric(4,1) NOT NULL)",
    )  # fmt: skip
    for table, promised in (
        ("read_as_null", [True, False, False, False]),
        ("alone", [True, True]), ("elder", [True, False]), ("divided", [True, True]), ("over_alone", [False, False])
    ):  # fmt: skip
        with open_table(postgres.address, table=table) as there:
            assert [not column.nullable for column in there.rows.schema.columns] == promised, table


@pytest.mark.heavy(family="long")
def test_a_name_may_have_dots_but_not_two_meanings(postgres: Server) -> None:
    postgres.run('CREATE TABLE "x.y" (a int)', "CREATE SCHEMA x", "CREATE TABLE x.z (a int, b int)")
    for name, columns in (("x.y", 1), ("public.x.y", 1), ("x.z", 2)):
        with open_table(postgres.address, table=name) as there:
            assert len(there.rows.schema.columns) == columns
    postgres.run("CREATE TABLE x.y (a int)")
    with pytest.raises(SourceError, match="the name of two tables"):
        open_table(postgres.address, table="x.y")


@pytest.mark.heavy(family="long")
def test_names_that_are_words_of_sql_or_too_long_together(postgres: Server) -> None:
    one, other = "a" * 60, "a" * 59 + "b"
    rows = pa.table({"Select": [1, 1, 2], 'q"x': ["a", "b", "c"], one: [1, 2, 3], other: [3, 2, 1], "row": [1, 1, 1]})
    name = postgres.holding(rows, 'Odd "name"')
    rules = ['"Select" -> "q""x"', f"not(t1.{one} + 1 = t2.{other} + 1 & t1.row = t2.row)"]
    assert compare(rows, postgres.address, rules, f"{one} + 1 > 0", remote_table=name)["degrees"][0]


@pytest.mark.heavy(family="long")
def test_units_are_chosen_in_the_same_way_every_time(postgres: Server) -> None:
    rng = random.Random(5)
    rows = pa.table({name: [rng.choice([None, 1, 2, 3, 4]) for _ in range(80)] for name in ("who", "zip", "city")})
    few = rows.slice(0, 6)
    assert compare(few, postgres.address, ["zip -> city"], unit="who", max_rows=6, remote_table=postgres.holding(few))[
        "rows"
    ]
    owned = [rows["who"].to_pylist().count(who) for who in (1, 2, 3, 4)]
    seen = []
    for ordered in (rows, rows.sort_by("zip")):
        options = {"constraints": "zip -> city", "unit": "who", "max_rows": 3, "gather_rows": 99}
        with open_table(postgres.address, table=postgres.holding(ordered), **options) as there:  # type: ignore[arg-type]
            seen.append((statistics(there), there.content()))
    assert seen[0] == seen[1]
    assert seen[0][0]["rows"] == sum(min(3, count) for count in owned)
    assert seen[0][1].endswith("hash_record_extended")


@pytest.mark.heavy(family="long")
def test_a_table_is_lent_and_taken_back(postgres: Server) -> None:
    from sqlglot import exp

    from dpdb.errors import EngineError
    from dpdb.remote.foreign_sources import PostgresSource

    rows = pa.table({"zip": [1, 1, 2]})
    remote = PostgresSource().open(postgres.address, postgres.holding(rows))
    lent = remote.lend("small", pa.table({"zip": [1], "note": ["it's"], "x": [None]}).cast(
        pa.schema({"zip": pa.int64(), "note": pa.string(), "x": pa.float64()})
    ))  # fmt: skip
    joined = exp.select("*").from_(remote.rows()).join(lent, using=["zip"])
    assert remote.ask(joined).to_pylist() == [{"zip": 1, "note": "it's", "x": None}] * 2
    remote.take_back("small")
    with pytest.raises(EngineError):
        remote.ask(joined)
    assert remote.ask(exp.select("*").from_(remote.rows())).num_rows == 3
    remote.lend("small", rows.slice(0, 0))
    assert remote.ask(exp.select("*").from_(lent)).num_rows == 0
    remote.close()
    remote.close()
