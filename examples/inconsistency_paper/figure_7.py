"""Figure 7: run time by rows (Tax, RNoise alpha 0.005 and 0.01) and by number of constraints (Flight).

    python figure_7.py FOLDER [--data DIR] [--quick]

Times are dpdb's on this machine; the paper's are from its own code on a server. With k constraints of Flight, alpha is
0.005 k as the paper's end points say (0.005 for one, 0.065 for thirteen).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from common import Chosen, Progress, Statement, figure, options, report, shared_legend, write_csv
from datasets import SEED, data_sets, largest_data_set, subset
from measuring import BY_NAME
from timing import LOOKS, Timing, draw_timings, print_timings, timings, warm_up

from dpdb.owner.dirt import rnoise

ALPHAS = (0.005, 0.01)
ALPHA_PER_CONSTRAINT = 0.005
PAPER_ROWS = {100: "at most 10 edges, 0.001 s", 1_000_000: "322 million edges, 4500 s (alpha 0.005)"}
PAPER_CONSTRAINTS = {1: "about 5 s for I_MI and I_P, at most 1 s for I_R", 13: "25 s for I_MI and I_P, 5 s for I_R"}


def sizes(chosen: Chosen, rows: int) -> list[int]:
    """Numbers of rows: powers of ten, in the full form also their triples, and the largest."""
    most = min(chosen.scale.largest, rows)
    steps = [step * 10**power for power in range(2, 6) for step in ((1,) if chosen.quick else (1, 3))]
    return [step for step in steps if step < most] + [most]


MODERATE = 100_000
"""Rows up to which runs are repeated and the paper's mechanisms are timed: Algorithm 4 scans the graph once for every
candidate theta where there are too many edges to list."""


def effort(chosen: Chosen, rows: int) -> tuple[int, tuple[str, ...]]:
    """Timed runs per table, and the roles."""
    return (chosen.scale.repeats, tuple(LOOKS)) if rows <= MODERATE else (1, ("default",))


@functools.cache
def by_rows(chosen: Chosen) -> tuple[Timing, ...]:
    """Time growing tables."""
    data = largest_data_set(chosen)
    warm_up(data)
    whole = subset(data, chosen.scale.largest)
    wanted = [(alpha, rows) for rows in sizes(chosen, whole.num_rows) for alpha in ALPHAS]
    progress = Progress("figure 7, rows", len(wanted))
    runs = []
    for alpha, rows in wanted:
        dirty = rnoise(subset(data, rows), data.constraints, alpha=alpha, seed=SEED)
        runs += timings(data, dirty, alpha, data.constraints, *effort(chosen, rows))
        progress.step(f"{rows} rows, alpha {alpha}")
    return tuple(runs)


def by_constraints(chosen: Chosen) -> list[Timing]:
    """Time growing sets of Flight's constraints, with noise that grows with them."""
    (data,) = (one for one in data_sets(chosen.data) if one.name == "flight")
    counts = range(1, len(data.constraints) + 1, chosen.scale.constraint_step)
    progress = Progress("figure 7, constraints", len(counts))
    runs = []
    for count in counts:
        some, alpha = data.constraints[:count], ALPHA_PER_CONSTRAINT * count
        dirty = rnoise(subset(data, chosen.scale.rows), some, alpha=alpha, seed=SEED)
        runs += timings(data, dirty, alpha, some, chosen.scale.repeats)
        progress.step(f"{count} constraints")
    return runs


