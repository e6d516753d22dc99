"""Table 3: the quality function for I_MI on the conflict graph of Figure 1, epsilon2 = 1.

python table_3.py FOLDER [--quick]
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from common import Statement, figure, options, report, write_csv
from toy import CANDIDATES, projected_edges, qualities

ROOT = math.sqrt(2)
PAPER_TABLE_3 = {1: (2, -2 - ROOT), 2: (1, -1 - 2 * ROOT), 3: (0, -3 * ROOT)}  # theta: bias, quality


def main(arguments: Sequence[str] | None = None) -> Sequence[Statement]:
    """Compute, print, write table_3.csv and table_3.png."""
    chosen = options(__doc__, arguments)
    rows = []
    print("\nTable 3: quality of theta on the toy graph\ntheta   bias   noise  quality   paper: bias, quality")
    for theta, (bias, quality) in zip(CANDIDATES, qualities(projected_edges(), 1), strict=True):
        printed_bias, printed = PAPER_TABLE_3[theta]
        rows.append(
            {"theta": theta, "bias": bias, "noise": ROOT * theta, "quality": quality}
            | {"paper_bias": printed_bias, "paper_quality": printed}
        )
        print(f"{theta:>5}{bias:>7}{ROOT * theta:>8.3f}{quality:>9.3f}   {printed_bias}, {printed:.3f}")
    write_csv(chosen.out / "table_3.csv", rows)

    def draw(picture: Any, axes: Any) -> None:
        (axis,) = axes.flat
        bias, noise = [row["bias"] for row in rows], [row["noise"] for row in rows]
        axis.bar(CANDIDATES, bias, 0.55, color="#0072b2", label="bias: edges left out")
        axis.bar(
            CANDIDATES,
            noise,
            0.55,
            bottom=bias,
            color="#e69f00",
            hatch="//",
            edgecolor="white",
            label="noise: sqrt(2) theta",
        )
        printed = [-row["paper_quality"] for row in rows]
        ends = [[theta + side for theta in CANDIDATES] for side in (-0.3, 0.3)]
        axis.hlines(printed, *ends, color="black", linewidth=2, label="-q printed in Table 3")
        axis.set_xticks(CANDIDATES)
        axis.set(xlabel="theta", ylabel="-q = bias + noise", ylim=(0, 6))
        axis.legend(fontsize=8)
        picture.suptitle("Table 3: quality on the toy graph")

    figure(chosen.out / "table_3.png", draw, size=(4.6, 3.4))
    gap = max(abs(row["quality"] - row["paper_quality"]) for row in rows)
    best = max(rows, key=lambda row: row["quality"])["theta"]
    return report(
        [
            Statement(
                "Table 3",
                "theta = 1 has the best quality",
                f"best theta {best}, largest difference to the table {gap:.2g}",
                best == 1 and gap < 0.005,
            )
        ]
    )


if __name__ == "__main__":
    main()
