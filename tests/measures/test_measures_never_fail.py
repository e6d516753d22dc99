"""No epsilon between 1e-6 and 1e6 and no small graph makes a mechanism fail after its debit."""

import math
from dataclasses import replace

import pytest
from case_share import of_all
from hypothesis import given, settings, strategies as st
from mechanisms_under_test import ALL, Case
from neighbour_tables import FD, SINGLE, _table
from small_graphs import SmallGraph

from dpdb.measures.answer import Answer
from dpdb.privacy.epsilon import format_epsilon, parse_epsilon
from dpdb.release import Session
from dpdb.release.ask import Ask
from dpdb.release.prepare import prepare
from dpdb.release.privacy_unit import PrivacyUnit

usually = settings(derandomize=True, deadline=None, max_examples=of_all(150))


@st.composite
def graphs(draw):
    nodes = draw(st.integers(0, 6))
    possible = [(u, v) for u in range(nodes) for v in range(u + 1, nodes)]
    pairs = draw(st.lists(st.sampled_from(possible), unique=True)) if possible else []
    sensitivity = draw(st.sampled_from([1, 1, 2, 40])) if pairs else draw(st.sampled_from([0, 1]))
    return SmallGraph(nodes, tuple(sorted(pairs)), draw(st.integers(0, 3)), sensitivity, draw(st.booleans()))


extremes = st.sampled_from([1_000, 1_001, 1_999, 10**6, 10**9, 10**15 - 1, 10**15])
epsilons = st.one_of(extremes, st.integers(1_000, 10**15), st.floats(3, 15).map(lambda e: int(10**e)))
degrees = st.one_of(st.sampled_from([1, 2, 3, 2**31, 2**32, 2**40]), st.integers(1, 10**6))


@usually
@given(st.sampled_from(ALL), graphs(), epsilons, degrees, st.floats(1e-15, 0.5))
def test_a_mechanism_never_fails(key, graph, epsilon, max_degree, beta):
    answer = Case(*key, max_degree=max_degree, beta=beta).answer(graph, epsilon)
    assert isinstance(answer, Answer)
    assert all(math.isfinite(number) for number in (answer.value, answer.lower, answer.noise_scale))


@pytest.fixture(scope="module")
def session():
    with Session(_table(((1, 0), (1, 1), (2, -1))), constraints=[FD, SINGLE]) as opened:
        yield opened


@pytest.mark.heavy(family="long")
@usually
@given(graphs(), epsilons, st.integers(1, 5))
def test_all_never_fails(session, graph, epsilon, rows_per_person):
    ask = Ask("all", format_epsilon(min(epsilon * rows_per_person, 10**15)))
    prepared = prepare(replace(session.public, unit=PrivacyUnit(rows_per_person)), ask)
    (part,) = prepared.parts
    releases = part.label(prepared, part.answers(graph))
    assert sum(parse_epsilon(release.epsilon) for release in releases) == prepared.charge.epsilon


@pytest.mark.heavy
@pytest.mark.parametrize("constraints", [[FD], [SINGLE], [FD, SINGLE], ["not(t1.A < t2.A)"]])
@pytest.mark.parametrize("rows", [(), ((1, 0),), ((1, 0), (1, 1)), ((2, -1),)])
def test_no_table_makes_a_release_fail(rows, constraints):
    with Session(_table(rows), constraints=constraints) as opened:
        for epsilon in ("0.000001", "0.0000010001", 1, "1000000"):
            for measure in ("minimal_inconsistency", "problematic", "repair", "all"):
                opened.dp_inconsistency(measure, epsilon)
