"""Statements that try to use up time, memory, disk or patience, or to see or change what is outside.

`EXHAUSTING` are written by hand; `hostile` makes one per seed, by calling one of DuckDB's functions with odd arguments.
`big` is a public table of many wide rows (`k`, `g`, `t`), `states` a small one.
"""

from __future__ import annotations

import random
from functools import cache

import duckdb

__all__ = ["EXHAUSTING", "hostile", "number_of_functions"]

_DOUBLING = ", ".join(
    f"w{k} AS (SELECT * FROM w{k - 1} a, w{k - 1} b)" if k else "w0 AS (SELECT 1 AS x)" for k in range(24)
)
_MANY_STATES = ", ".join(f"states s{k}" for k in range(24))

_LONG = "lpad('x', 100000000, 'y')"

# What is tried, and the statement.
EXHAUSTING = {
    "one huge text": "SELECT printf('%*d', 1000000000, 1)",
    "a huge text by format": "SELECT format('{:>1000000000}', 1)",
    "doubling CTEs": f"WITH {_DOUBLING} SELECT count(*) FROM w23",
    "all pairs of wide rows": "SELECT * FROM big a, big b",
    "an equal join of wide rows": "SELECT count(*) FROM big a JOIN big b ON a.g = b.g WHERE a.t < b.t",
    "a sort of many texts": "SELECT a.t || b.t FROM big a JOIN big b ON a.g = b.g ORDER BY 1",
    "texts of 100 MB together": f"SELECT string_agg({_LONG}, {_LONG}) FROM states a, states b, states c, states d",
    "a list of texts of 100 MB": f"SELECT list({_LONG}) FROM states a, states b, states c",
    "many long texts": "SELECT lpad('x', 100000, t) FROM big",
    "many long texts that are not shown": "SELECT sum(length(lpad('x', 100000, t))) FROM big a, states b, states c",
    "a constant of many MB": f"SELECT {', '.join(['lpad(repeat(1::TEXT, 9), 50000000, 0::TEXT)'] * 30)}",
    "counting for ever": "WITH RECURSIVE r AS (SELECT 1 x UNION ALL SELECT x + 1 FROM r) SELECT count(*) FROM r",
    "doubling for ever": "WITH RECURSIVE r AS (SELECT 'x' x UNION ALL SELECT x || x FROM r) SELECT max(x) FROM r",
    "a long range": "SELECT count(*) FROM range(1000000000000)",
    "a range of rows": "SELECT * FROM range(1000000000000)",
    "a range as a list": "SELECT range(1000000000)",
    "a huge limit": "SELECT a.t, b.t FROM big a, big b LIMIT 9223372036854775807 OFFSET 1000",
    "deep parentheses": f"SELECT {'(' * 20_000}1{')' * 20_000}",
    "deep subqueries": f"SELECT * FROM {'(SELECT * FROM ' * 3_000}states{')' * 3_000}",
    "deep signs": f"SELECT {'- ' * 30_000}1",
    "a long sum": f"SELECT 1{'+1' * 30_000}",
    "many unions": f"SELECT 1{' UNION ALL SELECT 1' * 3_000}",
    "many columns": f"SELECT {', '.join(['1'] * 20_000)}",
    "a regular expression that counts": "SELECT regexp_matches(lpad('', 1000000, 'a'), '((a{0,30}){0,30}){0,30}b')",
    "a regular expression that backtracks": "SELECT regexp_matches(lpad('', 10000000, 'a'), '((a|aa)*)*b') FROM big",
    "replacing by more": "SELECT length(replace(lpad('', 1000000, 'a'), 'a', lpad('', 100000, 'b')))",
    "lists of lists": "SELECT list_transform(range(10000000), lambda x: range(1000))",
    "few bytes, many values": "SELECT list(true) FROM big a, states b, states c, states d",
    "structs of structs": "SELECT {'a': big, 'b': {'a': big, 'b': [big, big, big]}} FROM big, states",
    "many joins": f"SELECT count(*) FROM {_MANY_STATES}",
    "many groupings": "SELECT count(*) FROM big GROUP BY CUBE (k, g, t, k + 1, g + 1, k + 2, k + 3, k + 4)",
    "a wide window": "SELECT string_agg(t, ',') OVER (ORDER BY k) FROM big",
    "a moving window": "SELECT quantile_cont(k, 0.5) OVER (ORDER BY t ROWS 250000 PRECEDING) FROM big",
    "a join by inequality": "SELECT count(*) FROM big a JOIN big b ON a.k < b.g AND a.t < b.t",
    "sleeping": "SELECT sleep_ms(100000)",
    "a long date format": f"SELECT strftime(DATE '2020-01-01', '{'%A' * 20_000}') FROM big",
}

