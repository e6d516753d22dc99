"""What is charged, shared and refused, through `Session`; exact joint loss of `measure="all"`."""

import math
from decimal import Decimal
from fractions import Fraction

import pyarrow as pa
import pytest
from case_share import fifth
from inside import true_numbers
from mechanisms_under_test import ALL, Case, hides_something, ladder_grid, ladder_unit
from neighbour_tables import FD, NO_BITS, NO_CLOSED_FORM, NO_EQUALITY, PAIRS, SINGLE, _table
from noise_scripts import Script, Zero, joint_loss, paths, recorded
from small_graphs import SmallGraph, neighbours, star

from dpdb.errors import BudgetExceededError, ParameterError
from dpdb.privacy.epsilon import NANO, as_fraction, parse_epsilon
from dpdb.release import Session
from dpdb.release.ask import Ask
from dpdb.release.prepare import measure_part

ROWS = ((1, 0), (1, 0), (1, 1), (2, 5))
EPSILONS = ["0.000001", "0.0000019", "0.123456789", "1", "2.999999999", "1000000"]


@pytest.fixture
def session():
    with Session(_table(ROWS), constraints=[FD]) as opened:
        yield opened


# -- all ------------------------------------------------------------------------------------------------------


@pytest.mark.heavy
@pytest.mark.parametrize("rows_per_person", [1, 3, 7])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_costs_of_all_add_up_exactly(epsilon, rows_per_person):
    epsilon = max(Decimal(epsilon), Decimal(rows_per_person) / 10**6)  # at least 1e-6 per row
    with Session(_table(ROWS), constraints=[FD], rows_per_person=rows_per_person) as opened:
        releases = opened.dp_inconsistency("all", epsilon)
        assert sum(parse_epsilon(release.epsilon) for release in releases) == parse_epsilon(epsilon)
        assert parse_epsilon(opened.spent()) == parse_epsilon(epsilon)
    assert [release.measure for release in releases] == ["minimal_inconsistency", "problematic", "repair"]
    assert [release.mechanism for release in releases] == ["ladder", "ladder", "fewest_deletions"]


@pytest.mark.heavy
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_all_draws_one_cap_and_spends_its_total(session, epsilon):
    """cap .10; edges .36 in 30 : 70 and witnesses .36 in 30 : 70, undivided if the cap leaves no choice; repair .18."""
    releases, draws = recorded(lambda: session.dp_inconsistency("all", epsilon))
    edges, witnesses, fewest = releases
    cap = max(1, draws[0].result)
    edge_share, witness_share, repair_share = (Fraction(part) for part in (".36", ".36", ".18"))
    expected = [("laplace", 1, Fraction(1, 10))]
    rest = parse_epsilon(epsilon) * 36 // 100
    if any(hides_something(release.measure, draws[0], rest) for release in (edges, witnesses)):
        return  # fewer than one release in 100,000; see test_measures_ladder.py
    scale = draws[0].scale
    if len(ladder_grid(cap, scale, 0)) == 1:  # no choice of theta
        expected += [("laplace", edges.theta, edge_share), ("laplace", witnesses.theta + 1, witness_share)]
    else:
        expected += [
            ("select", ladder_unit(cap, scale, 0), edge_share * 30 / 100),
            ("laplace", edges.theta, edge_share * 70 / 100),
        ]
        expected += [("select", ladder_unit(cap, scale, 1), witness_share * 30 / 100)]
        expected += [("laplace", witnesses.theta + 1, witness_share * 70 / 100)]
    expected += [("laplace", 1, repair_share)]
    assert [draw.kind for draw in draws] == [kind for kind, _, _ in expected]
    assert max(edges.theta, witnesses.theta) <= 4 * (cap + math.ceil(draws[0].scale))
    assert fewest.theta is None
    costs = [Fraction(unit) / Fraction(draw.scale) for (_, unit, _), draw in zip(expected, draws, strict=True)]
    total = as_fraction(parse_epsilon(epsilon))
    assert sum(costs) <= total
    for cost, (_, _, share) in zip(costs, expected, strict=True):
        assert abs(cost - share * total) <= total / 30_000 + Fraction(4, NANO)
    numbers = [draw.scale for draw in draws[1:] if draw.kind == "laplace"]
    assert [edges.noise_scale, witnesses.noise_scale, fewest.noise_scale] == numbers


