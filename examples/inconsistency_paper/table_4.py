"""Table 4: probabilities of the candidates, exponential mechanism against the two-step one, epsilon = 1.

    python table_4.py FOLDER [--quick]

The paper's two-step columns leave out the candidate that the first step chose. Algorithm 4, line 9, keeps it (theta <=
theta*), so its probabilities are computed both ways.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from common import Statement, figure, options, report, write_csv
from toy import CANDIDATES, probabilities, projected_edges, qualities

COLUMNS = {  # column: (first choice or None, printed probabilities of theta = 1, 2, 3)
    "EM": (None, (0.35, 0.33, 0.31)),
    "2-EM after theta 3": (3, (0.51, 0.49, None)),
    "2-EM after theta 2": (2, (1.0, None, None)),
}


def chances(edges: Sequence[int], first: int | None, *, keep: bool) -> list[float]:
    """Probability of each candidate: EM with epsilon 1, or the second step with 1/2 below (or at) the first choice."""
    if first is None:
        return probabilities([quality for _, quality in qualities(edges, 1)], 1, CANDIDATES[-1])
    left = [theta for theta in CANDIDATES if theta < first or (keep and theta == first)]
    scores = [quality for _, quality in qualities(edges[: len(left)], 1)]
    found = probabilities(scores, 0.5, first)
    return found + [0.0] * (len(CANDIDATES) - len(found))


def main(arguments: Sequence[str] | None = None) -> Sequence[Statement]:
    """Compute, print, write table_4.csv and table_4.png."""
    chosen = options(__doc__, arguments)
    edges = projected_edges()
    rows = []
    print("\nTable 4: probability of each theta\ncolumn                theta  Algorithm  first choice removed  paper")
    for column, (first, printed) in COLUMNS.items():
        kept, removed = (chances(edges, first, keep=keep) for keep in (True, False))
        for theta, ours, other, paper in zip(CANDIDATES, kept, removed, printed, strict=True):
            rows.append(
                {"column": column, "theta": theta, "algorithm": ours, "first_choice_removed": other}
                | {"paper": math.nan if paper is None else paper}
            )
            print(f"{column:<22}{theta:>5}{ours:>11.3f}{other:>22.3f}  {'-' if paper is None else paper}")
    write_csv(chosen.out / "table_4.csv", rows)

    def draw(picture: Any, axes: Any) -> None:
        for axis, column in zip(axes.flat, COLUMNS, strict=True):
            here = [row for row in rows if row["column"] == column]
            looks = (
                ("paper", "#bbbbbb", ""),
                ("algorithm", "#0072b2", "//"),
                ("first_choice_removed", "#d55e00", ".."),
            )
            texts = ("printed", "Algorithm 3 or 4", "first choice removed")
            for number, ((key, colour, hatch), text) in enumerate(zip(looks, texts, strict=True)):
                places = [theta + 0.27 * (number - 1) for theta in CANDIDATES]
                axis.bar(
                    places, [row[key] for row in here], 0.25, color=colour, hatch=hatch, edgecolor="white", label=text
                )
            axis.set_xticks(CANDIDATES)
            axis.set(title=column, xlabel="theta", ylim=(0, 1.05))
        axes[0][0].set_ylabel("probability")
        axes[0][0].legend(fontsize=8)
        picture.suptitle("Table 4: probabilities of the candidates")

    figure(chosen.out / "table_4.png", draw, columns=3, size=(3.2, 3))
    return report(statements(edges))


def statements(edges: Sequence[int]) -> list[Statement]:
    """EM and the two-step columns."""
    (_, printed), found = COLUMNS["EM"], chances(edges, None, keep=True)
    close = all(abs(ours - paper) <= 0.01 for ours, paper in zip(found, printed, strict=True) if paper is not None)
    after_3, after_2 = (chances(edges, first, keep=True)[0] for first in (3, 2))
    first_step = probabilities([quality for _, quality in qualities(edges, 1)], 0.5, CANDIDATES[-1])
    total = first_step[0] + first_step[1] * after_2 + first_step[2] * after_3
    words = ", ".join(f"{one:.3f}" for one in found)
    return [
        Statement("Table 4", "EM chooses theta = 1, 2, 3 with 0.35, 0.33, 0.31", words, close),
        Statement(
            "Example 4",
            "with a two-step exponential mechanism the likelihood of theta = 1 goes up to 0.51 if the first step chose "
            "theta = 3 or 1 if it chose theta = 2",
            f"Algorithm 4 keeps theta <= theta*: {after_3:.3f} after theta = 3, {after_2:.3f} after theta = 2, "
            f"{total:.3f} over both steps, against {found[0]:.3f} for EM",
            abs(after_3 - 0.51) <= 0.01 and abs(after_2 - 1) <= 0.01,
        ),
    ]  # fmt: skip


if __name__ == "__main__":
    main()
