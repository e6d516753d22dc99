"""`where`: what the grammar refuses, always in one line, before any row is read."""

from __future__ import annotations

import time

import pytest

from dpdb.database.database import Database
from dpdb.engine.sql.where import parse_where
from dpdb.errors import DpdbError, PredicateError, UnknownColumnError
from dpdb.schema import Column, TableSchema, TypeOrigin

SCHEMA = TableSchema(
    (
        Column("a", "BIGINT"), Column("b", "BIGINT"), Column("name", "VARCHAR"), Column("day", "DATE"),
        Column("ok", "BOOLEAN"), Column("items", "INTEGER[]"), Column("point", "STRUCT(x INTEGER)"),
        Column("seen", "TIMESTAMP"), Column("zoned", "TIMESTAMP WITH TIME ZONE"),
    )
)  # fmt: skip

REFUSED = [
    # other rows, other tables, other state
    "a > (SELECT avg(a) FROM t)", "a IN (SELECT 1)", "a NOT IN (SELECT a FROM t)", "EXISTS (SELECT 1)",
    "EXISTS (FROM t)", "a = ANY (SELECT 1)", "a = ALL ([1, 2])", "a > ANY([1])", "(SELECT true)", "a = (TABLE t)",
    "a IN t", "a IN b", "count(*) > 1", "max(a) = 1", "a = max(b)", "sum(a) OVER () > 1",
    "row_number() OVER (ORDER BY a) = 1", "rank() = 1", "lag(a) OVER (ORDER BY a) = 1", "bool_and(ok)",
    "a = first(a)", "t.a = 1", "other.a = 1", "main.t.a = 1", "input_row.a = 1", '"row".a = 1', "row.a = 1",
    "memory.main.t.a = 1", "getvariable('x') = a", "a = current_setting('x')", "a = ?", "a = $1", "a = $x", "$x = a",
    ":x = a", "a = @x", "a = @@x",
    # not deterministic
    "random() < 0.5", "day = current_date", "seen < now()", "day < today()", "uuid() = name", "nextval('s') = a",
    "CURRENT_DATE = day", "current_timestamp > seen", "setseed(1) IS NULL", "day = 'today'", "day = 'now'",
    "seen = 'now'", "zoned = 'tomorrow'", "day = DATE 'yesterday'", "session_user = name", "txid_current() = a",
    "pg_backend_pid() = a",
    # may fail on a row, or name something of ours
    "a & 1 = 1", "a << 1 = 2", "~a = 1", "a ^ 2 = 4", "a ** 2 = 4", "a || 'x' = '1x'", "name || 'x' = 'x'",
    "sqrt(a) = 1", "error(name) IS NULL", "name.length() = 3", "round(a) = 1", "substr(name, 1) = 'x'",
    "nullif(a, 1) = 1", "iif(a = 1, 1, 2) = 1", "nullif(a, 1) = 1", "CAST(name AS UUID) = 1", "name::BLOB = 1",
    "TRY_CAST(name AS INTERVAL) = 1", "a = CAST(b AS INTEGER[])", "a = '1'::INTEGER",
    "day = CAST('2020' || '-01-01' AS DATE)", "CAST(a AS BOOLEAN)", "name = CAST(b AS JSON)",
    "a = CASE WHEN ok THEN 1 ELSE 2 END", "CASE WHEN ok THEN true END", "if(ok, true, false)", "iff(ok, ok, ok)",
    "a = greatest(a, b)", "name COLLATE nocase = 'x'", "name = 'x' COLLATE nocase", "name ILIKE 'x%'",
    "name NOT ILIKE 'x'", "name ~ name", "name !~ lower(name)", "name SIMILAR TO 'x'",
    "regexp_matches(name, 'x', name)", "regexp_extract(name, 'x') = 'x'",
    "name GLOB 'x*'", "name ^@ 'x'", "name ~~ name",
    "name LIKE name",
    "name LIKE 'x' || '%'", "name LIKE 'x!%' ESCAPE '!'", "name LIKE NULL", "name LIKE 5", "name LIKE ANY ('x', 'y')",
    "a LIKE '1'", "extract(dow FROM day) = 1", "day.year = 2020", "quarter(day) = 1",
    "day > INTERVAL 1 DAY", "name = INTERVAL '1 day'", "strftime(day, '%Y') = '2020'",
    "day AT TIME ZONE 'UTC' = '2020-01-01'", "items = [1]", "items[1] = 1", "a IN items", "list_contains(items, 1)",
    "unnest(items) = 1", "point.x = 1", "point = {'x': 1}", "point['x'] = 1", "[a] = [1]", "(a, b) = (1, 2)",
    "(a, b) IN ((1, 2))", "ROW(a) = ROW(1)", "MAP {1: 2} = a", "{'x': 1} = a", "len([x FOR x IN [1]]) = 1",
    "list_filter([1], x -> x = a) = [1]", "items IS NULL", "array_length(items) = 1",
    # arithmetic and functions of the wrong type, or of nothing
    "name + 1 = 2", "a + name = 2", "a + ok = 1", "a + 'x' = 1", "a + '1' = 2", "a + NULL = 1", "seen + 1 > seen",
    "zoned + 1 > zoned", "day + 1.5 > day", "day + day > day", "1 - day > day", "day * 2 > day",
    "a + INTERVAL '1 day' = a",
    "day + INTERVAL 'x' > day", "day + INTERVAL (a) DAY > day", "day - DATE '2020-13-01' > 1",
    "day + INTERVAL a DAY > day",
    "lower(a) = 'x'", "upper(day) = 'X'", "trim(ok) = 'x'", "length(a) = 1", "length(items) = 1", "abs(name) = 1",
    "abs(day) = 1", "abs(-'5') = 1", "lower('X') = 'x'", "name = lower('X')", "1 + 1 = 2", "-1 = - - 1", "1 + 1 IN (2)",
    "1 + 1 IS NULL", "length(name, 2) = 1", "lower() = 'x'", "lower(*) = 'x'", "lower(name, 'x') = 'x'",
    "trim(name, 'x') = 'y'", "ltrim(name) = 'x'", "trim(LEADING FROM name) = 'x'", "lower(DISTINCT name) = 'x'",
    "lower(name) FILTER (WHERE ok) = 'x'", "abs(a) OVER () = 1", "a + (SELECT 1) = 2", "a + random() > 1",
    "lower(name) LIKE name", "a * 1e500 = 1", "a + 1", "abs(a)", "lower(name)", "NOT a + 1", "(a > 1) + 1 = 2",
    "a + - b",
    "a + 1 = 'x'", "a + 1 = name", "lower(name) = 5.5 + a",
    # rowid and other hidden columns
    "rowid = 1", "rowid < a", '"rowid" = 1', "_rowid_ = 1", "filename = 'x'", "file_row_number = 1", "source_row = 1",
    "id = 1", "COLUMNS(*) = 1", "COLUMNS('a') = 1", "* = 1", "*", "#1 = 1", "ALIAS = 1", "t = 1", "a.* = 1",
    # more than one predicate
    "a = 1; DROP TABLE t", "a = 1; SELECT 1", ";", "a = 1;;", "a = 1 ORDER BY a", "a = 1 LIMIT 1", "a = 1 OFFSET 1",
    "a = 1 GROUP BY a", "a = 1 HAVING true", "a = 1 QUALIFY true", "a = 1 WINDOW w AS ()", "a = 1 UNION SELECT 1",
    "a = 1 UNION ALL FROM t", "a = 1 EXCEPT SELECT 1", "a = 1 INTERSECT SELECT 1", "a = 1 USING SAMPLE 10%",
    "a = 1 TABLESAMPLE 10%", "a = 1 FOR UPDATE", "a = 1, b = 2", "a = 1 b = 2", "a = 1 WHERE b = 2", "WHERE a = 1",
    "SELECT 1", "a = 1) OR (true", "a = 1) --", "(a = 1", "a = 1 /*", "a = 1 */", "1 = 1) UNION (SELECT 1",
    "a = 1 AND", "OR a = 1", "a =", "= 1", "a = = 1", "AND", "NOT", "()", "a BETWEEN 1", "a IN ()", "a IN", "a IS",
    "DROP TABLE t", "COPY t TO 'x'", "ATTACH 'x'", "PRAGMA version", "SET x = 1", "CALL f()", "a = 1 SET x = 1",
    "WITH q AS (SELECT 1) a = 1",
    # comments do not hide anything
    "a = 1 /* x */ ; DROP TABLE t", "a = 1 --\n; DROP TABLE t", "a = /* */ (SELECT 1)", "ab/**/s(a) = 1", "-- a = 1",
    "/* a = 1 */", "a = 1 -- x\nOR (SELECT true)",
    # other spellings of text
    "name = e'x'", "name = x'41'", "name = b'1'", "name = $$x$$", "name = $t$x$t$", "name = U&'x'", "name = 'a' 'b'",
    "name = 'open", 'name = "x"', "name = `x`", "name = [x]", "name = \u2018x\u2019", "name = \u201cx\u201d",
    "name = \uff07x\uff07", "name \uff1d 'x'", "name = \u02bcx\u02bc", "a = \u00bd",
    # not a truth value, or none at all
    "", " ", "\n\t", "a", "1", "0", "'true'", "name", "NULL", "NOT NULL", "NOT a", "a AND b", "ok AND 1", "5 = 5",
    "'x' = 'x'", "NULL = NULL", "1 IS NULL", "NULL IS NULL", "true IS NULL", "true = true", "NOT 1 = 1", "1 IN (1)",
    "1 BETWEEN 0 AND 2",
    # comparisons outside the grammar
    "ok IS TRUE", "ok IS NOT FALSE", "a IS 1", "a IS DISTINCT FROM 1", "a IS NOT DISTINCT FROM 1", "a <=> 1",
    "a = b = 1", "a < b < 3", "(a = 1) = ok", "(a = 1) IS NULL", "a BETWEEN SYMMETRIC 3 AND 1", "(a > 1) > (b > 1)",
    "a = (b = 1)", "ok XOR ok", "xor(ok, ok)", "a OVERLAPS b", "a @> 1", "a && b",
    # values of another type
    "a = 'x'", "a = ''", "a = 'nan'", "a = 'inf'", "a = true", "a = DATE '2020-01-01'", "ok = 1", "ok = 'maybe'",
    "day = 5", "day = '2020-13-01'", "day = ''", "day = true", "name = true", "seen = 'noon'", "a = name", "day = a",
    "ok = a", "name = day", "a IN (1, 'x')", "a BETWEEN 1 AND 'x'", "a = 1.2.3", "a = 0x10", "a = 1e", "a = 1e99999",
    "a = '1e999999999'", "a = 1e-999999999", "a = infinity", "a = nan", "a = 'Infinity'", "day > '1 day ago'",
]  # fmt: skip


