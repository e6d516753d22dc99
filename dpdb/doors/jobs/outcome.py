"""`Outcome`: the published result of one `[[release]]`, `[[check]]` or `[[diagnose]]` of a run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from dpdb.release import GateResult, Release

if TYPE_CHECKING:
    from dpdb.diagnosis import Diagnosis
    from dpdb.suites import CheckResults

__all__ = ["Outcome", "exit_code_of"]


@dataclass(frozen=True)
class Outcome:
    """One part of a run, published: a release with the results of its gates, a suite with its verdicts, or a diagnosis.

    `time` is when the run's first release was debited, the same for all of the run and its retries: the times at which
    the others were answered would tell how long private work took. `receipt` is a line of the job's file of receipts.
    """

    name: str
    time: datetime
    releases: tuple[Release, ...] = ()
    gates: tuple[GateResult, ...] = ()
    checks: CheckResults | None = None
    diagnosis: Diagnosis | None = None
    receipt: str | None = None


def exit_code_of(outcomes: Iterable[Outcome]) -> int:
    """Return 1 if a gate or check failed, 5 if none did and a check is undecided, else 0; warnings change nothing."""
    codes = set()
    for outcome in outcomes:
        codes |= {int(result.failed) for result in outcome.gates}
        codes |= set() if outcome.checks is None else {outcome.checks.exit_code}
    return 1 if 1 in codes else max(codes, default=0)
