"""`Release.change`: the difference of two releases of one statistic, and public thetas through `Session`.

Coverage: exact binomial tests with a false-alarm rate of 1e-8 each, 7 of them: below 1e-6 for the file.
"""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from case_share import fifth
from scipy.stats import binom
from stub_noise import StubNoise

import dpdb
from dpdb.doors.cli import main
from dpdb.errors import ParameterError
from dpdb.privacy.noise import replaced_noise
from dpdb.release import Release, Session
from dpdb.release.published import comparisons as change
from dpdb.release.published.release import recorded_releases

RULE = "zip -> city"
ESTIMATES = ("raw", "estimate_lower", "estimate_upper", "estimate_reason", "unit", "theta_from")
NEW = (*ESTIMATES, "handicaps", "draw_share", "theta_limits", "constraint_text", "population", "most_deletions")


def table(groups: int, size: int = 4) -> pa.Table:
    """`groups` values of zip, in each of which one row of `size` has another city."""
    zips = [f"z{group}" for group in range(groups) for _ in range(size)]
    return pa.table({"zip": zips, "city": ["a", *["b"] * (size - 1)] * groups})


def session(groups: int = 50) -> Session:
    return dpdb.open(table(groups), constraints=RULE)


def released(measure: str = "problematic", epsilon: float = 1, groups: int = 50, **asked: object) -> Release:
    with session(groups) as opened:
        found = opened.dp_inconsistency(measure, epsilon, **asked)
    assert isinstance(found, Release)
    return found


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize(
    ("measure", "epsilons", "theta"),
    fifth(
        [
            ("problematic", (0.5, 0.5), 3),
            ("minimal_inconsistency", (0.5, 2), 2),
            ("repair", (1, 0.3), None),
        ]
    ),
)
def test_the_difference_lies_inside(measure: str, epsilons: tuple[float, float], theta: int | None) -> None:
    """Of 30 and of 50 groups; also where 0 clamps the values, which are not what is compared."""
    trials, confidence = 600, 0.8
    with session(30) as before, session(50) as after:
        pairs = [
            tuple(s.dp_inconsistency(measure, e, theta=theta) for s, e in zip((before, after), epsilons, strict=True))
            for _ in range(trials)
        ]
        true = [exact_at(s, measure, theta) for s in (before, after)]
    changes = [late.change(early, confidence) for early, late in pairs]
    hits = sum(found.lower <= true[1] - true[0] <= found.upper for found in changes)
    assert binom.cdf(hits, trials, confidence) > 1e-8
    # Not wide by chance: with noise of one step it is the exact quantile, up to one step.
    assert binom.sf(hits, trials, 0.95) > 1e-8


# A row in each group conflicts with all others of it: few rows with all conflicts, for which larger thetas are tried.
HUBS = {"problematic": (20, 131), "minimal_inconsistency": (12, 300)}


