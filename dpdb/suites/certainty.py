"""How sure the verdicts of a run are, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["certainty_words"]


def certainty_words(found: Mapping[str, Any]) -> str:
    """Return what holds with which confidence, 1 - beta or less.

    Three things may go wrong, with probability beta each. (A) In the runs that were planned some noise of a test is
    beyond the margin s: then a check within its limit may fail, and the lower end of a failure's size be too high.
    (B) A hidden threshold is beyond its own margin: then a pass, and the upper end of a size, may be wrong. (C) In a
    later run the noise of a ring is beyond what its number among all tests allows, which only the lower end of that
    failure's size needs. So (A) and (B) are all there is up to the last run that was planned. After it nothing is said
    of (A) but for failures that stand since, and all numbers together need (C) besides.

    Parameters
    ----------
    found
        The verdicts of a run, as `CheckResults.to_dict` gives them.
    """
    doubt, run, runs = 1 - found["confidence"], found.get("run"), found.get("runs")
    passes = "none passed beyond its limit"
    if run is None or runs is None or run <= runs:
        sure = "none failed within its limit" if found["certain"] == "fail" else passes
        return f"With {_percent(1 - doubt)} {sure}; with {_percent(1 - 2 * doubt)} all numbers hold, too."
    sure = "the bounds of what passed hold" if found["certain"] == "fail" else passes
    return (
        f"This was run {run} of {runs} that were planned: by now a check may fail within its limit. With "
        f"{_percent(1 - doubt)} {sure}; with {_percent(max(0, 1 - 3 * doubt))} all numbers hold, too."
    )


def _percent(share: float) -> str:
    return f"{100 * share:g}%"
