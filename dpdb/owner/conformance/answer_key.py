"""What is right: a self-join of the rules as plain SQL, in a database of our own, and a plain search in its pairs.

Nothing of it is shared with the statistics that engines are asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from dpdb.database import Database
from dpdb.owner.conformance.kinds import Kind
from dpdb.owner.conformance.made_tables import Question

Found = dict[str, Any]
"""Statistics of a slice, by name."""


def key_of(question: Question, kind: Kind) -> list[Found]:
    """Return what is right, of each part."""
    pairs, alone, going = (question.written(text) for text in (kind.pairs, kind.alone, kind.going))
    turned = pairs.replace("t1.", "t0.").replace("t2.", "t1.").replace("t0.", "t2.")
    with closing(Database()) as database:
        with database.arrow_table("given", question.rows):
            database.execute("CREATE TABLE known AS SELECT *, row_number() OVER () AS n FROM given")
        asked = database.rows
        rows = asked(f"SELECT n, coalesce({alone}, false), coalesce({going}, false) FROM known t1")
        joined = asked(
            "SELECT t1.n, t2.n FROM known t1 JOIN known t2 ON t1.part = t2.part AND t1.n < t2.n "
            f"AND (({pairs}) OR ({turned}))"
        )
        inside = [{n for (n,) in asked(f"SELECT n FROM known WHERE {where}")} for where in question.wheres]
    found = []
    for chosen in inside:
        bad = {n for n, is_alone, _ in rows if is_alone and n in chosen}
        edges = [(u, v) for u, v in joined if {u, v} <= chosen - bad]
        goes = {n for n, _, going_too in rows if going_too and n in chosen - bad}
        cover = Fraction(fewest(edges)) if kind.exact else Fraction(twice_fractional(edges), 2)
        going_cover = len(goes) + fewest([edge for edge in edges if not goes & {*edge}])
        found.append(
            {
                "repair": len(bad) + cover,
                "check": len(bad) + (going_cover if goes else cover),
                "minimal_inconsistency": len(bad) + len(edges),
                "problematic": len(bad) + len({n for edge in edges for n in edge}),
                "row_count": len(chosen),
                "is exact": kind.exact,
            }
        )
    return found


def fewest(edges: Sequence[tuple[int, int]]) -> int:
    """Return the fewest nodes that meet all edges: of the first one either end, or the one with more edges."""
    if not edges:
        return 0
    u, v = edges[0]
    return 1 + min(fewest([edge for edge in edges if u not in edge]), fewest([edge for edge in edges if v not in edge]))


def twice_fractional(edges: Sequence[tuple[int, int]]) -> int:
    """Return 2 tau*: a largest matching of the bipartite double cover."""
    if not edges:
        return 0
    both = np.array([*edges, *((v, u) for u, v in edges)])
    size = int(both.max()) + 1
    graph = csr_array((np.ones(len(both), np.int8), (both[:, 0], both[:, 1])), shape=(size, size))
    return int((maximum_bipartite_matching(graph) >= 0).sum())
