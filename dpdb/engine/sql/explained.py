"""The evaluation of a constraint, for readers: its SQL, and DuckDB's query plan of it over a table without rows."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from dpdb.engine.parents.orphans import violates_across
from dpdb.engine.slice import LocalSlice
from dpdb.engine.sql.constraint_sql import self_conflict

__all__ = ["ExplainedConstraint", "explained_constraint"]


@dataclass(frozen=True)
class ExplainedConstraint:
    """The statements that find a constraint's violations, the operator expected at realistic sizes, the query plan."""

    sql: str
    operator: str
    plan: list[str]


def explained_constraint(empty: LocalSlice, position: int) -> ExplainedConstraint:
    """Explain one constraint of a slice of a table without rows: DuckDB chooses joins by row counts, which are private.

    Parameters
    ----------
    position : int
        Of the constraint.
    """
    bound = empty.constraints[position]
    statements: list[exp.Expr]
    if bound.constraint.is_single_tuple:
        query = exp.select("*").from_(empty.tuples.copy()).where(self_conflict([bound], "tuple_row"))
        read = [column for column in empty.orphans if column.name in bound.columns]
        found = [violates_across(column, empty.table("input_row")) for column in read]
        statements, operator = [*found, query], "FILTER"
    else:
        members = empty.table(f"member_{position}")
        plan = empty.planned_join([k for k, _ in empty.pairwise].index(position), members)
        statements, operator = [plan.edges], plan.operator
        if plan.members is not None:
            empty.database.execute(plan.members.ctas(members.copy()))
            statements.insert(0, plan.members)
    return ExplainedConstraint(
        ";\n".join(s.sql("duckdb", normalize_functions=False, pretty=True) for s in statements),
        operator,
        empty.database.operators(statements[-1]),
    )
