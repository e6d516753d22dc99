"""dbt really builds the example project, twice in one day: one release per call, spent once; the gate can fail."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest
from dbt_runs import copied_project, dbt, results, spent

from dpdb.ledger import Ledger


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return copied_project(tmp_path)


def published(project: Path) -> list[tuple[Any, ...]]:
    with duckdb.connect(project / "hospital_quality.duckdb", read_only=True) as connection:
        return connection.execute("FROM hospital_quality ORDER BY release_id").fetchall()


def asked_by(project: Path, who: str) -> None:
    """Give the profile a name and the count of rows a label."""
    profile, model = project / "profiles.yml", project / "models" / "hospital_quality.sql"
    profile.write_text(f"{profile.read_text().rstrip()}\n            who: {who}\n")
    model.write_text(model.read_text().replace("run_id := 'rows", "label := 'rows of the day', run_id := 'rows"))


def test_a_day_of_builds(project: Path) -> None:
    asked_by(project, "nightly dbt")
    Ledger.create(project / "hospital.ledger", 1.4).close()
    assert dbt(project, "deps").returncode == 0
    first = dbt(project, "build", "--vars", "{run_date: 2026-01-31}")
    assert first.returncode == 0, first.stdout
    nodes = results(project)
    # about 50 rows to repair at scale 3.4: the gate's 200 is exceeded with probability below exp(-40)
    assert (nodes["hospital_quality"], nodes["repair_gate"]) == ("success", "pass")
    assert (nodes["zip_code_gives_city"], nodes["cities_are_in_one_state"]) == ("pass", "pass")
    releases = published(project)
    assert (len(releases), spent(project)) == (6, 1.4)

    with Ledger.open(project / "hospital.ledger") as ledger:
        told = ledger.history()
    assert {debit.analyst for debit in told} == {"nightly dbt"}
    assert [debit.run_id for debit in told if debit.label == "rows of the day"] == ["rows 2026-01-31"]

    lower = next(row[3] for row in releases if row[0] == "repair" and row[10] is None)
    gated = dbt(project, "build", "--vars", f"{{run_date: 2026-01-31, most_repairs: {lower - 1}}}")
    assert gated.returncode == 1
    assert [name for name, status in results(project).items() if status not in ("success", "pass")] == ["repair_gate"]
    assert (published(project), spent(project)) == (releases, 1.4)

    tomorrow = dbt(project, "run", "--vars", "{run_date: 2026-02-01}")
    assert tomorrow.returncode == 1
    assert "BudgetExceededError: " in tomorrow.stdout
    assert (published(project), spent(project)) == (releases, 1.4)


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({"constraints": "a -> b", "ledgers": "x"}, "unknown 'ledgers'"),
        ({"ledger": "x", "exact": "yes"}, "exact is true or false, got 'yes'"),
    ],
)
def test_mistakes_in_the_profile(config: dict[str, str], says: str) -> None:
    from dbt_common.exceptions import DbtConfigError

    from dpdb.dbt import Plugin

    with pytest.raises(DbtConfigError, match=says):
        Plugin("dpdb", config)
