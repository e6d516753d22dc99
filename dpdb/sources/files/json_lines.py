"""JSON lines: one object a line, whose members are the cells. The owner names the columns: rows must not."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from dpdb.database import Database
from dpdb.errors import OWNER_LOG, SourceError
from dpdb.names import is_encodable
from dpdb.schema import TableSchema
from dpdb.sources.cells.faults import Faults, FileFaults
from dpdb.sources.csv_lines import LONGEST
from dpdb.sources.files.cell_files import CellFiles, declared_source, no_row, text_batch
from dpdb.sources.paths import DAMAGED, Files, listed, opened, without_compression
from dpdb.sources.source import Source, SourceLike, Wanted, reason_in_log, refuse_table_name

_BATCH = 100_000
_DEEPEST = 100  # far above data, far below Python's own limit, which depends on who calls
_ENDINGS = (".jsonl", ".ndjson")


class JsonLines(CellFiles):
    """Files of JSON lines, one or a folder or glob of them.

    A line is one row, by itself: one that is no JSON object in UTF-8 is a row of NULLs, an empty one is no row. A
    member that is missing or null is NULL, text is itself, everything else is its JSON text without blanks, numbers as
    they are written; what is nested more than 100 deep is NULL. Of two members with one
    name the last one counts. No line can change another, for a line end never lies inside a JSON text.
    """

    kind = "json lines"
    title = "JSON lines"
    known_by_name = True
    endings = " (.jsonl, .ndjson, also .gz, .zst)"
    rows_are = "JSON lines are one object each, in UTF-8, and no array"

    def is_named(self, path: str) -> bool:
        """Say whether the name ends in .jsonl or .ndjson, also compressed."""
        return without_compression(path).endswith(_ENDINGS)

    def describe(self, database: Database, files: Files, wanted: Wanted) -> Source:
        """Take the columns that the owner declares; see `FileSource`."""
        refuse_table_name(files.place, wanted.table)
        if not wanted.types:
            raise SourceError(
                f"{files.place}: JSON lines have no header, and names taken from rows would depend on them: declare "
                "the columns with a schema, such as --schema 'zip VARCHAR, age INTEGER' (`dpdb schema` proposes one)"
            )
        names = (*_members(files, wanted), *files.keys)
        return declared_source(database, files, names, wanted)

    def batches(self, files: Files, schema: TableSchema, wanted: Wanted, faults: Faults) -> Iterator[pa.RecordBatch]:
        """Read all lines; see `CellFiles`."""
        members = _members(files, wanted)
        for path, partition in zip(files.paths, files.partitions, strict=True):
            own = faults.begin(files.name_of(path))
            for rows in _batched(_lines(files.place, path), members, own):
                yield text_batch(schema, rows, partition)


def member_names(source: SourceLike) -> list[str]:
    """List the names of all members if a path names JSON lines. For the owner only: they depend on rows."""
    if not isinstance(source, (str, os.PathLike)) or not without_compression(os.fspath(source)).endswith(_ENDINGS):
        return []
    place = os.fspath(source)
    lines = (line for path in listed(place, JsonLines().is_named) for line in _lines(place, path) if line.strip())
    objects = [0, 0]
    names: dict[str, None] = {}
    for found in map(_parsed, lines):
        objects[found is not None] += 1
        names |= dict.fromkeys(found or ())
    if objects[0] and not objects[1]:
        OWNER_LOG.error("%s: none of %d lines is a JSON object", place, objects[0])
        raise no_row(place, JsonLines.rows_are, is_one=True)
    return list(names)


def _members(files: Files, wanted: Wanted) -> tuple[str, ...]:
    """Return the declared columns that are members of the objects: all but the keys of folders."""
    return tuple(name for name in wanted.types if name not in files.keys)


def _batched(lines: Iterator[bytes], members: tuple[str, ...], faults: FileFaults) -> Iterator[list[list[str | None]]]:
    rows: list[list[str | None]] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        found = _parsed(line)
        if found is None:
            faults.add("no_object", number)
            found = {}
        rows.append([_cell(found.get(name)) for name in members])
        if len(rows) == _BATCH:
            yield rows
            rows = []
    if rows:
        yield rows


def _lines(place: str, path: str) -> Iterator[bytes]:
    with reason_in_log(f"{place}: is cut short or damaged", *DAMAGED, where=path), opened(path) as stream:
        rest = stream.read(3).removeprefix(b"\xef\xbb\xbf")
        while block := stream.read(1 << 20):
            *whole, rest = (rest + block).split(b"\n")
            yield from whole
            if len(rest) > LONGEST:
                raise SourceError(f"{place}: a line is longer than 16 MiB")
        yield from rest.split(b"\n")


class _Number(str):
    """A number as it is written: its digits are kept."""

    __slots__ = ()


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line.decode(), parse_constant=_refused, parse_int=_Number, parse_float=_Number)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _refused(constant: str) -> None:
    raise ValueError(constant)  # NaN and Infinity are no JSON


def _cell(value: Any) -> str | None:
    if value is None:
        return None
    try:
        text = str(value) if isinstance(value, str) else _json(value, _DEEPEST)
    except RecursionError:
        return None
    return text if text.isascii() or is_encodable(text) else None  # half of a pair of surrogates is no text


def _json(value: Any, deeper: int) -> str:
    """Write a value as JSON text, whose lists and objects lie at most so deep in each other."""
    if isinstance(value, _Number):
        return value
    if not isinstance(value, (list, dict)):
        return json.dumps(value, ensure_ascii=False)
    if deeper == 0:
        raise RecursionError
    if isinstance(value, list):
        return f"[{','.join([_json(item, deeper - 1) for item in value])}]"
    return "{" + ",".join([f"{_json(name, 0)}:{_json(item, deeper - 1)}" for name, item in value.items()]) + "}"
