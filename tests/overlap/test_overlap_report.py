"""The report behind `dpdb overlap`, and what importing the room costs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import dpdb
from dpdb.errors import ParameterError, PredicateError
from dpdb.overlap import overlap_report

LINES = [
    "-- three slices and a cast",
    "SELECT count(*) FROM visits WHERE state = 'CA' AND age >= 65;",
    "state = 'NY'",
    "",
    "state = 'CA' AND age < 65",
    "sqrt(age) = 3 AND state = 'CA'",
]
TYPES = {"state": "VARCHAR", "age": "INTEGER"}


def test_report() -> None:
    report = overlap_report(LINES, types=TYPES)
    assert (report.queries, report.total, report.lower, report.upper, report.optimal) == (4, 4, 2, 2, True)
    assert report.utility_gain == 0.5
    assert report.noise_saved["laplace"] == 0.5
    assert report.noise_saved["gaussian"] == pytest.approx(1 - 0.5**0.5)
    assert "state = 'CA'" in report.witness
    assert 4 in report.witness_queries
    assert report.notes[0].startswith("query 4: ")
    assert json.loads(json.dumps(report.to_dict()))["upper"] == 2


def test_weights_and_methods() -> None:
    report = overlap_report(LINES, [5, 9, 1, 2], types=TYPES)
    assert (report.total, report.upper, report.method) == (17, 9, "auto")
    colours = overlap_report(LINES, [5, 9, 1, 2], types=TYPES, method="dsatur")
    assert (colours.method, colours.lower) == ("dsatur", 9)
    assert 9 <= colours.upper <= 17


def test_an_empty_file_costs_nothing() -> None:
    report = overlap_report(["-- nothing", ""], types=TYPES)
    assert (report.queries, report.upper, report.utility_gain, report.witness) == (0, 0, 0.0, "no row")


def test_errors_name_the_line() -> None:
    with pytest.raises(PredicateError, match="line 2"):
        overlap_report(["a = 1", "a ="], types={"a": "INTEGER"})
    with pytest.raises(ParameterError, match="one weight per query"):
        overlap_report(["a = 1"], [1, 2], types={"a": "INTEGER"})


def test_importing_the_room_loads_nothing_heavy() -> None:
    room = Path(dpdb.__file__).parent
    code = (
        "import sys, types; package = types.ModuleType('dpdb'); package.__path__ = [sys.argv[1]];"
        "sys.modules['dpdb'] = package; import dpdb.ledger, dpdb.overlap;"
        "print([name for name in ('scipy', 'numba', 'sqlglot', 'networkx', 'duckdb') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code, str(room)], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
