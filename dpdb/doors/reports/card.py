"""One card per series: heading, latest value and interval, change, gate, chart, and all releases as a table."""

from __future__ import annotations

from dpdb.doors.jobs.results import ResultRow
from dpdb.doors.reports.chart import series_chart
from dpdb.doors.reports.series import Series, trend_words
from dpdb.doors.reports.words import constraint_words, gate_words, latest_words, rule_name, warning_words
from dpdb.printable import in_html
from dpdb.release import noise_words, number_words, value_words, words_of

__all__ = ["series_card"]


def series_card(number: int, series: Series, classes: str) -> str:
    """Draw the card; `number` makes its anchor, and by `classes` it is found by filters."""
    row, release = series.latest, series.latest.release
    words = words_of(release)
    title = f"{words.heading}, {series.slice_words}"
    slice_shown = f"<code>{in_html(row.where)}</code>" if row.where else series.slice_words
    return (
        f'<article class="card {classes}" id="s{number}"><div><h3>{in_html(words.heading)} '
        f'<span class="slice">{slice_shown}</span></h3>{_rule(series)}<p class="meaning">{in_html(words.counted)}</p>'
        f'<p class="latest"><strong>{value_words(release)}</strong> '
        f"{in_html(release.quantity)}, {in_html(latest_words(release))}</p>"
        f'<p class="trend">{in_html(trend_words(series))}</p>{_gate(row)}</div>'
        f"<div>{series_chart(series, f'{title}: {len(series.rows)} releases; the table below has them')}"
        f'<p class="kind">{in_html(release.measure)} &middot; release {in_html(row.release_name)}</p>'
        f"{_table(series)}</div></article>"
    )


def _rule(series: Series) -> str:
    release = series.latest.release
    text = release.shown_constraint
    if text is None or release.constraint is None:
        return ""
    words = constraint_words(release.constraint)
    name = rule_name(release)
    called = f"<strong>{in_html(name)}</strong> " if name and name != text else ""
    return f'<p class="kind">{called}{in_html(words) if words else ""} <code>{in_html(text)}</code></p>'


def _gate(row: ResultRow) -> str:
    words = gate_words(row)
    kind = "good" if row.gate == "passed" else "bad"
    gate = f'<span class="{kind}">Gate {in_html(row.gate or "")}</span>: {in_html(words)}.' if words else ""
    warning = f'<span class="warned">Warning</span>: {in_html(warning_words(row))}.' if row.warned else ""
    return f'<p class="gate">{" ".join(filter(None, (gate, warning)))}</p>' if gate or warning else ""


def _table(series: Series) -> str:
    lines = "".join(_line(row) for row in reversed(series.rows))
    count = len(series.rows)
    release = series.latest.release
    return (
        f"<details><summary>{'The release' if count == 1 else f'All {count:,} releases'} as a table</summary>"
        '<div class="scroll"><table><thead><tr><th scope="col">Date (UTC)</th><th scope="col">Run</th>'
        '<th scope="col" class="number">Value</th><th scope="col" class="number">At least</th>'
        '<th scope="col" class="number">At most</th><th scope="col">Gate</th>'
        '<th scope="col" class="number">Epsilon</th>'
        f'<th scope="col">Ran (UTC)</th></tr></thead><tbody>{lines}</tbody></table></div>'
        f'<p class="meaning">Estimates: {in_html(release.estimand)}. Mechanism {in_html(release.mechanism)}, noise '
        f"scale {noise_words(release)} at the latest.</p></details>"
    )


def _line(row: ResultRow) -> str:
    release = row.release
    cost = "" if release.epsilon is None else f"{release.epsilon:g}"
    upper = "no bound" if release.upper is None else number_words(release.upper, release.quantity)
    said = [] if row.gate_threshold is None else [(row.gate, row.gate_threshold)]
    said += [("warned", row.warn_threshold)] if row.warned and row.warn_threshold is not None else []
    gate = "; ".join(f"{word}, {number_words(threshold, release.quantity)}" for word, threshold in said)
    return (
        f"<tr><td>{row.date:%Y-%m-%d %H:%M}</td><td>{in_html(row.run_id)}</td>"
        f'<td class="number">{value_words(release)}</td>'
        f'<td class="number">{number_words(release.lower, release.quantity)}</td><td class="number">{upper}</td>'
        f'<td>{in_html(gate)}</td><td class="number">{cost}</td>'
        f"<td>{row.time:%Y-%m-%d %H:%M}</td></tr>"
    )
