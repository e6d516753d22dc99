"""Arithmetic and functions are total: at the ends of every type they give a value or NULL, and the value is right."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from datetime import date
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import pytest
from random_predicates import DECIMALS, FLOATS, INTEGERS, KINDS, MOMENTS, NUMBERS, TEXTS, pool
from sqlglot import exp

from dpdb.database.database import Database
from dpdb.engine.sql.comparison import common_type
from dpdb.engine.sql.input_rows import read_columns
from dpdb.errors import PredicateError
from dpdb.predicates import Column, Term, equality_type, term_sql
from dpdb.predicates.terms import arithmetic, call, cast, first_known, made_date
from dpdb.schema import Column as TableColumn, TableSchema, comparison_type
from dpdb.sources.source import Source

SIGNS = ["+", "-", "*", "/", "//", "%"]
FUNCTIONS = ("lower", "upper", "trim", "length", "abs")
ADDED_TO_TIMES = ["INTEGER", "BIGINT", "UHUGEINT", "INTERVAL", *MOMENTS]
ODD_INTERVALS = ["2147483647 months", "-2147483648 months", "2147483647 days", "9223372036854775807 microseconds"]


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    with Database(threads=1) as opened:
        yield opened


def edges(kind: str) -> list[str]:
    """Few texts of values of a type, with the ends of its range."""
    if kind in INTEGERS:
        low, high = INTEGERS[kind]
        return [str(value) for value in {low, low + 1, high - 1, high, 0, 1, 7, max(low, -7), max(low, -1)}]
    if kind.startswith("DECIMAL"):
        width, scale = map(int, kind[8:-1].split(","))
        most = Decimal(10**width - 1).scaleb(-scale, Context(prec=80))
        return [f"{most:f}", f"{-most:f}", "0", "0.1", "-0.00001", "1", "7.5", "-7"]
    if kind == "INTERVAL":
        return ["1 month", "-30 days", "00:00:00", *ODD_INTERVALS]
    times = [
        "290309-12-22 (BC) 00:00:00",
        "294247-01-10 04:00:54",
        "infinity",
        "-infinity",
        "5881580-07-10",
        "0001-01-01",
    ]
    return [*times, "2020-02-29 12:00:00.5", "1970-01-01", "2262-04-11"] if kind in MOMENTS else list(pool(kind))[:25]


def flat(database: Database, kinds: list[str]) -> list[Column]:
    """A table `flat` of all combinations of edges and NULL, read as a release reads it; its columns."""
    for name in ("raw", "flat"):
        database.execute(f"DROP TABLE IF EXISTS {name}")
    parts = []
    for place, kind in enumerate(kinds):
        texts = ", ".join("(" + exp.Literal.string(text).sql("duckdb") + ")" for text in edges(kind))
        parts.append(f"(SELECT TRY_CAST(v AS {kind}) AS c{place} FROM (VALUES {texts}, (NULL)) AS t(v))")
    database.execute(f"CREATE TABLE raw AS SELECT * FROM {' CROSS JOIN '.join(parts)}")
    schema = TableSchema(tuple(TableColumn(*described) for described in database.describe("SELECT * FROM raw")))
    read_columns(database, Source("edges", schema, exp.to_table("raw")), set(schema.names), exp.to_table("flat"))
    return [Column(column.name, column.type or "") for column in schema.columns]


def typed(make: Any) -> Term | None:
    try:
        return make()
    except PredicateError:
        return None


def values(database: Database, terms: list[Term], columns: list[Column]) -> list[tuple[Any, ...]]:
    """Columns, then terms, of every row; each term also where WHERE looks at it, and in the type that was promised."""
    written = [term_sql(term) for term in terms]
    kinds = database.rows(exp.select(*(exp.func("typeof", term.copy()) for term in written)).from_("flat").limit(1))
    assert [comparison_type(kind) for kind in kinds[0]] == [term.type for term in terms]
    shown = [exp.cast(exp.column(column.name), "VARCHAR", dialect="duckdb") for column in columns]
    kept = exp.or_(*(exp.Is(this=term.copy(), expression=exp.null()) for term in written), exp.true())
    cells = [exp.cast(term, "VARCHAR", dialect="duckdb") for term in written]
    return database.rows(exp.select(*shown, *cells).from_("flat").where(kept))


PAIRS = [*itertools.product(NUMBERS, NUMBERS), *itertools.product(MOMENTS, ADDED_TO_TIMES)]


@pytest.mark.heavy
@pytest.mark.parametrize("part", range(4))
def test_arithmetic_is_total_and_exact(database: Database, part: int) -> None:
    """All pairs of types; a fourth of the numbers' unless slow tests run too."""
    for left, right in PAIRS[part::16] if part < 3 else PAIRS[len(NUMBERS) ** 2 :]:
        check_pair(database, left, right)


