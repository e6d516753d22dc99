"""The nodes of a bound predicate: a WHERE clause whose columns, literals and types of comparison are known.

One tree says which rows are read (`dpdb.predicates.sql`) and which are charged (`dpdb.predicates.covered`). Trees are
put together by the functions at the end, which fold every part whose truth value is known: TRUE and FALSE are left only
as a whole tree, and such a tree has no column.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeAlias

from dpdb.constraints import Operator

__all__ = [
    "FALSE",
    "NULL",
    "TRUE",
    "And",
    "Column",
    "ColumnComparison",
    "Comparison",
    "Constant",
    "Flag",
    "Like",
    "Literal",
    "LiteralValue",
    "Membership",
    "Node",
    "Not",
    "NullTest",
    "Or",
    "Value",
    "all_of",
    "any_of",
    "columns_of",
    "negation",
]

LiteralValue: TypeAlias = bool | int | Decimal | str
"""A literal as it was written; dates and times are text."""

Value: TypeAlias = bool | int | float | Decimal | str
"""A value as the engine shows it: numbers and truth values exactly, everything else as text."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column as the table spells it, and the type in which dpdb keeps it."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Literal:
    """A literal in the type in which it is compared.

    Attributes
    ----------
    type : str
        The column's own type unless the literal does not fit in it exactly.
    text : str
        What the engine casts to that type.
    value : Value
        What the engine made of it: `text` may be rounded on the way.
    """

    type: str
    text: str
    value: Value


@dataclass(frozen=True, slots=True)
class Constant:
    """TRUE, FALSE or NULL."""

    value: bool | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """A column against a literal, both in the literal's type."""

    operator: Operator
    column: Column
    literal: Literal


@dataclass(frozen=True, slots=True)
class ColumnComparison:
    """A column against a column of the same row, both in `type`."""

    operator: Operator
    left: Column
    right: Column
    type: str


@dataclass(frozen=True, slots=True)
class Membership:
    """The predicate that a column equals one of several literals (at least one), each in its own type."""

    column: Column
    literals: tuple[Literal, ...]


@dataclass(frozen=True, slots=True)
class NullTest:
    """IS NULL: never unknown."""

    column: Column


@dataclass(frozen=True, slots=True)
class Like:
    """A text column against a pattern."""

    column: Column
    pattern: str


@dataclass(frozen=True, slots=True)
class Flag:
    """A column of truth values that stands alone."""

    column: Column


@dataclass(frozen=True, slots=True)
class And:
    """All parts, at least two."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Some part of at least two."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The opposite; of NULL it is NULL."""

    part: Node


Node: TypeAlias = (
    Constant | Comparison | ColumnComparison | Membership | NullTest | Like | Flag | And | Or | Not
)  # fmt: skip

TRUE, FALSE, NULL = Constant(True), Constant(False), Constant(None)


def all_of(parts: Sequence[Node]) -> Node:
    """The conjunction: FALSE decides it, TRUE adds nothing."""
    return _folded(And, parts, decides=FALSE, adds_nothing=TRUE)


def any_of(parts: Sequence[Node]) -> Node:
    """The disjunction: TRUE decides it, FALSE adds nothing."""
    return _folded(Or, parts, decides=TRUE, adds_nothing=FALSE)


def negation(part: Node) -> Node:
    """NOT; NULL stays NULL."""
    if isinstance(part, Constant):
        return NULL if part.value is None else Constant(not part.value)
    return Not(part)


def _folded(kind: type[And | Or], parts: Sequence[Node], *, decides: Constant, adds_nothing: Constant) -> Node:
    kept = tuple(dict.fromkeys(part for part in parts if part != adds_nothing))
    if decides in kept:
        return decides
    if len(kept) > 1:
        return kind(kept)
    return kept[0] if kept else adds_nothing


def columns_of(tree: Node) -> frozenset[str]:
    """The names of the columns that a tree reads."""
    return frozenset(column.name for column in _columns(tree))


def _columns(tree: Node) -> Iterator[Column]:
    match tree:
        case Constant():
            return
        case And(parts) | Or(parts):
            for part in parts:
                yield from _columns(part)
        case Not(part):
            yield from _columns(part)
        case ColumnComparison(_, left, right, _):
            yield from (left, right)
        case _:
            yield tree.column
