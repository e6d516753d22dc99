"""The character at which CSV text is cut: given by the owner, else told by the file's name and its header line."""

from __future__ import annotations

import re

from dpdb.errors import ParameterError
from dpdb.sources.cells.compression import without_compression

__all__ = ["delimiter_of", "named_delimiter", "parse_delimiter", "told_delimiter"]

_BY_NAME = {".csv": ",", ".tsv": "\t"}
_OTHERS = (b";", b"\t", b"|")
_TAB = ("\\t", "tab", "TAB")


def parse_delimiter(text: str) -> str:
    r"""Read a delimiter as it is written: one character, or ``tab`` or ``\t`` for a tab.

    Raises
    ------
    ParameterError
        If it is no single ASCII character, or one that cells are written with: a letter, a digit, a quote, a line end.
    """
    if text in _TAB:
        return "\t"
    if not isinstance(text, str) or len(text) != 1 or not text.isascii():
        raise ParameterError(f"delimiter {text!r}: expected one ASCII character, such as ';' or '|', or tab")
    if text in '"\r\n\0' or text.isalnum():
        raise ParameterError(
            f"delimiter {text!r}: cells are written with it; expected a character such as ';' or '|', or tab"
        )
    return text


def named_delimiter(path: str) -> str | None:
    """Return the delimiter that a CSV file's name tells, or None if it is no CSV file's name."""
    return next((mark for suffix, mark in _BY_NAME.items() if without_compression(path).endswith(suffix)), None)


def told_delimiter(path: str, header: bytes) -> bytes:
    """Tell the delimiter: the one of the file's name, unless the header line has only another one outside quotes.

    Both are public; no row is asked.
    """
    named = (named_delimiter(path) or ",").encode()
    return next((mark for mark in (named, *_OTHERS) if _is_in(mark, header)), named)


def delimiter_of(path: str, header: bytes, given: str | None, likely: str | None) -> bytes:
    """Return the given delimiter; without one a likely one, if the header line has it outside quotes, else as told.

    Parameters
    ----------
    path
        The file.
    header
        Its first line.
    given
        The owner's delimiter, if there is one.
    likely
        The delimiter of a table that this one belongs to, if it is known.
    """
    if given is not None:
        return given.encode()
    if likely is not None and _is_in(likely.encode(), header):
        return likely.encode()
    return told_delimiter(path, header)


def _is_in(mark: bytes, header: bytes) -> bool:
    return mark in re.sub(rb'"[^"]*"', b"", header)
