"""`dpdb completion`: what the shells complete; bash is asked for real."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from dpdb.doors.cli.commands.completion.scripts import script
from dpdb.doors.cli.main import COMMANDS, build_parser

ASK = '_dpdb; printf "%s\\n" "${COMPREPLY[@]}"'


def completed(folder: Path, *words: str) -> set[str]:
    """What bash completes at the end of these words."""
    if (bash := shutil.which("bash")) is None:
        pytest.skip("bash is not installed on this machine")
    lines = [script("bash", build_parser()), 'COMP_WORDS=("$@")', "COMP_CWORD=$(($# - 1))", ASK]
    command = [bash, "--norc", "-c", "\n".join(lines), "bash", *words]
    run = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder)
    assert run.stderr == ""
    return set(run.stdout.split("\n")) - {""}


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["dpdb", "bu"], {"budget"}),
        (["dpdb", "budget", "re"], {"retire"}),
        (["dpdb", "budget", "history", "a file.csv", "--form"], {"--format"}),
        (["dpdb", "budget", "history", "--format", ""], {"text", "json", "csv"}),
        (["dpdb", "measure", "--format", "=", "j"], {"json"}),
        (["dpdb", "measure", "--format", "="], {"text", "json"}),
        (["dpdb", "completion", "f"], {"fish"}),
        (["dpdb", "measure", "a"], {"a file.csv", "a*"}),
        (["dpdb", "measure", "x", "--ledger", "a f"], {"a file.csv"}),
        (["dpdb", "measure", "x", "--ledger", "=", "a f"], {"a file.csv"}),
        (["dpdb", "measure", "--nothing-like-it"], set()),
    ],
)
def test_bash_completes_commands_options_choices_and_files(words: list[str], found: set[str], tmp_path: Path) -> None:
    for name in ("a file.csv", "a*"):
        (tmp_path / name).touch()
    assert completed(tmp_path, *words) == found


def test_every_command_and_option_stands_in_every_script() -> None:
    parser = build_parser()
    for shell in ("bash", "zsh", "fish"):
        text = script(shell, parser)
        for name in COMMANDS:
            assert name in text
            found = parser.command(name)
            assert found is not None
            assert all(option.removeprefix("--") in text for option in found.options)
