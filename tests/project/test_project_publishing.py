"""What a publisher and a stranger find in `.github` and `pyproject.toml` agrees with the project."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from dpdb import __version__

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).resolve().parents[2]
GITHUB = ROOT / ".github"
MOST_LINES = 120  # of a version in the changelog
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def read(name: str) -> Any:
    return yaml.safe_load((GITHUB / name).read_text())


def test_the_project_says_whose_it_is_and_where() -> None:
    assert PROJECT["authors"] == [{"name": "dpdb developers"}]
    assert {"Homepage", "Source", "Issues", "Documentation", "Changelog"} <= PROJECT["urls"].keys()


def test_one_line_puts_the_real_address_everywhere(tmp_path: Path) -> None:
    """The line that CONTRIBUTING.md gives to publishers, in a copy; `example.org` elsewhere is an example."""
    shutil.copytree(GITHUB, tmp_path / ".github")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (line,) = re.findall(r"`(grep -rl https[^`]+)`", (GITHUB / "CONTRIBUTING.md").read_text())
    command = " ".join(line.split()).replace("ADDRESS", "https://code.test/us/dpdb")
    subprocess.run(["bash", "-euc", command], cwd=tmp_path, check=True)
    texts = [path.read_text() for path in tmp_path.rglob("*") if path.is_file()]
    assert not any("example.org" in text for text in texts)
    assert sum("https://code.test/us/dpdb" in text for text in texts) == 4


def test_the_citation_is_of_this_version() -> None:
    citation = read("CITATION.cff")
    assert citation["version"] == __version__
    assert citation["license"] == PROJECT["license"]


def test_the_changelog_of_a_version_is_a_page() -> None:
    """Whoever adds lines merges them with what is there: readers look for what concerns them, not for its history."""
    text = (ROOT / "dpdb" / "CHANGELOG.md").read_text()
    versions = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    assert versions[0].startswith(__version__)
    assert all(len(version.splitlines()) <= MOST_LINES for version in versions)


def test_every_push_tests_the_versions_that_are_declared() -> None:
    (declared,) = [{one.split(" :: ")[-1] for one in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", one)}]
    tests = read("workflows/tests.yml")["jobs"]["tests"]
    matrix = tests["strategy"]["matrix"]
    assert set(matrix["python"]) == declared
    assert min(declared, key=lambda one: int(one[2:])) == PROJECT["requires-python"].removeprefix(">=")
    assert all(more["undeclared"] and more["python"] not in declared for more in matrix["include"])
    assert ".ci/run" in [step.get("run") for step in tests["steps"]]


def test_the_full_run_keeps_its_report_also_where_it_fails() -> None:
    steps = read("workflows/nightly.yml")["jobs"]["full"]["steps"]
    (full,) = [step for step in steps if ".ci/full" in step.get("run", "")]
    assert full["shell"] == "bash", "without pipefail `tee` would hide a failure"
    assert steps[-1]["if"] == "always()"
    assert all(name in full["run"] for name in steps[-1]["with"]["path"].split())
    assert (ROOT / ".ci" / "full").read_text().rstrip().endswith('"$@"'), "it takes the name of the report"


@pytest.mark.parametrize("form", sorted(path.name for path in (GITHUB / "ISSUE_TEMPLATE").glob("*.yml")))
def test_issue_forms_are_whole(form: str) -> None:
    found = read(f"ISSUE_TEMPLATE/{form}")
    if form == "config.yml":
        assert found["blank_issues_enabled"] is False
        return
    assert {"name", "description", "body"} <= found.keys()
    fields = [part for part in found["body"] if part["type"] != "markdown"]
    assert len({part["id"] for part in fields}) == len(fields) > 0
    assert all(part["attributes"]["label"] for part in fields)


def test_links_of_pages_for_strangers_lead_to_files() -> None:
    for page in GITHUB.glob("*.md"):
        for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name}: {link}"
        assert all(
            (ROOT / path).exists() for path in re.findall(r"`((?:dpdb|examples|tests)/[\w/.]+)`", page.read_text())
        )
