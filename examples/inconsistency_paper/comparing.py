"""Whether the default's mean error is above that of the paper's mechanism, point by point, in standard errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from measuring import SYMBOLS, Point, is_shown, mean

CLEAR = 3.0
"""Standard errors beyond which a difference is called one: by chance once in 740 comparisons of equals."""


@dataclass(frozen=True)
class Comparison:
    """Mean relative errors over the releases, averaged over the dirty tables of one noise level."""

    data: str
    changes: int
    measure: str
    true: float
    default: float
    default_error: float
    """Standard error of `default`, by the noise of the releases; the dirty tables are taken as given."""
    paper: float
    paper_error: float

    @property
    def difference(self) -> float:
        """The default's error minus the paper's mechanism's, in standard errors."""
        apart, spread = self.default - self.paper, math.hypot(self.default_error, self.paper_error)
        return apart / spread if spread else math.copysign(math.inf, apart) if apart else 0.0


def comparisons(points: Sequence[Point]) -> list[Comparison]:
    """One for each measure, data set and noise level where something is violated."""
    found = []
    for key in dict.fromkeys((one.measure, one.data, one.changes) for one in points):
        here = [one for one in points if (one.measure, one.data, one.changes) == key and one.true]
        default, paper = ([one for one in here if is_shown(one, role)] for role in ("default", "paper"))
        if default and paper:
            measure, data, changes = key
            found.append(
                Comparison(data, changes, measure, mean([one.true for one in default]), *_pooled(default),
                           *_pooled(paper))
            )  # fmt: skip
    return found


def print_comparisons(title: str, points: Sequence[Point]) -> None:
    """Print every point, those where the default is clearly worse marked, and how many there are."""
    found = comparisons(points)
    print(f"\n{title}: mean relative error and its standard error, point by point, epsilon 1")
    print(f"{'measure':<8}{'data set':<10}{'changes':>7}{'true':>12}{'default':>19}{'paper':>19}{'difference':>12}")
    for one in found:
        errors = f"{_with_error(one.default, one.default_error)}{_with_error(one.paper, one.paper_error)}"
        mark = "  worse" if one.difference > CLEAR else ""
        print(f"{SYMBOLS[one.measure]:<8}{one.data:<10}{one.changes:>7}{one.true:>12,.0f}{errors}"
              f"{one.difference:>+12.1f}{mark}")  # fmt: skip
    worse = sum(one.difference > CLEAR for one in found)
    better = sum(one.difference < -CLEAR for one in found)
    print(
        f"of {len(found)} points the default is clearly worse at {worse} and clearly better at {better}"
        f" (more than {CLEAR:.0f} standard errors); the smallest and greatest differences are"
        f" {min((one.difference for one in found), default=0):+.1f} and"
        f" {max((one.difference for one in found), default=0):+.1f}"
    )


def _pooled(points: Sequence[Point]) -> tuple[float, float]:
    variance = sum(one.error_deviation**2 / one.releases for one in points)
    return mean([one.error for one in points]), math.sqrt(variance) / len(points)


def _with_error(error: float, standard: float) -> str:
    return f"{error:>10.4f} +-{standard:>6.4f}"
