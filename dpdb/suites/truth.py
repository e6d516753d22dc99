"""`ExactCheck`: the true statistic of a check beside its limit. For the owner only: nothing here is private."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from dpdb.release import Key, PrivateSlices
from dpdb.suites.check import CheckRun
from dpdb.suites.counted import CheckedLimit
from dpdb.suites.result import COVER


@dataclass(frozen=True)
class ExactCheck:
    """The truth of one limit of one check. Not private.

    Attributes
    ----------
    name, rule, statistic : str
        As in `CheckResult`. Of a `fractional cover` the fewest rows to delete are `value` to twice that.
    verdict : str
        ``pass`` or ``fail``; ``not shown`` where a cover is within its limit, and twice the cover is not.
    rows : int or None
        The rows that a share is of; None where the limit is no share.
    share : float or None
        `value` of `rows`; None without rows.
    key : str or None
        The slice, if there are several.
    """

    name: str
    rule: str
    statistic: str
    verdict: Literal["pass", "fail", "not shown"]
    value: float
    rows: int | None
    share: float | None
    limit: str
    severity: Literal["warn", "fail"]
    key: str | None = None


def exact_checks(run: CheckRun, slices: PrivateSlices) -> Iterator[ExactCheck]:
    """Give the truth of every limit of a prepared run, slice after slice, in the suite's statistics. Not private."""
    run.counted.load()
    keys: Sequence[Key | None] = run.slices.keys or (None,)
    for key, predicate in zip(keys, run.slices.predicates, strict=True):
        counts = run.counted.counts(slices, predicate)
        for each, (count, rows) in zip(run.counted.limits, counts, strict=True):
            line = run.counted.suite.lines[each.line]
            is_share = each.limit.unit != "rows"
            yield ExactCheck(
                name=each.tested.name,
                rule=line.text,
                statistic=COVER if each.tested.halves else line.statistic,
                verdict=_verdict(each, count, rows),
                value=float(count) if count.denominator > 1 else int(count),
                rows=rows if is_share else None,
                share=float(count / rows) if is_share and rows else None,
                limit=each.limit.written(line.statistic),
                severity=each.limit.severity,
                key=None if key is None else str(key),
            )


def _verdict(each: CheckedLimit, count: Fraction, rows: int) -> Literal["pass", "fail", "not shown"]:
    """Return whether a count is beyond its limit; for a fractional cover, whether twice it might be."""
    limit = each.limit.amount * (1 if each.limit.unit == "rows" else rows)
    if count < limit if each.limit.direction == "below" else count > limit:
        return "fail"
    return "not shown" if each.tested.halves and 2 * count > limit else "pass"
