"""A measure is one value, told once, and every one of its mechanisms says why it is private."""

from __future__ import annotations

import inspect
import sys
from typing import get_args

import pyarrow as pa
import pytest
from small_graphs import SmallGraph

from dpdb.errors import ParameterError
from dpdb.measures.answer import release_degree_cap
from dpdb.measures.measure import Measure
from dpdb.measures.measure_names import NAMES, TOGETHER, MeasureName
from dpdb.measures.mechanism import Mechanism, Run
from dpdb.measures.registry import all_measures, counted, measure_named, measures_named
from dpdb.owner import exact_measures
from dpdb.privacy import NANO

EVERY = [(measure, mechanism) for measure in all_measures() for mechanism in measure.mechanisms]


def test_the_type_of_names_is_that_of_the_registered_measures() -> None:
    assert get_args(MeasureName) == tuple(measure.name for measure in all_measures()) == NAMES


@pytest.mark.parametrize("measure", all_measures(), ids=lambda measure: measure.name)
def test_a_measure_has_its_default_among_mechanisms_of_distinct_names(measure: Measure) -> None:
    assert measure.mechanism().name == measure.default
    assert len(measure.by_name) == len(measure.mechanisms)
    assert measure.has_rate == (measure.words.of_rate is not None)
    assert counted(measure.name) is measure_named(measure.name) is measure
    assert set(measure.exact.fields) == set(measure.exact.of(_NoConflict()))


@pytest.mark.parametrize("measure", all_measures(), ids=lambda measure: measure.name)
def test_the_ends_of_its_bounds_are_what_it_says(measure: Measure) -> None:
    star, default = SmallGraph(3, ((0, 1), (0, 2))), measure.mechanism()
    share, rest = default.shares(NANO)
    cap = release_degree_cap(star, share) if share else None
    answer = default.answer(Run(star, rest, 0.05, cap))
    assert (answer.upper is not None) == measure.both_ends


def test_what_all_releases_has_shares_that_no_new_measure_changes() -> None:
    shares = [(measure.name, measure.weight, measure.rate_weight) for measure in measures_named("all")]
    assert shares == [("minimal_inconsistency", 36, None), ("problematic", 36, 2), ("repair", 18, 1)]
    assert [measure.name for measure in all_measures() if measure.weight is not None] == list(TOGETHER)


class _NoConflict:
    """The numbers of a table without conflicts (implements `TrueGraph`)."""

    self_conflicts = edges = rows_in_conflict = 0

    def covers(self) -> tuple[float, float, float]:
        return 0, 0, 0

    def counted(self, kind: str) -> int:
        return 0

    def consistent_subsets(self) -> int:
        return 1


def test_names_stand_for_measures() -> None:
    assert [measure.name for measure in measures_named("all", rate=True)] == ["problematic", "repair"]
    assert measures_named("repair", rate=True) == (measure_named("repair"),)
    assert counted("of_a_later_version") is None


@pytest.mark.parametrize(
    ("name", "rate", "says"),
    [
        ("drastic", True, "drastic has no rate: it is a verdict, yes or no, which is no share"),
        ("repairs", False, "unknown measure 'repairs'; did you mean 'repair'?"),
        ("minimal_inconsistency", True, "minimal_inconsistency has no rate: it counts pairs of rows, which are no "
                                        "share of the rows; ask for the rate of problematic or repair or maxi"),
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


def test_pairs_and_rows_on_their_own_are_added_up_to_tell_whether_a_table_is_consistent() -> None:
    """One pair in conflict and one row that breaks a rule by itself: as many of either."""
    table = pa.table({"k": [1, 1, 2], "v": ["a", "b", "c"], "n": [0, 0, 9]})
    rules = ["k -> v", "CHECK (n < 5)"]
    found = exact_measures(table, rules, non_private=True)
    assert (found.minimal_inconsistency, found.self_conflicts, found.drastic) == (2, 1, 1)
    for rows, wanted in ((1, 0), (2, 1)):  # the first row alone, and one pair
        assert exact_measures(table.slice(0, rows), rules, non_private=True).drastic == wanted
