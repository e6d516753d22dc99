"""Figure 4: true and released measures over 200 iterations of CONoise, epsilon = 1.

    python figure_4.py FOLDER [--data DIR] [--quick] [--releases 200]

The paper prints no number for this figure. Printed here, point by point: how much the error of dpdb's default is above
or below that of the paper's mechanism, in standard errors.
"""

from __future__ import annotations

from collections.abc import Sequence

from common import Statement, options, report, write_csv
from comparing import print_comparisons
from curves import draw_curves, print_errors
from measuring import is_shown, mean, noise_points


def main(arguments: Sequence[str] | None = None) -> Sequence[Statement]:
    """Run, print, write figure_4.csv and figure_4.png."""
    chosen = options(__doc__, arguments)
    points = noise_points("conoise", chosen)
    print_errors("Figure 4 (CONoise)", points, {})
    print_comparisons("Figure 4 (CONoise)", points)
    write_csv(chosen.out / "figure_4.csv", points)
    draw_curves(
        chosen.out / "figure_4.png",
        "Figure 4: true and released measures, CONoise up to 200 iterations, epsilon = 1",
        points,
    )
    spread = {
        measure: mean(
            [
                one.deviation / one.true
                for one in points
                if one.measure == measure and is_shown(one, "paper") and one.true
            ]
        )
        for measure in ("minimal_inconsistency", "problematic", "repair")
    }
    return report(
        [
            Statement(
                "Section 6.2",
                "our approach for I_MI and I_P has a higher standard deviation compared to I_R",
                ", ".join(f"{measure} {value:.3f}" for measure, value in spread.items())
                + " of the true value, CONoise",
                spread["repair"] < min(spread["minimal_inconsistency"], spread["problematic"]),
            )
        ]
    )


if __name__ == "__main__":
    main()
