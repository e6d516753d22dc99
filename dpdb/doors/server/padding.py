"""Times of answers on a public grid, because how long a release takes depends on private rows.

Answers, refusals after the debit and failures leave at 1, 2, 4, 8, ... times the first point, counted from when the
request came. So an analyst sees the time to within a factor of two, as a number of few bits.
"""

from __future__ import annotations

import asyncio
import time

__all__ = ["grid_point", "until_grid"]


def grid_point(elapsed: float, first: float) -> float:
    """Return the first point of the grid that is not before `elapsed`, both in seconds from the request.

    Parameters
    ----------
    elapsed
        Seconds.
    first
        The first point.

    Examples
    --------
    >>> [grid_point(elapsed, 1.0) for elapsed in (0.0, 1.0, 1.1, 4.5)]
    [1.0, 1.0, 2.0, 8.0]
    """
    point = first
    while point < elapsed:
        point *= 2
    return point


async def until_grid(began: float, first: float) -> None:
    """Wait for the next point of the grid of a request that began at a time of the monotonic clock."""
    await asyncio.sleep(max(0.0, began + grid_point(time.monotonic() - began, first) - time.monotonic()))
