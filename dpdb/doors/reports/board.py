"""Boards: the verdicts of one suite of one job, by check and day, the newest first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import groupby

from dpdb.doors.jobs.verdicts import VerdictRow
from dpdb.suites import CheckResult, how_many, limit_words

__all__ = ["Board", "boards_of", "cell_kind", "cell_words"]

_MOST_DAYS = 62
_SAID = {"ok": "passed", "fail": "failed", "warn": "warned", "open": "undecided"}


@dataclass(frozen=True)
class Board:
    """What a suite has found.

    Attributes
    ----------
    last : tuple of VerdictRow
        The rows of its last run, in the order of the suite.
    days : tuple of date
        The days of its runs, newest first.
    lines : tuple of tuple of (VerdictRow or None)
        For each check its row of each of those days, from the day's last run.
    more : int
        How many earlier days are left out.
    """

    last: tuple[VerdictRow, ...]
    days: tuple[date, ...]
    lines: tuple[tuple[VerdictRow | None, ...], ...]
    more: int

    @property
    def months(self) -> list[tuple[str, int]]:
        """The months of the days, each with their number."""
        return [(month, len(list(days))) for month, days in groupby(f"{day:%Y-%m}" for day in self.days)]

    @property
    def counts(self) -> list[tuple[str, str]]:
        """How many checks of each kind the last run has, in words, the worst first."""
        kinds = [cell_kind(row.check) for row in self.last]
        signs = {"fail": "bad", "open": "undecided", "warn": "warned", "ok": "good"}
        return [(sign, f"{kinds.count(kind):,} {_SAID[kind]}") for kind, sign in signs.items() if kind in kinds]


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
    lines = tuple(tuple(of_day[day].get(key) for day in shown) for key in keys)
    last = sorted(of_day[days[0]].values(), key=lambda row: row.place)
    return Board(tuple(last), tuple(shown), lines, len(days) - len(shown))


def _key(row: VerdictRow) -> tuple[str, str, str | None]:
    return row.check.name, limit_words(row.check), row.check.key


def cell_kind(check: CheckResult) -> str:
    """Return `ok`, `fail`, `warn` (a warning that is due) or `open` (undecided)."""
    if check.verdict == "fail":
        return "fail" if check.fails else "warn"
    return "ok" if check.verdict == "pass" else "open"


def cell_words(check: CheckResult) -> str:
    """Return a verdict with its bounds."""
    return how_many(check) if check.since is not None else f"{_SAID[cell_kind(check)]}, {how_many(check)}"
