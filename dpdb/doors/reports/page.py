"""The report as one self-contained HTML page: no script, no request, every text escaped, no private number.

Everything on it comes from the results table (releases, gates, public figures of the ledger), or from a ledger's
summary and a list of constraints that the caller passes in.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from dpdb._version import __version__
from dpdb.constraints import DenialConstraint
from dpdb.doors.jobs.results import ResultRow, Results
from dpdb.doors.reports.card import series_card
from dpdb.doors.reports.chart import DEFINITIONS, budget_bar
from dpdb.doors.reports.filters import Filters
from dpdb.doors.reports.series import Series, series_of
from dpdb.doors.reports.words import budget_words, constraint_words, rule_name, text_name
from dpdb.ledger import LedgerSummary
from dpdb.printable import in_html
from dpdb.release import Release, constraints_digest, number_words, value_words, words_of

__all__ = ["report_page"]

_STYLE = Path(__file__).with_name("style.css")
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


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
        At least one row.
    generated
        Time that the page names as its own; now by default.
    ledger
        What a ledger says now; by default each job shows what its ledger said after its last run.
    constraints
        Shown instead of the constraints that the results name.
    """
    now = (generated or datetime.now(UTC)).astimezone(UTC)
    series = list(enumerate(series_of(results.rows), 1))
    jobs = list(dict.fromkeys(row.job for row in results.rows))
    given = None if constraints is None else tuple(constraints)
    filters = Filters([one for _, one in series])
    body = [_header(results, title), "" if ledger is None else _ledger_now(ledger), filters.controls]
    for job in jobs:
        rows = [row for row in results.rows if row.job == job]
        mine = [(number, one) for number, one in series if one.latest.job == job]
        body.append(_job(rows, mine, filters, with_budget=ledger is None, given=given))
    body += [_reading(results), f"<footer>Written {now:%Y-%m-%d %H:%M} UTC by dpdb {in_html(__version__)}.</footer>"]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{in_html(title)}</title><style>{_STYLE.read_text(encoding='utf-8')}{filters.rules}</style></head>\n"
        f"<body>{DEFINITIONS}<main>{''.join(body)}</main></body></html>\n"
    )


def _header(results: Results, title: str) -> str:
    rows = results.rows
    runs = len({(row.job, row.run_id) for row in rows})
    first, last = rows[0].date, rows[-1].date
    period = f"{first:%Y-%m-%d}" if first.date() == last.date() else f"{first:%Y-%m-%d} to {last:%Y-%m-%d}"
    return (
        f"<header><h1>{in_html(title)}</h1><p>{_several(len(rows), 'release')} of {_several(runs, 'run')}, {period}. "
        "Every number is a differentially private release or a public figure; the rows were not read for this page."
        "</p></header>"
    )


def _job(
    rows: Sequence[ResultRow],
    series: Sequence[tuple[int, Series]],
    filters: Filters,
    *,
    with_budget: bool,
    given: tuple[DenialConstraint, ...] | None,
) -> str:
    latest = rows[-1]
    last_run = [row for row in rows if row.run_id == latest.run_id]
    gated = [row for row in last_run if row.gate is not None]
    failed = sum(row.gate == "failed" for row in gated)
    warned = sum(row.warned is True for row in last_run)
    if failed:
        verdict = f'<strong class="bad">{failed} of {_several(len(gated), "gate")} failed.</strong>'
    elif gated:
        verdict = f'<strong class="good">{_several(len(gated), "gate")} passed.</strong>'
    else:
        verdict = "No gates."
    if warned:
        verdict += f' <strong class="warned">{_several(warned, "warning")}.</strong>'
    cards = "".join(series_card(number, one, filters.classes(one)) for number, one in series)
    ran = f", ran {latest.time:%Y-%m-%d %H:%M} UTC" if latest.date.date() != latest.time.date() else ""
    spent_last = max(rows, key=lambda row: row.time)  # a backfill may have run after the latest date's run
    return (
        f'<section class="job {filters.job_class(latest.job)}"><h2>{in_html(latest.job)}</h2>'
        f'<p class="verdict">Last run <code>{in_html(latest.run_id)}</code>, '
        f"{latest.date:%Y-%m-%d %H:%M} UTC{ran}: {verdict}</p>"
        f"{_budget(spent_last) if with_budget else ''}{_overview(series, filters)}"
        f'<div class="cards">{cards}</div>{_constraints(latest, given)}</section>'
    )


