"""What a diagnosis publishes, as fields; `Diagnosis` adds what can be done with them."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["DiagnosisFields", "NamedRule", "NamedSlice"]


@dataclass(frozen=True)
class NamedSlice:
    """One of the dirtiest slices.

    Attributes
    ----------
    column, key : str
        The slice.
    lower, upper : float
        Bounds of its rows to delete, or of what these are more than the expected share of its rows. All slices of the
        column, named or not, are within bounds of this width with the diagnosis's confidence.
    """

    column: str
    key: str
    lower: float
    upper: float


@dataclass(frozen=True)
class NamedRule:
    """The rule with the most rows to delete.

    Attributes
    ----------
    rule : str
    lower, upper : float
        Bounds of its rows to delete beyond those of the rule with the next most.
    """

    rule: str
    lower: float
    upper: float


@dataclass(frozen=True)
class DiagnosisFields:
    """Where the dirt of a table is. Public: names, bounds and cost.

    Attributes
    ----------
    named : tuple of NamedSlice
        The dirtiest slices of one column, the dirtiest first.
    slices : int
        How many were compared in that column.
    worst : (column, key) or None
        Where several columns were asked, the slice that was named among all; `named` are of its column.
    rule : NamedRule or None
        The rule that was named, if it was asked for.
    columns : tuple of str
        Those that were asked.
    statistic : str
        ``"fewest deletions"``, or ``"fractional cover"``: at least half of the fewest deletions, and at most all.
    expected : str or None
        The share of rows beyond which dirt was counted.
    epsilon, confidence : float
    run_id : str
    guarantee : str
    """

    named: tuple[NamedSlice, ...]
    slices: int
    worst: tuple[str, str] | None
    rule: NamedRule | None
    columns: tuple[str, ...]
    statistic: str
    expected: str | None
    epsilon: float
    confidence: float
    run_id: str | None
    guarantee: str
