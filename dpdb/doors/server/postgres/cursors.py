"""`Cursors`: DECLARE, FETCH, MOVE and CLOSE, as psql's FETCH_COUNT and named cursors of drivers send them.

The statement is run, and paid for, once: by DECLARE. FETCH hands out its rows. A cursor ends with its transaction, one
that is declared WITH HOLD when it is closed. Rows of one that only goes forward are dropped when all have been fetched.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

from dpdb.doors.server.postgres.session import verb_of
from dpdb.doors.server.postgres.wire import WireError

_NAME = r'(?P<name>"[^"]{1,63}"|[A-Za-z_][\w$]{0,62})'
_DECLARE = re.compile(
    rf"\s*DECLARE\s+{_NAME}\s+(?:BINARY\s+|INSENSITIVE\s+|ASENSITIVE\s+)*(?P<scrolls>(?:NO\s+)?SCROLL\s+)?CURSOR\s+"
    r"(?P<holds>(?:WITH|WITHOUT)\s+HOLD\s+)?FOR\s",
    re.IGNORECASE | re.ASCII,
)
_STEP = (
    r"(?P<step>NEXT|PRIOR|FIRST|LAST|(?:ABSOLUTE|RELATIVE)\s+[+-]?\d{1,9}|(?:FORWARD|BACKWARD)(?:\s+(?:\d{1,9}|ALL))?"
    r"|[+-]?\d{1,9}|ALL)"
)
_FETCH = re.compile(rf"\s*(?:FETCH|MOVE)\s+(?:{_STEP}\s+)?(?:(?:FROM|IN)\s+)?{_NAME}\s*", re.IGNORECASE | re.ASCII)
_CLOSE = re.compile(rf"\s*CLOSE\s+{_NAME}\s*", re.IGNORECASE | re.ASCII)
_QUERIES = ("SELECT", "WITH", "VALUES", "FROM")
_VERBS = ("DECLARE", "FETCH", "MOVE", "CLOSE")
_MOST = 2  # whose rows are kept
_MOST_TEXT = 1_000
_ROWS_OF = {"NEXT": ("FORWARD", 1), "PRIOR": ("BACKWARD", 1), "FIRST": ("ABSOLUTE", 1), "LAST": ("ABSOLUTE", -1)}

Run = Callable[[str], Awaitable[tuple[pa.Table, Mapping[str, str]]]]


@dataclass
class _Cursor:
    """The rows of a cursor; it stands on one of them, counted from 1, or before the first or behind the last."""

    rows: pa.Table
    scrolls: bool
    holds: bool
    place: int = 0
    is_new: bool = True  # of the transaction that goes on

    def moved(self, way: str, count: int | None) -> pa.Table:
        """Go so many rows forward or backward (None for all), or to a place; return the rows that were met."""
        most, place = self.rows.num_rows, self.place
        if way in ("ABSOLUTE", "RELATIVE") or count == 0:
            steps = count or 0
            goal = place + steps if way != "ABSOLUTE" else steps if steps >= 0 else most + 1 + steps
            if (goal < place or (goal == place and 0 < place <= most)) and not self.scrolls:
                raise WireError("55000", "the cursor only goes forward: declare it with SCROLL")
            self.place = min(max(goal, 0), most + 1)
            return self.rows.slice(self.place - 1, 1) if 0 < self.place <= most else self.rows.slice(0, 0)
        if way == "BACKWARD":
            if not self.scrolls:
                raise WireError("55000", "the cursor only goes forward: declare it with SCROLL")
            first = 0 if count is None else max(place - count, 0)
            met = [*range(place - 1, max(first, 1) - 1, -1)]
            self.place = first
            return self.rows.take([one - 1 for one in met]) if met else self.rows.slice(0, 0)
        last = most + 1 if count is None else min(place + count, most + 1)
        self.place = last
        found = self.rows.slice(place, min(last, most) - place)
        if last == most + 1 and not self.scrolls:
            self.rows, self.place = self.rows.schema.empty_table(), 1
        return found


class Declared(NamedTuple):
    """What a DECLARE says: the name, its options, and its query, whose words keep their places."""

    name: str
    scrolls: bool
    holds: bool
    head: str
    query: str


def declared(text: str) -> Declared:
    """Read a bare DECLARE; `WireError` if it declares no cursor of a query."""
    found = _DECLARE.match(text)
    if found is None:
        raise WireError("0A000", "write DECLARE name CURSOR FOR SELECT ...; rows come once, by SCROLL in any order")
    query = re.sub(r"\S", " ", found[0]) + text[found.end() :]
    if verb_of(query) not in _QUERIES:
        raise WireError("42601", "a cursor is of a query: write SELECT ...")
    scrolls = (found["scrolls"] or "").upper().startswith("SCROLL")
    holds = (found["holds"] or "").upper().split()[:1] == ["WITH"]
    return Declared(_plain(found["name"]), scrolls, holds, found[0], query)


class Step(NamedTuple):
    """What a FETCH or MOVE asks of a cursor: which way, and how many rows or which; None for all."""

    name: str
    way: str
    most: int | None


def step_of(text: str) -> Step:
    """Read a bare FETCH or MOVE."""
    found = _read(_FETCH, text, "FETCH 100 FROM name")
    name = _plain(found["name"])
    way, *more = (found["step"] or "NEXT").upper().split()
    if way in _ROWS_OF:
        return Step(name, *_ROWS_OF[way])
    if way not in ("FORWARD", "BACKWARD", "ABSOLUTE", "RELATIVE"):
        way, more = "FORWARD", [way]
    count = None if more[:1] == ["ALL"] else int(more[0]) if more else 1
    if count is not None and count < 0 and way == "FORWARD":
        way, count = "BACKWARD", -count
    return Step(name, way, count)


def closed(text: str) -> str | None:
    """Return the name in a bare CLOSE; None of all."""
    found = _read(_CLOSE, text, "CLOSE name")
    return None if found["name"].upper() == "ALL" else _plain(found["name"])


def _read(form: re.Pattern[str], text: str, example: str) -> re.Match[str]:
    if len(text) > _MOST_TEXT:
        raise WireError("54000", f"FETCH, MOVE and CLOSE have at most {_MOST_TEXT:,} characters")
    found = form.fullmatch(text)
    if found is None:
        raise WireError("42601", f"write {example}")
    return found


class Cursors:
    """The cursors of one connection."""

    def __init__(self) -> None:
        self._open: dict[str, _Cursor] = {}

    @staticmethod
    def is_about(text: str) -> bool:
        """Return whether a bare statement is answered here."""
        return verb_of(text) in _VERBS

    async def declare(self, text: str, in_transaction: bool, run: Run) -> Mapping[str, str]:
        """Run the statement of a bare DECLARE and keep its rows; returns the notice of what it cost.

        Raises
        ------
        WireError
            It cannot be declared, and nothing is run.
        """
        said = declared(text)
        if not in_transaction and not said.holds:
            raise WireError("25P01", "a cursor lasts as long as its transaction: write BEGIN before, or WITH HOLD")
        if said.name in self._open:
            raise WireError("42P03", f"there is a cursor {said.name!r} already")
        if len(self._open) >= _MOST:
            raise WireError("54000", f"{_MOST} cursors are open: close one")
        table, notice = await run(said.query)
        self._open[said.name] = _Cursor(table, said.scrolls, said.holds, is_new=in_transaction)
        return notice

    def fetch(self, text: str) -> pa.Table:
        """Return the rows that a bare FETCH or MOVE asks for, in its order."""
        name, way, count = step_of(text)
        return self._named(name).moved(way, count)

    def schema(self, text: str) -> pa.Schema:
        """Return the columns of the rows that a bare FETCH asks for."""
        return self._named(step_of(text).name).rows.schema

    def schema_of(self, name: str) -> pa.Schema | None:
        """Return the columns of a cursor by its name; None if there is none."""
        return self._open[name].rows.schema if name in self._open else None

    def close(self, text: str) -> None:
        """Forget a cursor, or all."""
        name = closed(text)
        if name is None:
            self._open.clear()
            return
        self._named(name)
        del self._open[name]

    def end_transaction(self, *, is_kept: bool) -> None:
        """Forget the cursors of a transaction, but the held ones if it is committed."""
        self._open = {name: one for name, one in self._open.items() if one.holds and (is_kept or not one.is_new)}
        for one in self._open.values():
            one.is_new = False

    def forget(self) -> None:
        """Forget all of them."""
        self._open.clear()

    def _named(self, name: str) -> _Cursor:
        if name not in self._open:
            raise WireError("34000", f"there is no cursor {name!r}")
        return self._open[name]


def _plain(name: str) -> str:
    return name[1:-1] if name.startswith('"') else name.lower()