def _overview(series: Sequence[tuple[int, Series]], filters: Filters) -> str:
    lines = []
    for number, one in series:
        release = one.latest.release
        upper = "no upper bound" if release.upper is None else number_words(release.upper, release.quantity)
        lines.append(
            f'<tr class="{filters.classes(one)}"><th scope="row">'
            f'<a href="#s{number}">{in_html(words_of(release).heading)}</a> '
            f'<span class="slice">{in_html(_rule(release))}{in_html(one.slice_words)}</span></th>'
            f'<td class="number">{value_words(release)}</td>'
            f'<td class="number">{number_words(release.lower, release.quantity)} &ndash; {upper}</td>'
            f"<td>{_sign(one.latest)}</td></tr>"
        )
    return (
        '<table class="overview"><caption>Latest releases</caption><thead><tr><th scope="col">Measure</th>'
        '<th scope="col" class="number">Value</th><th scope="col" class="number">Interval</th>'
        f'<th scope="col">Gate</th></tr></thead><tbody>{"".join(lines)}</tbody></table>'
    )


def _sign(row: ResultRow) -> str:
    """What gate and warning say of a row."""
    signs = {"passed": '<span class="good">passed</span>', "failed": '<span class="bad">failed</span>'}
    said = [signs[row.gate]] if row.gate in signs else []
    return ", ".join([*said, '<span class="warned">warned</span>'] if row.warned else said)


def _rule(release: Release) -> str:
    name = rule_name(release)
    return "" if name is None else f"{name}, "


def _budget(row: ResultRow) -> str:
    spent, budget, left = row.ledger_spent, row.ledger_budget, row.ledger_remaining
    if spent is None or budget is None or left is None:
        return ""
    return _budget_figure(
        f"Budget after the run of {row.time:%Y-%m-%d}", row.ledger_parameter or "", spent, budget, left
    )


def _ledger_now(ledger: LedgerSummary) -> str:
    figure = _budget_figure("Budget now", ledger.parameter, ledger.spent, ledger.budget, ledger.remaining)
    return f"<section>{figure}</section>"


def _budget_figure(name: str, parameter: str, spent: float, budget: float, left: float) -> str:
    words = budget_words(parameter, spent, budget, left)
    return (
        f'<figure class="money"><figcaption>{in_html(name)}: <span>{in_html(words)}</span></figcaption>'
        f"{budget_bar(spent, budget, words)}</figure>"
    )


def _constraints(latest: ResultRow, given: tuple[DenialConstraint, ...] | None) -> str:
    texts = latest.constraint_texts if given is None else tuple(constraint.written for constraint in given)
    if not texts:
        return ""
    note = ""
    if given is not None and constraints_digest(given) != latest.release.constraints_sha256:
        note = (
            "<p>These are the constraints that were given for this page. Their digest is not that of the latest "
            "releases: they differ, or the table spells a name differently.</p>"
        )
    items = ""
    for text in texts:
        words = constraint_words(text)
        said = f"{in_html(words[0].upper() + words[1:])}.<br>" if words else ""
        name = text_name(text)
        called = "" if name is None else f"<strong>{in_html(name)}</strong>: "
        items += f"<li>{called}{said}<code>{in_html(text)}</code></li>"
    return f'<section class="rules"><h3>What must hold</h3>{note}<ol>{items}</ol></section>'


def _reading(results: Results) -> str:
    last = {row.job: row.run_id for row in results.rows}
    promised = dict.fromkeys(row.release.guarantee for row in results.rows if last[row.job] == row.run_id)
    guarantees = "".join(f"<li>{in_html(words[0].upper() + words[1:])}.</li>" for words in promised if words)
    return (
        '<section class="reading"><h2>How to read this page</h2>'
        "<p>Each dot is a released value, which contains random noise; the bar around it holds what is estimated with "
        "the stated confidence, over the noise. A bar that fades upwards ends in an arrow: nothing bounds the number "
        "from above, so conflicts may be missing from it, and it must not be read as &ldquo;at most&rdquo;. A dashed "
        "line is a gate; a value above it fails the run and becomes a diamond. A gate compares the released value: "
        "where the threshold lies inside the bar, noise may have decided. The lines across a fading bar hold what is "
        "counted with the same limit of conflicts per row (theta). A rise or fall is named where the two noises do not "
        "explain it: between releases with one theta from the difference of their values, else only where two bars do "
        "not overlap. What four reports in a row say of one measure holds together with the stated confidence; among "
        "statements about many measures some may be wrong.</p>"
        f"<h3>Guarantee of the last run</h3><ul>{guarantees}</ul>"
        "<p>In words: whether any one row is in the table or not changes the chance of whatever is shown here by at "
        "most a factor of exp(epsilon). Releases add up; the budget bounds their sum.</p></section>"
    )


def _several(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
