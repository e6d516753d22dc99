"""The year of `year.py` without verdicts: a number for each of the 25 checks every day, under a ledger of epsilon 1.

    python examples/checks/daily_numbers.py                   # 1/365 a day, so that the ledger lasts for the year
    python examples/checks/daily_numbers.py --daily 0.1

A check is said to fail where its number is beyond its limit by more than noise explains in all of them together (99%),
and by a naive gate where the number is beyond the limit at all.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import warnings
from collections.abc import Sequence
from decimal import ROUND_DOWN, Decimal
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from commands import command
from dirt import Dirt, schedule
from suite import CHECKS, true_counts
from year import HOSPITAL

import dpdb
from dpdb.errors import BudgetExceededError
from dpdb.ledger import Ledger

RULES = [check.rule for check in CHECKS if not check.below]


def numbers(table: Path, ledger: Path, each: Decimal) -> list[float]:
    """Release a number for each check."""
    with dpdb.open(table, constraints=RULES, ledger=ledger) as s:
        of_rules = s.dp_inconsistency("repair", epsilon=each * len(RULES), each_constraint=True)
        of_rows = [s.dp_count(where=check.where, epsilon=each) for check in CHECKS if check.below]
    return [one.value for one in (*of_rules, *of_rows)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the year and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--daily", type=Decimal, help="epsilon of a day (default: 1 / days)")
    parser.add_argument("--seed", type=int, default=28, help="of the schedule (default: %(default)s)")
    options = parser.parse_args(arguments)
    daily = options.daily or Decimal(1) / options.days
    each = (daily / len(CHECKS)).quantize(Decimal("1e-9"), ROUND_DOWN)
    paid = min(options.days, int(1 / daily))
    margin = math.log(paid * len(CHECKS) / (2 * 0.01)) / float(each)
    faults = schedule(np.random.default_rng(options.seed), options.days)
    dirt = Dirt(pq.read_table(HOSPITAL), faults, np.random.default_rng([options.seed, 1]))
    warnings.simplefilter("ignore")  # that little is left
    failed: dict[str, int] = {}
    released = alarms = empty = 0
    with tempfile.TemporaryDirectory() as folder:
        table, path = Path(folder) / "hospital.parquet", Path(folder) / "numbers.ledger"
        command("budget", "create", path, "--epsilon", "1")
        for day in range(1, options.days + 1):
            rows = dirt.after(day)
            pq.write_table(rows, table)
            if day > 1:
                with Ledger.open(path) as ledger:
                    ledger.open_epoch()
            try:
                found = numbers(table, path, each)
            except BudgetExceededError:
                empty = day
                break
            for check, count, value in zip(CHECKS, true_counts(rows), found, strict=True):
                released += 1
                alarms += check.is_broken(value, rows.num_rows) and not check.is_broken(count, rows.num_rows)
                if check.is_broken(value + margin * (1 if check.below else -1), rows.num_rows):
                    failed.setdefault(check.name, day)
    print(f"25 numbers a day at epsilon {daily:.4g}, each within {margin:,.0f} rows")
    print(f"the ledger is empty on day {empty}" if empty else f"the ledger lasts for {options.days} days")
    print("failed: " + (", ".join(f"{name} on day {day}" for name, day in failed.items()) or "none"))
    print(f"a gate without that margin: {alarms:,} false alarms among {released:,} numbers")
    return 0


if __name__ == "__main__":
    sys.exit(main())
