"""The SQL of fixed form: files of `sql/`, whose slots are filled with trees, never with text.

`sql/` has one query a file, numbered in the order in which a release runs them. A slot is written `$name`. What fills
it is a name, a list of names, a literal or a tree (one condition, say), placed where sqlglot has read the slot; so no
value is ever parsed. Files are of DuckDB's dialect, and other engines get the same trees in their own spelling.

A file names tables for all columns (`row.$key`, never `$key`), and names what it counts beside columns of the table by
a slot (`AS $size`): a table may have columns called `size` or `largest`. The wheel has the files in `dpdb/sql`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TypeAlias

import sqlglot
from sqlglot import exp

Slot: TypeAlias = "exp.Expr | str | int | Sequence[exp.Expr | str]"
"""A tree, a name or a number; or several trees or names, where the slot stands in a list."""

_PACKAGE = Path(__file__).resolve().parents[1]
_FILE = "sql_file"
"""Of a tree: which file it is from, beside the tree, so that no query differs by it."""


@cache
def sql_path(name: str) -> Path:
    """Return the path of a file of `sql/` by its name, without its number.

    Raises
    ------
    FileNotFoundError
        If neither the wheel nor the checkout has the file: a packaging mistake.
    """
    for folder in (_PACKAGE / "sql", _PACKAGE.parent / "sql"):
        for path in folder.glob("[0-9][0-9]_*.sql"):
            if path.stem[3:] == name:
                return path
    raise FileNotFoundError(f"{name}.sql is missing from the installed package")


@cache
def sql_file(name: str) -> str:
    """Return the text of a file of `sql/`; errors as `sql_path`."""
    return sql_path(name).read_text(encoding="utf-8")


@cache
def _template(name: str) -> exp.Expr:
    found = sqlglot.parse_one(sql_file(name), dialect="duckdb")
    for node in found.walk():
        node.pop_comments()
    found.meta[_FILE] = sql_path(name).stem
    return found


def filled(name: str, **slots: Slot) -> exp.Expr:
    """Return the statement of a file with its slots filled.

    Of an empty list nothing is left, nor of a WHERE or GROUP BY that has nothing else: then all rows are one group.

    Parameters
    ----------
    name
        The file's, without its number.
    **slots
        What fills each slot. Trees are copied.

    Raises
    ------
    KeyError
        If a slot of the file is not given, or one is given that it has not: a mistake in the program.
    """
    statement = _template(name).copy()
    places = list(statement.find_all(exp.Placeholder))
    if {place.name for place in places} != slots.keys():
        raise KeyError(f"{name}.sql has the slots {sorted({place.name for place in places})}, not {sorted(slots)}")
    for place in places:
        _fill(place, slots[place.name])
    return statement


def filled_select(name: str, **slots: Slot) -> exp.Select:
    """Return `filled`, of a file that is a SELECT."""
    query = filled(name, **slots)
    assert isinstance(query, exp.Select), name
    return query


def files_of(query: exp.Expr) -> tuple[str, ...]:
    """Return the stems of the files that a statement was made of, outermost first, each once."""
    return tuple(dict.fromkeys(node.meta[_FILE] for node in query.walk() if node._meta and _FILE in node._meta))


def _fill(place: exp.Placeholder, given: Slot) -> None:
    parent = place.parent
    assert parent is not None, "a file is more than a slot"
    if isinstance(parent, exp.Table):
        assert isinstance(given, exp.Expr), "rows are a tree"
        parent.replace(_called(given, parent.alias))
    elif isinstance(parent, exp.Column):
        _put(parent, [_column(each, parent.table) for each in _listed(given)])
    elif isinstance(parent, exp.Ordered):
        _put(parent, [each if isinstance(each, exp.Ordered) else exp.Ordered(this=each) for each in _trees(given)])
    elif isinstance(parent, (exp.Where, exp.Join)):
        conditions = _trees(given)
        _put(place, [exp.and_(*conditions)] if conditions else [])
    else:
        _put(place, _trees(given))


def _put(place: exp.Expr, found: Sequence[exp.Expr]) -> None:
    """Put trees in the place of one, and take out what has nothing left then."""
    parent, is_listed = place.parent, place.index is not None
    if found:
        place.replace(list(found) if is_listed else found[0])
        assert is_listed or len(found) == 1, "one tree stands where no list does"
        return
    place.pop()
    if isinstance(parent, exp.Where) or (isinstance(parent, exp.Group) and not parent.expressions):
        parent.pop()


def _called(rows: exp.Expr, alias: str) -> exp.Expr:
    rows = rows.subquery() if isinstance(rows, (exp.Select, exp.SetOperation)) else rows.copy()
    return exp.alias_(rows, alias, table=True, copy=False) if alias else rows


def _listed(given: Slot) -> list[exp.Expr | str | int]:
    return [given] if isinstance(given, (exp.Expr, str, int)) else list(given)


def _trees(given: Slot) -> list[exp.Expr]:
    return [_tree(each) for each in _listed(given)]


def _tree(given: exp.Expr | str | int) -> exp.Expr:
    if isinstance(given, int):
        return exp.convert(given)
    return exp.to_identifier(given, quoted=True) if isinstance(given, str) else given.copy()


def _column(name: exp.Expr | str | int, table: str) -> exp.Column:
    assert isinstance(name, str), "a column is named"
    return exp.column(name, table=table, quoted=True)
