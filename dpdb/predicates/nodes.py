"""The nodes of a bound predicate: a WHERE clause whose columns, literals and types of comparison are known.

One tree says which rows are read (`dpdb.predicates.sql`) and which are charged (`dpdb.predicates.region`). Trees are
put together by the functions at the end, which fold every part whose truth value is known: TRUE and FALSE remain only
as a whole tree, which has no column.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeAlias

from dpdb.constraints import Operator

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
        The text that the engine casts to that type.
    value : Value
        The engine's value of `text`, maybe rounded.
    """

    type: str
    text: str
    value: Value


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """Two terms and a sign between them; NULL where the result is none of the type's values.

    Attributes
    ----------
    sign : str
        One of ``+ - * / // %``.
    left_as, right_as : str
        The types in which the engine takes both sides.
    """

    sign: str
    left: Term
    right: Term
    left_as: str
    right_as: str
    type: str


@dataclass(frozen=True, slots=True)
class Call:
    """A function of terms, which it takes in `taken_as`; NULL where the result is none of the type's values.

    Attributes
    ----------
    function : str
        Of one term ``lower``, ``upper``, ``trim``, ``length``, ``abs``, ``year``, ``month``, ``day`` or ``cast``; of
        more ``coalesce``; of three ``make_date``.
    """

    function: str
    arguments: tuple[Term, ...]
    taken_as: str
    type: str


Term: TypeAlias = Column | Literal | Arithmetic | Call


@dataclass(frozen=True, slots=True)
class Constant:
    """TRUE, FALSE or NULL."""

    value: bool | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """A term, mostly a column, against a literal, both in the literal's type."""

    operator: Operator
    term: Term
    literal: Literal


@dataclass(frozen=True, slots=True)
class TermComparison:
    """A term against another one of the same row, both in `type`."""

    operator: Operator
    left: Term
    right: Term
    type: str


@dataclass(frozen=True, slots=True)
class Membership:
    """The predicate that a term equals one of several literals (at least one), each in its own type."""

    term: Term
    literals: tuple[Literal, ...]


@dataclass(frozen=True, slots=True)
class NullTest:
    """IS NULL: never unknown."""

    term: Term


@dataclass(frozen=True, slots=True)
class Like:
    """A term of text against a pattern."""

    term: Term
    pattern: str


@dataclass(frozen=True, slots=True)
class Matches:
    """A term of text in which a regular expression of RE2 is found somewhere."""

    term: Term
    pattern: str


@dataclass(frozen=True, slots=True)
class CheckDigits:
    """A term of text whose check digits are right; of a text that its format does not match it may be anything."""

    term: Term
    format: str


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


Leaf: TypeAlias = Comparison | TermComparison | Membership | NullTest | Like | Matches | CheckDigits

Node: TypeAlias = Constant | Leaf | Flag | And | Or | Not

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
        case Flag(column):
            yield column
        case _:
            for term in terms_of(tree):
                yield from columns_in(term)


def terms_of(leaf: Leaf) -> tuple[Term, ...]:
    """The terms that a leaf of a tree reads."""
    return (leaf.left, leaf.right) if isinstance(leaf, TermComparison) else (leaf.term,)


def columns_in(term: Term) -> Iterator[Column]:
    """The columns that a term reads, in the order written."""
    return (part for part in parts_of(term) if isinstance(part, Column))


def parts_of(term: Term) -> Iterator[Term]:
    """A term and all its parts, in the order written."""
    yield term
    match term:
        case Arithmetic(_, left, right):
            yield from parts_of(left)
            yield from parts_of(right)
        case Call(_, arguments):
            for argument in arguments:
                yield from parts_of(argument)
