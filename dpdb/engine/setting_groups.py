"""Groups of a table's settings: the protected change, public sizes, limits of the machine; how doors write them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from dpdb.errors import ParameterError

__all__ = [
    "EVERY_ROW",
    "NO_LIMITS",
    "NO_SIZES",
    "MachineLimits",
    "ProtectedChange",
    "PublicSizes",
    "Setting",
    "SettingKind",
    "written",
]

# How a setting is written; each door knows its own form of a kind (TOML values, words of a command line).
SettingKind: TypeAlias = Literal["text", "character", "whole", "folder", "types", "parents", "constraints"]
# Rows are numbered with 32 bits; more would not fit a ledger's line or a query, and say no more.
_MOST_ROWS = 2**32 - 1


@dataclass(frozen=True)
class Setting:
    """How doors write a setting.

    Attributes
    ----------
    kind : str
    letter, words : str
        What stands for the value in the help of a command, and the help itself.
    key : str
        Its name in files and, with dashes, on command lines; empty where that is its name in Python.
    is_harmless : bool
        Whether a settings file that was merely found may set it.
    default : object
        What it is if it is not given.
    """

    kind: SettingKind
    letter: str
    words: str
    key: str = ""
    is_harmless: bool = False
    default: object = None


def written(kind: SettingKind, letter: str, words: str, **more: Any) -> dict[str, Setting]:
    """Return the metadata of a field that is a setting; see `Setting`.

    Parameters
    ----------
    kind, letter, words, **more
        Fields of `Setting`.
    """
    return {"setting": Setting(kind, letter, words, **more)}


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _count(name: str, value: int) -> None:
    if not _is_count(value):
        raise ParameterError(f"{name} must be a whole number of at least 1, got {value!r}")
    if value > _MOST_ROWS:
        raise ParameterError(f"{name} must be at most {_MOST_ROWS:,}")  # the number may be too long to print


@dataclass(frozen=True)
class ProtectedChange:
    """What neighbouring tables differ by: one row, the rows of one person, or all rows of one value of a column.

    Attributes
    ----------
    rows_per_person : int
        At most this many rows belong to one person; every mechanism then runs at epsilon / rows_per_person.
    unit, max_rows : str and int, optional
        A column whose values own the rows: of each value at most `max_rows` rows are used (of NULL none), and releases
        are epsilon-DP for adding or removing one value with all its rows; see `dpdb.release.units.privacy_unit`.
    max_children : int, optional
        Beside private parents a row of either table is the unit, and at most so many rows of each key that refers to
        them are used (all rows where it is NULL); see `dpdb.release.units.limited_children` for what that costs.

    Raises
    ------
    ParameterError
        If a number is not a whole number from 1 to 2^32 - 1, only one of `unit` and `max_rows` is given, or `unit`
        comes together with `rows_per_person` or `max_children`.
    """

    rows_per_person: int = field(default=1, metadata=written("whole", "K", "at most K rows belong to one person (1)"))
    unit: str | None = field(
        default=None, metadata=written("text", "COLUMN", "protect each value of COLUMN with all its rows")
    )
    max_rows: int | None = field(
        default=None, metadata=written("whole", "K", "rows used of each value of the --unit column")
    )
    max_children: int | None = field(
        default=None,
        metadata=written(
            "whole",
            "K",
            "beside private parents protect single rows of either table, using K rows of each key that refers to them",
        ),
    )

    def __post_init__(self) -> None:
        _count("rows_per_person", self.rows_per_person)
        if self.max_children is not None:
            self._check_children(self.max_children)
        elif self.unit is not None or self.max_rows is not None:
            self._check_unit()

    @property
    def most(self) -> int:
        """How many rows of each value of the unit's column are used; 1 where there is none."""
        return 1 if self.max_rows is None else self.max_rows

    def _check_unit(self) -> None:
        if self.unit is None or self.max_rows is None:
            raise ParameterError("unit= and max_rows= go together: a column, and how many rows of each value are used")
        if not isinstance(self.unit, str) or not self.unit:
            raise ParameterError(f"unit must be the name of a column, got {self.unit!r}")
        if self.rows_per_person != 1:
            raise ParameterError(
                "unit= and rows_per_person= exclude each other: max_rows= says how many rows a unit has"
            )
        _count("max_rows", self.max_rows)

    def _check_children(self, most: int) -> None:
        _count("max_children", most)
        if self.unit is not None or self.max_rows is not None:
            raise ParameterError(
                "max_children= and unit= exclude each other: either a row is the unit, and at most max_children rows "
                "of each key are used, or a key is, with max_rows="
            )
        _count("rows_per_person times max_children", self.rows_per_person * most)


EVERY_ROW = ProtectedChange()


@dataclass(frozen=True)
class PublicSizes:
    """The owner's public words on sizes. None of them is compared with rows.

    Attributes
    ----------
    row_bound : int, optional
        Public bound of the number of rows. Admits constraints that can only be checked row against row.
    max_group : int, optional
        No group of rows with a common left-hand side has more rows (without an equality: the table has not). Mechanism
        `two_sided` then spends nothing on a bound; a wrong one costs the upper end, never privacy.
    gather_rows : int, optional
        Of a table in another engine (Spark, PostgreSQL): a guess of the rows in conflict, which come to this machine
        for every measure. It sizes disk space.

    Raises
    ------
    ParameterError
        If a number is not a whole number of at least 1, or `max_group` above 2^32 - 1.
    """

    row_bound: int | None = field(default=None, metadata=written("whole", "N", "public bound of the number of rows"))
    max_group: int | None = field(
        default=None,
        metadata=written("whole", "N", "public bound of the rows that share a left-hand side; never checked"),
    )
    gather_rows: int | None = field(
        default=None,
        metadata=written(
            "whole", "N", "public guess of the rows in conflict that come from another engine; never checked"
        ),
    )

    def __post_init__(self) -> None:
        for name in ("row_bound", "gather_rows"):
            value = getattr(self, name)
            if value is not None and not _is_count(value):
                raise ParameterError(f"{name} must be a whole number of at least 1, got {value!r}")
        if self.max_group is not None and not (_is_count(self.max_group) and self.max_group <= _MOST_ROWS):
            raise ParameterError(f"max_group must be a whole number from 1 to {_MOST_ROWS:,}, got {self.max_group!r}")


NO_SIZES = PublicSizes()


@dataclass(frozen=True)
class MachineLimits:
    """Limits of the private database, which checks them; see `Database`."""

    memory_limit: str | None = field(default=None, metadata=written("text", "SIZE", "such as 1GB; more spills to disk"))
    temp_directory: str | Path | None = field(
        default=None, metadata=written("folder", "DIR", "where a private directory for spilled data is made")
    )
    threads: int | None = field(default=None, metadata=written("whole", "N", "of the database"))


NO_LIMITS = MachineLimits()
