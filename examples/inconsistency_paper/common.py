"""What the scripts of this folder share: the command line, CSV files, pictures, and statements of the paper.

Paper A is Mohapatra, Gilad, He, Kimelfeld: Computing Inconsistency Measures Under Differential Privacy (SIGMOD 2025).
Results are computed in every run; the only fixed numbers are those that the paper prints, in `PAPER...` and in the
columns named `paper...`. Everything here is an owner's evaluation: the CSV files hold exact values of the tables.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Scale:
    """How large the experiments are."""

    rows: int
    """Rows of a table at most; section 6.1 takes subsets of 10,000."""
    levels: int
    """Noise levels of a curve."""
    tables: int
    """Dirty tables per level, each with a seed of its own."""
    releases: int
    """Private releases per table and mechanism; the paper makes 10."""
    largest: int
    """Rows of the largest table of Figure 7."""
    repeats: int
    """Timed runs of which the fastest counts."""
    samples: int
    """Subsets of each data set whose maximum degree Table 5 averages."""
    constraint_step: int
    """Figure 7 takes every so many of Flight's constraints."""


QUICK = Scale(rows=10_000, levels=8, tables=1, releases=20, largest=100_000, repeats=1, samples=5, constraint_step=4)
FULL = Scale(rows=10_000, levels=20, tables=3, releases=50, largest=1_000_000, repeats=3, samples=20, constraint_step=1)


@dataclass(frozen=True)
class Chosen:
    """The command line that all scripts share."""

    out: Path
    data: Path | None
    """A folder with data sets that go before the bundled ones."""
    quick: bool
    scale: Scale


def options(text: str | None, arguments: Sequence[str] | None = None) -> Chosen:
    """Parse it and make the output folder."""
    parser = argparse.ArgumentParser(description=(text or "").split("\n", maxsplit=1)[0])
    parser.add_argument("out", type=Path, metavar="FOLDER", help="where the CSV and PNG files go; made if missing")
    parser.add_argument(
        "--data", type=Path, help="folder with data sets of your own, by make_data.py's names; what it lacks is bundled"
    )
    parser.add_argument("--quick", action="store_true", help="fewer noise levels, releases and rows")
    parser.add_argument("--releases", type=int, help="private releases per table and mechanism")
    parser.add_argument("--rows", type=int, help="rows of the largest table of Figure 7, also with --quick (a million)")
    parsed = parser.parse_args(arguments)
    if parsed.data is not None and not parsed.data.is_dir():
        parser.error(f"--data {parsed.data} is no folder")
    if parsed.rows is not None and not 100 <= parsed.rows <= 10_000_000:
        parser.error(f"--rows must be 100 to 10,000,000, got {parsed.rows:,}")
    if parsed.releases is not None and parsed.releases < 1:
        parser.error(f"--releases must be at least 1, got {parsed.releases}")
    parsed.out.mkdir(parents=True, exist_ok=True)
    scale = QUICK if parsed.quick else FULL
    scale = scale if parsed.releases is None else replace(scale, releases=parsed.releases)
    scale = scale if parsed.rows is None else replace(scale, largest=parsed.rows)
    return Chosen(parsed.out, parsed.data, parsed.quick, scale)


@dataclass(frozen=True)
class Statement:
    """A sentence of the paper, and what this run measured."""

    place: str
    sentence: str
    measured: str
    confirmed: bool | None
    """None: not tested in this run; `measured` says why."""


def agree(ours: float, printed: float) -> bool:
    """Whether a mean error reproduces a printed one: within a factor of two, since the dirty cells are others.

    A smaller error than that does not reproduce it either.
    """
    return printed / 2 <= ours <= 2 * printed


def report(statements: Sequence[Statement]) -> Sequence[Statement]:
    """Print statements with their verdicts."""
    for one in statements:
        verdict = {True: "confirmed", False: "NOT CONFIRMED", None: "not tested"}[one.confirmed]
        print(f'{verdict}: {one.place}: "{one.sentence}"\n    measured: {one.measured}')
    return statements


def write_csv(path: Path, rows: Sequence[Any]) -> None:
    """Write dicts or dataclasses, one column per key; floats with six digits."""
    plain = [row if isinstance(row, dict) else asdict(row) for row in rows]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(plain[0]))
        writer.writeheader()
        for row in plain:
            writer.writerow({key: f"{value:.6g}" if isinstance(value, float) else value for key, value in row.items()})
    print(f"wrote {path}")


def figure(
    path: Path, draw: Callable[[Any, Any], None], rows: int = 1, columns: int = 1, size: tuple[float, float] = (4, 3.2)
) -> None:
    """Draw on axes (rows, columns) of `size` inches each, save as PNG; without matplotlib say so, the CSV remains."""
    if importlib.util.find_spec("matplotlib") is None:
        print(f"no {path.name}: matplotlib is not installed (pip install 'dpdb[figures]')")
        return
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    picture = Figure(figsize=(size[0] * columns + 0.3, size[1] * rows + 0.7), layout="constrained")
    FigureCanvasAgg(picture)
    axes = picture.subplots(rows, columns, squeeze=False)
    draw(picture, axes)
    for axis in axes.flat:
        axis.grid(visible=True, alpha=0.3)
        axis.set_axisbelow(True)
    picture.savefig(path, dpi=130)
    print(f"wrote {path}")


def shared_legend(picture: Any, axes: Any, columns: int) -> None:
    """Put one legend of all lines below the panels, in at most `columns` columns and no wider than the picture."""
    entries: dict[str, Any] = {}
    for axis in axes.flat:
        for handle, text in zip(*axis.get_legend_handles_labels(), strict=True):
            entries.setdefault(text, handle)
    for tried in range(columns, 0, -1):
        legend = picture.legend(
            entries.values(), entries.keys(), loc="outside lower center", ncols=tried, fontsize=9, handlelength=3
        )
        if tried == 1 or legend.get_window_extent(picture.canvas.get_renderer()).width <= 0.98 * picture.bbox.width:
            return
        legend.remove()


class Progress:
    """Says on stderr how far an experiment is, and how long it will still take at that pace."""

    def __init__(self, title: str, total: int) -> None:
        self._title, self._total, self._done = title, total, 0
        self._began = time.perf_counter()

    def step(self, what: str) -> None:
        """One part is done."""
        self._done += 1
        passed = time.perf_counter() - self._began
        left = passed / self._done * (self._total - self._done)
        print(
            f"  {self._title} {self._done}/{self._total} {what}: {passed:.0f} s, about {left:.0f} s left",
            file=sys.stderr,
        )
