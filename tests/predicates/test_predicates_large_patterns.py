r"""Regular expressions whose compiled form is large: refused before anything is compiled, others take little time."""

from __future__ import annotations

import random
import re._constants as kinds
import re._parser as parser
import time
from collections.abc import Iterator
from typing import Any

import pytest

from dpdb.database.database import Database
from dpdb.engine.sql.where import parse_where
from dpdb.errors import PredicateError
from dpdb.predicates.formats import FORMATS, LONGEST_PATTERN, MOST_PIECES, pieces_of
from dpdb.schema import Column, TableSchema

SCHEMA = TableSchema((Column("x", "VARCHAR"),))
SCRIPT = "\ue000"
"""Stands for a class of a script where Python reads the expression, which has none."""


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    with Database(threads=1) as opened:
        yield opened


def by_python(pattern: str) -> int:
    """The pieces by Python's own reader of regular expressions."""

    def of(found: Any) -> int:
        return sum(one(kind, value) for kind, value in found)

    def one(kind: Any, value: Any) -> int:
        if kind in (kinds.MAX_REPEAT, kinds.MIN_REPEAT):
            least, most, inner = value
            return of(inner) * max(least if most is kinds.MAXREPEAT else most, 1)
        if kind is kinds.SUBPATTERN:
            return of(value[3])
        if kind is kinds.BRANCH:
            return sum(map(of, value[1]))
        if kind is kinds.IN:
            return 1 + 500 * sum(each == (kinds.LITERAL, ord(SCRIPT)) for each in value)
        return 0 if kind is kinds.AT else 501 if (kind, value) == (kinds.LITERAL, ord(SCRIPT)) else 1

    return of(parser.parse(pattern))


def drawn(rng: random.Random, depth: int) -> str:
    atoms = ["a", "b", ".", r"\d", r"\.", SCRIPT, f"[a{SCRIPT}z]", "[^b]", f"[{SCRIPT}.]"]
    found = []
    for _ in range(rng.randint(1, 3)):
        atom = rng.choice(atoms) if depth == 0 or rng.random() < 0.5 else f"({drawn(rng, depth - 1)})"
        if rng.random() < 0.2:
            atom = f"(?:{atom}|{rng.choice(atoms)})"
        found.append(atom + rng.choice(["", "*", "+", "?", "{2}", "{1,3}", "{2,}", "{0,4}", "{3}?"]))
    return "".join(found)


def test_pieces_are_those_of_an_expanded_expression() -> None:
    """2,000 nested expressions against a count over Python's tree; `*`, `+` and `|` add nothing or one here."""
    rng = random.Random(45)
    for _ in range(2_000):
        pattern = drawn(rng, 2)
        signs = len(re_signs(pattern))
        count = pieces_of(pattern.replace(SCRIPT, r"\p{L}"))
        least = by_python(pattern)
        assert least <= count <= least + signs * 3**4 * 4**3, pattern


def re_signs(pattern: str) -> list[str]:
    return [sign for sign in pattern if sign in "*+?|:"]


LARGE = [
    r"[\p{L}\p{N}]{1,200}", r"\p{L}{200}", r"\PL{60}", r"([\p{L}\p{N}]{1,20}){1,20}", r"((\p{L}{8}){8})+",
    r"(?:\p{Lu}\p{Ll}+){100}", r"[^\p{L}]{1000}", r"(?i)[\pL]{0,60}?", r"(((a{1000}){1000}))", r"[[:alpha:]\p{L}]{60}",
    r"\Qxy\E(\pN{29}|\pL{31})", r"(\p{L}{,3}\p{L}{59})",
]  # fmt: skip
SMALL = [
    r"[\p{L}\p{N}]+", r"[\p{L} .'-]{1,50}", r"\p{L}{59}", r"a{1000}", r".{1,1000}", r"[^a]{1000}", r"(a{30}){30}",
    r"[]\p{L}]{59}", r"\\p{L}{100}", r"\Q\p{L}\E{1000}", r"[\p{Lu}][\p{Ll}]{1,50}", "(" * 30 + "a" + ")" * 30,
    r"\p{L}{50}x{2,}", "|".join(["[a-z]{9}"] * 100), *(one.pattern for one in FORMATS.values()),
]  # fmt: skip


@pytest.mark.parametrize("pattern", LARGE)
def test_large_expressions_are_refused_before_they_are_compiled(pattern: str, database: Database) -> None:
    words = "repeats large classes: it is compiled to about .* pieces, at most 30,000; write `[+]` instead"
    for form in (
        "x ~ '{}'",
        "x ~* '{}'",
        "regexp_full_match(x, '{}')",
        "NOT (x = 'a' OR regexp_matches(x, '{}', 'i'))",
    ):
        began = time.process_time()
        with pytest.raises(PredicateError, match=words):
            parse_where(database, form.format(pattern), SCHEMA)
        assert time.process_time() - began < 0.1


@pytest.mark.heavy
@pytest.mark.parametrize("pattern", SMALL)
def test_others_are_taken_and_compiled_in_little_time(pattern: str, database: Database) -> None:
    assert len(pattern) <= LONGEST_PATTERN
    assert pieces_of(pattern) <= MOST_PIECES
    began = time.process_time()
    tree = parse_where(database, f"x ~ '{pattern.replace(chr(39), chr(39) * 2)}'", SCHEMA)
    query = (
        f"SELECT count(*) FROM (SELECT 'Müller-' || i AS x FROM range(1000) t(i)) WHERE {tree.condition.sql('duckdb')}"
    )
    database.rows(query)
    assert time.process_time() - began < 2