@pytest.mark.heavy
@pytest.mark.parametrize("text", REFUSED)
def test_refused(database: Database, text: str) -> None:
    with pytest.raises((PredicateError, UnknownColumnError)) as caught:
        parse_where(database, text, SCHEMA)
    assert str(caught.value).startswith("where: ")
    assert len(str(caught.value)) < 500
    assert "\x1b" not in str(caught.value)
    assert caught.value.__cause__ is None


ALLOWED = [
    "a + 1 = 2", "a / b > 1", "a % 2 = 0", "-a = 1", "a = b + 1", "a = 1 + 1", "a = -b", "a = - - 1", "a // 2 = 1",
    "length(name) = 3", "lower(name) = 'x'", "LOWER(trim(name)) IN ('x', 'y')", "abs(a - b) BETWEEN 1 AND a + 5",
    "day + 1 > '2020-01-01'", "1 + day > day", "day - day > 3", "seen - seen > INTERVAL '1 day'", "a * 1.5 > b",
    "day + INTERVAL 1 DAY > '2020-01-01'", "zoned - INTERVAL '2 hours' < seen", "a + 1 IS NULL",
    "upper(name) LIKE 'X%'",
    "a + 1e30 > 5", "mod(a, 2) = 1", "2 * a < b", "3 < abs(a)", "a + b = NULL OR ok", "a IN (b, b + 1)",
]  # fmt: skip


