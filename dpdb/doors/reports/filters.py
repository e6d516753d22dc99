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
    """What a reader may choose by: table, measure, slice and rule, each where there are several.

    Parameters
    ----------
    series
        All of the page.
    """

    def __init__(self, series: Sequence[Series]) -> None:
        found = [(*group, list(dict.fromkeys(map(group[2], series)))) for group in _GROUPS]
        self._groups = [group for group in found if len(group[-1]) > 1]

    @property
    def groups(self) -> list[tuple[str, str, list[str]]]:
        """Title, letter and names of the choices of each group; empty where there is nothing to choose."""
        return [
            (title, letter, ["all", *(ours if choice is None else choice for choice in choices)])
            for title, letter, _, ours, choices in self._groups
        ]

    def classes(self, series: Series) -> str:
        """Names of classes by which the rules find what belongs to a series."""
        numbers = (f" {letter}{choices.index(of(series)) + 1}" for _, letter, of, _, choices in self._groups)
        return f"series{''.join(numbers)}"

    def job_class(self, job: str) -> str:
        """Name of the class of a table's section; empty where there is one table."""
        return next((f"t{choices.index(job) + 1}" for _, letter, _, _, choices in self._groups if letter == "t"), "")

    @property
    def rules(self) -> str:
        """Style rules: a choice hides what it does not name."""
        return "".join(
            f"main:has(#{letter}{number}:checked) :is(.series{',section.job' if letter == 't' else ''})"
            f":not(.{letter}{number}){{display:none}}"
            for _, letter, _, _, choices in self._groups
            for number in range(1, len(choices) + 1)
        )
