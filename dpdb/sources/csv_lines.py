r"""The stretch of a CSV text that is one row. The rule reads every row by itself, so no row can change its neighbours.

A line end of the header's kind (``\n``, also after ``\r``; or ``\r`` alone) ends a row if the number of quotes (``"``)
since the row began is even. So cells in quotes may span lines, and

    in a text that can be read, one more line with an even number of quotes is one more row and changes no other, and
    one more line with an odd number of quotes makes the total odd: the text ends within quotes and is refused.

*Proof.* A text is refused unless its number of quotes is even. Put a line behind a row's end: the number of quotes from
there on is what it was before; so if the line's own number is even, a row ends with it, and every later line end has
the parity that it had without the line. An odd number makes the total odd.

A row is cut into cells at delimiters outside quotes. Its cells stand in quotes as a whole, in which ``""`` is a quote,
or have no quote at their beginning; blanks around the quotes are dropped, unless a blank is the delimiter. Then, by the
row alone:

- cells that are missing at the end are NULL, empty ones beyond the header's are dropped;
- a row of one line with more cells, or with quotes out of place, is a row of NULLs;
- a row of several lines with more or fewer cells, or with quotes out of place, is refused: most likely a quote is
  missing, and the lines of other rows lie inside;
- an empty line is no row, except in a table of one column, where it is a row with NULL.

The character at which text is cut is given by the owner, else told by the file's name and its header line. Where the
owner declares other quotes, or none, `line_rows` has the rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dpdb.sources.cells.faults import FileFaults
from dpdb.sources.paths import without_compression

# Bytes of one row. A quote that is never closed would otherwise fill the memory before the end of the file tells.
LONGEST = 16 << 20

_QUOTE, _LF, _CR = b'"\n\r'
_ANY_END = re.compile(rb"\r\n|\n|\r")
Positions = npt.NDArray[np.intp]


class UnreadableError(Exception):
    """A text cannot be read as rows; for the file's owner, with the line."""


class Mended(NamedTuple):
    """Rows that every CSV reader reads alike.

    Attributes
    ----------
    meaning : bytes or None
        What each byte of their cells stands for; itself, if this is None.
    """

    rows: bytes
    meaning: bytes | None = None


def first_row(text: bytes, *, spans_lines: bool = True) -> tuple[bytes, bytes, bytes] | None:
    """Return a text's first row, its line end and the rest of the text, or None if the row has not ended.

    Parameters
    ----------
    spans_lines
        Whether line ends within quotes are part of it. Default: they are.
    """
    quotes = begin = 0
    for match in _ANY_END.finditer(text):
        quotes += text.count(b'"', begin, match.start()) if spans_lines else 0
        begin = match.start()
        if quotes % 2 == 0 and match[0] != b"\r":
            return text[:begin], match[0][-1:], text[match.end() :]
        if quotes % 2 == 0 and match.end() < len(text):
            return text[:begin], b"\r", text[match.end() :]
    return None


