"""Figure 9: the bound of Theorem 2 against beta on the graph of Example 1, with the tail that its proof leaves out.

    python figure_9.py FOLDER [--quick]

The theorem bounds the error of Algorithm 2 with Algorithm 3. Its proof replaces the Laplace noise by its standard
deviation; what is missing is (theta_max / epsilon2) (ln(2 / beta) - sqrt(2)), if positive. The error's true quantile is
computed exactly, from the exponential mechanism's probabilities and the tails of the Laplace distribution. The paper's
figure has epsilon1 = epsilon2 = 1; a second panel has epsilon1 = 10, where the theorem as printed is false.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from common import Statement, figure, options, report, write_csv
from toy import CANDIDATES, probabilities, projected_edges, qualities

LARGEST_BETA = math.exp(-math.sqrt(2))
SETTINGS = ((1.0, 1.0), (10.0, 1.0))
EXAMPLE = 0.01
"""The beta of the paper's example (section 4.1)."""


@dataclass(frozen=True)
class Setting:
    """The toy graph at one pair of budgets."""

    edges: Sequence[int]
    first: float
    second: float

    @property
    def scores(self) -> list[float]:
        """Qualities of the candidates."""
        return [quality for _, quality in qualities(self.edges, self.second)]

    def printed(self, beta: float) -> float:
        """Equation 9. The largest candidate is the maximum degree, so the two quality functions agree."""
        best = max(self.scores)
        ties = sum(math.isclose(score, best) for score in self.scores)
        return -best + 2 * CANDIDATES[-1] / self.first * math.log(2 * len(CANDIDATES) / (ties * beta))

    def corrected(self, beta: float) -> float:
        """Equation 9 with the tail."""
        return self.printed(beta) + CANDIDATES[-1] / self.second * max(0.0, math.log(2 / beta) - math.sqrt(2))

    def exceeds(self, error: float) -> float:
        """Probability that the error is larger."""
        chances = probabilities(self.scores, self.first, CANDIDATES[-1])
        total = 0.0
        for chance, theta, kept in zip(chances, CANDIDATES, self.edges, strict=True):
            scale, bias = theta / self.second, self.edges[-1] - kept
            below = 0.5 * math.exp(-abs(error - bias) / scale)
            total += chance * (0.5 * math.exp(-(error + bias) / scale) + (below if error >= bias else 1 - below))
        return total

    def quantile(self, beta: float) -> float:
        """The error that is exceeded with probability beta."""
        low, high = 0.0, 1.0
        while self.exceeds(high) > beta:
            high *= 2
        for _ in range(80):
            middle = (low + high) / 2
            low, high = (middle, high) if self.exceeds(middle) > beta else (low, middle)
        return high


def main(arguments: Sequence[str] | None = None) -> Sequence[Statement]:
    """Compute, print, write figure_9.csv and figure_9.png."""
    chosen = options(__doc__, arguments)
    edges = projected_edges()
    settings = [Setting(edges, first, second) for first, second in SETTINGS]
    betas = [float(beta) for beta in np.geomspace(1e-4, LARGEST_BETA, 40)]
    rows = [
        {"epsilon1": one.first, "epsilon2": one.second, "beta": beta, "printed_bound": one.printed(beta)}
        | {"corrected_bound": one.corrected(beta), "error_quantile": one.quantile(beta)}
        | {"exceeds_printed": one.exceeds(one.printed(beta)), "exceeds_corrected": one.exceeds(one.corrected(beta))}
        for one in settings
        for beta in betas
    ]
    print(f"\nFigure 9: error at beta = {EXAMPLE} (the paper: only shown as a curve)")
    print("epsilon1, epsilon2   printed bound  with the tail  true quantile  P(error > printed bound)")
    for one in settings:
        values = "".join(
            f"{value:>15.2f}" for value in (one.printed(EXAMPLE), one.corrected(EXAMPLE), one.quantile(EXAMPLE))
        )
        print(f"{one.first:>8g}, {one.second:<8g}{values}{one.exceeds(one.printed(EXAMPLE)):>18.4f}")
    write_csv(chosen.out / "figure_9.csv", rows)

    def draw(picture: Any, axes: Any) -> None:
        for axis, one in zip(axes.flat, settings, strict=True):
            axis.plot(
                betas, [one.corrected(beta) for beta in betas], "-", color="#0072b2", label="with the missing tail"
            )
            axis.plot(betas, [one.printed(beta) for beta in betas], "--", color="#d55e00", label="Theorem 2 as printed")
            axis.plot(
                betas,
                [one.quantile(beta) for beta in betas],
                ":",
                color="#000000",
                linewidth=2.2,
                label="error exceeded with probability beta",
            )
            axis.set(
                title=f"epsilon1 = {one.first:g}, epsilon2 = {one.second:g}",
                xlabel="beta",
                xscale="log",
                ylim=(0, None),
            )
        axes[0][0].set_ylabel("distance |o - a|")
        axes[0][1].legend(fontsize=8, loc="upper right")
        picture.suptitle("Figure 9: bound of the error against beta, graph of Example 1")

    figure(chosen.out / "figure_9.png", draw, columns=2, size=(4.2, 3.4))
    return report(statements(settings, betas))


def statements(settings: Sequence[Setting], betas: Sequence[float]) -> list[Statement]:
    """The figure's trend, and the theorem."""
    one, other = settings
    bounds = [one.printed(beta) for beta in betas]
    worst = max(betas, key=lambda beta: other.exceeds(other.printed(beta)) / beta)
    return [
        Statement(
            "Appendix A.5",
            "as beta increases, there is a decrease in the distance between the true answer and the output",
            f"bound {bounds[0]:.1f} at beta = {betas[0]:.2g}, {bounds[-1]:.1f} at {betas[-1]:.2g}",
            bounds == sorted(bounds, reverse=True),
        ),
        Statement(
            "Theorem 2",
            "with a probability of at least 1 - beta the error is at most Equation 9",
            f"epsilon1 = 10, epsilon2 = 1: exceeded with probability {other.exceeds(other.printed(EXAMPLE)):.4f} at "
            f"beta = {EXAMPLE} and {other.exceeds(other.printed(worst)) / worst:.1f} times beta at beta = {worst:.2g}; "
            f"with the tail {other.exceeds(other.corrected(EXAMPLE)):.4f} at beta = {EXAMPLE}",
            all(setting.exceeds(setting.printed(beta)) <= beta for setting in settings for beta in betas),
        ),
    ]


if __name__ == "__main__":
    main()
