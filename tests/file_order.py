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
    "tests/server/test_postgres_protocol.py",
    "tests/server/test_postgres_catalog.py",
    "tests/server/test_server_bad_input.py",
    "tests/server/test_postgres_attacks.py",
    "tests/examples/test_examples_paper_a.py",
    "tests/examples/test_examples_dbt.py",
    "tests/project/test_project_readme.py",
    "tests/project/test_project_packaging.py",
    "tests/simulation/test_simulation.py",
    "tests/jobs/test_jobs_daily.py",
    "tests/jobs/test_jobs_killed.py",
    "tests/examples/test_examples_interval_coverage.py",
    "tests/examples/test_examples_tutorials.py",
    "tests/server/test_server_colluders.py",
    "tests/server/test_server_floods.py",
    "tests/cli/test_cli_signals.py",
    "tests/cli/test_cli_streams.py",
    "tests/doors/test_doors_losses.py",
    "tests/ledger/test_ledger_processes.py",
    "tests/measures/test_measures_violating_rows.py",
    "tests/release/test_release_notebook.py",
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
