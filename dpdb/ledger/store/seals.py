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
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from dpdb.ledger.store.file import LedgerFile

Line = TypeVar("Line", bound=tuple[Any, ...])

FIRST = bytes(32)
"""The seal before the first line of a chain, and before a line that is in no chain."""


def seal(key: bytes, kind: str, before: bytes, line: tuple[Any, ...]) -> bytes:
    """Seal of a line after the line sealed by `before`.

    Different lines are hashed as different texts: `~` is NULL, a number ends in a comma, text and bytes come after
    their length and their kind.

    Parameters
    ----------
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


@dataclass
class SealedFile:
    """What the chains of a ledger share.

    Attributes
    ----------
    key : bytes
        The ledger's own key, once its terms are read.
    places : list of int
        The places of lines that were read and not yet counted.
    """

    file: LedgerFile
    key: bytes = b""
    places: list[int] = field(default_factory=list)


class Chain(Generic[Line]):
    """The lines of a table in order, each sealed behind the one before, most kinds together with what they belong to.

    A line may be sealed together with the seal of the line that it belongs to: an answer with that of its debit.

    Parameters
    ----------
    table : str
        Its name, which is the kind of line in the seals.
    kind : type
        Of the lines: named tuples of all columns but the seal. The first is the number, the last the place.
    of : Chain, optional
        The chain of the lines that these belong to, by their second column.
    """

    def __init__(self, sealed: SealedFile, table: str, kind: type[Line], of: Chain[Any] | None = None) -> None:
        self.table, self._kind = table, kind
        self._sealed, self._owner = sealed, of
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

    def _bound(self, line: Any) -> tuple[bytes, ...]:
        """Return the seal of the line that a line or row belongs to, if its kind belongs to any."""
        return () if self._owner is None else (self._owner.seal_of(line[1]),)

    def row(self, line: Line, *bound: bytes, before: bytes | None = None) -> tuple[object, ...]:
        """Return a line as its row, with its seal last.

        Parameters
        ----------
        *bound
            Seal of the line that it belongs to, if that was not read yet.
        before
            Seal of the line before, if that was not read yet.
        """
        before = self._before(line[0]) if before is None else before
        return *line, seal(self._sealed.key, self.table, before, (*line, *(bound or self._bound(line))))

    def append(self, sealed: bytes) -> None:
        """Add the seal of a line that this process has written."""
        self._seals.append(sealed)

    def read(self) -> Iterator[list[Any]]:
        """Give the rows that follow the newest line, in batches; a batch counts as read once the next one is asked for.

        Raises
        ------
        ValueError
            A row does not agree with its seal, or is missing.
        """
        key, owner = self._sealed.key, self._owner
        for rows in self._sealed.file.batches(f"{self._query} > ? ORDER BY number", (self.last,)):
            before = self.before
            for number, row in enumerate(rows, self.last + 1):
                line = row[:-1] if owner is None else (*row[:-1], owner.seal_of(row[1]))
                before = seal(key, self.table, before, line)
                if row[0] != number or before != row[-1]:
                    raise ValueError(f"a line of the table {self.table!r} does not agree with its seal")
            yield rows
            self._seals += [row[-1] for row in rows]

    def take_new(self, take: Callable[[Line], None]) -> None:
        """Read the lines that follow the newest; `take` takes each."""
        for rows in self.read():
            for row in rows:
                take(self._kind(*row[:-1]))
                self._sealed.places.append(row[-2])

    def again(self, number: int) -> Line:
        """Read a line again; `LedgerError` if it cannot be found or was changed."""
        rows = self._sealed.file.rows(f"{self._query} = ?", (number,))
        if len(rows) != 1:
            raise self._sealed.file.damaged()
        return self._checked(rows[0])

    def all_again(self, first: int) -> Iterator[Line]:
        """Read the lines from a number on again, as `again` does."""
        for rows in self._sealed.file.batches(f"{self._query} BETWEEN ? AND ? ORDER BY number", (first, self.last)):
            yield from map(self._checked, rows)

    def _checked(self, row: Any) -> Line:
        line = self._kind(*row[:-1])
        with suppress(ValueError):  # it belongs to a line that there is not
            if self.row(line)[-1] == self.seal_of(line[0]):
                return line
        raise self._sealed.file.damaged()


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
        How its text is cut into rows, where its columns do not tell. A table of an append-only ledger, which compares
        no content, is known by this, too.
    columns
        Of a table whose cells are text: `table` without the types that the owner declares. They are no part of the
        table but of how it is read, as are the rule of `reading` and `read_as`: who declares others opens an epoch. It
        is empty for other tables.
    reading
        By which rule cells become values of declared types; empty where all are read as text. Also part of `content`.
    """

    table: str
    content: str
    rows_per_person: int = 1
    unit: str | None = None
    read_as: str = ""
    columns: str = ""
    reading: str = ""

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
    kind
        The name that keeps marks of different things apart.
    """
    return hmac.digest(key, f"{kind}\0{text}".encode(), hashlib.sha256)
