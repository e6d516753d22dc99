"""The verdicts of a suite as a table with notes below it, and its plan."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpdb.suites import CheckResult, CheckResults, CheckRun

__all__ = ["checks_text", "plan_text"]

_HEADS = ("verdict", "check", "how many", "limit")
_SHORTEST = 60


def checks_text(results: CheckResults) -> str:
    """Return one line a check, in the order of the file, and what holds for all of them."""
    return "\n".join([*_table(results), *_notes(results)]) + "\n"


def _table(results: CheckResults) -> Iterator[str]:
    slices = any(check.key is not None for check in results)
    heads = (*_HEADS[:2], *(["slice"] if slices else []), *_HEADS[2:])
    rows = [heads, *(_cells(check, slices) for check in results)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _cells(check: CheckResult, slices: bool) -> tuple[str, ...]:
    name = check.name if len(check.name) <= _SHORTEST else f"{check.name[: _SHORTEST - 3]}..."
    limit = f"{check.severity} {check.direction} {_limit(check)}"
    return (_verdict(check), name, *([str(check.key)] if slices else []), how_many(check), limit)


def _verdict(check: CheckResult) -> str:
    failed = "FAIL" if check.severity == "fail" else "WARN"
    return {"pass": "pass", "fail": failed, "undecided": "undecided"}[check.verdict]


def how_many(check: CheckResult) -> str:
    """Return the bounds of a check's statistic in words."""
    if check.since is not None:
        return f"failed on {check.since[:10]}, not re-armed"
    if check.upper is None and not check.lower:
        return "not known"
    return _rows(check) if check.unit == "rows" else _share(check)


def _rows(check: CheckResult) -> str:
    what = check.statistic if check.statistic in ("rows in duplicates", "duplicate values") else "rows"
    if check.upper is None:
        return f"at least {number(check.lower or 0)} {what}"
    return f"{f'{number(check.lower)} to' if check.lower else 'at most'} {number(check.upper)} {what}"


def _share(check: CheckResult) -> str:
    """A share is not released: only how many rows there are above the limit's share of the rows."""
    share, lower, upper = f"{100 * check.limit:g}%", check.lower, check.upper
    if lower is not None and lower >= 0 and upper is not None:
        return f"{number(lower)} to {number(upper)} rows above {share}"
    if upper is None:
        return f"at least {number(lower or 0)} rows above {share}"
    return f"at most {share}" + (f" and {number(upper)} rows" if upper > 0 else f" less {number(-upper)} rows")


def number(value: float) -> str:
    """Return a bound with at most one decimal, which is all that is useful."""
    return f"{round(value, 1):,g}" if value < 10**5 else f"{value:,.0f}"


def _limit(check: CheckResult) -> str:
    if check.unit == "rows":
        return f"{check.limit:,g}"
    return f"{100 * check.limit:g}%" + ("" if check.unit == "share" else " of non-null")


def _notes(results: CheckResults) -> Iterator[str]:
    counts = ", ".join(
        f"{results.count(verdict)} {words}"
        for verdict, words in (("pass", "passed"), ("fail", "failed"), ("undecided", "undecided"))
        if results.count(verdict)
    )
    doubt = 1 - results.confidence
    yield (
        f"{len(results)} checks: {counts}. With {100 * results.confidence:g}% none of them failed within its limit; "
        f"with {100 * (1 - 2 * doubt):g}% all numbers hold, too."
    )
    if results.name is not None:
        yield f"Kept as {results.name!r}: epsilon {results.epsilon_reserved:g} stays reserved until it is closed."
    else:
        yield f"Cost: epsilon {results.epsilon:g} of {results.epsilon_reserved:g}; the rest was not needed."
    yield f"Guarantee: {results.guarantee}."


def plan_text(prepared: CheckRun) -> str:
    """Return what a suite will be able to tell apart; public, nothing is read or spent."""
    from dpdb.suites import plan_words

    return "\n".join([*plan_words(prepared.plan), "nothing was spent"]) + "\n"
