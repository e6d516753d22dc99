"""A `dpdb.toml` that was merely found is hostile: whose it is, what it may set, and that it is said."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from argparse import Action
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dpdb.doors.cli.main import build_parser, main
from dpdb.doors.cli.parser import ONLY_GIVEN, Parser, is_harmless, with_defaults
from dpdb.errors import ParameterError

MANUAL = Path(__file__).resolve().parents[2] / "examples" / "manual" / "jobs.md"
STRANGER = 65_534
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of another user")
NEVER = {
    *("epsilon", "rho", "budget", "public", "public-parent", "private-parent", "ledger", "owner-log", "out"),
    *("repair-rows", "violations", "suggest", "materialize", "columns", "junit", "temp-directory", "file", "unit"),
    *("rows-per-person", "max-rows", "max-children", "max-degree", "max-group", "row-bound", "keys", "who", "run-id"),
    *("memory-limit", "to", "at-most", "append-only"),
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("zip,city\n1,a\n1,b\n2,c\n")
    return tmp_path


def commands(parser: Parser, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Parser]]:
    yield path, parser
    for name, below in parser.below.items():
        yield from commands(below, (*path, name))


def options() -> Iterator[tuple[tuple[str, ...], str, Action]]:
    for path, parser in commands(build_parser()):
        if parser.takes_defaults:
            yield from ((path, name, action) for name, action in parser.options.items() if name not in ONLY_GIVEN)


def test_commands_with_a_configuration_of_their_own_take_nothing_from_a_found_file(folder: Path) -> None:
    every, seen = build_parser(), 0
    for path, parser in commands(every):
        if not parser.takes_defaults:
            seen += 1
            lines = "".join(f"{name.removeprefix('--')} = '1'\n" for name in parser.options)
            (folder / "dpdb.toml").write_text(f"[{'.'.join(path)}]\n{lines}")
            assert with_defaults(every, path, lambda: every) == [*path]
    assert seen == 6  # serve, mcp, and four of analyst


def value_of(action: Action) -> str:
    return "true" if action.nargs == 0 else "'1'"


@pytest.mark.heavy(family="long")
def test_every_option_is_refused_from_a_found_file_unless_its_definition_says_that_it_is_harmless(folder: Path) -> None:
    """So a new option is refused, until somebody has thought about it."""
    every, seen = build_parser(), 0
    for path, name, action in options():
        place = "" if path == ("schema",) else f"[{'.'.join(path)}]\n"  # [schema] are columns and types
        (folder / "dpdb.toml").write_text(f"{place}{name.removeprefix('--')} = {value_of(action)}\n")
        if is_harmless(action):
            assert any(word.startswith(name) for word in with_defaults(every, path, lambda: every)), (path, name)
            continue
        seen += 1
        with pytest.raises(ParameterError, match=f"may not set {name.removeprefix('--')}: if you trust it, name it"):
            with_defaults(every, path, lambda: every)
        assert any(word.startswith(name) for word in with_defaults(every, [*path, "--config=dpdb.toml"], lambda: every))
    assert seen > 100


def test_harmless_options_are_those_of_the_manual_and_none_that_decides() -> None:
    marked = {name.removeprefix("--") for _, name, action in options() if is_harmless(action)}
    known = {name.removeprefix("--") for _, name, _ in options()}
    assert known >= NEVER
    assert not marked & NEVER
    [listed] = re.findall(r"merely found sets only ([^.]*)\.", " ".join(MANUAL.read_text().split()))
    assert set(re.findall(r"`([a-z-]+)`", listed)) == marked


@pytest.mark.heavy(family="long")
def test_a_found_file_publishes_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "dpdb.toml").write_text("[sql]\nbudget = 50\npublic = ['x=t.csv']\n")
    words = ["sql", "t.csv", "--constraints", "zip -> city", "SELECT city FROM x"]
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "dpdb.toml: was only found here, so it may not set budget, public: if you trust it, name it" in err
    assert main([*words, "--config", "dpdb.toml"]) == 0
    assert "b\n" in capsys.readouterr().out


@pytest.mark.heavy(family="long")
def test_what_a_found_file_sets_is_said_unless_the_caller_wants_silence(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "dpdb.toml").write_text("epsilon = 2\nquiet = true\n[measure]\nconstraints = 'zip -> city'\n")
    words = ["measure", "t.csv", "--epsilon", "1"]
    assert main(words) == 0
    assert capsys.readouterr().err == "dpdb: dpdb.toml sets constraints, quiet\n"
    assert main([*words, "--quiet"]) == 0
    assert capsys.readouterr().err == ""
    assert main([*words, "--config", "dpdb.toml"]) == 0
    assert capsys.readouterr().err == ""
    monkeypatch.setenv("DPDB_QUIET", "0")
    assert main(["measure", "t.csv", "--config=dpdb.toml"]) == 0
    assert main(["measure", "t.csv"]) == 2  # epsilon
    with pytest.raises(SystemExit):  # no constraints
        main([*words, "--config", os.devnull])
    monkeypatch.setenv("DPDB_EPSILON", "1")
    assert main(["measure", "t.csv"]) == 0


def linked(path: Path) -> None:
    path.with_name("elsewhere.toml").write_text("quiet = true\n")
    path.symlink_to("elsewhere.toml")


def written_by_others(path: Path) -> None:
    path.write_text("quiet = true\n")
    path.chmod(0o666)


def of_a_stranger(path: Path) -> None:
    path.write_text("quiet = true\n")
    os.chown(path, STRANGER, STRANGER)


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("make", "says"),
    [
        (linked, "it is a symbolic link"),
        (lambda path: path.symlink_to("/dev/zero"), "it is a symbolic link"),
        (lambda path: path.symlink_to("nowhere"), "it is a symbolic link"),
        (os.mkfifo, "it is not a plain file"),
        (lambda path: path.mkdir(), "it is not a plain file"),
        (written_by_others, "others may change it; `chmod go-w` it"),
        pytest.param(of_a_stranger, "it belongs to another user", marks=needs_root),
    ],
)
def test_a_found_file_must_be_a_plain_one_of_this_user_alone(
    make: Callable[[Path], object], says: str, folder: Path
) -> None:
    make(folder / "dpdb.toml")
    command = [sys.executable, "-m", "dpdb", "schema", "t.csv"]  # a child: a pipe must not make the tests wait
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr == (
        f"dpdb: dpdb.toml: {says}; it was only found here: if you trust it, name it "
        "(--config dpdb.toml, or DPDB_CONFIG=dpdb.toml); --config /dev/null goes on without it\n"
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert main(["schema", "t.csv", "--config", os.devnull]) == 0


@pytest.mark.parametrize("named", [False, True])
def test_a_file_without_an_end_is_not_read_to_it(named: bool, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (folder / "dpdb.toml").open("wb") as file:
        file.truncate(1 << 40)
    words = ["--config", "/dev/zero"] if named else []
    assert main(["schema", "t.csv", *words]) == 2
    assert "longer than 1,000,000 bytes" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text", ["a." * 300_000 + "a=1", "['a'." + '"b" . ' * 150_000 + "c]", "x = {" + "a." * 300_000]
)
def test_a_long_key_takes_no_time(text: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As the square of its parts, Python would take hours."""
    (folder / "dpdb.toml").write_text(text)
    assert main(["schema", "t.csv"]) == 2
    assert capsys.readouterr().err == "dpdb: dpdb.toml: nested too deeply\n"


@pytest.mark.heavy(family="long")
def test_a_file_is_named_as_options_are(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "dpdb.toml").write_text("no TOML")
    (folder / "mine.toml").write_text("[count]\nepsilon = 0.25\n")
    (folder / "link.toml").symlink_to("mine.toml")
    for words in (["--config", "link.toml"], ["--config=mine.toml"], ["--config=/dev/zero", "--config=mine.toml"]):
        assert main(["count", "t.csv", *words]) == 0
        assert "epsilon" in capsys.readouterr().out
    assert main(["schema", "t.csv", "--conf", "/dev/null"]) == 0  # the beginning of its name, where it is alone
    capsys.readouterr()
    for value, says in (("", "is empty"), ("nowhere.toml", "nowhere.toml: no such file"), (".", "s a directory")):
        assert main(["count", "t.csv", f"--config={value}"]) == 2
        assert says in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["count", "t.csv", "--config"])
