"""A measure is one value, told once, and every one of its mechanisms says why it is private."""

from __future__ import annotations

import inspect
import sys
from typing import get_args

import pytest

from dpdb.errors import ParameterError
from dpdb.measures.measure import Measure
from dpdb.measures.mechanism import Mechanism
from dpdb.measures.registry import MEASURES, MeasureName, counted, measure_named, measures_named

EVERY = [(measure, mechanism) for measure in MEASURES for mechanism in measure.mechanisms]


def test_the_type_of_names_is_that_of_the_registered_measures() -> None:
    assert get_args(MeasureName) == tuple(measure.name for measure in MEASURES)


@pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: measure.name)
def test_a_measure_has_its_default_among_mechanisms_of_distinct_names(measure: Measure) -> None:
    assert measure.mechanism().name == measure.default
    assert len(measure.by_name) == len(measure.mechanisms)
    assert measure.has_rate == (measure.counts == "rows") == (measure.words.of_rate is not None)
    assert counted(measure.name) is measure_named(measure.name) is measure


def test_names_stand_for_measures() -> None:
    assert measures_named("all") == MEASURES
    assert [measure.name for measure in measures_named("all", rate=True)] == ["problematic", "repair"]
    assert measures_named("repair", rate=True) == (measure_named("repair"),)
    assert counted("drastic") is None


@pytest.mark.parametrize(
    ("name", "rate", "says"),
    [
        ("drastic", False, "drastic is not released under differential privacy: it is 0 or 1"),
        ("maximal_consistency", False, "#P-hard"),
        ("repairs", False, "unknown measure 'repairs'; did you mean 'repair'?"),
        ("minimal_inconsistency", True, "minimal_inconsistency has no rate: it counts pairs of rows, which are no "
                                        "share of the rows; ask for the rate of problematic or repair, or leave out"),
    ],
)  # fmt: skip
def test_other_names_are_refused_in_words(name: str, rate: bool, says: str) -> None:
    with pytest.raises(ParameterError, match="^" + says.replace("?", r"\?").replace("#", r".*#")):
        measures_named(name, rate=rate)
    known = "fractional, greedy, violating_rows, fewest_deletions"
    with pytest.raises(ParameterError, match=rf"^unknown mechanism 'gem' of repair \(known: {known}\)$"):
        measure_named("repair").mechanism("gem")


@pytest.mark.parametrize(("measure", "mechanism"), EVERY, ids=lambda one: one.name)
def test_a_mechanism_lies_in_a_file_that_tells_its_sensitivity_proof_and_source(
    measure: Measure, mechanism: Mechanism
) -> None:
    module = sys.modules[inspect.unwrap(mechanism.answer).__module__]
    assert module.__name__.startswith("dpdb.measures.mechanisms.")
    lines = (module.__doc__ or "").splitlines()
    for section in ("Sensitivity", "Proof", "Source"):
        assert section in lines, f"{module.__name__} has no section {section}"
        assert lines[lines.index(section) + 2].strip()
