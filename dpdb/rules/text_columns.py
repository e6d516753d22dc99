"""Columns that a file declares as text: a number or a date beside one of them is no rule that a table of it can have.

Some engines cast the text, others fail, and as text '10' is below '9'. So the rule is left out, with what to write.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from sqlglot import exp

from dpdb.constraints import OPERATORS, Across, Constant, DenialConstraint, RowExpression
from dpdb.errors import ParameterError
from dpdb.predicates import LiteralValue, literal_value, parse, text_problem

_TEXT = re.compile(
    r"(n?(var)?char2?|(national )?character|bpchar|(tiny|medium|long|ci|n)?text|string|n?clob|enum)\b(?!.*\[)",
    re.IGNORECASE,
)
_FUNCTIONS = (exp.Lower, exp.Upper, exp.Trim)


def is_text(declared: object) -> bool:
    """Say whether a type, as another tool writes it, is text."""
    return isinstance(declared, str) and _TEXT.match(declared.strip()) is not None


def refuse_numbers(constraints: Sequence[DenialConstraint], texts: Collection[str]) -> None:
    """Refuse constraints that compare text with something else.

    Parameters
    ----------
    texts
        The columns of text, in lower case.

    Raises
    ------
    ParameterError
        If there is one; says what to write.
    """
    for words, value in _beside(constraints, texts):
        problem = text_problem(words, "VARCHAR", value)
        if problem is not None:
            raise ParameterError(problem)


def _beside(constraints: Sequence[DenialConstraint], texts: Collection[str]) -> Iterator[tuple[str, LiteralValue]]:
    """Give what is text, as it is written, and the constants that it is compared with."""
    for constraint in constraints:
        for predicate in constraint.predicates:
            if isinstance(predicate.right, Constant) and predicate.left.column.casefold() in texts:
                yield predicate.left.column, predicate.right.value
        for computed in constraint.computed:
            part = computed.expression
            if isinstance(part, RowExpression):
                called: dict[Across, str] = {member: member.written() for member in part.members}
                yield from _compared(parse(part.sql(called)), texts)


def _compared(tree: exp.Expr, texts: Collection[str]) -> Iterator[tuple[str, LiteralValue]]:
    for node in tree.find_all(exp.In, exp.Between, *OPERATORS):
        others = [node.args.get(name) for name in ("expression", "low", "high")]
        sides = [node.this, *(other for other in others if other is not None), *node.expressions]
        terms = [side.unnest() for side in sides]
        written = [term.sql("duckdb", comments=False) for term in terms if _is_of(term, texts)]
        for term in terms if written else ():
            value = literal_value(term)
            if value is not None:
                yield written[0], value


def _is_of(term: exp.Expr, texts: Collection[str]) -> bool:
    while isinstance(term, _FUNCTIONS):
        term = term.this.unnest()
    return isinstance(term, exp.Column) and term.name.casefold() in texts
