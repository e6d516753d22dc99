"""Single conflicts, for the owner: the violating pairs, an edge file. Private."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from dpdb.database import sql_file
from dpdb.engine.slice import LocalSlice
from dpdb.files.new_file import new_file
from dpdb.schema import free_name

__all__ = ["export_edges", "kept_values", "listed_rows", "source_rows", "violating_pairs"]

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
    found = part.table("violation")
    part.database.execute(f"CREATE TABLE {found.sql('duckdb')} AS {_NO_VIOLATION}")
    for position in range(len(part.constraints)):
        alone = part.under(position)
        try:
            part.database.execute(exp.insert(_violations(alone, position), found.copy()))
        finally:
            alone.close()
    texts = exp.values(
        [(place, dc, text) for place, (text, dc) in enumerate(written)],
        alias="violated",
        columns=["place", "dc", "text"],
    ).sql("duckdb")
    sides = "".join(kept_values(part, f"conflict.row_{side}", f"_{side}", f"r{side}").selected for side in (1, 2))
    joins = "".join(kept_values(part, f"conflict.row_{side}", f"_{side}", f"r{side}").joined for side in (1, 2))
    return (
        f'SELECT violated."text" AS "constraint", conflict.row_1, conflict.row_2{sides} '
        f"FROM {found.sql('duckdb')} AS conflict JOIN {texts} USING (dc){joins} "
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
    part
        The slice, which has the kept columns.
    row
        SQL of the row's position.
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
    texts = exp.values(
        [(k, dc.constraint.written) for k, dc in part.pairwise] or [(0, "")], alias="t", columns=["dc", "text"]
    )
    edges = "SELECT u, v, dc FROM " + part.table("conflict_edge").sql("duckdb") if part.pairwise else _NO_EDGE
    tables = {
        "conflict_edge": edges,
        "tuple_row": f"SELECT {rank} AS id, {position} AS source_row FROM {part.tuples.sql('duckdb')} ORDER BY 1",
        "violated": f'SELECT dc, "text" FROM {texts.sql("duckdb")}',
    }
    with new_file(Path(path), private=True) as partial:
        part.database.write_file(partial, tables, {"conflict": sql_file("conflict")})
