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
from itertools import islice

import numpy as np
import numpy.typing as npt

from dpdb.sources.csv_lines import CsvLines, Mended, Positions

_CONTROL = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"b": b"\b", b"f": b"\f", b"v": b"\v"}
_QUOTE, _LF, _CR, _N = b'"\n\rN'
# Bytes of control that are no sign of text and stand behind no escape.
_SPARE = bytes([*range(1, 8), *range(14, 32), 127])


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
    _written_so: re.Pattern[bytes] = field(init=False)
    behind_escape: dict[bytes, bytes] = field(init=False)

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
        controls = {} if quote else _CONTROL
        meant = {sign: sign for sign in (self.quote, self.delimiter, self.escape) if sign} if escape else {}
        self.behind_escape = {**controls, **meant} if escape else {}

    def is_plain(self, rows: bytes) -> bool:
        """Return whether rows need no look: no quote, no escape, no line end within a line."""
        return super().is_plain(rows) and not any(mark in rows for mark in (self.quote, self.escape) if mark)

    def split(self, text: bytes) -> tuple[bytes, bytes]:
        """Split a text that begins with a row into complete rows and the rest; see `CsvLines.split`."""
        return self._parted(text, text.rfind(self.end))

    def mended(self, rows: bytes) -> Mended:
        """Return complete rows with quotes of CSV alone, and what is wrong in any of them put right.

        What stands for itself behind an escape, and a quote of CSV that is none here, becomes a byte that these rows
        have not, for which `Mended.meaning` has what it stands for. So which bytes other rows have decides how a cell
        is written on the way, and never what is read. Lines that are not plainly right are cut one by one.
        """
        signs = _Signs.of(self, rows)
        octets = np.frombuffer(rows, np.uint8)
        ends = np.flatnonzero(octets == self.end[0])
        text, hard = (octets, self._odd(octets, ends)) if signs is None else self._rewritten(octets, ends, signs)
        own = np.flatnonzero(text == self.end[0])  # as many as there are lines
        quotes = np.flatnonzero(text == _QUOTE)
        lines = np.searchsorted(own, quotes)
        is_odd = (np.bincount(lines, minlength=own.size) % 2).astype(np.bool_)
        if signs is None:
            is_odd[hard] = True
        wrong = self._wrong(text, quotes[~is_odd[lines]], own)
        numbers = np.unique(np.concatenate([hard, np.flatnonzero(is_odd), wrong]))

        def cut(number: int) -> list[bytes]:
            kept = self._kept_cells(rows, ends, number)
            return kept if signs is None else [cell.translate(signs.there) for cell in kept]

        return Mended(self._with_rows(text.tobytes(), own, numbers, cut), None if signs is None else signs.back)

    def _odd(self, octets: npt.NDArray[np.uint8], ends: Positions) -> Positions:
        """Return the numbers of the lines with a quote of any kind or an escape."""
        special = np.frombuffer(self.quote + self.escape + b'"', np.uint8)
        return np.unique(np.searchsorted(ends, np.flatnonzero(np.isin(octets, special))))

    def _rewritten(
        self, octets: npt.NDArray[np.uint8], ends: Positions, signs: _Signs
    ) -> tuple[npt.NDArray[np.uint8], Positions]:
        """Return lines in quotes of CSV without escapes, and the numbers of those that end in an escape."""
        text = np.frombuffer(signs.there, np.uint8)[octets]
        if not self.escape:
            return text, ends[:0]
        escapes = _active(np.flatnonzero(octets == self.escape[0]))
        behind = octets[escapes + 1]  # the last byte is a line end, so there is one more
        at_end = behind == self.end[0]
        if self.end == b"\n":
            at_end |= (behind == _CR) & (octets[np.minimum(escapes + 2, octets.size - 1)] == _LF)
        meant = np.frombuffer(signs.behind_escape, np.uint8)[behind]
        is_sign = (meant != 0) & ~at_end
        gone = escapes[is_sign]
        text[gone + 1] = meant[is_sign]
        if self.escape == b"\\":
            nulls = self._nulls(octets, ends, escapes[(behind == _N) & ~at_end], escapes)
            text[nulls] = text[nulls + 1] = _QUOTE
        kept = np.ones(octets.size, np.bool_)
        kept[gone] = False
        return text[kept], np.searchsorted(ends, escapes[at_end])

    def _nulls(
        self, octets: npt.NDArray[np.uint8], ends: Positions, places: Positions, escapes: Positions
    ) -> Positions:
        r"""Return the places of ``\N`` that are a whole cell, not in quotes."""
        before, after = octets[places - 1], octets[places + 2]  # of the first: octets[-1], which is a line end
        begins = (before == self.end[0]) | ((before == self.delimiter[0]) & ~np.isin(places - 2, escapes))
        stops = (after == self.delimiter[0]) | (after == self.end[0])
        if self.end == b"\n":
            stops |= (after == _CR) & (octets[np.minimum(places + 3, octets.size - 1)] == _LF)
        found: Positions = places[begins & stops]
        if not self.quote or not found.size:
            return found
        quotes = np.flatnonzero(octets == self.quote[0])
        quotes = quotes[~np.isin(quotes - 1, escapes)]
        starts = np.concatenate([[0], ends + 1])[np.searchsorted(ends, found)]
        outside: Positions = found[(np.searchsorted(quotes, found) - np.searchsorted(quotes, starts)) % 2 == 0]
        return outside

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
            return self.behind_escape.get(match[1], match[0])

        return self._written_so.sub(sign, text)


@dataclass(frozen=True)
class _Signs:
    """How bytes are written on the way from lines to cells: `there` and `back`, tables of 256 bytes.

    Attributes
    ----------
    behind_escape : bytes
        How a byte behind an escape is written if it is a sign there, else 0.
    """

    there: bytes
    back: bytes
    behind_escape: bytes

    @classmethod
    def of(cls, lines: LineRows, rows: bytes) -> _Signs | None:
        """Choose the bytes; None if the rows have too many of those that could be chosen."""
        there, back, behind = (bytearray(table) for table in (range(256), range(256), 256))
        used = lines.quote + lines.delimiter + lines.escape
        spare = (byte for byte in _SPARE if byte not in used and byte not in rows)
        if lines.quote:  # the two kinds of quotes change places
            there[lines.quote[0]], there[_QUOTE] = _QUOTE, lines.quote[0]
            back[lines.quote[0]], back[_QUOTE] = _QUOTE, lines.quote[0]
        else:
            for byte in islice(spare, 1):
                there[_QUOTE], back[byte] = byte, _QUOTE
        if not lines.quote and there[_QUOTE] == _QUOTE:
            return None
        odd = b'"\r\n' + lines.delimiter
        for sign, meant in lines.behind_escape.items():
            written = there[meant[0]]
            if written in odd:
                written = next(spare, 0)
                back[written] = meant[0]
            if not written:
                return None
            behind[sign[0]] = written
        return cls(bytes(there), bytes(back), bytes(behind))


def _active(escapes: Positions) -> Positions:
    """Return those of some escapes, in ascending order, that are no sign behind another one."""
    begins = np.diff(escapes, prepend=-2) != 1
    places = np.arange(escapes.size)
    run = places - np.maximum.accumulate(np.where(begins, places, 0))
    active: Positions = escapes[run % 2 == 0]
    return active


def _compiled(pattern: bytes) -> re.Pattern[bytes]:
    return re.compile(pattern, re.DOTALL)
