"""What a release is asked is one value: its names, defaults and refusals are the same through every door."""

from __future__ import annotations

import inspect
from dataclasses import FrozenInstanceError, fields, replace
from typing import Any

import pyarrow as pa
import pytest

import dpdb
from dpdb.errors import ParameterError
from dpdb.release.ask import (
    OPTIONS,
    Ask,
    EveryCountOption,
    EveryMeasureOption,
    PublicTheta,
    parse_confidence,
    parse_rho_share,
    parse_share,
)

TABLE = pa.table({"zip": ["1", "1", "2"], "city": ["a", "b", "c"]})

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "unknown option": ({"epsilonn": 1}, "no option 'epsilonn'; did you mean 'epsilon'?"),
    "unknown measure": ({"measure": "repairs"}, "unknown measure 'repairs'; did you mean 'repair'?"),
    "no cost": ({"epsilon": None}, "what a release costs is never a default: give epsilon, or rho on a zcdp ledger"),
    "no cost of a count": ({"measure": "count", "epsilon": None}, "never a default: give epsilon, or rho"),
    "measures in rho": ({"rho": 0.1}, "rho= is for counts of rows"),
    "rate of pairs": ({"measure": "minimal_inconsistency", "rate": True}, "has no rate"),
    "unknown mechanism": ({"mechanism": "nothing"}, "unknown mechanism 'nothing'"),
    "one mechanism for three": ({"measure": "all", "mechanism": "greedy"}, "one measure"),
    "one theta for three": ({"measure": "all", "theta": 2}, "theta applies to one measure"),
    "theta": ({"measure": "problematic", "theta": 0}, "theta must be"),
    "confidence": ({"confidence": 1}, "confidence must be"),
    "max_degree": ({"max_degree": 2.5}, "max_degree must be"),
    "too large a degree": ({"max_degree": 2**32}, "max_degree must be"),
    "by alone": ({"by": "zip"}, "by= and keys= go together"),
    "keys alone": ({"keys": ["1"]}, "by= and keys= go together"),
    "no key": ({"by": "zip", "keys": []}, "at least one value"),
    "keys as text": ({"by": "zip", "keys": "12"}, "at least one value"),
    "two costs": ({"measure": "count", "epsilon": 1, "rho": 1}, "not both"),
    **{
        f"{name} of a count": ({"measure": "count", name: value}, "do not apply to measure 'count'")
        for name, value in {
            "mechanism": "x", "max_degree": 1, "rate": True, "each_constraint": True, "theta": 1,
        }.items()
    },
}  # fmt: skip


@pytest.mark.heavy
@pytest.mark.parametrize("fault", REFUSED)
def test_an_ask_that_cannot_be_is_refused_wherever_it_comes_from(fault: str) -> None:
    given, message = REFUSED[fault]
    given = given if given.keys() & {"epsilon", "rho"} else {**given, "epsilon": 1}
    with pytest.raises(ParameterError) as refused:
        Ask.of(given)
    assert message in str(refused.value)
    function = "dp_count" if given.get("measure") == "count" else "dp_inconsistency"
    options = {name: value for name, value in given.items() if (name, value) != ("measure", "count")}
    with dpdb.open(TABLE, constraints="zip -> city") as session:
        with pytest.raises(ParameterError) as again:
            getattr(session, function)(**options)
        assert (str(again.value), session.spent()) == (str(refused.value), 0)


def test_the_least_and_the_largest_degree_may_be_asked_for() -> None:
    for degree in (1, 2**32 - 1):
        assert Ask.of({"max_degree": degree, "epsilon": 1}).max_degree == degree


