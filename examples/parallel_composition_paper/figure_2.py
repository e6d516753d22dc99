"""Figure 2: the workloads whose maximum clique was found, by the size of that clique (section 7.1).

    python figure_2.py FOLDER [--quick]

The paper's claim: many cliques of 10 or more up to a domain of 10^10000, almost none above.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from common import figure, options, print_runs, uniform_runs, write_csv

CLASSES = ((1, 4, "#56b4e9", "v"), (5, 9, "#e69f00", "s"), (10, 10**9, "#d55e00", "o"))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, print, write figure_2.csv and figure_2.png."""
    chosen = options(__doc__, arguments)
    runs = [run for run in uniform_runs(chosen.quick) if run.method in ("auto", "clique")]
    finished = [run for run in runs if run.method == "clique" and run.finished]
    print_runs("Figure 2: value of `clique` is the clique number where it finished", runs)
    write_csv(chosen.out / "figure_2.csv", runs)

    def draw(picture: Any, axes: Any) -> None:
        (axis,) = axes.flat
        for low, high, colour, marker in CLASSES:
            shown = [run for run in finished if low <= run.value <= high]
            powers = [int(run.workload.removeprefix("10^")) for run in shown]
            words = f"clique number {low} to {high}" if high < 10**9 else f"clique number {low} or more"
            axis.scatter([run.queries for run in shown], powers, color=colour, marker=marker, label=words)
        axis.set(xlabel="queries t", ylabel="log10 of the domain size", xscale="log", yscale="log")
        axis.margins(0.08, 0.35)
        axis.legend(fontsize=8, loc="upper left")
        picture.suptitle("Uniform workload: size of the maximum clique")

    figure(chosen.out / "figure_2.png", draw)


if __name__ == "__main__":
    main()
