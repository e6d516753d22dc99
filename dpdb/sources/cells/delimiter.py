"""The character at which CSV text is cut, as its owner writes it."""

from __future__ import annotations

import re

from dpdb.errors import ParameterError

_TAB = ("\\t", "tab", "TAB")
_NUMBERED = re.compile(r"\\x([0-9A-Fa-f]{2})")


def parse_delimiter(text: str) -> str:
    r"""Read a delimiter as it is written: one character, ``tab`` or ``\t`` for a tab, its number as in ``\x01`` (Hive).

    Raises
    ------
    ParameterError
        If it is no single ASCII character, or one that cells are written with: a letter, a digit, a quote, a line end.
    """
    if text in _TAB:
        return "\t"
    if isinstance(text, str) and (numbered := _NUMBERED.fullmatch(text)):
        text = chr(int(numbered[1], 16))
    if not isinstance(text, str) or len(text) != 1 or not text.isascii():
        raise ParameterError(f"delimiter {text!r}: expected one ASCII character, such as ';' or '|', or tab")
    if text in '"\r\n\0' or text.isalnum():
        raise ParameterError(
            f"delimiter {text!r}: cells are written with it; expected a character such as ';' or '|', or tab"
        )
    return text


def shown_delimiter(mark: str) -> str:
    """Write a delimiter so that it is read again, and seen."""
    return mark if mark.isprintable() else f"\\x{ord(mark):02x}"
