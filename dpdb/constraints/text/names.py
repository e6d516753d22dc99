"""Resolve names: columns against the columns of a table, tuples against the accepted spellings."""

from __future__ import annotations

from collections.abc import Sequence

from dpdb.constraints.text.lexer import Token
from dpdb.constraints.text.source import Source, shortened
from dpdb.errors import ParameterError
from dpdb.names import most_similar_name

__all__ = ["ColumnNames", "TupleNames"]

_STYLES = (("t1", "t2"), ("t0", "t1"), ("t", "s"), ("t", "t'"), ("ti", "tj"), ("t_i", "t_j"))
_ACCEPTED = ", ".join(f"{one} and {other}" for one, other in _STYLES)


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
        self.most_words = max((len(column.split()) for column in self._columns), default=1)

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


class TupleNames:
    """The one or two tuple names that a constraint uses, checked one by one as they are met."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._seen: list[str] = []
        self._declared: frozenset[str] | None = None

    def declare(self, token: Token) -> None:
        """Accept a tuple name in a list of declarations; from then on only declared names may be used."""
        self._declared = (self._declared or frozenset()) | {self._accept(token)}

    def without_uses(self) -> TupleNames:
        """Return the names as they are declared, for another reading of the same predicates."""
        fresh = TupleNames(self._source)
        fresh._declared = self._declared
        fresh._seen = sorted(self._declared or ())
        return fresh

    def use(self, token: Token) -> str:
        """Accept a tuple name in a predicate and return it normalised."""
        name = self._accept(token)
        if self._declared is not None and name not in self._declared:
            declared = " or ".join(sorted(self._declared))
            raise self._source.syntax_error(token.offset, f"a declared tuple name ({declared})", token.shown)
        return name

    def index(self, name: str) -> int:
        """Return 0 for the first tuple and 1 for the second; call it when all names have been met."""
        style = next(style for style in _STYLES if set(self._seen) <= set(style))
        return style.index(name)

    def _accept(self, token: Token) -> str:
        name = token.text.lower().replace("\u2032", "'").replace("\u2019", "'")
        if name in self._seen:
            return name
        if not any({*self._seen, name} <= set(style) for style in _STYLES):
            raise self._source.syntax_error(token.offset, self._expected(name), token.shown)
        self._seen.append(name)
        return name

    def _expected(self, name: str) -> str:
        if len(self._seen) == 2:
            return f"{' or '.join(self._seen)} (a constraint has at most two tuples)"
        possible = [other for style in _STYLES if set(self._seen) <= set(style) for other in style]
        nearest = most_similar_name(name, [other for other in possible if other not in self._seen])
        beside = f" beside {self._seen[0]!r}" if self._seen else ""
        return f"a tuple name{beside} (accepted: {_ACCEPTED}; nearest: {nearest})"
