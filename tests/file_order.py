"""The order of files under `pytest -n`: the longest first, so that no worker waits at the end for another's file.

Files of a folder that share what takes long to start (Spark, PostgreSQL, a browser) go to one worker together.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

__all__ = ["LONGEST", "TOGETHER", "longest_first", "schedule"]

TOGETHER = ("tests/remote/", "tests/reports/")
"""Folders that one worker takes whole."""

LONGEST = (
    "tests/engine/test_engine_reached.py",
    "tests/server/test_postgres_answers.py",
    "tests/server/test_server_canary.py",
    "tests/reconciliation/test_reconciliation_sensitivity.py",
    "tests/release/test_release_one_row.py",
    "tests/release/test_release_parent_units.py",
    "tests/server/test_server_door_attacks.py",
    "tests/engine/test_engine_addresses.py",
    "tests/predicates/test_predicates_patterns.py",
    "tests/graph/test_graph_lp_truncation.py",
    "tests/server/test_server_suite_runs.py",
    "tests/server/test_mcp_installed.py",
    "tests/examples/test_examples_paper_a.py",
    "tests/predicates/test_predicates_charge_fuzz.py",
    "tests/suites/test_suites_sizes_run.py",
    "tests/server/test_server_clock_jumps.py",
    "tests/server/test_server_stopping.py",
    "tests/engine/test_engine_members.py",
    "tests/server/test_server_form.py",
    "tests/suites/test_suites_tables.py",
    "tests/server/test_server_attacks.py",
    "tests/suites/test_suites_numbers.py",
    "tests/reconciliation/test_reconciliation_types.py",
    "tests/suites/test_suites_distinct.py",
    "tests/release/test_release_both_ways.py",
    "tests/server/test_server_growing_beside.py",
    "tests/simulation/test_simulation.py",
    "tests/project/test_project_readme.py",
    "tests/server/test_server_one_analyst.py",
    "tests/server/test_postgres_catalog.py",
)
"""Files that take many seconds, whatever their number of tests."""


def unit_of(nodeid: str) -> str:
    """Return what goes to one worker with a test: its file, or its folder."""
    file = nodeid.partition("::")[0]
    return next((folder for folder in TOGETHER if file.startswith(folder)), file)


def longest_first(items: list[pytest.Item]) -> None:
    """Sort tests by unit: folders that stay together, the longest files, then by the number of tests."""
    counts = Counter(unit_of(item.nodeid) for item in items)
    places = {unit: place for place, unit in enumerate((*TOGETHER, *LONGEST))}

    def place(item: pytest.Item) -> tuple[int, int, str]:
        unit = unit_of(item.nodeid)
        return places.get(unit, len(places)), -counts[unit], unit

    items.sort(key=place)  # tests of a file, and files of a folder, stay in their order


def schedule(config: pytest.Config, log: Any) -> Any:
    """Return the scheduler of `--dist loadfile` that takes units in the order of `longest_first`."""
    from xdist.scheduler import LoadFileScheduling

    class UnitScheduling(LoadFileScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return unit_of(nodeid)

    config.option.loadscopereorder = False  # which is by the number of tests alone
    return UnitScheduling(config, log)