@pytest.mark.parametrize("text", ALLOWED)
def test_arithmetic_and_functions_are_allowed(database: Database, text: str) -> None:
    assert parse_where(database, text, SCHEMA).columns


def test_text_without_a_type_bears_functions_of_text_only(database: Database) -> None:
    schema = TableSchema((Column("a", "VARCHAR", TypeOrigin.TEXT_CELLS),))
    for text in ("lower(a) = 'x'", "length(a) = 3", "trim(a) LIKE 'x%'", "upper(a) IN ('X')"):
        assert parse_where(database, text, schema).columns == ("a",)
    for text in ("a + 1 = 2", "-a > 1", "abs(a) = 1", "lower(a) < 'x'", "lower(a) = 5", "trim(a) BETWEEN 'a' AND 'b'"):
        with pytest.raises(PredicateError, match=r"nobody has given it a type.*--schema 'a "):
            parse_where(database, text, schema)


@pytest.mark.parametrize("value", [None, 5, True, b"a = 1", ["a = 1"], {"a": 1}])
def test_not_a_text(database: Database, value: object) -> None:
    with pytest.raises(PredicateError, match="expected a predicate"):
        parse_where(database, value, SCHEMA)  # type: ignore[arg-type]


LARGE = {
    "a megabyte of digits": "a = " + "9" * 10**6,
    "a megabyte of text": "name = '" + "x" * 10**6 + "'",
    "a megabyte of terms": " OR ".join(["a = 1"] * 120_000),
    "a megabyte of parentheses": "(" * 10**6,
    "many digits": "a = " + "9" * 90_000,
    "many terms": " OR ".join(["a = 1"] * 3_000),
    "many items": f"a IN ({', '.join(['1'] * 10_001)})",
    "many parentheses": "(" * 2_000 + "a = 1" + ")" * 2_000,
    "open parentheses": "(" * 90_000,
    "many negations": "NOT " * 2_000 + "ok",
    "some negations": "NOT " * 60 + "ok",
    "many comparisons": "a" + " = a" * 6_000,
    "many minus signs": "a = " + "-" * 1 + " -" * 5_000 + "1",
    "nested lists": "a IN " + "[" * 3_000 + "]" * 3_000,
    "nested both ways": "(ok OR NOT (ok AND " * 400 + "ok" + "))" * 400,
    "many quotes": "name = " + "'" * 50_001,
    "many comments": "/*" * 40_000,
}


@pytest.mark.heavy
@pytest.mark.parametrize("kind", LARGE)
def test_large_texts_are_refused_at_once(database: Database, kind: str) -> None:
    started = time.process_time()  # other work on the machine does not count
    with pytest.raises(PredicateError) as caught:
        parse_where(database, LARGE[kind], SCHEMA)
    assert len(str(caught.value)) < 500
    assert time.process_time() - started < 10


def test_the_nearest_column_is_named(database: Database) -> None:
    with pytest.raises(UnknownColumnError, match="there is no column 'nmae'; the nearest is 'name'"):
        parse_where(database, "nmae = 'x'", SCHEMA)


def test_refusals_read_no_row() -> None:
    """The parser gets a database without the table: it could not read a row if it wanted to."""
    with Database() as database:
        before = database.rows("SELECT table_name FROM duckdb_tables()")
        for text in REFUSED[:40]:
            with pytest.raises(DpdbError):
                parse_where(database, text, SCHEMA)
        assert before == database.rows("SELECT table_name FROM duckdb_tables()") == []
