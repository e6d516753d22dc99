"""Layouts of releases: cards and tables as HTML, previews as text and as HTML, and pictures by matplotlib.

HTML is for notebooks: escaped, no script, nothing loaded, readable on light and dark pages alike. `dpdb explain`,
`plan` and `run --dry-run` share the layout of previews. All of it reads published values only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from dpdb.errors import ParameterError
from dpdb.names import aligned, in_html
from dpdb.release.published.release_fields import (
    ReleaseFields,
    bounds_words,
    cost_words,
    measured_words,
    missing_words,
    noise_words,
    population_of,
    promise_words,
    quantity_words,
    slice_words,
    theta_words,
    value_words,
)

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
    missing = missing_words(release)
    return (
        f'<div style="{_CARD}">'
        f'<div style="{_FAINT}">{in_html(release.measure)} &middot; {where}{rule}</div>'
        f'<div><span style="font-size:160%;font-weight:600">{value_words(release)}</span> '
        f"{in_html(quantity_words(release))}</div>"
        f"{_population(release)}"
        f"{_bar(release)}"
        f"<div>{in_html(bounds_words(release))}</div>{missing and f'<div>Warning: {in_html(missing)}</div>'}"
        f'<div style="{_FAINT}">{cost_words(release)}: {in_html(promise_words(release.guarantee))}'
        f"{_details(release)}</div></div>"
    )


def _population(release: ReleaseFields) -> str:
    rows = population_of(release)
    return "" if rows is None else f'<div style="{_FAINT}">{in_html(rows)}</div>'


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
    cells = ("".join(f'<td style="{_CELL}">{in_html(cell)}</td>' for cell in row) for row in rows)
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    return f'<table style="border-collapse:collapse"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _cells(release: ReleaseFields) -> list[str]:
    measure = release.measure if release.constraint is None else f"{release.measure} of {release.shown_constraint}"
    value = f"{value_words(release)} {quantity_words(release)}"
    missing = missing_words(release)
    interval = f"{bounds_words(release)}; {missing}" if missing else bounds_words(release)
    rows = "; ".join(filter(None, [slice_words(release), population_of(release)]))
    return [measure, rows, value, interval, cost_words(release)]


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


NOTHING_SPENT = "nothing was spent and no row was read"


@dataclass(frozen=True)
class PreviewPart:
    """Lines, a table with its head, of which the first columns are texts, and lines that belong to it."""

    lines: Sequence[str]
    rows: Sequence[Sequence[str]] = ()
    texts: int = 0
    notes: Sequence[str] = ()

    @property
    def aligned(self) -> list[str]:
        """The table as lines of text."""
        return list(aligned(self.rows, "l" * self.texts + "r"))


def preview_text(parts: Iterable[PreviewPart]) -> str:
    """Return the parts as a command prints them, an empty line between them."""
    return "\n\n".join(
        "\n".join([*part.lines, *(f"  {line}" for line in [*part.aligned, *part.notes])]) for part in parts
    )


def preview_html(parts: Iterable[PreviewPart]) -> str:
    """Return the parts as a notebook shows them: escaped, no script, nothing loaded."""
    return "".join(
        f'<div style="margin:8px 0">{_lines(part.lines)}'
        f"{html_table(part.rows[0], part.rows[1:]) if part.rows else ''}{_lines(part.notes)}</div>"
        for part in parts
    )


def cost_preview(epsilon: float, charges: Mapping[str, float], total: str = "") -> str:
    """Write the joint cost of releases: in epsilon, and as charged in a ledger of another notion.

    Parameters
    ----------
    epsilon
        Epsilon of all releases together.
    charges
        The charge by the name of a notion's parameter; `epsilon` itself is left out.
    total
        Words after the epsilon, such as " in total".
    """
    others = [f"{name} {cost:.9g}" for name, cost in charges.items() if name != "epsilon"]
    charged = f" ({', '.join(others)} on a ledger that counts so)" if others else ""
    if not epsilon:  # it is paid in rho
        return f"{', '.join(others)}{total}, on a ledger that counts so"
    return f"epsilon {epsilon:g}{total}{charged}"


def _lines(lines: Sequence[str]) -> str:
    return "".join(f"<div>{in_html(line)}</div>" for line in lines)


_INCHES_PER_RELEASE = 0.45  # inches per release
_INCHES_WIDE = 7.0


def draw_releases(releases: Sequence[ReleaseFields], axes: Any = None) -> Any:
    """Draw releases from top to bottom and return matplotlib's axes; without an upper bound an arrow goes on.

    Parameters
    ----------
    axes : matplotlib.axes.Axes, optional
        Where to draw; by default in a new figure, which a notebook shows.
    """
    quantities = {quantity_words(release) for release in releases}
    if len(quantities) != 1:
        raise ParameterError("a picture is of one or more releases that count the same; draw the others by themselves")
    if axes is None:
        axes = _new_axes(len(releases))
    places = range(len(releases))
    top = max(max(release.value, release.upper or 0) for release in releases) * 1.15 or 1
    for place, release in zip(places, releases, strict=True):
        end = top if release.upper is None else release.upper
        axes.plot([release.lower, end], [place, place], color="tab:blue", alpha=0.45, linewidth=6)
        if release.upper is None:
            axes.plot([top], [place], marker=">", color="tab:blue", alpha=0.6, clip_on=False)
    axes.plot([release.value for release in releases], places, "o", color="tab:blue")
    axes.set_yticks(places, [measured_words(release) for release in releases])
    axes.set_xlim(0, top)
    axes.set_ylim(len(releases) - 0.5, -0.5)
    axes.set_xlabel(quantities.pop())
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def _new_axes(count: int) -> Any:
    """Make axes in a figure of their own, without pyplot: they draw themselves where a notebook shows them."""
    try:
        from matplotlib.axes import Axes
        from matplotlib.figure import Figure
    except ImportError:
        raise ParameterError("drawing needs matplotlib: pip install 'dpdb[figures]'") from None

    figure = Figure(figsize=(_INCHES_WIDE, 1 + _INCHES_PER_RELEASE * count), layout="constrained")

    class ShownAxes(Axes):
        def _repr_png_(self) -> bytes:
            drawn = BytesIO()
            figure.savefig(drawn, format="png")
            return drawn.getvalue()

    return figure.add_subplot(axes_class=ShownAxes)
