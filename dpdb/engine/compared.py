"""Two tables compared by a key: which columns are compared, in which type, and how many keys differ. Private counts.

A key is a value of the key columns that is nowhere NULL; rows without one are no part of anything. The rows of a key
are a multiset of compared values on either side. It is *missing* on a side that has no row of it, and *differs* if
both sides have rows of it whose multisets are not equal; in a column, if those of that column's values are not.

Equality is fixed by the types, which are public: NULL equals NULL as a compared value, NaN equals NaN, -0.0 equals 0.0,
text is equal by its code points whatever its collation. Types are compared where all their values have exact
counterparts in one type: whole numbers and decimals of at most 38 digits together, FLOAT beside DOUBLE, enumerations
beside text, DATE beside TIMESTAMP. All else is refused by its types: '1' is not compared with 1, nor 2^53 + 1 with a
DOUBLE, nor a time with a zone with one without.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from sqlglot import exp

from dpdb.database import Database, filled, filled_select
from dpdb.engine.sql.comparison import common_type, is_known, typing_advice
from dpdb.engine.sql.input_rows import typed_rows
from dpdb.engine.sql.where import columns_renamed, resolve_column
from dpdb.errors import ParameterError, PredicateError
from dpdb.predicates import MOMENTS, ZONED, ZONED_NANOSECONDS, equality_type, in_type, type_words
from dpdb.schema import Column, TableSchema

if TYPE_CHECKING:
    from dpdb.engine.sql.where import WherePredicate
    from dpdb.sources import Rows

Side: TypeAlias = Literal["left", "right"]

_FLOATS = ("FLOAT", "DOUBLE")
_ZONED = (ZONED, ZONED_NANOSECONDS)
_BLURRED = ("INTERVAL", "TIME WITH TIME ZONE")
"""Types in which values that are written differently are equal, such as 1 month and 30 days."""
_ROW = "compared_row"


@dataclass(frozen=True)
class ComparedColumn:
    """One column of both tables."""

    left: Column
    right: Column
    kind: str

    @property
    def name(self) -> str:
        """As the left table spells it; `left=right` where the right one calls it otherwise."""
        mine, theirs = self.left.name, self.right.name
        return mine if mine.casefold() == theirs.casefold() else f"{mine}={theirs}"

    @property
    def words(self) -> str:
        """Its name and type, for a plan."""
        return f"{self.name} ({type_words(self.kind)})"

    def read(self, side: Side) -> exp.Expr:
        """Read it of a side, in the type that it is compared in."""
        column: Column = getattr(self, side)
        assert column.type is not None, "others are refused"
        return in_type(exp.column(column.name, quoted=True), column.type, self.kind)


@dataclass(frozen=True)
class ComparedColumns:
    """The key and the other columns in which two tables are compared.

    Attributes
    ----------
    key, values : tuple of ComparedColumn
        Both in the order in which they were named.
    """

    key: tuple[ComparedColumn, ...]
    values: tuple[ComparedColumn, ...]

    @classmethod
    def of(
        cls, left: TableSchema, right: TableSchema, key: Sequence[str], columns: Sequence[str] | None
    ) -> ComparedColumns:
        """Find the columns; without `columns` all that both tables have beside the key. Reads no row.

        Parameters
        ----------
        key, columns
            Names that both tables have, or `left=right`. A column whose own name is such a text is meant by it.

        Raises
        ------
        UnknownColumnError
            If a table has no such column.
        ParameterError
            If a column is named twice, or its types have no values in common that could be compared exactly.
        """
        keyed = _once(left, right, key, "key")
        if columns is None:
            known = {name.casefold() for pair in keyed for name in pair}
            theirs = {name.casefold() for name in right.names}
            columns = [name for name in left.names if name.casefold() in theirs and name.casefold() not in known]
        named = _once(left, right, columns, "columns")
        for side, place in (("left", 0), ("right", 1)):
            of_key = {pair[place] for pair in keyed}
            twice = next((pair[place] for pair in named if pair[place] in of_key), None)
            if twice is not None:
                raise ParameterError(
                    f"columns: {twice!r} is a column of the key (of the {side} table), which is equal on both sides"
                )
        pairs = [_pair(left[mine], right[theirs], "key") for mine, theirs in keyed]
        return cls(tuple(pairs), tuple(_pair(left[mine], right[theirs], "columns") for mine, theirs in named))

    def names(self, side: Side) -> set[str]:
        """Return the columns that are read of a side."""
        return {getattr(each, side).name for each in (*self.key, *self.values)}

    def where_of(self, side: Side, where: str) -> str:
        """Return a condition on the key, written with the left table's names, with those of a side.

        Raises
        ------
        PredicateError
            If it is none, or reads a column that is no part of the key: a key has all its rows in the slice, or none.
        """
        names: dict[str, str] = {each.left.name.casefold(): getattr(each, side).name for each in self.key}

        def named(column: str) -> str:
            own = names.get(column.casefold())
            if own is None:
                known = ", ".join(sorted(each.left.name for each in self.key))
                raise PredicateError(
                    f"where: {column!r} is no column of the key ({known}); a comparison selects keys, which have all "
                    "their rows in the slice, or none"
                )
            return own

        return columns_renamed(where, named)

    def query(self, side: Side, rows: Rows, where: WherePredicate | None) -> exp.Select:
        """Select the compared values of the rows of a side that have a key, under names of their places."""
        names = self.names(side).union(() if where is None else where.columns)
        values = [column.read(side) for column in (*self.key, *self.values)]
        shown = [exp.alias_(value, name) for value, name in zip(values, self._names, strict=True)]
        known = [is_known(value) for value in values[: len(self.key)]]
        chosen = [] if where is None else [where.condition]
        return exp.select(*shown).from_(typed_rows(rows, names)).where(*known, *chosen)

    @property
    def _names(self) -> list[str]:
        return [f"value_{place}" for place in range(len(self.key) + len(self.values))]

    def count(self, database: Database, left: exp.Expr, right: exp.Expr, *, each_column: bool) -> Differences:
        """Count the keys of two tables of values, as `query` selects them, in a database that has both. Private."""
        rows, names = exp.to_table(database.new_name("pooled_row")), self._names
        database.execute(filled("pooled_rows", target=rows, value=names, left=left, right=right))
        key = names[: len(self.key)]

        def differences(values: Sequence[str]) -> tuple[int, int, int]:
            [counts] = database.rows(filled_select("key_differences", rows=rows, key=key, value=[*key, *values]))
            return counts[0], counts[1], counts[2]

        missing_left, missing_right, differ = differences(names[len(key) :])
        apart = [differences([name])[2] for name in names[len(key) :]] if each_column else []
        return Differences(missing_left, missing_right, differ, tuple(apart))


@dataclass(frozen=True)
class Differences:
    """How many keys two tables do not agree on. Private.

    Attributes
    ----------
    missing_left, missing_right, differ : int
        Keys without a row on a side, and those of which both sides have rows, but other ones.
    columns : tuple of int
        For each compared column the keys of which both sides have rows, whose values of it are others; none if columns
        are not asked for one by one.
    """

    missing_left: int
    missing_right: int
    differ: int
    columns: tuple[int, ...] = ()

    @property
    def numbers(self) -> tuple[int, ...]:
        """All of them, in the order in which they are released."""
        return (self.missing_left, self.missing_right, self.differ, *self.columns)


def write_compared(database: Database, query: exp.Select, path: Path) -> None:
    """Write what `ComparedColumns.query` selects of a side into a new DuckDB file, to be read beside the other side's.

    Parameters
    ----------
    database
        Where the rows can be read.
    path
        The file, in a private folder.
    """
    database.write_file(path, {_ROW: query.sql("duckdb")})


def count_differences(
    columns: ComparedColumns, left: Path, right: Path, database: Database, *, each_column: bool
) -> Differences:
    """Count the keys of two files of `write_compared`, in a database of their own. Private."""
    sides = []
    for side, path in (("left_side", left), ("right_side", right)):
        database.execute(f"ATTACH {exp.Literal.string(str(path)).sql('duckdb')} AS {side} (READ_ONLY)")
        sides.append(exp.table_(_ROW, db="main", catalog=side))
    return columns.count(database, sides[0], sides[1], each_column=each_column)


def _once(left: TableSchema, right: TableSchema, names: Iterable[str], what: str) -> list[tuple[str, str]]:
    """Return each pair of columns that is named, as both tables spell them; refuse one that is named twice."""
    found = [_spelled(left, right, name, what) for name in names]
    for side, place in (("left", 0), ("right", 1)):
        own = [pair[place] for pair in found]
        twice = next((name for at, name in enumerate(own) if name in own[:at]), None)
        if twice is not None:
            raise ParameterError(f"{what}: column {twice!r} of the {side} table is named twice")
    return found


def _spelled(left: TableSchema, right: TableSchema, name: str, what: str) -> tuple[str, str]:
    """Return the column of either table that a text names: one name for both, or `left=right`."""
    places = [place for place, sign in enumerate(name) if sign == "="]
    halves = [(name[:place].strip(), name[place + 1 :].strip()) for place in places]
    if not halves or _has(left, name):
        halves = [(name, name)]
    known = [(mine, theirs) for mine, theirs in halves if _has(left, mine) and _has(right, theirs)]
    if len(known) > 1:
        raise ParameterError(f"{what}: {name!r} may be read in two ways, as names of columns have '=': rename one")
    [(mine, theirs)] = known or halves[:1]
    return (
        resolve_column(mine, left, f"{what}: left table"),
        resolve_column(theirs, right, f"{what}: right table"),
    )


def _has(schema: TableSchema, name: str) -> bool:
    return name in schema.names or [each.casefold() for each in schema.names].count(name.casefold()) == 1


def _pair(one: Column, other: Column, what: str) -> ComparedColumn:
    advice = "leave it out: name those to compare (--columns, columns=)" if what == "columns" else "name another key"
    for each in (one, other):
        if each.type is None or each.type in _BLURRED:
            why = "whose values are not compared" if each.type is None else "in which different values are equal"
            raise ParameterError(f"{what}: {each.name!r} has type {each.declared_type}, {why}; {advice}")
    assert one.type is not None
    assert other.type is not None
    kinds = one.type, other.type
    kind = _exact_type(*kinds)
    if kind is None:
        untyped = next(((side, each) for side, each in (("left", one), ("right", other)) if each.is_untyped), None)
        remedy = "give both one type"
        if untyped is not None:
            side, column = untyped
            advised = typing_advice(column).replace("--schema", f"--{side}-schema")
            remedy = advised.replace("(csv_schema=", f"({side}_csv_schema=")
        raise ParameterError(
            f"{what}: {_named(one, other)} is {type_words(one.type)} on the left and {type_words(other.type)} on the "
            f"right, which are not compared, because not all of their values have exact counterparts{_such_as(kinds)}; "
            f"{remedy}, or {advice}"
        )
    return ComparedColumn(one, other, kind)


def _named(one: Column, other: Column) -> str:
    return repr(one.name) if one.name.casefold() == other.name.casefold() else f"{one.name!r} beside {other.name!r}"


def _such_as(kinds: tuple[str, str]) -> str:
    """Name values of two types that a cast would take for one another."""
    if any(equality_type(kind) == "VARCHAR" for kind in kinds):
        return " ('1' is not 1)"
    if all(kind in MOMENTS for kind in kinds):
        return " (a time without a zone is another moment in each zone)"
    return " (as DOUBLE 2^53 + 1 is 2^53)" if common_type(*kinds) == "DOUBLE" else ""


def _exact_type(one: str, other: str) -> str | None:
    """Return the type in which all values of two types are what they are; None if there is none."""
    kind = common_type(one, other)
    if kind is None or one == other:
        return kind
    if kind == "DOUBLE" and not (one in _FLOATS and other in _FLOATS):
        return None
    if one in MOMENTS and other in MOMENTS and (one in _ZONED) != (other in _ZONED):
        return None
    return kind
