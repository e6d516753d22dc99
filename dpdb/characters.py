"""Characters that need care: those that no encoding has, and those that a terminal would obey or hide."""

from __future__ import annotations

__all__ = [
    "in_html",
    "is_encodable",
    "printable",
]


def is_encodable(text: str) -> bool:
    """Return whether the text can be written as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def printable(text: str) -> str:
    r"""Return a text whose characters that a terminal would obey or hide are written as in `\x1b`."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def in_html(text: str) -> str:
    """Return a text escaped for HTML, also in an attribute; its direction signs affect no other text."""
    from html import escape

    return escape("\n".join(map(printable, text.split("\n"))))
