"""`freshness(updated_at) < 2 days`: lines of a suite that count, and are no rules."""

from __future__ import annotations

from datetime import timedelta

from dpdb.constraints.freshness import Freshness, zone_named
from dpdb.constraints.text.cursor import Cursor
from dpdb.constraints.text.lexer import Kind
from dpdb.errors import ParameterError

_UNITS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800}
_LONGEST = 10**11  # seconds: some 3,000 years
_MOST_ROWS = 10**15


def at_freshness(cursor: Cursor) -> bool:
    """Return whether a line says how new rows are, which no rule is that begins so."""
    return cursor.at_word("freshness") and cursor.at(Kind.LPAREN, ahead=1)


def freshness_line(cursor: Cursor) -> Freshness:
    """Take a line up to its WHERE or end.

    Raises
    ------
    ConstraintSyntaxError
        If it says something else.
    UnknownColumnError
        If there is no such column.
    """
    cursor.take()
    cursor.take()
    column, zone = cursor.column(), None
    if cursor.accept(Kind.COMMA):
        token = cursor.expect(Kind.TEXT, "a time zone in quotes, such as 'Europe/Berlin'")
        zone = token.content
        try:
            zone_named(zone)
        except ParameterError as error:
            raise cursor.error(f"a time zone ({error})", token) from None
    cursor.expect(Kind.RPAREN, "')' or a time zone")
    sign = cursor.expect(Kind.OPERATOR, "'<' and an age, such as freshness(updated_at) < 2 days")
    if sign.text not in ("<", "<=", "\u2264"):
        raise cursor.error("'<' or '<=': rows that are younger are fresh", sign)
    age = _age(cursor)
    rows = _whole(cursor, "a number of rows, such as WITH 200 ROWS") if cursor.accept_words("with") else None
    if rows is not None and not (cursor.accept_words("rows") or cursor.accept_words("row")):
        raise cursor.error("ROWS")
    if not (cursor.at(Kind.END) or cursor.at_word("where")):
        raise cursor.error("WITH 200 ROWS, WHERE, limits such as 'warn below 1', or the end of the line")
    return Freshness(column, age, inclusive=sign.text != "<", zone=zone, rows=rows)


def _age(cursor: Cursor) -> timedelta:
    token = cursor.peek()
    number = _whole(cursor, "a whole number and a unit, such as 2 days")
    unit = cursor.peek()
    name = unit.text.lower().removesuffix("s")
    if unit.kind is not Kind.NAME or name not in _UNITS:
        raise cursor.error("seconds, minutes, hours, days or weeks")
    cursor.take()
    seconds = number * _UNITS[name]
    if not 0 < seconds <= _LONGEST:
        raise cursor.error("an age above 0 and below 3,000 years", token)
    return timedelta(seconds=seconds)


def _whole(cursor: Cursor, expected: str) -> int:
    token = cursor.expect(Kind.NUMBER, expected)
    if not token.text.isdecimal() or not token.text.isascii() or len(token.text) > 15:
        raise cursor.error(expected, token)
    return int(token.text)
