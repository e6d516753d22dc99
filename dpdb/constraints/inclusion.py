"""`Inclusion`: the condition that another table, the parent, lacks a row's values of some columns. A foreign key.

A row with NULL among these values does not satisfy it: as in SQL it violates nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from dpdb.constraints.across import Across
from dpdb.names import quoted_name

__all__ = ["Inclusion"]


@dataclass(frozen=True, slots=True)
class Inclusion(Across):
    """The condition over one tuple that no row of a parent (that counts) has its values: the tuple is an orphan."""

    @property
    def target(self) -> str:
        """The parent with its columns, as it is written in a constraint."""
        if len(self.columns) == 1:
            return f"{self.table}.{quoted_name(self.parent_columns[0])}"
        return f"{self.table}({', '.join(map(quoted_name, self.parent_columns))})"

    def written(self, before: str = "") -> str:
        """Return the text of the condition, with `before` (such as ``t1.``) before each column of the tuple."""
        return f"{self._key(before)} NOT IN {self.target}{self._among_parent()}"

    @property
    def rule(self) -> str:
        """The text of the constraint that forbids it, without what stands behind WHERE."""
        return f"{self._key('')} IN {self.target}"

    @property
    def words(self) -> str:
        """The constraint that forbids it, for readers."""
        return f"every {self._key('')} must be found in {self.target}"
