"""Figure 8: run time by data set, subsets of 10,000 rows with RNoise at alpha = 0.001.

    python figure_8.py FOLDER [--data DIR] [--quick]

The paper shows curves only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from common import Statement, figure, options, report, shared_legend, write_csv
from datasets import SEED, data_sets, subset
from figure_7 import is_exponential
from timing import draw_timings, print_timings, timings, warm_up

from dpdb.owner.dirt import rnoise

ALPHA = 0.001


def main(arguments: Sequence[str] | None = None) -> Sequence[Statement]:
    """Run, print, write figure_8.csv and figure_8.png."""
    chosen = options(__doc__, arguments)
    runs = []
    warm_up(data_sets(chosen.data)[0])
    for data in data_sets(chosen.data):
        dirty = rnoise(subset(data, chosen.scale.rows), data.constraints, alpha=ALPHA, seed=SEED)
        runs += timings(data, dirty, ALPHA, data.constraints, chosen.scale.repeats)
    title = "Figure 8, RNoise alpha 0.001: seconds from table to release (the paper: only shown as curves)"
    print_timings(title, runs, "data", lambda _: "")
    write_csv(chosen.out / "figure_8.csv", runs)

    def draw(picture: Any, axes: Any) -> None:
        (axis,) = axes.flat
        draw_timings(axis, runs, "data")
        edges = {run.data: run.edges for run in runs}
        axis.set_xticks(range(len(edges)), [f"{data}\n{count:,} edges" for data, count in edges.items()], fontsize=8)
        axis.set(ylabel="seconds", yscale="linear", ylim=(0, None))
        shared_legend(picture, axes, 3)
        picture.suptitle("Figure 8: run time by data set, RNoise alpha = 0.001")

    figure(chosen.out / "figure_8.png", draw, size=(6.4, 3.6))
    paper = [run for run in runs if (run.measure, run.role) == ("minimal_inconsistency", "paper") and run.edges]
    sentence = "the runtime increases exponentially with the total number of edges in the graph"
    if len(paper) < 4:
        return report([Statement("Appendix A.4", sentence, f"only {len(paper)} data sets with conflicts", None)])
    exponential, words = is_exponential([run.edges for run in paper], [run.seconds for run in paper])
    return report([Statement("Appendix A.4", sentence, words, exponential)])


if __name__ == "__main__":
    main()
