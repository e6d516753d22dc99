"""A constraint text that can point at its own characters: line, column and a caret."""

from __future__ import annotations

from dataclasses import dataclass

from dpdb.errors import ConstraintSyntaxError, UnknownColumnError

__all__ = ["Source", "shortened"]

_EXCERPT_BEFORE = 60
_EXCERPT_WIDTH = 100
_SHOWN_NAME = 60


@dataclass(frozen=True, slots=True)
class Source:
    """A text and the line number of its first line."""

    text: str
    line: int = 1

    def syntax_error(self, offset: int, expected: str, found: str) -> ConstraintSyntaxError:
        """Return (not raise) the error for something unexpected at `offset`.

        Parameters
        ----------
        offset
            Position of the unexpected token in the text.
        expected, found
            Words for both, for the message.
        """
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
