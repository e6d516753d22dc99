"""Options from the environment and from a file: their order, and what is wrong with them. Here a file is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dpdb.doors.cli.main import main

HOSPITAL = Path(__file__).resolve().parents[2] / "examples" / "data" / "hospital.parquet"
MEASURE = ["measure", str(HOSPITAL), "--measure", "repair", "--format", "json"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is named, so that it may set everything."""
    monkeypatch.setenv("DPDB_CONFIG", "dpdb.toml")


is_named = pytest.mark.usefixtures("named")


def released(capsys: pytest.CaptureFixture[str], *words: str) -> dict:
    assert main([*MEASURE, *words]) == 0
    [found] = json.loads(capsys.readouterr().out)["releases"]
    return dict(found)


@pytest.mark.heavy(family="alone")
@is_named
def test_the_command_line_counts_before_the_environment_before_the_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "dpdb.toml").write_text(
        'constraints = ["zip_code -> city"]\nepsilon = 0.25\n[measure]\nepsilon = "0.5"\n'
        "quiet = true\n[count]\nepsilon = 3\n"
    )
    assert released(capsys)["epsilon"] == 0.5
    monkeypatch.setenv("DPDB_EPSILON", "0.75")
    assert released(capsys)["epsilon"] == 0.75
    assert released(capsys, "--epsilon", "1")["epsilon"] == 1
    assert released(capsys, "--epsilon=1")["epsilon"] == 1


def test_an_option_whose_name_is_shortened_is_given(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An option that may be repeated would have both values: two sets of rules instead of the one that was asked."""
    alone = released(capsys, "--constraints", "zip_code -> city", "--epsilon", "1")
    (folder / "dpdb.toml").write_text("constraints = 'zip_code -> state'\nepsilon = 0.5\n")
    shortened = released(capsys, "--constr", "zip_code -> city", "--epsilon", "1")
    assert shortened["constraints_sha256"] == alone["constraints_sha256"]


def test_a_ledger_from_the_environment_is_debited(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["budget", "create", "t.ledger", "--epsilon", "1"]) == 0
    capsys.readouterr()
    monkeypatch.setenv("DPDB_LEDGER", str(folder / "t.ledger"))
    released(capsys, "--constraints", "zip_code -> city", "--epsilon", "0.75")
    assert main([*MEASURE, "--constraints", "zip_code -> city", "--epsilon", "0.75"]) == 4


def test_nobody_is_made_an_owner_by_the_environment(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DPDB_NON_PRIVATE", "1")
    assert main(["exact", str(HOSPITAL), "--constraints", "zip_code -> city"]) == 2
    assert capsys.readouterr().out == ""


@is_named
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("epsilon = [", "dpdb.toml: not TOML"),
        (f"epsilon = {'1' * 5000}", "dpdb.toml: not TOML: a number has too many digits"),
        (f"epsilon = 0x{'f' * 5000}", "dpdb.toml: not TOML: a number has too many digits"),
        (f"[run]\nthreads = [0o{'7' * 6000}]", "dpdb.toml: not TOML: a number has too many digits"),
        (f"alpha = 0b{'1' * 20_000}", "dpdb.toml: not TOML: a number has too many digits"),
        ("[measure]\nepsilom = 1", "dpdb.toml, [measure]: unknown key 'epsilom'; did you mean 'epsilon'?"),
        ("quiet = 7", "dpdb.toml, key 'quiet': expected true or false"),
        ("epsilon = true", "dpdb.toml, key 'epsilon': expected a text or a number"),
        ("epsilon = 2026-11-22", "dpdb.toml, key 'epsilon': expected a text or a number"),
        ("epsilon = nan", "epsilon must be"),
        ("epsilon = [0.5, 1]", "dpdb.toml, key 'epsilon': expected one value"),
        ("fail_above = [['a']]", "dpdb.toml, key 'fail-above': expected a text or a number"),
        ("ledger = ''", "dpdb.toml, key 'ledger': is empty; give it a value, or take it away"),
        ("epsilom = 1", "dpdb.toml: unknown key 'epsilom'; did you mean 'epsilon'?"),
        ("[mesure]\nepsilon = 1", "dpdb.toml: [mesure] is no command; did you mean 'measure'?"),
        ("[budget.histroy]\nformat = 'csv'", "dpdb.toml: [budget.histroy] is no command; did you mean 'history'?"),
        ("[exact]\nnon_private = true", "dpdb.toml, [exact]: unknown key 'non_private'"),
    ],
)
def test_a_bad_file_is_one_line(folder: Path, text: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "dpdb.toml").write_text(text)
    assert main([*MEASURE, "--constraints", "zip_code -> city"]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert says in err


def test_an_environment_variable_that_is_empty_is_no_value(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As where a CI system has no such secret: a release without a ledger would be nobody's wish."""
    for name in ("DPDB_LEDGER", "DPDB_DELIMITER"):
        monkeypatch.setenv(name, "")
        assert main([*MEASURE, "--constraints", "zip_code -> city", "--epsilon", "1"]) == 2
        out, err = capsys.readouterr()
        assert (out, err) == ("", f"dpdb: environment variable {name}: is empty; give it a value, or take it away\n")
        monkeypatch.delenv(name)
    monkeypatch.setenv("DPDB_QUIET", "")  # of an option without a value: as if it was not there
    assert released(capsys, "--constraints", "zip_code -> city", "--epsilon", "1")["epsilon"] == 1


def test_names_that_other_commands_have_are_welcome(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "dpdb.toml").write_text(
        "alpha = 0.1\njunit = 'j.xml'\n[run]\nquiet = true\n[budget.history]\nformat = 'csv'\n"
    )
    assert released(capsys, "--constraints", "zip_code -> city", "--epsilon", "1")["epsilon"] == 1
