"""Parents of a remote table: tables beside it, which the same queries read.

What a rule says of a parent is joined to the rows, so that no row of either table comes for it: to an orphan no key of
the parent is joined, and to a row that breaks a look-up its own values, as one of those that break it. What is joined
is distinct, so every row is there once. It is the column of `dpdb.engine.sql.input_rows`, whose proof holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from sqlglot import exp

from dpdb.constraints import DenialConstraint
from dpdb.database import Database
from dpdb.engine import (
    CHILD_ROW,
    PARENT_ROW,
    AcrossColumn,
    DeclaredParent,
    FoundParents,
    ParentTable,
    refuse_second_names,
    refuse_undeclared,
    same_name,
    spelled_as,
)
from dpdb.engine.sql import is_known
from dpdb.errors import SourceError
from dpdb.remote.table import RemoteTable
from dpdb.schema import TableSchema
from dpdb.sources import Source


class RemoteParents:
    """Opens parents beside a remote table (implements `dpdb.engine.parents.across.ParentsOfTable`).

    Parameters
    ----------
    declared
        What the owner says of them.

    Attributes
    ----------
    tables : dict of ParentTable
        All that are declared, by case-folded name: what is compared to see a change does not depend on rules.
    """

    def __init__(self, declared: Sequence[DeclaredParent], remote: RemoteTable) -> None:
        self._remote = remote
        refuse_second_names(declared, lambda one, other: same_name(one.name, other.name))
        self.tables = {parent.name.casefold(): self._opened(parent) for parent in declared}

    def found(self, database: Database, constraints: Sequence[DenialConstraint], schema: TableSchema) -> FoundParents:
        """Return the constraints in the parents' spelling, and the parents; parameters and errors as of `Parents`."""
        del database, schema
        tables: dict[str, ParentTable] = {}
        for dc in constraints:
            for rule in dc.inclusions:
                refuse_undeclared(dc, rule, self.tables)
                table = self.tables[rule.parent.casefold()]
                tables[table.name] = table
        return spelled_as(tables, constraints)

    def _opened(self, declared: DeclaredParent) -> ParentTable:
        if declared.source is not None:
            raise SourceError(
                f"parent {declared.name!r}: beside a table of another engine parents are tables of the same database: "
                f"name it alone (--public-parent {declared.name}), or export both"
            )
        try:
            table = self._remote.beside(declared.name)
        except SourceError as error:
            raise SourceError(f"parent {declared.name!r}: {error}") from None
        return ParentTable(
            declared.name,
            declared.is_public,
            is_measured=same_name(self._remote.place, table.place),
            keys=table.rows(),
            source=Source(table.description, table.schema(), table.rows()),
        )


def join_across(
    query: exp.Select, rows: exp.Expr, schema: TableSchema, columns: Iterable[AcrossColumn]
) -> tuple[exp.Select, Mapping[str, exp.Expr]]:
    """Join rows with what tells of each whether it violates rules across tables.

    Returns
    -------
    tuple
        The query, and the values of the columns in it by name.
    """
    values: dict[str, exp.Expr] = {}
    for number, column in enumerate(columns):
        alias = _free(f"across_{number}", schema)
        found, on = (_broken if column.met.violates and not column.met.is_member else _present)(column, rows, alias)
        query = query.join(found.subquery(alias), on=exp.and_(*on), join_type="left")
        values[column.name] = column.told(is_known(exp.column(f"{alias}_0", table=alias)))
    return query, values


def _present(column: AcrossColumn, rows: exp.Expr, alias: str) -> tuple[exp.Select, list[exp.Expr]]:
    """Select the keys of the parent's rows that count, each once, and say when a row has one."""
    del rows
    names = {f"{alias}_{place}": pair for place, pair in enumerate(column.pairs)}
    keys = [exp.alias_(pair.parents(), name) for name, pair in names.items()]
    found = exp.select(*keys).distinct().from_(exp.alias_(column.keys.copy(), PARENT_ROW, table=True))
    on: list[exp.Expr] = [pair.own(None).eq(exp.column(name, table=alias)) for name, pair in names.items()]
    return (found if column.met.condition is None else found.where(column.met.condition.copy())), on


def _broken(column: AcrossColumn, rows: exp.Expr, alias: str) -> tuple[exp.Select, list[exp.Expr]]:
    """Select the values of rows that break a look-up, each once, and say when a row has them: first its key."""
    names = [exp.alias_(_own(name, CHILD_ROW), f"{alias}_{place}") for place, name in enumerate(column.sources)]
    same: list[exp.Expr] = [exp.EQ(this=pair.own(), expression=pair.parents()) for pair in column.pairs]
    assert column.met.condition is not None, "a look-up has one"
    found = exp.select(*names).distinct().from_(exp.alias_(rows.copy(), CHILD_ROW, table=True))
    met = exp.and_(*same, exp.paren(column.met.condition.copy()))
    found = found.join(exp.alias_(column.keys.copy(), PARENT_ROW, table=True), on=met)
    return found, list(_equal(column, alias))


def _equal(column: AcrossColumn, alias: str) -> Iterator[exp.Expr]:
    keys = {pair.column for pair in column.pairs}  # of which none is NULL where they are equal
    for place, name in enumerate(column.sources):
        kind = exp.EQ if name in keys else exp.NullSafeEQ
        yield kind(this=_own(name), expression=exp.column(f"{alias}_{place}", table=alias))


def _own(name: str, table: str | None = None) -> exp.Column:
    return exp.column(name, table=table, quoted=True)


def _free(alias: str, schema: TableSchema) -> str:
    """Return a name that no column begins with."""
    while any(name.casefold().startswith(alias) for name in schema.names):
        alias = f"_{alias}"
    return alias
