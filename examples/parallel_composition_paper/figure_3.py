"""Figure 3: the largest number of queries each method finished within the cap, by domain size (section 7.1).

    python figure_3.py FOLDER [--quick]

The number is one of those tried, so it is a lower bound. The paper prints for a cap of 60 s: thousands of queries for
colouring on very small domains, about 350 for the clique methods at 10^10000, and 100 to 200 for all above 10^20000.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from common import COLOURS, MARKERS, METHODS, figure, options, uniform_runs, write_csv


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, print, write figure_3.csv and figure_3.png."""
    chosen = options(__doc__, arguments)
    runs = uniform_runs(chosen.quick)
    rows = []
    print("\nFigure 3: most queries finished (of the numbers tried)")
    print(f"{'domain':<10}{'tried':>7}" + "".join(f"{words:>18}" for words in METHODS.values()))
    for power in sorted({int(run.workload.removeprefix("10^")) for run in runs}):
        here = [run for run in runs if run.workload == f"10^{power}"]
        most = {m: max((r.queries for r in here if r.method == m and r.finished), default=0) for m in METHODS}
        rows.append({"log10_domain": power, "tried": max(run.queries for run in here), **most})
        print(f"{'10^' + str(power):<10}{rows[-1]['tried']:>7}" + "".join(f"{most[m]:>18}" for m in METHODS))
    write_csv(chosen.out / "figure_3.csv", rows)

    def draw(picture: Any, axes: Any) -> None:
        (axis,) = axes.flat
        powers = [row["log10_domain"] for row in rows]
        for method, words in METHODS.items():
            style = "--" if method == "auto" else "-"
            text = f"{words}: proved exact" if method == "auto" else words
            axis.plot(
                powers, [row[method] for row in rows], style, color=COLOURS[method], marker=MARKERS[method], label=text
            )
        axis.plot(powers, [row["tried"] for row in rows], ":", color="#bbbbbb", label="most tried")
        axis.set(xlabel="log10 of the domain size", ylabel="queries finished", xscale="log", yscale="log")
        axis.legend(fontsize=8)
        picture.suptitle("Uniform workload: queries within the cap")

    figure(chosen.out / "figure_3.png", draw)


if __name__ == "__main__":
    main()
