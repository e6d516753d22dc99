"""What the owner alone may read of a table: conflicts, suggested repairs, what cells look like, all rows. Private.

Single conflicts are the violating pairs, or an edge file. Repairs are suggested where most rows of a group agree: the
others' values are likely wrong. Cells of a column of text are counted exactly. All columns of a table go into Arrow,
and Arrow rows into a file of the types that they came in.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sqlglot import exp

from dpdb.constraints import DenialConstraint, FunctionalDependency, functional_dependency
from dpdb.database import Database, sql_file
from dpdb.engine.slice import LocalSlice
from dpdb.engine.sql.comparison import is_known
from dpdb.engine.table import LocalTable
from dpdb.errors import SourceError
from dpdb.files.new_file import new_file
from dpdb.predicates import data_type
from dpdb.schema import free_name
from dpdb.sources import typed

OWN_COLUMNS = (
    "constraint", "row", "row_1", "row_2", "column", "value", "suggested", "agreeing", "group_rows"
)  # fmt: skip
"""The columns of the lists themselves."""

_NO_VIOLATION = "SELECT NULL::INTEGER AS dc, NULL::BIGINT AS row_1, NULL::BIGINT AS row_2 WHERE false"
_NO_EDGE = "SELECT 0::UINTEGER AS u, 0::UINTEGER AS v, 0::USMALLINT AS dc WHERE false"


def violating_pairs(part: LocalSlice, written: Sequence[tuple[str, int]]) -> str:
    """Return the query of all that violates each constraint, whatever others it violates. Private.

    Columns: `constraint`, its text; `row_1` and `row_2`, positions in the source from 0, the lower one first (`row_2`
    is NULL for a row that violates a constraint over one tuple); then the kept columns of both rows, `NAME_1` and
    `NAME_2`. In the order of the constraints, then of positions. Needs `keep_source_row`.

    Parameters
    ----------
    written
        The texts, each with the place of its constraint in `part.constraints` (see `Table.written`): what equal ones
        say is listed under each of their texts.
    """
    pairs = part.table("violation")
    part.database.execute(f"CREATE TABLE {pairs.sql('duckdb')} AS {_NO_VIOLATION}")
    for position in range(len(part.constraints)):
        alone = part.under(position)
        with closing(alone):
            part.database.execute(exp.insert(_violations(alone, position), pairs.copy()))
    listed = [(place, dc, text) for place, (text, dc) in enumerate(written)]
    texts = exp.values(listed, alias="violated", columns=["place", "dc", "text"]).sql("duckdb")
    one, other = (kept_values(part, f"conflict.row_{side}", f"_{side}", f"r{side}") for side in (1, 2))
    return (
        f'SELECT violated."text" AS "constraint", conflict.row_1, conflict.row_2{one.selected}{other.selected} '
        f"FROM {pairs.sql('duckdb')} AS conflict JOIN {texts} USING (dc){one.joined}{other.joined} "
        "ORDER BY violated.place, conflict.row_1, conflict.row_2"
    )


def _violations(alone: LocalSlice, position: int) -> exp.Select:
    """Return the query of what violates the only constraint of a slice: (`position`, row_1, row_2)."""
    dc = exp.convert(position)
    if not alone.pairwise:
        return exp.select(dc, exp.column("source_row", quoted=True), exp.null()).from_(alone.table("self_conflict"))
    place = alone.source_row or ""
    one, other = (exp.column(place, table=side, quoted=True) for side in ("a", "b"))
    query = exp.select(dc, exp.func("least", one, other), exp.func("greatest", one.copy(), other.copy()))
    _ = alone.first_violations([0], math.inf)  # makes the table of its edges
    query = query.from_(exp.alias_(alone.table("edge_0"), "e", table=True))
    for side, end in (("a", "u"), ("b", "v")):
        at = exp.column(alone.rank, table=side, quoted=True).eq(exp.column(end, table="e"))
        query = query.join(exp.alias_(alone.tuples.copy(), side, table=True), on=at)
    return query


def listed_rows(part: LocalSlice, rows: exp.Table) -> str:
    """Return the query of some rows: `row`, their positions in the source, from the table `rows`; the kept columns."""
    kept = kept_values(part, "listed.row", "", "r")
    return f"SELECT listed.row{kept.selected} FROM {rows.sql('duckdb')} AS listed{kept.joined} ORDER BY 1"


@dataclass(frozen=True)
class KeptValues:
    """The columns that a slice keeps for the owner, as parts of a query: what is selected, and the join."""

    selected: str
    joined: str


def kept_values(part: LocalSlice, row: str, ending: str, alias: str) -> KeptValues:
    """Select the kept columns of the row at a position, each with an ending to its name (and `_` where it is taken).

    Taken by a column of the list itself: the others keep their names, and no two have the same.

    Parameters
    ----------
    ending
        Added to the name of each column.
    alias
        Name of the joined table of kept columns in the query.
    """
    if not part.kept:
        return KeptValues("", "")
    columns = [exp.column(name, table=alias, quoted=True).sql("duckdb") for name in part.kept]
    wanted = [name + ending for name in part.kept]
    free = [free_name(name, [*OWN_COLUMNS, *wanted[:place], *wanted[place + 1 :]]) for place, name in enumerate(wanted)]
    names = [exp.to_identifier(name, quoted=True).sql("duckdb") for name in free]
    selected = "".join(f", {column} AS {name}" for column, name in zip(columns, names, strict=True))
    rows = part.table("input_row").sql("duckdb")
    return KeptValues(selected, f" LEFT JOIN {rows} AS {alias} ON {alias}.{_position(part)} = {row}")


def _position(part: LocalSlice) -> str:
    if part.source_row is None:
        raise ValueError("this slice was built without keep_source_row")
    return exp.column(part.source_row, quoted=True).sql("duckdb")


def source_rows(part: LocalSlice) -> NDArray[np.int64]:
    """Return the positions in the source, from 0, of the ranked rows. Needs `keep_source_row`. Private."""
    positions = exp.select(_position(part)).from_(part.tuples.copy())
    ranked = positions.order_by(exp.column(part.rank, quoted=True))
    batches = [batch.column(0).to_numpy() for batch in part.database.stream(ranked)]
    return np.concatenate([np.empty(0, np.int64), *batches])


def export_edges(part: LocalSlice, path: str | Path) -> None:
    """Leave the conflict graph in a new DuckDB file. Owner only; needs `keep_source_row`.

    Tables: `conflict_edge` (u, v, dc) in canonical order, 2 to 3 bytes an edge; `tuple_row` (id, source_row), what the
    ranks u and v stand for, positions in the source from 0; `violated` (dc, text), the constraints. View `conflict`
    (constraint, row_1, row_2) joins them.

    Raises
    ------
    ParameterError
        If the file exists or cannot be made; nothing is left behind.
    """
    position = _position(part)
    _ = part.edges  # materializes them
    rank = exp.column(part.rank, quoted=True).sql("duckdb")
    written = [(k, dc.constraint.written) for k, dc in part.pairwise] or [(0, "")]
    texts = exp.values(written, alias="t", columns=["dc", "text"])
    edges = "SELECT u, v, dc FROM " + part.table("conflict_edge").sql("duckdb") if part.pairwise else _NO_EDGE
    tables = {
        "conflict_edge": edges,
        "tuple_row": f"SELECT {rank} AS id, {position} AS source_row FROM {part.tuples.sql('duckdb')} ORDER BY 1",
        "violated": f'SELECT dc, "text" FROM {texts.sql("duckdb")}',
    }
    with new_file(Path(path), private=True) as partial:
        part.database.write_file(partial, tables, {"conflict": sql_file("conflict")})


_EMPTY = (
    'SELECT NULL::BIGINT AS "row", NULL AS "constraint", NULL AS "column", NULL AS "value", NULL AS suggested, '
    "NULL::BIGINT AS agreeing, NULL::BIGINT AS group_rows WHERE false"
)


def suggestions(part: LocalSlice) -> str:
    """Return the query of values to change: per functional dependency, rows that differ from their group's majority.

    Columns: `row`, its position in the source from 0; `constraint`; `column`, its `value` and the value `suggested`,
    both as text; `agreeing`, the rows of the group that have it; `group_rows`; then the kept columns. A group suggests
    only a value that more rows have than any other value; missing values take no part. Needs `keep_source_row`.
    """
    batches = [_EMPTY]
    for bound in part.constraints:
        dependency = functional_dependency(bound.constraint)
        if dependency is not None:
            batches.append(_of_dependency(part, bound.constraint, dependency))
    columns = kept_values(part, "suggestion.row", "", "r")
    return (
        f"SELECT suggestion.*{columns.selected} FROM ({' UNION ALL '.join(batches)}) AS suggestion{columns.joined} "
        'ORDER BY suggestion."row", suggestion."constraint"'
    )


def _of_dependency(part: LocalSlice, dc: DenialConstraint, dependency: FunctionalDependency) -> str:
    rows = exp.alias_(part.table("input_row"), "row", table=True)
    keys = [exp.column(name, table="row", quoted=True).sql("duckdb") for name in dependency.lhs]
    value = exp.column(dependency.rhs, table="row", quoted=True).sql("duckdb")
    known = [f"{column} IS NOT NULL" for column in (*keys, value)]
    chosen = " AND ".join([*known, *(condition.sql("duckdb") for condition in part.chosen())])
    position = exp.column(part.source_row or "", table="row", quoted=True).sql("duckdb")
    group = f"PARTITION BY {', '.join(keys)}" if keys else ""
    same = f"PARTITION BY {', '.join([*keys, value])}"
    text, column = (exp.Literal.string(item).sql("duckdb") for item in (dc.written, dependency.rhs))
    named = ", ".join(f"{key} AS k{number}" for number, key in enumerate(keys)) or "0 AS k0"
    members = (
        f"SELECT {position} AS place, {value} AS cell, {named}, "
        f"count(*) OVER ({same}) AS size, count(*) OVER ({group}) AS whole FROM {rows.sql('duckdb')} WHERE {chosen}"
    )
    names = ", ".join(f"k{number}" for number in range(max(1, len(keys))))
    classes = f"SELECT {names}, cell, any_value(size) AS size FROM members GROUP BY {names}, cell"
    largest = (
        f"SELECT {names}, arg_max(cell, size) AS majority, max(size, 2) AS sizes FROM ({classes}) GROUP BY {names} "
        "HAVING count(*) > 1 AND sizes[1] > sizes[2]"
    )
    return (
        f"SELECT * FROM (WITH members AS ({members}), largest AS ({largest}) "
        f"SELECT place, {text}, {column}, cell::VARCHAR, majority::VARCHAR, sizes[1], whole "
        f"FROM members JOIN largest USING ({names}) WHERE cell IS DISTINCT FROM majority)"
    )


@dataclass(frozen=True)
class CellCounts:
    """Cells of a column that are not empty; those that are no missing word; of these, those that fit each candidate.

    `like` counts the cells, missing or not, that match a further pattern; `values` for each candidate those that have a
    value where its type is declared: the others are NULL then.
    """

    cells: int
    known: int
    like: int
    fitting: list[int]
    values: list[int]


def count_cells(
    table: LocalTable,
    name: str,
    candidates: Sequence[tuple[str, str, str | None]],
    *,
    missing: Sequence[str],
    like: str,
    first: int | None = None,
) -> CellCounts:
    """Count the cells of a column. Private.

    Parameters
    ----------
    candidates : sequence of (type, pattern, format)
        A cell fits one if it matches its pattern, whole and without regard to case, and converts to its type, written
        in the format, if there is one.
    missing : sequence of str
        Words for a cell that is not there, in lower case.
    first : int, optional
        Look at so many different cells only.
    """
    column = exp.column(name, quoted=True)
    present = is_known(column)
    words = exp.select(exp.alias_(column, "word"), exp.alias_(exp.Count(this=exp.Star()), "cells"))
    words = words.from_(table.rows.scan.copy()).where(present).group_by(column.copy())
    if first is not None:
        words = words.limit(first)
    word = exp.column("word")
    cell = exp.Lower(this=exp.Trim(this=word))
    there = exp.In(this=cell, expressions=[exp.Literal.string(each) for each in missing]).not_()
    converts = [is_known(typed(word.copy(), kind, written)) for kind, _, written in candidates]
    looks = [_looks(cell, pattern) for _, pattern, _ in candidates]
    fits = [exp.and_(there, *both) for both in zip(looks, converts, strict=True)]
    sums = [_summed(condition) for condition in (exp.true(), there, _looks(cell, like), *fits, *converts)]
    totals = table.database.rows(exp.select(*sums).from_(words.subquery("word")))[0]
    cells, known, alike, *fitting = (int(total or 0) for total in totals)
    return CellCounts(cells, known, alike, fitting[: len(candidates)], fitting[len(candidates) :])


def cells_without_value(table: LocalTable, name: str, kind: str, written: str | None, most: int) -> list[str]:
    """List some different cells of a column that are NULL if a type is declared, the most frequent first. Private.

    Parameters
    ----------
    kind, written
        The type and the format behind it, if there is one.
    most
        How many are listed.
    """
    column = exp.column(name, quoted=True)
    lost = exp.and_(is_known(column), is_known(typed(column, kind, written)).not_())
    query = exp.select(column).from_(table.rows.scan.copy()).where(lost).group_by(column.copy())
    query = query.order_by(exp.Count(this=exp.Star()).desc(), column.copy()).limit(most)
    return [str(cell) for (cell,) in table.database.rows(query)]


def _looks(cell: exp.Expr, looks: str) -> exp.Expr:
    return exp.Anonymous(this="regexp_full_match", expressions=[cell.copy(), exp.Literal.string(looks.lower())])


def _summed(condition: exp.Expr) -> exp.Expr:
    total = exp.Sum(this=exp.column("cells"))
    return exp.Filter(this=total, expression=exp.Where(this=condition.copy()))


_ROWS = exp.to_table("written_row")


def read_rows(table: LocalTable) -> pa.Table:
    """Read every column, in the source's order of rows. Types that Arrow does not know are read as text.

    Raises
    ------
    SourceError
        If there are no rows, or the source is a view or stream with columns of nested types, which are lost.
    """
    types = dict(table.database.describe(exp.select("*").from_(table.rows.scan.copy())))
    for column in table.schema.columns:
        if column.name not in types or (column.type is None and types[column.name] != column.declared_type):
            raise SourceError(
                f"{table.description}: column {column.name!r} of type {column.declared_type} cannot be kept when a "
                "view or stream is copied; save it as a Parquet or DuckDB table first"
            )
    as_text = {column.name: _read_as_text(column.declared_type) for column in table.schema.columns}
    cells = [_in_type(name, "VARCHAR" if is_text else None) for name, is_text in as_text.items()]
    batches = list(table.database.stream(exp.select(*cells).from_(table.rows.scan.copy())))
    if not batches:
        raise SourceError(f"{table.description}: the table has no rows, so there is nothing to change")
    return pa.Table.from_batches(batches)


def write_rows(rows: pa.Table, types: Mapping[str, str], path: Path, kind: str, table: str = "data") -> None:
    """Write rows in their order into a new file; see `new_file`.

    Parameters
    ----------
    types
        SQL types of columns that get back a type which Arrow does not know.
    kind : str
        One of `dpdb.database.WRITTEN`; the path may end otherwise.

    Raises
    ------
    EngineError
        If writing fails.
    """
    cells = [_in_type(name, types.get(name)) for name in rows.column_names]
    query = exp.select(*cells).from_(_ROWS.copy()).sql("duckdb")
    with Database() as database, database.arrow_table(_ROWS.name, rows):
        database.write_query(query, path, kind, table)


def arrow_forgets(declared: str) -> bool:
    """Say whether a declared type comes back from Arrow as another one."""
    return _read_as_text(declared) or declared in {"HUGEINT", "UHUGEINT"}


def _read_as_text(declared: str) -> bool:
    return declared.startswith("ENUM(") or declared in {"BIT", "JSON", "TIME WITH TIME ZONE", "UUID"}


def _in_type(name: str, wanted: str | None) -> exp.Expr:
    column = exp.column(name, quoted=True)
    if wanted is None:
        return column
    return exp.alias_(exp.Cast(this=column, to=data_type(wanted)), name, quoted=True)
