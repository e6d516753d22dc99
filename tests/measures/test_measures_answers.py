"""What an answer may look like, and how often its bounds hold.

Coverage tests: one-sided exact binomial tests with a false-alarm rate of 1e-8 each, fewer than 65 of them (slow ones
included): below 1e-6 for the file.
"""

import pytest
from case_share import fifth
from hypothesis import given, settings, strategies as st
from inside import true_numbers
from mechanisms_under_test import ALL, Case
from neighbour_tables import FD, SINGLE, _table
from noise_scripts import Script, Zero
from scipy.stats import binom
from small_graphs import SmallGraph, star

from dpdb.measures import answer as projected, measure_named
from dpdb.measures.answer import Answer
from dpdb.measures.mechanisms import covers as fractional
from dpdb.privacy.epsilon import NANO
from dpdb.privacy.noise import replaced_noise
from dpdb.release import Session

ALPHA = 1e-8
exactly = settings(derandomize=True, deadline=None, max_examples=60)


def check_form(key, answer):
    assert answer.value >= 0
    assert 0 <= answer.lower <= answer.value
    assert answer.noise_scale > 0
    assert answer.estimand
    steps = int(1 / Case(*key).mechanism.step)
    for number in (answer.value, answer.lower, answer.upper):
        assert number is None or round(steps * number) / steps == number
    if measure_named(key[0]).both_ends:
        assert answer.upper >= answer.value
        assert answer.upper_reason is None
        assert answer.theta is None
    else:
        assert (answer.upper is not None) == (key[1] == "two_sided")
        assert answer.upper is None or answer.upper >= answer.value
        assert answer.upper is not None or "from below" in answer.upper_reason
        assert answer.theta >= 1


@exactly
@given(st.sampled_from(ALL), st.lists(st.integers(-(2**40), 2**40), min_size=5, max_size=5), st.floats(1e-9, 0.5))
def test_form_for_any_noise(key, outputs, beta):
    """Whatever is drawn: clamped, ordered, integers or halves; upper None exactly where a projection may lose."""

    class Numbers(Script):
        def noisy_extreme(self, scores, scale, *, negate):
            return self._next() % len(scores)

    case = Case(*key, max_degree=7, beta=beta)
    with replaced_noise(Numbers(outputs)):
        check_form(key, case.answer(star(4, self_conflicts=2), NANO))


