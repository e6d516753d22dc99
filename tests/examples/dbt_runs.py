"""Running real dbt in a copy of the example project; who imports this is skipped where dbt is not installed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
from fork_server import ForkServer

from dpdb.ledger import Ledger

try:
    version("dbt-duckdb")
except PackageNotFoundError:
    pytest.skip("needs dbt-core and dbt-duckdb: pip install -e '.[dbt]'", allow_module_level=True)

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def copied_project(folder: Path) -> Path:
    """Copy the project and its data, without what earlier runs have left in it."""
    ours = shutil.ignore_patterns("*.duckdb*", "*.ledger*", "target", "logs", "dbt_packages", "package-lock.yml")
    shutil.copytree(EXAMPLES / "dbt", folder / "dbt", ignore=ours)
    shutil.copytree(EXAMPLES / "data", folder / "data")
    return folder / "dbt"


DBT = ForkServer("dbt.cli.main", "dbt.cli.main", "dbt.adapters.duckdb", "dpdb.dbt", "pandas", "agate")


def dbt(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a dbt command in the project. No usage statistics leave the machine."""
    settings = {**os.environ, "DO_NOT_TRACK": "1", "DBT_SEND_ANONYMOUS_USAGE_STATS": "false"}
    return DBT.run(["--no-use-colors", *arguments, "--profiles-dir", "."], project, settings)


def results(project: Path, what: str = "status") -> dict[str, str]:
    """Status (message, failures) of every node of the last command."""
    found = json.loads((project / "target" / "run_results.json").read_text())["results"]
    return {result["unique_id"].split(".")[2]: result[what] for result in found}


def spent(project: Path) -> float:
    """Return what the project's ledger has paid."""
    with Ledger.open(project / "hospital.ledger") as ledger:
        return float(ledger.summary().spent)
