"""The maximum overlap of a set of predicates (paper B): the largest total charge that one possible row can collect.

NP-hard, so the solver is an anytime portfolio: reductions, enumeration of small domains, upper bounds by total,
colouring and dual, lower bounds by ascent, then branch and bound until the deadline. The upper bound is safe at any
moment; it is the charge.

Neighbours differ by adding or removing one row. When they differ by replacing a row, the bound doubles: the old and the
new row can each collect it.

On tiny inputs answers are exact: every point of the domain is visited, or the overlap hypergraph is the oracle.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod

import numpy as np
from numpy.typing import NDArray

from dpdb.errors import ParameterError
from dpdb.overlap.axis import encode
from dpdb.overlap.bounds import Split, ascend, colouring_bound, colouring_cost, dsatur, dual_bound, value_of
from dpdb.overlap.branching import CliqueSearch, QuerySearch, ValueSearch, components, overlap_graph
from dpdb.overlap.instance import Bound, Deadline, Instance, Witness, check_weights
from dpdb.overlap.reductions import Problem, reduce, restrict, unmerged
from dpdb.predicates import Box, Region, meet

MOST_GRAPH_ROWS = 8000
"""Largest number of rows for which a query graph is built."""

_AT_ONCE = 0.5
"""Seconds in which branching over queries settles a dense set, or hardly ever does."""

DENSE = 0.25
"""Share of overlapping pairs from which branching over values comes before branching over queries."""


MOST_DENSE_ATTRIBUTES = 200
"""Most attributes for branching over values."""


def maximum_overlap(
    predicates: Sequence[Region] | Instance,
    weights: Sequence[int] | None = None,
    *,
    method: str = "auto",
    deadline: float = 10.0,
) -> Bound:
    """Bound the weighted maximum overlap of a set of predicates.

    Parameters
    ----------
    predicates
        One predicate per query, or an instance already in numbers.
    weights
        Integer charges, one per query; ones by default. Not given with an instance, which has its own.
    method
        `auto`: the portfolio. `clique`: maximum clique (paper B, Algorithm 1, repaired). `clique_overlap`: its maximum
        overlap variant (section 6.2). `dsatur`: colouring (Algorithm 2). `hypergraph`: every set of queries (appendix
        A), for at most 20 queries.
    deadline
        Seconds after which the search stops.

    Returns
    -------
    Bound
        `lower <= overlap <= upper` always; `upper` is what may be charged.
    """
    if method not in METHODS:
        raise ParameterError(f"method {method!r} is not known; use one of {', '.join(METHODS)}")
    if method == "hypergraph":
        return _hypergraph(predicates, weights)
    if isinstance(predicates, Instance):
        if weights is not None:
            raise ParameterError("an instance has its own weights; give weights only with predicates")
        instance = predicates
    else:
        instance = encode(predicates, check_weights(weights, len(predicates)))
    return _SOLVERS[method](instance, Deadline(deadline))


def _answer(instance: Instance, atoms: list[int], upper: int, method: str) -> Bound:
    """Return a bound whose lower side is the weight that the point collects."""
    if not len(instance.weights):
        return Bound(0, 0, None, method)
    queries = instance.covering(atoms)
    lower = int(instance.query_weights()[queries].sum())
    witness = Witness(instance.describe(atoms), tuple(queries.tolist()))
    return Bound(lower, max(lower, upper), witness, method)


def _auto(instance: Instance, deadline: Deadline) -> Bound:
    problem = reduce(instance)
    upper, choice = solve(problem, deadline)
    return _answer(instance, problem.point(choice), upper, "auto")


@dataclass
class _State:
    """The state of the portfolio on one problem."""

    problem: Problem
    deadline: Deadline
    upper: int
    lower: int
    choice: dict[int, int]

    @property
    def settled(self) -> bool:
        """Return whether the bounds meet."""
        return self.upper <= self.lower


def solve(problem: Problem, deadline: Deadline, graph: NDArray[np.bool_] | None = None) -> tuple[int, dict[int, int]]:
    """The portfolio on a reduced problem: an upper bound and the best point found (family -> atom).

    `graph` is the query graph where it is known already.
    """
    if not problem.families:
        return problem.total, {}
    if points(problem) <= MOST_POINTS and points(problem) * problem.size <= MOST_WORK:
        return enumerate_points(problem)
    many = len(problem.families) > MOST_DENSE_ATTRIBUTES  # then overlaps are rare, and both have little to say
    lower, choice = ascend(problem, deadline.share(0.04), 1 if many else 300)
    dual, split = dual_bound(problem, deadline.share(0.3), 2 if many else 300)
    state = _State(problem, deadline, min(problem.total, dual), lower, choice)
    if not state.settled and problem.size <= MOST_GRAPH_ROWS:
        graph = overlap_graph(problem) if graph is None else graph
        state.upper = min(state.upper, problem.constant + colouring_bound(graph, problem.weights))
        _search(state, graph, split)
    return max(state.upper, state.lower), state.choice


def _search(state: _State, graph: NDArray[np.bool_], split: Split) -> None:
    """Branch and bound of the kind that suits the graph."""
    problem = state.problem
    if state.settled:
        return
    parts = components(graph)
    if len(parts) > 1:
        _by_components(state, graph, parts)
        return
    dense = np.count_nonzero(graph) >= DENSE * problem.size**2 and len(problem.families) <= MOST_DENSE_ATTRIBUTES
    # Also of a dense graph many are settled at once by queries, and the others lose a little time.
    end = Deadline(min(_AT_ONCE, 0.04 * state.deadline.left)) if dense else state.deadline
    queries = QuerySearch(problem, graph, state.lower, end)
    state.upper = min(state.upper, queries.run(state.upper))
    if queries.rows:
        state.lower, state.choice = queries.best, shared_point(problem, queries.rows)
    if dense and not state.settled:
        values = ValueSearch(problem, state.lower, state.choice, state.deadline)
        state.upper = min(state.upper, values.run(split, state.upper))
        state.lower, state.choice = values.best, values.choice


def _by_components(state: _State, graph: NDArray[np.bool_], parts: list[NDArray[np.int64]]) -> None:
    """No point is covered by rows of two components, so the overlap is that of the worst one; heavy ones go first."""
    problem = state.problem
    bound = state.lower
    for rows in sorted(parts, key=lambda rows: -int(problem.weights[rows].sum())):
        part = restrict(problem, rows)
        if problem.constant + part.total <= bound:
            break
        reached, point = solve(part, state.deadline, graph[np.ix_(rows, rows)])
        bound = max(bound, problem.constant + reached)
        collected = problem.constant + value_of(part, point)
        if collected > state.lower:
            state.lower, state.choice = collected, _translate(problem, part, point)
    state.upper = min(state.upper, bound)


def shared_point(problem: Problem, rows: Sequence[int]) -> dict[int, int]:
    """A point (family -> atom) that all the given rows cover; they must share one."""
    chosen = np.zeros(problem.size, bool)
    chosen[list(rows)] = True
    return {
        k: int(family.member[:, chosen[family.users]].all(axis=1).argmax()) for k, family in enumerate(problem.families)
    }


def _translate(problem: Problem, part: Problem, point: dict[int, int]) -> dict[int, int]:
    """The same point in terms of the families and atoms of the whole problem."""
    place = {family.attribute: k for k, family in enumerate(problem.families)}
    choice = {}
    for k, family in enumerate(part.families):
        whole = place[family.attribute]
        atom = family.atoms[point.get(k, 0)]
        choice[whole] = int(np.flatnonzero(problem.families[whole].atoms == atom)[0])
    return choice


def _dsatur(instance: Instance, deadline: Deadline) -> Bound:
    """Algorithm 2 on the rows as they are: identical queries are not merged, so copies may be coloured apart."""
    problem = _as_given(instance)
    graph = overlap_graph(problem)
    upper = problem.constant + colouring_cost(dsatur(graph), problem.weights)
    _, choice = ascend(problem, deadline, 5)
    return _answer(instance, problem.point(choice), upper, "dsatur")


def _clique(instance: Instance, deadline: Deadline, *, joint: bool = False, method: str = "clique") -> Bound:
    problem = _as_given(instance)
    graph = overlap_graph(problem)
    ceiling = min(problem.total, problem.constant + colouring_cost(dsatur(graph), problem.weights))
    search = CliqueSearch(problem, graph, deadline, joint=joint)
    upper = min(ceiling, problem.constant + search.run())
    if joint and search.clique:
        choice = shared_point(problem, search.clique)
    else:
        _, choice = ascend(problem, deadline, 5)
    return _answer(instance, problem.point(choice), upper, method)


def _as_given(instance: Instance) -> Problem:
    """The rows as they are, for the paper's own methods: nothing is merged, only contradictions are dropped."""
    problem = unmerged(instance)
    if problem.size > 4 * MOST_GRAPH_ROWS:
        raise ParameterError(
            f"this method builds the graph of all {problem.size} queries, more than {4 * MOST_GRAPH_ROWS}; use 'auto'"
        )
    return problem