@dataclass
class CsvLines:
    """Cuts CSV text into rows, and makes of each a row that every CSV reader reads alike.

    Parameters
    ----------
    line : int
        Number of the line with which the next rows begin.
    """

    delimiter: bytes
    end: bytes
    columns: int
    faults: FileFaults
    line: int = 1
    _quoted: re.Pattern[bytes] = field(init=False)
    _plain: re.Pattern[bytes] = field(init=False)

    def __post_init__(self) -> None:
        mark = re.escape(self.delimiter)
        blanks = b"" if self.delimiter == b" " else b" *+"
        self._quoted = re.compile(blanks + rb'"((?:[^"]++|"")*+)"' + blanks + b"(?=" + mark + rb"|\Z)")
        self._plain = re.compile(b"(?!" + blanks + b'")[^' + mark + re.escape(self.end) + b"]*+(?=" + mark + rb"|\Z)")

    def is_plain(self, rows: bytes) -> bool:
        """Return whether rows need no look: nothing but the number of their cells can be wrong."""
        return b'"' not in rows and b"\r" not in rows and len(rows) <= LONGEST

    def split(self, text: bytes) -> tuple[bytes, bytes]:
        """Split a text that begins with a row into complete rows and the rest.

        Raises
        ------
        UnreadableError
            If the rest is too long for a row.
        """
        stop, quotes = len(text), text.count(b'"')
        while (end := text.rfind(self.end, 0, stop)) >= 0:
            quotes -= text.count(b'"', end, stop)
            if quotes % 2 == 0:
                break
            stop = end
        return self._parted(text, end)

    def last(self, text: bytes) -> bytes:
        """Return the rows of a text that nothing follows."""
        rows, rest = self.split(text + self.end if text else text)
        if rest:
            raise UnreadableError(f"line {self.line}: a quote opens here or later that is never closed")
        return rows

    def mended(self, rows: bytes) -> Mended:
        """Return complete rows with what is wrong in any of them put right, and count faults.

        Raises
        ------
        UnreadableError
            If they cannot be read as rows.
        """
        octets = np.frombuffer(rows, np.uint8)
        quotes = np.flatnonzero(octets == _QUOTE)
        ends = _outside(quotes, np.flatnonzero(octets == self.end[0]))
        if np.diff(ends, prepend=-1).max(initial=0) > LONGEST + 1:
            raise self._too_long()
        wrong = self._wrong(octets, quotes, ends)
        return Mended(self._with_rows(rows, ends, wrong, lambda number: self._kept_cells(rows, ends, number)))

    def cells(self, row: bytes) -> list[bytes] | None:
        """Cut one row, without its line end, into cells; None if its quotes are out of place."""
        found, position = [], 0
        while True:
            match = self._quoted.match(row, position)
            if match is not None:
                found.append(match[1].replace(b'""', b'"'))
            else:
                match = self._plain.match(row, position)
                if match is None:
                    return None
                found.append(match[0])
            position = match.end() + 1
            if position > len(row):
                return found

    # -- rows that are not plainly right ------------------------------------------------------------------------

    def _parted(self, text: bytes, end: int) -> tuple[bytes, bytes]:
        if len(text) - end > LONGEST + 1:
            raise self._too_long()
        return text[: end + 1], text[end + 1 :]

    def _with_rows(self, text: bytes, ends: Positions, numbers: Positions, cut: Callable[[int], list[bytes]]) -> bytes:
        """Return a text in which rows of some numbers, ascending, have other cells."""
        parts: list[bytes] = []
        position = 0
        for number in numbers.tolist():
            start = int(ends[number - 1]) + 1 if number else 0
            parts += (text[position:start], self.delimiter.join(self._written(cut(number))), self.end)
            position = int(ends[number]) + 1
        return b"".join((*parts, text[position:])) if parts else text

    def _too_long(self) -> UnreadableError:
        return UnreadableError(
            f"line {self.line} or later: a row is longer than {LONGEST >> 20} MiB, or a quote is never closed"
        )

    def _wrong(self, octets: npt.NDArray[np.uint8], quotes: Positions, ends: Positions) -> Positions:
        """Return the numbers of the rows that are not plainly right, ascending."""
        delimiters = _outside(quotes, np.flatnonzero(octets == self.delimiter[0]))
        cells = np.diff(np.searchsorted(delimiters, ends), prepend=0) + 1
        marks = [np.flatnonzero((cells != self.columns) & ~self._empty(octets, ends))]
        if quotes.size:
            marks.append(np.searchsorted(ends, self._out_of_place(octets, quotes)))
        other = _LF if self.end == b"\r" else _CR
        stray = _outside(quotes, np.flatnonzero(octets == other))
        if other == _CR:  # part of the line end
            stray = stray[octets[np.minimum(stray + 1, octets.size - 1)] != _LF]
        marks.append(np.searchsorted(ends, stray))
        return np.unique(np.concatenate(marks))

    def _empty(self, octets: npt.NDArray[np.uint8], ends: Positions) -> npt.NDArray[np.bool_]:
        empty = np.zeros(ends.size, np.bool_)
        if self.columns > 1:
            lengths = np.diff(ends, prepend=-1) - 1
            empty |= lengths == 0
            if self.end == b"\n":
                empty |= (lengths == 1) & (octets[ends - 1] == _CR)
        return empty

    def _out_of_place(self, octets: npt.NDArray[np.uint8], quotes: Positions) -> Positions:
        """Return the quotes that neither begin nor end a cell nor stand for a quote."""
        edges = (self.delimiter[0], self.end[0], _QUOTE)
        opening, closing = quotes[0::2], quotes[1::2]
        before, after = octets[opening - 1], octets[closing + 1]  # of the first: octets[-1], which is a line end
        opens = np.isin(before, edges)
        closes = np.isin(after, edges)
        if self.end == b"\n":  # after the quote that ends a row stands at least one more byte
            closes |= (after == _CR) & (octets[np.minimum(closing + 2, octets.size - 1)] == _LF)
        return np.concatenate([opening[~opens], closing[~closes]])

    def _line_of(self, rows: bytes, start: int, number: int) -> int:
        del number
        return self.line + rows.count(self.end, 0, start)

    def _kept_cells(self, rows: bytes, ends: Positions, number: int) -> list[bytes]:
        """Return the cells of a row, none where all are NULL, and count its fault."""
        start, end = int(ends[number - 1]) + 1 if number else 0, int(ends[number])
        row = rows[start:end]
        if self.end == b"\n":
            row = row.removesuffix(b"\r")
        cells = self.cells(row)
        fault = self._fault(cells)
        if fault is not None:
            line = self._line_of(rows, start, number)
            if self.end in row:
                what = "quotes out of place" if cells is None else "too few or too many cells"
                raise UnreadableError(f"line {line}: a row of several lines has {what}")
            self.faults.add(fault, line)
        return cells if cells is not None and fault in (None, "short") else []

    def _fault(self, cells: list[bytes] | None) -> str | None:
        """Return what is wrong with a row, as `FileFaults` calls it."""
        if cells is None:
            return "unreadable"
        return "long" if any(cells[self.columns :]) else "short" if len(cells) < self.columns else None

    def _written(self, cells: list[bytes]) -> Iterator[bytes]:
        for number in range(self.columns):
            cell = cells[number] if number < len(cells) else b""
            yield b'"' + cell.replace(b'"', b'""') + b'"' if cell else b""


