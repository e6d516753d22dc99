"""Kinds of rules: every shape whose counts an engine is asked for, each with what it says as plain SQL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Kind:
    """A set of rules, over the columns g, a, b of any types of which those of a and b are one.

    Attributes
    ----------
    rules : tuple of str
        With {g}, {a}, {b} for the columns.
    pairs : str
        When two rows are in conflict, in one of their orders: SQL over t1 and t2.
    alone : str
        When a row is in conflict with itself: SQL over t1.
    going : str
        What rows a check counts in any case: SQL over t1.
    exact : bool
        Whether the fewest rows to delete have a closed form.
    """

    name: str
    rules: tuple[str, ...]
    pairs: str = "false"
    alone: str = "false"
    going: str = "false"
    exact: bool = True


def _denials(name: str, *rules: str, **options: Any) -> Kind:
    """Make rules that are SQL as they stand, but for the sign between predicates."""
    pairs = " OR ".join(f"({rule.replace('&', ' AND ')})" for rule in rules)
    return Kind(name, tuple(f"not({rule})" for rule in rules), pairs, **options)


def _two(operator: str, name: str, other: str | None = None) -> str:
    return f"t1.{{{name}}} {operator} t2.{{{other or name}}}"


def _fd(left: str, right: str) -> str:
    return f"({_two('=', left)} AND {_two('<>', right)})"


def _null(name: str) -> str:
    return f"t1.{{{name}}} IS NULL"


_SAME, _REVERSED, _TOUCH = _two("=", "g"), "t1.{a} > t1.{b}", f"{_two('<', 'a', 'b')}&t2.{{a}} < t1.{{b}}"
_IN_GROUP = f"{_REVERSED} AND t1.{{g}} IS NOT NULL"
_ORDER = f"{_two('>', 'a')}&{_two('<', 'b')}"
_KEYS = f"{_SAME} OR {_two('=', 'a')}"
_BOTH = f"{_fd('g', 'a')} OR {_fd('a', 'g')}"


def _sql(denial: str) -> str:
    return denial.replace("&", " AND ")


KINDS: tuple[Kind, ...] = (
    Kind("key", ("UNIQUE({g})",), _SAME),
    Kind("key of two", ("UNIQUE({g}, {a})",), f"{_SAME} AND {_two('=', 'a')}"),
    Kind("dependency", ("{g} -> {a}",), _fd("g", "a")),
    Kind("one value", ("[] -> {a}",), _two("<>", "a")),
    Kind("two right-hand columns", ("{g} -> {a}, {b}",), f"{_fd('g', 'a')} OR {_fd('g', 'b')}"),
    Kind("chain", ("{g} -> {a}", "{g}, {a} -> {b}"), f"{_fd('g', 'a')} OR ({_two('=', 'a')} AND {_fd('g', 'b')})"),
    Kind(
        "condition on both",
        ("{b} IS NOT NULL: {g} -> {a}",),
        f"{_fd('g', 'a')} AND t1.{{b}} IS NOT NULL AND t2.{{b}} IS NOT NULL",
    ),
    _denials("condition on one", f"{_SAME}&{_two('<>', 'a')}&t1.{{b}} IS NULL"),
    Kind("A <-> B", ("{g} -> {a}", "{a} -> {g}"), _BOTH),
    Kind("two keys", ("UNIQUE({g})", "UNIQUE({a})"), _KEYS),
    Kind(
        "A <-> B -> C",
        ("NOT NULL({g})", "NOT NULL({a})", "{g} -> {a}", "{a} -> {g}", "{g} -> {b}"),
        f"{_BOTH} OR {_fd('g', 'b')}",
        alone=f"{_null('g')} OR {_null('a')}",
    ),
    _denials("order", _ORDER),
    _denials("order with ties", f"{_two('>=', 'a')}&{_two('<', 'b')}"),
    _denials("order with both ties", f"{_SAME}&{_two('>=', 'a')}&{_two('<=', 'b')}"),
    _denials("order in groups", f"{_SAME}&{_ORDER}"),
    _denials("order the same way", f"{_SAME}&{_two('<', 'a')}&{_two('<', 'b')}"),
    _denials("two columns", _two(">", "a", "b")),
    _denials("two columns in groups", f"{_SAME}&{_two('>=', 'a', 'b')}"),
    _denials("intervals", _TOUCH, going=_REVERSED),
    _denials("intervals in groups", f"{_SAME}&{_TOUCH}", going=_IN_GROUP),
    _denials("intervals that touch", f"{_SAME}&{_TOUCH.replace('<', '<=')}", going=_IN_GROUP),
    Kind("one row", ("CHECK ({a} <= {b})", "NOT NULL({g})"), alone=f"{_REVERSED} OR {_null('g')}"),
    Kind("one row and a dependency", ("CHECK ({a} <= {b})", "{g} -> {a}"), _fd("g", "a"), alone=_REVERSED),
    Kind("one row and an order", ("NOT NULL({g})", f"not({_ORDER})"), _sql(_ORDER), alone=_null("g")),
    Kind("one row and intervals", ("NOT NULL({g})", f"not({_TOUCH})"), _sql(_TOUCH), _null("g"), _REVERSED),
    Kind("one row and two keys", ("NOT NULL({b})", "UNIQUE({g})", "UNIQUE({a})"), _KEYS, alone=_null("b")),
    Kind(
        "order and a dependency",
        ("{g} -> {b}", f"not({_ORDER})"),
        f"{_fd('g', 'b')} OR ({_sql(_ORDER)})",
        exact=False,
    ),
    _denials("three inequalities", f"{_two('<', 'g')}&{_two('<', 'a')}&{_two('<', 'b')}", exact=False),
    Kind("dependencies that cross", ("{g} -> {a}", "{b} -> {a}"), f"{_fd('g', 'a')} OR {_fd('b', 'a')}", exact=False),
)