def _hypergraph(predicates: Sequence[Region] | Instance, weights: Sequence[int] | None) -> Bound:
    if isinstance(predicates, Instance):
        raise ParameterError("method 'hypergraph' needs predicates, not an instance in numbers")
    checked = check_weights(weights, len(predicates)).tolist()
    rank, edge = hypergraph_rank(predicates, checked)
    together = Region()
    for query in edge:
        together = together & predicates[query]
    region = {"row": together.describe()} if edge else {}
    return Bound(rank, rank, Witness(region, edge) if edge else None, "hypergraph")


_SOLVERS: dict[str, Callable[[Instance, Deadline], Bound]] = {
    "auto": _auto,
    "clique": _clique,
    "clique_overlap": partial(_clique, joint=True, method="clique_overlap"),
    "dsatur": _dsatur,
}

METHODS = (*_SOLVERS, "hypergraph")
"""Names accepted by `maximum_overlap`."""


MOST_POINTS = 1_000_000
MOST_WORK = 200_000_000
"""Largest number of points, and of points times rows, that is enumerated."""


def points(problem: Problem) -> int:
    """Number of points: the product of the numbers of atoms."""
    return prod(len(family.atoms) for family in problem.families)


def enumerate_points(problem: Problem) -> tuple[int, dict[int, int]]:
    """The maximum overlap and a choice that reaches it, by visiting every point."""
    order = sorted(range(len(problem.families)), key=lambda k: len(problem.families[k].atoms))
    best, choice = _visit(problem, order, np.ones(problem.size), problem.weights.astype(np.float64))
    return problem.constant + best, choice


