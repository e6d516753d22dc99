"""Where the rows of a CSV file begin: behind its header line, or at once where the schema names the columns.

Lines before the rows are public: a mark of the encoding, ``sep=;`` as Excel writes and reads it, what stands above the
declared header line, comments, and the header line itself. Where there is no header line no line is asked anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from typing import BinaryIO

from dpdb.errors import OWNER_LOG, SourceError
from dpdb.sources.cells.faults import FileFaults
from dpdb.sources.cells.writing import Writing
from dpdb.sources.csv_lines import LONGEST, CsvLines, UnreadableError, delimiter_of, first_row
from dpdb.sources.files.decoded import decoded
from dpdb.sources.line_rows import LineRows
from dpdb.sources.paths import DAMAGED, Files, opened
from dpdb.sources.source import Wanted

BLOCK = 8 << 20
HEADER_BLOCK = 1 << 16
_LONGEST_HEADER = 1 << 20
_SEPARATOR = re.compile(rb'"?sep=([^A-Za-z0-9"])"?', re.IGNORECASE)
AS_USUAL = Writing()


@dataclass(frozen=True)
class Begun:
    """A CSV file of which the lines before its rows are read.

    Attributes
    ----------
    next_line : int
        Number of the line with which the rows begin.
    """

    names: tuple[str, ...]
    delimiter: bytes
    end: bytes
    next_line: int
    writing: Writing
    _rest: bytes
    _stream: BinaryIO

    def lines(self, faults: FileFaults) -> CsvLines:
        """Return what cuts the rows and counts their faults."""
        writing, form = self.writing, (self.delimiter, self.end, len(self.names), faults, self.next_line)
        if not writing.is_of_lines:
            return CsvLines(*form)
        return LineRows(*form, quote=writing.quote.encode(), escape=writing.escape.encode())

    def blocks(self) -> Iterator[bytes]:
        """Give the text behind the header line, without comments."""
        blocks = chain([self._rest], iter(lambda: self._stream.read(BLOCK), b""))
        return _without(self.writing.comment.encode(), self.end, blocks) if self.writing.comment else blocks


@contextmanager
def begun(files: Files, path: str, wanted: Wanted) -> Iterator[Begun]:
    """Open one of the files and read what stands before its rows.

    Parameters
    ----------
    wanted
        What the owner has said of the table.
    """
    writing = wanted.writing or AS_USUAL
    with opened(path) as raw:
        try:
            stream = decoded(raw, writing.encoding, files.place, has_header=bool(writing.header))
            found = header_of(stream, path, wanted, writing) if writing.header else None
        except DAMAGED:
            raise _unreadable(files, path, writing) from None
        if found is None:
            yield _without_header(stream, files, path, wanted, writing)
            return
        writing.check(found.delimiter.decode())
        if any("\0" in name for name in found.names):
            raise _unreadable(files, path, writing)
        if not any(name.strip() for name in found.names):
            OWNER_LOG.error("%s: the header line", path)
            which = "the first line" if writing.header == 1 else f"line {writing.header}"
            raise SourceError(f"{files.place}: {which} must name the columns")
        yield found


def _without_header(stream: BinaryIO, files: Files, path: str, wanted: Wanted, writing: Writing) -> Begun:
    names = tuple(name for name in wanted.types if name not in files.keys)
    if not names:
        raise SourceError(f"{files.place}: has no header line, so the schema must name its columns, in their order")
    return Begun(names, delimiter_of(path, b"", wanted.delimiter, None), b"\n", 1, writing, b"", stream)


def _unreadable(files: Files, path: str, writing: Writing) -> SourceError:
    OWNER_LOG.error("%s: the header line", path)
    encoding = writing.encoding.upper() or "UTF-8"
    how = "" if writing.encoding else "; another encoding is declared in the schema: * (encoding windows-1252)"
    return SourceError(f"{files.place}: the header line cannot be read as {encoding} CSV{how}")


def header_of(stream: BinaryIO, path: str, wanted: Wanted, writing: Writing) -> Begun:
    """Read what stands before the rows of UTF-8 text; without a name, or with a NUL in one, it cannot be read.

    Parameters
    ----------
    stream
        The text, without a mark.
    path
        The file, whose name may tell the delimiter.
    wanted
        What the owner has said of the table.
    """
    text, found, is_whole = b"", None, False
    while found is None and not is_whole and len(text) < _LONGEST_HEADER:
        block = stream.read(HEADER_BLOCK)
        is_whole = not block
        text = text.rstrip(b"\r\n") + b"\n" if is_whole else text + block
        found = _header_row(text, writing)
    if found is None:
        return Begun(() if is_whole else ("\0",), b",", b"\n", 1, writing, b"", stream)
    row, end, rest, line, told = found
    given = wanted.delimiter if wanted.delimiter is not None or told is None else told.decode()
    delimiter = delimiter_of(path, row, given, wanted.likely_delimiter, writing.quote.encode())
    begun = Begun(("",), delimiter, end, line, writing, rest, stream)
    try:
        names = tuple(cell.decode() for cell in begun.lines(FileFaults()).cells(row) or ())
    except UnicodeDecodeError:
        names = ("\0",)
    return replace(begun, names=names, next_line=line + row.count(end) + 1)


def _header_row(text: bytes, writing: Writing) -> tuple[bytes, bytes, bytes, int, bytes | None] | None:
    """Return the header row, its end, the rest, its line and the delimiter that a line tells; None to read on."""
    line, told, comment = 1, None, writing.comment.encode()
    while (before := first_row(text, spans_lines=False)) is not None:
        separator = _SEPARATOR.fullmatch(before[0]) if line == 1 else None
        if separator is None and line >= writing.header and not (comment and before[0].startswith(comment)):
            break
        told = separator[1] if separator is not None else told
        # A line that tells the delimiter is the first line also where the header line is the first of the others.
        line, text = line + 1, before[2]
    found = first_row(text, spans_lines=not writing.is_of_lines)
    return None if before is None or found is None else (*found, line, told)


def _without(comment: bytes, end: bytes, blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Give a text without the lines that begin so; what is left are the lines that it has without them."""
    pattern = re.compile(rb"(?:\A|(?<=" + end + b"))" + re.escape(comment) + b"[^" + end + b"]*+(?:" + end + rb"|\Z)")
    rest = b""
    for block in chain(blocks, [b""]):
        text = rest + block
        stop = text.rfind(end) + 1 if block else len(text)
        rest = text[stop:]
        if len(rest) > LONGEST:
            raise UnreadableError(f"a line is longer than {LONGEST >> 20} MiB")
        yield pattern.sub(b"", text[:stop])