def test_what_a_mapping_leaves_out_has_its_default() -> None:
    cost = {"epsilon": 1}
    assert Ask.of(cost) == Ask("repair", 1) == Ask.called("dp_inconsistency", cost)
    assert Ask.called("dp_count", cost) == Ask("count", 1)
    assert Ask(epsilon=1) == Ask("repair", 1, confidence=0.95, rate=False, each_constraint=False)
    assert (Ask("count", 1).charged, Ask("count", 1).charged_rho) == (10**9, None)
    in_rho = Ask.of({"measure": "count", "rho": "0.25"})
    assert (in_rho.charged, in_rho.charged_rho) == (0, 10**12 // 4)


def test_the_least_share_of_a_row_is_used_and_less_is_refused() -> None:
    assert (parse_share(7_006, 7), parse_rho_share(9_008, 3)) == (1_000, 1_000)
    for parse, charged, rows in ((parse_share, 6_999, 7), (parse_rho_share, 8_999, 3)):
        with pytest.raises(ParameterError, match="too small to use"):
            parse(charged, rows)
    assert [parse_confidence(0.5), parse_confidence(0.999)] == [0.5, 0.999]
    for confidence in (0.499, 1):
        with pytest.raises(ParameterError, match=r"at least 0\.5 and below 1"):
            parse_confidence(confidence)


def test_each_function_asks_for_its_own_measures() -> None:
    with pytest.raises(ParameterError, match="unknown measure 'count'"):
        Ask.called("dp_inconsistency", {"measure": "count"})
    assert [Ask(measure, 1).function for measure in ("all", "repair", "count")] == ["dp_inconsistency"] * 2 + [
        "dp_count"
    ]
    assert Ask("count", 1).measures == ()


def test_a_count_that_is_asked_for_a_measure_is_refused_and_costs_nothing() -> None:
    with dpdb.open(TABLE, constraints="zip -> city") as session:
        for measure in ("repair", "all", "Count"):
            with pytest.raises(ParameterError, match=f"takes no measure, got '{measure}'"):
                session.dp_count(0.5, measure=measure)  # type: ignore[call-overload]
        assert session.spent() == 0
    assert Ask.called("dp_count", {"measure": None, "epsilon": 1}) == Ask("count", 1)  # as SQL functions pass it


def test_it_knows_whether_its_answer_is_one_release() -> None:
    groups = {"by": "zip", "keys": ["1"], "epsilon": 1}
    assert not any(ask.several for ask in (Ask(epsilon=1), Ask("count", 1), Ask(epsilon=1, rate=True)))
    several = (
        Ask("all", 1),
        Ask(epsilon=1, each_constraint=True),
        Ask.of(groups),
        Ask.of({"measure": "count", **groups}),
    )
    assert all(ask.several for ask in several)


def test_an_ask_is_a_value() -> None:
    keys = ["1", "2"]
    ask = Ask(epsilon=1, by="zip", keys=keys)
    keys.append("3")
    assert ask == Ask(epsilon=1, by="zip", keys=("1", "2"))
    assert len({ask, Ask(epsilon=1, by="zip", keys=("1", "2")), replace(ask, epsilon=2)}) == 2
    with pytest.raises(FrozenInstanceError):
        ask.epsilon = 2  # type: ignore[misc]
    with pytest.raises(ParameterError):
        replace(ask, epsilon=-1)
    assert Ask("problematic", 1, theta=3).public_theta == PublicTheta((3,))


def test_signatures_show_every_option_with_its_default() -> None:
    """What type checkers, `help` and notebooks are told is what `Ask` has."""
    first = {"measure", "epsilon"}
    measures, counts = set(EveryMeasureOption.__annotations__), set(EveryCountOption.__annotations__)
    assert (measures | counts | first) - {"who"} == set(OPTIONS) == {one.name for one in fields(Ask)}
    for function, names, settings in (
        (dpdb.Session.dp_inconsistency, measures | first, False),
        (dpdb.Session.dp_count, counts | {"epsilon"}, False),
        (dpdb.dp_inconsistency, measures | first, True),
    ):
        shown = inspect.signature(function).parameters
        assert set(shown) - {"self", "source", "constraints"} == names | ({"settings"} if settings else set())
        for name in names - ({"epsilon"} if names == counts | {"epsilon"} else set()):
            assert shown[name].default == (None if name == "who" else OPTIONS[name].default)
