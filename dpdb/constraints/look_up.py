"""`LookUp`: the condition that some row of another table, the parent, has a row's key and breaks what a rule says.

`CHECK (visit_start <= person.death_date) BY person_id = person.person_id`: no visit after the person's death. As in
SQL's CHECK what is NULL breaks nothing; nor does a row without a key, or with one that no row of the parent has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self

from dpdb.constraints.across import Across, ConditionAcross
from dpdb.names import quoted_name

__all__ = ["LookUp"]


@dataclass(frozen=True, slots=True)
class LookUp(Across):
    """The condition over one tuple that some row of a parent (that counts) has its key, and makes `condition` false.

    Parameters
    ----------
    condition
        What the rule says of the tuple and each row of the parent with its key. It has a column of the parent.
    """

    condition: ConditionAcross = field(kw_only=True)

    @property
    def table_columns(self) -> tuple[str, ...]:
        """The tuple's columns that it reads."""
        return tuple(dict.fromkeys((*self.columns, *self.condition.own_columns)))

    @property
    def conditions(self) -> tuple[ConditionAcross, ...]:
        """What it says of rows of the parent beside their key."""
        return (self.condition,) if self.among is None else (self.among, self.condition)

    def written(self, before: str = "") -> str:
        """Return the text of the condition, with `before` (such as ``t1.``) before each column of the tuple."""
        return f"NOT ({self.condition.written(self.parent, before)}) BY {self._equal(before)}{self._among_parent()}"

    @property
    def rule(self) -> str:
        """The text of the constraint that forbids it, without what stands behind WHERE."""
        return f"CHECK ({self._checked}) BY {self._equal('')}"

    @property
    def words(self) -> str:
        """The constraint that forbids it, for readers."""
        return f"every row must satisfy {self._checked} with all rows of {self.table} that have its {self._key('')}"

    def renamed(self, names: Mapping[str, str]) -> Self:
        """Return the condition with the tuple's columns renamed; `names` has every one of them."""
        columns = tuple(names[name] for name in self.columns)
        return replace(self, columns=columns, condition=self.condition.renamed(names, {}))

    def of_parent(self, parent: str, names: Mapping[str, str]) -> Self:
        """Return the condition with the parent and its columns as it spells them."""
        spelled = Across.of_parent(self, parent, names)
        return replace(spelled, condition=self.condition.renamed({}, names))

    @property
    def _checked(self) -> str:
        return self.condition.written(self.parent)

    def _equal(self, before: str) -> str:
        pairs = zip(self.columns, self.parent_columns, strict=True)
        return " AND ".join(f"{before}{quoted_name(own)} = {self.table}.{quoted_name(their)}" for own, their in pairs)
