"""Patterns of PostgreSQL as those of DuckDB (RE2, strftime); what the two read otherwise is refused."""

from __future__ import annotations

import re

from sqlglot import exp

from dpdb.errors import StatementRefusedError

_PIECE = re.compile(r"\\.|.", re.DOTALL)
# Words and classes of letters, which differ outside of ASCII, and what only one of the two has.
_OTHERWISE = re.compile(r"\\[^dsnt\W]|\[\[[:.=]|\(\?|\*\*\*")
# The longest match is PostgreSQL's, the first is RE2's.
_CHOICE = re.compile(r"\||[*+?}]\?")
_TIMES = re.compile(r"(?:%[YmdHMS]|[^%\w])*", re.ASCII)


def regular(pattern: str) -> str:
    """Return the regular expression of a pattern of SIMILAR TO."""
    found, inside = [], False
    for piece in _PIECE.findall(pattern):
        if piece[0] == "\\":
            if len(piece) == 1:
                raise StatementRefusedError("a pattern ends with a backslash")
            found.append(re.escape(piece[1]))
        elif inside:
            inside = piece != "]"
            found.append(piece)
        elif piece == "[":
            inside = True
            found.append(piece)
        else:
            found.append({"%": "(?s:.*)", "_": "(?s:.)", ".": r"\.", "^": r"\^", "$": r"\$"}.get(piece, piece))
    return "".join(found)


def searched(pattern: str, *, is_replaced: bool, ignores_case: bool) -> str:
    """Return a regular expression as RE2 reads it."""
    plain = re.sub(r"\\\W", "", pattern)
    if _OTHERWISE.search(plain) or (is_replaced and _CHOICE.search(plain)):
        raise StatementRefusedError(
            "this regular expression may match otherwise in PostgreSQL: write classes like [a-z]"
        )
    return f"(?{'i' if ignores_case else ''}s){pattern}"


def timed(form: exp.Expr) -> None:
    """Refuse a form of times with other signs than years, months, days, hours, minutes and seconds in digits."""
    is_text = isinstance(form, exp.Literal) and form.is_string
    if not is_text or not _TIMES.fullmatch(form.name) or "%S%S" in form.name:  # SSSS counts from midnight
        raise StatementRefusedError("to_char takes a form of YYYY, MM, DD, HH24, MI and SS in quotes")
