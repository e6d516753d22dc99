"""The character at which CSV text is cut, as its owner writes it."""

from __future__ import annotations

from dpdb.errors import ParameterError

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
