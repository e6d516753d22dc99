"""Constraints from a file, a text, a list of texts, or values."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from dpdb.constraints.denial import DenialConstraint
from dpdb.constraints.text.cursor import Cursor
from dpdb.constraints.text.lexer import Kind
from dpdb.constraints.text.names import ColumnNames
from dpdb.constraints.text.parser import parse_from
from dpdb.constraints.text.source import Source, shortened
from dpdb.errors import ConstraintSyntaxError, ParameterError, UnknownColumnError

__all__ = ["ConstraintsLike", "load_constraints", "never_a_path"]

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
        skipped.
    columns
        The table's columns, to resolve names against; None takes names as they are written.

    Raises
    ------
    ConstraintSyntaxError
        If a line is not a constraint, two have one name, or a file is not UTF-8.
    UnknownColumnError
        If a name cannot be resolved.
    ParameterError
        If a file is not found or cannot be read, or there is no constraint at all.

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
    loaded = tuple(dc for item in items for dc in _load_item(item, names, called))
    if not loaded:
        raise ParameterError("no constraints given: expected a file, a text, or a list of texts with at least one")
    return loaded


def never_a_path(text: str) -> str:
    """Return a text of constraints that `load_constraints` never takes as the path of a file.

    For texts of analysts, who may ask but not read files: messages show the line that is no constraint.
    """
    return f"{text}\n#"


def _load_item(item: object, names: ColumnNames | None, called: set[str]) -> Iterable[DenialConstraint]:
    if isinstance(item, DenialConstraint):
        return (_resolved(item, names),)
    if isinstance(item, os.PathLike):
        return _load_file(Path(item), names, called)
    if isinstance(item, str):
        path = _path_of(item)
        return _load_text(item, names, called) if path is None else _load_file(path, names, called)
    raise ParameterError(f"constraints must be paths, texts or DenialConstraint values, got {type(item).__name__}")


def _resolved(dc: DenialConstraint, names: ColumnNames | None) -> DenialConstraint:
    if names is None:
        return dc
    spelled: dict[str, str] = {}
    for column in dc.table_columns:
        found = names.find(column)
        if found is None:
            raise UnknownColumnError(f"constraint {dc.label}: {names.problem(column)}")
        spelled[column] = found
    return dc.renamed(spelled)


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


def _load_file(path: Path, names: ColumnNames | None, called: set[str]) -> Iterable[DenialConstraint]:
    if not path.is_file():
        raise ParameterError(f"constraints file not found: {path}")
    try:
        if path.stat().st_size > _LARGEST_FILE:
            raise ParameterError(f"{path} is larger than {_LARGEST_FILE >> 20} MiB: is it a constraints file?")
        content = path.read_bytes()
    except OSError as error:
        raise ParameterError(f"constraints file cannot be read: {path} ({error.strerror})") from error
    try:
        loaded = list(_load_text(_decoded(content), names, called))
    except (ConstraintSyntaxError, UnknownColumnError) as error:
        raise type(error)(f"{path}: {error}") from None
    if not loaded:
        raise ParameterError(f"no constraints in {path}")
    return loaded


def _decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8")
        line = before.count("\n") + 1
        column = len(before) - before.rfind("\n")
        byte = f"byte 0x{content[error.start]:02X}"
        raise ConstraintSyntaxError(f"line {line}, column {column}: expected UTF-8 text, found {byte}") from None


def _load_text(text: str, names: ColumnNames | None, called: set[str]) -> Iterator[DenialConstraint]:
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        cursor = Cursor(Source(line.removesuffix("\r"), number), names)
        if not cursor.at(Kind.END):
            constraints = parse_from(cursor)
            name = constraints[0].name
            if name is not None and name.casefold() in called:
                raise cursor.source.syntax_error(0, "a name that no other constraint has", shortened(name))
            called.update(() if name is None else (name.casefold(),))
            yield from constraints
