"""Placeholders in a job's `where`, `{date}` and `{run_id}`, and the date of a run's data.

The date is not the time of the run: a backfill runs today for a day long ago. Each value of a placeholder becomes a
text literal, which the predicate casts to the column's type (`day = {date}` of a DATE, a TIMESTAMP or a text column);
it never becomes SQL, whatever the run's name. The tokenizer that reads the predicate afterwards also splits the clause,
so both agree on its literals.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import SqlglotError

from dpdb.errors import ParameterError
from dpdb.names import nearest_words

PLACEHOLDERS = ("date", "run_id")
_LITERAL = r"'(?:[^']|'')*'"
_TOUCHING = re.compile(r"""[\w'"`${}\\]""")  # e'...' has escapes, 'a''b' is one literal
_MOST_CHARACTERS = 100_000  # of a predicate


class _Place(NamedTuple):
    """A placeholder: its name, and its place in the clause."""

    name: str
    start: int
    end: int


def placeholders(where: str) -> frozenset[str]:
    """Return the names of the placeholders in a clause.

    Raises
    ------
    ParameterError
        One is unknown, or stands within quotes, where it would be text.
    """
    return frozenset(place.name for place in _places(where))


def fill(where: str, values: Mapping[str, str]) -> str:
    """Return the clause with every placeholder as a text literal.

    Examples
    --------
    >>> fill("day = {date} AND run <> {run_id}", {"date": "2026-11-21", "run_id": "o'clock"})
    "day = '2026-11-21' AND run <> 'o''clock'"
    """
    return "".join(part if isinstance(part, str) else _literal(values[part.name]) for part in _parts(where))


def is_filled_from(template: str, where: str) -> bool:
    """Return whether a clause is the template, filled with any values."""
    parts = (_LITERAL if isinstance(part, _Place) else re.escape(part) for part in _parts(template))
    return re.fullmatch("".join(parts), where) is not None


def _literal(text: str) -> str:
    return exp.Literal.string(text).sql("duckdb")


def _parts(where: str) -> Iterator[_Place | str]:
    """Give the clause in order: placeholders, and the text around them."""
    done = 0
    for place in _places(where):
        yield where[done : place.start]
        yield place
        done = place.end
    yield where[done:]


def _places(where: str) -> Iterator[_Place]:
    if "{" not in where or len(where) > _MOST_CHARACTERS:
        return
    try:
        tokens = DuckDB().tokenize(where)
    except SqlglotError:
        return  # no predicate; its reader raises the error
    for token in tokens:
        quoted = next((name for name in PLACEHOLDERS if f"{{{name}}}" in token.text), None)
        if quoted is not None:
            raise ParameterError(
                f"where: {{{quoted}}} stands within quotes, as a text of its own; write it without: day = {{{quoted}}}"
            )
    for opening, name, closing in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if (where[opening.start : opening.end + 1], where[closing.start : closing.end + 1]) != ("{", "}"):
            continue
        if name.text not in PLACEHOLDERS:
            raise ParameterError(f"where: no placeholder {{{name.text}}}{nearest_words(name.text, PLACEHOLDERS)}")
        start, end = opening.start, closing.end + 1
        if _TOUCHING.match(where[max(start - 1, 0) : start]) or _TOUCHING.match(where[end : end + 1]):
            raise ParameterError(
                f"where: {{{name.text}}} touches a word, a quote or another placeholder, with which it would be read "
                "as one; put a space between them"
            )
        yield _Place(name.text, start, end)


_DATE = re.compile(
    r"(?<![0-9])[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?)?(?![0-9])"
)


def in_utc(time: datetime) -> datetime:
    """Return a time in UTC; one that names no zone is in UTC already."""
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


def date_in(run_id: str) -> datetime | None:
    """Return the first date or time that a run id names, in UTC; None if it names none.

    Examples
    --------
    >>> date_in("scheduled__2026-11-21T06:00:00+01:00").isoformat(), date_in("first")
    ('2026-11-21T05:00:00+00:00', None)
    """
    for found in _DATE.finditer(run_id):
        try:
            return in_utc(datetime.fromisoformat(found[0]))
        except (ValueError, OverflowError):  # 2026-13-45
            continue
    return None


def parse_date(text: str) -> datetime:
    """Read a date that the caller states."""
    found = date_in(text) if _DATE.fullmatch(text) else None
    if found is None:
        raise ParameterError(f"--date {text!r}: expected a date or time such as 2026-11-21 or 2026-11-21T06:00Z")
    return found
