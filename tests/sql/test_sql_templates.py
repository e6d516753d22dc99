"""Statements with parameters: what is known of each place, as by looking upwards from it, in linear work."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from sqlglot import exp

from dpdb.doors.sql import Template, rewrite
from dpdb.doors.sql.call import RELEASES, parameter_kind, release_name
from dpdb.doors.sql.parse import parse_statement, parted_parameters


def call_of(node: exp.Expr) -> exp.Expr | None:
    parent = node.parent
    while parent is not None and not isinstance(parent, exp.Query):
        if release_name(parent):
            return parent
        parent = parent.parent
    return None


def kind_of(node: exp.Expr) -> str | None:
    call = call_of(node)
    if call is None:
        return None
    function = str(release_name(call))
    for position, argument in enumerate(call.expressions):
        if argument is node and position < len(RELEASES[function]):
            return parameter_kind(function, RELEASES[function][position]) or "name"
        if argument is node.parent and isinstance(argument, (exp.PropertyEQ, exp.Kwarg, exp.EQ)):
            return parameter_kind(function, argument.this.name) or "name"
    return "text"


COLUMNS = {"note": "TEXT", "people": "BIGINT", "value": "DOUBLE", "lower": "DOUBLE", "upper": "DOUBLE"}


def type_of(node: exp.Expr) -> str | None:
    if isinstance(node, exp.Literal):
        return None if node.is_string else "DOUBLE"
    return COLUMNS.get(node.name.lower()) if isinstance(node, (exp.Column, exp.Dot)) else None


def beside(node: exp.Expr) -> str | None:
    """The type of the first operand that has one, in the outermost comparison that has such an operand."""
    found, parent = None, node.parent
    while isinstance(parent, (exp.Binary, exp.Between, exp.In, exp.Paren, exp.Neg, exp.Any, exp.All)):
        known = [one for one in map(type_of, parent.iter_expressions()) if one is not None]
        found, parent = (known[0] if known else found), parent.parent
    return found


def is_in_any(node: exp.Expr) -> bool:
    parent = node.parent
    while isinstance(parent, exp.Paren):
        parent = parent.parent
    return isinstance(parent, (exp.Any, exp.All))


PARTS = (
    "$1", "$2", "$3", "1", "'a'", "value", "a.value", "note", "people", "(%)", "-%", "% + %", "% = %", "% AND %",
    "% IN (%, %)", "% BETWEEN % AND %",
    "% = ANY(%)", "% <> ALL(%)", "CAST(% AS BIGINT)", "%::DATE", "lower(%)", "CASE WHEN % THEN % END",
    "(SELECT % LIMIT $1)",
    "(SELECT value FROM dp_count($1, $2, label := $3))", "dp_count('visits', %).value", "dp_count($1, epsilon := %)",
    "(SELECT 1 FROM dp_count('t', $2, by := 'a', keys := [$1, $3]) AS r WHERE % = %)", "(SELECT 1 OFFSET $2)",
)  # fmt: skip


def text_of(drawn: random.Random, depth: int) -> str:
    part = drawn.choice(PARTS if depth else PARTS[:8])
    while "%" in part:
        inside = text_of(drawn, max(depth - 1, 0))
        part = part.replace("%", f"({inside})" if " " in inside or "-" in inside else inside, 1)
    return part


@pytest.mark.heavy(of=10)
@pytest.mark.parametrize("seed", range(40))
def test_places_are_as_looking_upwards_tells(seed: int) -> None:
    drawn, seen = random.Random(seed), Counter()
    for _ in range(40):
        text = f"SELECT {', '.join(text_of(drawn, 3) for _ in range(drawn.randint(1, 4)))} FROM states"
        tree = parse_statement(parted_parameters(text)).tree
        places = rewrite._found_places(tree, COLUMNS)
        assert [id(one.node) for one in places] == [id(node) for node in tree.find_all(exp.Placeholder)], text
        for one in places:
            assert one.in_call == (call_of(one.node) is not None), text
            assert one.kind == kind_of(one.node), text
            assert one.beside == beside(one.node), text
            assert one.in_any == is_in_any(one.node), text
            seen[one.kind, one.beside, one.in_any] += 1
        template = Template(text)
        values = [f"it's {number}" for number in range(len(template.types))]
        bound = parse_statement(template.bound(values, ["TEXT"] * len(values))).tree
        literals = Counter(node.name for node in bound.find_all(exp.Literal) if node.name.startswith("it's"))
        assert literals == Counter(f"it's {one.number}" for one in places), text
    assert len(seen) >= 3


MANY = {
    "plus": ("SELECT ", "+", ""),
    "compared": ("SELECT 1 WHERE ", " = ", ""),
    "columns": ("SELECT ", ", ", ""),
    "in": ("SELECT 1 WHERE 1 IN (", ", ", ")"),
    "keys": ("SELECT * FROM dp_count('visits', 0.1, keys := [", ", ", "])"),
    "arguments": ("SELECT * FROM dp_count(", ", ", ")"),
}


@pytest.mark.heavy
@pytest.mark.parametrize("kind", MANY)
def test_work_is_linear_in_the_parameters(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps are counted, not timed: looks at a node, and nodes that are hung into the tree."""
    steps = 0

    def counted(function):  # type: ignore[no-untyped-def]
        def call(*args):  # type: ignore[no-untyped-def]
            nonlocal steps
            steps += 1
            return function(*args)

        return call

    for name in ("release_name", "_type_beside"):
        monkeypatch.setattr(rewrite, name, counted(getattr(rewrite, name)))
    first, between, last = MANY[kind]

    def taken(many: int) -> int:
        nonlocal steps
        steps = 0
        template = Template(first + between.join(["$1"] * many) + last)
        template.bound(["a"], ["TEXT"])
        return steps

    few, many = taken(300), taken(1_200)
    assert few > 0
    assert many < 5 * few


def test_tags_that_are_not_closed_are_read_once() -> None:
    text = "$1," + "".join(f" $a{number}$" for number in range(9_000))
    assert parted_parameters(text) == f"$1 ,{text[3:]}"
    assert parted_parameters("SELECT $1,$2, $a$ $3,$4 $a$, '$5,' \"$6,\" --$7,\n,$8+1") == (
        "SELECT $1 ,$2 , $a$ $3,$4 $a$, '$5,' \"$6,\" --$7,\n,$8 +1"
    )