def _outside(quotes: Positions, positions: Positions) -> Positions:
    """Return the positions with an even number of quotes before them."""
    return positions[np.searchsorted(quotes, positions) % 2 == 0] if quotes.size else positions


_BY_NAME = {".csv": ",", ".tsv": "\t"}
_OTHERS = (b";", b"\t", b"|")


def named_delimiter(path: str) -> str | None:
    """Return the delimiter that a CSV file's name tells, or None if it is no CSV file's name."""
    return next((mark for suffix, mark in _BY_NAME.items() if without_compression(path).endswith(suffix)), None)


def told_delimiter(path: str, header: bytes) -> bytes:
    """Tell the delimiter: the one of the file's name, unless the header line has only another one.

    Both are public; no row is asked.

    Parameters
    ----------
    header
        Its header line, without what stands in quotes.
    """
    named = (named_delimiter(path) or ",").encode()
    return next((mark for mark in (named, *_OTHERS) if mark in header), named)


def delimiter_of(path: str, header: bytes, given: str | None, likely: str | None, quote: bytes = b'"') -> bytes:
    """Return the given delimiter; without one a likely one, if the header line has it outside quotes, else as told.

    Parameters
    ----------
    given
        The owner's delimiter, if there is one.
    likely
        The delimiter of a table that this one belongs to, if it is known.
    quote
        What stands around cells; nothing where there are no quotes. Default: `"`.
    """
    if given is not None:
        return given.encode()
    sign = re.escape(quote)
    bare = re.sub(sign + b"[^" + sign + b"]*" + sign, b"", header) if quote else header
    if likely is not None and likely.encode() in bare:
        return likely.encode()
    return told_delimiter(path, bare)
