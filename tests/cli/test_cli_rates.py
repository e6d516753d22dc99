"""`dpdb measure --rate`, `--each-constraint` and `dpdb count` as a user types them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from dpdb.doors.cli import main

Captured = pytest.CaptureFixture[str]
CERTAIN = "100000"  # the noise is 0 except with probability below exp(-100)


@pytest.fixture
def measure(hospital: Path, hospital_constraints: Path) -> list[str]:
    return ["measure", str(hospital), "--constraints", str(hospital_constraints)]


def test_rates_as_json(measure: list[str], capsys: Captured) -> None:
    assert main([*measure, "--measure", "all", "--epsilon", CERTAIN, "--rate", "--format", "json"]) == 0
    out, err = capsys.readouterr()
    releases = json.loads(out)["releases"]
    assert [(r["measure"], r["value"], r["quantity"]) for r in releases] == [
        ("problematic", 0.0103, "share of rows"),
        ("repair", 0.005, "share of rows"),
    ]
    assert sum(r["epsilon"] for r in releases) == float(CERTAIN)
    assert "minimal_inconsistency counts pairs of rows and has no rate: not released" in err
    assert releases[0]["upper"] is None
    assert "from below" in releases[0]["upper_reason"]
    assert releases[1]["upper_reason"] is None


@pytest.mark.heavy(family="long")
def test_a_rate_in_words(measure: list[str], capsys: Captured) -> None:
    measure = [*measure, "--verbose"]
    assert main([*measure, "--epsilon", CERTAIN, "--rate", "--measure", "repair"]) == 0
    out, err = capsys.readouterr()
    assert "repair = 0.500% of rows\n" in out
    assert "at least about 0.500% of the rows must go" in out
    assert "no upper" not in out
    assert "dpdb: no --ledger" in err
    assert main([*measure, "--epsilon", CERTAIN, "--rate", "--measure", "repair", "--mechanism", "greedy"]) == 0
    assert "of the rows removes all conflicts" in capsys.readouterr().out
    assert main([*measure, "--epsilon", CERTAIN, "--measure", "problematic"]) == 0
    out = capsys.readouterr().out
    assert "no upper bound (95% sure)\n  no upper  at most theta conflicts" in out


@pytest.mark.heavy
@pytest.mark.parametrize(("threshold", "code"), [("0.01", 1), ("0.0103", 5), ("1", 5), ("5", 2), ("-1", 2)])
def test_a_gate_compares_the_rate(measure: list[str], capsys: Captured, threshold: str, code: int) -> None:
    options = ["--measure", "problematic", "--rate", "--fail-above", f"problematic={threshold}"]
    assert main([*measure, "--epsilon", CERTAIN, *options]) == code
    err = capsys.readouterr().err
    assert ("gate failed: problematic = 1.030% > 1.000%" in err) == (code == 1)
    assert ("gate not shown to be within: problematic = 1.030%" in err) == (code == 5)
    if code == 5:
        assert main([*measure, "--epsilon", CERTAIN, *options, "--gate", "value"]) == 0
    assert ("share of the rows, from 0 to 1" in err) == (threshold == "5")


def test_a_gate_on_what_is_not_released(measure: list[str], capsys: Captured) -> None:
    gate = ["--fail-above", "minimal_inconsistency=1"]
    assert main([*measure, "--epsilon", "1", "--rate", *gate]) == 2
    assert "not released" in capsys.readouterr().err
    assert main([*measure, "--epsilon", "1", "--rate", "--measure", "minimal_inconsistency"]) == 2
    assert "problematic or repair" in capsys.readouterr().err


@pytest.mark.heavy(family="long")
def test_a_breakdown_is_a_table(measure: list[str], capsys: Captured) -> None:
    options = ["--measure", "minimal_inconsistency", "--each-constraint", "--fail-above", "minimal_inconsistency=650"]
    assert main([*measure, "--epsilon", "100000000", *options]) == 2  # beyond the largest epsilon
    capsys.readouterr()
    assert main([*measure, "--epsilon", "1000000", *options]) == 1
    out, err = capsys.readouterr()
    head, *rows = [re.split("  +", line) for line in out.splitlines()[:8]]
    assert head == ["measure", "value", "bounds (95% sure)", "meaning", "cost", "rule"]
    assert [row[1] for row in rows] == ["625", "0", "700", "0", "0", "0", "0"]
    assert [row[2] for row in rows[:2]] == ["at least 625", "at least 0 *"]
    assert {row[3] for row in rows} <= {"pairs of rows in conflict"}
    assert all(row[-1].startswith("not(") for row in rows)
    assert out.count("No upper end: ") == 1
    assert "gate failed: minimal_inconsistency of not(t1." in err


@pytest.mark.heavy(family="long")
def test_a_breakdown_as_json(measure: list[str], capsys: Captured) -> None:
    options = [
        "--measure",
        "all",
        "--each-constraint",
        "--by",
        "state",
        "--keys",
        "AL,AK",
        "--rate",
        "--format",
        "json",
    ]
    assert main([*measure, "--epsilon", "2", *options]) == 0
    releases = json.loads(capsys.readouterr().out)["releases"]
    assert len(releases) == 2 * 7 * 2
    assert len({r["constraint"] for r in releases}) == 7
    assert abs(sum(r["epsilon"] for r in releases[:14]) - 2) < 1e-9
    assert main([*measure, "--epsilon", "2", *options[:-2], "--verbose"]) == 0
    assert capsys.readouterr().out.count("share of rows, by constraint") == 4


@pytest.mark.heavy(family="long")
def test_count_needs_no_constraints(hospital: Path, tmp_path: Path, capsys: Captured) -> None:
    assert main(["count", str(hospital), "--epsilon", CERTAIN]) == 0
    out = capsys.readouterr().out
    assert re.search("count +10,000 +10,000 to 10,000 +number of rows +epsilon ", out)
    assert main(["count", str(hospital), "--epsilon", CERTAIN, "--verbose"]) == 0
    out = capsys.readouterr().out
    assert "count = 10,000\n  meaning   there are about 10,000 rows" in out
    assert "at least 10,000, at most 10,000 (95% sure)" in out
    ledger = tmp_path / "h.ledger"
    assert main(["budget", "create", str(ledger), "--epsilon", "1"]) == 0
    capsys.readouterr()
    count = ["count", str(hospital), "--ledger", str(ledger), "--format", "json", "--confidence", "0.9"]
    shown = []
    for _ in range(2):
        assert main([*count, "--epsilon", "1", "--by", "state", "--keys", "AL,AK,XX", "--run-id", "x"]) == 0
        shown.append(json.loads(capsys.readouterr().out))
    assert shown[0] == shown[1]
    assert [r["where"] for r in shown[0]["releases"]] == ["state = 'AL'", "state = 'AK'", "state = 'XX'"]
    assert main([*count, "--epsilon", "1", "--where", "state = 'AL'"]) == 4


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--epsilon", "0"], "positive"),
        (["--epsilon", "1", "--where", "random() < 1"], "not allowed"),
        (["--epsilon", "1", "--by", "state"], "go together"),
        (["--epsilon", "1", "--confidence", "1"], "confidence"),
        (["--epsilon", "1", "--rows-per-person", "0"], "least 1"),
        (["--epsilon", "1", "--table", "t"], "table name"),
        (["--epsilon", "1", "--run-id", "x"], "needs a ledger"),
    ],
)
def test_a_bad_count_is_one_line(hospital: Path, options: list[str], says: str, capsys: Captured) -> None:
    assert main(["count", str(hospital), *options]) == 2
    out, err = capsys.readouterr()
    assert (out, says in err, err.count("\n")) == ("", True, 1)


@pytest.mark.heavy(family="long")
def test_explain_states_the_split(measure: list[str], capsys: Captured) -> None:
    explain = ["explain", *measure[1:], "--epsilon", "1"]
    assert main([*explain, "--measure", "all", "--rate", "--format", "json"]) == 0
    problematic, repair = json.loads(capsys.readouterr().out)["releases"]
    assert problematic["noise"].endswith("divided by a row count with noise of scale about 20")
    assert repair["noise"].endswith("divided by a row count with noise of scale about 20")
    assert main([*explain, "--each-constraint", "--measure", "repair", "--format", "json"]) == 0
    planned = json.loads(capsys.readouterr().out)["releases"]
    assert [p["epsilon"] for p in planned] == [0.142857142] * 6 + [0.142857148]
    assert main([*explain, "--each-constraint"]) == 0
    assert capsys.readouterr().out.count("\nrepair of not(t1.") == 7
