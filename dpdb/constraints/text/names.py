"""Resolve names: columns against the columns of a table, tuples against the accepted spellings."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dpdb.constraints.text.lexer import Token
from dpdb.constraints.text.source import Source, shortened
from dpdb.errors import ParameterError
from dpdb.names import most_similar_name

__all__ = ["ColumnNames", "TupleNames", "normal_tuple_name"]

_STYLES = (("t1", "t2"), ("t0", "t1"), ("t", "s"), ("t", "t'"), ("ti", "tj"), ("t_i", "t_j"))
_ACCEPTED = "such as t1 and t2, t and s, x and y or row1 and row2; declare any others: forall one, other: not(...)"
_LETTER = r"[^\W\d_]"
_TUPLE_NAME = re.compile(rf"(?:{_LETTER}{{1,2}}|{_LETTER}{{1,5}}_?[0-9]{{1,3}}|{_LETTER}{{1,2}}_{_LETTER})'?")
_PRIMES_AND_NUMBERS = str.maketrans("\u2032\u2019₀₁₂₃₄₅₆₇₈₉", "''0123456789")
# A column of more words or parts than this is found by its name in quotes only.
_MOST_PARTS = 64


class ColumnNames:
    """The columns of a table, found by exact name, else by the only name that differs in case."""

    def __init__(self, columns: Sequence[str]) -> None:
        if isinstance(columns, str):
            raise ParameterError("columns must be a sequence of names, not one text")
        self._columns = tuple(columns)
        self._exact = frozenset(self._columns)
        self._folded: dict[str, list[str]] = {}
        for column in dict.fromkeys(self._columns):
            self._folded.setdefault(column.casefold(), []).append(column)
        parts = max((len(re.split(r"[\s.]+", column)) for column in self._columns), default=1)
        self.most_parts = min(parts, _MOST_PARTS)

    def find(self, name: str) -> str | None:
        """Return the table's spelling of a name, or None if there is no such column or several."""
        if name in self._exact:
            return name
        matches = self._folded.get(name.casefold(), [])
        return matches[0] if len(matches) == 1 else None

    def problem(self, name: str) -> str:
        """Return why `find` returned None, with the nearest name or the candidates."""
        matches = self._folded.get(name.casefold(), [])
        if matches:
            choices = " or ".join(map(shortened, matches))
            return f"column {shortened(name)} is ambiguous; write exactly {choices}"
        missing = f"the table has no column {shortened(name)}"
        return (
            f"{missing}; nearest is {shortened(most_similar_name(name, self._columns))}" if self._columns else missing
        )


def normal_tuple_name(text: str) -> str | None:
    """Return the one spelling of a tuple name, or None if only a declaration can make it one.

    Primes and subscripts are as typed on a keyboard. Longer names are not tuple names, because
    `orders.id = customers.id` means two tables, and `address.city = 'Paris'` a column.
    """
    name = _spelled(text)
    return name.lower() if _TUPLE_NAME.fullmatch(name) else None


def _spelled(text: str) -> str:
    return text.translate(_PRIMES_AND_NUMBERS)


class TupleNames:
    """The one or two tuple names that a constraint uses, checked one by one as they are met."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._seen: dict[str, str] = {}
        self._declared: frozenset[str] | None = None

    def declare(self, token: Token) -> None:
        """Accept a tuple name in a list of declarations; from then on only declared names may be used."""
        self._declared = (self._declared or frozenset()) | {self._accept(token, _spelled(token.text).lower())}

    def without_uses(self) -> TupleNames:
        """Return the names as they are declared, for another reading of the same predicates."""
        fresh = TupleNames(self._source)
        fresh._declared = self._declared
        fresh._seen = {name: spelled for name, spelled in self._seen.items() if name in (self._declared or ())}
        return fresh

    def use(self, token: Token) -> str:
        """Accept a tuple name in a predicate and return it normalised."""
        if self._declared is None:
            return self._accept(token, normal_tuple_name(token.text))
        name = _spelled(token.text).lower()
        if name not in self._declared:
            declared = " or ".join(sorted(self._declared))
            raise self._source.syntax_error(token.offset, f"a declared tuple name ({declared})", token.shown)
        return self._accept(token, name)

    def index(self, name: str) -> int:
        """Return 0 for the first tuple and 1 for the second; call it when all names have been met."""
        style = next((style for style in _STYLES if set(self._seen) <= set(style)), tuple(self._seen))
        return style.index(name)

    def _accept(self, token: Token, name: str | None) -> str:
        if name is None or (len(self._seen) == 2 and name not in self._seen):
            raise self._source.syntax_error(token.offset, self._expected(), token.shown)
        spelled = _spelled(token.text)
        if self._seen.setdefault(name, spelled) != spelled:
            expected = f"one spelling of the tuple name {self._seen[name]!r}"
            raise self._source.syntax_error(token.offset, expected, token.shown)
        return name

    def _expected(self) -> str:
        if len(self._seen) == 2:
            return f"{' or '.join(self._seen)} (a constraint has at most two tuples)"
        return f"a tuple name ({_ACCEPTED})"
