"""True and released measures of dirty tables, and the experiment that Figures 3 to 5 and Tables 1 and 5 share.

Releases are made by `Session.dp_inconsistency`, as any user would, by every mechanism that is registered. Two things
are for evaluation only and exist nowhere in dpdb: the true values, and `baseline_true`, the paper's baseline 2, which
projects to the true maximum degree.
"""

from __future__ import annotations

import functools
import math
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa
from common import Chosen, Progress
from datasets import LEVELS, SEED, DataSet, data_sets

from dpdb.constraints import DenialConstraint
from dpdb.engine import has_class_histogram
from dpdb.graph import minimum_vertex_cover
from dpdb.measures import measures_named
from dpdb.measures.answer import EDGES, NODES, noisy_answer
from dpdb.privacy.epsilon import parse_epsilon
from dpdb.release import Session

BY_NAME = {measure.name: measure for measure in measures_named("all")}
SYMBOLS = {"minimal_inconsistency": "I_MI", "problematic": "I_P", "repair": "I_R"}
PAPERS = {"minimal_inconsistency": "optimized", "problematic": "optimized", "repair": "greedy"}
"""The mechanism that the paper calls its approach: Algorithm 4, and Algorithm 5 for the repair."""
BASELINE_TRUE = "baseline_true"
SLOW = "r2t"
"""Solves linear programs over all edges: it runs on the first table of a noise level only, with --quick at the largest
noise only, and graphs on which it would exceed its patience are left out."""
PATIENCE = {True: 30.0, False: 60.0}
"""Seconds for `SLOW` per table, by --quick."""


@dataclass(frozen=True)
class Truth:
    """Exact values of a table."""

    minimal_inconsistency: int
    problematic: int
    repair: int
    repair_fractional: float
    max_degree: int
    proved: bool
    """Whether `repair` is proved to be the minimum vertex cover (otherwise it is the size of a cover)."""


class Measured:
    """A dirty table with its true values, ready for releases."""

    def __init__(self, session: Session, rows: int) -> None:
        self._session, self._rows = session, rows
        self._statistics = session._private.statistics()
        self._by_rule = all(has_class_histogram(bound) for bound in session._table.constraints)
        graph = self._statistics.graph
        degrees, cover = graph.degree_summary(), minimum_vertex_cover(graph.adjacency, time_limit=10.0)
        tau = self._statistics.twice_fractional_cover().value / 2
        self.truth = Truth(
            degrees.edge_count, degrees.positive_degree_nodes, cover.upper, tau, degrees.max_degree, cover.proved
        )

    def default(self, measure: str) -> str:
        """Name of dpdb's default mechanism for rules without a closed form."""
        return BY_NAME[measure].default

    def mechanisms(self, measure: str) -> list[str]:
        """Names of the registered mechanisms for its rules on two rows, and `baseline_true` for a projection.

        Without `fewest_deletions`, which needs a closed form: of the data sets only Stock, one key, has one.
        """
        known = [
            mechanism.name
            for mechanism in BY_NAME[measure].mechanisms
            if not mechanism.on_one_row and not mechanism.has_closed_form and (mechanism.fit is None or self._by_rule)
        ]
        return [*known, *([BASELINE_TRUE] if measure != "repair" else [])]

    def releases(
        self, measure: str, mechanism: str, count: int, epsilon: str = "1", patience: float = math.inf
    ) -> list[float]:
        """Fresh releases, `count` of them or as many as begin within `patience` seconds; the public bound is |V|."""
        if mechanism == BASELINE_TRUE:
            statistic = NODES if measure == "problematic" else EDGES
            theta, share = max(1, self.truth.max_degree), parse_epsilon(epsilon)
            return [float(noisy_answer(statistic, self._statistics, theta, share, 0.05).value) for _ in range(count)]
        values: list[float] = []
        began = time.perf_counter()
        while len(values) < count and time.perf_counter() - began <= patience:
            release = self._session.dp_inconsistency(measure, epsilon, mechanism=mechanism, max_degree=self._rows)
            values.append(release.value)
        return values


@contextmanager
def measured(table: pa.Table, constraints: Sequence[DenialConstraint]) -> Iterator[Measured]:
    """Open a table for measuring."""
    with Session(table, constraints=constraints) as session:
        yield Measured(session, table.num_rows)


@dataclass(frozen=True)
class Point:
    """Releases of one measure by one mechanism on one dirty table."""

    data: str
    noise: str
    seed: int
    changes: int
    measure: str
    mechanism: str
    is_default: bool
    releases: int
    true: float
    tau: float
    max_degree: int
    mean: float
    deviation: float
    error: float
    """Mean of |released - true| / true, the paper's normalized error; nan where nothing is violated."""
    error_deviation: float
    """Standard deviation of |released - true| / true over the releases; nan where nothing is violated."""
    error_to_twice_tau: float
    """The same with 2 tau* in place of the true value, which is what the paper's published code compares I_R with."""