def main(arguments: Sequence[str] | None = None) -> Sequence[Statement]:
    """Run, print, write figure_7.csv and figure_7.png."""
    chosen = options(__doc__, arguments)
    rows, constraints = list(by_rows(chosen)), by_constraints(chosen)
    for alpha in ALPHAS:
        title = f"Figure 7, {rows[0].data}, RNoise alpha {alpha}: seconds from table to release"
        print_timings(
            title, [run for run in rows if run.alpha == alpha], "rows", lambda run: PAPER_ROWS.get(run.rows, "")
        )
    title = "Figure 7, flight, alpha 0.005 per constraint: seconds from table to release"
    print_timings(title, constraints, "constraints", lambda run: PAPER_CONSTRAINTS.get(run.constraints, ""))
    write_csv(chosen.out / "figure_7.csv", [*rows, *constraints])

    def draw(picture: Any, axes: Any) -> None:
        left, middle, right = axes.flat
        for axis, alpha in ((left, ALPHAS[0]), (middle, ALPHAS[1])):
            draw_timings(axis, [run for run in rows if run.alpha == alpha], "rows")
            axis.set(title=f"{rows[0].data}, alpha = {alpha}", xlabel="rows", xscale="log")
        left.plot(
            [100, 10**6], [0.001, 4500], "k*", markersize=9, label="printed: measure not named (left), I_MI and I_P"
        )
        middle.set(ylim=left.get_ylim(), xlim=left.get_xlim())
        draw_timings(right, constraints, "constraints")
        right.plot([1, 13], [5, 25], "k*", markersize=9)
        right.plot([1, 13], [1, 5], "kP", markersize=7, label="printed: I_R")
        right.set(title="flight, alpha = 0.005 per constraint", xlabel="constraints")
        left.set_ylabel("seconds")
        shared_legend(picture, axes, 4)
        picture.suptitle("Figure 7: run time from the table to the release")

    figure(chosen.out / "figure_7.png", draw, columns=3, size=(3.9, 3.3))
    return report(statements(rows))


def fitted(x: Sequence[float], y: Sequence[float]) -> tuple[float, float]:
    """Slope of the least-squares line and the share of the variance that it explains."""
    slope, base = np.polyfit(x, y, 1)
    residuals = np.asarray(y) - (slope * np.asarray(x) + base)
    return float(slope), 1 - float(np.var(residuals) / np.var(y))


def is_exponential(x: Sequence[float], y: Sequence[float]) -> tuple[bool, str]:
    """Whether y grows exponentially in x: that must fit better than a power law, and explain nine tenths of log y."""
    logs = [math.log(value) for value in y]
    exponent, power = fitted([math.log(value) for value in x], logs)
    _, exponential = fitted(list(x), logs)
    words = f"a power law with exponent {exponent:.2f} explains {power:.1%} of the variance of the logarithm"
    return exponential > max(power, 0.9), f"{words}, an exponential {exponential:.1%}"


def statements(rows: Sequence[Timing]) -> list[Statement]:
    """Growth of edges and of time."""
    shown = [run for run in rows if run.alpha == ALPHAS[0] and run.edges > 0]
    one = [run for run in shown if (run.measure, run.role) == ("minimal_inconsistency", "default")]
    if len(one) > 2:
        exponential, words = is_exponential([run.rows for run in one], [run.edges for run in one])
    else:
        exponential, words = None, f"only {len(one)} sizes with conflicts"
    found = [
        Statement(
            "Section 6.2",
            "the number of edges scales exponentially when we increase the number of nodes",
            words,
            exponential,
        )
    ]
    large = [run for run in shown if run.rows >= 10_000]  # below, fixed costs rule
    if len({run.rows for run in large}) > 1:
        slopes = {}
        for measure in BY_NAME:
            for role in ("default", "paper"):
                same = [run for run in large if (run.measure, run.role) == (measure, role)]
                times = [math.log(run.seconds) for run in same]
                slopes[measure, role] = fitted([math.log(run.edges) for run in same], times)[0]
        words = ", ".join(f"{measure} {role} {slope:.2f}" for (measure, role), slope in slopes.items())
        paper = [slope for (_, role), slope in slopes.items() if role == "paper"]
        sentence = "the time taken by our algorithm is proportional to the graph size"
        found.append(
            Statement(
                "Section 6.2",
                sentence,
                f"time grows as edges to the power of: {words}",
                all(0.75 <= s <= 1.25 for s in paper),
            )
        )
    for count, edges in ((100, "at most 10"), (1_000_000, "322 million")):
        here = next((run.edges for run in one if run.rows == count), None)
        sentence = f"a graph of {count:,} Tax rows at alpha = 0.005 has {edges} edges"
        if here is None or one[0].data != "tax":
            found.append(Statement("Section 6.2", sentence, "not run at this size", None))
        else:
            close = here <= 10 if count == 100 else 161_000_000 <= here <= 644_000_000
            found.append(Statement("Section 6.2", sentence, f"{here:,}", close))
    return found


if __name__ == "__main__":
    main()
