"""Output distributions on neighbouring tables, through SQL, with the real noise.

False alarms: a test rejects a private mechanism with probability at most 2e-9 per direction (`distribution_check`),
and there are fewer than 250 directions, slow ones included: below 5e-7 for the file. Companions, which must reject,
may miss with a probability that is small but not part of this rate.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from case_share import fifth, twentieth
from distribution_check import choose_event, exceeds, is_caught
from inside import OPENDP, table_of, true_numbers
from mechanisms_under_test import ALL, Case
from neighbour_tables import NO_CLOSED_FORM, PAIRS, TablePair
from noise_scripts import Draw, Recorder

from dpdb.measures import answer as projected
from dpdb.privacy import noise as randomness
from dpdb.privacy.epsilon import NANO
from dpdb.privacy.noise import replaced_noise
from dpdb.release import Session

EPSILON = 2  # where a doubled loss shows with few samples
CHEAP = {"fractional", "fewest_deletions", "greedy", "baseline_max", "r2t"}
DEFAULTS = [
    ("minimal_inconsistency", "ladder"),
    ("problematic", "ladder"),
    ("repair", "fractional"),
]
EXACT = ("repair", "fewest_deletions")  # the default where rules have a closed form


def outcome(draws: list[Draw]) -> tuple[int, ...]:
    """All that was drawn, in few classes: beyond the exact values of these tables a ratio hardly changes."""
    return tuple(min(max(draw.result, -1), 6) for draw in draws)


@contextmanager
def sampled(pair: TablePair, case: Case, epsilon: float = EPSILON) -> Iterator[list]:
    """Two samplers of outcomes, each over a session whose conflict graph is made once."""

    def sampler(session: Session):
        statistics = true_numbers(session).statistics()

        def sample(count: int) -> list[tuple[int, ...]]:
            outcomes: list[tuple[int, ...]] = []
            recorder = Recorder(OPENDP())
            with replaced_noise(recorder):
                for _ in range(count):
                    case.answer(statistics, int(epsilon * NANO))
                    outcomes.append(outcome(recorder.draws))
                    recorder.draws.clear()
            return outcomes

        return sample

    first, second = pair.tables()
    with (
        Session(first, constraints=list(pair.constraints)) as one,
        Session(second, constraints=list(pair.constraints)) as other,
    ):
        yield [sampler(one), sampler(other)]


def is_counted(key, pair: str) -> bool:
    """Whether the pair's rules have the statistic that the mechanism counts, if it counts one."""
    kind, pair_of = Case(*key).mechanism.exact_kind, PAIRS[pair]
    with Session(pair_of.tables()[0], constraints=list(pair_of.constraints)) as session:
        return kind is None or table_of(session).exact_statistic(table_of(session).constraints, kind) is not None


def caught(key, pair: str, *, trials: int, epsilon: float = EPSILON, max_degree: int = 1) -> bool:
    """Whether the mechanism at `epsilon` is proved to lose more than EPSILON on the pair."""
    with sampled(PAIRS[pair], Case(*key, max_degree=max_degree), epsilon) as (first, second):
        return is_caught(first, second, EPSILON, trials, max(400, trials // 6))


def trials_of(key) -> int:
    return 4_000 if key[1] in CHEAP else 700


@pytest.mark.heavy(family="alone")
@pytest.mark.parametrize("key", twentieth(ALL), ids="-".join)
def test_a_hub_arrives(key):
    assert not caught(key, "hub", trials=trials_of(key))


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize("key", [*fifth([*DEFAULTS, ("repair", "greedy")]), EXACT], ids="-".join)
def test_a_self_conflict_arrives(key):
    assert not caught(key, "self-conflict", trials=trials_of(key))


@pytest.mark.heavy(family="more")
def test_without_equality():
    assert not caught(("minimal_inconsistency", "marginal_order"), "no equality", trials=1_000)


@pytest.mark.heavy(family="more")
@pytest.mark.parametrize("key", [*DEFAULTS, ("repair", "greedy")], ids="-".join)
def test_two_constraints(key):
    assert not caught(key, "two constraints", trials=900)


@pytest.mark.heavy(family="more")
def test_two_truncations():
    """R2T at tau = 2 and 4: the hub's three conflicts change the first by 2 and the second by 3."""
    assert not caught(("minimal_inconsistency", "r2t"), "hub", trials=4_000, max_degree=4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "pair"),
    [(key, pair) for key in ALL for pair in PAIRS if key[1] != "fewest_deletions" or pair not in NO_CLOSED_FORM],
)
def test_every_pair(key, pair):
    if not is_counted(key, pair):
        pytest.skip("these rules have no such statistic")
    assert not caught(key, pair, trials=40_000 if key[1] in CHEAP else 8_000)


# -- the check notices wrong constants ------------------------------------------------------------------------


@pytest.mark.heavy
@pytest.mark.parametrize("key", [*fifth([*DEFAULTS, ("repair", "greedy")]), EXACT], ids="-".join)
def test_a_multiplied_epsilon_is_caught(key):
    """Doubled; tripled where a selection takes part of it, which these few samples do not see."""
    factor = 3 if key[1] == "ladder" else 2
    assert caught(key, "hub", trials=2_000, epsilon=factor * EPSILON)


# The theta of `two_sided` lies far above the degrees of these tables, so its loss hardly shows in samples; the exact
# audit of test_measures_sensitivity catches it on larger hubs.
@pytest.mark.slow
@pytest.mark.parametrize("key", [key for key in ALL if key[1] != "two_sided" and key[0] != "drastic"], ids="-".join)
def test_every_multiplied_epsilon_is_caught(key):
    """Doubled; tripled where much of it goes into a selection whose loss this pair of tables does not attain."""
    partly = ("optimized", "hierarchical", "marginal", "marginal_order", "ladder")
    factor = 3 if key[1] in partly else 2
    assert caught(key, "hub", trials=8_000, epsilon=factor * EPSILON)


@pytest.mark.heavy(family="more")
def test_scale_theta_for_nodes_is_caught(monkeypatch):
    """At theta = 1 a hub adds two positive-degree nodes."""
    monkeypatch.setitem(projected.NODES.__dict__, "extra", 0)
    assert caught(("problematic", "baseline_max"), "hub", trials=4_000)


@pytest.mark.slow
def test_scale_theta_for_witnesses_is_caught(monkeypatch):
    monkeypatch.setitem(projected.WITNESSES.__dict__, "extra", 0)
    assert caught(("problematic", "marginal"), "hub", trials=20_000)


@pytest.mark.heavy(family="more")
@pytest.mark.parametrize("name", ["fractional", "greedy"])
def test_sensitivity_one_for_repair_is_caught(name, monkeypatch):
    monkeypatch.setattr("dpdb.measures.mechanisms.covers.SENSITIVITY", 1)
    assert caught(("repair", name), "hub", trials=4_000)


@pytest.mark.heavy(family="more")
def test_a_free_degree_cap_is_caught():
    """Ten times epsilon for the cap alone, which shows the largest group."""

    def sample(largest):
        cap = randomness.discrete_laplace
        return [(min(max(cap(largest, 1, 4 * NANO)[0], -1), 6),) for _ in range(1_500)]

    event = choose_event(sample(3), sample(2), EPSILON)
    assert exceeds(sample(3), sample(2), event, EPSILON)
    assert not exceeds(sample(2), sample(2), event, EPSILON)