def all_draws(graph, outputs, epsilon):
    part = measure_part(Ask("all", epsilon), (), rows_per_person=1)
    return recorded(lambda: part.answers(graph), Script(outputs))[1]


def worst_joint_loss(epsilon):
    probe = SmallGraph(3, ((0, 1),))
    part = measure_part(Ask("all", epsilon), (), rows_per_person=1)
    every = list(paths(lambda: part.answers(probe), [(1, 2, 3)]))
    pairs = [*neighbours(3), *((star(leaves), SmallGraph(leaves, ())) for leaves in (1, 2, 3, 5))]
    return max(
        joint_loss(all_draws(larger, path, epsilon), all_draws(smaller, path, epsilon))
        for larger, smaller in pairs
        for path in every
    )


@pytest.mark.heavy(family="privacy")
def test_joint_loss_of_all_is_exactly_epsilon_at_most():
    """8 graphs x (3 removals + 1 self-conflict), and hubs; every path; the three releases together."""
    # A choice among thetas of a small graph loses less than its share.
    assert 0.8 < worst_joint_loss(1) <= 1 + 1e-9
    assert worst_joint_loss(2) > 1 + 1e-9


def test_all_in_a_session_without_two_tuple_constraints():
    with Session(_table(ROWS), constraints=[SINGLE]) as opened:
        releases, draws = recorded(lambda: opened.dp_inconsistency("all", 1))
        assert [release.theta for release in releases] == [None] * 3
        assert [release.mechanism for release in releases] == ["violating_rows"] * 3
        assert [draw.kind for draw in draws] == ["laplace"]  # all three are one number


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("rules", "repair"),
    [
        ([FD], "fewest_deletions"),
        ([NO_EQUALITY], "fewest_deletions"),
        ([NO_EQUALITY, "not(t1.A < t2.A and t1.B < t2.B)"], "fractional"),  # no closed form is known
    ],
)
def test_all_without_equality_uses_the_same(rules, repair):
    with Session(_table(ROWS), constraints=rules) as opened:
        assert [release.mechanism for release in opened.dp_inconsistency("all", 1)] == ["ladder", "ladder", repair]


# -- several rows per person ----------------------------------------------------------------------------------


@pytest.mark.heavy
@pytest.mark.parametrize("key", ALL, ids="-".join)
def test_rows_per_person_divides_what_is_spent_and_charges_all(key):
    with (
        Session(_table(ROWS), constraints=[FD], rows_per_person=4) as many,
        Session(_table(ROWS), constraints=[FD]) as one,
    ):
        options = {"mechanism": key[1], "max_degree": 3}
        shared, draws = recorded(lambda: many.dp_inconsistency(key[0], 2, **options), Zero())
        single, expected = recorded(lambda: one.dp_inconsistency(key[0], 0.5, **options), Zero())
        assert [draw.scale for draw in draws] == [draw.scale for draw in expected]
        assert (shared.epsilon, single.epsilon) == (2, 0.5)
        assert (many.spent(), one.spent()) == (2, 0.5)
        assert "up to 4 rows of one person" in shared.guarantee


@pytest.mark.parametrize("rows", [0, -1, 1.5, True, "2", None])
def test_bad_rows_per_person(rows):
    with pytest.raises(ParameterError, match="rows_per_person"):
        Session(_table(ROWS), constraints=[FD], rows_per_person=rows)


# -- refused before the debit ---------------------------------------------------------------------------------


