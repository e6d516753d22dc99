"""`fewest_deletions` through every door's parts: slices, units, rates, each rule, rules across tables, and refusals."""

from __future__ import annotations

import pyarrow as pa
import pytest
from noise_scripts import recorded

import dpdb
from dpdb.errors import ParameterError
from dpdb.owner.exact import exact_measures
from dpdb.release import Ask, Session

CERTAIN = 1_000_000  # the noise is 0 except with probability below exp(-1,000)
TABLE = pa.table(
    {
        "who": [1, 1, 1, 2, 2, 3, 4, 4],
        "a": [1, 1, 1, 1, 2, 2, 2, None],
        "b": [1, 1, 2, 3, 5, 6, 5, 7],
        "c": [0, 0, 0, 1, 1, 1, 9, 0],
    }
)
FD, CHECK, ORDER = "a -> b", "CHECK (c < 9)", "not(t1.b < t2.b & t1.c > t2.c)"
THREE = "not(t1.b < t2.b & t1.c > t2.c & t1.who < t2.who)"  # no closed form is known


def test_one_draw_of_scale_one_over_epsilon_with_both_ends() -> None:
    with Session(TABLE, constraints=[FD, CHECK]) as session:
        release, drawn = recorded(lambda: session.dp_inconsistency("repair", 0.5))
    [draw] = drawn
    assert (draw.kind, draw.value, round(draw.scale, 6)) == ("laplace", 4, 2)  # two and one of the groups, and a 9
    assert (release.mechanism, release.estimand) == ("fewest_deletions", "fewest rows to delete, exactly")
    assert (release.quantity, release.theta, release.upper_reason) == ("rows", None, None)
    assert release.lower <= release.value <= release.upper
    with Session(TABLE, constraints=[FD, CHECK]) as session:
        assert "about 4 rows must go before the table is consistent, and no more need to" in str(
            session.dp_inconsistency("repair", CERTAIN)
        )


@pytest.mark.heavy(family="alone")
def test_slices_rates_and_each_rule_have_it() -> None:
    with Session(TABLE, constraints=[FD, CHECK, ORDER, THREE]) as session:
        each = session.dp_inconsistency("repair", CERTAIN, each_constraint=True)
        assert [one.mechanism for one in each] == [
            "fewest_deletions",
            "violating_rows",
            "fewest_deletions",
            "fractional",
        ]
        assert [one.value for one in each[:3]] == [3, 1, 2]
        assert session.dp_inconsistency("repair", CERTAIN).mechanism == "fractional"
    with Session(TABLE, constraints=[FD, CHECK]) as session:
        by = session.dp_inconsistency("repair", CERTAIN, by="a", keys=[1, 2, 3])
        assert [one.value for one in by] == [2, 2, 0]
        assert session.dp_inconsistency("repair", CERTAIN, where="c < 9").value == 3
        assert session.dp_inconsistency("repair", CERTAIN, rate=True).value == pytest.approx(0.5)
        together = session.dp_inconsistency("all", CERTAIN)
        assert [one.mechanism for one in together] == ["ladder", "ladder", "fewest_deletions"]
        assert together[2].value == 4
        assert session.dp_inconsistency("repair", CERTAIN, mechanism="fractional").mechanism == "fractional"


@pytest.mark.heavy(family="long")
def test_exact_shows_the_same_number() -> None:
    exact = exact_measures(TABLE, [FD, CHECK], non_private=True, by_constraint=True, measures=["repair"])
    assert (exact.repair_lower, exact.repair_upper, exact.reasons) == (4, 4, {})
    assert exact.by_constraint is not None
    assert [rule.measured and rule.measured.repair_upper for rule in exact.by_constraint] == [3, 1]


def test_rows_of_units_are_those_that_are_kept() -> None:
    with Session(TABLE, constraints=[FD], unit="who", max_rows=1) as session:
        release, [draw] = recorded(lambda: session.dp_inconsistency("repair", CERTAIN))
        assert draw.value == 1
        kept = exact_measures(TABLE, [FD], non_private=True, unit="who", max_rows=1)
        assert release.value == kept.repair_upper
    with Session(TABLE, constraints=[FD], rows_per_person=4) as session:
        _, [draw] = recorded(lambda: session.dp_inconsistency("repair", 1))
        assert round(draw.scale, 6) == 4


def test_orphans_are_rows_on_their_own() -> None:
    parents = {"p": pa.table({"c": [0, 1]})}
    with dpdb.open(TABLE, constraints=[FD, "c IN p.c"], public_parents=parents) as session:
        assert session.dp_inconsistency("repair", CERTAIN).value == 4


@pytest.mark.heavy
@pytest.mark.parametrize(
    "rules", [[THREE], [FD, ORDER], [ORDER, "not(t1.who < t2.who & t1.a > t2.a)"], ["a -> b", "b -> c"]]
)
def test_other_rules_refuse_it_in_words(rules: list[str]) -> None:
    with Session(TABLE, constraints=rules) as session:
        with pytest.raises(ParameterError, match=r"^mechanism 'fewest_deletions' of repair counts the fewest rows"):
            session.prepare(Ask("repair", mechanism="fewest_deletions", epsilon=1))
        assert session.spent() == 0
