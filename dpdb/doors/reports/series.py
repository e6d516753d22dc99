"""Series: the releases of one measure and slice over time, their comparison in words, and their chart as inline SVG.

A dot per release, its interval as a bar, the gate as a line. An interval without an upper bound fades towards the top
and ends in an arrow, with the words. No script, nothing loaded; colours come from the page's style sheet; hovering or a
screen reader gives each release in words.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from dpdb.doors.jobs.results import ResultRow
from dpdb.errors import ParameterError
from dpdb.names import in_html
from dpdb.release import SHARE, Release, bounds_words, missing_words, value_words

# Of four reports, each with the release before and with the first. Comparisons of a series overlap, so all reports of
# seven runs on unchanged rows are quiet together with nearly that confidence, too: 95.9% for 95%, 94.6% with six.
COMPARISONS = 8


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
        change = now.change(then, 1 - (1 - confidence) / COMPARISONS)
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


_FAR_FROM_ZERO = 0.6
_SMALLEST = 1e-6
_SHORTEST = 0.01  # of an axis, as a share of its values: labels of 4 digits stay different


@dataclass(frozen=True)
class Axis:
    """From `low` to `high`, with marks at round numbers."""

    low: float
    high: float
    ticks: tuple[float, ...]

    def place(self, value: float) -> float:
        """Return where a value lies, from 0 (low) to 1 (high)."""
        return (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)


def value_axis(lowest: float, highest: float, marks: int = 4) -> Axis:
    """Return an axis from 0, or from a round number below the values where 0 would press them all together.

    Parameters
    ----------
    lowest, highest
        The range of values that the axis must show.
    marks
        Number of steps to aim for; round numbers may make fewer.
    """
    highest = highest if highest > _SMALLEST else 1.0
    start = lowest if lowest > _FAR_FROM_ZERO * highest else 0.0
    span = max(highest - start, _SHORTEST * highest)
    step = _round_step(span / marks)
    low = max(0.0, math.floor((start - 0.1 * span) / step) * step) if start else 0.0
    count = max(1, math.ceil((highest - low) / step))
    while low + step * count < highest:  # by a rounding error
        count += 1
    ticks = tuple(low + step * number for number in range(count + 1))
    return Axis(low, ticks[-1], ticks)


def _round_step(step: float) -> float:
    power = 10.0 ** math.floor(math.log10(step))
    return next(power * factor for factor in (1, 2, 5, 10) if step <= power * factor * 1.0000001)


def compact(value: float, *, share: bool = False) -> str:
    """Return a number of an axis as text: 15,000, 250k, 1.2M; 5% for a share."""
    if share:
        return f"{value * 100:.4g}%"
    for size, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= max(size, 1e5):
            return f"{value / size:.5g}{suffix}"
    return f"{value:,.4g}" if value < 1000 else f"{value:,.0f}"


def time_labels(times: Sequence[datetime], most: int = 4) -> list[tuple[float, str]]:
    """Return the marks of a time axis: places from 0 to 1 with dates, or with hours if all lie within a day."""
    first, last = min(times), max(times)
    length = (last - first).total_seconds()
    if not length:
        return [(0.5, f"{first:%Y-%m-%d}")]
    days = length / 86400
    pattern = "%Y-%m-%d" if days > 1 else "%H:%M"
    marks = min(most, len(times), max(2, int(days) + 1) if days > 1 else most)
    places = [number / (marks - 1) for number in range(marks)]
    return [(place, f"{first + (last - first) * place:{pattern}}") for place in places]


_WIDTH, _HEIGHT = 440, 200
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 430, 26, 172
_WIDEST = 14.0
_THIN = 6  # width of a bar where there are many
_ROOM_ABOVE_GATE = 1.1
_FARTHEST_GATE = 2  # times the highest value: a farther gate would press the values together

# Once per page: the fading of intervals that are open above.
DEFINITIONS = (
    '<svg class="definitions" aria-hidden="true"><defs><linearGradient id="open" x1="0" y1="0" x2="0" y2="1">'
    '<stop offset="0" class="fade-end"/><stop offset=".6" class="fade-start"/></linearGradient></defs></svg>'
)


def series_chart(series: Series, title: str) -> str:
    """Draw one series; `title` names it to a screen reader."""
    rows = series.rows
    axis = _axis(rows)
    places = _places(rows)
    share = rows[-1].release.quantity == SHARE
    width = _bar_width(places)
    parts = [_grid(axis, share), _time_axis(rows), _changed(rows, places), _line(rows, places, axis)]
    parts += [_release(row, x, axis, width) for row, x in zip(rows, places, strict=True)]
    parts.append(_gate(rows, places, axis, share))
    if any(row.release.upper is None for row in rows):
        parts.append(f'<text class="open-words" x="{_RIGHT}" y="12" text-anchor="end">no upper bound &#8593;</text>')
    if axis.low > 0:
        note = f"axis starts at {in_html(compact(axis.low, share=share))}"
        parts.append(f'<text class="axis" x="{_RIGHT}" y="{_BOTTOM - 6}" text-anchor="end">{note}</text>')
    return (
        f'<svg class="chart" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{in_html(title)}">'
        f"{''.join(parts)}</svg>"
    )


def budget_bar(spent: float, budget: float, words: str) -> str:
    """Draw the spent share of a budget.

    Parameters
    ----------
    budget
        The whole budget, in the same parameter.
    """
    share = min(1.0, spent / budget) if budget > 0 else 1.0
    return (
        f'<svg class="budget" viewBox="0 0 {_WIDTH} 16" preserveAspectRatio="none" role="img" '
        f'aria-label="{in_html(words)}"><rect class="left" width="{_WIDTH}" height="16"/>'
        f'<rect class="spent" width="{_WIDTH * share:.1f}" height="16"/></svg>'
    )


def _axis(rows: tuple[ResultRow, ...]) -> Axis:
    highest = [row.release.upper for row in rows if row.release.upper is not None]
    # Without an upper bound, the noise scale gives the height of the axis.
    highest += [row.release.value + row.release.noise_scale for row in rows if row.release.upper is None]
    highest += [row.release.estimate_upper for row in rows if row.release.estimate_upper is not None]
    low, high = min(row.release.lower for row in rows), max([row.release.value for row in rows] + highest)
    gates = [row.gate_threshold for row in rows if row.gate_threshold is not None]
    near = [gate for gate in gates if low - (high - low) <= gate <= _FARTHEST_GATE * high]
    return value_axis(min([low, *near]), max([high, *(gate * _ROOM_ABOVE_GATE for gate in near)]))


def _places(rows: tuple[ResultRow, ...]) -> list[float]:
    first, length = rows[0].date, (rows[-1].date - rows[0].date).total_seconds()
    inset = 10
    span = _RIGHT - _LEFT - 2 * inset
    return [_LEFT + inset + span * ((row.date - first).total_seconds() / length if length else 0.5) for row in rows]


def _bar_width(places: list[float]) -> float:
    """Return a width that is narrow enough to keep neighbours apart, and wide enough to be seen."""
    nearest = min((later - place for place, later in pairwise(places) if later > place), default=_WIDEST)
    return max(1.5, min(_WIDEST, 0.6 * (_RIGHT - _LEFT) / len(places), max(3.0, 0.8 * nearest)))


def _y(axis: Axis, value: float) -> float:
    return _BOTTOM - (_BOTTOM - _TOP) * axis.place(value)


def _grid(axis: Axis, share: bool) -> str:
    return "".join(
        f'<line class="grid" x1="{_LEFT}" y1="{_y(axis, tick):.1f}" x2="{_RIGHT}" y2="{_y(axis, tick):.1f}"/>'
        f'<text class="axis" x="{_LEFT - 6}" y="{_y(axis, tick) + 4:.1f}" text-anchor="end">'
        f"{in_html(compact(tick, share=share))}</text>"
        for tick in axis.ticks
    )


def _time_axis(rows: tuple[ResultRow, ...]) -> str:
    inset = 10
    span = _RIGHT - _LEFT - 2 * inset
    words = []
    for place, label in time_labels([row.date for row in rows]):
        anchor = "start" if place < 0.01 else "end" if place > 0.99 else "middle"
        x = _LEFT + inset + span * place + {"start": -inset, "end": inset, "middle": 0}[anchor]
        words.append(f'<text class="axis" x="{x:.1f}" y="{_BOTTOM + 20}" text-anchor="{anchor}">{label}</text>')
    return "".join(words)


def _line(rows: tuple[ResultRow, ...], places: list[float], axis: Axis) -> str:
    """Draw a faint line through the values, broken where releases are not comparable."""
    path = ""
    for number, (row, x) in enumerate(zip(rows, places, strict=True)):
        joined = number and comparable(row.release, rows[number - 1].release)
        path += f"{'L' if joined else 'M'}{x:.1f} {_y(axis, row.release.value):.1f}"
    return f'<path class="through" d="{path}"/>'


def _gate(rows: tuple[ResultRow, ...], places: list[float], axis: Axis, share: bool) -> str:
    """Draw the gate as a line that steps where it was changed, up to the plot's edges; only name a far gate."""
    known = [(x, row.gate_threshold) for row, x in zip(rows, places, strict=True) if row.gate_threshold is not None]
    if not known:
        return ""
    path, drawn = "", False
    for number, (x, threshold) in enumerate(known):
        before, drawn = drawn, axis.low <= threshold <= axis.high
        if not drawn:
            continue
        start = _LEFT if number == 0 else x
        end = known[number + 1][0] if number + 1 < len(known) else _RIGHT
        path += f"{'L' if before else 'M'}{start:.1f} {_y(axis, threshold):.1f}H{end:.1f}"
    latest = known[-1][1]
    place = "" if axis.low <= latest <= axis.high else f", {'above' if latest > axis.high else 'below'} this chart"
    label = f"gate: at most {in_html(compact(latest, share=share))}{place}"
    line = f'<path class="gate" d="{path}"/>' if path else ""
    return f'{line}<text class="gate-words" x="{_LEFT}" y="12">{label}</text>'


