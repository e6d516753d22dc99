"""Slices by a long public list of keys: the keys as values of a column, and their rows counted by one GROUP BY."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyarrow as pa
from sqlglot import exp

from dpdb.constraints import shortened
from dpdb.database import Database
from dpdb.engine.sql.input_rows import copied_columns
from dpdb.engine.sql.where import WherePredicate
from dpdb.errors import ParameterError
from dpdb.names import is_encodable
from dpdb.predicates import is_enum
from dpdb.sources import Rows

_WHOLE = frozenset(
    f"{sign}{name}" for sign in ("", "U") for name in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
)
_WRITTEN = {
    **dict.fromkeys(_WHOLE, re.compile(r"[+-]?[0-9]{1,40}")),
    "DATE": re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}"),
    "UUID": re.compile(r"[0-9a-fA-F-]{32,36}"),
    "VARCHAR": re.compile(r".*", re.DOTALL),
}
_DECIMAL = re.compile(r"DECIMAL\([0-9]+,\s*([0-9]+)\)")
_KEYS = "listed_key"


def listed_keys(database: Database, keys: Sequence[str], column: str, column_type: str) -> list[str]:
    """Return keys as their column shows them, one text for each value. Reads no row of the table.

    Raises
    ------
    ParameterError
        If a key is no value of the column, two are the same value, or the column's type has no list of this kind.
    """
    written = _written(column_type)
    if written is None:
        raise ParameterError(
            "a long list of keys is of texts, categories, whole and decimal numbers, dates or UUIDs, and "
            f"{column!r} is {column_type}; give its keys one by one (--keys)"
        )
    wrong = (place for place, key in enumerate(keys) if not (written.fullmatch(key) and is_encodable(key)))
    place = next(wrong, None)
    if place is not None:
        raise _no_value(keys, place, column, column_type)
    value = f"TRY_CAST(key AS {column_type})"
    with database.arrow_table(_KEYS, _table(keys)):
        lost = database.rows(f"SELECT min(place) FROM {_KEYS} WHERE {value} IS NULL")[0][0]
        if lost is not None:
            raise _no_value(keys, int(lost), column, column_type)
        same = database.rows(
            f"SELECT min(place), max(place) FROM {_KEYS} GROUP BY {value} HAVING count(*) > 1 ORDER BY 1 LIMIT 1"
        )
        if same:
            first, second = (int(each) for each in same[0])
            raise ParameterError(
                f"keys {first + 1} and {second + 1} of the list, {shortened(keys[first])} and "
                f"{shortened(keys[second])}, are the same value of {column!r}"
            )
        return [str(text) for (text,) in database.rows(f"SELECT CAST({value} AS VARCHAR) FROM {_KEYS} ORDER BY place")]


def _written(column_type: str) -> re.Pattern[str] | None:
    """Return how keys of a type are written, of which a value loses nothing; None for a type without such a list."""
    if is_enum(column_type):
        return _WRITTEN["VARCHAR"]
    if decimal := _DECIMAL.fullmatch(column_type):
        return re.compile(rf"[+-]?[0-9]{{1,40}}(\.[0-9]{{0,{int(decimal[1])}}}0*)?")
    return _WRITTEN.get(column_type)


def _no_value(keys: Sequence[str], place: int, column: str, column_type: str) -> ParameterError:
    return ParameterError(
        f"key {place + 1} of the list, {shortened(keys[place])}, is not a value of {column!r} ({column_type})"
    )


def _table(keys: Sequence[str]) -> pa.Table:
    return pa.table({"place": pa.array(range(len(keys)), pa.int64()), "key": pa.array(keys, pa.string())})


def count_keys(
    database: Database, source: Rows, where: WherePredicate | None, column: str, keys: Sequence[str], *, name: str
) -> list[int]:
    """Count the rows of each key, in the order of the list, by one GROUP BY over one scan. Private.

    Sensitivity: a row has one value in the column, so one more row changes one of the counts by 1, or none of them:
    keys are different values (`listed_keys`), and a row without a value, or with another, is of no key.

    Parameters
    ----------
    where
        Which rows are counted; None counts all.
    keys
        As `listed_keys` returns them.
    """
    columns = {column, *(where.columns if where is not None else ())}
    kind = source.schema[column].type
    chosen = "" if where is None else f"WHERE {where.condition.sql('duckdb')}"
    value = exp.column(column, quoted=True).sql("duckdb")
    counts = [0] * len(keys)
    with copied_columns(database, source, columns, name=name) as table, database.arrow_table(_KEYS, _table(keys)):
        grouped = f"SELECT {value} AS key, count(*) AS size FROM {table.sql('duckdb')} {chosen} GROUP BY {value}"
        listed = f"SELECT place, CAST(key AS {kind}) AS key FROM {_KEYS}"
        joined = f"SELECT place, size FROM ({grouped}) AS grouped JOIN ({listed}) AS listed USING (key)"
        for place, size in database.rows(joined):
            counts[place] = int(size)
    return counts
