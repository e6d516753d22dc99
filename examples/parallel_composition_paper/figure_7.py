"""Figure 7: utility gain of colouring for other distributions of the queries (section 7.1, domain 10^48).

    python figure_7.py FOLDER [--quick]

The paper names three scales of the exponential and three deviations of the normal distribution without printing them;
ours are in `common.SCALES`. Its claims: the gain is highest for a uniform number of predicates and lowest for a uniform
number of values.
"""

from __future__ import annotations

from collections.abc import Sequence

from common import distribution_runs, draw_distributions, options, print_runs, write_csv


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, print, write figure_7.csv and figure_7.png."""
    chosen = options(__doc__, arguments)
    runs = distribution_runs(chosen.quick, exact=False)
    print_runs(
        "Figure 7: colouring (the paper prints no numbers)", [run for run in runs if run.method in ("auto", "dsatur")]
    )
    write_csv(chosen.out / "figure_7.csv", runs)
    draw_distributions(chosen.out / "figure_7.png", runs, "dsatur")


if __name__ == "__main__":
    main()
