"""Columns that are text until the owner gives them a type: cells of CSV files, and names of folders."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import pyarrow as pa
from sqlglot import exp, tokenize

from dpdb.database import Database
from dpdb.errors import SourceError
from dpdb.schema import comparison_type, free_name

__all__ = ["UNTYPED", "column_definition", "declared_types", "has_ordered_categories", "named_columns", "typed"]


# Where columns have no type of their own.
UNTYPED = "of CSV, JSON-lines and Excel files, and keys of folders (year=2024/)"
_WITH_NAN = ("FLOAT", "DOUBLE")


def declared_types(
    database: Database, place: str, columns: Collection[str], types: Mapping[str, str]
) -> dict[str, str]:
    """Return the types that the owner declares for text columns, in DuckDB's spelling.

    Parameters
    ----------
    database
        Its parser reads the types.
    place
        What messages call the source.
    columns
        Columns without a type.
    types
        SQL types by column name.

    Raises
    ------
    SourceError
        If a declared column is none of `columns`, or its type is no SQL type that constraints can compare.
    """
    unknown = sorted(set(types) - set(columns))
    if unknown and not columns:
        raise SourceError(f"{place}: a schema applies to columns without a type: {UNTYPED}")
    if unknown:
        raise SourceError(f"{place}: the schema names {unknown[0]!r}, which is no column without a type (header line)")
    kinds = {}
    for name, declared in types.items():
        try:
            kind = database.describe(exp.select(exp.cast(exp.null(), declared, dialect="duckdb")))[0][1]
        except Exception:
            kind = ""
        if comparison_type(kind) is None:
            raise SourceError(f"{place}: column {name!r}: {declared!r} is not a SQL type that constraints can compare")
        kinds[name] = kind
    return kinds


def column_definition(name: str, kind: str) -> str:
    """Write a column and its type as a schema option reads them: words of SQL, and odd names, in quotes."""
    words = tokenize(name, dialect="duckdb") if name.isidentifier() and name.isascii() else []
    plain = len(words) == 1 and words[0].token_type.name == "VAR"
    return f"{exp.to_identifier(name, quoted=not plain).sql('duckdb')} {kind}"


def typed(text: exp.Expr, kind: str | None) -> exp.Expr:
    """Convert a text to a declared type. What does not convert is NULL: one row can neither fail nor change another.

    So is NaN, however it is spelled: in text it stands for a number that is missing, as an empty cell does. This is the
    one place that says so; `dpdb schema` counts with it, too.
    """
    if kind is None:
        return text
    value = exp.TryCast(this=text, to=exp.DataType.build(kind, dialect="duckdb"))
    if kind not in _WITH_NAN:
        return value
    nan = exp.cast(exp.Literal.string("NaN"), kind, dialect="duckdb")
    return exp.Nullif(this=value, expression=nan)  # to the engine NaN equals NaN


def named_columns(names: Sequence[str], keys: Sequence[str] = ()) -> tuple[str, ...]:
    """Name the columns whose cell in a header line is empty, or blank: `column0`, `column1`, ..., by their places.

    Where another column, or a key of folders, has that name, up to case, underscores follow until none has. Names
    alone decide, which are public.
    """
    taken = [*(name for name in names if name.strip()), *keys]
    return tuple(name if name.strip() else free_name(f"column{at}", taken) for at, name in enumerate(names))


def has_ordered_categories(kind: pa.DataType) -> bool:
    """Say whether Arrow calls values ordered. Which order that is stands in the rows, so it is not known."""
    return bool(pa.types.is_dictionary(kind) and kind.ordered)
