"""The words of the page itself: gates, budgets and constraints as sentences; `dpdb.release` has all others."""

from __future__ import annotations

from dpdb.constraints import describe, parse_constraint
from dpdb.doors.jobs.results import ResultRow
from dpdb.errors import DpdbError
from dpdb.release import GateResult, Release, bounds_words, is_within_noise, missing_words, number_words

__all__ = [
    "budget_words",
    "constraint_words",
    "gate_words",
    "latest_words",
    "rule_name",
    "text_name",
    "warning_words",
]


def latest_words(release: Release) -> str:
    """Return the interval, and a warning if the noise is larger than the value, or conflicts may be missing."""
    noisy = "; the value is smaller than its noise" if is_within_noise(release) else ""
    missing = missing_words(release)
    return bounds_words(release) + noisy + (f"; {missing}" if missing else "")


def gate_words(row: ResultRow) -> str:
    """Return the gate and the certainty of its result; empty without a gate."""
    if row.gate_threshold is None:
        return ""
    result = GateResult(row.release, row.gate_threshold)
    threshold = number_words(row.gate_threshold, row.release.quantity)
    return f"at most {threshold}; {result.certainty}"


def warning_words(row: ResultRow) -> str:
    """Return the warning's threshold and the certainty of its result; empty without a warning."""
    if row.warn_threshold is None:
        return ""
    result = GateResult(row.release, row.warn_threshold, warns=True)
    return f"above {number_words(row.warn_threshold, row.release.quantity)}; {result.certainty}"


def budget_words(parameter: str, spent: float, budget: float, remaining: float) -> str:
    """Say how much was spent and how much is left.

    Parameters
    ----------
    parameter
        Name of the ledger's parameter, such as epsilon.
    spent, budget, remaining
        Amounts in that parameter.
    """
    return f"{parameter} {spent:.6g} of {budget:.6g} spent, {remaining:.6g} left for releases of the whole table"


def constraint_words(text: str) -> str | None:
    """Return a constraint in words; None if this version of dpdb cannot read it."""
    try:
        return "; ".join(describe(constraint) for constraint in parse_constraint(text))
    except DpdbError:
        return None


def rule_name(release: Release) -> str | None:
    """Return the name or text of a release's one rule; None if all rules were measured together."""
    text = release.shown_constraint
    return None if text is None or release.constraint is None else text_name(text) or text


def text_name(text: str) -> str | None:
    """Return the name in the text of a rule; None if it has none, or this version of dpdb cannot read it."""
    try:
        return parse_constraint(text)[0].name
    except DpdbError:
        return None
