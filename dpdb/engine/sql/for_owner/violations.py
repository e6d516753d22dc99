"""Single conflicts, for the owner: the violating pairs, an edge file. Private."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from dpdb.engine.schema import free_name
from dpdb.engine.slice import LocalSlice
from dpdb.engine.sql.files import sql_file
from dpdb.files.new_file import new_file

__all__ = ["export_edges", "kept_values", "listed_rows", "source_rows", "violating_pairs"]

OWN_COLUMNS = (
    "constraint", "row", "row_1", "row_2", "column", "value", "suggested", "agreeing", "group_rows"
)  # fmt: skip
"""The columns of the lists themselves."""

_NO_ROWS = "NULL::BIGINT AS row_1, NULL::BIGINT AS row_2 WHERE false"
_NO_EDGE = "SELECT 0::UINTEGER AS u, 0::UINTEGER AS v, 0::USMALLINT AS dc WHERE false"


def violating_pairs(part: LocalSlice) -> str:
    """Return the query of all conflicts in canonical order, after the self-conflicts. Private.

    Columns: `constraint`, the text of the first constraint violated; `row_1` and `row_2`, positions in the source from
    0 (`row_2` is NULL for a row that conflicts with itself); then the kept columns of both rows, `NAME_1` and `NAME_2`.
    Needs `keep_source_row`.
    """
    texts = exp.values(
        [(k, dc.constraint.written) for k, dc in enumerate(part.constraints)], alias="violated", columns=["dc", "text"]
    ).sql("duckdb")
    rank = exp.column(part.rank, quoted=True).sql("duckdb")
    position = _position(part)
    found = [f"SELECT NULL::UINTEGER AS u, NULL::USMALLINT AS dc, NULL::UINTEGER AS v, {_NO_ROWS}"]
    if len(part.pairwise) < len(part.constraints):
        alone = part.table("self_conflict").sql("duckdb")
        found.append(f'SELECT NULL, dc, NULL, "source_row", NULL FROM {alone}')
    if part.pairwise:
        _ = part.edges  # materializes them
        tuples, edges = part.tuples.sql("duckdb"), part.table("conflict_edge").sql("duckdb")
        found.append(
            f"SELECT e.u, e.dc, e.v, a.{position}, b.{position} FROM {edges} AS e "
            f"JOIN {tuples} AS a ON a.{rank} = e.u JOIN {tuples} AS b ON b.{rank} = e.v"
        )
    sides = "".join(kept_values(part, f"conflict.row_{side}", f"_{side}", f"r{side}").selected for side in (1, 2))
    joins = "".join(kept_values(part, f"conflict.row_{side}", f"_{side}", f"r{side}").joined for side in (1, 2))
    return (
        f'SELECT violated."text" AS "constraint", conflict.row_1, conflict.row_2{sides} '
        f"FROM ({' UNION ALL '.join(found)}) AS conflict JOIN {texts} USING (dc){joins} "
        "ORDER BY conflict.u IS NOT NULL, conflict.u, "
        "CASE WHEN conflict.u IS NULL THEN conflict.row_1 END, conflict.dc, conflict.v"
    )


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
