"""The rows that share a key with another row, of any of several keys, by one query. Private."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from dpdb.database import filled_select
from dpdb.engine.closed_forms import GroupForm, KeysForm
from dpdb.engine.sql.class_histograms import CLASS_ROWS, class_rows, of_row
from dpdb.engine.sql.comparison import is_known


def sharing_rows(form: KeysForm, rows: exp.Expr, conditions: Sequence[exp.Expr] = ()) -> exp.Select:
    """Return the query of how many rows share at least one of the keys: one row with a BIGINT. Private.

    A row without a value in a key, or that does not meet its condition, shares it with none. Each row is counted once.

    Parameters
    ----------
    rows
        A table or subquery without alias.
    conditions
        Of rows called `CLASS_ROWS`.
    """
    chosen = class_rows(rows, (), (), conditions)
    shares = []
    for place, key in enumerate(form.keys):
        has, sharers = f"has_{place}", f"sharers_{place}"
        names = [f"key_{place}_{part}" for part in range(len(key.equal))]
        chosen = chosen.select(_flag(_has(key), has), *map(_named, key.equal, names))
        counted = exp.Sum(this=exp.column(has))
        window = exp.Window(this=counted, partition_by=[exp.column(name) for name in [*names, has]])
        shares.append((has, sharers, window))
    some = exp.or_(*(exp.and_(exp.column(has).eq(1), exp.column(sharers) > 1) for has, sharers, _ in shares))
    return filled_select(
        "sharing_rows",
        has=[has for has, _, _ in shares],
        sharers=[exp.alias_(window, sharers) for _, sharers, window in shares],
        keyed=chosen,
        some=some,
    )


def _has(key: GroupForm) -> exp.Expr:
    known = [is_known(of_row(name)) for name in (*key.equal, *key.known)]
    return exp.and_(*known, *(each.over((CLASS_ROWS, CLASS_ROWS)) for each in key.conditions))


def _flag(condition: exp.Expr, name: str) -> exp.Expr:
    one = exp.Case(ifs=[exp.If(this=condition, true=exp.convert(1))], default=exp.convert(0))
    return exp.alias_(one, name)


def _named(column: str, name: str) -> exp.Expr:
    return exp.alias_(of_row(column), name)
