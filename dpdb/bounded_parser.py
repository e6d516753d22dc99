"""Parse a stranger's SQL within a fixed amount of work.

The parser tries one reading after another, and its work doubles with every nested level:
`ARRAY[ARRAY[...` of 150 characters takes longer than anybody waits. So its steps are counted. Unlike a
time limit, a count refuses a text on all machines or on none, and works in every thread.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import SqlglotError
from sqlglot.parser import Parser
from sqlglot.tokenizer_core import TokenType

# Texts that people write take one or two steps per token, whatever their length; a thousand take about 10 ms.
_STEPS_PER_TOKEN = 20
_FREE_STEPS = 5_000
_MOST_STEPS = 60_000
_MOST_TOKENS = 30_000


class TooMuchWorkError(SqlglotError):
    """A text takes too much work; the message goes on after "the statement" or the like."""


class NotOneConditionError(SqlglotError):
    """A text is not one condition, as it would follow WHERE."""


class HasFormat(exp.Expression, exp.Func):
    """`has_format(column, 'email')`: a condition that dpdb has and no database."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "expression": True}


_CONDITIONS: dict[str, Callable[[list[exp.Expr]], exp.Expr]] = {
    "MATCHES": exp.RegexpLike.from_arg_list,
    "HAS_FORMAT": HasFormat.from_arg_list,
}


UNNAMED = "?column?"
"""The name that PostgreSQL gives a column whose expression gives it none; in `meta`, that it gives none."""

# What a cast may begin with that is no name of a type.
_NO_TYPES = (TokenType.STRING, TokenType.NUMBER, TokenType.L_PAREN, TokenType.VAR)


class _Bounded(Parser):
    """A parser that gives up after a number of steps; the parser of a dialect stands beside it as a base."""

    most_steps: float = 0

    def reset(self) -> None:
        super().reset()
        self._steps_left = self.most_steps

    def _advance(self, times: int = 1) -> None:
        # Every step goes through here, the steps back included.
        self._steps_left -= 1
        if self._steps_left < 0:
            raise TooMuchWorkError("has too many possible readings; nest it less deeply")
        super()._advance(times)

    def _parse_function_call(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        word = self._curr.text if self._curr else ""
        node: exp.Expr | None = super()._parse_function_call(*args, **kwargs)
        if node is not None:
            node.meta.setdefault("called", word)
        return node

    def _parse_unary(self) -> exp.Expr | None:
        """Read as the parser does (not through it: a frame more at each level of parentheses is a level less).

        It forgets the sign `+`, which hides the name of what is behind it.
        """
        first = self._curr.token_type if self._curr else None
        if not self._match_set(self.UNARY_PARSERS):
            return _cast_last(first, self._parse_type())
        node: exp.Expr | None = self.UNARY_PARSERS[self._prev.token_type](self)
        if first == TokenType.PLUS and node is not None:
            node.meta["called"] = UNNAMED
        return node

    def _warn_unsupported(self) -> None:
        """Do nothing: callers refuse unknown nodes, and a log would show the text to others."""


def _cast_last(first: TokenType | None, node: exp.Expr | None) -> exp.Expr | None:
    """Return `DATE '2020-01-31'::TEXT` as SQL reads it: the date first, which then is cast."""
    if isinstance(node, exp.Cast) and first not in _NO_TYPES and type(node.this) is exp.Cast:
        inner: Any = node.this
        while type(inner.this) is exp.Cast:
            inner = inner.this
        if isinstance(inner.this, exp.Literal):
            chain: exp.Expr = node.this.pop()
            node.set("this", inner.this.pop())
            inner.set("this", node)
            return chain
    return node


@cache
def _bounded(parser: type[Parser]) -> type[_Bounded]:
    return type("_BoundedParser", (_Bounded, parser), {"FUNCTIONS": {**parser.FUNCTIONS, **_CONDITIONS}})


def parse_duckdb(text: str) -> list[exp.Expr | None]:
    """Parse SQL into one tree per statement.

    Raises
    ------
    sqlglot.errors.SqlglotError
        If the text is not SQL; `TooMuchWorkError` if reading it takes too much work.
    RecursionError
        If it is nested too deeply.
    """
    return _parsed(text, DuckDB(), _MOST_TOKENS, _MOST_STEPS)


def parse_postgres(text: str) -> list[exp.Expr | None]:
    """Parse SQL as PostgreSQL's clients write it; as `parse_duckdb`.

    The name by which a function was called, which the parser forgets, is kept in its `meta`.
    """
    return _parsed(text, Dialect.get_or_raise("postgres"), _MOST_TOKENS, _MOST_STEPS)


def parse_script(text: str, dialect: str) -> list[exp.Expr | None]:
    """Parse SQL of any dialect and any length, in steps in proportion to it.

    Raises
    ------
    ValueError
        If there is no such dialect.
    """
    return _parsed(text, Dialect.get_or_raise(dialect))


def _parsed(
    text: str, dialect: Dialect, most_tokens: float = math.inf, most_steps: float = math.inf
) -> list[exp.Expr | None]:
    tokens = dialect.tokenize(text)
    if len(tokens) > most_tokens:
        raise TooMuchWorkError(f"has more than {most_tokens:,} words and signs; shorten it")
    parser = _bounded(type(dialect).parser_class)(dialect=dialect)
    parser.most_steps = min(_FREE_STEPS + _STEPS_PER_TOKEN * len(tokens), most_steps)
    return parser.parse(tokens, text)


def parse_condition(text: str) -> exp.Expr:
    """Parse one condition, as it would follow WHERE. Errors as `parse_duckdb`, and `NotOneConditionError`."""
    # Behind WHERE, so that a column called `comment` or `set` does not start a statement.
    statements = parse_duckdb(f"SELECT 1 FROM t WHERE {text}\n")
    select = statements[0] if len(statements) == 1 else None
    parts = {key for key, value in select.args.items() if value} if isinstance(select, exp.Select) else set()
    if not parts <= {"expressions", "from", "from_", "where", "kind"} or "where" not in parts:
        raise NotOneConditionError("is more than one condition")
    assert isinstance(select, exp.Select)
    condition = select.args["where"].this
    assert isinstance(condition, exp.Expr)
    return condition
