"""A progress bar of the steps of a release; it shows no number that depends on the data, and no time."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from dpdb.settings import Progress, no_progress

_WIDTH = 16
_STEPS = 4  # of a release: reading, ranking, joining, drawing
_LAST = "drawing noise"


def bar_words(done: int, steps: int, step: str) -> str:
    """Return the bar as text, with the step's name.

    Parameters
    ----------
    done
        Number of steps that the bar shows as done.
    """
    filled = _WIDTH * done // steps
    return f"[{'#' * filled}{'.' * (_WIDTH - filled)}] {step}"


def progress_bar() -> Progress:
    """Return a progress bar for a notebook, to be given as ``progress=`` to `dpdb.open` or `dpdb.jobs.run`.

    One bar, in the output of the cell that calls this: a widget where ipywidgets is installed, else a line of text that
    is written over. Outside a notebook nothing is shown. Every release starts it anew; it shows the names of steps
    only, for how long they take and how much they find is private.

    Examples
    --------
    >>> import dpdb
    >>> with dpdb.open("examples/data/hospital.parquet", progress=dpdb.progress_bar()) as session:
    ...     session.dp_count(0.1).epsilon
    0.1
    """
    draw = _drawn_in_notebook()
    if draw is None:
        return no_progress
    done = 0

    def report(step: str) -> None:
        nonlocal done
        done = _STEPS if step == _LAST else min(done % _STEPS + 1, _STEPS - 1)
        draw(done, step)

    return report


def _drawn_in_notebook() -> Callable[[int, str], None] | None:
    """Show an empty bar and return the function that updates it; None outside a notebook."""
    if "IPython" not in sys.modules:
        return None
    import IPython

    display: Any = IPython.display.display
    if not hasattr(IPython.get_ipython(), "kernel"):
        return None
    try:
        from ipywidgets import IntProgress
    except ImportError:
        line = display(_plain(0, ""), raw=True, display_id=True)
        return lambda done, step: line.update(_plain(done, step), raw=True)
    bar = IntProgress(max=_STEPS, description="", style={"description_width": "initial"})
    display(bar)

    def change(done: int, step: str) -> None:
        bar.value, bar.description = done, step

    return change


def _plain(done: int, step: str) -> dict[str, Any]:
    return {"text/plain": bar_words(done, _STEPS, step)}
