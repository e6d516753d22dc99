"""How long the full form will take: small samples of each experiment's work, timed here, times how often it is done."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable

import pyarrow as pa
from common import Chosen
from datasets import ALPHA, SEED, DataSet, data_sets, largest_data_set, subset
from figure_6 import EPSILONS
from figure_7 import ALPHAS, MODERATE, effort, sizes
from measuring import BY_NAME, PATIENCE, SLOW, SlowMechanism, measured, table_points
from timing import timings, warm_up

from dpdb.owner.dirt import rnoise

_SAMPLED_RELEASES = 5
_LARGE = 300_000


def estimated_seconds(chosen: Chosen) -> float:
    """Seconds of all experiments together."""
    warm_up(data_sets(chosen.data)[0])
    return _noise_experiments(chosen) + _slow_mechanism(chosen) + _growing_tables(chosen)


def _half_dirty(chosen: Chosen, data: DataSet) -> pa.Table:
    return rnoise(subset(data, chosen.scale.rows), data.constraints, alpha=ALPHA / 2, seed=SEED)


def _noise_experiments(chosen: Chosen) -> float:
    """Table 5 and Figures 3 to 6: a table costs its graph, and its releases by all mechanisms."""
    scale, total = chosen.scale, 0.0
    for data in data_sets(chosen.data):
        dirty = _half_dirty(chosen, data)
        graph = _seconds(functools.partial(_open, data, dirty))
        points = functools.partial(table_points, data, "rnoise", SEED, 0, dirty, _SAMPLED_RELEASES, None)
        release = max(0.0, _seconds(points) - graph) / _SAMPLED_RELEASES
        # Figures 4 and 6 release by two mechanisms per measure.
        part = 2 * len(BY_NAME) / (sum(len(measure.mechanisms) for measure in BY_NAME.values()) + 2)
        curves = scale.tables * scale.levels * (2 * graph + scale.releases * release * (1 + part))
        budgets = scale.tables * (graph + len(EPSILONS) * scale.releases * release * part)
        total += curves + budgets + scale.samples * graph
    return total


def _slow_mechanism(chosen: Chosen) -> float:
    """R2T at every level, where its time for the conflicts there is within the patience."""
    if SLOW not in BY_NAME["minimal_inconsistency"].by_name:
        return 0.0
    judge, total = SlowMechanism(math.inf), 0.0
    for data in data_sets(chosen.data):
        with measured(_half_dirty(chosen, data), data.constraints) as table:
            if not judge.seconds_per_edge:  # the first data set with enough conflicts tells
                judge.releases(table, "minimal_inconsistency", SLOW, 1)
            most = 2 * table.truth.minimal_inconsistency
        levels = [
            judge.seconds_per_edge * most * level / chosen.scale.levels for level in range(1, chosen.scale.levels + 1)
        ]
        total += 2 * sum(seconds for seconds in levels if seconds <= PATIENCE[chosen.quick])
    return total


def _growing_tables(chosen: Chosen) -> float:
    """Figure 7: a moderate and a large table timed; beyond, time grows as conflicts, with the square of the rows."""
    data = largest_data_set(chosen)
    rows = subset(data, chosen.scale.largest).num_rows
    seconds: dict[int, float] = {}
    for sample in (min(rows, MODERATE), min(rows, _LARGE)):
        if sample not in seconds:
            dirty = rnoise(subset(data, sample), data.constraints, alpha=ALPHAS[-1], seed=SEED)
            roles = effort(chosen, sample)[1]
            seconds[sample] = _seconds(functools.partial(timings, data, dirty, ALPHAS[-1], data.constraints, 1, roles))
    total = 0.0
    for size in sizes(chosen, rows):
        sample = min(seconds) if size <= MODERATE else max(seconds)
        total += effort(chosen, size)[0] * seconds[sample] * max(1.0, (size / sample) ** 2)
    return len(ALPHAS) * total


def _open(data: DataSet, dirty: pa.Table) -> None:
    with measured(dirty, data.constraints):
        pass


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
