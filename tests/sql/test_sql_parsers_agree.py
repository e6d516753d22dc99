"""What DuckDB's own parser sees in the SQL that runs: nothing but answers, public tables and functions without reach.

The decision is made on one parser's tree and the statement is run by another. Whatever is admitted, among it thousands
of legitimate statements with a piece of an attack spliced in, is read again by the second parser.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from typing import Any

import duckdb
import pytest
from attack_statements import ATTACKS
from legitimate_statements import CASES

from dpdb.doors.sql import FrontEnd, Spoken, postgres_macros
from dpdb.errors import DpdbError

PIECES = [
    "visits", "frame", "duckdb_settings()", "read_csv('x')", "query('FROM visits')", "getvariable('x')",
    "sqlite_master", "(SELECT pay FROM visits)", "'x.parquet'", "current_user", "random()", "/* */", "--\n", ";", "'",
    '"', "$$", "\\", "*", "visits.*", "(FROM visits)", "UNION ALL FROM visits", ", visits", "JOIN visits ON true",
    "WITH v AS (FROM visits)", "x -> x", "COLUMNS(*)", "\u00a0", "::VISITS", ".query()", "[1:2]", "EXCLUDE (x)",
    "AS visits", "OVER ()", "{'a': 1}", "LATERAL", "FILTER (WHERE 1 IN (FROM visits))", "E'\\''", "0x1F", "1e", "?",
    "$1", "@x", "#1", "!", "main.", "answers.", "answers.release_1", "release_1", "dp_count", "dp_count('visits', 1)",
    ":= 1", "=> (FROM visits)", "VALUES (1)", "(", ")",
]  # fmt: skip
# What only PostgreSQL has: files, settings, other databases, SQL in text, and its quotes.
OF_POSTGRES = [
    "pg_read_file('x')", "pg_ls_dir('.')", "lo_import('x')", "current_setting('x')", "dblink('x', 'SELECT 1')",
    "query_to_xml('FROM visits', true, false, '')", "pg_catalog.pg_class", "pg_class", "information_schema.tables",
    "public.visits", '"public"."visits"', "public.", "other.public.states", "public.read_csv('x')", "::regclass",
    "E'\\''", "E'\\' -- '", "U&'\\0041'", "$a$ $$ $a$", "OPERATOR(pg_catalog.+)", "/* /* */ visits */", "FOR UPDATE",
    "FETCH FIRST 1 ROWS ONLY", "TABLESAMPLE SYSTEM (1)", "SIMILAR TO '%'", "~ 'a'", "now()", "pg_sleep(1)", "LIMIT ALL",
    "as_pg_div(1, 0)", "of_pg_version()", "nextval('x')", "ROW(1)", "ROWS FROM (visits)", "COPY visits TO 'x'",
    "(1, 2) < (3, NULL)", "ROW(1, 2) = (1, 2)", "(1, 2) IN ((1, 2))", "ARRAY[1]", "string_agg(DISTINCT state, ',')",
    "array_agg(DISTINCT people)", "::numeric", "date '2020-01-01'::text", "= ANY(ARRAY[1])", "+ 1", "coalesce(1, 'a')",
    "1 / 0", "round(1.5)", "substr('a', -1)", "LIKE 'a'", "::text", "||", "public.dp_count('visits')", "B'1'", "X'1F'",
]  # fmt: skip
TOKEN = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|\w+|\s+|.", re.DOTALL)


def nodes(tree: Any) -> Iterator[dict[str, Any]]:
    if isinstance(tree, dict):
        yield tree
    for child in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from nodes(child)


@pytest.fixture(scope="module")
def reader() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        yield connection


@pytest.fixture(scope="module")
def without_reach(reader: duckdb.DuckDBPyConnection) -> frozenset[str]:
    """Functions that DuckDB itself calls consistent, and its aggregate and window functions.

    With a time of a time zone they are consistent within a query since DuckDB 2.0.1, because they depend on the zone
    that is set; `age` depends on the day, too.
    """
    rows = reader.execute(
        "SELECT function_name FROM duckdb_functions() GROUP BY function_name HAVING function_name != 'age' AND "
        "bool_and(function_type IN ('scalar', 'aggregate', 'macro', 'window') AND "
        "(coalesce(stability, 'CONSISTENT') = 'CONSISTENT' OR stability = 'CONSISTENT_WITHIN_QUERY' AND "
        "array_to_string(parameter_types, ' ') SIMILAR TO '.*TIMESTAMP(TZ_NS| WITH TIME ZONE).*'))"
    ).fetchall()
    return frozenset(name for (name,) in rows)


def check(query: str, reader: duckdb.DuckDBPyConnection, without_reach: frozenset[str]) -> bool:
    """Check what DuckDB sees; False if it cannot read the query, which the rehearsal then refuses."""
    [(text,)] = reader.execute("SELECT json_serialize_sql(?::VARCHAR)", [query]).fetchall()
    document = json.loads(text)
    if document["error"]:
        return False
    assert len(document["statements"]) == 1
    found = list(nodes(document))
    named = {node["key"] for node in found if isinstance(node.get("value"), dict) and "query_node" in node["value"]}
    readable = {("answers", f"release_{k}") for k in range(1, 20)} | {("", name) for name in named}
    readable |= {("", "states"), ("", "rates")}
    for node in found:
        if node.get("type") == "BASE_TABLE":
            assert node["catalog_name"] == ""
            assert (node["schema_name"], node["table_name"].lower()) in {(s, n.lower()) for s, n in readable}, query
            assert node["at_clause"] is None
        if node.get("type") == "TABLE_FUNCTION":
            assert node["function"]["function_name"] == "unnest", query
        if node.get("class") in ("FUNCTION", "WINDOW"):
            name = node["function_name"]
            assert node["schema"] == ""
            assert name in without_reach or name in ("unnest", "struct_pack", "list_value", "row"), (name, query)
        assert node.get("class") not in ("PARAMETER", "LAMBDA", "POSITIONAL_REFERENCE"), query
        assert node.get("sample") is None
    return True


@pytest.mark.heavy(family="alone")
def test_legitimate_statements(
    front_end: FrontEnd, reader: duckdb.DuckDBPyConnection, without_reach: frozenset[str]
) -> None:
    for case in CASES:
        assert check(front_end._checked(case.sql, None, "duckdb").query, reader, without_reach)


def definitions() -> dict[str, str]:
    """The macros by which DuckDB computes as PostgreSQL, by name."""
    return {f"as_pg_{name}": definition for name, definition in postgres_macros.MACROS.items()}


@pytest.mark.heavy(family="long")
def test_macros_read_nothing(
    front_end: FrontEnd, reader: duckdb.DuckDBPyConnection, without_reach: frozenset[str]
) -> None:
    """Each form of each macro is an expression of its arguments, by functions without reach; none calls another."""
    for name, definition in definitions().items():
        connection = reader.cursor()
        connection.execute(f"CREATE OR REPLACE TEMP MACRO {name}{definition}")
        found = connection.execute(
            "SELECT macro_definition, parameters FROM duckdb_functions() WHERE function_name = ?", [name]
        ).fetchall()
        assert found
        for body, parameters in found:
            rows = ", ".join(f"NULL AS {one}" for one in parameters)
            assert check(f"SELECT {body} FROM (SELECT {rows}) AS states", reader, without_reach | {"error"}), name


def spliced(seed: int, pieces: list[str]) -> str:
    """A legitimate statement with a piece of an attack, or some words of another statement, put in it."""
    chance = random.Random(seed)
    words = TOKEN.findall(chance.choice(CASES).sql)
    source = chance.random()
    if source < 0.4:
        piece = chance.choice(pieces)
    else:
        attack = chance.choice(ATTACKS[chance.choice(list(ATTACKS))])
        other = TOKEN.findall(attack if source < 0.6 else chance.choice(CASES).sql)[:200] or [" "]
        start = chance.randrange(len(other))
        piece = "".join(other[start : start + chance.randrange(1, 6)])
    at = chance.randrange(len(words))
    words[at : at + chance.randrange(2)] = [f" {piece} "]
    return "".join(words)


def agree(
    seeds: range, front_end: FrontEnd, reader: duckdb.DuckDBPyConnection, without_reach: frozenset[str], spoken: Spoken
) -> tuple[int, int]:
    pieces = PIECES if spoken == "duckdb" else [*PIECES, *OF_POSTGRES, *OF_POSTGRES]
    known = without_reach if spoken == "duckdb" else without_reach | definitions().keys()
    admitted = refused = 0
    for seed in seeds:
        try:
            checked = front_end._checked(spliced(seed, pieces), None, spoken)
        except DpdbError:
            refused += 1
            continue
        query, defined = checked.query, re.findall(r"^CREATE MACRO (\w+)", checked.macros, re.MULTILINE)
        assert checked.macros == "".join(f"CREATE MACRO {name}{definitions()[name]};\n" for name in defined)
        admitted += check(query, reader, known)
    return admitted, refused


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize("spoken", ["duckdb", "postgres"])
def test_statements_with_a_piece_of_an_attack_in_them(
    front_end: FrontEnd, reader: duckdb.DuckDBPyConnection, without_reach: frozenset[str], spoken: Spoken
) -> None:
    admitted, refused = agree(range(400), front_end, reader, without_reach, spoken)
    assert admitted > 20
    assert refused > 200


@pytest.mark.slow
@pytest.mark.parametrize("spoken", ["duckdb", "postgres"])
def test_many_more_of_them(
    front_end: FrontEnd, reader: duckdb.DuckDBPyConnection, without_reach: frozenset[str], spoken: Spoken
) -> None:
    admitted, refused = agree(range(400, 20_000), front_end, reader, without_reach, spoken)
    assert admitted > 1_000
    assert refused > 10_000
