"""Paper A's worked examples of the selection (Examples 1-4, Tables 3 and 4, Figure 1), through SQL."""

import math
from fractions import Fraction

import pyarrow as pa
import pytest
from inside import true_numbers
from noise_scripts import Zero, recorded

from dpdb.privacy.epsilon import NANO
from dpdb.privacy.selection import paper_exponential_mechanism
from dpdb.release import Session

CAPITALS = pa.table({"ID": [1, 2, 3, 4], "Capital": ["Ottawa"] * 4, "Country": ["Canada"] * 3 + ["Kanada"]})
DEPENDENCY = "not(t1.Capital = t2.Capital and t1.Country != t2.Country)"
THETAS = [1, 2, 3]
SQRT2 = math.sqrt(2)


@pytest.fixture(scope="module")
def figure_1():
    with Session(CAPITALS, constraints=[DEPENDENCY]) as session:
        yield true_numbers(session).statistics()


def quality(edges, epsilon2=1.0):
    """Equation 2 with its common term, f(G_theta_max)."""
    return [-(edges[-1] - kept) - SQRT2 * theta / epsilon2 for kept, theta in zip(edges, THETAS, strict=True)]


def exponential_mechanism(scores, epsilon, theta_max):
    """Algorithm 3, line 3."""
    weights = [math.exp(epsilon * score / (2 * theta_max)) for score in scores]
    return [weight / sum(weights) for weight in weights]


def test_example_1_one_row_makes_three_conflicts(figure_1):
    assert figure_1.projected_edges([3]) == [3]
    with Session(CAPITALS.slice(0, 3), constraints=[DEPENDENCY]) as session:
        assert true_numbers(session).statistics().projected_edges([3]) == [0]


def test_example_2_and_table_3(figure_1):
    edges = figure_1.projected_edges(THETAS)
    assert [edges[-1] - kept for kept in edges] == [2, 1, 0]  # e_bias
    assert quality(edges) == pytest.approx([-2 - SQRT2, -1 - 2 * SQRT2, -3 * SQRT2])
    assert [round(q, 2) for q in quality(edges)] == [-3.41, -3.83, -4.24]  # the paper cuts -3.828 to -3.82
    assert max(THETAS, key=lambda theta: quality(edges)[theta - 1]) == 1


def test_example_3_degree_bound(figure_1):
    """Largest group of Capital, minus one; sensitivity 1."""
    assert figure_1.degree_bound() == 3
    assert figure_1.degree_sensitivity == 1
    with Session(CAPITALS.slice(0, 3), constraints=[DEPENDENCY]) as session:
        assert true_numbers(session).statistics().degree_bound() == 2


def cut(numbers):
    return [math.floor(100 * number) / 100 for number in numbers]


def test_example_4_and_table_4(figure_1):
    """epsilon = 1 at once; then 0.5 for the second of two steps, among the candidates below the first choice."""
    scores = quality(figure_1.projected_edges(THETAS))
    once = exponential_mechanism(scores, 1, 3)
    assert cut(once) == [0.35, 0.33, 0.31]
    for theta_max in (2, 3):
        second = exponential_mechanism(scores[:2], 0.5, theta_max)
        assert [round(p, 2) for p in second] == [0.51, 0.49]
    assert exponential_mechanism(scores[:1], 0.5, 2) == [1]


def our_scores(edges, thetas, epsilon2=NANO):
    def choose():
        return paper_exponential_mechanism(edges, thetas, 0, max(thetas), answer_epsilon=epsilon2, epsilon=NANO)

    chosen, [draw] = recorded(choose, Zero())
    return chosen, draw


@pytest.mark.parametrize("epsilon2", [NANO, NANO // 3, 5 * NANO])
def test_our_score_differs_from_the_papers_by_a_constant(figure_1, epsilon2):
    """Without the common term: a constant of the choice, so the same probabilities, but another sensitivity."""
    edges = figure_1.projected_edges(THETAS)
    chosen, draw = our_scores(edges, THETAS, epsilon2)
    papers = quality(edges, epsilon2 / NANO)
    differences = [score / 65_536 - q for score, q in zip(draw.value, papers, strict=True)]
    assert differences == pytest.approx([edges[-1]] * 3, abs=2 / 65_536)
    assert chosen == papers.index(max(papers))
    assert cut(exponential_mechanism([s / 65_536 for s in draw.value], 1, 3)) == cut(
        exponential_mechanism(papers, 1, 3)
    )


def test_our_noise_is_half_of_the_papers(figure_1):
    """Edges without the common term are monotone: scale theta_max / epsilon instead of 2 theta_max / epsilon."""
    _, draw = our_scores(figure_1.projected_edges(THETAS), THETAS)
    assert Fraction(draw.scale) / 65_536 == pytest.approx(3)


def test_permute_and_flip_prefers_the_best_at_least_as_much(figure_1):
    from noise_scripts import chances

    _, draw = our_scores(figure_1.projected_edges(THETAS), THETAS)
    same_noise = chances(draw.value, 2 * draw.scale, draw.negate)
    assert same_noise[0] >= exponential_mechanism([s / 65_536 for s in draw.value], 1, 3)[0]
