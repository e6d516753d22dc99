r"""Rows of text whose quotes are other ones, or none, or escaped: then a row is one line, and no cell spans lines.

    Every line that is put anywhere is one more row, or none, and no other row changes; no line refuses a text, unless
    it is too long.

*Proof.* A line ends at each line end of the header's kind, whatever stands before it: nothing else is asked where a row
ends. What a line becomes is a function of its own bytes (`LineRows.cells`) and of what is declared.

A line is cut at delimiters outside quotes, where there are quotes. Its cells stand in quotes as a whole, in which the
quote twice is a quote, or have no quote at their beginning; blanks around the quotes are dropped, unless a blank is the
delimiter. Behind an escape the quote, the delimiter and the escape are themselves; where there are no quotes, as in the
files of MySQL's ``SELECT INTO OUTFILE`` and PostgreSQL's ``COPY``, ``\n``, ``\t``, ``\r``, ``\b``, ``\f`` and ``\v``
are characters of control; before all others the escape is itself. Where it is a backslash, a cell ``\N`` is NULL.

Missing cells are NULL, empty ones beyond the header's are dropped; a line with more cells, with quotes out of place or
with an escape at its end is a row of NULLs; an empty line is no row, except in a table of one column.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np

from dpdb.sources.csv_lines import CsvLines

_CONTROL = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"b": b"\b", b"f": b"\f", b"v": b"\v"}


@dataclass
class LineRows(CsvLines):
    """Cuts lines, and makes of each a row that every CSV reader reads alike.

    Parameters
    ----------
    quote, escape : bytes
        One byte each, or none.
    """

    quote: bytes = b""
    escape: bytes = b""
    _special: bytes = field(init=False)
    _written_so: re.Pattern[bytes] = field(init=False)

    def __post_init__(self) -> None:
        mark, quote, escape = (re.escape(each) for each in (self.delimiter, self.quote, self.escape))
        blanks = b"" if self.delimiter == b" " else b" *+"
        escaped = b"|" + escape + b"." if escape else b""
        within = b"[^" + quote + escape + b"]|" + quote + quote + escaped
        plain = b"(?:[^" + mark + escape + b"]" + escaped + b")*+(?=" + mark + rb"|\Z)"
        if quote:
            closed = quote + blanks + b"(?=" + mark + rb"|\Z)"
            self._quoted = _compiled(blanks + quote + b"((?:" + within + b")*+)" + closed)
            plain = b"(?!" + blanks + quote + b")" + plain
        else:
            self._quoted = _compiled(b"(?!)")
        self._plain = _compiled(plain)
        signs = [each for each in ((quote + quote) if quote else b"", escape + b"(.)" if escape else b"") if each]
        self._written_so = _compiled(b"|".join(signs) or b"(?!)")
        # Lines without these are cut as `CsvLines` cuts them.
        self._special = self.escape + (b"" if self.quote == b'"' else self.quote + b'"')

    def is_plain(self, rows: bytes) -> bool:
        """Return whether rows need no look: no quote, no escape, no line end within a line."""
        return super().is_plain(rows) and not any(mark in rows for mark in (self.quote, self.escape) if mark)

    def split(self, text: bytes) -> tuple[bytes, bytes]:
        """Split a text that begins with a row into complete rows and the rest; see `CsvLines.split`."""
        return self._parted(text, text.rfind(self.end))

    def mended(self, rows: bytes) -> bytes:
        """Return complete rows as `CsvLines` reads them, with what is wrong in any of them put right; see there."""
        octets = np.frombuffer(rows, np.uint8)
        ends = np.flatnonzero(octets == self.end[0])
        marks = np.flatnonzero(np.isin(octets, np.frombuffer(self._special, np.uint8)))
        found = [np.searchsorted(ends, marks)]
        if self.quote == b'"':
            quotes = np.searchsorted(np.flatnonzero(octets == b'"'[0]), ends)
            found.append(np.flatnonzero(np.diff(quotes, prepend=0) % 2))
        # From now on each line has quotes of CSV alone, an even number of them, so that each ends outside of quotes.
        return super().mended(self._replaced(rows, ends, np.unique(np.concatenate(found))))

    def cells(self, row: bytes) -> list[bytes] | None:
        """Cut one line, without its end, into cells; None if its quotes or escapes are out of place."""
        found, position = [], 0
        while True:
            match = self._quoted.match(row, position)
            if match is not None:
                found.append(self._meant(match[1]))
            else:
                match = self._plain.match(row, position)
                if match is None:
                    return None
                is_null = self.escape == b"\\" and match[0] == rb"\N"
                found.append(b"" if is_null else self._meant(match[0], doubled=False))
            position = match.end() + 1
            if position > len(row):
                return found

    def _line_of(self, rows: bytes, start: int, number: int) -> int:
        del rows, start  # a cell may have a line end now that was written as an escape
        return self.line + number

    def _meant(self, text: bytes, *, doubled: bool = True) -> bytes:
        """Return what a cell says, in which a quote may stand twice for one."""

        def sign(match: re.Match[bytes]) -> bytes:
            if match.lastindex is None:
                return self.quote if doubled else match[0]
            if match[1] in (self.quote, self.delimiter, self.escape):
                return match[1]
            return match[0] if self.quote or match[1] not in _CONTROL else _CONTROL[match[1]]

        return self._written_so.sub(sign, text)


def _compiled(pattern: bytes) -> re.Pattern[bytes]:
    return re.compile(pattern, re.DOTALL)
