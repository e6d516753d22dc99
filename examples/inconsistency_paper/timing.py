"""Run times for Figures 7 and 8: from a dirty table to one release, cut in building the conflict graph and the rest.

The paper does not say whether its times include building the graph. Every run opens a session of its own, so nothing is
remembered between measures; the kernels are compiled and loaded before the first one.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from datasets import SEED, DataSet, subset
from measuring import BY_NAME, PAPERS, SYMBOLS

from dpdb.constraints import DenialConstraint
from dpdb.owner.dirt import rnoise
from dpdb.release import Session

COLOURS = {"minimal_inconsistency": "#0072b2", "problematic": "#d55e00", "repair": "#009e73"}
LOOKS = {"default": ("-", "o", "dpdb's default"), "paper": ("--", "s", "paper's mechanism")}


@dataclass(frozen=True)
class Timing:
    """One release of one measure by one mechanism."""

    data: str
    alpha: float
    rows: int
    constraints: int
    edges: int
    measure: str
    role: str
    mechanism: str
    graph_seconds: float
    release_seconds: float

    @property
    def seconds(self) -> float:
        """Everything."""
        return self.graph_seconds + self.release_seconds


def timings(
    data: DataSet,
    dirty: pa.Table,
    alpha: float,
    constraints: Sequence[DenialConstraint],
    repeats: int = 1,
    roles: Sequence[str] = tuple(LOOKS),
) -> list[Timing]:
    """Time every measure by the default and by the paper's mechanism, epsilon = 1; the fastest of `repeats` runs."""
    found = []
    with Session(dirty, constraints=constraints) as session:
        edges = session._private.statistics().graph.degree_summary().edge_count
    for measure, known in BY_NAME.items():
        names = {"default": known.default, "paper": PAPERS[measure]}
        for role in roles:
            mechanism = names[role]
            seconds = min((_timed(dirty, constraints, measure, mechanism) for _ in range(repeats)), key=sum)
            size = dirty.num_rows, len(constraints), edges
            found.append(Timing(data.name, alpha, *size, measure, role, mechanism, *seconds))
    return found


def _timed(
    dirty: pa.Table, constraints: Sequence[DenialConstraint], measure: str, mechanism: str
) -> tuple[float, float]:
    """Seconds to build the conflict graph, and from there to the release."""
    began = time.perf_counter()
    with Session(dirty, constraints=constraints) as session:
        _ = session._private.statistics().graph
        built = time.perf_counter()
        session.dp_inconsistency(measure, 1, mechanism=mechanism, max_degree=dirty.num_rows)
        return built - began, time.perf_counter() - built


@functools.cache
def warm_up(data: DataSet) -> None:
    """Compile or load everything once."""
    dirty = rnoise(subset(data, 300), data.constraints, alpha=0.01, seed=SEED)
    timings(data, dirty, 0.01, data.constraints)


def print_timings(title: str, runs: Iterable[Timing], varied: str, paper: Any) -> None:
    """Print total seconds per run, with what the paper prints."""
    print(f"\n{title}")
    names = [f"{SYMBOLS[measure]} {role}" for measure in BY_NAME for role in LOOKS]
    print(f"{varied:>12}{'edges':>12}" + "".join(f"{name:>14}" for name in names) + "   paper")
    lines: dict[Any, list[Timing]] = {}
    for run in runs:
        lines.setdefault((run.data, run.alpha, getattr(run, varied)), []).append(run)
    for (_, _, value), same in lines.items():
        seconds = {(run.measure, run.role): f"{run.seconds:.3f}" for run in same}
        cells = "".join(f"{seconds.get((measure, role), '-'):>14}" for measure in BY_NAME for role in LOOKS)
        print(f"{value:>12}{same[0].edges:>12}{cells}   {paper(same[0])}")


def draw_timings(axis: Any, runs: Sequence[Timing], varied: str) -> None:
    """One line per measure and mechanism; log scale of seconds."""
    for measure in BY_NAME:
        for role, (style, marker, _) in LOOKS.items():
            same = [run for run in runs if (run.measure, run.role) == (measure, role)]
            words = f"{SYMBOLS[measure]}, {LOOKS[role][2]}"
            x = [getattr(run, varied) for run in same]
            y = [run.seconds for run in same]
            axis.plot(x, y, style, color=COLOURS[measure], marker=marker, markersize=4.5, label=words)
    axis.set_yscale("log")
