"""Series: the releases of one measure and slice over time, and their comparison in words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dpdb.doors.jobs.results import ResultRow
from dpdb.errors import ParameterError
from dpdb.release import Release

__all__ = ["Series", "comparable", "series_of", "trend_words"]


# Of four reports, each with the release before and with the first. Comparisons of a series overlap, so all reports of
# seven runs on unchanged rows are quiet together with nearly that confidence, too: 95.9% for 95%, 94.6% with six.
_COMPARISONS = 8


@dataclass(frozen=True)
class Series:
    """Rows of one job, release name, measure, slice and constraint, in the order of their runs' dates; at least one."""

    rows: tuple[ResultRow, ...]

    @property
    def latest(self) -> ResultRow:
        """The newest row."""
        return self.rows[-1]

    @property
    def slice_words(self) -> str:
        """The common slice of the rows in words."""
        return self.latest.where or "whole table"


def series_of(rows: Iterable[ResultRow]) -> list[Series]:
    """Group rows, oldest first, into series: of the whole table, then of slices, then of single constraints."""
    groups: dict[tuple[object, ...], list[ResultRow]] = {}
    for row in rows:
        key = (row.job, row.release_name, row.release.measure, row.where, row.release.constraint)
        groups.setdefault((*key, row.release.quantity), []).append(row)
    found = [Series(tuple(group)) for group in groups.values()]
    return sorted(found, key=lambda one: (one.latest.release.constraint or "", one.latest.where is not None))


def comparable(one: Release, other: Release) -> bool:
    """Return whether two releases estimate the same statistic under the same constraints."""
    return (one.constraints_sha256, one.estimand) == (other.constraints_sha256, other.estimand)


def trend_words(series: Series) -> str:
    """Say how the latest release compares with the one before and with the first.

    Two releases of one statistic at one theta are compared by the interval of their difference (`Release.change`). The
    doubt that a release's confidence leaves is shared by the comparisons of four reports, so that whatever four reports
    in a row say of one series holds together with that confidence (union bound). Others are called different
    only when their intervals do not overlap: both hold together with at least 1 - (1 - c1) - (1 - c2) for confidences
    c1 and c2, and that is the certainty named.
    """
    *before, latest = series.rows
    if not before:
        return "The first release; a change needs a second one."
    previous, now = before[-1], latest.release
    last = f"the release before ({_when(previous, latest)})"
    if not comparable(now, previous.release):
        return f"Not comparable with {last}: the constraints or the statistic changed."
    alike = [row for row in before if comparable(now, row.release)]
    # A first run without an interval (`estimate_reason`, or of an older version) is none: then the first that has one.
    first = next((row for row in alike if _can_be_compared(now, row.release)), alike[0])
    compared = [(previous.release, last)]
    if first is not previous:
        compared.append((first.release, f"the first comparable one ({_when(first, latest)})"))
    found = [(_change(now, then), name) for then, name in compared]
    return " ".join(_sentence(change, found) for change in dict.fromkeys(change for change, _ in found))


def _can_be_compared(now: Release, then: Release) -> bool:
    try:
        now.change(then)
    except ParameterError:
        return False
    return True


def _when(then: ResultRow, now: ResultRow) -> str:
    return f"{then.date:%Y-%m-%d}" if then.date.date() != now.date.date() else f"{then.date:%Y-%m-%d %H:%M}"


def _change(now: Release, then: Release) -> str:
    """Tell how much, or in which direction, the statistic changed, with which certainty; or why that is unknown."""
    confidence = min(now.confidence, then.confidence)
    try:
        change = now.change(then, 1 - (1 - confidence) / _COMPARISONS)
    except ParameterError:
        return _apart(now, then)
    words = change.words
    return f"{words[0].upper()}{words[1:]} since {{since}} ({confidence * 100:.4g}% sure)."


def _apart(now: Release, then: Release) -> str:
    """Compare the intervals of the measure, for releases of different statistics."""
    sure = f"beyond the noise (at least {(now.confidence + then.confidence - 1) * 100:.4g}% sure)"
    if then.upper is not None and now.lower > then.upper:
        return f"Higher than {{since}}, {sure}."
    if now.upper is not None and now.upper < then.lower:
        return f"Lower than {{since}}, {sure}."
    if now.upper is None and then.upper is None:
        keep = "" if now.theta == then.theta else "; a job can keep the limit of conflicts per row, which differs"
        return f"Without upper bounds, a change since {{since}} cannot be told{keep}."
    return "No change since {since} that stands out from the noise."


def _sentence(change: str, found: list[tuple[str, str]]) -> str:
    return change.format(since=" or ".join(name for said, name in found if said == change))
