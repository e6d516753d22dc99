"""Seals of a ledger's lines, and marks of its table, of the rows of an epoch and of its head: all under its own key.

A line that was changed, removed, put in or moved no longer agrees with its seal. A seal is a BLAKE2b hash of the line
and of the seal before it, with the ledger's key and the kind of line in the hash itself (RFC 7693, keyed and
personalised): as strong as an HMAC and several times as fast, and opening a ledger looks at every one.

A mark is an HMAC with a random key that never leaves the ledger file, so whoever sees a mark learns nothing about the
table.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from dpdb.ledger.store.file import LedgerFile

Line = TypeVar("Line", bound=tuple[Any, ...])
Bound: TypeAlias = Callable[[Any], bytes] | None

FIRST = bytes(32)
"""The seal before the first line of a chain, and before a line that is in no chain."""


def seal(key: bytes, kind: str, before: bytes, line: tuple[Any, ...]) -> bytes:
    """Seal of a line after the line sealed by `before`.

    Different lines are hashed as different texts: `~` is NULL, a number ends in a comma, text and bytes come after
    their length and their kind.

    Parameters
    ----------
    key
        The ledger's own key.
    kind
        The kind of line, at most 16 bytes.
    before
        Seal of the line before.
    line
        Values of the line: None, numbers, texts and bytes.
    """
    parts = [
        f"{len(value)}:{value}" if value.__class__ is str
        else "~" if value is None
        else f"{len(value)}x{value.hex()}" if value.__class__ is bytes
        else f"{value},"
        for value in line
    ]  # fmt: skip
    message = before + "".join(parts).encode()
    return hashlib.blake2b(message, digest_size=32, key=key, person=kind.encode()).digest()


class Chain(Generic[Line]):
    """The lines of a table in order, each sealed behind the one before, most kinds together with what they belong to.

    A line may be sealed together with the seal of the line that it belongs to: an answer with that of its debit.

    Parameters
    ----------
    table : str
        Its name, which is the kind of line in the seals.
    kind : type
        Of the lines: named tuples of all columns but the seal. The first is the number, the last the place.
    """

    def __init__(self, table: str, kind: type[Line]) -> None:
        self.table, self._kind = table, kind
        names = ", ".join(f'"{name}"' for name in kind._fields)  # type: ignore[attr-defined]
        self._query = f"SELECT {names}, seal FROM {table} WHERE number"
        self._seals: list[bytes] = []

    @property
    def last(self) -> int:
        """Number of the newest line."""
        return len(self._seals)

    @property
    def before(self) -> bytes:
        """Seal of the newest line."""
        return self._before(self.last + 1)

    def _before(self, number: int) -> bytes:
        return self._seals[number - 2] if number > 1 else FIRST

    def seal_of(self, number: int) -> bytes:
        """Seal of a line; `ValueError` if there is none of this number."""
        if not 0 < number <= self.last:
            raise ValueError(f"the table {self.table!r} has no line {number}")
        return self._seals[number - 1]

    def row(self, key: bytes, line: Line, *bound: bytes, before: bytes | None = None) -> tuple[object, ...]:
        """Return a line as its row, with its seal last.

        Parameters
        ----------
        key
            The ledger's own key.
        line
            The next line, or one that was read.
        *bound
            Seal of the line that it belongs to.
        before
            Seal of the line before, if that was not read yet.
        """
        before = self._before(line[0]) if before is None else before
        return *line, seal(key, self.table, before, (*line, *bound))

    def append(self, sealed: bytes) -> None:
        """Add the seal of a line that this process has written."""
        self._seals.append(sealed)

    def read(self, file: LedgerFile, key: bytes, bound: Bound = None) -> Iterator[list[Any]]:
        """Give the rows that follow the newest line, in batches; a batch counts as read once the next one is asked for.

        Parameters
        ----------
        file
            The ledger's file.
        key
            The ledger's own key.
        bound
            Returns, of a row, the seal of the line that it belongs to.

        Raises
        ------
        ValueError
            A row does not agree with its seal, or is missing.
        """
        for rows in file.batches(f"{self._query} > ? ORDER BY number", (self.last,)):
            before = self.before
            for number, row in enumerate(rows, self.last + 1):
                line = row[:-1] if bound is None else (*row[:-1], bound(row))
                before = seal(key, self.table, before, line)
                if row[0] != number or before != row[-1]:
                    raise ValueError(f"a line of the table {self.table!r} does not agree with its seal")
            yield rows
            self._seals += [row[-1] for row in rows]

    def take_new(
        self, file: LedgerFile, key: bytes, places: list[int], take: Callable[[Line], None], bound: Bound = None
    ) -> None:
        """Read the lines that follow the newest.

        Parameters
        ----------
        file, key, bound
            As of `read`.
        places
            Where the place of each line is added.
        take
            Takes each line.
        """
        for rows in self.read(file, key, bound):
            for row in rows:
                take(self._kind(*row[:-1]))
                places.append(row[-2])

    def again(self, file: LedgerFile, key: bytes, number: int, bound: Bound = None) -> Line:
        """Read a line again; `LedgerError` if it cannot be found or was changed.

        Parameters
        ----------
        file, key, bound
            As of `read`.
        number
            Of the line.
        """
        rows = file.rows(f"{self._query} = ?", (number,))
        if len(rows) != 1:
            raise file.damaged()
        return self._checked(file, key, rows[0], bound)

    def all_again(self, file: LedgerFile, key: bytes, first: int) -> Iterator[Line]:
        """Read the lines from a number on again, as `again` does; lines of a kind that belongs to no other.

        Parameters
        ----------
        file, key
            As of `read`.
        first
            The first number.
        """
        for rows in file.batches(f"{self._query} BETWEEN ? AND ? ORDER BY number", (first, self.last)):
            for row in rows:
                yield self._checked(file, key, row)

    def _checked(self, file: LedgerFile, key: bytes, row: Any, bound: Bound = None) -> Line:
        line = self._kind(*row[:-1])
        with suppress(ValueError):  # it belongs to a line that there is not
            if self.row(key, line, *([] if bound is None else [bound(row)]))[-1] == self.seal_of(line[0]):
                return line
        raise file.damaged()


_ROWS_OF = "single rows of "


@dataclass(frozen=True)
class SourceMark:
    """The table that a release reads.

    Parameters
    ----------
    table
        Its schema, as text: the same for ever.
    content
        What changes when its rows may have changed: sizes and times of its files, or a digest of its rows.
    rows_per_person
        Rows by which one unit changes what releases read, at most.
    unit
        The column whose values are the units that the ledger protects, or what `rows_of` says of rows of several
        tables; None if units are rows or persons with `rows_per_person` rows.
    read_as
        How its text is cut into rows, where its columns do not tell. An append-only ledger, which compares no content,
        knows its table by this, too.
    """

    table: str
    content: str
    rows_per_person: int = 1
    unit: str | None = None
    read_as: str = ""

    @property
    def protects(self) -> str:
        """The unit in words."""
        return unit_words(self.rows_per_person, self.unit)


def rows_of(tables: str) -> str:
    """Return the unit of a ledger that counts for rows of several tables, of which some are used, in words."""
    return f"{_ROWS_OF}{tables}"


def is_rows_of(unit: str) -> bool:
    """Return whether a unit comes from `rows_of`, and is no column."""
    return unit.startswith(_ROWS_OF)


def unit_words(rows: int, unit: str | None) -> str:
    """Return the unit that a ledger counts for, in words."""
    if unit is None:
        return f"{rows} rows per person"
    if is_rows_of(unit):
        return unit
    return f"values of {unit} with at most {rows} rows each"


def new_key() -> bytes:
    """A random key from the operating system."""
    return secrets.token_bytes(32)


def mark(key: bytes, kind: str, text: str) -> bytes:
    """HMAC-SHA-256 of a text.

    Parameters
    ----------
    key
        The ledger's own key.
    kind
        The name that keeps marks of different things apart.
    text
        The text to mark.
    """
    return hmac.digest(key, f"{kind}\0{text}".encode(), hashlib.sha256)
