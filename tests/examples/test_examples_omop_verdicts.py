"""The comparison of verdicts: what it prints for a small set, and that its noise is what epsilon and delta allow."""

from __future__ import annotations

import importlib.util
import math
import sys
from argparse import Namespace
from pathlib import Path
from types import ModuleType

import pytest

from dpdb.privacy.epsilon import zcdp_epsilon

OMOP = Path(__file__).parents[2] / "examples" / "omop"
SUITES = {
    "person": """\
month: CHECK (month_of_birth >= 1)  fail above 0
year: CHECK (year_of_birth >= 1850)  fail above 5%
race: race_concept_id IN concept.concept_id  fail above 0
""",
    "visit_occurrence": """\
kind: visit_concept_id IN concept.concept_id  fail above 5%
start: NOT NULL(visit_start_date)
""",
}


@pytest.fixture
def comparison(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(OMOP))
    spec = importlib.util.spec_from_file_location("verdicts", OMOP / "verdicts.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "verdicts", module)  # its dataclasses look themselves up
    spec.loader.exec_module(module)
    return module


def _options(folder: Path, **changed: object) -> Namespace:
    for name, text in SUITES.items():
        (folder / f"{name}.suite.txt").write_text(text)
    asked = {"suites": folder, "persons": 4_000, "epsilon": "1", "delta": 1e-6, "confidence": 0.99, "small": 20}
    return Namespace(**(asked | {"seed": 7, "seeds": 1, "runs": 3} | changed))


@pytest.mark.heavy(family="alone")
def test_every_way_finds_what_lies_far_beyond_its_limit(comparison: ModuleType, tmp_path: Path) -> None:
    """A suite may be wrong about what lies at its limit as often as its confidence allows: here 3 in 10^9 times."""
    options = _options(tmp_path, epsilon="10000", confidence=1 - 1e-9)
    first, _, head, _, *rows = comparison.compare(options)
    assert first.startswith("5 checks (3 truly fail) of ")
    assert [row.split(" | ")[0] for row in rows] == [
        "| dpdb check", "| dpdb check, zCDP", "| pure, plain", "| pure, sure", "| zCDP, plain", "| zCDP, sure"
    ]  # fmt: skip
    assert all(row.split(" | ")[1] == "100.0% (100.0% to 100.0%)" for row in rows)
    assert {row.count("|") for row in [head, *rows]} == {11}


@pytest.mark.heavy(family="spending")
def test_costs_and_bounds_are_printed(comparison: ModuleType, tmp_path: Path) -> None:
    rows = {row.split(" | ")[0][2:]: row.strip("| ").split(" | ") for row in comparison.compare(_options(tmp_path))[4:]}
    assert 0.25 <= float(rows["dpdb check"][5]) <= 1
    assert 0 < float(rows["dpdb check, zCDP"][5]) <= comparison.rho_of(1, 1e-6) + 0.001
    assert {rows[name][5] for name in rows if not name.startswith("dpdb check")} == {"1.000"}
    # the reach of discrete Laplace noise of scale 5: 5 ln(5 / (0.01 (1 + exp(1 / 5)))), up to the next step
    assert int(rows["pure, plain"][7]) == math.ceil(5 * math.log(5 / 0.01 / (1 + math.exp(1 / 5))))
    assert int(rows["pure, sure"][7]) == 2 * int(rows["pure, plain"][7])


def test_rho_is_the_most_that_epsilon_and_delta_allow(comparison: ModuleType) -> None:
    for epsilon, delta in ((1, 1e-6), (0.1, 1e-9), (8, 1e-5)):
        rho = comparison.rho_of(epsilon, delta)
        assert zcdp_epsilon(rho, delta) <= epsilon < zcdp_epsilon(rho * 1.000001, delta)