@pytest.fixture(scope="module", params=HUBS)
def climbed(request: pytest.FixtureRequest) -> list[tuple[Release, Release, Release, float]]:
    """Chosen theta, chosen again, and kept where there are half as many groups more; and by how much that is more."""
    measure, (groups, size) = request.param, HUBS[request.param]
    exact: dict[object, float] = {}
    found = []
    with (
        dpdb.open(table(groups, size), constraints=RULE) as before,
        dpdb.open(table(groups * 3 // 2, size), constraints=RULE) as after,
    ):
        for _ in range(120):
            first, again = (before.dp_inconsistency(measure, 1) for _ in range(2))
            kept = after.dp_inconsistency(measure, 1, theta=first.theta)
            if first.theta not in exact:
                exact[first.theta] = exact_at(after, measure, first.theta) - exact_at(before, measure, first.theta)
            found.append((first, again, kept, exact[first.theta]))
    return found


@pytest.mark.heavy(family="long")
def test_a_chosen_theta_compares_with_a_kept_one(climbed: list[tuple[Release, Release, Release, float]]) -> None:
    changes = [(kept.change(first, 0.8), more) for first, _, kept, more in climbed]
    hits = sum(change.lower <= more <= change.upper for change, more in changes)
    assert binom.cdf(hits, len(changes), 0.8) > 1e-8
    assert all(change.lower <= change.value <= change.upper for change, _ in changes)
    assert {(first.handicaps or 0) > 0 or first.draw_share == 0.5 for first, *_ in climbed} >= {True}


@pytest.mark.heavy(family="long")
def test_two_chosen_thetas_compare_where_they_are_equal(
    climbed: list[tuple[Release, Release, Release, float]],
) -> None:
    equal = [(first, again) for first, again, *_ in climbed if first.theta == again.theta]
    hits = sum(again.change(first, 0.8).lower <= 0 <= again.change(first, 0.8).upper for first, again in equal)
    # Of all pairs at most a fifth are compared and missed.
    assert binom.cdf(hits + len(climbed) - len(equal), len(climbed), 0.8) > 1e-8
    for first, again, *_ in climbed:
        if first.theta != again.theta:
            with pytest.raises(ParameterError, match="thetas differ"):
                again.change(first)
            break


def test_a_share_or_a_handicap_widens_the_interval() -> None:
    early = replace(released(epsilon=10, theta=3), raw=1_000, noise_scale=40.0, theta_from=None)
    late = replace(early, release_id="2", theta_from="given")
    plain = late.change(early)
    alone, shared, skewed = (
        late.change(replace(early, handicaps=handicaps, draw_share=share))
        for handicaps, share in [(0, 1.0), (0, 0.25), (2, 0.25)]
    )
    assert (alone.lower, alone.upper) == pytest.approx((plain.lower, plain.upper), abs=3)
    assert shared.lower + shared.upper == 0
    assert shared.upper > alone.upper + 40
    assert (shared.lower - 10, shared.upper) > (skewed.lower, skewed.upper)  # what was subtracted may have been much


def test_a_release_of_an_older_version_that_chose_its_draw_is_refused() -> None:
    now = released(theta=3)
    old = replace(now, release_id="2", estimate_lower=None, estimate_upper=None, estimate_reason="chosen by its draws")
    with pytest.raises(ParameterError, match="mechanism 'ladder' gives no interval: chosen by its draws"):
        now.change(old)


def exact_at(opened: Session, measure: str, theta: int | None) -> float:
    with replaced_noise(StubNoise()):
        return opened.dp_inconsistency(measure, 1, theta=theta).raw


@pytest.mark.heavy(family="long")
def test_half_the_tail_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = change.laplace_difference_tail
    monkeypatch.setattr(change, "laplace_difference_tail", lambda a, b, beta: whole(a, b, beta) // 2)
    with session(50) as opened:
        many = [opened.dp_inconsistency("problematic", 0.5, theta=3) for _ in range(1_000)]
    found = [late.change(early) for early, late in zip(many[::2], many[1::2], strict=True)]
    hits = sum(one.lower <= 0 <= one.upper for one in found)
    assert binom.cdf(hits, len(found), 0.95) < 1e-8


def test_a_change_in_words() -> None:
    early = replace(released(theta=3), raw=100, noise_scale=4.0)
    assert replace(early, release_id="2", raw=330).change(early).words == "rose by 214 to 246"
    assert replace(early, release_id="2", raw=10).change(early).words == "fell by 74 to 106"
    assert replace(early, release_id="2", raw=101).change(early).words == "no change seen"
    found = replace(early, release_id="2", raw=330).change(early, 0.5)
    assert json.loads(json.dumps(found.to_dict()))["confidence"] == 0.5
    assert found.lower > 214


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("other", "why"),
    [
        ({"measure": "minimal_inconsistency"}, "measures differ"),
        ({"estimand": "x"}, "estimands differ"),
        ({"theta": 9}, "thetas differ: 9 and 3"),
        ({"where": "zip = 'z1'"}, "slices differ"),
        ({"constraint": "x"}, "constraints differ"),
        ({"constraints_sha256": "0" * 64}, "constraints differ: digest 000000000000 and"),
        ({"unit": "up to 2 rows of one person"}, "privacy units differ"),
        ({"raw": None}, "older version"),
    ],
)
def test_other_statistics_are_refused(other: dict[str, object], why: str) -> None:
    now = released(theta=3)
    with pytest.raises(ParameterError, match=why) as refused:
        now.change(replace(now, release_id="2", **other))
    assert "\n" not in str(refused.value)


@pytest.mark.heavy(family="long")
def test_rates_itself_and_undefined_noise_are_refused() -> None:
    now = released(theta=3)
    with pytest.raises(ParameterError, match="one and the same"):
        now.change(now)
    with pytest.raises(ParameterError, match="confidence must be"):
        now.change(replace(now, release_id="2"), 1.0)
    rate = released(theta=3, rate=True)
    with pytest.raises(ParameterError, match="without rate"):
        rate.change(replace(rate, release_id="2"))
    assert rate.estimate_lower <= rate.value <= rate.estimate_upper <= 1
    race = released("minimal_inconsistency", mechanism="r2t", max_degree=8)
    assert (race.estimate_lower, race.estimate_upper) == (None, None)
    assert "largest of several draws" in race.estimate_reason
    with pytest.raises(ParameterError, match="gives no interval"):
        race.change(replace(race, release_id="2"))


def test_counts_change_too() -> None:
    with session(30) as before, session(90) as after:
        assert after.dp_count(1).change(before.dp_count(2)).words.startswith("rose by ")


# -- public thetas --------------------------------------------------------------------------------------------


@pytest.mark.heavy(family="long")
def test_a_public_theta_is_not_chosen_and_says_so() -> None:
    noise = StubNoise()
    with replaced_noise(noise):
        one = released(theta=3)
    assert (noise.draws, one.theta, one.theta_from, one.mechanism) == (1, 3, "given", "ladder")
    assert released().theta_from is None
    alone = dpdb.dp_inconsistency(table(5), RULE, "minimal_inconsistency", theta=2, epsilon=1)
    assert (alone.theta, alone.noise_scale) == (2, 2.0)
    with session() as opened:
        each = opened.dp_inconsistency("problematic", theta=3, by="zip", keys=["z1", "z2"], epsilon=1)
        assert [release.theta for release in each] == [3, 3]
        assert opened.dp_inconsistency("problematic", theta=3, rate=True, epsilon=1).theta == 3
        with pytest.raises(ParameterError, match="max_degree"):
            opened.dp_inconsistency("problematic", mechanism="em", epsilon=1)
        assert opened.dp_inconsistency("problematic", mechanism="em", theta=3, epsilon=1).mechanism == "em"


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"measure": "repair", "theta": 3}, "it has no theta"),
        ({"measure": "all", "theta": 3}, "each measure has its own"),
        ({"theta": 0}, "theta must be a whole number from 1"),
        ({"theta": True}, "theta must be a whole number"),
        ({"theta": 2.0}, "theta must be a whole number"),
        ({"theta": 2**40}, "theta must be a whole number"),
        ({"theta": 3, "mechanism": "two_sided"}, "max_group"),
        ({"measure": "minimal_inconsistency", "theta": 3, "mechanism": "r2t", "max_degree": 4}, "several of them"),
    ],
)
def test_a_theta_that_cannot_be_is_refused_before_anything_is_spent(asked: dict[str, object], why: str) -> None:
    with dpdb.open(table(2), constraints=RULE, budget=1) as opened:
        with pytest.raises(ParameterError, match=why):
            opened.dp_inconsistency(**{"measure": "problematic", "epsilon": 1, **asked})
        assert opened.spent() == 0


