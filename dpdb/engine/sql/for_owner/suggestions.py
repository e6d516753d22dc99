"""Suggested repairs, for the owner: where most rows of a group agree, the others' values are likely wrong. Private."""

from __future__ import annotations

from sqlglot import exp

from dpdb.constraints import DenialConstraint, FunctionalDependency, functional_dependency
from dpdb.engine.slice import LocalSlice
from dpdb.engine.sql.for_owner.violations import kept_values

__all__ = ["suggestions"]

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
    found = [_EMPTY]
    for bound in part.constraints:
        dependency = functional_dependency(bound.constraint)
        if dependency is not None:
            found.append(_of_dependency(part, bound.constraint, dependency))
    kept = kept_values(part, "suggestion.row", "", "r")
    return (
        f"SELECT suggestion.*{kept.selected} FROM ({' UNION ALL '.join(found)}) AS suggestion{kept.joined} "
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
