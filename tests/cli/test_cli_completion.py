"""`dpdb completion`: what the shells complete; each that is installed is asked for real."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from zsh_terminal import completed_by_zsh

from dpdb.doors.cli.commands.completion import script
from dpdb.doors.cli.main import COMMANDS, build_parser

MARK = "=end="
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


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["dpdb", "bu"], {"budget"}),
        (["dpdb", "budget", "ret"], {"retire"}),
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


# What stands on the line, and what is offered behind it, or what of it.
LINES = {
    "dpdb bu": {"budget"},
    "dpdb budget re": {"retire"},
    "dpdb budget history 'a file.csv' --form": {"--format"},
    "dpdb budget history --format ": {"text", "json", "csv"},
    "dpdb completion f": {"fish"},
    "dpdb measure semi": {"semi.csv"},
    "dpdb measure x --ledger semi": {"semi.csv"},
    "dpdb report budget sho": set(),  # a word that is no command of `report`
    "dpdb measure --nothing-like-it": set(),
}


def installed(shell: str) -> str:
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"{shell} is not installed on this machine")
    return found


@pytest.mark.parametrize("sourced", [True, False], ids=["read by source", "in fpath"])
def test_zsh_completes_commands_options_choices_and_files(tmp_path: Path, sourced: bool) -> None:
    zsh, lines = installed("zsh"), {**LINES, "dpdb measure --format=": {"text", "json"}}
    (tmp_path / "semi.csv").touch()
    found = completed_by_zsh(zsh, script("zsh", build_parser()), [*lines], tmp_path / "zsh", sourced=sourced)
    assert dict(zip(lines, found, strict=True)) == lines


def test_fish_completes_commands_options_choices_and_files(tmp_path: Path) -> None:
    fish, lines = installed("fish"), {**LINES, "dpdb measure --format=": {"--format=text", "--format=json"}}
    (tmp_path / "semi.csv").touch()
    asked = [f"complete -C {_quoted(line)}; echo {MARK}" for line in lines]
    command = [fish, "--no-config", "-c", "\n".join([script("fish", build_parser()), *asked])]
    run = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path, env={"HOME": str(tmp_path)})
    assert run.stderr == ""
    shown = run.stdout.split(f"{MARK}\n")[:-1]
    found = [{offered.partition("\t")[0] for offered in text.splitlines()} for text in shown]
    assert dict(zip(lines, found, strict=True)) == lines


def _quoted(line: str) -> str:
    return "'" + line.replace("'", "\\'") + "'"


def test_every_command_and_option_stands_in_every_script() -> None:
    parser = build_parser()
    for shell in ("bash", "zsh", "fish"):
        text = script(shell, parser)
        for name in COMMANDS:
            assert name in text
            assert all(option.removeprefix("--") in text for option in parser.below[name].options)