def _visit(
    problem: Problem, order: list[int], alive: NDArray[np.float64], weights: NDArray[np.float64]
) -> tuple[int, dict[int, int]]:
    """Fix the first attribute atom by atom; the last one is a single matrix product."""
    if not order:
        return int(alive @ weights), {}
    family = problem.families[order[0]]
    if len(order) == 1:
        left_weights = alive * weights
        masses = family.matrix @ left_weights[family.users]
        top = int(masses.argmax())
        return int(left_weights.sum() - left_weights[family.users].sum() + masses[top]), {order[0]: top}
    best, choice = -1, {}
    for atom in range(len(family.atoms)):
        left = alive.copy()
        left[family.users] *= family.member[atom]
        value, rest = _visit(problem, order[1:], left, weights)
        if value > best:
            best, choice = value, {order[0]: atom, **rest}
    return best, choice


MOST_QUERIES = 20


def hypergraph_rank(predicates: Sequence[Region], weights: Sequence[int]) -> tuple[int, tuple[int, ...]]:
    """Weight and queries of the heaviest hyperedge (Proposition 9).

    Raises
    ------
    ParameterError
        More than `MOST_QUERIES` queries: the hypergraph is exponential.
    """
    if len(predicates) > MOST_QUERIES:
        raise ParameterError(
            f"method 'hypergraph' is exponential and takes at most {MOST_QUERIES} queries, got {len(predicates)}"
        )
    best: tuple[int, tuple[int, ...]] = (0, ())
    level: list[tuple[tuple[int, ...], int, list[Box]]] = [((), 0, [()])]
    while level:
        above = []
        for edge, weight, region in level:
            for query in range(edge[-1] + 1 if edge else 0, len(predicates)):
                both = [box for one in region for two in predicates[query].boxes if (box := meet(one, two)) is not None]
                if both:
                    above.append(((*edge, query), weight + weights[query], both))
        best = max([best, *((weight, edge) for edge, weight, _ in above)], key=lambda pair: pair[0])
        level = above
    return best
