"""Checks of other tools on how new rows are: what is taken as which line, and what is left out with which reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpdb.rules import import_rules
from dpdb.suites import load_suite

DBT = """
version: 2
sources:
  - name: shop
    loaded_at_field: loaded
    freshness: {warn_after: {count: 12, period: hour}, error_after: {count: 1, period: day}, filter: "id > 3"}
    tables:
      - name: orders
        tests:
          - dbt_utils.recency: {datepart: day, field: created_at, interval: 2}
          - dbt_utils.recency: {datepart: month, field: created_at, interval: 2}
          - dbt_utils.recency: {datepart: day, field: created_at, interval: 2, group_by_columns: [a]}
          - dbt_utils.recency: {datepart: day, field: created_at, interval: 2, ignore_time_component: true}
          - dbt_utils.recency: {datepart: day, field: "now()", interval: 2}
          - dbt_expectations.expect_row_values_to_have_recent_data:
              {column_name: created_at, datepart: hour, interval: 36, row_condition: "id > 5", severity: warn}
          - dbt_expectations.expect_grouped_row_values_to_have_recent_data:
              {group_by: [a], timestamp_column: b, datepart: day, interval: 1}
      - name: quiet
        freshness: null
      - name: own
        config: {loaded_at_field: at, freshness: {error_after: {count: 90, period: minute}}}
      - name: queried
        loaded_at_query: select max(x) from y
        loaded_at_field: null
"""
SODA = """
checks for orders:
  - freshness(created_at) < 1d
  - freshness using created_at < 1h30m
  - freshness(created_at):
      name: fresh
      warn: when > 6h
      fail: when >= 1d
      filter: id > 3
  - freshness(created_at, NOW) < 1d
  - freshness(created_at) > 1d
  - freshness(created_at):
      name: endless
"""
CONTRACT = """
dataset: a/b/orders
columns: [{name: created_at}]
checks:
  - freshness: {column: created_at, threshold: {unit: day, must_be_less_than: 2, level: warn}}
  - freshness: {column: created_at, threshold: {must_be_less_than_or_equal: 6}}
  - freshness: {column: created_at, threshold: {must_be_between: [1, 2]}}
"""
ODCS = """
kind: DataContract
apiVersion: v3.0.0
schema: [{name: orders, properties: [{name: created_at, physicalName: made_at, logicalType: timestamp}]}]
slaProperties:
  - {property: freshness, value: 24, unit: h, element: orders.created_at}
  - {property: freshness, value: 2, unit: y, element: orders.created_at}
  - {property: latency, value: 4, unit: d, element: orders.created_at}
  - {property: availability, value: 99}
"""
TAKEN = {
    DBT: [
        "freshness(loaded) <= 12 hours WHERE id > 3  warn below 1",
        "freshness(loaded) <= 1 day WHERE id > 3",
        "freshness(loaded) <= 12 hours WHERE id > 3  warn below 1",
        "freshness(at) <= 90 minutes",
        "freshness(created_at) <= 2 days",
        "freshness(created_at) <= 36 hours WHERE id > 5  warn below 1",
    ],
    SODA: [
        "freshness(created_at) < 1 day",
        "freshness(created_at) < 90 minutes",
        "freshness(created_at) <= 6 hours WHERE id > 3  warn below 1",
        "freshness(created_at) < 1 day WHERE id > 3",
    ],
    CONTRACT: ["freshness(created_at) < 2 days  warn below 1", "freshness(created_at) <= 6 hours"],
    ODCS: ["freshness(made_at) < 1 day"],
}
LEFT = {
    DBT: [
        "select max(x) from y is no column but an expression",
        "2 month is no age in seconds, minutes, hours, days or weeks",
        "dpdb does not know its option group_by_columns",
        "ignore_time_component: an age is of moments",
        "now() is no column but an expression",
        "it depends on the time at which it runs",
    ],
    SODA: ["it is no age of one column", "dpdb does not know the threshold > 1d", "it has no threshold"],
    CONTRACT: ["its threshold is no largest age"],
    ODCS: ["2 y is no age in seconds, minutes, hours, days or weeks", "it is no age of the newest rows"],
}


@pytest.mark.parametrize("text", TAKEN, ids=["dbt", "soda", "contract", "odcs"])
def test_ages_are_taken_or_left_out_with_the_reason(tmp_path: Path, text: str) -> None:
    file = tmp_path / "rules.yml"
    file.write_text(text)
    found = [import_rules(file, table=name) for name in (("orders", "own", "queried") if text == DBT else (None,))]
    lines = [f"{rule.text}{'  ' if rule.limits else ''}{rule.limits}" for each in found for rule in each.rules]
    assert sorted({*lines}) == sorted({*TAKEN[text]})
    assert sorted(one.reason for each in found for one in each.left_out) == sorted(LEFT[text])
    assert all(line.fresh is not None for line in load_suite("\n".join(dict.fromkeys(lines))).lines)
