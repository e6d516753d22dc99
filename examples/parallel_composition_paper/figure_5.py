"""Figure 5: share of census-shaped query sets finished within the cap (section 7.2).

    python figure_5.py FOLDER [--quick]

The paper prints for a cap of 60 s: colouring always finishes; the clique methods begin to time out at t = 1350.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from common import COLOURS, MARKERS, METHODS, census_runs, figure, groups, mean, options, print_runs, write_csv


def paper(queries: int, method: str) -> str:
    """What the paper prints for a cap of 60 s."""
    if method == "dsatur" or (method != "auto" and queries < 1350):
        return "100%"
    return "" if method == "auto" else "below 100%"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, print, write figure_5.csv and figure_5.png."""
    chosen = options(__doc__, arguments)
    runs = census_runs(chosen.quick)
    print_runs("Figure 5", runs, lambda run: paper(run.queries, run.method))
    rows = [
        {
            "queries": queries,
            "method": method,
            "finished": mean(run.finished for run in same),
            "paper": paper(queries, method),
        }
        for (_, queries, method), same in groups(runs).items()
    ]
    write_csv(chosen.out / "figure_5.csv", rows)

    def draw(picture: Any, axes: Any) -> None:
        (axis,) = axes.flat
        for offset, method in enumerate(METHODS):
            shown = [row for row in rows if row["method"] == method]
            axis.plot(
                [row["queries"] for row in shown],
                [100 * row["finished"] for row in shown],
                color=COLOURS[method],
                marker=MARKERS[method],
                markersize=9 - 2 * offset,  # the lines lie on each other
                linewidth=4 - offset,
                label=METHODS[method],
            )
        axis.axvline(1350, linestyle=":", color="#d55e00", label="paper: first clique time-outs (60 s)")
        axis.set(xlabel="queries t", ylabel="finished within the cap, %", ylim=(-3, 105))
        axis.legend(fontsize=8, loc="lower left")
        picture.suptitle("Census-shaped workload (synthetic): query sets finished")

    figure(chosen.out / "figure_5.png", draw)


if __name__ == "__main__":
    main()
