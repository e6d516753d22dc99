"""dbt really builds the example project, twice in one day: one release per call, spent once; the gate can fail."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dpdb.ledger import Ledger

try:
    version("dbt-duckdb")
except PackageNotFoundError:
    pytest.skip("needs dbt-core and dbt-duckdb: pip install -e '.[dbt]'", allow_module_level=True)

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    ours = shutil.ignore_patterns("*.duckdb*", "*.ledger*", "target", "logs")
    shutil.copytree(EXAMPLES / "dbt", tmp_path / "dbt", ignore=ours)
    shutil.copytree(EXAMPLES / "data", tmp_path / "data")
    return tmp_path / "dbt"


def dbt(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a dbt command in the project. No usage statistics leave the machine."""
    return subprocess.run(
        [sys.executable, "-m", "dbt.cli.main", "--no-use-colors", *arguments, "--profiles-dir", "."],
        cwd=project,
        env={**os.environ, "DO_NOT_TRACK": "1", "DBT_SEND_ANONYMOUS_USAGE_STATS": "false"},
        capture_output=True,
        text=True,
        check=False,
    )


def results(project: Path) -> dict[str, str]:
    """Status of every node of the last command."""
    found = json.loads((project / "target" / "run_results.json").read_text())["results"]
    return {result["unique_id"].split(".")[2]: result["status"] for result in found}


def published(project: Path) -> list[tuple[Any, ...]]:
    with duckdb.connect(project / "hospital_quality.duckdb", read_only=True) as connection:
        return connection.execute("FROM hospital_quality ORDER BY release_id").fetchall()


def spent(project: Path) -> float:
    with Ledger.open(project / "hospital.ledger") as ledger:
        return float(ledger.summary().spent)


def test_a_day_of_builds(project: Path) -> None:
    Ledger.create(project / "hospital.ledger", 1).close()
    first = dbt(project, "build", "--vars", "{run_date: 2026-01-31}")
    assert first.returncode == 0, first.stdout
    nodes = results(project)
    # about 50 rows to repair at scale 3.4: the gate's 200 is exceeded with probability below exp(-40)
    assert (nodes["hospital_quality"], nodes["repair_gate"]) == ("success", "pass")
    releases = published(project)
    assert (len(releases), spent(project)) == (6, 1.0)

    lower = next(row[3] for row in releases if row[0] == "repair" and row[10] is None)
    gated = dbt(project, "build", "--vars", f"{{run_date: 2026-01-31, most_repairs: {lower - 1}}}")
    assert gated.returncode == 1
    assert [name for name, status in results(project).items() if status not in ("success", "pass")] == ["repair_gate"]
    assert (published(project), spent(project)) == (releases, 1.0)

    tomorrow = dbt(project, "run", "--vars", "{run_date: 2026-02-01}")
    assert tomorrow.returncode == 1
    assert "BudgetExceededError: " in tomorrow.stdout
    assert (published(project), spent(project)) == (releases, 1.0)


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({"constraints": "a -> b", "ledgers": "x"}, "unknown 'ledgers'"),
        ({"ledger": "x"}, "constraints is missing"),
    ],
)
def test_mistakes_in_the_profile(config: dict[str, str], says: str) -> None:
    from dbt_common.exceptions import DbtConfigError

    from dpdb.dbt import Plugin

    with pytest.raises(DbtConfigError, match=says):
        Plugin("dpdb", config)
