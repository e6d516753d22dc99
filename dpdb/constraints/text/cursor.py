"""What all readers of constraint text use: a position in a list of tokens, with questions to ask of it, and names.

Columns are resolved against the columns of a table, tuples against the accepted spellings.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from copy import copy
from typing import TypeVar

from dpdb.constraints.text.lexer import Kind, Source, Token, shortened, tokenize
from dpdb.errors import ConstraintSyntaxError, ParameterError
from dpdb.names import is_encodable, most_similar_name, printable

T = TypeVar("T")

CLOSED_BY = {Kind.LPAREN: Kind.RPAREN, Kind.LBRACKET: Kind.RBRACKET, Kind.LBRACE: Kind.RBRACE}
"""The closing token of each kind of bracket."""

OPENING, CLOSING = frozenset(CLOSED_BY), frozenset(CLOSED_BY.values())

_MOST_DOTS = 64
_SQL_WORDS = {"or", "not", "is", "in", "like", "between", "where", "isnull", "notnull"}


class Cursor:
    """Reads a constraint text token by token.

    Parameters
    ----------
    names
        The table's columns, or None to take every column name as it is written.

    Attributes
    ----------
    tokens : sequence of Token
        All tokens; the last one is the end of the text.
    position : int
        The number of the current token; set it to go back.
    """

    def __init__(self, source: Source, names: ColumnNames | None) -> None:
        self.source = source
        self.tokens: Sequence[Token] = tokenize(source)
        self.position = 0
        self._names = names

    def peek(self, ahead: int = 0) -> Token:
        """Return a token without moving."""
        place = self.position + ahead
        return self.tokens[place if place < len(self.tokens) else -1]

    def take(self) -> Token:
        """Return the current token and move on."""
        token = self.peek()
        self.position += 1
        return token

    def at(self, kind: Kind, ahead: int = 0) -> bool:
        """Return whether the token is of a kind."""
        return self.peek(ahead).kind is kind

    def at_word(self, *words: str, ahead: int = 0) -> bool:
        """Return whether the token is one of some lower-case words, in any case."""
        return self.peek(ahead).is_word(*words)

    def at_column(self, ahead: int = 0) -> bool:
        """Return whether the token can be (the first word of) a column name."""
        return self.at(Kind.QUOTED, ahead) or self._is_bare(self.peek(ahead))

    def accept(self, kind: Kind) -> bool:
        """Move on if the token is of a kind; whether it was."""
        found = self.at(kind)
        self.position += found
        return found

    def accept_words(self, *words: str) -> bool:
        """Move on behind some lower-case words if they come next, in any case; whether they did."""
        found = self.at_words(*words)
        self.position += len(words) * found
        return found

    def at_words(self, *words: str, before: Kind | None = None) -> bool:
        """Return whether some lower-case words come next, one after the other, and a token of a kind behind them."""
        found = all(self.at_word(word, ahead=place) for place, word in enumerate(words))
        return found and (before is None or self.at(before, ahead=len(words)))

    def expect(self, kind: Kind, expected: str) -> Token:
        """Take a token of a kind, else raise."""
        if not self.at(kind):
            raise self.error(expected)
        return self.take()

    def error(self, expected: str, token: Token | None = None) -> ConstraintSyntaxError:
        """Return (not raise) the error that something else was expected at a token (the current one)."""
        token = token or self.peek()
        return self.source.syntax_error(token.offset, expected, token.shown)

    def written(self, start: int, end: int | None = None) -> str:
        """Return the text between two positions (up to here), for readers: one line, without comments, printable."""
        tokens = self.tokens[start : self.position if end is None else end]
        ends = [token.end for token in tokens]
        apart = (" " if end < token.offset else "" for end, token in zip(ends[:1] + ends, tokens, strict=False))
        text = "".join(gap + token.text for gap, token in zip(apart, tokens, strict=True))
        return text if self.source.is_printable else printable(text)

    @property
    def without_end(self) -> str:
        """The whole text up to its last token: without a comment or semicolon at its end."""
        last = next((token for token in self.tokens[::-1] if token.kind not in {Kind.END, Kind.SEMICOLON}), None)
        return self.source.text[: 0 if last is None else last.end]

    def has(self, kind: Kind) -> bool:
        """Return whether a token of a kind is still to come."""
        return any(token.kind is kind for token in self.tokens[self.position :])

    @property
    def has_date(self) -> bool:
        """Whether `{date}` stands in the text, or anything else in braces."""
        return any(token.kind is Kind.LBRACE for token in self.tokens)

    def up_to_word(self, word: str) -> Cursor:
        """Return a cursor from here whose text ends before a word that stands outside parentheses, if there is one.

        A column of that name is found in quotes, or after the name of a tuple.
        """
        depth = 0
        for place in range(self.position, len(self.tokens)):
            token = self.tokens[place]
            depth += (token.kind in OPENING) - (token.kind in CLOSING)
            after_dot = place > 0 and self.tokens[place - 1].kind is Kind.DOT
            if depth == 0 and not after_dot and token.is_word(word):
                return self.up_to(place)
        return copy(self)

    def up_to(self, place: int) -> Cursor:
        """Return a cursor from here whose text ends before the token of a number."""
        token = self.tokens[place]
        return self.with_tokens([*self.tokens[:place], Token(Kind.END, token.text, token.offset)])

    def with_tokens(self, tokens: Sequence[Token]) -> Cursor:
        """Return a cursor at the same position in other tokens; the last one is the end."""
        part = copy(self)
        part.tokens = tokens
        return part

    def at_dotted_column(self) -> bool:
        """Return whether a column of the table begins here whose name has a dot, such as `address.city`."""
        if self._names is None or not self.at(Kind.DOT, ahead=1):
            return False
        return any("." in name and self._names.find(name) is not None for name, _ in self._spellings(stop_at_and=True))

    def at_known_column(self) -> bool:
        """Return whether the token alone is the name of a column of the table."""
        return self._names is not None and self._names.find(self.peek().content) is not None

    def begins_known_column(self) -> bool:
        """Return whether a column of the table begins here, of one word or more."""
        return self._names is not None and any(
            self._names.find(name) is not None for name, _ in self._spellings(stop_at_and=False)
        )

    def lacks_column(self) -> bool:
        """Return whether no column of the table, as far as these are known, begins here."""
        return self._names is not None and not self.begins_known_column()

    def listed(self, take: Callable[[], T], separator: Kind = Kind.COMMA) -> list[T]:
        """Take one or several of what `take` takes, with separators between them."""
        found = [take()]
        while self.accept(separator):
            found.append(take())
        return found

    def dotted_name(self, expected: str = "a name") -> list[str]:
        """Take the parts of a name of another table, and maybe of a column of it, as they are written."""
        return self.listed(lambda: self.written_name(expected), Kind.DOT)

    def written_name(self, expected: str = "a name") -> str:
        """Take a name of another table or of a column of it, as it is written.

        Raises
        ------
        ConstraintSyntaxError
            If it is empty or no valid Unicode.
        """
        if not self.at_column():
            raise self.error(expected)
        token = self.take()
        if not token.content:
            raise self.error("a name that is not empty", token)
        if not is_encodable(token.content):
            raise self.error("a name of valid Unicode", token)
        return token.content

    def skip_table(self) -> None:
        """Take the measured table's name before a column, as in `orders.customer_id`, if it is next."""
        while self.at_column() and self.at(Kind.DOT, ahead=1) and not self.at_dotted_column():
            self.position += 2

    def column(self, *, stop_at_and: bool = False, before: str | None = None) -> str:
        """Take a column name and return the table's spelling.

        Without quotes, several words or parts with dots between are one name if the table has such a column;
        `stop_at_and` keeps the connective `and` out of names, and SQL's other words out of those that no column has;
        `before` is one more such word.
        """
        first = self.peek()
        if not self.at_column():
            raise self.error("a column name")
        if first.kind is Kind.QUOTED:
            hint = "; a text stands in single quotes" if stop_at_and and first.text[0] == '"' else ""
            return self._resolved(self.take().content, first, hint)
        spellings = self._spellings(stop_at_and=stop_at_and)
        if self._names is None:
            name, count = [each for each in spellings if " " not in each[0]][-1]
            self.position += count
            return name
        for name, count in reversed(spellings):
            column = self._names.find(name)
            if column is not None:
                self.position += count
                self._refuse_field(name, first)
                return column
        words = spellings[-1][0].split(" ")
        ends = _SQL_WORDS if stop_at_and else {before or ""}
        count = next((place for place, word in enumerate(words) if place and word.lower() in ends), len(words))
        return self._resolved(" ".join(words[:count]), first)

    def _resolved(self, name: str, token: Token, hint: str = "") -> str:
        if not name:
            raise self.error("a column name that is not empty", token)
        if self._names is None:
            return name
        column = self._names.find(name)
        if column is None:
            raise self.source.column_error(token.offset, self._names.problem(name) + hint)
        return column

    def refuse_two_readings(self, start: int) -> None:
        """Refuse the words since a position as one column where they are two of the table's, too."""
        words = [token.text for token in self.tokens[start : self.position]]
        for count in range(1, len(words)):
            parts = " ".join(words[:count]), " ".join(words[count:])
            if self._names is not None and all(self._names.find(part) is not None for part in parts):
                shown = shortened(" ".join(words))
                raise self.error(
                    f"commas between columns, or double quotes around a name: {shown} is a column, and two others are "
                    "called so together",
                    self.tokens[start],
                )

    def _refuse_field(self, name: str, token: Token) -> None:
        """Refuse `address.city` where `address` is a column, and no column is called so."""
        if self.at(Kind.DOT) and self.at_column(ahead=1) and self._names is not None:
            raise self.source.column_error(
                token.offset,
                f"{self._names.problem(f'{name}.{self.peek(1).content}')} (a field is made a column by a view)",
            )

    def _spellings(self, *, stop_at_and: bool) -> list[tuple[str, int]]:
        """Return the names that could begin here, the shortest first, with their numbers of tokens."""
        found = [(self.peek().text, 1)]
        most = _MOST_DOTS if self._names is None else self._names.most_parts
        while len(found) < most:
            name, count = found[-1]
            dotted = self.at(Kind.DOT, ahead=count)
            token = self.peek(count + dotted)
            if not (
                self._is_bare(token) or (dotted and token.kind is Kind.NUMBER and token.text.replace(".", "").isalnum())
            ):
                break
            if stop_at_and and not dotted and token.text.lower() == "and":
                break
            found.append((f"{name}{'.' if dotted else ' '}{token.text}", count + dotted + 1))
        return found

    @staticmethod
    def _is_bare(token: Token) -> bool:
        return token.kind is Kind.NAME or (token.kind is Kind.NUMBER and token.text.isalnum())


