"""The unit that neighbouring tables differ by: one row, the rows of one person, or all rows of one value of a column.

Beside private parents it is a value of their key in both tables (`dpdb.release.units.private_parents`), or one row of
either table (`dpdb.release.units.limited_children`).

Every mechanism runs at epsilon / k, k being the rows by which one unit can change what is read (group privacy).

With `unit` and `max_rows`, a session reads a table T(D) that has at most k rows of each unit, chosen by values of the
unit's own rows (`dpdb.engine.unit_rows`). Let D' be D without one unit and all its rows: T(D') is T(D) without at most
k rows, so epsilon / k for each row is epsilon for the unit. That is the neighbouring relation of the guarantee.

Two changes that it does not name: adding, removing or rewriting one row of a unit that stays lets at most one row out
of T and one in, which costs at most 2 epsilon / k (2 epsilon when k is 1); replacing all rows of a unit that stays is
one unit removed and one added, 2 epsilon.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dpdb.constraints import DenialConstraint
from dpdb.engine import ProtectedChange, unit_column
from dpdb.schema import TableSchema

if TYPE_CHECKING:
    from dpdb.release.units.limited_children import LimitedChildren

__all__ = ["PrivacyUnit", "unit_of"]


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
        `dpdb.release.units.private_parents`.
    children : LimitedChildren or None
        The limit of children where a row stays the unit beside private parents; then `rows` is for any release.
    """

    rows: int = 1
    column: str | None = None
    parents: tuple[tuple[str, str], ...] = ()
    children: LimitedChildren | None = None

    @property
    def max_children(self) -> int | None:
        """How many children of each key are used; None if all are, or if units are values of a column."""
        return None if self.children is None else self.children.most

    def divisor(self, constraints: Sequence[DenialConstraint] = ()) -> int:
        """Return the divisor of epsilon for each row of a release that measures some constraints (none: of a count)."""
        return self.rows if self.children is None else self.children.divisor(constraints)

    @property
    def words(self) -> str:
        """The unit in words: what is added or removed between neighbouring tables."""
        if self.column is not None:
            beside = "".join(f", and with all rows of {parent} that have it in {name}" for parent, name in self.parents)
            return f"one value of {self.column} with all its rows, of which at most {self.rows} are used{beside}"
        if self.children is not None:
            return self.children.unit_words
        return "one row" if self.rows == 1 else f"up to {self.rows} rows of one person"

    @property
    def public(self) -> dict[str, object]:
        """The unit as part of a request; without a column it is written as in older versions, which had no columns."""
        named: dict[str, object] = {} if self.column is None else {"unit": self.column}
        if self.children is not None and self.children.links:
            named = {"max_children": self.children.most}
        return {"rows_per_person": self.rows, **named, **({"private_parents": self.parents} if self.parents else {})}

    @property
    def bound(self) -> str | None:
        """The unit in words that a ledger is bound to: columns or keys with limited children; None for rows."""
        if self.children is not None:
            return self.children.bound
        if self.column is None:
            return None
        return " and ".join([self.column, *(f"{parent}.{name}" for parent, name in self.parents)])

    def estimand(self, words: str) -> str:
        """Add to an estimand that it is of the rows that the unit's limit keeps."""
        if self.children is not None:
            return words + self.children.estimand_words
        if self.column is None:
            return words
        return f"{words}, using at most {self.rows} rows per value of {self.column} and none where it is NULL"

    def in_schema(self, schema: TableSchema) -> PrivacyUnit:
        """Return the unit with its column as the table spells it. Errors as `unit_column`."""
        return self if self.column is None else replace(self, column=unit_column(self.column, schema))


def unit_of(change: ProtectedChange) -> PrivacyUnit:
    """Return the unit of a protected change, before a table is known."""
    if change.max_children is not None:
        from dpdb.release.units.limited_children import LimitedChildren  # few tables have private parents

        rows = change.rows_per_person
        return PrivacyUnit(rows, children=LimitedChildren(change.max_children, rows))
    return PrivacyUnit(change.rows_per_person if change.unit is None else change.most, change.unit)
