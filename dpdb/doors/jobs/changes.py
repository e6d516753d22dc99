"""What changed in a suite's verdicts since the run before, in words: what stands is one line, not an alarm a day.

The run before is the last one of the same job and suite in the results: of the same day or an earlier one, and not this
run itself. So a run that is repeated says the same again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, TypeAlias

from dpdb.doors.jobs.stored import filled
from dpdb.suites import CheckResult, check_words, limit_words

CheckKey: TypeAlias = tuple[str, str, str | None]  # name, limit, slice

_STANDING = {"fail": "failed", "not shown": "not shown", "undecided": "undecided"}


@dataclass(frozen=True)
class Earlier:
    """The verdicts of an earlier run of a suite: which run, and each check's verdict by what names it."""

    run_id: str
    verdicts: Mapping[CheckKey, str] = field(default_factory=dict)


def key_of(check: CheckResult) -> CheckKey:
    """Return what names a check in another run of its suite."""
    return check.name, limit_words(check), check.key


def earlier_run(
    rows: Iterable[Mapping[str, Any]], job: str, suite: str, *, run_id: str, at: tuple[date, datetime]
) -> Earlier | None:
    """Return the run before of a suite; None if there is none.

    Parameters
    ----------
    rows
        Of the table of verdicts, with times in UTC.
    at
        Its day and its time.
    """
    others = [
        row
        for row in rows
        if (row["job"], row["suite"]) == (job, suite) and row["run_id"] != run_id and (row["day"], row["time"]) < at
    ]
    if not others:
        return None
    last = max(others, key=lambda row: (row["day"], row["time"]))
    checks: list[CheckResult] = [filled(CheckResult, row) for row in others if row["run_id"] == last["run_id"]]
    return Earlier(last["run_id"], {key_of(check): check.verdict for check in checks})


def changed_words(checks: Sequence[CheckResult], before: Earlier | None) -> Iterator[str]:
    """Give a line for each check whose verdict is new and no pass, and for each that recovered; one for what stands.

    What failed in an earlier run of a kept suite stands, too, where no run before is known.
    """
    was = {} if before is None else before.verdicts
    standing: list[CheckResult] = []
    for check in checks:
        earlier = was.get(key_of(check), "fail" if check.since is not None else None)
        if check.verdict == "pass":
            if earlier == "fail":
                yield f"recovered: {check_words(check)}"
        elif check.verdict == earlier:
            standing.append(check)
        else:
            yield f"new: {check_words(check)}" if before is not None else check_words(check)
    if standing:
        counts = {said: sum(check.verdict == verdict for check in standing) for verdict, said in _STANDING.items()}
        said = ", ".join(f"{count} {words}" for words, count in counts.items() if count)
        if any(check.since is not None for check in standing):
            said += " (what failed is not re-armed)"
        since = "" if before is None else f" since run {before.run_id}"
        yield f"unchanged{since}: {said}"
