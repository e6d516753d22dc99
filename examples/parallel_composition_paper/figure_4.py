"""Figure 4: utility gain on the census-shaped workload against the number of queries (section 7.2).

    python figure_4.py FOLDER [--quick]

The workload is drawn as the paper describes it; no census data is involved. The paper prints: gain between 85% and 95%,
around 95% for most, clique and overlap always equal, colouring equal in most cases.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from common import COLOURS, MARKERS, METHODS, census_runs, figure, groups, mean, options, print_runs, write_csv


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, print, write figure_4.csv and figure_4.png."""
    chosen = options(__doc__, arguments)
    runs = census_runs(chosen.quick)
    same = groups(runs)
    print_runs(
        "Figure 4",
        runs,
        lambda run: f"gain {mean(r.gain for r in same[run.workload, run.queries, run.method]):.3f}; paper .85 to .95",
    )
    for method in ("clique", "clique_overlap", "dsatur"):
        exact = {(run.queries, run.repetition): run.value for run in runs if run.method == "auto" and run.optimal}
        gaps = [
            run.value - exact[run.queries, run.repetition]
            for run in runs
            if run.method == method and (run.queries, run.repetition) in exact
        ]
        print(f"{METHODS[method]}: above the maximum overlap in {sum(g > 0 for g in gaps)} of {len(gaps)} sets")
    write_csv(chosen.out / "figure_4.csv", runs)

    def draw(picture: Any, axes: Any) -> None:
        (axis,) = axes.flat
        counts = sorted({run.queries for run in runs})
        for offset, method in enumerate(METHODS):
            gains = [mean(run.gain for run in same["census", count, method]) for count in counts]
            axis.plot(
                counts,
                gains,
                color=COLOURS[method],
                marker=MARKERS[method],
                markersize=9 - 2 * offset,  # the lines lie on each other
                linewidth=4 - offset,
                label=METHODS[method],
            )
        axis.axhspan(0.85, 0.95, color="#f0e442", alpha=0.25, label="range printed in the paper")
        axis.set(xlabel="queries t", ylabel="mean utility gain", ylim=(0.8, 1))
        axis.legend(fontsize=8, loc="lower right")
        picture.suptitle("Census-shaped workload (synthetic): utility gain")

    figure(chosen.out / "figure_4.png", draw)


if __name__ == "__main__":
    main()