REFUSED = [
    ("drastic", {"rate": True}, "drastic has no rate"),
    ("repairs", {}, "did you mean 'repair'"),
    ("repair", {"mechanism": "bound"}, "unknown mechanism"),
    ("repair", {"mechanism": "baseline_true"}, "unknown mechanism"),
    ("minimal_inconsistency", {"mechanism": "baseline_true"}, "unknown mechanism"),
    ("all", {"mechanism": "bound"}, "one measure"),
    ("repair", {"confidence": 1.0}, "confidence"),
    ("repair", {"confidence": 0.4}, "confidence"),
    ("repair", {"confidence": float("nan")}, "confidence"),
    ("repair", {"confidence": "0.9"}, "confidence"),
    ("repair", {"max_degree": 0}, "max_degree"),
    ("repair", {"max_degree": 2.0}, "max_degree"),
    ("repair", {"max_degree": True}, "max_degree"),
    *((measure, {"epsilon": epsilon}, "epsilon") for measure in ("repair", "all", "problematic") for epsilon in
      (0, -1, float("nan"), float("inf"), "much", True, "0.0000009", "1e-9", 1_000_001)),
    *((key[0], {"mechanism": key[1]}, "needs a public max_degree") for key in ALL
      if Case(*key).mechanism.needs_max_degree),
]  # fmt: skip


@pytest.mark.heavy
@pytest.mark.parametrize(("measure", "options", "message"), REFUSED)
def test_refused_before_anything_is_spent(measure, options, message):
    asked = {"epsilon": 1, **options}
    with Session(_table(ROWS), constraints=[FD], budget=1000) as opened:
        with pytest.raises(ParameterError, match=message):
            recorded(lambda: opened.dp_inconsistency(measure, **asked), Script([]))
        assert opened.spent() == 0
        assert not true_numbers(opened)  # nothing was read


def test_needing_max_degree_is_as_documented():
    needing = {key for key in ALL if Case(*key).mechanism.needs_max_degree}
    names = ("em", "hierarchical", "baseline_max")
    documented = {(m, name) for m in ("minimal_inconsistency", "problematic") for name in names}
    assert needing == documented | {("minimal_inconsistency", "r2t")}


def test_tiny_epsilon_per_person_is_refused():
    with Session(_table(ROWS), constraints=[FD], rows_per_person=3) as opened:
        with pytest.raises(ParameterError, match=r"0\.000001 per row"):
            opened.dp_inconsistency("repair", "0.000002")
        assert opened.spent() == 0


def test_an_overspent_budget_draws_nothing():
    with Session(_table(ROWS), constraints=[FD], budget=1) as opened:
        opened.dp_inconsistency("repair", 0.75)
        recorder = Script([])
        with pytest.raises(BudgetExceededError, match=r"short by 0\.25"):
            recorded(lambda: opened.dp_inconsistency("repair", 0.5), recorder)
        assert recorder.position == 0
        assert opened.remaining() == 0.25


def test_an_impossible_max_degree_is_refused_before_the_debit():
    """2**63 does not fit the samplers' integers: known before anything is spent, so it must not cost anything."""
    with Session(_table(ROWS), constraints=[FD]) as opened:
        for max_degree in (2**63, 10**400):
            for name in ("em", "baseline_max", "hierarchical"):
                with pytest.raises(ParameterError, match="max_degree"):
                    opened.dp_inconsistency("minimal_inconsistency", 1, mechanism=name, max_degree=max_degree)
        assert opened.spent() == 0


# -- a release is public in all but its noise -----------------------------------------------------------------


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("key", "pair"),
    [
        (key, pair)
        for key in fifth(ALL)
        for pair in ("hub", "self-conflict", "no equality")
        if key[1] != "fewest_deletions" or pair not in NO_CLOSED_FORM
        if key[1] != "decision_bits" or pair not in NO_BITS
    ],
)
def test_with_the_same_draws_both_tables_give_the_same_release(key, pair):
    """Nothing but the noisy numbers reaches the release: no exact number, no size."""
    releases = []
    for table in PAIRS[pair].tables():
        with Session(table, constraints=list(PAIRS[pair].constraints)) as opened:
            release, _ = recorded(
                lambda opened=opened: opened.dp_inconsistency(key[0], 1, mechanism=key[1], max_degree=4),
                Script([3]) if Case(*key).mechanism.cap_weight else Script([]),
            )
        releases.append({**release.to_dict(), "release_id": None})
    assert releases[0] == releases[1]


def test_printing_draws_nothing():
    with Session(pa.table({"A": [1, 1], "B": [0, 1]}), constraints=[FD]) as opened:
        release, draws = recorded(lambda: opened.dp_inconsistency("repair", 1))
        script = Script([])
        assert recorded(lambda: (repr(release), str(release), release.to_dict(), release == release), script)[1] == []
        assert len(draws) == 1