@pytest.mark.heavy(family="long")
def test_every_door_takes_a_theta(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pq.write_table(table(20), tmp_path / "visits.parquet")
    asked = [str(tmp_path / "visits.parquet"), "--constraints", RULE]
    assert main(["measure", *asked, "--measure", "problematic", "--epsilon", "1", "--theta", "3", "--verbose"]) == 0
    out = capsys.readouterr().out
    assert "  theta     3 (given); at this theta the count lies between " in out
    call = "dp_inconsistency('visits', measure := 'problematic', epsilon := 1, theta := 3)"
    statement = f"SELECT theta, theta_from, unit, raw >= estimate_lower AS inside FROM {call}"
    assert main(["sql", *asked, "--budget", "1", "--format", "csv", statement]) == 0
    assert capsys.readouterr().out.splitlines()[1] == "3,given,one row,True"
    assert main(["sql", *asked, "--budget", "1", statement.replace(":= 3", ":= 'x'")]) == 2
    assert "cannot be theta: write a whole number" in capsys.readouterr().err
    with duckdb.connect() as con:
        con.execute("CREATE TABLE visits AS FROM read_parquet(?)", [asked[0]])
        registration = dpdb.register(con, constraints=RULE)
        assert registration.execute(f"SELECT {call}.theta_from AS f").to_pylist() == [{"f": "given"}]
        registration.close()


# -- answers of older versions --------------------------------------------------------------------------------


def test_recorded_answers_without_the_new_fields_are_read() -> None:
    now = released(theta=3)
    old = {name: value for name, value in now.to_dict().items() if name not in NEW}
    assert [field.name for field in fields(Release)][-len(NEW) :] == list(NEW)
    [read] = recorded_releases(json.dumps([old]))
    assert read.raw is read.estimate_lower is read.unit is None
    assert read.value == now.value
    with pytest.raises(ParameterError, match="older version"):
        now.change(replace(read, release_id="2"))