_STYLES = (("t1", "t2"), ("t0", "t1"), ("t", "s"), ("t", "t'"), ("ti", "tj"), ("t_i", "t_j"))
_ACCEPTED = "such as t1 and t2, t and s, x and y or row1 and row2; declare any others: forall one, other: not(...)"
_LETTER = r"[^\W\d_]"
_TUPLE_NAME = re.compile(rf"(?:{_LETTER}{{1,2}}|{_LETTER}{{1,5}}_?[0-9]{{1,3}}|{_LETTER}{{1,2}}_{_LETTER})'?")
_PRIMES_AND_NUMBERS = str.maketrans("\u2032\u2019₀₁₂₃₄₅₆₇₈₉", "''0123456789")
# A column of more words or parts than this is found by its name in quotes only.
_MOST_PARTS = 64


_A_QUERY = "a rule is a condition on rows, no query"
_KEYWORDS = {
    "ILIKE": "write lower(NAME) LIKE '..'",
    "SIMILAR": "write regexp_full_match(NAME, '..')",
    "RLIKE": "write regexp_matches(NAME, '..')",
    "GLOB": "write NAME LIKE '..'",
    "CASE": "write each branch as a condition, joined by AND and OR",
    "DISTINCT": "write UNIQUE(NAME) for a key; a <> b OR a IS NULL .. for IS DISTINCT FROM",
    "UNKNOWN": "write IS NULL of what the condition compares",
    **dict.fromkeys(
        ("SELECT", "FROM", "GROUP", "HAVING", "ORDER", "LIMIT", "QUALIFY", "OVER", "JOIN", "UNION", "EXISTS"), _A_QUERY
    ),
}


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
        word = name.partition(" ")[0].upper()
        if (advice := _KEYWORDS.get(word)) is not None:
            return f"{missing}, and rules have no {word} of SQL: {advice}"
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
