"""Random predicates over a table of extreme values: each row has the value of our own database, or they are refused."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
from sqlglot import exp

from dpdb.errors import PredicateError
from dpdb.opening import open_local_table, open_table
from dpdb.remote import GatheredTable

NAN, INF = float("nan"), float("inf")
COLUMNS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "h": (pa.int16(), [0, 1, -1, 32767, -32768]),
    "i": (pa.int64(), [0, 1, 2, 2**53, 2**53 + 1, 2**63 - 1, -(2**63), -7]),
    "f": (pa.float32(), [0.0, -0.0, 1.5, 0.1, NAN, INF, 16777216.0]),
    "x": (pa.float64(), [0.0, -0.0, 0.1, NAN, INF, -INF, 5e-324, 1e300, 2.0**53]),
    "d": (pa.decimal128(6, 2), [Decimal(text) for text in ("0.00", "1.10", "-3.25", "9999.99", "0.10")]),
    "e": (
        pa.decimal128(15, 7),
        [Decimal(text) for text in ("0.1000000", "12345678.9012345", "-1.0000000", "2.0000000")],
    ),
    "s": (
        pa.string(),
        ["", "a", "A", " a ", "a ", "é", "e\u0301", "\U0001f600", "\uffff", "10", "a%b", "a\\b", "a\nb"],
    ),
    "t": (pa.string(), ["a", "aa", "é", "\U0001f600\U0001f600", "  ", "_", "\t"]),
    "c": (pa.date32(), [date(1, 1, 1), date(1582, 10, 10), date(1970, 1, 1), date(2026, 3, 29), date(9999, 12, 31)]),
    "m": (
        pa.timestamp("us"),
        [datetime(1600, 1, 1), datetime(1969, 12, 31, 23, 59, 59, 999999), datetime(2026, 3, 29)],
    ),
    "z": (pa.timestamp("us", "UTC"), [datetime(1970, 1, 1, tzinfo=UTC), datetime(2026, 3, 29, 1, 30, tzinfo=UTC)]),
    "b": (pa.bool_(), [True, False]),
}
NUMBERS = [
    *("0", "1", "-1", "2.5", "0.1", "1.10", "40000", "9007199254740993", "9223372036854775808", "0.123456789", "1e3"),
    *("100000000000000000000", "-0.0", "12345678.9012345"),
]
TEXTS = ["''", "'a'", "'A'", "'é'", "'\U0001f600'", "'a\\b'", "'it''s'", "'${x}'", "' '", "'\uffff'"]
CONSTANTS = {
    **dict.fromkeys("hifxde", NUMBERS),
    **dict.fromkeys("st", TEXTS),
    "c": ["DATE '1970-01-01'", "'2026-03-29'", "'2026-03-29 12:00:00'", "DATE '1582-10-10'"],
    "m": ["TIMESTAMP '1600-01-01 00:00:00'", "'2026-03-29'", "'1969-12-31 23:59:59.999999'"],
    "z": ["'2026-03-29 01:30:00'", "'2026-03-29 03:30:00+02'", "'1970-01-01'"],
    "b": ["true", "false"],
}
PATTERNS = ["%", "a%", "%a", "_", "__", "a\\_b", "a\\%", "%\n%", "[a]%", "é%", "!%", "a%b", ".*", "%!%%"]
TERMS = [
    *("length(s)", "length(trim(t))", "i + 1", "h * h", "i - h", "abs(h)", "abs(i - h) * 3", "i * h + 7"),
    *("year(c)", "month(m)", "day(c)", "EXTRACT(year FROM CAST(m AS DATE))", "year(c) * 100 + month(c)"),
    *("coalesce(i, h)", "coalesce(h, 7) + 1", "CAST(h AS BIGINT)", "CAST(i AS DECIMAL(25, 3))", "CAST(h AS DOUBLE)"),
    *("year(coalesce(CAST(m AS DATE), c))", "coalesce(length(s), i, -1)", "coalesce(d, e)", "CAST(i AS SMALLINT)"),
]
TEXT_TERMS = ["trim(s)", "trim(t)", "coalesce(s, t)", "coalesce(s, 'a')"]
DATE_TERMS = [
    *("CAST(m AS DATE)", "coalesce(c, m)", "coalesce(CAST(m AS DATE), c)", "make_date(2020, h, day(c))"),
    *("make_date(year(c), coalesce(month(m), 6), 31)", "make_date(i, 2, 29)", "make_date(h + 2000, 1, coalesce(h, 1))"),
    *("CAST(c AS TIMESTAMP)", "CAST(z AS DATE)", "CAST(s AS DATE)"),
]
PAIRS = ["h {} i", "i {} x", "f {} x", "d {} e", "h {} d", "d {} x", "s {} t", "c {} m", "m {} z", "i + h {} length(s)"]
PAIRS += ["c + 1 {} m", "c - 7 {} c + 1", "c - 1000000 {} z", "(c + 31) - 1 {} c"]
OPERATORS = ["=", "<>", "<", "<=", ">", ">="]


def _leaf(rng: random.Random) -> str:  # noqa: PLR0911 - one line per kind
    name = rng.choice(list(COLUMNS))
    constants = CONSTANTS[name]
    match rng.choice(
        ["compare", "compare", "compare", "in", "between", "null", "like", "term", "text", "date", "pair", "pair"]
    ):
        case "compare":
            return f"{name} {rng.choice(OPERATORS)} {rng.choice(constants)}" if name != "b" else "b"
        case "in":
            return f"{name} IN ({', '.join(rng.sample(constants, 2))})"
        case "between" if name != "b":
            return f"{name} BETWEEN {rng.choice(constants)} AND {rng.choice(constants)}"
        case "null":
            return f"{name} IS NOT NULL"
        case "like":
            return f"{rng.choice(['s', 't', *TEXT_TERMS])} LIKE '{rng.choice(PATTERNS)}'"
        case "term":
            return f"{rng.choice(TERMS)} {rng.choice(OPERATORS)} {rng.choice(NUMBERS[:8])}"
        case "date":
            return f"{rng.choice(DATE_TERMS)} {rng.choice(OPERATORS)} {rng.choice([*CONSTANTS['c'], 'c', 'm'])}"
        case "text":
            return f"{rng.choice(TEXT_TERMS)} {rng.choice(OPERATORS)} {rng.choice(CONSTANTS['s'])}"
        case _:
            return rng.choice(PAIRS).format(rng.choice(OPERATORS))


def predicate(rng: random.Random) -> str:
    """Return one, of few parts."""
    parts = [_leaf(rng) if rng.random() < 0.8 else f"NOT ({_leaf(rng)})" for _ in range(rng.choice([1, 1, 2, 3]))]
    return f" {rng.choice(['AND', 'OR'])} ".join(f"({part})" for part in parts)


@dataclass
class ComparedPredicates:
    """What came of predicates.

    Attributes
    ----------
    tried, telling : int
        Predicates that were admitted, and those of them that have two values or more.
    refused : list of str
        Why others were not, in the engine's name.
    """

    tried: int = 0
    telling: int = 0
    refused: list[str] = field(default_factory=list)
    different: list[str] = field(default_factory=list)


_ROWS = 400


def extreme_rows(seed: int, lacks: Callable[[pa.DataType], bool] = lambda _: False, count: int = _ROWS) -> pa.Table:
    """Make rows of extreme values.

    Parameters
    ----------
    count
        How many rows.
    """
    rng = random.Random(seed)
    made: dict[str, pa.Array] = {
        name: pa.array([rng.choice([*values, None]) for _ in range(count)], kind)
        for name, (kind, values) in COLUMNS.items()
        if not lacks(kind)
    }
    return pa.table({"id": list(range(count)), **made})


def compared_predicates(
    rows: pa.Table, remote: Any, table: str | None = None, *, seed: int, most: int
) -> ComparedPredicates:
    """Compare predicates; each is a column of one query, so that an engine plans once."""
    rng, found = random.Random(seed), ComparedPredicates()
    with open_local_table(rows) as here, open_table(remote, table=table) as there:
        trees: dict[str, exp.Expr] = {}
        while len(trees) < most:
            text = predicate(rng)
            try:
                trees[text] = there.where(text).condition
            except PredicateError as error:
                found.refused.append(str(error))
        named = [exp.alias_(tree, f"p{number}") for number, tree in enumerate(trees.values())]
        asked = exp.select("id", *named)
        assert isinstance(there, GatheredTable)
        answer = there.answer_to(asked.copy()).sort_by("id")
        wanted = pa.Table.from_batches(list(here.database.stream(asked.from_(here.rows.scan)))).sort_by("id")
        for number, text in enumerate(trees):
            ours = wanted[f"p{number}"].to_pylist()
            found.tried += 1
            found.telling += len(set(ours)) > 1
            if answer[f"p{number}"].to_pylist() != ours:
                found.different.append(text)
    return found
