"""Figure 10: utility gain of the overlap variant for other distributions of the queries (section 7.1, domain 10^48).

    python figure_10.py FOLDER [--quick]

The paper shows up to 60 queries and says that the trends are those of Figure 7.
"""

from __future__ import annotations

from collections.abc import Sequence

from common import distribution_runs, draw_distributions, options, print_runs, write_csv


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, print, write figure_10.csv and figure_10.png."""
    chosen = options(__doc__, arguments)
    runs = distribution_runs(chosen.quick, exact=True)
    print_runs(
        "Figure 10: the overlap variant (the paper prints no numbers)",
        [run for run in runs if run.method in ("auto", "clique_overlap")],
    )
    write_csv(chosen.out / "figure_10.csv", runs)
    draw_distributions(chosen.out / "figure_10.png", runs, "clique_overlap")


if __name__ == "__main__":
    main()