def point(data: str, noise: str, seed: int, changes: int, table: Measured, measure: str, mechanism: str,
          values: Sequence[float]) -> Point:  # fmt: skip
    """Summarize releases."""
    true, tau = float(getattr(table.truth, measure)), table.truth.repair_fractional
    return Point(
        data, noise, seed, changes, measure, mechanism, mechanism == table.default(measure), len(values), true, tau,
        table.truth.max_degree, statistics.fmean(values), statistics.pstdev(values), relative_error(values, true),
        error_deviation(values, true), relative_error(values, 2 * tau),
    )  # fmt: skip


def relative_error(values: Sequence[float], true: float) -> float:
    """Mean of |value - true| / true."""
    return statistics.fmean(abs(value - true) / true for value in values) if true else math.nan


def error_deviation(values: Sequence[float], true: float) -> float:
    """Standard deviation of |value - true| / true."""
    return statistics.pstdev(abs(value - true) / true for value in values) if true else math.nan


def mean(values: Iterator[float] | Sequence[float]) -> float:
    """Mean of the numbers that are not nan; nan for none."""
    found = [value for value in values if not math.isnan(value)]
    return statistics.fmean(found) if found else math.nan


class SlowMechanism:
    """Decides where the slow mechanism runs: where its time per conflict so far foretells less than the patience."""

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self.seconds_per_edge = 0.0

    def releases(self, table: Measured, measure: str, mechanism: str, count: int) -> list[float]:
        """As `Measured.releases`; nothing, with a printed reason, where it would take too long."""
        edges = table.truth.minimal_inconsistency
        foretold = self.seconds_per_edge * edges
        if foretold > self._patience:
            print(f"{mechanism} left out on {edges:,} conflicts: one release would take about {foretold:.0f} s")
            return []
        began = time.perf_counter()
        first = table.releases(measure, mechanism, 1)
        took = time.perf_counter() - began
        if edges >= 10_000:  # fewer tell about overhead only
            self.seconds_per_edge = max(self.seconds_per_edge, took / edges)
        return first + table.releases(measure, mechanism, count - 1, patience=self._patience - took)


@functools.cache
def noise_points(noise: str, chosen: Chosen) -> tuple[Point, ...]:
    """All measures, by all mechanisms, at all noise levels of all data sets, at epsilon = 1."""
    scale, sets = chosen.scale, data_sets(chosen.data)
    progress = Progress(noise, len(sets) * scale.tables * scale.levels)
    slow = SlowMechanism(PATIENCE[chosen.quick])
    points = []
    for data in sets:
        for seed in range(SEED, SEED + scale.tables):
            for level, (changes, dirty) in enumerate(LEVELS[noise](data, scale.rows, scale.levels, seed), start=1):
                judge = slow if seed == SEED and (level == scale.levels or not chosen.quick) else None
                points += table_points(data, noise, seed, changes, dirty, scale.releases, judge)
                progress.step(data.name)
    return tuple(points)


def table_points(
    data: DataSet, noise: str, seed: int, changes: int, dirty: pa.Table, count: int, slow: SlowMechanism | None
) -> list[Point]:
    """All measures on one table by all mechanisms (CONoise: those of Figure 4); the slow one if its time is judged."""
    points = []
    with measured(dirty, data.constraints) as table:
        for measure in BY_NAME:
            shown = {table.default(measure), PAPERS[measure], SLOW}
            for mechanism in table.mechanisms(measure):
                if noise == "conoise" and mechanism not in shown:
                    continue
                if mechanism != SLOW:
                    values = table.releases(measure, mechanism, count)
                else:
                    values = slow.releases(table, measure, mechanism, count) if slow else []
                if values:
                    points.append(point(data.name, noise, seed, changes, table, measure, mechanism, values))
    return points


def last_level(points: Sequence[Point]) -> list[Point]:
    """The points of the largest noise of each data set."""
    most = {one.data: max(p.changes for p in points if p.data == one.data) for one in points}
    return [one for one in points if one.changes == most[one.data]]


def is_shown(one: Point, role: str) -> bool:
    """Whether a point belongs to a role of the figures: 'default', 'paper' or 'r2t'."""
    return {
        "default": one.is_default,
        "paper": one.mechanism == PAPERS[one.measure],
        "r2t": one.mechanism == SLOW,
    }[role]
