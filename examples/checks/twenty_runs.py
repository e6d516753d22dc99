"""20 real runs of `dpdb check`: 25 checks of the bundled table after some things went wrong, beside their true counts.

    python examples/checks/twenty_runs.py                     # or --runs 100 --epsilon 0.5

Each run is a command with noise of its own. With 99% no check of a run fails within its limit, and with 98% all bounds
hold besides: one that passes beyond its limit is beyond it by less than its bound says.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from commands import command
from dirt import Dirt, Fault
from suite import CHECKS, in_columns, suite_text, true_counts

HOSPITAL = Path(__file__).resolve().parents[1] / "data" / "hospital.parquet"
FAULTS = (
    Fault("phone_number", None, 1, 400, 0), Fault("address", "swapped", 1, 60, 0), Fault("city", "lower", 1, 25, 0),
    Fault("Alaska", "lost", 1, 200, 0), Fault("zip_code", 99, 1, 5, 0),
)  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Run and count; 1 if a verdict or a bound is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--epsilon", default="1")
    options = parser.parse_args(arguments)
    rows = Dirt(pq.read_table(HOSPITAL), FAULTS, np.random.default_rng(20)).after(1)
    truth = true_counts(rows)
    broken = [check.is_broken(count, rows.num_rows) for check, count in zip(CHECKS, truth, strict=True)]
    verdicts = [Counter[str]() for _ in CHECKS]
    outside, costs = 0, []
    with tempfile.TemporaryDirectory() as folder:
        table, suite = Path(folder) / "hospital.parquet", Path(folder) / "suite.txt"
        pq.write_table(rows, table)
        suite.write_text(suite_text(), encoding="utf-8")
        for _ in range(options.runs):
            _, printed = command("check", table, suite, "--epsilon", options.epsilon, "--format", "json", "--quiet")
            found = json.loads(printed)
            costs.append(found["epsilon"])
            for place, one in enumerate(found["checks"]):
                verdicts[place][one["verdict"]] += 1
                if one["unit"] == "rows":
                    upper = truth[place] if one["upper"] is None else one["upper"]
                    outside += not (one["lower"] or 0) <= truth[place] <= upper
    heads = ("check", "limit", "true", "", "failed", "passed", "not shown", "undecided")
    lines = [heads]
    for check, count, bad, found in zip(CHECKS, truth, broken, verdicts, strict=True):
        said = (str(found[verdict]) for verdict in ("fail", "pass", "not shown", "undecided"))
        lines.append((check.name, check.limit_words, f"{count:,}", "broken" if bad else "", *said))
    print(in_columns(lines))
    false_fails = sum(found["fail"] for found, bad in zip(verdicts, broken, strict=True) if not bad)
    missed = sum(found["pass"] for found, bad in zip(verdicts, broken, strict=True) if bad)
    print(
        f"{options.runs} runs of {len(CHECKS)} checks: {false_fails} failed within their limits, {missed} passed "
        f"beyond them, {outside} bounds wrong, {sum(found['not shown'] for found in verdicts)} not "
        f"shown, {sum(found['undecided'] for found in verdicts)} undecided; epsilon "
        f"{min(costs):.3f} to {max(costs):.3f}"
    )
    return 1 if false_fails or outside else 0


if __name__ == "__main__":
    sys.exit(main())
