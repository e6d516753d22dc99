"""The text of a predicate into sqlglot's tree, refusing texts that are too large or more than one predicate.

This is the first half of a default-deny grammar of row-local, deterministic, total predicates: anything else could read
another row (`a > (SELECT avg(a) ...)` breaks every sensitivity proof), fail on a private value, or differ between two
readings. The second half, `dpdb.predicates.bind`, takes the tree node by node; no text of the user reaches SQL.
"""

from __future__ import annotations

from sqlglot import exp
from sqlglot.errors import SqlglotError

from dpdb.bounded_parser import NotOneConditionError, TooMuchWorkError, parse_condition
from dpdb.characters import is_encodable
from dpdb.constraints import shortened
from dpdb.errors import PredicateError

__all__ = ["parse", "refused"]

_ALLOWED = (
    "columns, literals, comparisons, AND, OR, NOT, IN (list), BETWEEN, IS [NOT] NULL, LIKE with a literal, "
    "+ - * / // %, lower, upper, trim, length, abs, year, month, day, make_date, coalesce, CAST"
)
_MAX_LENGTH = 100_000
_MAX_NODES = 10_000
# The arguments that nodes of the grammar may have; a node with any other argument is refused.
_KNOWN_ARGS = {
    "this",
    "expression",
    "expressions",
    "low",
    "high",
    "to",
    "negate",
    "is_string",
    "quoted",
    "nested",
    "unit",
    "safe",
    "year",
    "month",
    "day",
}


def parse(text: str) -> exp.Expr:
    """Parse one predicate.

    Raises
    ------
    PredicateError
        If it is no text, cannot be encoded, is too large, or is not one SQL condition.
    """
    if not isinstance(text, str) or not text.strip():
        raise PredicateError("where: expected a predicate such as \"state = 'CA'\"")
    if not is_encodable(text):
        raise PredicateError(f"where: {shortened(text)} has a character that is not valid Unicode")
    if len(text) > _MAX_LENGTH:
        raise PredicateError(f"where: more than {_MAX_LENGTH} characters; shorten the predicate")
    tree = _condition(text)
    if sum(1 for _ in tree.walk()) > _MAX_NODES:
        raise PredicateError(f"where: more than {_MAX_NODES} parts; shorten the predicate")
    for node in tree.walk():
        if any(value for key, value in node.args.items() if key not in _KNOWN_ARGS):
            raise refused(node)
    return tree


def refused(node: exp.Expr) -> PredicateError:
    """Return the error of a part of a predicate that is outside the grammar."""
    shown = shortened(node.sql("duckdb", comments=False))
    return PredicateError(f"where: {shown} is not allowed; allowed are {_ALLOWED}")


def _condition(text: str) -> exp.Expr:
    try:
        return parse_condition(text)
    except NotOneConditionError:
        raise PredicateError(f"where: {shortened(text)} is more than one predicate; allowed are {_ALLOWED}") from None
    except TooMuchWorkError as error:
        raise PredicateError(f"where: {shortened(text)} {error}") from None
    except (SqlglotError, RecursionError) as error:
        details = getattr(error, "errors", None)
        where = f": {details[0]['description']}, near {shortened(details[0]['highlight'])}" if details else ""
        raise PredicateError(f"where: {shortened(text)} is not a predicate{where}") from None
