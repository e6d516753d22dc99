"""Each recipe runs as its README says: what its schedule starts is taken from the file that the scheduler reads.

Jobs' checks are hundreds of rows within their limits at epsilon 1: one fails by noise with probability below 1e-6.
Those of `dpdb check` may be at their limits, and are given a confidence that says the same.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest
import yaml

RECIPES = Path(__file__).resolve().parents[2] / "examples" / "recipes"


def scheduled_by_cron(folder: Path) -> str:
    [line] = re.findall(r"^15 3 \* \* \* (.*)$", (folder / "hospital.crontab").read_text(), re.MULTILINE)
    return str(line.replace("\\%", "%"))


def scheduled_by_systemd(folder: Path) -> str:
    unit = (folder / "dpdb-hospital.service").read_text()
    [command] = re.findall(r"^ExecStart=/bin/sh -c '(.*)'$", unit, re.MULTILINE)
    return str(command.replace("%%", "%"))


def scheduled_by_actions(folder: Path) -> str:
    job = yaml.safe_load((folder / "checks.yml").read_text())["jobs"]["hospital"]
    return str(job["steps"][0]["run"])


SCHEDULED = {"cron": scheduled_by_cron, "systemd": scheduled_by_systemd, "github_actions": scheduled_by_actions}
SURELY = " --confidence 0.9999999"
NEEDS = {"dbt_project": "dbt-duckdb"}


def test_each_recipe_has_its_line() -> None:
    folders = {path.name for path in RECIPES.iterdir() if path.is_dir()}
    assert folders == set(re.findall(r"^\| \[(\w+)\]\(\1/README\.md\)", (RECIPES / "README.md").read_text(), re.M))


@pytest.mark.heavy
@pytest.mark.parametrize("name", sorted(path.name for path in RECIPES.iterdir() if path.is_dir()))
def test_a_recipe_runs(name: str, tmp_path: Path) -> None:
    if name in NEEDS:
        try:
            version(NEEDS[name])
        except PackageNotFoundError:
            pytest.skip(f"needs {NEEDS[name]}: pip install -e '.[dbt]'")
    for part in ("data", f"recipes/{name}"):
        shutil.copytree(RECIPES.parent / part, tmp_path / part, ignore=shutil.ignore_patterns("*.ledger*", "*.duckdb*"))
    folder = tmp_path / "recipes" / name
    commands = re.findall(r"^    (d(?:pdb|bt) .*)$", (folder / "README.md").read_text(), re.MULTILINE)
    assert commands
    if name in SCHEDULED:
        commands += [SCHEDULED[name](folder).replace("/srv/dpdb", str(tmp_path))] * 2  # the second run pays nothing
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for command in commands:
        done = subprocess.run(
            ["sh", "-c", f"{command}{SURELY}" if command.startswith("dpdb check") else command],
            cwd=folder,
            env={**os.environ, "PATH": path, "DO_NOT_TRACK": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        if command.startswith("dpdb check"):
            assert "passed" in done.stdout
    if name == "data_contract":
        assert "DataQualityAssertions" in (folder / "event.json").read_text()
    if name == "github_actions":
        assert Xml.parse(folder / "checks.xml").getroot().attrib["failures"] == "0"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_the_timer_is_one() -> None:
    [when] = re.findall(r"^OnCalendar=(.*)$", (RECIPES / "systemd" / "dpdb-hospital.timer").read_text(), re.MULTILINE)
    done = subprocess.run(["systemd-analyze", "calendar", when], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
