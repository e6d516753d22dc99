"""Single conflicts, for the owner: counts per constraint, the violating pairs, an edge file. Private."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sqlglot import exp

from dpdb.engine.slice import LocalSlice
from dpdb.engine.sql.bind import BoundConstraint
from dpdb.engine.sql.constraint_sql import pair_count
from dpdb.engine.sql.files import sql_file
from dpdb.files.new_file import new_file

__all__ = ["VIOLATIONS", "export_edges", "source_rows", "violating_pairs", "violations_of"]

_NO_EDGE = "SELECT 0::UINTEGER AS u, 0::UINTEGER AS v, 0::USMALLINT AS dc WHERE false"

# Columns of the list of violations.
VIOLATIONS = pa.schema([("constraint", pa.string()), ("row_1", pa.int64()), ("row_2", pa.int64())])


def violations_of(part: LocalSlice, dc: BoundConstraint) -> int:
    """Count the pairs (for a single-tuple constraint: rows) that violate one constraint, among others perhaps.

    Private. For a single-tuple constraint it needs `keep_source_row`.
    """
    if dc.constraint.is_single_tuple:
        rows = exp.alias_(part.table("input_row"), "row", table=True)
        counted = exp.select(exp.Count(this=exp.Star())).from_(rows).where(*part.chosen(), dc.over("row", "row"))
        return int(part.database.value(counted))
    return int(part.database.value(pair_count(dc, part.tuples, part.rank)))


def violating_pairs(part: LocalSlice) -> Iterator[pa.RecordBatch]:
    """Stream the conflicts in canonical order, after the self-conflicts. Private.

    Columns as in `VIOLATIONS`: the text of the first constraint violated, and positions in the source from 0
    (`row_2` is NULL for a row that conflicts with itself). Needs `keep_source_row`.
    """
    if part.source_row is None:
        raise ValueError("this slice was built without keep_source_row")
    texts = exp.values(
        [(k, str(dc.constraint)) for k, dc in enumerate(part.constraints)], alias="violated", columns=["dc", "text"]
    )
    position = exp.column(part.source_row, quoted=True).sql("duckdb")
    rank = exp.column(part.rank, quoted=True).sql("duckdb")
    if len(part.pairwise) < len(part.constraints):
        alone = part.table("self_conflict").sql("duckdb")
        yield from part.database.stream(
            f'SELECT violated."text" AS "constraint", s."source_row" AS row_1, NULL::BIGINT AS row_2 '
            f"FROM {alone} AS s JOIN {texts.sql('duckdb')} USING (dc) ORDER BY row_1"
        )
    if part.pairwise:
        assert part.edges.node_count == part.node_count  # materializes the edges
        tuples = part.tuples.sql("duckdb")
        yield from part.database.stream(
            f'SELECT violated."text" AS "constraint", a.{position} AS row_1, b.{position} AS row_2 '
            f"FROM {part.table('conflict_edge').sql('duckdb')} AS e JOIN {texts.sql('duckdb')} USING (dc) "
            f"JOIN {tuples} AS a ON a.{rank} = e.u JOIN {tuples} AS b ON b.{rank} = e.v ORDER BY e.u, e.dc, e.v"
        )


def source_rows(part: LocalSlice) -> NDArray[np.int64]:
    """Return the positions in the source, from 0, of the ranked rows. Needs `keep_source_row`. Private."""
    if part.source_row is None:
        raise ValueError("this slice was built without keep_source_row")
    positions = exp.select(exp.column(part.source_row, quoted=True)).from_(part.tuples.copy())
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
    if part.source_row is None:
        raise ValueError("this slice was built without keep_source_row")
    assert part.edges.node_count == part.node_count  # materializes the edges
    rank, position = (exp.column(name, quoted=True).sql("duckdb") for name in (part.rank, part.source_row))
    texts = exp.values(
        [(k, str(dc.constraint)) for k, dc in part.pairwise] or [(0, "")], alias="t", columns=["dc", "text"]
    )
    edges = "SELECT u, v, dc FROM " + part.table("conflict_edge").sql("duckdb") if part.pairwise else _NO_EDGE
    tables = {
        "conflict_edge": edges,
        "tuple_row": f"SELECT {rank} AS id, {position} AS source_row FROM {part.tuples.sql('duckdb')} ORDER BY 1",
        "violated": f'SELECT dc, "text" FROM {texts.sql("duckdb")}',
    }
    with new_file(Path(path), private=True) as partial:
        part.database.write_file(partial, tables, {"conflict": sql_file("conflict")})
