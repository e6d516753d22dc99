"""Order-preserving integer codes: a column that is only ever compared with itself is replaced by dense ranks.

Every comparison of two of its values has the same outcome on their codes, so the constraints' SQL stays what it was;
NULL stays NULL. Codes never order rows or edges by themselves: they shift when a value arrives.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from dpdb.database import Database
from dpdb.engine.sql.bind import BoundConstraint
from dpdb.engine.sql.known import is_known

__all__ = ["code_of", "coded_columns", "create_codes"]


def coded_columns(constraints: Sequence[BoundConstraint], columns: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that no constraint over two tuples compares with another column or a constant.

    They alone are stored as codes: of other columns constraints read the values, too.
    """
    pairwise = [dc for dc in constraints if not dc.constraint.is_single_tuple]
    compared = {name for dc in pairwise for name in dc.columns}
    other = {
        ref.column
        for dc in pairwise
        for predicate, bound in zip(dc.constraint.predicates, dc.predicates, strict=True)
        if not bound.joins_one_column
        for ref in predicate.columns
    }
    return tuple(name for name in columns if name in compared and name not in other)


def create_codes(database: Database, rows: exp.Table, column: str, target: exp.Table) -> None:
    """Create the table of a column's distinct values, `value`, in order, NULL left out: a value's code is its `rowid`.

    Tables keep the order in which they are written.

    Parameters
    ----------
    database
        Where the rows are.
    rows
        Their table.
    column
        Name of the column.
    target
        The table to make.
    """
    value = exp.column(column, quoted=True)
    known = is_known(value)
    values = exp.select(exp.alias_(value, "value")).distinct().from_(rows.copy()).where(known)
    # By place: the rows may have a column of that name.
    database.execute(values.order_by(exp.Ordered(this=exp.Literal.number(1))).ctas(target.copy()))


def code_of(column: exp.Expr) -> exp.Expr:
    """Return the code of a row's value, which is not NULL, among the rows of a query: where these are few enough."""
    rank = exp.Window(this=exp.DenseRank(), order=exp.Order(expressions=[exp.Ordered(this=column.copy())]), over="OVER")
    return rank - 1
