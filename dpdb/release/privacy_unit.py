"""The unit that neighbouring tables differ by: one row, the rows of one person, or all rows of one value of a column.

Every mechanism runs at epsilon / k, k being the rows by which one unit can change what is read (group privacy).

With `unit` and `max_rows`, a session reads a table T(D) that has at most k rows of each unit, chosen by values of the
unit's own rows (`dpdb.engine.unit_rows`). Let D' be D without one unit and all its rows: T(D') is T(D) without at most
k rows, so epsilon / k for each row is epsilon for the unit. That is the neighbouring relation of the guarantee.

Two changes that it does not name: adding, removing or rewriting one row of a unit that stays lets at most one row out
of T and one in, which costs at most 2 epsilon / k (2 epsilon when k is 1); replacing all rows of a unit that stays is
one unit removed and one added, 2 epsilon.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from dpdb.engine import TableSchema, unit_column
from dpdb.errors import ParameterError

__all__ = ["PrivacyUnit", "parse_unit"]


@dataclass(frozen=True)
class PrivacyUnit:
    """A unit of privacy.

    Attributes
    ----------
    rows : int
        By how many rows one unit changes what is read, at most.
    column : str or None
        The column whose values are the units; None if units are rows, or `rows` rows of one person.
    parents : tuple of (str, str)
        Private parents, each with its column that has the same values: a unit has all such rows, too. See
        `dpdb.release.private_parents`.
    """

    rows: int = 1
    column: str | None = None
    parents: tuple[tuple[str, str], ...] = ()

    @property
    def words(self) -> str:
        """The unit in words: what is added or removed between neighbouring tables."""
        if self.column is not None:
            beside = "".join(f", and with all rows of {parent} that have it in {name}" for parent, name in self.parents)
            return f"one value of {self.column} with all its rows, of which at most {self.rows} are used{beside}"
        return "one row" if self.rows == 1 else f"up to {self.rows} rows of one person"

    @property
    def public(self) -> dict[str, object]:
        """The unit as part of a request; a unit without column reads as it did before there were columns."""
        named = {} if self.column is None else {"unit": self.column}
        return {"rows_per_person": self.rows, **named, **({"private_parents": self.parents} if self.parents else {})}

    @property
    def bound(self) -> str | None:
        """The columns that a ledger is bound to; None if units are rows."""
        if self.column is None:
            return None
        return " and ".join([self.column, *(f"{parent}.{name}" for parent, name in self.parents)])

    def estimand(self, words: str) -> str:
        """Add to an estimand what the unit leaves out: it is a number of the rows that are kept."""
        if self.column is None:
            return words
        return f"{words}, using at most {self.rows} rows per value of {self.column} and none where it is NULL"

    def in_schema(self, schema: TableSchema) -> PrivacyUnit:
        """Return the unit with its column as the table spells it. Errors as `unit_column`."""
        return self if self.column is None else replace(self, column=unit_column(self.column, schema))


def parse_unit(rows_per_person: object, unit: object, max_rows: object) -> PrivacyUnit:
    """Check the parameters that name a unit; none of them is read from data.

    Raises
    ------
    ParameterError
        If a number is not a whole number of at least 1, only one of `unit` and `max_rows` is given, or `unit` comes
        together with `rows_per_person`.
    """
    rows = _count("rows_per_person", rows_per_person)
    if unit is None and max_rows is None:
        return PrivacyUnit(rows)
    if unit is None or max_rows is None:
        raise ParameterError("unit= and max_rows= go together: a column, and how many rows of each value are used")
    if not isinstance(unit, str) or not unit:
        raise ParameterError(f"unit must be the name of a column, got {unit!r}")
    if rows != 1:
        raise ParameterError("unit= and rows_per_person= exclude each other: max_rows= says how many rows a unit has")
    return PrivacyUnit(_count("max_rows", max_rows), unit)


def _count(name: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ParameterError(f"{name} must be a whole number of at least 1, got {value!r}")
    return value
