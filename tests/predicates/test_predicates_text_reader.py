"""The oracle `text_reader`, which has no engine: what DuckDB itself selects for a clause lies in its boxes."""

from __future__ import annotations

import itertools
from random import Random

import pytest
from case_share import of_all
from charge_fuzz import Table
from random_predicates import KINDS
from text_reader import parse_where

from dpdb.database.database import Database
from dpdb.errors import EngineError
from dpdb.predicates import Region
from dpdb.predicates.value_sets import ValueSet


def checked(tables: int, predicates: int) -> tuple[int, int]:
    """Compare as many clauses as DuckDB takes, with the column's type and without; returns rows and pairs compared."""
    rows = pairs = 0
    with Database(threads=1) as database:
        for number in range(tables):
            table = Table(database, Random(f"overlap/{number}"), [KINDS[number % len(KINDS)]])
            read: list[tuple[str, Region, int]] = []
            for text in (table.drawn.predicate() for _ in range(predicates)):
                try:
                    [(places,)] = database.rows(f"SELECT list(place) FILTER (WHERE {text}) FROM flat")
                except EngineError:
                    continue  # DuckDB does not compare these
                typed, selected = parse_where(text, table.types), [table.rows[place] for place in places or ()]
                outside = [row for row in selected if not typed.covers(row)]
                assert not outside, (number, table.types, text, typed.describe(), outside[0])
                rows += len(selected)
                read.append((text, parse_where(text), sum(1 << place for place in places or ())))
            for (one, first, here), (two, second, there) in itertools.combinations(read, 2):
                if here & there:
                    assert first.overlaps(second), (number, table.types, one, two)
                    pairs += 1
    return rows, pairs


def test_what_duckdb_selects_is_covered_and_what_meets_is_not_told_apart() -> None:
    predicates = of_all(30)
    rows, pairs = checked(len(KINDS), predicates)
    assert rows > 5_000
    assert pairs > 3.2 * predicates**2


@pytest.mark.slow
def test_more_of_what_duckdb_selects_is_covered_and_not_told_apart() -> None:
    rows, pairs = checked(20 * len(KINDS), 60)
    assert rows > 300_000
    assert pairs > 200_000


@pytest.mark.parametrize(
    ("kind", "one", "two"),
    [
        ("UHUGEINT", "x = 1152921504606846976", "x = 1152921504606846977"),
        ("HUGEINT", "x < 36028797018963968.5", "x > 36028797018963969"),
        ("DECIMAL(38,2)", "x = 100000000000000000000.005", "x = 100000000000000000000.01"),
        ("BIGINT", "x = 9007199254740992.12345678901234567890", "x = 9007199254740993"),
        ("FLOAT", "x = 0.1", "x > 1e-1"),
        ("BIGINT", "x IN (1152921504606846976, 98E1)", "x = 1152921504606847036"),
        ("BIGINT", "x BETWEEN 1e0 AND 1152921504606846976", "x = 1152921504606847036"),
        ("FLOAT", "x NOT IN (0.1, 1e-1)", "x = 0.1"),
        ("FLOAT", "x NOT BETWEEN 0.7 AND 1e0", "x = 0.7"),
        (None, "x = 0.1", "x > 1e-1"),
    ],
)
def test_what_may_be_compared_as_double_is_not_told_apart(kind: str | None, one: str, two: str) -> None:
    types = None if kind is None else {"x": kind}
    assert parse_where(one, types).overlaps(parse_where(two, types))


@pytest.mark.parametrize(
    ("kind", "one", "two"),
    [
        (None, "x = '1 month'", "x = '30 days'"),
        (None, "x > '1 day'", "x = '0.5 hours'"),
        (None, "x > 'b'", "x = '\\xFF'"),
        (None, "x <= '2020-01-01 23:59:59.999999'", "x = '2020-01-02'"),
        ("TIMESTAMP", "x >= DATE '2020-01-01 12:00:00'", "x = '2020-01-01 01:00:00'"),
    ],
)
def test_spellings_of_one_value_are_not_told_apart(kind: str | None, one: str, two: str) -> None:
    types = None if kind is None else {"x": kind}
    assert parse_where(one, types).overlaps(parse_where(two, types))


def test_ordinary_words_with_digits_are_told_apart() -> None:
    for one, two in (("12 Main St", "14 Main St"), ("2B", "3A"), ("A1", "A2"), ("10x", "11x")):
        assert not parse_where(f"x = '{one}'").overlaps(parse_where(f"x = '{two}'"))


@pytest.mark.parametrize(
    ("kind", "one", "two"),
    [
        ("HUGEINT", "x < 5", "x >= 5"),
        ("UBIGINT", "x = 18446744073709551614", "x = 18446744073709551615"),
        ("BIGINT", "x < 1.5", "x > 2"),
        ("DECIMAL(38,2)", "x = 0.01", "x = 0.02"),
        ("DOUBLE", "x < 0.1", "x >= 0.1"),
        ("FLOAT", "x < 0.1", "x >= 0.1"),
    ],
)
def test_what_has_an_exact_type_still_is(kind: str, one: str, two: str) -> None:
    assert not parse_where(one, {"x": kind}).overlaps(parse_where(two, {"x": kind}))


def test_a_list_of_numbers_and_texts_leaves_every_value() -> None:
    assert parse_where("x NOT IN (1, 'a')").describe() == "x is not null"
    assert ValueSet.intersection([]) == ValueSet.everything()
    assert ValueSet.union([]) == ValueSet.nothing()
