"""The example job runs on the bundled table with the commands that its comment and the manual give."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from dpdb.doors.cli import main
from dpdb.doors.jobs import read_results

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.heavy(family="alone")
def test_the_commands_of_the_example_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (ROOT / "examples" / "jobs" / "hospital.toml").read_text()
    commands = re.findall(r"^#     dpdb (.*)$", text, flags=re.MULTILINE)
    assert [shlex.split(command)[0] for command in commands] == ["budget", "run", "report"]
    shutil.copytree(ROOT / "examples" / "data", tmp_path / "examples" / "data")
    (tmp_path / "examples" / "jobs").mkdir()
    (tmp_path / "examples" / "jobs" / "hospital.toml").write_text(text)
    monkeypatch.chdir(tmp_path)
    for command in commands:
        # The gate of 100 rows to delete fails with probability below exp(-45 * 0.18) / 2 < 2e-4: both codes are right.
        assert main(shlex.split(command)) in ((0, 1) if command.startswith("run") else (0,))
    assert len(read_results("examples/jobs/results.duckdb")) == 3 + 3 + 1
    assert "hospital-quality" in Path("examples/jobs/report.html").read_text()
    capsys.readouterr()
    manual = (ROOT / "examples" / "manual" / "jobs.md").read_text()
    given = re.search(r"^    (dpdb budget create examples/jobs/.*)$", manual, re.MULTILINE)
    assert given is not None
    for command in given[1].split(" && "):
        assert command.startswith("dpdb ")
        assert shlex.split(command)[1] in ("budget", "run")
