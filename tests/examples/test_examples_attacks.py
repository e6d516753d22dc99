"""The public attacks, in a short form: none learns more than epsilon allows, and the control shows that they can see.

Facts hold for every draw of noise. Guesses fail a sound guarantee once in ten million (`FALSE_ALARM`), each.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

ATTACKS = Path(__file__).resolve().parents[2] / "examples" / "attacks"
SHORT = {
    "error_messages": {},
    "many_constraints": {"persons": 5, "rounds": 2},
    "refusal_times": {},
    "removed_row": {"trials": 150},
    "replay": {"times": 5},
    "slice_averaging": {"worlds": 2, "questions": 6},
}


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    monkeypatch.syspath_prepend(str(ATTACKS))
    names = ("common", *SHORT)
    yield importlib.import_module
    for name in names:
        sys.modules.pop(name, None)


@pytest.mark.heavy
@pytest.mark.parametrize("name", SHORT)
def test_no_attack_learns_more_than_epsilon_allows(name: str, load: type[ModuleType]) -> None:
    found = list(load(name).attack(**SHORT[name]))
    assert found
    assert [str(result) for result in found if not result.within] == []


def test_as_many_questions_about_disjoint_slices_cost_one(load: type[ModuleType]) -> None:
    result = load("slice_averaging").disjoint(slices=3)
    assert result.learnt == result.allowed


def test_plain_sql_tells_what_dpdb_does_not(load: type[ModuleType]) -> None:
    assert load("error_messages").control() >= 3


def test_a_guarantee_that_is_broken_is_said_to_be(load: type[ModuleType]) -> None:
    common = load("common")
    sure = common.Guesses("x", 1.0, 990, 1_000)
    assert not sure.within
    assert "BROKEN" in str(sure)
    assert "BROKEN" in str(common.Fact("x", 2, 1, "draws"))
    assert common.Guesses("x", 1.0, 735, 1_000).within


def test_a_share_of_guesses_is_shown_with_its_sampling_error(load: type[ModuleType]) -> None:
    """At epsilon 1 one coin is right in e / (1 + e) = .7311 with variance .1966: .7% is the root of .1966 / 4,000."""
    found = load("common").Guesses("removed row, repair", 1.0, 2_964, 4_000)
    assert found.within
    assert str(found) == (
        "removed row, repair: right in 74.1% of 4,000 guesses; epsilon 1 allows 73.1% on average, with a sampling "
        "error of 0.7%"
    )


def test_every_attack_is_listed_and_run_with_the_others() -> None:
    programs = {path.stem for path in ATTACKS.glob("*.py")} - {"common", "run_all"}
    assert programs == set(SHORT)
    page, together = ((ATTACKS / name).read_text() for name in ("README.md", "run_all.py"))
    assert all(f"`{name}.py`" in page and f"import {name}" in together for name in programs)
