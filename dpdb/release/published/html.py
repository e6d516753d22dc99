"""Releases as HTML for notebooks: escaped, no script, nothing loaded, readable on light and dark pages alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dpdb.characters import in_html
from dpdb.release.published.release_fields import ReleaseFields
from dpdb.release.published.words import (
    bounds_words,
    cost_words,
    missing_words,
    noise_words,
    promise_words,
    slice_words,
    theta_words,
    value_words,
)

__all__ = ["html_table", "release_card", "releases_table"]

# Colours that are readable on white and on black; text takes the page's own colour.
_BLUE = "#4a8fd6"
_CARD = "border:1px solid rgba(128,128,128,.4);border-radius:8px;padding:10px 14px;max-width:34em;font:inherit"
_FAINT = "opacity:.75;font-size:90%"
_CELL = "padding:3px 12px 3px 0;text-align:left;vertical-align:top;border-bottom:1px solid rgba(128,128,128,.3)"
_WIDTH, _HEIGHT, _ARROW = 320, 18, 6


def release_card(release: ReleaseFields) -> str:
    """One release as a card: value, interval as a bar and in words, slice, cost and guarantee; the rest is details."""
    where = f"<code>{in_html(release.where)}</code>" if release.where else slice_words(release)
    rule = f" &middot; <code>{in_html(release.shown_constraint)}</code>" if release.shown_constraint else ""
    return (
        f'<div style="{_CARD}">'
        f'<div style="{_FAINT}">{in_html(release.measure)} &middot; {where}{rule}</div>'
        f'<div><span style="font-size:160%;font-weight:600">{value_words(release)}</span> '
        f"{in_html(release.quantity)}</div>"
        f"{_bar(release)}"
        f"<div>{in_html(bounds_words(release))}</div>{_warning(release)}"
        f'<div style="{_FAINT}">{cost_words(release)}: {in_html(promise_words(release.guarantee))}'
        f"{_details(release)}</div></div>"
    )


def releases_table(
    releases: Sequence[ReleaseFields], columns: Sequence[str] = (), cells: Sequence[Sequence[str]] | None = None
) -> str:
    """Several releases as a table.

    Parameters
    ----------
    releases
        The releases, one row each.
    columns
        Names of further columns, which go first.
    cells
        The texts of these columns for each release. Default: none.
    """
    before = cells if cells is not None else [()] * len(releases)
    rows = [[*first, *_cells(release)] for first, release in zip(before, releases, strict=True)]
    return html_table([*columns, "measure", "rows", "value", "interval", "cost"], rows)


def html_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Texts as a table, all escaped."""
    head = "".join(f'<th style="{_CELL}">{in_html(name)}</th>' for name in heads)
    body = "".join(f"<tr>{_row(row)}</tr>" for row in rows)
    return f'<table style="border-collapse:collapse"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _cells(release: ReleaseFields) -> list[str]:
    measure = release.measure if release.constraint is None else f"{release.measure} of {release.shown_constraint}"
    value = f"{value_words(release)} {release.quantity}"
    missing = missing_words(release)
    interval = f"{bounds_words(release)}; {missing}" if missing else bounds_words(release)
    return [measure, slice_words(release), value, interval, cost_words(release)]


def _details(release: ReleaseFields) -> str:
    """Return what is not needed to understand the value, folded."""
    facts = [
        ("estimates", release.estimand),
        ("mechanism", f"{release.mechanism}, noise scale {noise_words(release)}"),
        ("theta", theta_words(release)),
        ("guarantee", release.guarantee),
    ]
    shown = "<br>".join(f"{name}: {in_html(text)}" for name, text in facts if text)
    return f"<details><summary>details</summary>{shown}</details>"


def _warning(release: ReleaseFields) -> str:
    words = missing_words(release)
    return f"<div>Warning: {in_html(words)}</div>" if words else ""


def _row(cells: Sequence[str]) -> str:
    return "".join(f'<td style="{_CELL}">{in_html(cell)}</td>' for cell in cells)


def _bar(release: ReleaseFields) -> str:
    """The interval on a line from 0; without an upper bound it ends in an arrow."""
    top = (release.upper if release.upper is not None else max(release.value, release.lower) * 1.25) or 1.0
    span = _WIDTH - _ARROW - 4
    left, value = (2 + span * number / top for number in (release.lower, min(release.value, top)))
    right = 2 + span * (release.upper / top if release.upper else 0 if release.upper == 0 else 1)
    middle = _HEIGHT / 2
    arrow = (
        f'<path d="M{right:.1f} {middle - _ARROW} L{right + _ARROW:.1f} {middle} L{right:.1f} {middle + _ARROW} Z" '
        f'fill="{_BLUE}"/>'
        if release.upper is None
        else ""
    )
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="100%" style="max-width:{_WIDTH}px;display:block;margin:4px 0" '
        f'role="img" aria-label="{in_html(bounds_words(release))}">'
        f'<line x1="2" y1="{middle}" x2="{_WIDTH - 2}" y2="{middle}" stroke="currentColor" stroke-opacity=".25"/>'
        f'<rect x="{left:.1f}" y="{middle - 4}" width="{max(right - left, 2):.1f}" height="8" rx="3" fill="{_BLUE}" '
        f'fill-opacity=".45"/>{arrow}<circle cx="{value:.1f}" cy="{middle}" r="4.5" fill="{_BLUE}"/></svg>'
    )
