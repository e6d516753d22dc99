"""Predicates and terms have the same value for every row in PostgreSQL and in our own database, or are refused."""

from __future__ import annotations

import random

import pytest
from helpers_postgres import Server
from helpers_spelling import check_predicates, rows

from dpdb.errors import PredicateError
from dpdb.opening import open_table


def check(postgres: Server, seed: int, predicates: int) -> None:
    table = rows(random.Random(seed), 400)
    check_predicates(postgres.address, "PostgreSQL", seed, predicates, table, postgres.holding(table))


def test_predicates_have_the_same_value_for_every_row(postgres: Server) -> None:
    check(postgres, 1, 200)


@pytest.mark.slow
def test_three_thousand_predicates(postgres: Server) -> None:
    for seed in range(2, 22):
        check(postgres, seed, 150)


def test_what_is_refused_is_named(postgres: Server) -> None:
    name = postgres.holding(rows(random.Random(0), 1))
    with open_table(postgres.address, table=name) as there:
        for text in ("s ~ 'a'", "has_format(s, 'luhn')"):
            with pytest.raises(PredicateError, match=r"a regular expression or format is not certain .* PostgreSQL"):
                there.where(text)
        for text in ("lower(s) = 'a'", "upper(s) = 'A'", "x + 1 > 2", "c + h > DATE '2020-01-01'", "d * 2 > 1"):
            with pytest.raises(PredicateError, match="PostgreSQL"):
                there.where(text)
        for text in ("s = 'a\0b'", "s LIKE 'a\0%'"):
            with pytest.raises(PredicateError):
                there.where(text)
