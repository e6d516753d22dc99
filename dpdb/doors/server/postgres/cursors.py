"""`Cursors`: DECLARE, FETCH and CLOSE of simple messages, as psql's FETCH_COUNT sends them.

The statement is run, and paid for, once: by DECLARE. FETCH hands out its rows in order, until the transaction ends.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping

import pyarrow as pa

from dpdb.doors.server.postgres.errors import WireError
from dpdb.doors.server.postgres.session import verb_of

__all__ = ["Cursors"]

_NAME = r'(?P<name>"[^"]{1,63}"|[A-Za-z_][\w$]{0,62})'
_DECLARE = re.compile(
    rf"DECLARE\s+{_NAME}\s+(?:INSENSITIVE\s+|ASENSITIVE\s+)?(?:NO\s+SCROLL\s+)?CURSOR\s+(?:WITHOUT\s+HOLD\s+)?FOR\s",
    re.IGNORECASE | re.ASCII,
)
_FETCH = re.compile(
    rf"FETCH\s+(?:(?:(?P<next>NEXT)|(?:FORWARD\s+)?(?P<most>\d{{1,9}}|ALL)|FORWARD)\s+)?(?:(?:FROM|IN)\s+)?{_NAME}",
    re.IGNORECASE | re.ASCII,
)
_CLOSE = re.compile(rf"CLOSE\s+{_NAME}", re.IGNORECASE | re.ASCII)
_QUERIES = ("SELECT", "WITH", "VALUES", "FROM")
_MOST = 2  # whose rows are kept


class Cursors:
    """The cursors of one connection, and what is left of their rows."""

    def __init__(self) -> None:
        self._left: dict[str, pa.Table] = {}

    @staticmethod
    def is_about(text: str) -> bool:
        """Return whether a bare statement is answered here."""
        return verb_of(text) in ("DECLARE", "FETCH", "CLOSE")

    async def declare(
        self, text: str, in_transaction: bool, run: Callable[[str], Awaitable[tuple[pa.Table, Mapping[str, str]]]]
    ) -> Mapping[str, str]:
        """Run the statement of a bare DECLARE and keep its rows; returns the notice of what it cost.

        Raises
        ------
        WireError
            It cannot be declared, and nothing is run.
        """
        found = _DECLARE.match(text)
        if found is None:
            raise WireError("0A000", "write DECLARE name CURSOR FOR SELECT ...; rows come once and in order")
        if not in_transaction:
            raise WireError("25P01", "a cursor lasts as long as its transaction: write BEGIN before")
        name = _plain(found["name"])
        if name in self._left:
            raise WireError("42P03", f"there is a cursor {name!r} already")
        if len(self._left) >= _MOST:
            raise WireError("54000", f"{_MOST} cursors are open: close one")
        query = re.sub(r"\S", " ", found[0]) + text[found.end() :]  # words keep their places
        if verb_of(query) not in _QUERIES:
            raise WireError("42601", "a cursor is of a query: write SELECT ...")
        self._left[name], notice = await run(query)
        return notice

    def fetch(self, text: str) -> pa.Table:
        """Return the next rows, as a bare FETCH asks."""
        found = _FETCH.fullmatch(text.rstrip())
        if found is None:
            raise WireError("0A000", "write FETCH 100 FROM name; rows come once and in order")
        name = _plain(found["name"])
        left = self._left_of(name)
        most = found["most"] or "1"
        count = left.num_rows if most.upper() == "ALL" else min(int(most), left.num_rows)
        rest = left.slice(count)
        self._left[name] = rest if rest.num_rows else left.schema.empty_table()
        return left.slice(0, count)

    def close(self, text: str) -> None:
        """Forget a cursor, or all."""
        found = _CLOSE.fullmatch(text.rstrip())
        if found is None:
            raise WireError("42601", "write CLOSE name")
        if found["name"].upper() == "ALL":
            self.forget()
            return
        name = _plain(found["name"])
        self._left_of(name)
        del self._left[name]

    def forget(self) -> None:
        """Forget all of them: their transaction has ended."""
        self._left.clear()

    def _left_of(self, name: str) -> pa.Table:
        if name not in self._left:
            raise WireError("34000", f"there is no cursor {name!r}")
        return self._left[name]


def _plain(name: str) -> str:
    return name[1:-1] if name.startswith('"') else name.lower()
