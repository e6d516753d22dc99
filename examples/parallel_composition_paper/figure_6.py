"""Figure 6: mean time on the census-shaped query sets that were finished (section 7.2).

    python figure_6.py FOLDER [--quick]

The paper shows its times as a curve only: the clique methods take longer as t grows, colouring degrades gracefully.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from common import COLOURS, MARKERS, METHODS, census_runs, figure, groups, mean, options, print_runs, write_csv


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, print, write figure_6.csv and figure_6.png."""
    chosen = options(__doc__, arguments)
    runs = [run for run in census_runs(chosen.quick) if run.finished]
    print_runs("Figure 6: finished query sets only", runs)
    rows = [
        {"queries": queries, "method": method, "sets": len(same), "mean_seconds": mean(run.seconds for run in same)}
        for (_, queries, method), same in groups(runs).items()
    ]
    write_csv(chosen.out / "figure_6.csv", rows)

    def draw(picture: Any, axes: Any) -> None:
        (axis,) = axes.flat
        for method, words in METHODS.items():
            shown = [row for row in rows if row["method"] == method]
            counts = [row["queries"] for row in shown]
            seconds = [row["mean_seconds"] for row in shown]
            axis.plot(counts, seconds, color=COLOURS[method], marker=MARKERS[method], label=words)
        axis.set(xlabel="queries t", ylabel="mean seconds", yscale="log")
        axis.legend(fontsize=8)
        picture.suptitle("Census-shaped workload (synthetic): time")

    figure(chosen.out / "figure_6.png", draw)


if __name__ == "__main__":
    main()
