"""Constraint text -> tokens, and the place of an error in it: line, column and a caret.

Time is linear in the length of the text, whatever it holds.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum

from dpdb.errors import ConstraintSyntaxError, UnknownColumnError

MAX_LENGTH = 100_000
"""A single constraint longer than this many characters is refused unread."""


class Kind(Enum):
    """The kind of a token; the value is the pattern that matches it. The order is the order of trial."""

    SPACE = r"(?:\s|\#[^\n]*+|--[^\n]*+)++"
    ARROW = r"[-=]>|[→⇒⟶⟹]"
    DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?!\w)"
    NUMBER = r"""[+-]?(?:[0-9]++(?:\.[0-9]++)?+|(?<![\w"'])\.[0-9]++)(?:[eE][+-]?[0-9]++)?+(?!\w)"""
    # A letter and a prime is a tuple name: no text can start right after a t, and none is followed so.
    NAME = r"[tT]['\u2032\u2019]|[^\W\d_]['\u2032\u2019](?=\s*+[.,:&])|\w++"
    QUOTED = r'"(?:[^"]|"")*+"|`(?:[^`]|``)*+`'
    TEXT = r"'(?:[^']|'')*+'"
    MATCH = r"!?~\*?"
    OPERATOR = r"==|!=|<>|<=|>=|[=<>≠≤≥]"
    AND = r"&&?|[\^∧⋀]"
    OR = r"\u2228"
    ARITHMETIC = r"//|[-+*/%]"
    NOT = r"[¬!]"
    FORALL = r"∀"
    LPAREN = r"\("
    RPAREN = r"\)"
    LBRACKET = r"\["
    RBRACKET = r"\]"
    LBRACE = r"\{"
    RBRACE = r"\}"
    COMMA = r","
    DOT = r"\."
    COLON = r":"
    SEMICOLON = r";"
    END = r"\Z"


_TOKEN = re.compile("|".join(f"(?P<{kind.name}>{kind.value})" for kind in Kind))


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of text, its start and its kind; `width` is its length in the source if the text has another length."""

    kind: Kind
    text: str
    offset: int
    width: int | None = None

    @property
    def end(self) -> int:
        """The offset just after the token."""
        return self.offset + (len(self.text) if self.width is None else self.width)

    def is_word(self, *words: str) -> bool:
        """Return whether it is one of some lower-case words, in any case."""
        return self.kind is Kind.NAME and self.text.lower() in words

    @property
    def content(self) -> str:
        """The text without quotes, with doubled quotes single."""
        if self.kind in {Kind.QUOTED, Kind.TEXT}:
            quote = self.text[0]
            return self.text[1:-1].replace(quote * 2, quote)
        return self.text

    @property
    def shown(self) -> str:
        """The token as an error message shows it."""
        return "end of text" if self.kind is Kind.END else shortened(self.text)


def tokenize(source: Source) -> list[Token]:
    """Return the tokens of a text without spaces and comments; the last one is the end of the text.

    Raises
    ------
    ConstraintSyntaxError
        On a character that starts no token, a quote that is not closed, or a text longer than `MAX_LENGTH`.
    """
    text = source.text
    if len(text) > MAX_LENGTH:
        raise source.syntax_error(0, f"a constraint of at most {MAX_LENGTH} characters", f"{len(text)}")
    tokens: list[Token] = []
    offset = 0
    while not tokens or tokens[-1].kind is not Kind.END:
        match = _TOKEN.match(text, offset)
        if match is None or match.lastgroup is None:
            raise _bad_character(source, offset)
        offset = match.end()
        kind = Kind[match.lastgroup]
        if kind is not Kind.SPACE:
            tokens.append(Token(kind, match.group(), match.start()))
    return tokens


def _bad_character(source: Source, offset: int) -> ConstraintSyntaxError:
    character = source.text[offset]
    if character in {'"', "'", "`"}:
        return source.syntax_error(offset, f"a closing {character}", "end of text")
    return source.syntax_error(offset, "a name, a constant, an operator or punctuation", repr(character))


_EXCERPT_BEFORE = 60
_EXCERPT_WIDTH = 100
_SHOWN_NAME = 60


@dataclass(frozen=True, slots=True)
class Source:
    """A text and the line number of its first line.

    Attributes
    ----------
    is_printable : bool
        Whether the text has no character that a terminal would obey or hide.
    """

    text: str
    line: int = 1
    is_printable: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_printable", self.text.isprintable())

    def syntax_error(self, offset: int, expected: str, found: str) -> ConstraintSyntaxError:
        """Return (not raise) the error for something unexpected at `offset`."""
        return ConstraintSyntaxError(self._point(offset, f"expected {expected}, found {found}"))

    def column_error(self, offset: int, problem: str) -> UnknownColumnError:
        """Return (not raise) the error for a column name at `offset` that cannot be resolved."""
        return UnknownColumnError(self._point(offset, problem))

    def _point(self, offset: int, message: str) -> str:
        start = self.text.rfind("\n", 0, offset) + 1
        end = self.text.find("\n", offset)
        line = self.text[start : end if end >= 0 else len(self.text)]
        number = self.line + self.text.count("\n", 0, start)
        return f"line {number}, column {offset - start + 1}: {message}\n{_excerpt(line, offset - start)}"


def _excerpt(line: str, position: int) -> str:
    """Return the part of `line` around `position`, with a caret under it."""
    start = max(0, position - _EXCERPT_BEFORE)
    shown = "".join(c if c.isprintable() else " " for c in line[start : start + _EXCERPT_WIDTH])
    return f"    {shown}\n    {' ' * (position - start)}^"


def shortened(text: str) -> str:
    """Return a text quoted for a message, cut when it is long."""
    return repr(text if len(text) <= _SHOWN_NAME else text[: _SHOWN_NAME - 3] + "...")