def _changed(rows: tuple[ResultRow, ...], places: list[float]) -> str:
    """Draw a mark between releases that are not comparable."""
    marks = ""
    for number in range(1, len(rows)):
        if not comparable(rows[number].release, rows[number - 1].release):
            x = (places[number] + places[number - 1]) / 2
            marks += (
                f'<line class="changed" x1="{x:.1f}" y1="{_TOP}" x2="{x:.1f}" y2="{_BOTTOM}">'
                "<title>the constraints or the statistic changed here</title></line>"
            )
    return marks


def _release(row: ResultRow, x: float, axis: Axis, width: float) -> str:
    release = row.release
    failed = row.gate == "failed"
    value, bottom = _y(axis, release.value), _y(axis, release.lower)
    top = _TOP if release.upper is None else _y(axis, release.upper)
    kind = "interval open" if release.upper is None else "interval"
    radius = 4.5 if width > _THIN else 2.5
    arrow = (
        f'<path class="arrow" d="M{x - 5:.1f} {_TOP + 1}L{x:.1f} {_TOP - 7}L{x + 5:.1f} {_TOP + 1}Z"/>'
        if release.upper is None and width > _THIN
        else ""
    )
    dot = (
        f'<path class="dot failed" d="M{x:.1f} {value - radius - 2:.1f}l{radius + 2} {radius + 2}l-{radius + 2} '
        f'{radius + 2}l-{radius + 2} -{radius + 2}Z"/>'
        if failed
        else f'<circle class="dot" cx="{x:.1f}" cy="{value:.1f}" r="{radius}"/>'
    )
    words = f"{row.date:%Y-%m-%d %H:%M} UTC, run {row.run_id}: {value_words(release)}, "
    words += bounds_words(release) + (f"; gate {row.gate}" if row.gate else "") + ("; warned" if row.warned else "")
    words += f"; {missing}" if (missing := missing_words(release)) else ""
    return (
        f'<g><title>{in_html(words)}</title><rect class="{kind}" x="{x - width / 2:.1f}" y="{top:.1f}" '
        f'width="{width:.1f}" height="{max(bottom - top, 1.5):.1f}" rx="{min(3.0, width / 3):.1f}"/>'
        f"{_estimate(release, x, axis, width)}{arrow}{dot}</g>"
    )


def _estimate(release: Release, x: float, axis: Axis, width: float) -> str:
    """Draw lines across an open bar: the statistic counted at this theta lies between them."""
    low, high = release.estimate_lower, release.estimate_upper
    if release.upper is not None or low is None or high is None:
        return ""
    ends = (_y(axis, low), _y(axis, high))
    path = "".join(f"M{x - width / 2:.1f} {y:.1f}h{width:.1f}" for y in ends)
    return f'<path class="estimate" d="M{x:.1f} {ends[0]:.1f}V{ends[1]:.1f}{path}"/>'
