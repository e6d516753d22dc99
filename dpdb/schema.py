"""The schema of a table: public input, fixed before any row is looked at."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum

from dpdb.errors import SourceError
from dpdb.predicates import LONGEST_ENUM, enum_values, is_enum

_MOST_COLUMNS = 10_000
_INTEGERS = (
    "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT",
    "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT",
)  # fmt: skip
_KEPT = {
    *_INTEGERS, "FLOAT", "DOUBLE", "BOOLEAN", "VARCHAR", "BLOB", "BIT", "UUID", "DATE", "TIME", "TIME WITH TIME ZONE",
    "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE",
    "TIMESTAMPTZ_NS", "INTERVAL",
}  # fmt: skip

PRESENCE = "BOOLEAN"
"""The type of a column whose values cannot be compared, where a rule asks if they are NULL: NULL, else true."""


class TypeOrigin(Enum):
    """The origin of a column's type: who says what it is."""

    SOURCE = "the source"
    DECLARED = "the owner, in a schema option"
    TEXT_CELLS = "nobody: cells of a CSV file, and names of folders, are text"
    OBJECTS = "nobody: Python objects of a data frame are read as text"
    CATEGORIES = "the source, which says that it has categories and not in which order"


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name as the table spells it, its declared DuckDB type, who declares it, and if it may be NULL.

    `nullable` is what is declared (`NOT NULL`), never what rows hold.

    Attributes
    ----------
    type : str or None
        The type in which dpdb stores and compares the column, or None if it compares no such values.
    is_untyped : bool
        True if it is text only because nobody has said what it is.
    has_lost_order : bool
        True if it is text of categories, of which the source does not say which is above which.
    """

    name: str
    declared_type: str
    origin: TypeOrigin = TypeOrigin.SOURCE
    nullable: bool = True
    type: str | None = field(init=False, repr=False, compare=False)
    is_untyped: bool = field(init=False, repr=False, compare=False)
    has_lost_order: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        kind = comparison_type(self.declared_type)
        lost = kind == "VARCHAR" and self.declared_type != kind and is_enum(self.declared_type)
        object.__setattr__(self, "type", kind)
        object.__setattr__(self, "is_untyped", self.origin in (TypeOrigin.TEXT_CELLS, TypeOrigin.OBJECTS))
        object.__setattr__(self, "has_lost_order", lost or self.origin is TypeOrigin.CATEGORIES)


def comparison_type(declared: str) -> str | None:
    """Map a declared DuckDB type to the one dpdb compares in.

    Enumerations are ordered by the places of their values; one too long to compute with is text, and its order refused
    (`Column.has_lost_order`). JSON is text, compared by code point; nested types are not compared at all.
    """
    if declared in _KEPT or declared.startswith("DECIMAL("):
        return declared
    if is_enum(declared):
        return declared if len(declared) <= LONGEST_ENUM and enum_values(declared) else "VARCHAR"
    return "VARCHAR" if declared == "JSON" else None


@dataclass(frozen=True)
class TableSchema:
    """The columns of a table, in its order.

    Raises
    ------
    SourceError
        If there is no column, or two columns have one name (upper and lower case are the same in SQL).
    """

    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        if not self.columns:
            raise SourceError("the table has no columns")
        refuse_duplicate_names(column.name for column in self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """The column names as the table spells them."""
        return tuple(column.name for column in self.columns)

    @property
    def usable(self) -> tuple[str, ...]:
        """The names of the columns that dpdb can compare; no other is ever read."""
        return tuple(column.name for column in self.columns if column.type is not None)

    def __getitem__(self, name: str) -> Column:
        return next(column for column in self.columns if column.name == name)


def refuse_duplicate_names(names: Iterable[str]) -> None:
    """Raise `SourceError` if two names are equal up to case, or there are more than 10,000."""
    seen: dict[str, str] = {}
    for name in names:
        if len(seen) == _MOST_COLUMNS:
            raise SourceError(f"a table has at most {_MOST_COLUMNS:,} columns; give those that the constraints name")
        twin = seen.get(name.casefold())
        if twin is not None:
            what = (
                f"column {name!r} occurs twice"
                if twin == name
                else f"columns {twin!r} and {name!r} differ only in case"
            )
            raise SourceError(f"{what}; SQL cannot tell them apart: rename one")
        seen[name.casefold()] = name


def free_name(wanted: str, taken: Sequence[str]) -> str:
    """Return `wanted`, with underscores until no column has that name."""
    used = {name.casefold() for name in taken}
    while wanted.casefold() in used:
        wanted += "_"
    return wanted
