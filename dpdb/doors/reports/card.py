"""One card per series: heading, latest value and interval, change, gate, chart, and all releases as a table."""

from __future__ import annotations

from html import escape

from dpdb.doors.jobs.results import ResultRow
from dpdb.doors.reports.chart import series_chart
from dpdb.doors.reports.series import Series, trend_words
from dpdb.doors.reports.words import constraint_words, gate_words, heading, latest_words, meaning, slice_words
from dpdb.release import quantity_text

__all__ = ["series_card"]


def series_card(number: int, series: Series) -> str:
    """Draw the card; `number` makes its anchor."""
    row, release = series.latest, series.latest.release
    title = f"{heading(release)}, {slice_words(release)}"
    slice_shown = f"<code>{escape(release.where)}</code>" if release.where else "whole table"
    return (
        f'<article class="card" id="s{number}"><div><h3>{escape(heading(release))} '
        f'<span class="slice">{slice_shown}</span></h3>{_rule(series)}<p class="meaning">{escape(meaning(release))}</p>'
        f'<p class="latest"><strong>{quantity_text(release.value, release.quantity)}</strong> '
        f"{escape(release.quantity)}, {escape(latest_words(release))}</p>"
        f'<p class="trend">{escape(trend_words(series))}</p>{_gate(row)}</div>'
        f"<div>{series_chart(series, f'{title}: {len(series.rows)} releases; the table below has them')}"
        f'<p class="kind">{escape(release.measure)} &middot; release {escape(row.release_name)}</p>'
        f"{_table(series)}</div></article>"
    )


def _rule(series: Series) -> str:
    text = series.latest.release.constraint
    if text is None:
        return ""
    words = constraint_words(text)
    return f'<p class="kind">{escape(words) if words else ""} <code>{escape(text)}</code></p>'


def _gate(row: ResultRow) -> str:
    words = gate_words(row)
    if not words:
        return ""
    kind = "good" if row.gate == "passed" else "bad"
    return f'<p class="gate"><span class="{kind}">Gate {escape(row.gate or "")}</span>: {escape(words)}.</p>'


def _table(series: Series) -> str:
    lines = "".join(_line(row) for row in reversed(series.rows))
    count = len(series.rows)
    release = series.latest.release
    return (
        f"<details><summary>{'The release' if count == 1 else f'All {count:,} releases'} as a table</summary>"
        '<div class="scroll"><table><thead><tr><th scope="col">Time (UTC)</th><th scope="col">Run</th>'
        '<th scope="col" class="number">Value</th><th scope="col" class="number">At least</th>'
        '<th scope="col" class="number">At most</th><th scope="col">Gate</th>'
        '<th scope="col" class="number">Epsilon</th>'
        f"</tr></thead><tbody>{lines}</tbody></table></div>"
        f'<p class="meaning">Estimates: {escape(release.estimand)}. Mechanism {escape(release.mechanism)}, noise scale '
        f"{quantity_text(release.noise_scale, release.quantity)} at the latest.</p></details>"
    )


def _line(row: ResultRow) -> str:
    release = row.release
    upper = "no bound" if release.upper is None else quantity_text(release.upper, release.quantity)
    gate = (
        f"{row.gate}, {quantity_text(row.gate_threshold, release.quantity)}" if row.gate_threshold is not None else ""
    )
    return (
        f"<tr><td>{row.time:%Y-%m-%d %H:%M}</td><td>{escape(row.run_id)}</td>"
        f'<td class="number">{quantity_text(release.value, release.quantity)}</td>'
        f'<td class="number">{quantity_text(release.lower, release.quantity)}</td><td class="number">{upper}</td>'
        f'<td>{escape(gate)}</td><td class="number">{release.epsilon:g}</td></tr>'
    )
