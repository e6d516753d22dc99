"""Filters of the page: radio buttons and style rules, no script; a browser without `:has()` shows everything."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dpdb.doors.reports.series import Series
from dpdb.doors.reports.words import rule_name
from dpdb.release import words_of

__all__ = ["Filters"]

# Of each choice what it is called; None is a word of ours, which a slice or a rule may be called, too.
_GROUPS: tuple[tuple[str, str, Callable[[Series], str | None], str], ...] = (
    ("Table", "t", lambda series: series.latest.job, ""),
    ("Measure", "m", lambda series: words_of(series.latest.release).heading, ""),
    ("Slice", "w", lambda series: series.latest.where, "whole table"),
    ("Rule", "r", lambda series: rule_name(series.latest.release) or None, "all rules together"),
)


class Filters:
    """The filters of a page: table, measure, slice and rule, each if there are several.

    Parameters
    ----------
    series
        All series of the page.
    jobs
        All tables of the page, also those without series.
    """

    def __init__(self, series: Sequence[Series], jobs: Sequence[str] = ()) -> None:
        found = [(*group, list(dict.fromkeys(map(group[2], series)))) for group in _GROUPS]
        found[0][-1].extend(job for job in jobs if job not in found[0][-1])
        self._groups = [group for group in found if len(group[-1]) > 1]

    @property
    def groups(self) -> list[tuple[str, str, list[str]]]:
        """Return title, letter and names of the choices of each group; empty if there is nothing to choose."""
        return [
            (title, letter, ["all", *(ours if choice is None else choice for choice in choices)])
            for title, letter, _, ours, choices in self._groups
        ]

    def classes(self, series: Series) -> str:
        """Return the names of classes by which the style rules find the elements of a series."""
        numbers = (f" {letter}{choices.index(of(series)) + 1}" for _, letter, of, _, choices in self._groups)
        return f"series{''.join(numbers)}"

    def job_class(self, job: str) -> str:
        """Return the name of the class of a table's section; empty if there is only one table."""
        return next((f"t{choices.index(job) + 1}" for _, letter, _, _, choices in self._groups if letter == "t"), "")

    @property
    def rules(self) -> str:
        """Return the style rules: a choice hides all other elements."""
        return "".join(
            f"main:has(#{letter}{number}:checked) :is(.series{',section.job' if letter == 't' else ''})"
            f":not(.{letter}{number}){{display:none}}"
            for _, letter, _, _, choices in self._groups
            for number in range(1, len(choices) + 1)
        )
