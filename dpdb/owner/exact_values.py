"""`ExactMeasures`: the true measures of a table. Not private."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any

__all__ = ["EXACT_MEASURES", "ExactMeasures", "RuleMeasures"]

EXACT_MEASURES = {
    "drastic": ("drastic",),
    "minimal_inconsistency": ("minimal_inconsistency",),
    "problematic": ("problematic",),
    "repair": ("repair_fractional", "repair_lower", "repair_upper"),
    "maximal_consistency": ("maximal_consistency",),
}
"""The measures by name, each with the fields that hold it."""


@dataclass(frozen=True)
class ExactMeasures:
    """True values of one slice. Private: for the owner. The fields of measures that were not requested are None.

    Attributes
    ----------
    rows : int
    self_conflicts : int
        Rows that violate a single-tuple constraint; they count once in each measure and leave the graph.
    drastic : int
        1 if there is any conflict.
    minimal_inconsistency, problematic : int
    repair_fractional : float
        tau* plus self-conflicts.
    repair_lower, repair_upper : int
        Equal where a solver proved the repair exactly.
    maximal_consistency : int or None
    max_degree : int
    reasons : dict
        For each field that is None or not proved: why.
    by_constraint : tuple of RuleMeasures, optional
        The measures of each written constraint by itself.
    measures : tuple of str
        The requested measures.
    not_of_type : dict of str to int
        For each column of text cells (CSV) with a declared type: cells that are NULL because they have no value of it.
    """

    rows: int
    self_conflicts: int
    drastic: int | None
    minimal_inconsistency: int | None
    problematic: int | None
    repair_fractional: float | None
    repair_lower: int | None
    repair_upper: int | None
    maximal_consistency: int | None
    max_degree: int
    reasons: dict[str, str] = field(default_factory=dict)
    by_constraint: tuple[RuleMeasures, ...] | None = None
    measures: tuple[str, ...] = tuple(EXACT_MEASURES)
    not_of_type: dict[str, int] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the requested fields, ready for JSON."""
        fields = asdict(replace(self, by_constraint=None))
        del fields["measures"], fields["by_constraint"]
        for name, own in EXACT_MEASURES.items():
            if name not in self.measures:
                for unasked in own:
                    del fields[unasked]
        if not self.not_of_type:
            del fields["not_of_type"]
        if self.by_constraint is not None:
            fields["by_constraint"] = [rule.to_dict() for rule in self.by_constraint]
        return fields


@dataclass(frozen=True)
class RuleMeasures:
    """True values of one constraint by itself, whatever other constraints its rows violate. Private.

    Attributes
    ----------
    constraint : str
        As it was written.
    violations : int
        Pairs of rows that violate it; of a constraint over one tuple, rows.
    measured : ExactMeasures, optional
        The requested measures.
    """

    constraint: str
    violations: int
    measured: ExactMeasures | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the requested fields, ready for JSON; `reasons` only if it is not empty."""
        fields: dict[str, Any] = {"constraint": self.constraint, "violations": self.violations}
        if self.measured is not None:
            found = self.measured.to_dict()
            fields |= {own: found[own] for name in self.measured.measures for own in EXACT_MEASURES[name]}
            fields |= {"reasons": found["reasons"]} if found["reasons"] else {}
        return fields
