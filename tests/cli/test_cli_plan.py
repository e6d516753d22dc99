"""`dpdb plan` as a user types it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from dpdb.doors.cli import main

GUESS = ["--rows", "500", "--error-rate", "0.02", "--repetitions", "2", "--seed", "1"]
SCHEMA = ["--schema", "zip VARCHAR, city VARCHAR", "--constraints", "zip -> city"]


@pytest.mark.heavy(family="long")
def test_json_is_one_document(hospital: Path, hospital_constraints: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["plan", str(hospital), "--constraints", str(hospital_constraints), *GUESS, "--format", "json"]
    assert main([*arguments, "--distinct", "zip_code=40", "--max-degree", "100", "--target", "0.5"]) == 0
    out, err = capsys.readouterr()
    planned = json.loads(out)
    assert err == ""
    assert (planned["rows"], planned["seed"], planned["distinct"]["zip_code"]) == (500, 1, 40)
    assert {error["mechanism"] for error in planned["expected"]} >= {"bound", "r2t", "marginal", "fractional"}
    assert [error["measure"] for error in planned["together"]] == ["minimal_inconsistency", "problematic", "repair"]
    assert set(planned["smallest_epsilon"]) == {"minimal_inconsistency", "problematic", "repair"}


@pytest.mark.heavy(family="long")
def test_text_shows_every_figure_with_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", *SCHEMA, *GUESS, "--target", "0.000001", "--epsilon", "0.5"]) == 0
    out = capsys.readouterr().out
    assert "synthetic table: 500 rows, 0.02 of its cells changed (seed 1)" in out
    assert "distinct values: zip 22, city 22" in out
    assert "each measure alone, epsilon 0.5" in out
    assert "fewest_deletions (default)" in out
    assert "minimal_inconsistency r2t: not simulated, it needs a public max_degree" in out
    assert "all three together, epsilon 0.5 in total" in out
    # at the largest epsilon even the noise of whole numbers may be 0 in nearly all releases
    assert re.search(r"recommended for minimal_inconsistency: (none|epsilon (5|10)\b)", out)
    assert "22,026-fold" in out
    assert ">99.9%" in out
    assert "for one person, epsilon 0.5: the odds that one person's row is in the table change at most 1.65-fold" in out
    assert "right at most 62.2% of the time" in out
    assert "nothing was spent and no row was read" in out


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--distinct", "zip"], "--distinct 'zip': expected COLUMN=NUMBER"),
        (["--distinct", "zip=-3"], "--distinct 'zip=-3': expected COLUMN=NUMBER"),
        (["--distinct", "zip=999"], "999 are more than the 500 rows"),
        (["--values", "zip"], "--values 'zip': expected COLUMN=VALUE,VALUE"),
        (["--epsilon", "x"], "epsilon must be a positive number"),
        (["missing.parquet"], "no such file"),
    ],
)
def test_bad_input(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", *arguments, *SCHEMA, *GUESS]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err


def test_without_source_and_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--constraints", "zip -> city", *GUESS]) == 2
    assert "needs a source, for its column names and types, or a schema" in capsys.readouterr().err
