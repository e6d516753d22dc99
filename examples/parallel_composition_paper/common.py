"""What the scripts of this folder share: workloads, timed runs of the methods, tables, CSV files and pictures.

Paper B is Smith, Asghar, Gioiosa, Mrabet, Gaspers, Tyler: Making the Most of Parallel Composition in Differential
Privacy (PETS 2022). Results are computed in every run; the only fixed numbers are those the paper prints, in
`PAPER_TABLE_1` and in the columns named `paper...`.

`value` is what a method would charge: the upper bound. `optimal` says that some method, not always the same one, found
a row region collecting as much, so the value is the truth. `finished` says that the method ended before the cap (ours:
that it proved its value by itself); an interrupted clique search charges the colouring or its open branches, never its
incumbent. Times include everything from the predicates on: atoms, the query graph, and for the clique methods a short
search for a witness.
"""

from __future__ import annotations

import argparse
import csv
import functools
import importlib.util
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from workloads import attribute_sizes, census_workload

from dpdb.overlap import maximum_overlap
from dpdb.overlap.instance import Attribute, Instance

METHODS = {"auto": "ours (auto)", "clique": "clique", "clique_overlap": "overlap variant", "dsatur": "DSatur"}
COLOURS = {"auto": "#0072b2", "clique": "#d55e00", "clique_overlap": "#009e73", "dsatur": "#555555"}
MARKERS = {"auto": "o", "clique": "s", "clique_overlap": "^", "dsatur": "x"}

LARGEST_DRAWN = 1000
"""Attributes with more values count in the domain but restrict no query here: two random sets of 10,000 values or more
are disjoint with probability about 0.001, so they decide almost nothing, and their tables would not fit in memory."""

PAPER_TABLE_1 = {  # data set: t, gamma, utility gain, error sequential, error optimal; as printed in the paper
    "1": (9, 6, 0.333, 2.392, 1.9488),
    "2": (120, 107, 0.108, 8.747, 8.254),
    "3": (2, 2, 0.000, 1.133, 1.133),
    "4": (267, 216, 0.191, 13.040, 11.734),
    "5": (54, 34, 0.370, 5.850, 4.657),
    "6": (68, 55, 0.191, 6.573, 5.921),
    "7": (41, 17, 0.585, 5.116, 3.286),
    "8": (38, 20, 0.474, 4.912, 3.568),
    "9": (284, 208, 0.268, 13.446, 11.516),
    "Combined": (883, 563, 0.362, 23.709, 18.940),
}


@dataclass(frozen=True)
class Run:
    """One method on one workload."""

    workload: str
    queries: int
    repetition: int
    method: str
    value: int
    lower: int
    optimal: bool
    finished: bool
    seconds: float

    @property
    def gain(self) -> float:
        """Utility gain of paper B, Eq. 6."""
        return 1 - self.value / self.queries


# -- running ------------------------------------------------------------------------------------------------------


def timed(workload: Any, name: str, repetition: int, methods: Iterable[str], cap: float) -> list[Run]:
    """Run methods on a workload, each with the same cap in seconds."""
    queries = workload.queries if isinstance(workload, Instance) else len(workload)
    bounds = {}
    for method in methods:
        # Colouring ignores the deadline; a short one leaves out the search for a witness, which the paper lacks.
        deadline = 0.01 if method == "dsatur" else cap
        start = time.perf_counter()
        bound = maximum_overlap(workload, method=method, deadline=deadline)
        bounds[method] = bound, time.perf_counter() - start
    reached = max(bound.lower for bound, _ in bounds.values())
    runs = []
    for method, (bound, took) in bounds.items():
        optimal = bound.upper == reached
        finished = bound.optimal if method == "auto" else took < cap
        runs.append(Run(name, queries, repetition, method, bound.upper, bound.lower, optimal, finished, round(took, 4)))
    return runs


def sweep(title: str, jobs: Sequence[tuple[str, int, Callable[[], Any], tuple[str, ...]]], cap: float) -> list[Run]:
    """Run jobs (name, repetition, workload, methods) with progress on stderr; says first how long it can take."""
    worst = sum(len(methods) for *_, methods in jobs) * cap / 60
    print(
        f"{title}: {len(jobs)} workloads, cap {cap:g} s per method: at most about {worst:.0f} minutes, often far less",
        file=sys.stderr,
    )
    runs: list[Run] = []
    began = time.perf_counter()
    for number, (name, repetition, make, methods) in enumerate(jobs, start=1):
        runs += timed(make(), name, repetition, methods, cap)
        print(
            f"  {number}/{len(jobs)} {name} t={runs[-1].queries}, {time.perf_counter() - began:.0f} s", file=sys.stderr
        )
    return runs


@functools.cache
def census_runs(quick: bool) -> list[Run]:
    """Figures 4 to 6: all methods on the census-shaped workload (section 7.2)."""
    counts = (25, 100, 400, 1000, 2000) if quick else (25, 50, 100, 200, 400, 700, 1000, 1350, 1700, 2000)
    sets = 5 if quick else 30
    jobs = [
        ("census", seed, functools.partial(census_workload, count, 1000 * seed + count), tuple(METHODS))
        for count in counts
        for seed in range(sets)
    ]
    return sweep("census-shaped workload", jobs, 3.0 if quick else 60.0)


