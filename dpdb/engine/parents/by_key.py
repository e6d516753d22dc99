"""Parents beside a measured table: one join for each parent and key, whatever the number of rules that look into it.

`violates_across` asks of each row and rule whether a parent's row exists. Here a parent is grouped by its key, once for
all rules that have the key, and the measured rows are joined with the groups, which adds and loses none of them:

    conditions on the parent alone    whether some row of the key meets it: an aggregate of the group;
    conditions on both, one row       the row's columns, of which the condition is made;
    conditions on both, many rows     the different rows of a key by places 1, 2, ...: one join for each place, and the
                                      condition is met if it is at some place.

Members, which other conditions read, are joined before.

Each gives the truth value of `EXISTS`; which keys have many rows is private, and their greatest number a threshold.
Types whose different spellings are equal (fractions, intervals) could have two groups of one key: they are looked for
by `EXISTS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

from sqlglot import exp

from dpdb.database import Database
from dpdb.engine.sql.comparison import is_known
from dpdb.engine.sql.input_rows import (
    CHILD_ROW,
    PARENT_ROW,
    AcrossColumn,
    KeyPair,
    beside_members,
    copied_columns,
    in_schema_order,
    members_read,
    typed_rows,
)
from dpdb.sources import Rows, Source
from dpdb.thresholds import REPEATED_PARENTS

Readable: TypeAlias = Callable[[set[str]], exp.Expr]
"""From names of columns, those of rules across tables among them, to a table or subquery without alias."""

_GROUPED = frozenset(
    f"{sign}{name}" for sign in ("", "U") for name in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
) | {"VARCHAR", "DATE", "TIMESTAMP", "UUID"}
_COUNT, _PLACE = "rows_of_key", "place"


@contextmanager
def readable(database: Database, rows: Rows, columns: set[str], *, name: str) -> Iterator[Readable]:
    """Give columns of a table in the types that dpdb compares in, as often as they are read while a block lasts.

    Parameters
    ----------
    database
        Where the rows can be read.
    name
        Of a table that the rows are copied to where a join does not tell what rules say of parents.
    """
    across = members_read(rows.schema, columns)
    across += [
        column
        for column in sorted(rows.schema.columns, key=lambda column: column.name)
        if column.name in columns and isinstance(column, AcrossColumn) and not column.met.is_member
    ]
    if not across:
        yield lambda asked: typed_rows(rows, asked)
        return
    parents = _ParentsByKey(database)
    try:
        if parents.group(across):
            yield lambda asked: parents.beside(rows, asked)
        else:
            parents.forget()
            with copied_columns(database, rows, columns, name=name) as copy:
                yield lambda _: copy.copy()
    finally:
        parents.forget()


@dataclass
class _Grouped:
    """A parent by one key, and what rules ask of it.

    Attributes
    ----------
    pairs : tuple of KeyPair
        Of a rule that has the key; the measured columns may differ.
    met : dict
        Names of aggregates, by the text of the condition on the parent alone.
    table, places : str, list of str
        The table of groups, and those of the different rows of keys that have several, by place.
    """

    keys: exp.Expr
    pairs: tuple[KeyPair, ...]
    met: dict[str, str] = field(default_factory=dict)
    conditions: dict[str, exp.Expr] = field(default_factory=dict)
    columns: set[str] = field(default_factory=set)
    table: str = ""
    places: list[str] = field(default_factory=list)


class _ParentsByKey:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._groups: dict[str, _Grouped] = {}
        self._made: list[str] = []

    def group(self, columns: Sequence[AcrossColumn]) -> bool:
        """Group the parents of some columns by their keys; return False if a join does not tell what these say."""
        if not all(pair.compared_as in _GROUPED for column in columns for pair in column.pairs):
            return False
        for column in columns:
            made = self._groups.setdefault(_identity(column), _Grouped(column.keys, column.pairs))
            condition = column.met.condition
            if condition is None:
                continue
            if _reads(condition, CHILD_ROW):
                made.columns |= _reads(condition, PARENT_ROW)
            else:
                text = condition.sql("duckdb")
                name = made.met.setdefault(text, f"met_{len(made.met)}")
                made.conditions[name] = condition
        return all(self._is_grouped(each) for each in self._groups.values())

    def _is_grouped(self, each: _Grouped) -> bool:
        """Write the table of groups, and those of repeated keys; return False if a key has too many rows for that."""
        keys = [pair.parents() for pair in each.pairs]
        rows = exp.alias_(each.keys.copy(), PARENT_ROW, table=True)
        known = [is_known(key.copy()) for key in keys]
        named = [exp.alias_(key, f"key_{place}") for place, key in enumerate(keys)]
        met = [exp.alias_(exp.LogicalOr(this=value.copy()), name) for name, value in each.conditions.items()]
        theirs = {name: exp.column(name, table=PARENT_ROW, quoted=True) for name in sorted(each.columns)}
        first = [_first(name, exp.First(this=value.copy())) for name, value in theirs.items()]
        count = exp.alias_(exp.Count(this=exp.Star()), _COUNT)
        groups = exp.select(*named, *met, *first, count).from_(rows).where(*known)
        each.table = self._write(groups.group_by(*(exp.convert(place + 1) for place in range(len(keys)))))
        if not theirs:
            return True
        if not self._database.value(f"SELECT count(*) FROM {each.table} WHERE {_COUNT} > 1"):
            return True
        among = exp.alias_(exp.to_table(each.table), "several", table=True)
        equal = [exp.EQ(this=exp.column(f"key_{n}", table="several"), expression=key) for n, key in enumerate(keys)]
        several = exp.column(_COUNT, table="several") > 1
        read = [*(key.copy() for key in named), *(_first(name, value) for name, value in theirs.items())]
        different = exp.select(*read).distinct().from_(rows.copy()).join(among, on=exp.and_(*equal, several))
        parted = [exp.column(f"key_{n}") for n in range(len(keys))]
        number = exp.Window(this=exp.RowNumber(), partition_by=parted, over="OVER")
        numbered = self._write(exp.select("*", exp.alias_(number, _PLACE)).from_(different.subquery("different_row")))
        most = int(self._database.value(f"SELECT max({_PLACE}) FROM {numbered}"))
        if most > REPEATED_PARENTS.at:
            return False
        for place in range(1, most + 1):
            of_place = exp.column(_PLACE).eq(place)
            each.places.append(self._write(exp.select("*").from_(exp.to_table(numbered)).where(of_place)))
        return True

    def _write(self, query: exp.Select) -> str:
        name = self._database.new_name("parent_by_key")
        self._made.append(name)
        self._database.execute(query.ctas(exp.to_table(name)))
        return name

    def forget(self) -> None:
        """Drop the groups."""
        self._groups = {}
        while self._made:
            self._database.execute(f"DROP TABLE IF EXISTS {self._made[-1]}")
            self._made.pop()

    def beside(self, rows: Rows, asked: set[str]) -> exp.Subquery:
        """Return columns of the measured rows; those of rules across tables come from joins with what is grouped."""
        members = members_read(rows.schema, asked)
        if members:
            stored, schema = beside_members(rows.schema, asked)
            rows = Source(rows.description, schema, self._joined(rows, set(stored), stored, members))
        across = [c for name in in_schema_order(asked, rows.schema) if isinstance(c := rows.schema[name], AcrossColumn)]
        own_columns = asked - {column.name for column in across}
        read = own_columns.union(*(column.sources for column in across))
        return self._joined(rows, read, in_schema_order(own_columns, rows.schema), across)

    def _joined(self, rows: Rows, read: set[str], shown: Sequence[str], across: Sequence[AcrossColumn]) -> exp.Subquery:
        """Join some columns with what tells others."""
        joins = _Joins(self._groups)
        values = [exp.alias_(joins.value(column), column.name, quoted=True) for column in across]
        names = [exp.column(name, table=CHILD_ROW, quoted=True) for name in shown]
        query = exp.select(*names, *values).from_(exp.alias_(typed_rows(rows, read), CHILD_ROW, table=True))
        for alias, (table, on) in joins.made.items():
            query = query.join(exp.alias_(exp.to_table(table), alias, table=True), on=on, join_type="LEFT")
        return query.subquery()


class _Joins:
    """The joins of one query: each table of groups once for each choice of measured columns."""

    def __init__(self, groups: dict[str, _Grouped]) -> None:
        self._groups = groups
        self.made: dict[str, tuple[str, exp.Expr]] = {}
        self._aliases: dict[tuple[str, tuple[KeyPair, ...]], str] = {}

    def value(self, column: AcrossColumn) -> exp.Expr:
        """Return what a column says of a row: NULL only of a member whose row has no value."""
        grouped = self._groups[_identity(column)]
        alias = self._alias(grouped.table, column.pairs)
        is_there, condition = is_known(exp.column("key_0", table=alias)), column.met.condition
        if condition is not None and _reads(condition, CHILD_ROW):
            once = exp.column(_COUNT, table=alias).eq(1)
            met = [exp.and_(once, _placed(condition, alias))]
            for table in grouped.places:
                other = self._alias(table, column.pairs)
                met.append(exp.and_(is_known(exp.column("key_0", table=other)), _placed(condition, other)))
            is_there = _is_true(exp.or_(*met))
        elif condition is not None:
            is_there = _is_true(exp.column(grouped.met[condition.sql("duckdb")], table=alias))
        return column.told(is_there, CHILD_ROW)

    def _alias(self, table: str, pairs: tuple[KeyPair, ...]) -> str:
        alias = self._aliases.setdefault((table, pairs), f"beside_{len(self._aliases)}")
        self.made.setdefault(alias, (table, same_key(pairs, alias)))
        return alias


def same_key(pairs: Sequence[KeyPair], alias: str) -> exp.Expr:
    """Condition that a measured row has the key of a group."""
    keys = [exp.column(f"key_{place}", table=alias) for place in range(len(pairs))]
    return exp.and_(*(exp.EQ(this=key, expression=pair.own()) for key, pair in zip(keys, pairs, strict=True)))


def _identity(column: AcrossColumn) -> str:
    """The parent and its key in the types of the comparison, as text."""
    key = [(pair.parent_column, pair.parent_type, pair.compared_as) for pair in column.pairs]
    return f"{column.keys.sql('duckdb')} {key}"


def _first(name: str, value: exp.Expr) -> exp.Expr:
    return exp.alias_(value, f"first_{name}", quoted=True)


def _reads(condition: exp.Expr, row: str) -> set[str]:
    return {column.name for column in condition.find_all(exp.Column) if column.table == row}


def _placed(condition: exp.Expr, alias: str) -> exp.Expr:
    def moved(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column) and node.table == PARENT_ROW:
            return exp.column(f"first_{node.name}", table=alias, quoted=True)
        return node

    return exp.paren(condition.copy()).transform(moved)


def _is_true(value: exp.Expr) -> exp.Expr:
    return exp.func("coalesce", value, exp.false())
