"""A position in a list of tokens, with the questions a parser asks of it."""

from __future__ import annotations

from dpdb.constraints.text.lexer import Kind, Token, tokenize
from dpdb.constraints.text.names import ColumnNames
from dpdb.constraints.text.source import Source
from dpdb.errors import ConstraintSyntaxError
from dpdb.printable import printable

__all__ = ["Cursor"]


class Cursor:
    """Reads a constraint text token by token.

    Parameters
    ----------
    source
        The text.
    names
        The table's columns, or None to take every column name as it is written.
    """

    def __init__(self, source: Source, names: ColumnNames | None) -> None:
        self.source = source
        self._names = names
        self._tokens = tokenize(source)
        self._position = 0

    def peek(self, ahead: int = 0) -> Token:
        """Return a token without moving."""
        return self._tokens[min(self._position + ahead, len(self._tokens) - 1)]

    def take(self) -> Token:
        """Return the current token and move on."""
        token = self.peek()
        self._position += 1
        return token

    @property
    def position(self) -> int:
        """The place to come back to by setting it."""
        return self._position

    @position.setter
    def position(self, position: int) -> None:
        self._position = position

    def at(self, kind: Kind, ahead: int = 0) -> bool:
        """Return whether the token is of a kind."""
        return self.peek(ahead).kind is kind

    def at_word(self, *words: str, ahead: int = 0) -> bool:
        """Return whether the token is one of some lower-case words, in any case."""
        return self.at(Kind.NAME, ahead) and self.peek(ahead).text.lower() in words

    def at_column(self, ahead: int = 0) -> bool:
        """Return whether the token can be (the first word of) a column name."""
        return self.at(Kind.QUOTED, ahead) or self._is_bare(self.peek(ahead))

    def accept(self, kind: Kind) -> bool:
        """Move on if the token is of a kind; whether it was."""
        found = self.at(kind)
        if found:
            self.take()
        return found

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
        """Return what stands between two positions (up to here), for readers: one line, without comments, printable."""
        tokens = self._tokens[start : self._position if end is None else end]
        ends = [token.end for token in tokens]
        apart = (" " if end < token.offset else "" for end, token in zip(ends[:1] + ends, tokens, strict=False))
        return printable("".join(gap + token.text for gap, token in zip(apart, tokens, strict=True)))

    def column(self, *, stop_at_and: bool = False, before: str | None = None) -> str:
        """Take a column name and return the table's spelling.

        Without quotes, several words are one name if the table has such a column; `stop_at_and` keeps the
        connective `and` out of names, and `before` is a word that is no part of a name that no column has.
        """
        first = self.peek()
        if not self.at_column():
            raise self.error("a column name")
        if self._names is None or first.kind is Kind.QUOTED:
            return self._resolved(self.take().content, first)
        words = self._words(self._names.most_words, stop_at_and=stop_at_and)
        for count in range(len(words), 0, -1):
            name = self._names.find(" ".join(words[:count]))
            if name is not None:
                self._position += count
                return name
        lower = [word.lower() for word in words]
        return self._resolved(" ".join(words[: lower.index(before)] if before in lower[1:] else words), first)

    def _resolved(self, name: str, token: Token) -> str:
        if not name:
            raise self.error("a column name that is not empty", token)
        if self._names is None:
            return name
        column = self._names.find(name)
        if column is None:
            raise self.source.column_error(token.offset, self._names.problem(name))
        return column

    def _words(self, most: int, *, stop_at_and: bool) -> list[str]:
        """Return the words from here on that could be one name; there is at least one."""
        words = [self.peek().text]
        while len(words) < most and self._is_bare(self.peek(len(words))):
            if stop_at_and and self.at_word("and", ahead=len(words)):
                break
            words.append(self.peek(len(words)).text)
        return words

    @staticmethod
    def _is_bare(token: Token) -> bool:
        return token.kind is Kind.NAME or (token.kind is Kind.NUMBER and token.text.isalnum())
