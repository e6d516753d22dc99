"""An exact test: do two samples of released answers differ by more than what their charge allows?

For each event E of a family that is fixed before anything is drawn, with p and q its probabilities on neighbouring
tables, the charge allows p <= most(q): e^epsilon q for a pure one; what rho-zCDP or mu-GDP allow for the others. The
hypothesis "allowed" is tested with x of n draws in E on the one table and y of n on the other:

- for one pair (p, q), P[X >= x] at p and P[Y <= y] at q are p-values (exact binomial tails, as in Clopper and Pearson
  1934), independent of each other, so for z their product P[product <= z] <= z (1 - ln z) (Fisher 1932);
- the product grows with p, so it is largest on the boundary p = most(q); there the first factor grows with q and the
  second falls, so between two points of a grid it is at most the first at the right one times the second at the left
  one. The largest of these bounds z for every allowed pair.

An event is reported if z (1 - ln z) <= (ALARM / 2) / (SAMPLINGS * LOOKS * tests of the family), both tables in both
roles and each event with its complement. By Bonferroni, a run that makes at most SAMPLINGS comparisons, each after one
of LOOKS numbers of draws (which one may hang on the draws), reports anything about correct code with probability at
most ALARM / 2; the other half is for the games of `guessing`. Together ALARM = 5e-7, below 1e-6.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, norm

from dpdb.privacy import GDP, PURE, Notion

ALARM = 5e-7
SAMPLINGS = 80  # comparisons of correct code with its charge in one run of all tests of this room, `slow` ones included
LOOKS = 200  # numbers of draws after which a comparison may be made

Array = NDArray[np.float64]

# -- events: the same for every door --------------------------------------------------------------------------

VALUES = sorted({k / 2 for k in range(1, 19)} | {k / 8 for k in range(1, 8)})
SCALES = [2 ** (k / 2) for k in range(-6, 7)]
THETAS = [1, 2, 3, 4]
NUMBERS = ("value", "lower", "upper", "noise_scale", "theta")


@dataclass(frozen=True)
class Answers:
    """Numbers of the draws of one door on one table: field -> draws x releases; what is None is -1."""

    fields: dict[str, Array]

    @staticmethod
    def of(draws: Sequence[Sequence[dict[str, object]]]) -> Answers:
        def numbers(name: str) -> Array:
            rows = [[-1.0 if release[name] is None else float(release[name]) for release in draw] for draw in draws]
            return np.array(rows)

        return Answers({name: numbers(name) for name in NUMBERS})

    def __len__(self) -> int:
        return len(self.fields["value"])


def events(answers: Answers, edges: Sequence[float]) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """Yield every event of the family by name, and which draws lie in it.

    `edges` has one number per release of a draw: those of a door are chosen with its tables, not with its answers.
    """
    fields = answers.fields
    for k in range(len(edges)):
        value, scale, theta = (fields[name][:, k] for name in ("value", "noise_scale", "theta"))
        for name in ("value", "lower", "upper"):
            for t in VALUES:
                yield f"{name}[{k}] >= {t}", fields[name][:, k] >= t
        for low, high in itertools.pairwise(VALUES):
            yield f"{low} <= value[{k}] < {high}", (low <= value) & (value < high)
        for s in SCALES:
            yield f"noise_scale[{k}] <= {s:.3g}", scale <= s
            yield f"noise_scale[{k}] <= {s:.3g} and value[{k}] >= {edges[k]}", (scale <= s) & (value >= edges[k])
            yield f"noise_scale[{k}] <= {s:.3g} and value[{k}] < {edges[k]}", (scale <= s) & (value < edges[k])
        for t in THETAS:
            yield f"theta[{k}] <= {t}", theta <= t
            yield f"theta[{k}] <= {t} and value[{k}] >= {edges[k]}", (theta <= t) & (value >= edges[k])
    above = (fields["value"] >= np.array(edges)).sum(axis=1)
    for count in range(1, len(edges) + 1):
        yield f"at least {count} values at their edges", above >= count
        for t in THETAS:
            small = (fields["theta"] <= t).all(axis=1)
            yield f"every theta <= {t} and at least {count} values at their edges", small & (above >= count)
            yield f"every theta <= {t} and fewer than {count} values at their edges", small & (above < count)
    for t in VALUES:
        yield f"sum of values >= {t}", fields["value"].sum(axis=1) >= t
    same = (fields["value"] == fields["value"][:, :1]).all(axis=1)
    yield "all values the same", same


# -- what a charge allows -------------------------------------------------------------------------------------

# Close together where probabilities are small.
GRID = np.unique(np.concatenate([[0.0, 1.0], np.geomspace(1e-6, 0.5, 500), 1 - np.geomspace(1e-6, 0.5, 500)]))
ORDERS = (1.05, 1.25, 1.5, 2.0, 3.0, 5.0, 9.0)


@cache
def most_allowed(notion: Notion, charge: int) -> Array:
    """The greatest probability on one table where it is q on the neighbour, for each q of `GRID`; rounded up."""
    parameter = notion.value(charge)
    if notion is PURE:
        grown = math.exp(parameter)
        return np.minimum(1.0, np.minimum(grown * GRID, 1 - (1 - GRID) / grown) + 1e-12)
    if notion is GDP:
        return np.minimum(1.0, norm.cdf(norm.ppf(GRID) + parameter) + 1e-12)
    return np.minimum(1.0, _most_zcdp(parameter) + 1e-9)


def _most_zcdp(rho: float) -> Array:
    """Bisect for the greatest p whose Renyi divergences from q, both ways, are at most order * rho (Bun, Steinke 2016).

    The divergence between two answers bounds that between the events (post-processing), and grows with p - q.
    """
    low, high = GRID.copy(), np.ones_like(GRID)
    for _ in range(60):
        middle = (low + high) / 2
        fits = np.ones(len(GRID), bool)
        for order in ORDERS:
            for one, two in ((middle, GRID), (GRID, middle)):
                fits &= _renyi(one, two, order) <= order * rho
        low, high = np.where(fits, middle, low), np.where(fits, high, middle)
    return np.minimum(1.0, high)


def _renyi(p: Array, q: Array, order: float) -> Array:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        inside = np.where(p > 0, p**order * q ** (1 - order), 0) + np.where(
            p < 1, (1 - p) ** order * (1 - q) ** (1 - order), 0
        )
        return np.log(inside) / (order - 1)


# -- the test -------------------------------------------------------------------------------------------------


def excess_events(
    more: Answers,
    fewer: Answers,
    edges: Sequence[float],
    notion: Notion,
    charge: int,
    guesses: Sequence[tuple[NDArray[np.int_], NDArray[np.int_]]],
) -> list[str]:
    """Return the events whose probabilities differ by more than the charge allows, with the counts.

    `guesses` are each attacker's on either table; each of its two guesses is an event too.
    """
    most = most_allowed(notion, charge)
    pairs = [
        (name, int(one.sum()), int(two.sum()))
        for (name, one), (_, two) in zip(events(more, edges), events(fewer, edges), strict=True)
    ]
    for number, (one, two) in enumerate(guesses):
        for said in (-1, 1):
            pairs.append((f"attacker {number} says {said}", int((one == said).sum()), int((two == said).sum())))
    limit = math.log(ALARM / 2 / (SAMPLINGS * LOOKS * 4 * len(pairs)))
    n, m = len(more), len(fewer)
    found = []
    for name, x, y in pairs:
        for words, hits, of, other, of_other in (
            (name, x, n, y, m),
            (f"not {name}", n - x, n, m - y, m),
            (f"{name}, of the smaller table", y, m, x, n),
            (f"not {name}, of the smaller table", m - y, m, n - x, n),
        ):
            # Within what is allowed, z is far from small.
            suspicious = hits / of > np.interp(other / of_other, GRID, most)
            if suspicious and _log_p_value(hits, of, other, of_other, most) <= limit:
                found.append(f"{words}: {hits} of {of} against {other} of {of_other}")
    return found


def _log_p_value(x: int, n: int, y: int, m: int, most: Array) -> float:
    log_z = float(np.max(binom.logsf(x - 1, n, most[1:]) + binom.logcdf(y, m, GRID[:-1])))
    return log_z + math.log1p(-log_z)
