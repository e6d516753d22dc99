"""Verdicts in words, as every door says them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from math import ceil, floor

from dpdb.suites.result import CheckResult

__all__ = [
    "WHERE_IT_IS", "check_words", "counts_words", "how_many", "limit_words", "spoken", "undecided_words",
    "verdict_words",
]  # fmt: skip

_FEW = 10**5
_DECIMALS = 6  # of bounds at most, so that none is rounded away because floats are binary
_SAID = {"pass": "passed", "WARN": "warned", "FAIL": "failed", "undecided": "undecided"}

_COMMAND = "dpdb diagnose SOURCE --constraints SUITE --by COLUMN --keys V,V --epsilon E"
WHERE_IT_IS = f"Where it is: `{_COMMAND}` names the dirtiest slices."
"""After a failed check."""


def verdict_words(check: CheckResult) -> str:
    """Return the verdict in a word: `pass`, `FAIL`, `WARN` or `undecided`."""
    failed = "FAIL" if check.severity == "fail" else "WARN"
    return {"pass": "pass", "fail": failed, "undecided": "undecided"}[check.verdict]


def counts_words(checks: Sequence[CheckResult]) -> str:
    """Return how many checks there are and how many have each verdict: `3 checks: 2 passed, 1 warned`."""
    found = Counter(map(verdict_words, checks))
    counts = [f"{found[verdict]} {said}" for verdict, said in _SAID.items() if found[verdict]]
    return f"{len(checks)} check{'s' * (len(checks) != 1)}: {', '.join(counts)}"


def undecided_words(checks: Sequence[CheckResult]) -> str | None:
    """Return how many checks are undecided and why; None if none is."""
    undecided = sum(check.verdict == "undecided" for check in checks)
    if undecided == 0:
        return None
    failed = sum(check.verdict == "fail" for check in checks)
    failures, them = f"{failed} failure{'s' * (failed != 1)}", "it" if undecided == 1 else "them"
    return (
        f"{undecided} undecided, which may fail or pass: the {failures} found before left too little epsilon to test "
        f"{them} to the end."
    )


def limit_words(check: CheckResult) -> str:
    """Return severity and limit, as a suite's file has them."""
    if check.unit == "rows":
        return f"{check.severity} {check.direction} {check.limit:,.0f}"
    of = check.unit.removeprefix("share")
    return f"{check.severity} {check.direction} {100 * check.limit:g}%{of}"


def how_many(check: CheckResult) -> str:
    """Return the bounds of a check's statistic in words."""
    if check.since is not None:
        return f"failed on {check.since[:10]}, not re-armed"
    if check.upper is None and not check.lower:
        return "not known"
    return _rows(check) if check.unit == "rows" else _share(check)


def check_words(check: CheckResult) -> str:
    """Return a check with its verdict, bounds and limit in one line."""
    said = {**_SAID, "WARN": "warns"}[verdict_words(check)]
    where = "" if check.key is None else f" [{check.key}]"
    return f"check {said}: {check.name}{where}: {how_many(check)} ({limit_words(check)})"


def spoken(checks: Iterable[CheckResult]) -> list[dict[str, str]]:
    """Return for each check its name, verdict, bounds and limit in words, for pages that show them."""
    return [
        {
            "name": check.name if check.key is None else f"{check.name} [{check.key}]",
            "rule": check.rule,
            "verdict": verdict_words(check),
            "how_many": how_many(check),
            "limit": limit_words(check),
        }
        for check in checks
    ]


def _rows(check: CheckResult) -> str:
    what = check.statistic if check.statistic in ("rows in duplicates", "duplicate values", "units") else "rows"
    if check.upper is None:
        return f"at least {_number(check.lower or 0, floor)} {what}"
    return f"{f'{_number(check.lower, floor)} to' if check.lower else 'at most'} {_number(check.upper, ceil)} {what}"


def _share(check: CheckResult) -> str:
    """A share is not released: only how many rows there are above the limit's share of the rows."""
    share, lower, upper = f"{100 * check.limit:g}%", check.lower, check.upper
    what = "units" if check.statistic == "units" else "rows"
    if lower is not None and lower >= 0 and upper is not None:
        return f"{_number(lower, floor)} to {_number(upper, ceil)} {what} above {share}"
    if upper is None:
        return f"at least {_number(lower or 0, floor)} {what} above {share}"
    return f"at most {share}" + (
        f" and {_number(upper, ceil)} {what}" if upper > 0 else f" less {_number(-upper, floor)} {what}"
    )


def _number(value: float, away: Callable[[float], int]) -> str:
    """Return a bound with at most one decimal, which is all that is useful, rounded away from the statistic."""
    if abs(value) >= _FEW:
        return f"{away(value):,}"
    return f"{away(round(10 * value, _DECIMALS)) / 10:,g}"
