"""Constraints from a file, a text, a list of texts, or values."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import TypeAlias

from dpdb.constraints.column_ref import RowExpression
from dpdb.constraints.denial import DenialConstraint
from dpdb.constraints.text.cursor import ColumnNames, Cursor, TupleNames
from dpdb.constraints.text.lexer import Kind, Source, shortened
from dpdb.constraints.text.line import ConstraintLine, read_line
from dpdb.errors import ConstraintSyntaxError, IgnoredLimitsWarning, ParameterError, UnknownColumnError

ConstraintItem: TypeAlias = str | os.PathLike[str] | DenialConstraint
ConstraintsLike: TypeAlias = ConstraintItem | Sequence[ConstraintItem]

_FILE_ENDINGS = (".txt", ".dc", ".dcs")
_LONGEST_PATH = 4096
_SIGNS_OF_CONSTRAINTS = ("->", "→", "⇒", "<", ">", "=", "≠", "≤", "≥", "'", '"')
_LARGEST_FILE = 16 << 20


def load_constraints(
    constraints: ConstraintsLike, columns: Sequence[str] | None = None
) -> tuple[DenialConstraint, ...]:
    """Return all constraints, in order; duplicates are kept (see `distinct`).

    Parameters
    ----------
    constraints
        The path of an existing file, one text, a `DenialConstraint`, or a list or tuple of these. Files and
        texts have one constraint per line; blank lines and comments (`#` or `--` to the end of the line) are
        skipped. Limits of a suite and its lines of `row_count` are read and ignored, with one warning.
    columns
        The table's columns, to resolve names against; None takes names as they are written.

    Raises
    ------
    ConstraintSyntaxError
        If a line is not a constraint, two have one name, or a file is not UTF-8.
    UnknownColumnError
        If a name cannot be resolved.

    Examples
    --------
    >>> len(load_constraints("examples/data/hospital.dcs.txt"))
    7
    >>> [str(dc) for dc in load_constraints(["zip -> city", "not(t1.age<0)"])]
    ['not(t1.zip=t2.zip&t1.city!=t2.city)', 'not(t1.age<0)']
    """
    names = None if columns is None else ColumnNames(columns)
    called: set[str] = set()
    items = constraints if isinstance(constraints, (list, tuple)) else (constraints,)
    loaded: list[DenialConstraint] = []
    limits = schemas = 0
    counts: Counter[str] = Counter()
    for item in items:
        if isinstance(item, DenialConstraint):
            loaded.append(_resolved(item, names))
            continue
        if not isinstance(item, (str, os.PathLike)):
            raise ParameterError(
                f"constraints must be paths, texts or DenialConstraint values, got {type(item).__name__}"
            )
        for line in _lines_of(written_lines(item), names, called, None):
            if line.counts is not None:  # and is no rule
                counts[line.counts] += 1
                continue
            loaded += line.constraints
            limits += bool(line.constraints and line.limits)
            schemas += line.schema is not None
    if not loaded:
        raise ParameterError("no constraints given: expected a file, a text, or a list of texts with at least one")
    _tell_ignored(limits, counts, schemas)
    return tuple(loaded)


@dataclass(frozen=True)
class WrittenLines:
    """A file or a text of constraints, read once: whoever takes it apart again finds the same.

    What its lines say without columns is kept: with columns only those are parsed again that these may change.

    Parameters
    ----------
    path
        The file, for messages; None for a text.
    """

    text: str
    path: Path | None = None
    _known: dict[date | None, dict[int, ConstraintLine]] = field(default_factory=dict, compare=False, repr=False)


def written_lines(source: str | os.PathLike[str]) -> WrittenLines:
    """Read one file or text; errors as `load_constraints`, as far as they concern no line."""
    path = _path_of(source) if isinstance(source, str) else Path(source)
    return WrittenLines(str(source)) if path is None else WrittenLines(_content(path), path)


def load_lines(
    written: WrittenLines, columns: Sequence[str] | None = None, day: date | None = None
) -> list[ConstraintLine]:
    """Return the lines of one file or text with their limits, in order. Errors as `load_constraints`.

    Parameters
    ----------
    columns
        The table's columns, to resolve names against; None takes names as they are written.
    day
        The date that `{date}` stands for, if any.
    """
    return _lines_of(written, None if columns is None else ColumnNames(columns), set(), day)


def condition_with_members(text: str, columns: Sequence[str] | None = None) -> RowExpression | None:
    """Read a condition on one row that has members; return None if it has none.

    Parameters
    ----------
    text
        The condition, as it stands behind WHERE of a rule that has been read.

    Raises
    ------
    ConstraintSyntaxError, UnknownColumnError
        If it is no condition, or there is no such column.
    """
    if "select" not in text.casefold():
        return None
    from dpdb.constraints.text.conditions import row_condition  # loads sqlglot

    cursor = Cursor(Source(text), None if columns is None else ColumnNames(columns))
    found = row_condition(cursor, TupleNames(cursor.source))
    cursor.expect(Kind.END, "the end of the condition")
    return found if found.members else None


def _tell_ignored(limits: int, counts: Mapping[str, int], schemas: int) -> None:
    """Say in one warning what a suite has that is no constraint."""
    said = [
        f"the limits of {limits} {'line' if limits == 1 else 'lines'}" if limits else "",
        *(f"{count} {kind} {'line' if count == 1 else 'lines'}" for kind, count in counts.items()),
        f"{schemas} {'line' if schemas == 1 else 'lines'} about the columns" if schemas else "",
    ]
    if any(said):
        ignored = " and ".join(filter(None, said))
        with suppress(IgnoredLimitsWarning):  # where warnings are errors: nothing is wrong with the constraints
            warnings.warn(f"ignored: {ignored}, which `dpdb check` tests", IgnoredLimitsWarning, stacklevel=1)


def never_a_path(text: str) -> str:
    """Return a text of constraints that `load_constraints` never takes as the path of a file.

    For texts of analysts, who may ask but not read files: messages show the line that is no constraint.
    """
    return f"{text}\n#"


def _resolved(dc: DenialConstraint, names: ColumnNames | None) -> DenialConstraint:
    if names is None:
        return dc
    spelled: dict[str, str] = {}
    for column in dc.table_columns:
        found = names.find(column)
        if found is None:
            raise UnknownColumnError(f"constraint {dc.label}: {names.problem(column)}")
        spelled[column] = found
    return dc if all(name == found for name, found in spelled.items()) else dc.renamed(spelled)


def _path_of(text: str) -> Path | None:
    """Return the file that a text names, or None if it is meant as constraints."""
    name = text.strip()
    if not name or "\n" in name or len(name) > _LONGEST_PATH:
        return None
    try:
        exists = Path(name).is_file()
    except (OSError, ValueError):  # too long for the file system, or a character no path can have
        return None
    return Path(name) if exists or _looks_like_path(name) else None


def _looks_like_path(name: str) -> bool:
    if any(sign in name for sign in _SIGNS_OF_CONSTRAINTS):
        return False
    return name.lower().endswith(_FILE_ENDINGS) or ("(" not in name and ("/" in name or "\\" in name))


def _content(path: Path) -> str:
    if not path.is_file():
        raise ParameterError(f"constraints file not found: {path}")
    try:
        if path.stat().st_size > _LARGEST_FILE:
            raise ParameterError(f"{path} is larger than {_LARGEST_FILE >> 20} MiB: is it a constraints file?")
        content = path.read_bytes()
    except OSError as error:
        raise ParameterError(f"constraints file cannot be read: {path} ({error.strerror})") from error
    try:
        return _decoded(content)
    except ConstraintSyntaxError as error:
        raise ConstraintSyntaxError(f"{path}: {error}") from None


def _lines_of(
    written: WrittenLines, names: ColumnNames | None, called: set[str], day: date | None
) -> list[ConstraintLine]:
    path = written.path
    known = {} if names is None else written._known.get(day, {})
    try:
        loaded = dict(_lines_of_text(written.text, names, called, day, known))
    except (ConstraintSyntaxError, UnknownColumnError) as error:
        raise error if path is None else type(error)(f"{path}: {error}") from None
    if not loaded and path is not None:
        raise ParameterError(f"no constraints in {path}")
    if names is None:
        written._known[day] = loaded
    return [*loaded.values()]


def _decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8")
        line = before.count("\n") + 1
        column = len(before) - before.rfind("\n")
        byte = f"byte 0x{content[error.start]:02X}"
        raise ConstraintSyntaxError(f"line {line}, column {column}: expected UTF-8 text, found {byte}") from None


def _lines_of_text(
    text: str,
    names: ColumnNames | None,
    called: set[str],
    day: date | None,
    known: Mapping[int, ConstraintLine],
) -> Iterator[tuple[int, ConstraintLine]]:
    """Read line after line, with its number; `known` are lines as they are read without columns."""
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        found = known.get(number)
        if found is None or names is None or not _is_said_alike(found, names):
            cursor = Cursor(Source(line.removesuffix("\r"), number), names)
            if cursor.at(Kind.END):
                continue
            found = read_line(cursor, day)
        if found.name is not None and found.name.casefold() in called:
            raise found.cursor.source.syntax_error(0, "a name that no other constraint has", shortened(found.name))
        if found.name is not None:
            called.add(found.name.casefold())
        yield number, found


def _is_said_alike(line: ConstraintLine, names: ColumnNames) -> bool:
    """Return whether a line, read without columns, says the same with them: then it need not be parsed again.

    Columns change what is read where a name has several words or parts, where it is spelled otherwise, and where a word
    that was taken for another thing is called like a column. Here each word is a column that the table has under
    exactly this name, or nothing that it has; and no name has quotes or dots.
    """
    if not line.constraints or names.most_parts > 1 or any(rule.inclusions for rule in line.constraints):
        return False
    columns = {name for rule in line.constraints for name in rule.table_columns}
    for token in line.cursor.tokens:
        if token.kind in (Kind.DOT, Kind.QUOTED):
            return False
        mine = token.text in columns
        if names.find(token.text) != (token.text if mine else None):
            return False
    return columns <= {token.text for token in line.cursor.tokens}
