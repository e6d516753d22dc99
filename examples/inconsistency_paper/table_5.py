"""Table 5: the data sets, and the maximum degree of the conflict graph after RNoise at alpha = 0.01.

python table_5.py FOLDER [--data DIR] [--quick]
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

import pyarrow.parquet as pq
from common import Statement, figure, options, report, write_csv
from datasets import ALPHA, SEED, data_sets, subset

from dpdb.owner.dirt import rnoise
from dpdb.release import Session

PAPER_TABLE_5 = {  # data set: rows, attributes, DCs, of them FDs, maximum degree
    "adult": (32561, 15, 3, 2, 9635),
    "flight": (500000, 20, 13, 13, 1520),
    "hospital": (114919, 15, 7, 7, 793),
    "stock": (122498, 7, 1, 1, 1),
    "tax": (1000000, 15, 9, 7, 373),
}


def max_degrees(data: Any, rows: int, seeds: int) -> list[int]:
    """Maximum degree of freshly sampled and dirtied subsets."""
    found = []
    for seed in range(SEED, SEED + seeds):
        dirty = rnoise(subset(data, rows, seed), data.constraints, alpha=ALPHA, seed=seed)
        with Session(dirty, constraints=data.constraints) as session:
            found.append(session._private.statistics().graph.degree_summary().max_degree)
    return found


def main(arguments: Sequence[str] | None = None) -> Sequence[Statement]:
    """Run, print, write table_5.csv and table_5.png."""
    chosen = options(__doc__, arguments)
    rows = []
    print("\nTable 5: rows, attributes, DCs (FDs) and maximum degree at 1% RNoise")
    print(
        f"{'data set':<10}{'rows':>8}{'attrs':>7}{'DCs (FDs)':>11}{'max degree':>12}{'lowest':>8}{'highest':>9}   paper"
    )
    for data in data_sets(chosen.data):
        found = max_degrees(data, chosen.scale.rows, chosen.scale.samples)
        metadata = pq.read_metadata(data.path)
        paper = PAPER_TABLE_5[data.name]
        shape = metadata.num_rows, metadata.num_columns, len(data.constraints), data.dependencies
        rows.append(
            dict(zip(("rows", "attributes", "dcs", "fds"), shape, strict=True), data=data.name)
            | {"max_degree": statistics.fmean(found), "lowest": min(found), "highest": max(found), "seeds": len(found)}
            | dict(
                zip(
                    ("paper_rows", "paper_attributes", "paper_dcs", "paper_fds", "paper_max_degree"), paper, strict=True
                )
            )
        )
        constraints = f"{shape[2]} ({shape[3]})"
        print(
            f"{data.name:<10}{shape[0]:>8}{shape[1]:>7}{constraints:>11}{statistics.fmean(found):>12.1f}{min(found):>8}"
            f"{max(found):>9}   {paper[0]}, {paper[1]}, {paper[2]} ({paper[3]}), {paper[4]}"
        )
    write_csv(chosen.out / "table_5.csv", rows)

    def draw(picture: Any, axes: Any) -> None:
        (axis,) = axes.flat
        places = range(len(rows))
        ours = [row["max_degree"] for row in rows]
        spread = [
            [row["max_degree"] - row["lowest"] for row in rows],
            [row["highest"] - row["max_degree"] for row in rows],
        ]
        axis.errorbar(places, ours, spread, fmt="o", color="#0072b2", capsize=5, label="ours: mean, lowest, highest")
        axis.plot(
            places,
            [row["paper_max_degree"] for row in rows],
            "x",
            color="#d55e00",
            markersize=10,
            markeredgewidth=2,
            label="paper",
        )
        axis.set_xticks(places, [row["data"] for row in rows])
        axis.set(ylabel="maximum degree", yscale="log")
        axis.legend(fontsize=8)
        picture.suptitle("Table 5: maximum degree after RNoise, alpha = 0.01")

    figure(chosen.out / "table_5.png", draw, size=(5.4, 3.4))
    close = all(abs(row["max_degree"] / row["paper_max_degree"] - 1) <= 0.25 for row in rows)
    words = ", ".join(f"{row['data']} {row['max_degree']:.0f} (printed {row['paper_max_degree']})" for row in rows)
    return report(
        [Statement("Table 5", "maximum degrees in a 10k subset with 1% RNoise (test: within 25%)", words, close)]
    )


if __name__ == "__main__":
    main()
