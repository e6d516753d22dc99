"""Verdicts in words, as every door says them."""

from __future__ import annotations

from dpdb.suites.result import CheckResult

__all__ = ["check_words", "how_many", "limit_words", "verdict_words"]


def verdict_words(check: CheckResult) -> str:
    """Return the verdict in a word: `pass`, `FAIL`, `WARN` or `undecided`."""
    failed = "FAIL" if check.severity == "fail" else "WARN"
    return {"pass": "pass", "fail": failed, "undecided": "undecided"}[check.verdict]


def limit_words(check: CheckResult) -> str:
    """Return severity and limit, as a suite's file has them."""
    if check.unit == "rows":
        return f"{check.severity} {check.direction} {check.limit:,g}"
    of = "" if check.unit == "share" else " of non-null"
    return f"{check.severity} {check.direction} {100 * check.limit:g}%{of}"


def how_many(check: CheckResult) -> str:
    """Return the bounds of a check's statistic in words."""
    if check.since is not None:
        return f"failed on {check.since[:10]}, not re-armed"
    return _rows(check) if check.unit == "rows" else _share_and_rows(check)


def check_words(check: CheckResult) -> str:
    """Return a check with its verdict, bounds and limit in one line."""
    said = {"FAIL": "failed", "WARN": "warns", "pass": "passed"}.get(verdict_words(check), "undecided")
    where = "" if check.key is None else f" [{check.key}]"
    return f"check {said}: {check.name}{where}: {how_many(check)} ({limit_words(check)})"


def _rows(check: CheckResult) -> str:
    lower, upper = check.lower, check.upper
    what = {"rows in duplicates": " rows in duplicates", "duplicate values": " duplicate values"}
    unit = what.get(check.statistic, " rows")
    if lower is not None and lower > 0 and upper is not None:
        return f"{lower:,g} to {upper:,g}{unit}"
    if upper is not None:
        return f"at most {upper:,g}{unit}"
    return f"at least {lower:,g}{unit}" if lower else "not known"


def _share_and_rows(check: CheckResult) -> str:
    lower, upper, share = check.lower, check.upper, f"{100 * check.limit:g}%"
    if upper is None:
        return "not known"
    if check.verdict != "fail":
        return f"at most {share}{_and_rows(upper)}"
    return f"{share} and {max(lower or 0, 0):,g} to {upper:,g} rows more"


def _and_rows(rows: float) -> str:
    return f" and {rows:,g} rows more" if rows > 0 else f" less {-rows:,g} rows" if rows < 0 else ""
