"""A suite of 25 checks of the bundled hospital table, and what plain SQL counts for each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import duckdb
import pyarrow as pa

__all__ = ["CHECKS", "Check", "in_columns", "suite_text", "true_counts"]


@dataclass(frozen=True)
class Check:
    """A line of the suite; `count` is the SQL of its true statistic over the table `t`.

    `limit` is in rows, or a share of all rows.
    """

    name: str
    rule: str
    limit: int | Fraction
    count: str
    below: bool = False

    @property
    def limit_words(self) -> str:
        limit = f"{float(100 * self.limit):g}%" if isinstance(self.limit, Fraction) else f"{self.limit}"
        return f"{'below' if self.below else 'above'} {limit}"

    @property
    def line(self) -> str:
        return f'"{self.name}": {self.rule}  fail {self.limit_words}'

    @property
    def where(self) -> str | None:
        """The condition of `row_count`."""
        return self.rule.partition(" WHERE ")[2] or None

    def is_broken(self, count: float, rows: int) -> bool:
        """Whether so many are beyond the limit."""
        limit = self.limit * rows if isinstance(self.limit, Fraction) else self.limit
        return count < limit if self.below else count > limit


def _depends(left: str, right: str, limit: int | Fraction = 0) -> Check:
    """A functional dependency: of each group, all rows but those of its commonest value."""
    known = " AND ".join(f"{name} IS NOT NULL" for name in (*left.split(", "), right))
    groups = f"SELECT {left}, {right}, count(*) AS c FROM t WHERE {known} GROUP BY ALL"
    count = (
        f"SELECT coalesce(sum(m - most), 0) FROM (SELECT sum(c) AS m, max(c) AS most FROM ({groups}) GROUP BY {left})"
    )
    return Check(f"{left} has one {right}", f"{left} -> {right}", limit, count)


def _row(name: str, rule: str, broken: str, limit: int | Fraction = 0) -> Check:
    return Check(name, rule, limit, f"SELECT count(*) FROM t WHERE {broken}")


CHECKS = (
    Check("one row per provider and measure", "UNIQUE(provider_number, measure_code)", 0,
          "SELECT coalesce(sum(c - 1), 0) FROM (SELECT count(*) AS c FROM t "
          "WHERE provider_number IS NOT NULL AND measure_code IS NOT NULL GROUP BY provider_number, measure_code)"),
    *(_depends("provider_number", column) for column in ("hospital_name", "address", "county_name", "state")),
    _depends("provider_number", "phone_number", 20),
    _depends("provider_number", "hospital_type", Fraction(1, 200)),
    _depends("provider_number", "emergency_service"),
    _depends("zip_code", "city", Fraction(1, 100)),
    _depends("zip_code", "state"),
    _depends("phone_number", "zip_code", Fraction(1, 100)),
    _depends("measure_code", "measure_name"),
    _depends("measure_name", "measure_code"),
    _depends("measure_code", "condition"),
    _depends("state, measure_code", "state_avg"),
    *(_row(f"{column} is known", f"NOT NULL({column})", f"{column} IS NULL")
      for column in ("provider_number", "phone_number", "hospital_owner")),
    _row("five states", "state IN ('AL', 'AK', 'AZ', 'AR', 'CA')", "state NOT IN ('AL', 'AK', 'AZ', 'AR', 'CA')"),
    _row("zip codes have five digits", "zip_code BETWEEN 10000 AND 99999", "zip_code NOT BETWEEN 10000 AND 99999"),
    _row("cities are capital letters", "city = upper(city)", "city <> upper(city)"),
    _row("provider numbers have five or six characters", "length(provider_number) BETWEEN 5 AND 6",
         "length(provider_number) NOT BETWEEN 5 AND 6"),
    _row("no HTML in conditions", "condition NOT LIKE '%&#%'", "condition LIKE '%&#%'", 100),
    Check("enough rows", "row_count", 9500, "SELECT count(*) FROM t", below=True),
    Check("rows of Alaska", "row_count WHERE state = 'AK'", 200, "SELECT count(*) FROM t WHERE state = 'AK'",
          below=True),
)  # fmt: skip


def suite_text(checks: Sequence[Check] = CHECKS) -> str:
    """Return the suite file."""
    return "".join(f"{check.line}\n" for check in checks)


def true_counts(table: pa.Table, checks: Sequence[Check] = CHECKS) -> list[int]:
    """Count every check's statistic by plain SQL."""
    with duckdb.connect() as connection:
        connection.register("t", table)
        return [connection.execute(check.count).fetchall()[0][0] for check in checks]


def in_columns(lines: Sequence[Sequence[str]]) -> str:
    """Write a table."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)
