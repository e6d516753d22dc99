"""Table 1: utility gain and average error of ten query sets under mu-GDP with mu = 1 (section 7.3).

    python table_1.py FOLDER [--quick]

The paper's nine sets are logs of census queries that are not public. Ours have the same numbers of queries but are
drawn from the census-shaped workload of section 7.2, so overlaps and gains differ from the printed ones; only the
errors of sequential composition must agree. The error is that of a Gaussian of standard deviation sqrt(charge), whose
mean absolute value is sqrt(2 / pi) of it, for a charge of t or of the maximum overlap.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from common import METHODS, PAPER_TABLE_1, figure, options, print_runs, timed, write_csv
from workloads import census_workload

from dpdb.predicates.region import Region


def error(charge: int) -> float:
    """Mean absolute error of one answer when the charges of all sum to mu = 1."""
    return math.sqrt(2 * charge / math.pi)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, print, write table_1.csv and table_1.png."""
    chosen = options(__doc__, arguments)
    combined: list[Region] = []
    runs = []
    for seed, (name, (count, *_)) in enumerate(PAPER_TABLE_1.items(), start=1):
        workload = combined if name == "Combined" else census_workload(count, seed)
        combined = combined + workload
        runs += timed(workload, name, 0, METHODS, 3.0 if chosen.quick else 60.0)
    print_runs(
        "Table 1: a synthetic workload in place of the paper's logs, with as many queries",
        runs,
        lambda run: f"overlap {PAPER_TABLE_1[run.workload][1]} on its own logs",
    )
    rows = []
    print(f"\n{'set':<10}{'t':>5}{'overlap':>9}{'gain':>7}{'seq.':>8}{'opt.':>8}   paper: overlap, gain, seq., opt.")
    for run in runs:
        if run.method != "auto":
            continue
        count, overlap, gain, sequential, optimal = PAPER_TABLE_1[run.workload]
        rows.append(
            {
                "set": run.workload,
                "queries": run.queries,
                "overlap": run.value,
                "gain": round(run.gain, 4),
                "error_sequential": round(error(run.queries), 3),
                "error_optimal": round(error(run.value), 3),
                "paper_overlap": overlap,
                "paper_gain": gain,
                "paper_error_sequential": sequential,
                "paper_error_optimal": optimal,
            }
        )
        print(
            f"{run.workload:<10}{count:>5}{run.value:>9}{run.gain:>7.3f}{error(count):>8.3f}{error(run.value):>8.3f}"
            f"   {overlap}, {gain:.3f}, {sequential:.3f}, {optimal:.3f}"
        )
    print("The gain is a share of the charge. Gaussian noise grows with the root of the charge, so by the paper's own")
    _, _, gain, sequential, optimal = PAPER_TABLE_1["Combined"]
    print(f"numbers its combined set saves {1 - optimal / sequential:.1%} of the noise, not {gain:.1%}.")
    write_csv(chosen.out / "table_1.csv", rows)

    def draw(picture: Any, axes: Any) -> None:
        (axis,) = axes.flat
        columns = {
            "error_sequential": ("#bbbbbb", "sequential"),
            "paper_error_optimal": ("#d55e00", "optimal, printed in the paper (its logs)"),
            "error_optimal": ("#0072b2", "optimal, ours (synthetic workload)"),
        }
        for position, (column, (colour, words)) in enumerate(columns.items()):
            places = [k + 0.27 * (position - 1) for k in range(len(rows))]
            axis.bar(places, [row[column] for row in rows], 0.27, color=colour, label=words)
        axis.set_xticks(
            range(len(rows)), [f"{row['set'].replace('Combined', 'all')}\n{row['queries']}" for row in rows]
        )
        axis.set(xlabel="query set, number of queries", ylabel="mean absolute error, mu = 1")
        axis.legend(fontsize=8)
        picture.suptitle("Error under mu-GDP: sequential against parallel composition")

    figure(chosen.out / "table_1.png", draw, width=2)


if __name__ == "__main__":
    main()
