"""`Inclusion`: the condition that another table, the parent, lacks a row's values of some columns. A foreign key.

A row with NULL among these values does not satisfy it: as in SQL it violates nothing. The parent's rows are no part of
a constraint; the engine reads them (`dpdb.engine.parents`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from dpdb.names import quoted_name

__all__ = ["Inclusion"]


@dataclass(frozen=True, slots=True)
class Inclusion:
    """The condition over one tuple that no row of a parent has its values: the tuple is an orphan.

    Parameters
    ----------
    columns
        The columns of the tuple.
    parent
        The name of the other table.
    parent_columns
        Its columns, each compared with the one at the same place.
    """

    columns: tuple[str, ...]
    parent: str
    parent_columns: tuple[str, ...]

    @property
    def is_condition(self) -> bool:
        """Return True: its form is that of a condition."""
        return True

    @property
    def target(self) -> str:
        """The parent with its columns, as it is written in a constraint."""
        table = ".".join(map(quoted_name, self.parent.split(".")))
        if len(self.columns) == 1:
            return f"{table}.{quoted_name(self.parent_columns[0])}"
        return f"{table}({', '.join(map(quoted_name, self.parent_columns))})"

    def written(self, before: str = "") -> str:
        """Return the text of the condition, with `before` (such as ``t1.``) before each column of the tuple."""
        return f"{self._key(before)} NOT IN {self.target}"

    @property
    def rule(self) -> str:
        """The text of the constraint that forbids it."""
        return f"{self._key('')} IN {self.target}"

    @property
    def words(self) -> str:
        """The constraint that forbids it, for readers."""
        return f"every {self._key('')} must be found in {self.target}"

    def renamed(self, names: Mapping[str, str]) -> Inclusion:
        """Return the condition with the tuple's columns renamed; `names` has every one of them."""
        return replace(self, columns=tuple(names[name] for name in self.columns))

    def _key(self, before: str) -> str:
        names = [before + quoted_name(name) for name in self.columns]
        return names[0] if len(names) == 1 else f"({', '.join(names)})"
