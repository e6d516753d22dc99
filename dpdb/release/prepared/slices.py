"""The slices of one call: a `where`, or one slice per public key. Checked before anything is spent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from sqlglot import exp

from dpdb.constraints import Operator
from dpdb.constraints.text.source import shortened
from dpdb.engine import Table, WherePredicate, comparable_column, untyped_problem
from dpdb.errors import ParameterError, PredicateError
from dpdb.predicates import TRUE, Column, Comparison, Literal, LiteralValue, Region, all_of, covered, covered_groups
from dpdb.release.ask import Key

__all__ = ["Slices", "parse_slices"]

_SHOWN_KEY = 60
_WRITTEN_BITS = 2_000  # 602 digits; where Python has a limit for writing integers, it is at least 640


@dataclass(frozen=True)
class Slices:
    """The disjoint slices of one call.

    Attributes
    ----------
    predicates : tuple of WherePredicate or None
        One per slice; None is the whole table.
    keys : tuple of str or None
        The canonical texts of the keys.
    charged : Region
        Every row that can change an answer: both tuples of a conflict lie in one slice. Never empty. It comes from the
        same bound trees as the SQL of the slices.
    words : str or None
        SQL predicate of the rows that lie in some slice, for readers; None means all rows.
    """

    predicates: tuple[WherePredicate | None, ...]
    keys: tuple[str, ...] | None
    charged: Region
    words: str | None


def parse_slices(table: Table, where: str | None, by: str | None, keys: Sequence[Key] | None) -> Slices:
    """Return the slices of a call; `by` and `keys` come together (see `Ask`). Reads no row.

    Without them there is one slice. With them there is one per key, in the order given; they are disjoint, because the
    keys are different values of one column, so one row lies in at most one of them and they cost what one of them costs
    (parallel composition). Keys are public and fixed in advance: an absent group gets noise like the others, also one
    that `where` excludes, and is charged for its own rows.

    Parameters
    ----------
    table
        The table; only its schema and types are read.
    where
        A predicate that restricts every slice; None for no restriction.
    by
        A column, one slice per key; None for one slice.
    keys
        The public values of `by`, in the order of the slices.

    Raises
    ------
    ParameterError
        If a key is not a value of the column, or two are equal as values of the column ('1' and '01', '1 month' and
        '30 days').
    PredicateError
        As `parse_where`, and if `where` selects no row whatever the table holds: nothing is free, and for nothing there
        is nothing to release.
    UnknownColumnError
        As `parse_where`.
    """
    base = None if where is None else table.where(where)
    tree = TRUE if base is None else base.tree
    rows = covered(tree)
    if rows.is_contradiction:
        raise PredicateError(
            f"where: {shortened(str(where))} selects no row, whatever the table holds; write a predicate that rows can "
            "satisfy"
        )
    if by is None or keys is None:
        assert by is keys, "an ask has both or neither"
        return Slices((base,), None, rows, None if base is None else base.text)
    column = comparable_column(by, table.schema, "by")
    for key in keys:
        problem = untyped_problem(table.schema[column.name], _literal_value(key, column))
        if problem is not None:
            raise ParameterError(f"key {_named(key)}: {problem}")
    literals = _key_literals(table, column, keys)
    texts = table.texts_of(literals)
    predicates = tuple(_group(base, column, literal, text) for literal, text in zip(literals, texts, strict=True))
    inside = exp.In(
        this=exp.column(column.name, quoted=True), expressions=[exp.Literal.string(text) for text in texts]
    ).sql("duckdb")
    words = inside if base is None else f"({base.text}) AND {inside}"
    return Slices(predicates, tuple(texts), covered_groups(tree, column, literals), words)


def _key_literals(table: Table, column: Column, keys: Sequence[Key]) -> list[Literal]:
    """Read keys as values of the column's own type, all different as the engine compares them."""
    values = [_literal_value(key, column) for key in keys]
    literals: list[Literal] = []
    for key, literal in zip(keys, table.literals(values, column.type), strict=True):
        if literal is None or literal.type != column.type:  # compared more widely, hence no value of the column
            raise _no_value(key, column)
        literals.append(literal)
    same = table.equal_values(literals)
    if same is not None:
        first, second = (_named(keys[place]) for place in same)
        raise ParameterError(f"keys {first} and {second} are the same value of {column.name!r}")
    return literals


def _literal_value(key: Key, column: Column) -> LiteralValue:
    if isinstance(key, float):
        return Decimal(repr(key))
    if isinstance(key, int) and not isinstance(key, bool):
        return Decimal(key)  # its text has no limit
    if isinstance(key, (bool, str, Decimal)):
        return key
    raise _no_value(key, column)


def _no_value(key: object, column: Column) -> ParameterError:
    return ParameterError(f"key {_named(key)} is not a value of {column.name!r} ({column.type})")


def _named(key: object) -> str:
    """A key in a message."""
    if isinstance(key, int) and key.bit_length() > _WRITTEN_BITS:
        return "of hundreds of digits"
    words = repr(key)
    return words if len(words) <= _SHOWN_KEY else f"{words[: _SHOWN_KEY - 3]}..."


def _group(base: WherePredicate | None, column: Column, literal: Literal, text: str) -> WherePredicate:
    own = Comparison(Operator.EQ, column, literal)
    name = exp.to_identifier(column.name, quoted=not column.name.isidentifier())
    words = exp.EQ(this=name, expression=exp.Literal.string(text)).sql("duckdb")
    if base is None:
        return WherePredicate(words, own)
    return WherePredicate(f"({base.text}) AND {words}", all_of([base.tree, own]))
