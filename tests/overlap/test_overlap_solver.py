"""The solver by its methods: the paper's examples, networkx as oracle, weights, witnesses and interruption."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.append(str(Path(__file__).parents[2] / "examples" / "parallel_composition_paper"))

from box_workload import box_workload
from reference import random_instance
from text_reader import parse_where
from workloads import attribute_sizes, census_workload, uniform_workload

from dpdb.errors import ParameterError
from dpdb.overlap import METHODS, maximum_overlap
from dpdb.overlap.bounds import colouring_cost, dsatur, heaviest_first
from dpdb.overlap.branching import CliqueSearch, components, overlap_graph
from dpdb.overlap.instance import MOST_WEIGHT, Bound, Deadline
from dpdb.overlap.reductions import distinct_rows, maximal_columns, reduce, unmerged

EXAMPLE_2 = ["postcode = 'A' AND native = 'Y'", "postcode IN ('A', 'B')", "postcode = 'B' AND native = 'N'"]
EXAMPLE_3 = [
    "postcode = 'A' AND native = 'Y'",
    "postcode IN ('A', 'B')",
    "postcode IN ('A', 'C') AND native = 'N'",
    "native = 'Y'",
    "postcode = 'C'",
    "postcode = 'B' AND native = 'N'",
]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("clauses", "expected"), [(EXAMPLE_2, 2), (EXAMPLE_3, 3)])
def test_examples_of_the_paper(method: str, clauses: list[str], expected: int) -> None:
    bound = maximum_overlap([parse_where(clause) for clause in clauses], method=method)
    assert bound.upper == expected
    assert bound.optimal
    assert bound.method == method


def test_pairwise_overlap_is_not_joint_overlap() -> None:
    """Proposition 4: three sets of values that meet two by two."""
    predicates = [parse_where(f"x IN ({a}, {b})") for a, b in ((1, 2), (2, 3), (1, 3))]
    assert maximum_overlap(predicates).upper == 2
    assert maximum_overlap(predicates, method="clique_overlap").upper == 2
    clique = maximum_overlap(predicates, method="clique")
    assert (clique.lower, clique.upper, clique.optimal) == (2, 3, False)


def test_the_printed_algorithm_1_would_lose_the_best_clique() -> None:
    """A triangle beside a star whose centre is tried first: the repaired search still finds the triangle."""
    graph = nx.star_graph(5)
    graph.add_edges_from([(6, 7), (7, 8), (6, 8)])
    problem = unmerged(uniform_workload(9, [3, 3], 0))
    matrix = nx.to_numpy_array(graph) > 0
    search = CliqueSearch(_sized(problem, 9), matrix, Deadline(5), joint=False)
    assert search.run() == search.best == 3


def _sized(problem, rows):
    from dataclasses import replace

    return replace(problem, weights=np.ones(rows, np.int64), families=())


@pytest.mark.parametrize("seed", range(25))
def test_clique_and_colouring_against_networkx(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(2, 25))
    matrix = np.triu(rng.random((rows, rows)) < rng.random(), 1)
    matrix = matrix | matrix.T
    graph = nx.from_numpy_array(matrix)
    problem = _sized(unmerged(uniform_workload(2, [3], 0)), rows)
    search = CliqueSearch(problem, matrix, Deadline(10), joint=False)
    assert search.run() == max(len(clique) for clique in nx.find_cliques(graph))
    colours = dsatur(matrix)
    theirs = nx.greedy_color(graph, "DSATUR")
    assert abs(int(colours.max()) - max(theirs.values())) <= 1
    for found in (colours, heaviest_first(matrix, rng.integers(1, 9, rows))):
        assert not (matrix & (found[:, None] == found[None, :])).any()
    assert {frozenset(part.tolist()) for part in components(matrix)} == set(
        map(frozenset, nx.connected_components(graph))
    )


def test_dsatur_takes_no_more_colours_than_networkx_on_average() -> None:
    ours = theirs = 0
    for seed in range(12):
        matrix = np.triu(np.random.default_rng(seed).random((60, 60)) < 0.4, 1)
        matrix = matrix | matrix.T
        ours += int(dsatur(matrix).max())
        theirs += max(nx.greedy_color(nx.from_numpy_array(matrix), "DSATUR").values())
    assert ours <= theirs + 6


@pytest.mark.parametrize("seed", range(30))
def test_the_query_graph_is_pairwise_overlap(seed: int) -> None:
    problem = unmerged(random_instance(seed))
    graph = overlap_graph(problem)
    for one in range(problem.size):
        for two in range(one):
            meets = True
            for family in problem.families:
                pair = [int(np.flatnonzero(family.users == row)[0]) for row in (one, two) if row in family.users]
                meets &= bool(family.member[:, pair].all(axis=1).any())
            assert graph[one, two] == meets


def test_maximal_columns_keep_one_of_equals_and_no_subset() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        member = rng.random((12, 5)) < 0.5
        kept = maximal_columns(member)
        for row in member:
            assert any((row <= member[k]).all() for k in kept)
        for one in kept:
            assert not any(one != two and (member[one] <= member[two]).all() for two in kept)
        assert len(distinct_rows(np.packbits(member, axis=1))) == len({row.tobytes() for row in member})


def test_identical_queries_are_merged_and_free_ones_are_a_constant() -> None:
    predicates = [parse_where("a = 1")] * 5 + [parse_where("")] * 2 + [parse_where("a = 2"), parse_where("FALSE")]
    from dpdb.overlap.axis import encode

    problem = reduce(encode(predicates, np.ones(9, np.int64)))
    assert problem.constant in (2, 7)
    assert maximum_overlap(predicates).upper == 7


def test_nested_ranges_keep_one_atom() -> None:
    from dpdb.overlap.axis import encode

    predicates = [parse_where(f"x > 0 AND x < {k}") for k in range(1, 40)]
    [attribute] = encode(predicates, np.ones(39, np.int64)).attributes
    assert attribute.patterns.shape == (39, 1)
    assert attribute.describe(0) == "x > 0 and x < 1"


@pytest.mark.parametrize("method", METHODS)
def test_nothing_costs_nothing(method: str) -> None:
    bound = maximum_overlap([], method=method)
    assert (bound.lower, bound.upper, bound.witness) == (0, 0, None)
    bound = maximum_overlap([parse_where("FALSE")], [7], method=method)
    assert (bound.lower, bound.upper) == (0, 0)


def test_numbers_and_text_on_one_column_restrict_only_null() -> None:
    predicates = [parse_where(clause) for clause in ("x = 1", "x = 'b'", "x = 2", "x IS NULL")]
    assert maximum_overlap(predicates).upper == 3


def test_a_witness_is_covered_by_the_queries_it_names() -> None:
    predicates, weights = box_workload(120, 2, 1, 0.7, seed=3)
    bound = maximum_overlap(predicates, weights)
    assert bound.optimal
    assert bound.witness is not None
    assert sum(weights[query] for query in bound.witness.queries) == bound.lower
    together = predicates[bound.witness.queries[0]]
    for query in bound.witness.queries[1:]:
        together = together & predicates[query]
    assert not together.is_contradiction


@cache
def exact(queries: int) -> Bound:
    return maximum_overlap(uniform_workload(queries, [20] * 6, 1), deadline=60)


@pytest.mark.heavy
@pytest.mark.parametrize("deadline", [0.0, 0.02, 0.1])
@pytest.mark.parametrize("method", ["auto", "clique", "clique_overlap", "dsatur"])
def test_interrupted_searches_bracket_the_truth(method: str, deadline: float) -> None:
    instance = uniform_workload(40, [20] * 6, 1)
    truth = exact(40)
    assert truth.optimal
    bound = maximum_overlap(instance, method=method, deadline=deadline)
    assert bound.lower <= truth.lower <= bound.upper
    problem = unmerged(instance)
    assert bound.upper <= problem.constant + colouring_cost(dsatur(overlap_graph(problem)), problem.weights)


def test_a_large_attribute_is_summed_by_bytes() -> None:
    from dpdb.overlap.instance import PackedTable

    rng = np.random.default_rng(0)
    member = rng.random((300, 21)) < 0.4
    table, x, y = PackedTable(member), rng.integers(0, 99, 21).astype(float), rng.random(300)
    assert (table @ x == member @ x).all()
    assert np.allclose(y @ table, y @ member)


@pytest.mark.parametrize(
    ("weights", "method", "words"),
    [
        ([1], "auto", "one weight per query"),
        ([1, -1], "auto", "whole units"),
        ([1, 0.5], "auto", "whole units"),
        ([1, MOST_WEIGHT], "auto", "coarser unit"),
        (None, "fast", "not known"),
    ],
)
def test_unusable_parameters_are_refused(weights: list | None, method: str, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        maximum_overlap([parse_where("a = 1"), parse_where("a = 2")], weights, method=method)


def test_exponential_and_misplaced_parameters_are_refused() -> None:
    with pytest.raises(ParameterError, match="at most 20"):
        maximum_overlap([parse_where("a = 1")] * 21, method="hypergraph")
    with pytest.raises(ParameterError, match="predicates"):
        maximum_overlap(uniform_workload(3, [3]), method="hypergraph")
    with pytest.raises(ParameterError, match="own weights"):
        maximum_overlap(uniform_workload(3, [3]), [1, 1, 1])


def test_workloads_are_seeded_and_of_the_paper_s_shape() -> None:
    assert census_workload(20, 5) == census_workload(20, 5)
    assert all("income" in predicate.attributes for predicate in census_workload(20))
    assert np.log10(np.array(attribute_sizes(22, 3), float)).sum() == pytest.approx(22)
    assert set(box_workload(50, 4, 3, 0.5)[1]) <= set(range(5, 50))
