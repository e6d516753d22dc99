"""`dpdb measure`, `exact`, `explain` and `demo` as a user types them."""

from __future__ import annotations

import json
import math
import re
import sys
from pathlib import Path

import pytest

import dpdb
from dpdb.doors.cli import main
from dpdb.doors.cli.main import build_parser, in_flags
from dpdb.engine import LocalSlice
from dpdb.errors import ParameterError
from dpdb.measures import EXACT, measure_named
from dpdb.release import Ask

RELEASE_FIELDS = [
    "measure", "estimand", "value", "lower", "upper", "confidence", "epsilon", "mechanism", "theta", "noise_scale",
    "where", "constraints_sha256", "guarantee", "release_id", "version", "quantity",
    "constraint", "rho", "upper_reason",
    "raw", "estimate_lower", "estimate_upper", "estimate_reason", "unit", "theta_from",
    "handicaps", "draw_share", "theta_limits", "constraint_text", "population", "most_deletions",
]  # fmt: skip
EXACT_FIELDS = ["rows", "self_conflicts", *(own for name in EXACT for own in measure_named(name).exact.fields)]
EXACT_FIELDS += ["max_degree", "reasons", "judged"]


def test_measure_all_prints_one_json_document_whose_epsilons_add_up(
    hospital: Path, hospital_constraints: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(
        ["measure", str(hospital), "--constraints", str(hospital_constraints), "--measure", "all", "--epsilon", "1",
         "--format", "json"]
    )  # fmt: skip
    out, err = capsys.readouterr()
    releases = json.loads(out)["releases"]
    assert (code, err) == (0, "dpdb: no --ledger: nothing adds up what this command and others spend on this table\n")
    assert [r["measure"] for r in releases] == ["minimal_inconsistency", "problematic", "repair"]
    assert all(list(r) == RELEASE_FIELDS for r in releases)
    assert math.isclose(sum(r["epsilon"] for r in releases), 1.0, abs_tol=1e-12)
    assert len({r["release_id"] for r in releases}) == 3
    assert releases[2]["upper"] is not None
    assert releases[0]["upper"] is None


def test_measure_in_words_names_bounds_cost_and_guarantee(
    hospital: Path, hospital_constraints: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # epsilon 1000: the noise is below 1 except with probability exp(-1000)
    arguments = ["measure", str(hospital), "--constraints", str(hospital_constraints), "--epsilon", "1000"]
    assert main([*arguments, "--measure", "repair"]) == 0
    head, row, guarantee = capsys.readouterr().out.splitlines()
    assert head.split() == ["measure", "value", "bounds", "(95%", "sure)", "meaning", "cost"]
    assert re.fullmatch("repair +50 +50 to 100 +rows to delete, at least +epsilon 1000", row)
    assert guarantee.startswith("Guarantee: pure 1000-differential privacy for adding or removing one row")
    assert main([*arguments, "--measure", "repair", "--verbose"]) == 0
    out = capsys.readouterr().out
    assert "repair = 50\n" in out
    assert "at least about 50 rows must go" in out
    assert "differential privacy" in out


@pytest.mark.parametrize(("threshold", "code"), [("100", 0), ("49.5", 1), ("51", 5)])
def test_fail_above_compares_strictly(
    hospital: Path, hospital_constraints: Path, capsys: pytest.CaptureFixture[str], threshold: str, code: int
) -> None:
    arguments = ["measure", str(hospital), "--constraints", str(hospital_constraints), "--measure", "repair"]
    assert main([*arguments, "--epsilon", "1000", "--fail-above", f"repair={threshold}"]) == code
    err = capsys.readouterr().err
    assert ("gate failed: repair = 50 > 49.5; even the lower bound 50 is above it" in err) == (code == 1)


def test_fail_above_says_when_the_threshold_is_inside_the_noise(
    hospital: Path, hospital_constraints: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["measure", str(hospital), "--constraints", str(hospital_constraints), "--measure", "repair"]
    # 50 + noise of scale 1 / 0.3, tail at beta 1e-15 above 115: fails with probability below 2e-7.
    assert main([*arguments, "--epsilon", "0.3", "--fail-above", "repair=0", "--confidence", "0.999999999999999"]) == 1
    assert "the threshold lies inside the noise (lower bound 0)" in capsys.readouterr().err


def test_where_releases_the_slice(
    hospital: Path, hospital_constraints: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--constraints", str(hospital_constraints), "--where", "state = 'AL'", "--format", "json"]
    assert main(["exact", str(hospital), *arguments, "--non-private"]) == 0
    exact = json.loads(capsys.readouterr().out)
    assert main(["measure", str(hospital), *arguments, "--measure", "repair", "--epsilon", "1000"]) == 0
    release = json.loads(capsys.readouterr().out)["releases"][0]
    assert release["where"] == "state = 'AL'"
    assert release["value"] == exact["repair_fractional"]
    assert 0 < exact["rows"] < 10_000


@pytest.mark.heavy(family="alone")
def test_exact_gives_the_known_values_of_the_real_table(
    hospital: Path, hospital_constraints: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs, digits = tmp_path / "pairs.csv", sys.get_int_max_str_digits()
    arguments = ["exact", str(hospital), "--constraints", str(hospital_constraints), "--format", "json"]
    assert main([*arguments, "--non-private", "--by-constraint", "--violations", str(pairs)]) == 0
    exact = json.loads(capsys.readouterr().out)
    by_constraint = exact.pop("by_constraint")
    assert list(exact) == EXACT_FIELDS
    assert (exact["minimal_inconsistency"], exact["problematic"], exact["repair_fractional"]) == (1325, 103, 50)
    assert (exact["repair_lower"], exact["repair_upper"], exact["reasons"]) == (50, 50, {})
    assert [row["violations"] for row in by_constraint] == [625, 0, 700, 0, 0, 0, 0]
    lines = pairs.read_text().splitlines()
    assert (lines[0], len(lines)) == ("constraint,row_1,row_2", 1326)
    assert pairs.stat().st_mode & 0o777 == 0o600
    assert sys.get_int_max_str_digits() == digits  # who reads numbers next relies on it


def test_exact_refuses_without_the_owners_word(
    hospital: Path, hospital_constraints: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["exact", str(hospital), "--constraints", str(hospital_constraints)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "--non-private" in err


def test_explain_prints_sql_and_cost_and_no_count(
    hospital: Path, hospital_constraints: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["explain", str(hospital), "--constraints", str(hospital_constraints), "--format", "json"]
    assert main(arguments) == 0
    explained = json.loads(capsys.readouterr().out)
    assert len(explained["constraints"]) == 7
    assert all((c["sql"], c["plan"]) == (None, None) for c in explained["constraints"])  # no join runs
    assert not any("JOIN" in query["sql"] for query in explained["queries"])
    assert main([*arguments, "--edges", "table"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert all("JOIN" in c["sql"] and c["plan"] for c in listed["constraints"])
    assert explained["degree_bound"]["sensitivity"] == 5
    assert main([*arguments[:-2], "--where", "state = 'AL'"]) == 0
    text = capsys.readouterr().out
    assert "rows with the same zip_code must have the same city" in text
    assert "counted without being listed" in text
    assert "queries of one slice, counted on an empty table: " in text
    # Nothing of the data: its size, its largest groups, its conflicts.
    assert not any(number in text for number in ("10000", "10,000", "1325", "974", "103"))


def test_demo_releases_the_default_measure_of_the_hospital_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo"]) == 0
    out, told = capsys.readouterr()
    (head,) = (number for number, line in enumerate(out.splitlines()) if line.startswith("measure "))
    measure, value, lower, _, upper = out.splitlines()[head + 1].split()[:5]
    assert (measure, out.splitlines()[head + 2].split()[0]) == ("repair", "Guarantee:")
    # tau* is 50 on this table, and the noise scale 1: 20 away once in a thousand million
    assert 30 < float(value) < 70
    assert float(lower) < float(value) < float(upper)
    stages = [line.partition("  ")[0] for line in told.splitlines()]
    assert stages == [
        "rule", "self-join", "conflict_edge", "ledger", "ordered scan", "statistics", "noise",
    ]  # fmt: skip
    assert not any(letter.isdigit() for letter in told)  # nothing private, whatever it would be
    assert "--non-private" in out.splitlines()[-1]


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("by= and keys= go together: a column", "--by and --keys go together: a column"),
        ("give keep= (--keep NAME)", "give --keep NAME"),
        ("unit= and max_rows= go together", "--unit and --max-rows go together"),
        ("a name= that is no option", "a name= that is no option"),
        ("where: x=3 and y= 4", "where: x=3 and y= 4"),
    ],
)
def test_errors_speak_of_flags_where_the_command_has_them(said: str, shown: str) -> None:
    options = build_parser().parse_args(["measure", "t.csv", "--constraints", "a -> b", "--epsilon", "1"])
    assert in_flags(said, options) == shown


def test_a_misspelt_option_has_the_one_that_was_meant(hospital: Path) -> None:
    """In Python, in every call that takes options of a release or of a run."""
    with pytest.raises(ParameterError, match="'wher'; did you mean 'where'"):
        dpdb.dp_inconsistency(hospital, "a -> b", wher="a = 1", epsilon=1)
    with dpdb.open(hospital, budget=1) as session:
        for call in (session.dp_count, session.dp_inconsistency):
            with pytest.raises(ParameterError, match="'wher'; did you mean 'where'"):
                call(epsilon=1, wher="a = 1")
        with pytest.raises(ParameterError, match="'wher'; did you mean 'where'"):
            session.check("row_count fail below 3", 1, wher="a = 1")
        assert session.spent() == 0


def test_the_default_is_one_measure_in_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    """That of Python and SQL: `all` would share epsilon by three."""
    for command in ("measure", "explain"):
        assert build_parser().below[command].options["--measure"].default == Ask.measure == "repair"


@pytest.mark.parametrize("words", [["demo", "--quiet"]])
def test_the_demo_lists_conflicts_as_it_says(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        edges = LocalSlice.__dict__["edges"].func
        listed: list[int] = []

        def noted(part: LocalSlice) -> object:
            listed.append(part.self_conflicts)
            return edges(part)

        patch.setattr(LocalSlice, "edges", property(noted))
        assert main(words) == 0
    assert listed == [0]
    assert capsys.readouterr().err == ""
