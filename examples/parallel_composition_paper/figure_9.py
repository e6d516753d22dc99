"""Figure 9: utility gain of the clique number for other distributions of the queries (section 7.1, domain 10^48).

    python figure_9.py FOLDER [--quick]

The paper shows up to 80 queries and says that the trends are those of Figure 7.
"""

from __future__ import annotations

from collections.abc import Sequence

from common import distribution_runs, draw_distributions, options, print_runs, write_csv


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, print, write figure_9.csv and figure_9.png."""
    chosen = options(__doc__, arguments)
    runs = distribution_runs(chosen.quick, exact=True)
    print_runs(
        "Figure 9: the clique number (the paper prints no numbers)",
        [run for run in runs if run.method in ("auto", "clique")],
    )
    write_csv(chosen.out / "figure_9.csv", runs)
    draw_distributions(chosen.out / "figure_9.png", runs, "clique")


if __name__ == "__main__":
    main()
