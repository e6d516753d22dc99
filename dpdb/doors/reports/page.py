"""The report as one self-contained HTML page: no script, no request, every text escaped, no private number.

Everything on it comes from the results table (releases, gates, public figures of the ledger), or from a ledger's
summary and a list of constraints that the caller passes in. `page.html.jinja` is the page; this module fills it, with
the page's own words for gates, budgets and constraints.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from dpdb._version import __version__
from dpdb.constraints import DenialConstraint, describe, parse_constraint
from dpdb.doors.jobs.results import ResultRow, Results
from dpdb.doors.reports.board import Board, boards_of, cell_kind, cell_words, named_of
from dpdb.doors.reports.series import DEFINITIONS, Series, budget_bar, series_chart, series_of, trend_words
from dpdb.errors import DpdbError
from dpdb.ledger import LedgerSummary
from dpdb.names import breakable, in_html
from dpdb.release import (
    GateResult,
    Release,
    alone_words,
    bounds_words,
    constraints_digest,
    missing_words,
    noise_words,
    number_words,
    population_of,
    promise_words,
    quantity_words,
    theta_words,
    too_noisy_words,
    value_words,
    verdict_words,
    words_of,
)
from dpdb.suites import WHERE_IT_IS, limit_words


def latest_words(release: Release) -> str:
    """Return the interval, and a warning if the value is too noisy, or conflicts may be missing."""
    return "; ".join(filter(None, [bounds_words(release), too_noisy_words(release), missing_words(release)]))


def gate_words(row: ResultRow) -> str:
    """Return the gate and the certainty of its result; empty without a gate."""
    if row.gate_threshold is None:
        return ""
    result = GateResult(row.release, row.gate_threshold)
    threshold = number_words(row.gate_threshold, row.release.quantity)
    return f"at most {threshold}; {result.certainty}"


def warning_words(row: ResultRow) -> str:
    """Return the warning's threshold and the certainty of its result; empty without a warning."""
    if row.warn_threshold is None:
        return ""
    result = GateResult(row.release, row.warn_threshold, warns=True)
    return f"above {number_words(row.warn_threshold, row.release.quantity)}; {result.certainty}"


def budget_words(parameter: str, spent: float, budget: float, remaining: float) -> str:
    """Say how much was spent and how much is left.

    Parameters
    ----------
    parameter
        Name of the ledger's parameter, such as epsilon.
    """
    return f"{parameter} {spent:.6g} of {budget:.6g} spent, {remaining:.6g} left for releases of the whole table"


def constraint_words(text: str) -> str | None:
    """Return a constraint in words; None if this version of dpdb cannot read it."""
    try:
        return "; ".join(describe(constraint) for constraint in parse_constraint(text))
    except DpdbError:
        return None


def rule_name(release: Release) -> str | None:
    """Return the name or text of a release's one rule; None if all rules were measured together."""
    text = release.shown_constraint
    return None if text is None or release.constraint is None else text_name(text) or text


def text_name(text: str) -> str | None:
    """Return the name in the text of a rule; None if it has none, or this version of dpdb cannot read it."""
    try:
        return parse_constraint(text)[0].name
    except DpdbError:
        return None


# The name of each choice; None stands for a word of ours, because a slice or a rule may be called so, too.
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


_FOLDER = Path(__file__).parent
_STYLES = ("style.css", "board.css")  # the second for pages with boards


