"""What the page says: measures, gates, budgets and constraints as sentences."""

from __future__ import annotations

from dpdb.constraints import describe, parse_constraint
from dpdb.doors.jobs.results import ResultRow
from dpdb.errors import DpdbError
from dpdb.release import GateResult, Release, bounds_words, quantity_text

__all__ = [
    "budget_words",
    "constraint_words",
    "gate_words",
    "heading",
    "latest_words",
    "meaning",
    "slice_words",
]

_HEADINGS = {
    "minimal_inconsistency": ("Conflicts", "pairs of rows, or rows on their own, that break a rule"),
    "problematic": ("Rows in conflict", "rows that take part in some conflict"),
    "repair": ("Rows to delete", "at least so many rows must go, and at most twice as many"),
    "count": ("Rows", "rows in the slice"),
}


def heading(release: Release) -> str:
    """What is measured, as a heading."""
    return _HEADINGS.get(release.measure, (release.measure.replace("_", " ").capitalize(), ""))[0]


def meaning(release: Release) -> str:
    """What the number counts."""
    if release.mechanism == "greedy":
        return "rows of a cover that removes all conflicts; half as many may do"
    return _HEADINGS.get(release.measure, ("", release.estimand))[1]


def slice_words(release: Release) -> str:
    """The slice as it was asked for."""
    return release.where or "whole table"


def latest_words(release: Release) -> str:
    """The interval, and a warning where the noise is larger than the value."""
    noisy = "; the value is smaller than its noise" if release.noise_scale > release.value else ""
    return bounds_words(release) + noisy


def gate_words(row: ResultRow) -> str:
    """What the gate says and whether the threshold lies inside the noise; empty without a gate."""
    if row.gate_threshold is None:
        return ""
    result = GateResult(row.release, row.gate_threshold)
    threshold = quantity_text(row.gate_threshold, row.release.quantity)
    bound = "upper bound is not above it" if result.passed else "lower bound is above it"
    certainty = f"even the {bound}" if result.beyond_noise else "the threshold lies inside the noise"
    return f"at most {threshold}; {certainty}"


def budget_words(parameter: str, spent: float, budget: float, remaining: float) -> str:
    """What was spent and what is left."""
    return f"{parameter} {spent:.6g} of {budget:.6g} spent, {remaining:.6g} left for releases of the whole table"


def constraint_words(text: str) -> str | None:
    """A constraint in words; None if this version of dpdb cannot read it."""
    try:
        return "; ".join(describe(constraint) for constraint in parse_constraint(text))
    except DpdbError:
        return None
