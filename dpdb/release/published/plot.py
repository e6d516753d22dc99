"""Releases as a picture: each value with its interval, by matplotlib. Reads published values only."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import Any

from dpdb.errors import ParameterError
from dpdb.release.published.release_fields import ReleaseFields
from dpdb.release.published.words import measured_words

__all__ = ["draw_releases"]

_HEIGHT = 0.45  # inches per release
_WIDTH = 7.0


def draw_releases(releases: Sequence[ReleaseFields], axes: Any = None) -> Any:
    """Draw releases from top to bottom and return matplotlib's axes; without an upper bound an arrow goes on.

    Parameters
    ----------
    axes : matplotlib.axes.Axes, optional
        Where to draw; by default in a new figure, which a notebook shows.

    Raises
    ------
    ParameterError
        If matplotlib is not installed, there is no release, or they count different things.
    """
    quantities = {release.quantity for release in releases}
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

    figure = Figure(figsize=(_WIDTH, 1 + _HEIGHT * count), layout="constrained")

    class ShownAxes(Axes):
        def _repr_png_(self) -> bytes:
            drawn = BytesIO()
            figure.savefig(drawn, format="png")
            return drawn.getvalue()

    return figure.add_subplot(axes_class=ShownAxes)