@pytest.mark.slow
def test_arithmetic_of_all_pairs_of_types_is_total_and_exact(database: Database) -> None:
    for left, right in PAIRS:
        check_pair(database, left, right)


def check_pair(database: Database, left: str, right: str) -> None:
    one, two = flat(database, [left, right])
    terms = {sign: term for sign in SIGNS if (term := typed(lambda sign=sign: arithmetic(sign, one, two))) is not None}
    assert terms or (left in MOMENTS and right in INTEGERS)
    if not terms:
        return
    for first, second, *found in values(database, list(terms.values()), [one, two]):
        for (sign, term), value in zip(terms.items(), found, strict=True):
            if None in (first, second):
                assert value is None, (left, sign, right)
            elif left not in (*FLOATS, *MOMENTS) and right not in FLOATS and sign != "/":
                assert_exact(term, sign, Fraction(first), Fraction(second), value)


def assert_exact(term: Any, sign: str, first: Fraction, second: Fraction, value: str | None) -> None:
    scale = 0 if term.type == "HUGEINT" else int(term.type[8:-1].split(",")[1])
    if sign in ("//", "%") and second == 0:
        assert value is None
        return
    quotient = first / second if sign in ("//", "%") else Fraction(0)
    whole = abs(quotient.numerator) // quotient.denominator * (-1 if quotient < 0 else 1)  # toward zero
    exact = {
        "+": first + second, "-": first - second, "*": first * second,
        "//": Fraction(whole), "%": first - whole * second,
    }[sign]  # fmt: skip
    if value is not None:
        assert Fraction(value) == exact, (sign, first, second, value)
        return
    most = Fraction(2**127) if term.type == "HUGEINT" else Fraction(10**38, 10**scale)
    sides = [(first, term.left_as), (second, term.right_as)]
    assert abs(exact) >= most - 1 or any(abs(side) >= room(kind) - 1 for side, kind in sides), (sign, first, second)


def room(kind: str) -> Fraction:
    return Fraction(2**127) if kind == "HUGEINT" else Fraction(10**38, 10 ** int(kind[8:-1].split(",")[1]))


@pytest.mark.heavy
@pytest.mark.parametrize("kind", KINDS)
def test_functions_are_total(database: Database, kind: str) -> None:
    (column,) = flat(database, [kind])
    terms = [term for name in FUNCTIONS if (term := typed(lambda name=name: call(name, column))) is not None]
    is_text = equality_type(column.type) == "VARCHAR"
    assert bool(terms) is (kind in NUMBERS or is_text)
    for cell, *found in values(database, terms, [column]) if terms else ():
        assert cell is not None or not any(found)
        if is_text and cell is not None:
            assert found[2:] == [cell.strip(" "), str(len(cell))]
            assert found[:2] == [
                database.value(f"SELECT {name}({exp.Literal.string(cell).sql('duckdb')})") for name in FUNCTIONS[:2]
            ]
        elif kind in INTEGERS and cell is not None:
            assert found == [str(abs(int(cell))) if abs(int(cell)) < 2**127 else None]


TARGETS = [*INTEGERS, "DECIMAL(4,2)", "DECIMAL(38,10)", "FLOAT", "DOUBLE", "DATE", "TIMESTAMP", "VARCHAR"]


@pytest.mark.heavy
@pytest.mark.parametrize("kind", KINDS)
def test_casts_are_total(database: Database, kind: str) -> None:
    """Values that the wanted type has stay what they are, all others are NULL."""
    (column,) = flat(database, [kind])
    made = {to: term for to in TARGETS if (term := typed(lambda to=to: cast(column, to))) not in (None, column)}
    assert bool(made) is (kind in (*NUMBERS, *MOMENTS, *TEXTS, "BOOLEAN"))
    for cell, *found in values(database, list(made.values()), [column]) if made else ():
        for to, value in zip(made, found, strict=True):
            if cell is None:
                assert value is None
            elif kind in INTEGERS and to in INTEGERS:
                low, high = INTEGERS[to]
                assert value == (cell if low <= int(cell) <= high else None)
            elif kind in INTEGERS and to.startswith("DECIMAL"):
                assert value is None or Fraction(value) == int(cell)
                assert value is not None or abs(int(cell)) >= (10**2 if "4,2" in to else 10**28)
            elif to == "VARCHAR" and kind not in TEXTS:
                assert value == cell
            elif kind in TEXTS and to in INTEGERS and cell.isascii() and cell.isdecimal():
                assert value == str(int(cell))
            elif kind == "TIMESTAMP" and to == "DATE":
                assert value == (
                    cell if "infinity" in cell else cell[:-8].strip() if "(BC)" in cell else cell.split(" ")[0]
                )


