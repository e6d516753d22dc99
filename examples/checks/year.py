"""A year of 25 checks on a table that gets dirtier, by 365 runs of `dpdb check --keep`.

    python examples/checks/year.py                          # 365 commands; some minutes
    python examples/checks/year.py --folder year            # keeps its files; started again, goes on where it stopped

Cells of the bundled table go wrong by a seeded schedule: loads that spoil hundreds of rows at once, programs that spoil
a few each day, and small slips. Each day the command runs as a scheduler would run it, on the file of that day. For
each check the day is shown on which plain SQL finds it broken, and the day on which the command says so.
`daily_numbers.py` does the usual thing with the same table: 25 numbers a day.
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
import pyarrow as pa
import pyarrow.parquet as pq
from commands import command
from dirt import Dirt, schedule
from suite import CHECKS, in_columns, suite_text, true_counts

HOSPITAL = Path(__file__).resolve().parents[1] / "data" / "hospital.parquet"


class Year:
    """The days so far: when each check was broken, when it was said to fail, and since when it is not shown."""

    def __init__(self, folder: Path, epsilon: str, days: int) -> None:
        self.table, self.suite, self.ledger = folder / "hospital.parquet", folder / "suite.txt", folder / "year.ledger"
        self.epsilon, self.days = epsilon, days
        self.suite.write_text(suite_text(), encoding="utf-8")
        if not self.ledger.exists():
            command("budget", "create", self.ledger, "--epsilon", epsilon)
        self.broken: dict[int, int] = {}
        self.failed: dict[int, tuple[int, str, int]] = {}
        self.not_shown: dict[int, int] = {}
        self.codes = Counter[int]()
        self.false_fails = self.wrong_bounds = 0

    def run(self, day: int, rows: pa.Table) -> None:
        """Check one day's table."""
        pq.write_table(rows, self.table)
        code, printed = command(
            "check", self.table, self.suite, "--epsilon", self.epsilon, "--ledger", self.ledger, "--keep", "year",
            "--runs", str(self.days), "--run-id", f"day-{day:03}", "--format", "json", "--quiet",
        )  # fmt: skip
        if code not in {0, 1, 5}:
            raise SystemExit(f"day {day}: exit code {code}")
        self.codes[code] += 1
        for place, (check, count, one) in enumerate(
            zip(CHECKS, true_counts(rows), json.loads(printed)["checks"], strict=True)
        ):
            if check.is_broken(count, rows.num_rows):
                self.broken.setdefault(place, day)
            if one["verdict"] == "fail" and place not in self.failed:
                self.failed[place] = (day, f"{one['lower'] or 0:,.0f} to {one['upper']:,.0f}", count)
                self.false_fails += place not in self.broken
            if one["verdict"] in ("not shown", "undecided"):
                self.not_shown.setdefault(place, day)
            if one["verdict"] in ("pass", "not shown") and one["unit"] == "rows":
                self.wrong_bounds += not (one["lower"] or 0) <= count <= (one["upper"] or count)

    def show(self) -> None:
        """Print what was found of the checks that were broken, and what it cost."""
        lines = [("check", "limit", "broken on day", "failed on day", "said to be", "true that day")]
        for place, check in enumerate(CHECKS):
            if place in self.broken or place in self.failed:
                day, size, count = self.failed.get(place, ("-", "-", "-"))
                found = (str(self.broken.get(place, "-")), str(day), size, f"{count}")
                lines.append((check.name, check.limit_words, *found))
        print(in_columns(lines))
        print(f"{len(CHECKS) - len(lines) + 1} checks were never broken and never failed.")
        print(f"Failed within the limit: {self.false_fails}. Wrong bounds of passes: {self.wrong_bounds}.")
        print("Days by exit code: " + ", ".join(f"{count} of {code}" for code, count in sorted(self.codes.items())))
        if self.not_shown:
            print(f"Not shown at times: {len(self.not_shown)} checks, from day {min(self.not_shown.values())} on.")
        print(command("budget", "suites", self.ledger)[1].splitlines()[0])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the year and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--epsilon", default="1", help="of the suite (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=28, help="of the schedule (default: %(default)s)")
    parser.add_argument("--folder", type=Path, help="for the files, which are kept then")
    options = parser.parse_args(arguments)
    faults = schedule(np.random.default_rng(options.seed), options.days)
    dirt = Dirt(pq.read_table(HOSPITAL), faults, np.random.default_rng([options.seed, 1]))
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.folder or Path(scratch)
        folder.mkdir(exist_ok=True)
        year = Year(folder, options.epsilon, options.days)
        print("; ".join(fault.words for fault in faults))
        for day in range(1, options.days + 1):
            year.run(day, dirt.after(day))
            if sys.stderr.isatty():
                print(f"\rday {day}: {len(year.broken)} broken, {len(year.failed)} failed", end="", file=sys.stderr)
        year.show()
    return 1 if year.false_fails or year.wrong_bounds else 0


if __name__ == "__main__":
    sys.exit(main())