@pytest.mark.parametrize("key", ALL, ids="-".join)
def test_form_with_real_noise(key):
    for graph in (star(3), SmallGraph(0, ())):
        for epsilon in (NANO // 100, NANO, 10**15):
            check_form(key, Case(*key).answer(graph, epsilon))


@pytest.mark.parametrize("key", ALL, ids="-".join)
def test_without_noise_the_value_is_a_lower_estimate(key):
    graph = star(3, self_conflicts=2)
    with replaced_noise(Zero()):
        answer = Case(*key).answer(graph, 10**15)
    known = {"minimal_inconsistency": 5, "problematic": 6, "repair": 4}
    if key[0] in known:
        assert 2 < answer.value <= known[key[0]]
    else:
        assert 0 < answer.value <= truth_of(key, graph)


def test_clamping():
    answer = Answer(value=-3, lower=-9, upper=-1, noise_scale=1.0, estimand="x")
    assert (answer.value, answer.lower, answer.upper) == (0, 0, 0)
    with replaced_noise(Script([-7])):
        assert Case("repair", "fractional").answer(star(3), NANO).value == 0


def test_no_answer_holds_the_exact_number():
    fields = set(Answer.__dataclass_fields__)
    released = {"value", "lower", "upper", "upper_reason", "theta", "noise_scale", "estimand"}
    assert fields == released | {
        "raw",
        "estimate_lower",
        "estimate_upper",
        "estimate_reason",
        "handicaps",
        "draw_share",
        "theta_limits",
        "most_deletions",
    }


# -- coverage -------------------------------------------------------------------------------------------------

TABLES = {
    # Exact measures: conflicting pairs + U, problematic tuples + U, fewest rows to delete (cover + U).
    "hub and self-conflict": (((1, 0), (1, 0), (1, 0), (1, 1), (5, -1)), (4, 5, 2)),
    "triangle": (((1, 0), (1, 1), (1, 2)), (3, 3, 2)),
    # A large U keeps the clamping at 0 out of the way; tau* is all of the repair.
    "large": (((1, 0), (1, 1), *((3, -1),) * 400), (401, 402, 401)),
    # 199 of 200 rows have to go, and twice tau* is 200.
    "clique": (tuple((1, k) for k in range(200)), (19_900, 200, 199)),
}


def truth_of(key, statistics):
    """What a mechanism estimates, by its own word: of measures whose values no table here lists."""
    own = Case(*key).mechanism.truth
    return (own or measure_named(key[0]).truth)(statistics)


def covered(key, table, trials, *, beta, epsilon=NANO) -> list[tuple[bool, bool]]:
    """(lower bound holds, upper bound holds) for each release."""
    rows, exact = TABLES[table]
    names = ["minimal_inconsistency", "problematic", "repair"]
    truth = exact[names.index(key[0])] if key[0] in names else None
    with Session(_table(rows), constraints=[FD, SINGLE]) as session:
        statistics = true_numbers(session).statistics()
        if key == ("repair", "greedy"):
            truth = statistics.self_conflicts + statistics.greedy_cover()
        if key == ("repair", "fewest_deletions"):
            truth = statistics.counted("violations")
        if truth is None:
            truth = truth_of(key, statistics)
        answers = [Case(*key, max_degree=3, beta=beta).answer(statistics, epsilon) for _ in range(trials)]
    return [(answer.lower <= truth, answer.upper is None or truth <= answer.upper) for answer in answers]


def too_rare(hits: int, trials: int, confidence: float) -> bool:
    return bool(binom.cdf(hits, trials, confidence) < ALPHA)


def holds(key, table, trials, confidence, **options) -> bool:
    outcomes = covered(key, table, trials, beta=1 - confidence, **options)
    return not too_rare(sum(low and high for low, high in outcomes), trials, confidence)


@pytest.mark.heavy
@pytest.mark.parametrize("key", fifth(ALL), ids="-".join)
def test_bounds_hold(key):
    assert holds(key, "hub and self-conflict", 400, 0.8)


@pytest.mark.slow
@pytest.mark.parametrize("confidence", [0.5, 0.95])
@pytest.mark.parametrize("key", ALL, ids="-".join)
def test_bounds_hold_with_many_samples(key, confidence):
    assert holds(key, "triangle", 20_000, confidence)


@pytest.mark.heavy(family="long")
def test_fractional_is_two_sided():
    """Each side alone at 1 - beta / 2, and not by chance: what is left on each side is not nothing."""
    trials, confidence = 4_000, 0.8
    outcomes = covered(("repair", "fractional"), "triangle", trials, beta=0.2, epsilon=4 * NANO)
    for side in (0, 1):
        assert not too_rare(sum(pair[side] for pair in outcomes), trials, 0.9)
    assert not too_rare(sum(low and high for low, high in outcomes), trials, confidence)


@pytest.mark.heavy(family="long")
def test_half_the_tail_is_caught(monkeypatch):
    for module in (fractional, projected):
        whole = module.laplace_tail
        monkeypatch.setattr(module, "laplace_tail", lambda scale, beta, whole=whole: whole(scale, beta) // 2)
    # Of the cover either end has a graph on which it is tight: all of tau* has to go, or nearly twice tau*.
    for side, table in enumerate(("large", "clique")):
        outcomes = covered(("repair", "fractional"), table, 2_000, beta=0.05, epsilon=NANO // 10)
        assert too_rare(sum(pair[side] for pair in outcomes), 2_000, 0.975)
    assert not holds(("minimal_inconsistency", "baseline_max"), "large", 2_000, 0.95)


@pytest.mark.heavy
@pytest.mark.parametrize("key", fifth(ALL), ids="-".join)
def test_bounds_hold_far_from_zero(key):
    """Where clamping cannot help."""
    assert holds(key, "large", 400, 0.9)