@functools.cache
def uniform_runs(quick: bool) -> list[Run]:
    """Figures 1 to 3: all methods on uniform workloads over growing domains (section 7.1)."""
    if quick:
        domains, counts, most = (50, 200, 600, 1500), (10, 25, 50, 100, 200), 150_000
    else:
        domains = (100, 300, 1000, 2500, 5000, 10_000, 20_000)
        counts, most = (10, 25, 50, 100, 200, 350, 500, 1000, 2000), 5_000_000
    jobs = [
        (f"10^{power}", 0, functools.partial(large_uniform, count, power, power + count), tuple(METHODS))
        for power in domains
        for count in counts
        if power * count <= most  # memory
    ]
    return sweep("uniform workload", jobs, 2.0 if quick else 60.0)


# -- workloads of sections 7.1 and 7.2 with other distributions -----------------------------------------------------


@dataclass(frozen=True)
class Shape:
    """Distributions of the four quantities of section 7.1; None is uniform, a number is a scale or deviation.

    Scales and deviations are shares of the range (of the number of attributes or of values). The text of the paper
    does not print the ones it used.
    """

    predicates: float | None = None
    attributes: float | None = None
    sizes: float | None = None
    values: float | None = None


QUANTITIES = {
    "predicates": ("number of predicates", "exp"),
    "attributes": ("attributes", "norm"),
    "sizes": ("number of values per predicate", "exp"),
    "values": ("attribute values", "norm"),
}
SCALES = (0.1, 0.3, 1.0)


def shapes() -> list[tuple[str, str, Shape]]:
    """(quantity, label, shape): uniform and three other distributions for each quantity in turn."""
    found = []
    for quantity, (_, kind) in QUANTITIES.items():
        found.append((quantity, "uniform", Shape()))
        found += [(quantity, f"{kind} {scale:g}", Shape(**{quantity: scale})) for scale in SCALES]
    return found


def large_uniform(queries: int, log10_domain: int, seed: int, shape: Shape | None = None) -> Instance:
    """Random queries over a domain of 10^log10_domain points; attributes above `LARGEST_DRAWN` values restrict nothing.

    Each query picks its number of attributes, the attributes, and for each a number of values and the values, from the
    distributions of `shape`.
    """
    rng = np.random.default_rng(seed)
    shape = shape or Shape()
    sizes = attribute_sizes(log10_domain, seed)
    many = len(sizes)
    used = _subsets(rng, _counts(rng, queries, many, shape.predicates), many, shape.attributes)
    attributes = []
    for k, size in enumerate(sizes):
        users = np.flatnonzero(used[:, k])
        if size > LARGEST_DRAWN or not len(users):
            continue
        codes = np.full(queries, -1, np.int32)
        codes[users] = np.arange(len(users))
        patterns = _subsets(rng, _counts(rng, len(users), size, shape.sizes), size, shape.values)
        attributes.append(Attribute(f"a{k}", codes, patterns, functools.partial("a{} = {}".format, k)))
    return Instance(np.ones(queries, np.int64), np.arange(queries), queries, tuple(attributes))


def _counts(rng: np.random.Generator, draws: int, most: int, scale: float | None) -> np.ndarray:
    """Numbers from 1 to `most`: uniform, or exponential of scale `scale * most`, conditioned on the range."""
    if scale is None:
        return rng.integers(1, most + 1, draws)
    # The exponential distribution cut off at 1, by inversion: every draw stays in the range.
    share = -scale * np.log1p(-rng.random(draws) * -np.expm1(-1 / scale))
    return np.clip(np.ceil(share * most), 1, most).astype(np.int64)


def _subsets(rng: np.random.Generator, sizes: np.ndarray, size: int, deviation: float | None) -> np.ndarray:
    """Booleans (draw, value): as many values as asked, uniform or by a normal weight around the middle."""
    keys = rng.gumbel(size=(len(sizes), size)).astype(np.float32)
    if deviation is not None:
        keys -= (0.5 * (((np.arange(size) + 0.5) / size - 0.5) / deviation) ** 2).astype(np.float32)
    # Sorting by log-weight plus Gumbel noise draws without replacement in proportion to the weights.
    threshold = np.take_along_axis(np.sort(keys, axis=1), (size - sizes)[:, None], axis=1)
    return keys >= threshold


