"""The first hour of the manual, as a new user lives it: every command and all Python, on the file that is there."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from dpdb.doors.cli import main

ROOT = Path(__file__).resolve().parents[2]
FIRST_HOUR = (ROOT / "examples" / "manual" / "first_hour.md").read_text(encoding="utf-8")
DRAWN = ("measure", "count")
PUBLIC_LINES = ("measure ", "Guarantee: ")


def transcript() -> list[tuple[str, str]]:
    """Return every command with what the page shows of its output, in order."""
    blocks = re.findall(r"```console\n(.*?)```", FIRST_HOUR, flags=re.DOTALL)
    shown = "".join(blocks).split("$ dpdb ")[1:]
    return [(command, output) for command, _, output in (text.partition("\n") for text in shown)]


def without_noise(output: str) -> list[str]:
    """Keep what is public of a release's words; of the other lines, all but the numbers that are no cost."""
    numbers = re.compile(r"(?<!epsilon )(?<![\d.])\d[\d,.]*")
    return [
        line if line.startswith(PUBLIC_LINES) else re.sub(r" +", " ", numbers.sub("N", line))
        for line in output.splitlines()
    ]


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(ROOT / "examples" / "data", tmp_path / "examples" / "data")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_its_commands_print_what_it_shows(clone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """But for the noise. Repairs and counts this far from 0 lose no word to it: e^-40 is far below 1e-6."""
    commands = transcript()
    assert [shlex.split(command)[0] for command, _ in commands] == ["budget", "measure", "count", "budget", "exact"]
    for command, shown in commands:
        assert main(shlex.split(command)) == 0
        printed = capsys.readouterr().out
        if command.startswith(DRAWN):
            assert without_noise(printed) == without_noise(shown)
        else:
            assert printed == shown
    asked_again = commands[1][0]
    answers = [(main(shlex.split(asked_again)), capsys.readouterr().out) for _ in range(2)]
    assert answers[0] == answers[1]
    assert main(["budget", "show", "hospital.ledger"]) == 0
    assert capsys.readouterr().out == commands[3][1]


def test_what_the_ledger_cannot_pay_is_refused_and_costs_nothing(
    clone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    create, measure, *_ = (shlex.split(command) for command, _ in transcript())
    assert main(create) == 0
    created = capsys.readouterr().out
    assert main([*measure, "--epsilon", "5"]) == 4
    assert main(["budget", "show", "hospital.ledger"]) == 0
    assert capsys.readouterr().out == created


def test_its_python_runs(clone: Path) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", FIRST_HOUR, flags=re.DOTALL)
    names: dict[str, object] = {}
    exec(program, names)
    assert names["s"].spent() == 0.5 + 0.5 + 0.5 + 0.1  # type: ignore[attr-defined]


def test_it_is_two_pages_and_says_where_sums_are_made() -> None:
    assert len(FIRST_HOUR.splitlines()) < 130
    assert "docs.opendp.org" in FIRST_HOUR
