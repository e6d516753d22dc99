"""How the cells of a CSV file are likely written, told by its beginning. For the owner only, who confirms it.

No release asks this: how cells are written is declared. Declarations are tried with the real reader, and the first one
of the fewest odd rows is likely: rows that lack cells or have too many, and cells that still stand in quotes, or hold
an escape.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from dpdb.errors import ParameterError, SourceError
from dpdb.sources.cells.delimiter import shown_delimiter
from dpdb.sources.cells.faults import FileFaults
from dpdb.sources.cells.writing import ALL_CELLS, Writing
from dpdb.sources.csv_lines import Mended, UnreadableError, named_delimiter
from dpdb.sources.files.csv_header import header_of
from dpdb.sources.files.decoded import decoded
from dpdb.sources.open import STANDARD_INPUT, find_files, is_address
from dpdb.sources.paths import DAMAGED, opened
from dpdb.sources.source import SourceLike, Wanted

_READ = 8 << 20
_TRIED = 1 << 18
_ROWS = 20_000
_HEADERS = 30
_QUOTES = (('"', ""), ('"', "\\"), ("", ""), ("", "\\"), ("'", ""), ("'", "\\"))
_BARE = (('"', ""), ("", "\\"), ("'", ""), ("'", "\\"))
_MARKS = frozenset(",;|\t^~:!#*$%&@+=\x01\x02\x07\x1c\x1e\x1f")
_ODD = 0.3
_VALUE = re.compile(r"[+-]?[0-9]+([.,][0-9]+)*|[0-9]{4}-[0-9]{2}-[0-9]{2}.*|[0-9]{1,2}[./][0-9]{1,2}[./][0-9]{2,4}.*")
_STILL = re.compile(r"""(["'`]).*\1|\\N|.*\\["'].*""", re.DOTALL)
_BROKEN_IN_1252 = frozenset(b"\x81\x8d\x8f\x90\x9d")


def likely_writing(source: SourceLike, delimiter: str | None = None) -> dict[str, str]:
    """Tell how the cells of a source are likely written; of what is no CSV text on this machine nothing is told.

    It is what a schema says of all cells; empty where that goes without saying. Where no line names the columns, their
    names, by their places, stand behind it.

    Parameters
    ----------
    source
        As `open_source` takes it; of a folder or glob the first file is read.
    delimiter
        The one that the owner gives. Default: told by name and header line.
    """
    if not isinstance(source, (str, os.PathLike)) or is_address(place := os.fspath(source)) or place == STANDARD_INPUT:
        return {}
    files = find_files(place, or_text=True)
    if files.kind != "csv":
        return {}
    path = files.paths[0]
    try:
        with opened(path) as stream:
            data = stream.read(_READ)
        encoding = _encoding(data)
        text = _whole_lines(data, encoding, place)
    except (*DAMAGED, SourceError):
        return {}  # what is wrong is said when it is opened
    told = None if delimiter else _likely_delimiter(text, path, encoding)
    delimiter = delimiter or told
    usual = _Tried.of(text, path, Writing(encoding=encoding), delimiter)
    if (
        delimiter is None and named_delimiter(path) is None and usual.odd < 2
    ):  # without one a file of this name is not read as CSV
        told = usual.delimiter
    if usual.odd == 0 and not any(map(_VALUE.fullmatch, usual.names)):
        return _proposed(usual, told)
    forms = _QUOTES if b'"' in text else _BARE
    tried = [Writing(encoding=encoding, quote=quote, escape=escape) for quote, escape in forms]
    if text.startswith(b"#"):
        tried += [replace(writing, comment="#") for writing in tried]
    found = [_Tried.of(text, path, writing, delimiter) for writing in tried]
    if min(each.odd for each in found) > _ODD:  # likely there are other lines above the header line
        plain = [writing for writing in tried if not writing.escape and not writing.comment]
        later = [replace(writing, header=line) for line in range(2, _HEADERS + 1) for writing in plain]
        found += [_Tried.of(text, path, writing, delimiter) for writing in later]
    return _proposed(min(found, key=lambda each: each.odd), told)


def _likely_delimiter(text: bytes, path: str, encoding: str) -> str | None:
    """Tell at which other character text is cut whose header line is one name by the usual ones; None: at those.

    It parts the header line into names, and nearly all rows into as many cells, with some kind of quotes.
    """
    usual = _Tried.of(text, path, Writing(encoding=encoding), None)
    if len(usual.names) != 1:
        return None
    marks = sorted({mark for mark in usual.names[0] if mark in _MARKS})
    ways = [Writing(encoding=encoding, quote=quote, escape=escape) for quote, escape in _QUOTES]
    tried = [(_Tried.of(text, path, way, mark), mark) for mark in marks for way in ways if mark not in way.quote]
    found = [(each.odd, -len(each.names), mark) for each, mark in tried if each.odd <= _ODD and all(each.names)]
    return min(found)[2] if found else None


def _proposed(best: _Tried, delimiter: str | None) -> dict[str, str]:
    if best.writing.header == 1 and not best.writing.comment and any(map(_VALUE.fullmatch, best.names)):
        names = {f"column{at}": "VARCHAR" for at in range(len(best.names))}
        mark = "" if best.delimiter == "," and not delimiter else best.delimiter
        return {ALL_CELLS: _text(replace(best.writing, header=0), mark), **names}
    said = _text(best.writing, delimiter or "")
    return {ALL_CELLS: said} if said else {}


@dataclass(frozen=True)
class _Tried:
    """A declaration and the share of odd rows with it; 2 where the text cannot be read so."""

    writing: Writing
    odd: float
    names: tuple[str, ...] = ()
    delimiter: str = ","

    @classmethod
    def of(cls, text: bytes, path: str, writing: Writing, delimiter: str | None) -> _Tried:
        wanted = Wanted(delimiter=delimiter, writing=writing)
        begun = header_of(io.BytesIO(text), path, wanted, replace(writing, encoding=""))
        if not any(name.strip() for name in begun.names) or any("\0" in name for name in begun.names):
            return cls(writing, 2)
        mark = begun.delimiter.decode()
        faults = FileFaults()
        lines = begun.lines(faults)
        try:
            writing.check(mark)
            rows = lines.mended(lines.last(b"".join(begun.blocks())))
        except (UnreadableError, ParameterError):
            return cls(writing, 2, begun.names)
        found = list(_some_rows(rows, mark))
        odd = sum(any(map(_STILL.fullmatch, row)) for row in found) + faults.short + faults.long + faults.unreadable
        # Another header line than the first one has several names, and more rows below than lines above.
        is_none = writing.header > 1 and (len(begun.names) == 1 or len(found) < writing.header)
        return cls(writing, 2 if is_none else odd / max(len(found), 1), begun.names, mark)


def _some_rows(mended: Mended, mark: str) -> Iterator[list[str]]:
    text = io.StringIO(mended.rows.decode(errors="replace"), newline="")
    meaning = dict(enumerate(mended.meaning or b""))
    for number, row in enumerate(csv.reader(text, delimiter=mark)):
        if number >= _ROWS:
            return
        yield [cell.translate(meaning) for cell in row]


def _encoding(data: bytes) -> str:
    """Tell the encoding, as `Writing` has it: UTF-8, unless most of the lines that are no ASCII are not in it."""
    if data[:2] in {b"\xff\xfe", b"\xfe\xff"}:
        return ""
    for name, zeros in (("utf-16-le", data[1:1_000:2]), ("utf-16-be", data[0:1_000:2])):
        if len(zeros) > 1 and zeros.count(0) > len(zeros) * 0.4:
            return name
    other = [line for line in data.split(b"\n") if not line.isascii()]
    broken = [line for line in other[: -1 if len(data) == _READ else None] if not _is_utf_8(line)]
    if 2 * len(broken) <= len(other):
        return ""
    return "iso8859-1" if any(_BROKEN_IN_1252 & set(line) for line in broken) else "cp1252"


def _is_utf_8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _whole_lines(data: bytes, encoding: str, place: str) -> bytes:
    """Return as UTF-8 the first lines that are there as a whole."""
    some = data[:_TRIED]
    stream = decoded(io.BytesIO(some), encoding, place, has_header=True)
    text = b"".join(iter(lambda: stream.read(_READ), b""))
    return text[: text.rfind(b"\n") + 1] if len(some) < len(data) else text


def _text(writing: Writing, delimiter: str) -> str:
    """Write what is declared as `Writing.parse` reads it."""
    names = {"cp1252": "windows-1252", "iso8859-1": "latin-1", "utf-16-le": "utf-16le", "utf-16-be": "utf-16be"}
    words = {"'": "single", "": "none", "\\": "backslash", "\t": "tab"}
    usual = Writing()
    told = [
        ("encoding", names.get(writing.encoding, writing.encoding)),
        ("delimiter", words.get(delimiter, f"'{shown_delimiter(delimiter)}'") if delimiter else ""),
        ("quote", words.get(writing.quote, "")),
        ("escape", words.get(writing.escape, "") if writing.escape else ""),
        ("comment", f"'{writing.comment}'" if writing.comment else ""),
        ("header", "" if writing.header == usual.header else str(writing.header or "none")),
    ]
    return ", ".join(f"{name} {value}" for name, value in told if value)