@pytest.mark.parametrize("kind", MOMENTS)
def test_parts_of_dates(database: Database, kind: str) -> None:
    (column,) = flat(database, [kind])
    terms = [call(name, column) for name in ("year", "month", "day")]
    for cell, *found in values(database, terms, [column]):
        if cell is None or "infinity" in cell:
            assert found == [None, None, None]
            continue
        year, month, day = cell.split(" ")[0].split("-")
        assert found == [str(1 - int(year) if "(BC)" in cell else int(year)), str(int(month)), str(int(day))]


def test_made_dates_are_those_of_the_calendar(database: Database) -> None:
    years = [-1, 0, 1, 4, 100, 400, 1582, 1700, 1900, 2000, 2019, 2020, 2100, 9999, 10000, 2**63, -(2**127), 2**127 - 1]
    months, days = [*range(-1, 15), 2**64], [-1, 0, 1, 2, 28, 29, 30, 31, 32, 2**100]
    given = ", ".join(f"({year})" for year in [*years, "NULL"])
    database.execute(
        "CREATE OR REPLACE TABLE flat AS SELECT y::HUGEINT AS y, m::HUGEINT AS m, d::HUGEINT AS d "
        f"FROM (VALUES {given}) "
        f"AS a(y), (VALUES {', '.join(f'({m})' for m in [*months, 'NULL'])}) AS b(m), "
        f"(VALUES {', '.join(f'({d})' for d in [*days, 'NULL'])}) AS c(d)"
    )
    columns = [Column(name, "HUGEINT") for name in "ymd"]
    found = values(database, [made_date(columns)], columns)
    assert len(found) == (len(years) + 1) * (len(months) + 1) * (len(days) + 1)
    for year, month, day, value in found:
        try:
            wanted = str(date(int(year), int(month), int(day)))
        except (TypeError, ValueError, OverflowError):
            wanted = None
        assert value == wanted


def test_the_first_value_that_is_known(database: Database) -> None:
    """In the common type, of numbers by value and of enumerations as text; a value that it has not is none."""
    for kinds in (
        ["INTEGER", "UBIGINT", "DECIMAL(9,9)"],
        ["DATE", "TIMESTAMP"],
        ["VARCHAR", TEXTS[1]],
        ["BOOLEAN"] * 2,
    ):
        columns = flat(database, kinds)
        term = first_known(columns, common_type)
        taken = [f"TRY(CAST({each.name} AS {term.type}))::VARCHAR" for each in columns]
        found = [row[-1] for row in values(database, [term], columns)]
        wanted = database.rows(f"SELECT {', '.join(taken)} FROM flat")
        assert found == [next((cell for cell in row if cell is not None), None) for row in wanted]


def test_only_spaces_are_trimmed_and_code_points_counted(database: Database) -> None:
    database.execute("CREATE OR REPLACE TABLE flat AS SELECT chr(9) || ' e' || chr(769) || chr(160) || '  ' AS c")
    terms = [call(name, Column("c", "VARCHAR")) for name in ("trim", "length")]
    assert values(database, terms, []) == [("\t e\u0301\xa0", "7")]


def test_settings_have_no_say(database: Database) -> None:
    terms = [
        arithmetic("/", Column("a", "DOUBLE"), Column("b", "DOUBLE")),
        arithmetic("-", Column("d", "DATE"), Column("t", "INTEGER")),
    ]
    database.execute(
        "CREATE OR REPLACE TABLE flat AS SELECT 1::DOUBLE a, 0::DOUBLE b, 7::INTEGER t, DATE '2024-03-04' d"
    )
    usual = values(database, terms, [])
    assert usual == [(None, "2024-02-26")]
    with Database(threads=1) as other:
        other.execute("SET ieee_floating_point_ops = false; SET integer_division = true; SET TimeZone = 'Asia/Tokyo'")
        other.execute("CREATE TABLE flat AS SELECT 1::DOUBLE a, 0::DOUBLE b, 7::INTEGER t, DATE '2024-03-04' d")
        assert values(other, terms, []) == usual


def test_decimals_without_room_are_refused() -> None:
    wide = Column("a", DECIMALS[-1])
    with pytest.raises(PredicateError, match=r"'a \* a' is not defined for DECIMAL\(38,38\)"):
        arithmetic("*", wide, wide)
