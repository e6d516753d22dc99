"""How long the full form will take: small samples of each experiment's work, timed here, times how often it is done."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from common import Chosen
from datasets import ALPHA, SEED, data_sets, largest_data_set, subset
from figure_6 import EPSILONS
from figure_7 import ALPHAS, repeats, sizes
from measuring import SlowMechanism, measured, table_points
from timing import timings, warm_up

from dpdb.noise import rnoise

_SAMPLED_RELEASES = 5
_SAMPLED_ROWS = (30_000, 100_000)


def estimated_seconds(chosen: Chosen) -> float:
    """Seconds of all experiments; the slow R2T counts as far as it was fast enough to be sampled."""
    warm_up(data_sets(chosen.data)[0])
    return _noise_experiments(chosen) + _growing_tables(chosen)


def _noise_experiments(chosen: Chosen) -> float:
    """Table 5 and Figures 3 to 6: a table costs its graph, and its releases by all mechanisms."""
    scale, total = chosen.scale, 0.0
    for data in data_sets(chosen.data):
        dirty = rnoise(subset(data, scale.rows), data.constraints, alpha=ALPHA / 2, seed=SEED)

        def all_releases(dirty=dirty, data=data) -> None:
            table_points(data, "rnoise", SEED, 0, dirty, _SAMPLED_RELEASES, SlowMechanism(1.0))

        def graph(dirty=dirty, data=data) -> None:
            with measured(dirty, data.constraints):
                pass

        alone = _seconds(graph)
        release = max(0.0, _seconds(all_releases) - alone) / _SAMPLED_RELEASES
        curves = 2 * scale.tables * scale.levels * (alone + scale.releases * release)
        # Figure 6 releases by 6 of the about 20 mechanisms.
        budgets = scale.tables * (alone + len(EPSILONS) * scale.releases * release * 6 / 20)
        total += curves + budgets + scale.samples * alone
    return total


def _growing_tables(chosen: Chosen) -> float:
    """Figure 7: two smaller tables timed, and their power law carried on to the largest."""
    data = largest_data_set(chosen)
    rows = subset(data, chosen.scale.largest).num_rows
    first, second = (min(rows, wanted) for wanted in _SAMPLED_ROWS)

    def timed(count: int) -> float:
        dirty = rnoise(subset(data, count), data.constraints, alpha=ALPHAS[-1], seed=SEED)
        return _seconds(lambda: timings(data, dirty, ALPHAS[-1], data.constraints))

    small, large = timed(first), timed(second)
    exponent = math.log(large / small) / math.log(second / first) if second > first else 1.0
    # Toward millions of rows the conflicts rule, and they grow with the square of the rows.
    exponent = max(exponent, 2.0 if rows > second else exponent)
    per_size = [repeats(chosen, size) * large * max(1.0, (size / second) ** exponent) for size in sizes(chosen, rows)]
    return len(ALPHAS) * sum(per_size)


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
