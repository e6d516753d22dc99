"""`Outcome`: the published result of one `[[release]]` of a run."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from dpdb.release import GateResult, Release

__all__ = ["Outcome"]


@dataclass(frozen=True)
class Outcome:
    """One `[[release]]` of a run, published: its releases and the results of its gates.

    `time` is when the run's first release was debited, the same for all of the run and its retries: the times at which
    the others were answered would tell how long private work took.
    """

    name: str
    time: datetime
    releases: tuple[Release, ...]
    gates: tuple[GateResult, ...]
