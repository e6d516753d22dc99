"""Figure 1: which uniform workloads each method finishes within the cap, by queries and domain size (section 7.1).

    python figure_1.py FOLDER [--quick]

The paper goes to domains of 10^80000 and prints, for a cap of 60 s: the clique methods time out at about t = 350 near
a domain of 10^10000, and at fewer queries elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from common import COLOURS, METHODS, figure, options, print_runs, uniform_runs, write_csv


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, print, write figure_1.csv and figure_1.png."""
    chosen = options(__doc__, arguments)
    runs = uniform_runs(chosen.quick)
    print_runs("Figure 1 (the paper prints no value per workload)", runs)
    write_csv(chosen.out / "figure_1.csv", runs)

    def draw(picture: Any, axes: Any) -> None:
        for axis, method in zip(axes.flat, METHODS, strict=True):
            for finished, marker, words in ((True, "o", "finished"), (False, "x", "time-out")):
                shown = [run for run in runs if run.method == method and run.finished == finished]
                powers = [int(run.workload.removeprefix("10^")) for run in shown]
                colour = COLOURS[method] if finished else "#999999"
                axis.scatter([run.queries for run in shown], powers, marker=marker, color=colour, label=words)
            words = "finished = proved exact; always safe" if method == "auto" else "finished within the cap"
            axis.set(title=f"{METHODS[method]}\n{words}", xlabel="queries t", ylabel="log10 of the domain size")
            axis.set(xscale="log", yscale="log")
            axis.margins(0.08, 0.3)  # room for the legend
            axis.legend(fontsize=8, loc="upper left", ncols=2)
        picture.suptitle("Uniform workload: feasible regions")

    figure(chosen.out / "figure_1.png", draw, 2, 2)


if __name__ == "__main__":
    main()