_TEMPLATES = """
    SELECT {call} | SELECT {call} FROM states | SELECT {call} FROM big | FROM {call} | SELECT * FROM {call} t, big
    SELECT {call} OVER (ORDER BY k) FROM big | SELECT count(*) FROM big WHERE {call} IS NULL | SELECT [{call}, {call}]
    WITH c AS (SELECT {call} AS x) SELECT a.x, b.x FROM c a, c b | SELECT {call} FROM big a, states b LIMIT 3
    SELECT list({call}) FROM big | SELECT {call} GROUP BY {call} | CALL {call} | EXPLAIN SELECT {call}
"""
# By a word in the name of a parameter's type.
_ARGUMENTS = {
    "VARCHAR": """'' | 'x' | t | '/etc/passwd' | '/proc/self/environ' | 'PATH' | 'visits' | '../visits.parquet' | 'year'
        'FROM visits' | '%99999999d' | '(a*)*b' | lpad('', 10000000, 'ab') | 'memory_limit' | '{"a": [1]}' | 'states'
        repeat('ab', 100000000)""",
    "INT": "k | g | -1 | 0 | 7 | 2147483647 | 9223372036854775807 | 3000000000 | -9223372036854775808",
    "DOUBLE": "k | 0.5 | -1e-308 | 1e308 | 'NaN'::DOUBLE | 'inf'::DOUBLE",
    "FLOAT": "0.5 | 'NaN'::FLOAT",
    "DECIMAL": "1::DECIMAL(38, 37) | 0.1",
    "[]": "[1, 2, 3] | range(1000000) | [[1], NULL] | ['a', t] | []",
    "DATE": "DATE '290000-01-01' | DATE '2020-02-29'",
    "TIME": "TIMESTAMP 'infinity' | TIMESTAMP '2020-02-29 23:59:59' | TIME '24:00:00'",
    "INTERVAL": "INTERVAL 99 YEAR | INTERVAL (-1) MONTH | INTERVAL 178000000 YEAR",
    "BLOB": r"'\xFF\x00'::BLOB | 'x'::BLOB",
    "BOOLEAN": "true | k > 3",
    "STRUCT": "{'a': 1, 'b': [t]}",
    "MAP": "MAP {'a': 1} | MAP {k: t}",
    "LAMBDA": "lambda x: x | lambda x, y: x + y | lambda x: range(1000000)",
    "": "NULL | 'x' | t | k | 0 | [1, 2] | {'a': 1} | * | (SELECT max(t) FROM big) | 'a\x00b' | DATE '2020-01-01'",
}
_WRONG_TYPE = 0.15


def _choices(text: str) -> list[str]:
    return [choice.strip() for line in text.strip().splitlines() for choice in line.split(" | ")]


@cache
def _functions() -> list[tuple[str, list[str]]]:
    """Every function that DuckDB has, in each of its forms: its name and the types of its parameters."""
    with duckdb.connect() as connection:
        rows = connection.execute(
            "SELECT DISTINCT function_name, list_transform(parameter_types, lambda t: coalesce(t, '')) "
            "FROM duckdb_functions() ORDER BY ALL"
        ).fetchall()
    return [(name, types) for name, types in rows if name.isidentifier()]


def number_of_functions() -> int:
    return len(_functions())


def hostile(seed: int) -> str:
    """Return one statement; consecutive seeds call consecutive functions."""
    chance = random.Random(seed)
    name, types = _functions()[seed % len(_functions())]
    arguments = []
    for kind in types:
        word = next(word for word in _ARGUMENTS if word in kind)
        arguments.append(chance.choice(_choices(_ARGUMENTS["" if chance.random() < _WRONG_TYPE else word])))
    call = f"{name}({', '.join(arguments)})"
    return chance.choice(_choices(_TEMPLATES)).format(call=call)
