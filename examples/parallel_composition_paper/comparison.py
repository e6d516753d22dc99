"""The comparison in one table: method x workload with value, optimal and seconds.

    python comparison.py FOLDER [--quick]

Census-shaped workloads (section 7.2) and uniform ones over a domain of 10^22 (section 7.1, with eleven attributes of
100 values, and with sizes drawn as in the paper); the full form adds 2,000 queries over 10^2500.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from common import COLOURS, METHODS, Run, figure, options, print_runs, sweep, write_csv
from workloads import attribute_sizes, census_workload, uniform_workload

PAPER = {  # what the paper prints of the clique methods
    "census": "time-outs from t = 1350 (60 s)",
    "uniform 10^22": "time-outs at about 50 to 80 queries (10 s, 10^48)",
}


def workloads(quick: bool) -> list[tuple[str, int, Callable[[], Any], tuple[str, ...]]]:
    """Name, repetition, workload and methods of every line."""
    every = tuple(METHODS)
    found: list[tuple[str, int, Callable[[], Any], tuple[str, ...]]] = [
        ("census", 0, functools.partial(census_workload, 2000), every),
        ("census", 0, functools.partial(census_workload, 100_000), ("auto",)),  # no graph of 100,000 queries
    ]
    for queries in (50, 100):
        sizes = attribute_sizes(22, 0)
        found.append(("uniform 10^22 (paper)", 0, functools.partial(uniform_workload, queries, sizes, 0), every))
    for queries in (50, 100, 300):
        found.append(("uniform 10^22", 0, functools.partial(uniform_workload, queries, [100] * 11, 0), every))
    if not quick:
        found.append(("uniform 10^2500", 0, functools.partial(uniform_workload, 2000, [10] * 2500, 0), every))
    return found


def paper(run: Run) -> str:
    """What the paper prints about such a workload."""
    if run.method not in ("clique", "clique_overlap"):
        return ""
    return next((words for name, words in PAPER.items() if run.workload.startswith(name)), "")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, print, write comparison.csv and comparison.png."""
    chosen = options(__doc__, arguments)
    runs = sweep("comparison", workloads(chosen.quick), 4.0 if chosen.quick else 60.0)
    print_runs("Comparison", runs, paper)
    write_csv(chosen.out / "comparison.csv", runs)

    def draw(picture: Any, axes: Any) -> None:
        (axis,) = axes.flat
        names = list(dict.fromkeys((run.workload, run.queries) for run in runs))
        for position, (method, words) in enumerate(METHODS.items()):
            shown = [run for run in runs if run.method == method]
            places = [names.index((run.workload, run.queries)) + 0.2 * (position - 1.5) for run in shown]
            bars = axis.bar(places, [run.value for run in shown], 0.2, color=COLOURS[method], label=words)
            axis.bar_label(bars, [f"{run.value}" for run in shown], fontsize=7, rotation=90, padding=2)
        ticks = [f"{name.replace(' (paper)', '*')}\nt = {queries:,}" for name, queries in names]
        axis.set_xticks(range(len(names)), ticks, fontsize=7)
        axis.set(ylabel="overlap charged", yscale="log")
        axis.margins(y=0.15)
        axis.legend(fontsize=8, loc="upper right", ncols=2)
        picture.suptitle("Overlap charged by each method (* sizes drawn as in the paper)")

    figure(chosen.out / "comparison.png", draw, width=2)


if __name__ == "__main__":
    main()
