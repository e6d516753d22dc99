r"""Texts of others on a screen: characters that a reader would obey or hide are shown as in `\x1b` and `\u202e`."""

from __future__ import annotations

__all__ = ["in_html", "printable"]


def printable(text: str) -> str:
    r"""Return a text whose characters that a terminal would obey or hide are written as in `\x1b`."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def in_html(text: str) -> str:
    """Return a text for HTML, in an attribute, too; a sign that turns the direction of reading moves nothing else."""
    from html import escape

    return escape("\n".join(map(printable, text.split("\n"))))
