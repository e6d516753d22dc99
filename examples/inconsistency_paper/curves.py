"""Figures 3 and 4: true and released measures over the iterations of a noise generator, one panel per data set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from common import figure, shared_legend
from measuring import BY_NAME, SYMBOLS, Point, is_shown, mean
from styles import DEFAULT, PAPER, R2T, TRUE, TWICE_TAU

ROLES = {
    "paper": ("paper's mechanism (Algorithm 4 or 5)", PAPER),
    "default": ("dpdb's default", DEFAULT),
    "r2t": ("R2T", R2T),
}


def print_errors(title: str, points: Sequence[Point], paper: dict[str, str]) -> None:
    """Print mean relative errors over all levels, per measure and data set, with what the paper prints."""
    print(f"\n{title}: mean relative error over all noise levels, epsilon 1")
    print(f"{'measure':<8}{'data set':<10}{'levels':>7}{'default':>10}{'paper':>10}{'R2T':>10}   printed")
    for measure in BY_NAME:
        for data in dict.fromkeys(one.data for one in points):
            here = [one for one in points if (one.data, one.measure) == (data, measure)]
            shown = "".join(f"{error_of(here, role):>10.4f}" for role in ("default", "paper", "r2t"))
            levels = len({one.changes for one in here})
            print(f"{SYMBOLS[measure]:<8}{data:<10}{levels:>7}{shown}   {paper.get(measure, 'only shown as curves')}")


def error_of(points: Sequence[Point], role: str) -> float:
    """Mean relative error of a role."""
    return mean([one.error for one in points if is_shown(one, role)])


def draw_curves(path: Path, title: str, points: Sequence[Point]) -> None:
    """Three rows (I_P, I_MI, I_R as in the paper), one column per data set; bands are one standard deviation."""
    sets = list(dict.fromkeys(one.data for one in points))
    measures = ("problematic", "minimal_inconsistency", "repair")

    def draw(picture: Any, axes: Any) -> None:
        for line, measure in zip(axes, measures, strict=True):
            for axis, data in zip(line, sets, strict=True):
                here = [one for one in points if (one.data, one.measure) == (data, measure)]
                if measure == "repair":
                    _curve(
                        axis,
                        here,
                        lambda one: 2 * one.tau,
                        label="2 tau* (the published code's reference)",
                        **TWICE_TAU,
                    )
                for role, (text, style) in ROLES.items():
                    shown = [one for one in here if is_shown(one, role)]
                    if shown:
                        _curve(axis, shown, lambda one: one.mean, label=text, **style)
                        _band(axis, shown, style["color"])
                _curve(axis, here, lambda one: one.true, label="true value", zorder=1.5, **TRUE)
                axis.ticklabel_format(axis="y", style="sci", scilimits=(0, 4))
                axis.set_ylim(bottom=0)
            line[0].set_ylabel(SYMBOLS[measure])
        for axis, data in zip(axes[0], sets, strict=True):
            axis.set_title(data)
        for axis in axes[-1]:
            axis.set_xlabel("iterations of the noise")
        shared_legend(picture, axes, 5)
        picture.suptitle(title)

    figure(path, draw, len(measures), len(sets), size=(3, 2.3))


def _levels(points: Sequence[Point]) -> list[int]:
    return sorted({one.changes for one in points})


def _curve(axis: Any, points: Sequence[Point], value: Any, **style: Any) -> None:
    levels = _levels(points)
    axis.plot(
        levels,
        [mean([value(one) for one in points if one.changes == level]) for level in levels],
        clip_on=False,
        **style,
    )


def _band(axis: Any, points: Sequence[Point], colour: str) -> None:
    levels = _levels(points)
    if len(levels) == 1:
        return  # nothing to see, but it would stretch the axis
    middle = [mean([one.mean for one in points if one.changes == level]) for level in levels]
    spread = [mean([one.deviation for one in points if one.changes == level]) for level in levels]
    low = [max(0, m - s) for m, s in zip(middle, spread, strict=True)]
    high = [m + s for m, s in zip(middle, spread, strict=True)]
    axis.fill_between(levels, low, high, color=colour, alpha=0.18, linewidth=0)