@functools.cache
def distribution_runs(quick: bool, exact: bool) -> list[Run]:
    """Figures 7, 9 and 10: other distributions over a domain of 10^48; `exact` is for the slow methods (t up to 80)."""
    if exact:
        methods, counts = (
            ("auto", "clique", "clique_overlap", "dsatur"),
            (20, 50) if quick else (10, 20, 30, 40, 60, 80),
        )
    else:
        methods, counts = ("auto", "dsatur"), (50, 200) if quick else (25, 50, 100, 200, 400, 700, 1000)
    done = set()
    jobs = []
    for quantity, label, shape in shapes():
        name = "uniform" if label == "uniform" else f"{quantity} {label}"
        if name in done:
            continue
        done.add(name)
        for count in counts:
            for seed in range(1 if quick else 3):
                make = functools.partial(large_uniform, count, 48, 100 * seed + count, shape)
                jobs.append((name, seed, make, methods))
    return sweep("other distributions", jobs, 0.8 if quick else 10.0)


# -- results --------------------------------------------------------------------------------------------------------


def options(text: str | None, arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line that all scripts share."""
    parser = argparse.ArgumentParser(description=(text or "").split("\n", maxsplit=1)[0])
    parser.add_argument("out", type=Path, metavar="FOLDER", help="where the CSV and PNG files go; made if missing")
    parser.add_argument("--quick", action="store_true", help="fewer and smaller workloads and lower caps")
    chosen = parser.parse_args(arguments)
    chosen.out.mkdir(parents=True, exist_ok=True)
    return chosen


def write_csv(path: Path, rows: Sequence[Run | dict[str, Any]]) -> None:
    """Write rows, one column per key."""
    plain = [{**asdict(row), "gain": round(row.gain, 4)} if isinstance(row, Run) else row for row in rows]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(plain[0]))
        writer.writeheader()
        writer.writerows(plain)
    print(f"wrote {path}")


def groups(runs: Sequence[Run]) -> dict[tuple[str, int, str], list[Run]]:
    """Runs by (workload, queries, method)."""
    found: dict[tuple[str, int, str], list[Run]] = {}
    for run in runs:
        found.setdefault((run.workload, run.queries, run.method), []).append(run)
    return found


def print_runs(title: str, runs: Sequence[Run], paper: Callable[[Run], str] = lambda _: "") -> None:
    """Print means per workload and method: value, optimal, finished, seconds, and what the paper says."""
    print(f"\n{title}")
    numbers = f"{'value':>8}{'lower':>8}{'optimal':>9}{'finished':>10}{'seconds':>9}"
    print(f"{'workload':<22}{'t':>6}  {'method':<16}{numbers}  paper")
    for (workload, queries, method), same in groups(runs).items():
        print(
            f"{workload:<22}{queries:>6}  {METHODS[method]:<16}{mean(run.value for run in same):>8.1f}"
            f"{mean(run.lower for run in same):>8.1f}"
            f"{sum(run.optimal for run in same):>6}/{len(same)}{sum(run.finished for run in same):>7}/{len(same)}"
            f"{mean(run.seconds for run in same):>10.3f}  {paper(same[0])}".rstrip()
        )


def mean(values: Iterable[float]) -> float:
    """The mean, nan for nothing."""
    found = list(values)
    return sum(found) / len(found) if found else float("nan")


def figure(path: Path, draw: Callable[[Any, Any], None], rows: int = 1, columns: int = 1, width: int = 1) -> None:
    """Draw on axes and save as PNG; without matplotlib the reason is printed and the CSV remains."""
    if importlib.util.find_spec("matplotlib") is None:
        print(f"no {path.name}: matplotlib is not installed (pip install 'dpdb[figures]')")
        return
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    picture = Figure(figsize=(1 + 4.6 * columns * width, 0.6 + 3.6 * rows), layout="constrained")
    FigureCanvasAgg(picture)
    axes = picture.subplots(rows, columns, squeeze=False)
    draw(picture, axes)
    for axis in axes.flat:
        axis.grid(visible=True, alpha=0.3)
    picture.savefig(path, dpi=130)
    print(f"wrote {path}")


def draw_distributions(path: Path, runs: Sequence[Run], method: str) -> None:
    """Four panels, one per quantity: utility gain against t for each distribution (Figures 7, 9 and 10)."""
    same = groups(runs)
    counts = sorted({run.queries for run in runs})
    palette = ("#000000", "#0072b2", "#d55e00", "#009e73")

    def draw(picture: Any, axes: Any) -> None:
        for axis, (quantity, (words, _)) in zip(axes.flat, QUANTITIES.items(), strict=True):
            labels = [label for found, label, _ in shapes() if found == quantity]
            for label, colour in zip(labels, palette, strict=True):
                name = label if label == "uniform" else f"{quantity} {label}"
                for shown, style in ((method, "-"), ("auto", ":")):
                    gains = [mean(run.gain for run in same[name, count, shown]) for count in counts]
                    text = label if shown == method else None
                    axis.plot(counts, gains, style, color=colour, marker=MARKERS[shown], markersize=4, label=text)
            axis.set(title=f"distribution of {words}", xlabel="queries t", ylabel="utility gain", ylim=(-0.02, 1.1))
            axis.legend(fontsize=8, loc="upper center", ncols=4)
        picture.suptitle(f"solid: {METHODS[method]}, dotted: {METHODS['auto']}")

    figure(path, draw, 2, 2)