def report_page(
    results: Results,
    *,
    title: str = "Data quality report",
    generated: datetime | None = None,
    ledger: LedgerSummary | None = None,
    constraints: Sequence[DenialConstraint] | None = None,
) -> str:
    """Write the page.

    Parameters
    ----------
    results
        At least one row of releases, verdicts or diagnoses.
    generated
        Time that the page names as its own; by default now.
    ledger
        Current summary of a ledger; by default each job shows its ledger's figures after its last run.
    constraints
        Constraints to show instead of those that the results name.
    """
    rows, verdicts = results.rows, results.verdicts
    series = list(enumerate(series_of(rows), 1))
    given = None if constraints is None else tuple(constraints)
    last = {row.job: row.run_id for row in rows}
    boards = {
        job: boards_of(row for row in verdicts if row.job == job) for job in sorted({row.job for row in verdicts})
    }
    named = {
        job: named_of(row for row in results.diagnoses if row.job == job)
        for job in sorted({row.job for row in results.diagnoses})
    }
    promised = dict.fromkeys(promise_words(row.release.guarantee) for row in rows if last[row.job] == row.run_id)
    promised |= dict.fromkeys(board.last[0].guarantee for found in boards.values() for board in found)
    promised |= dict.fromkeys(one.last.guarantee for found in named.values() for one in found)
    dated = {f"{row.date:%Y-%m-%d}" for row in rows}.union(f"{row.day}" for row in verdicts)
    days = sorted(dated.union(f"{row.day}" for row in results.diagnoses))
    jobs = list(dict.fromkeys([*last, *boards, *named]))
    page = _environment().from_string(_joined_lines((_FOLDER / "page.html.jinja").read_text(encoding="utf-8")))
    return page.render(
        title=title,
        style="".join((_FOLDER / name).read_text(encoding="utf-8") for name in _STYLES[: 2 if verdicts else 1]),
        definitions=DEFINITIONS,
        rows=rows,
        verdicts=verdicts,
        diagnoses=results.diagnoses,
        runs=len(
            {*((row.job, row.run_id) for row in rows), *((row.job, row.run_id) for row in verdicts)}
            | {(row.job, row.run) for row in results.diagnoses}
        ),
        period=" to ".join(dict.fromkeys((days[0], days[-1]))),
        ledger=ledger,
        alone=alone_words([one.latest.release for _, one in series]),
        filters=Filters([one for _, one in series], jobs),
        jobs=[
            {
                **_job(job, [row for row in rows if row.job == job], series, given, boards.get(job, ())),
                "named": named.get(job, ()),
            }
            for job in jobs
        ],
        guarantees=[guarantee for guarantee in promised if guarantee],
        now=(generated or datetime.now(UTC)).astimezone(UTC),
        version=__version__,
    )


def _environment() -> Environment:
    """Return jinja2 with the template's functions; `in_html` escapes values, and shows hidden signs, too."""
    environment = Environment(autoescape=True, undefined=StrictUndefined, finalize=_escaped)
    speakers = (
        budget_bar, budget_words, cell_kind, cell_words, constraint_words, gate_words, latest_words, limit_words,
        noise_words, number_words, population_of, quantity_words, rule_name, series_chart, text_name, theta_words,
        trend_words, value_words, verdict_words, warning_words, words_of,
    )  # fmt: skip
    environment.globals |= {function.__name__: function for function in speakers} | {"WHERE_IT_IS": WHERE_IT_IS}
    environment.filters |= {
        "breakable": lambda text: Markup(breakable(text)),
        "day": "{:%Y-%m-%d}".format,
        "minute": "{:%Y-%m-%d %H:%M}".format,
        "sentence": lambda text: text[0].upper() + text[1:],
    }
    return environment


def _escaped(value: object) -> Markup:
    return value if isinstance(value, Markup) else Markup(in_html(str(value)))


def _joined_lines(template: str) -> str:
    """Remove line breaks beside tags; between words replace them by one blank."""
    return re.sub(r"\n\s*", " ", re.sub(r"(?<=[>}])\n\s*|\n\s*(?=[<{])", "", template))


def _job(
    job: str,
    rows: Sequence[ResultRow],
    series: Sequence[tuple[int, Series]],
    given: tuple[DenialConstraint, ...] | None,
    boards: Sequence[Board],
) -> dict[str, Any]:
    """Return the template's values for one job, which may have releases, boards or both."""
    common = {"name": job, "boards": boards}
    if not rows:
        return {**common, "latest": None, "texts": ()}
    latest = rows[-1]
    last_run = [row for row in rows if row.run_id == latest.run_id]
    return {
        **common,
        "latest": latest,
        "gates": sum(row.gate is not None for row in last_run),
        "failed": sum(row.gate == "failed" for row in last_run),
        "unsure": sum(row.gate == "not shown" for row in last_run),
        "warned": sum(row.warned is True for row in last_run),
        "spent_last": max(rows, key=lambda row: row.time),  # a backfill may have run after the latest date's run
        "series": [(number, one) for number, one in series if one.latest.job == latest.job],
        "texts": latest.constraint_texts if given is None else [constraint.written for constraint in given],
        "other_constraints": given is not None and constraints_digest(given) != latest.release.constraints_sha256,
    }
