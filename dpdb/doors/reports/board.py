"""Boards: the verdicts of one suite of one job, by check and day; and what the last run of each diagnosis named.

The picture of the bounds of named slices is inline SVG: no script, nothing loaded.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import groupby

from dpdb.diagnosis import bounds_words, rule_words
from dpdb.doors.jobs.results import DiagnosisRow, VerdictRow
from dpdb.names import in_html, short_names
from dpdb.release import population_words
from dpdb.suites import CheckResult, how_many, limit_words, populations

_MOST_DAYS = 62
_SAID = {"ok": "passed", "fail": "failed", "warn": "warned", "unsure": "not shown", "open": "undecided"}


@dataclass(frozen=True)
class Board:
    """What a suite has found.

    Attributes
    ----------
    last : tuple of VerdictRow
        The rows of its last run, in the order of the suite.
    days : tuple of date
        The days of its runs, newest first.
    lines : tuple of Line
        For each check its row of each of those days, from the day's last run: what failed first, then what changed
        since the day before, then what is not shown or undecided, then the others, each in the order of the suite.
    more : int
        How many earlier days are left out.
    """

    last: tuple[VerdictRow, ...]
    days: tuple[date, ...]
    lines: tuple[Line, ...]
    more: int

    @property
    def populations(self) -> list[str]:
        """Of which rows the checks of the last run are, in sentences; none if they are of all rows."""
        return populations(row.check.population for row in self.last)

    @property
    def months(self) -> list[tuple[str, int]]:
        """The months of the days, each with their number."""
        return [(month, len(list(days))) for month, days in groupby(f"{day:%Y-%m}" for day in self.days)]

    @property
    def counts(self) -> list[tuple[str, str]]:
        """How many checks of each kind the last run has, in words, the worst first."""
        kinds = [cell_kind(row.check) for row in self.last]
        signs = {"fail": "bad", "open": "undecided", "unsure": "undecided", "warn": "warned", "ok": "good"}
        return [(sign, f"{kinds.count(kind):,} {_SAID[kind]}") for kind, sign in signs.items() if kind in kinds]


@dataclass(frozen=True)
class Line:
    """One check by days, newest first.

    Attributes
    ----------
    short : str
        The name of the check and its slice, cut where it is long; no other line of the board has it.
    """

    rows: tuple[VerdictRow | None, ...]
    short: str = ""

    @property
    def found(self) -> list[VerdictRow]:
        """Its rows, newest first; at least one."""
        return [row for row in self.rows if row is not None]

    @property
    def name(self) -> str:
        """The name of the check and its slice, in full."""
        check = self.found[0].check
        return check.name if check.key is None else f"{check.name} [{check.key}]"

    @property
    def changed(self) -> bool:
        """Whether the verdict of its last day is another one than that before."""
        kinds = [cell_kind(row.check) for row in self.found[:2]]
        return len(set(kinds)) > 1

    @property
    def rank(self) -> tuple[int, ...]:
        """By which lines are ordered: see `Board.lines`."""
        if self.rows[0] is None:
            return (len(_RANKS), 1)
        kind = _RANKS.index(cell_kind(self.rows[0].check))
        return (kind, not self.changed) if kind == 0 else (1, not self.changed, kind)

    @property
    def bounds(self) -> str:
        """The bounds of its days as a small picture, oldest first, with its limit as a line; empty for one day."""
        return bounds_picture([row.check for row in reversed(self.found)])


_RANKS = ("fail", "open", "unsure", "warn", "ok")
_LONGEST_NAME = 48
_BAR, _BARS, _TALL = 4, 40, 22


def bounds_picture(checks: Sequence[CheckResult]) -> str:
    """Return the bounds of a check over time as inline SVG: a bar a day, the limit as a line; escaped, no script.

    A share has bounds of what is above that share of the rows, so its line is 0. A side that is not known is open: the
    bar reaches the picture's end. Empty where no two days have bounds.
    """
    known = [check for check in checks if check.upper is not None or check.lower][-_BARS:]
    if len(known) < 2:
        return ""
    lines = [check.limit if check.unit == "rows" else 0.0 for check in known]
    ends = [end for check in known for end in (check.lower, check.upper) if end is not None]
    low, high = min(0.0, *lines, *ends), max(1.0, *lines, *ends) * 1.1

    def y(value: float) -> float:
        return _TALL - (value - low) / (high - low) * _TALL

    bars = "".join(
        f'<rect class="interval" x="{_BAR * place}" width="{_BAR - 1}" y="{y(top):.1f}" '
        f'height="{max(1.0, y(bottom) - y(top)):.1f}"/>'
        for place, check in enumerate(known)
        for top, bottom in [(high if check.upper is None else check.upper, low if check.lower is None else check.lower)]
    )
    line = "".join(f"{'M' if k == 0 else 'L'}{_BAR * k} {y(v):.1f}h{_BAR}" for k, v in enumerate(lines))
    said = f"bounds of {len(known)} days, the last: {how_many(known[-1])}"
    return (
        f'<svg class="chart bounds" viewBox="0 0 {_BAR * len(known)} {_TALL}" width="{_BAR * len(known)}" '
        f'height="{_TALL}" role="img" aria-label="{in_html(said)}">{bars}<path class="gate" d="{line}"/></svg>'
    )


def boards_of(verdicts: Iterable[VerdictRow]) -> list[Board]:
    """Return a board for each suite of a job, in the order of their names."""
    suites: dict[str, list[VerdictRow]] = {}
    for row in verdicts:
        suites.setdefault(row.suite, []).append(row)
    return [_board(rows) for _, rows in sorted(suites.items())]


def _board(rows: Sequence[VerdictRow]) -> Board:
    last_run: dict[date, VerdictRow] = {}
    for row in rows:
        newest = last_run.get(row.day)
        if newest is None or row.time >= newest.time:
            last_run[row.day] = row
    of_day = {day: {_key(row): row for row in rows if row.run_id == last.run_id} for day, last in last_run.items()}
    days = sorted(of_day, reverse=True)
    shown = days[:_MOST_DAYS]
    keys = dict.fromkeys(key for day in shown for key in of_day[day])
    found = [_dated([of_day[day].get(key) for day in days], len(shown)) for key in keys]
    short = short_names([line.name for line in found], _LONGEST_NAME)
    lines = tuple(replace(line, short=short[line.name]) for line in sorted(found, key=lambda line: line.rank))
    last = sorted(of_day[days[0]].values(), key=lambda row: row.place)
    return Board(tuple(last), tuple(shown), lines, len(days) - len(shown))


def _dated(rows: Sequence[VerdictRow | None], shown: int) -> Line:
    """Return the line of a check, newest day first; a failure that stands is of the day whose data it was seen in.

    A ledger knows when the run was made, which may be long after that day.
    """
    failed: date | None = None
    dated: list[VerdictRow | None] = []
    for row in reversed(rows):
        stands = row is not None and row.check.since is not None and failed is not None
        if row is not None and row.check.verdict == "fail" and row.check.since is None:
            failed = row.day
        dated.append(replace(row, check=replace(row.check, since=f"{failed}")) if row is not None and stands else row)
    return Line(tuple(dated[::-1][:shown]))


def _key(row: VerdictRow) -> tuple[str, str, str | None]:
    of_any = replace(row.check, population=None)  # a kept suite's line goes on when its rows are named
    return row.check.name, limit_words(of_any), row.check.key


def cell_kind(check: CheckResult) -> str:
    """Return `ok`, `fail`, `warn` (a warning that is due), `unsure` (not shown) or `open` (undecided)."""
    if check.verdict == "fail":
        return "fail" if check.fails else "warn"
    return {"pass": "ok", "not shown": "unsure"}.get(check.verdict, "open")


def cell_words(check: CheckResult) -> str:
    """Return a verdict with its bounds."""
    return how_many(check) if check.since is not None else f"{_SAID[cell_kind(check)]}, {how_many(check)}"


_WIDTH, _LEFT, _RIGHT, _LINE = 640, 200, 24, 26
_LONGEST = 26
_MOST = 30


@dataclass(frozen=True)
class Named:
    """The rows of the last run of one diagnosis; at least one."""

    found: tuple[DiagnosisRow, ...]

    @property
    def last(self) -> DiagnosisRow:
        """A row, for what holds for all of them."""
        return self.found[0]

    @property
    def rows(self) -> list[DiagnosisRow]:
        """The named slices; none where only a rule was asked for."""
        return [row for row in self.found if row.key is not None]

    @property
    def first(self) -> str:
        """The slice that was named first."""
        one = self.last
        column, key = (one.by_column, one.key) if one.worst_key is None else (one.worst_column, one.worst_key)
        return f"{column} = {key}"

    @property
    def notes(self) -> list[str]:
        """What the bounds are of, and what else was named."""
        one, notes = self.last, []
        if one.by_column is not None:
            notes.append(bounds_words(one.by_column, one.slices, one.confidence, one.expected, one.statistic))
        if one.rule is not None and one.rule_lower is not None and one.rule_upper is not None:
            notes.append(rule_words(one.rule, one.rule_lower, one.rule_upper, one.statistic))
        return notes + population_words(one.population)

    @property
    def picture(self) -> str:
        """The bounds of the named slices as bars over one axis that has 0; escaped."""
        rows = self.rows[:_MOST]
        low, high = min(0.0, *(row.lower or 0 for row in rows)), max(1.0, *(row.upper or 0 for row in rows))
        height = _LINE * len(rows) + _LINE

        def place(value: float) -> float:
            return _LEFT + (value - low) / (high - low) * (_WIDTH - _LEFT - _RIGHT)

        parts = [
            f'<svg class="chart" style="max-width:44rem" viewBox="0 0 {_WIDTH} {height}" role="img" '
            'aria-label="Bounds of what was counted of the named slices; the table below has them">',
            f'<line class="grid" x1="{place(0):.1f}" x2="{place(0):.1f}" y1="0" y2="{height - _LINE}"/>',
        ]
        for position, row in enumerate(rows):
            y, lower, upper = _LINE * position + _LINE / 2, row.lower or 0, row.upper or 0
            name = f"{row.by_column} = {row.key}"
            short = name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}\N{HORIZONTAL ELLIPSIS}"
            parts.append(
                f"<g><title>{in_html(f'{name}: {lower:,.12g} to {upper:,.12g}')}</title>"
                f'<text x="{_LEFT - 10}" y="{y + 4:.1f}" text-anchor="end">{in_html(short)}</text>'
                f'<rect class="interval" x="{place(lower):.1f}" y="{y - 6:.1f}" height="12" rx="3" '
                f'width="{max(2.0, place(upper) - place(lower)):.1f}"/></g>'
            )
        ends = dict.fromkeys((low, 0.0, high))
        marks = (
            f'<text class="mark" x="{place(end):.1f}" y="{height - 8}" text-anchor="middle">{end:,.12g}</text>'
            for end in ends
        )
        return "".join([*parts, *marks, "</svg>"])


def named_of(rows: Iterable[DiagnosisRow]) -> list[Named]:
    """Return what the last run of each diagnosis of a job named, by name; rows come by day and run."""
    runs: dict[str, dict[str, list[DiagnosisRow]]] = {}
    for row in rows:
        runs.setdefault(row.diagnosis, {}).setdefault(row.run, []).append(row)
    last = ((name, [*of_name.values()][-1]) for name, of_name in sorted(runs.items()))
    return [Named(tuple(sorted(found, key=lambda row: row.place))) for _, found in last]
