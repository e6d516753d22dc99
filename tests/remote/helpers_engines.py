"""One table of engines: kinds of rules x exact statistics x random tables; the answer key is a self-join written apart.

A table has many small parts, which are slices of it (`part = 7`), so that it is opened once. The key joins it with
itself in a DuckDB of the tests' own, by the rules as SQL, and takes everything from the list of pairs by plain search.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from helpers_engine import ARROW_TYPES
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching
from strategies_engine import VALUES

from dpdb.engine import Table as OpenTable
from dpdb.errors import EngineError
from dpdb.names import in_double_quotes
from dpdb.release.conflict_graph import conflict_graph
from dpdb.release.statistics import PrivateSlices, SliceStatistics

ZONED = "TIMESTAMP WITH TIME ZONE"
POOLS: dict[str, list[Any]] = VALUES | {
    "DATE": [date(2020, 1, 1), date(1969, 12, 31), date(1899, 12, 31), date(1582, 10, 10), date(1, 1, 1)],
    "TIMESTAMP": [datetime(2020, 1, 1), datetime(1883, 11, 18, 12, 3, 58), datetime(1, 1, 1), datetime(9999, 12, 31)],
    ZONED: [*(datetime(2020, 3, 29, hour, tzinfo=UTC) for hour in (1, 2)), datetime(1890, 1, 1, tzinfo=UTC)],
    "BLOB": [b"", b"\x00", b"a", b"\xff"],
    "DECIMAL(38,0)": [Decimal(10**37), Decimal(10**37 + 1), Decimal(0), Decimal(-(10**37))],
}  # fmt: skip
TYPES = ARROW_TYPES | {"BLOB": pa.binary(), ZONED: pa.timestamp("us", "UTC"), "DECIMAL(38,0)": pa.decimal128(38, 0)}
NAMES = [("g", "a", "b"), ("select", "Größe", "b c"), ('q"t', "x`y", "Part_1")]


@dataclass(frozen=True)
class Kind:
    """A set of rules, over the columns g, a, b of any types of which those of a and b are one.

    Attributes
    ----------
    name : str
    rules : tuple of str
        With {g}, {a}, {b} for the columns.
    pairs : str
        When two rows are in conflict, in one of their orders: SQL over t1 and t2.
    alone : str
        When a row is in conflict with itself: SQL over t1.
    going : str
        What rows a check counts in any case: SQL over t1.
    exact : bool
        Whether the fewest rows to delete have a closed form.
    """

    name: str
    rules: tuple[str, ...]
    pairs: str = "false"
    alone: str = "false"
    going: str = "false"
    exact: bool = True


def _denials(name: str, *rules: str, **options: Any) -> Kind:
    """Rules that are SQL as they stand, but for the sign between predicates."""
    pairs = " OR ".join(f"({rule.replace('&', ' AND ')})" for rule in rules)
    return Kind(name, tuple(f"not({rule})" for rule in rules), pairs, **options)


def _two(operator: str, name: str, other: str | None = None) -> str:
    return f"t1.{{{name}}} {operator} t2.{{{other or name}}}"


def _fd(left: str, right: str) -> str:
    return f"({_two('=', left)} AND {_two('<>', right)})"


def _null(name: str) -> str:
    return f"t1.{{{name}}} IS NULL"


_SAME, _REVERSED, _TOUCH = _two("=", "g"), "t1.{a} > t1.{b}", f"{_two('<', 'a', 'b')}&t2.{{a}} < t1.{{b}}"
_IN_GROUP = f"{_REVERSED} AND t1.{{g}} IS NOT NULL"
_ORDER = f"{_two('>', 'a')}&{_two('<', 'b')}"
_KEYS = f"{_SAME} OR {_two('=', 'a')}"
_BOTH = f"{_fd('g', 'a')} OR {_fd('a', 'g')}"


def _sql(denial: str) -> str:
    return denial.replace("&", " AND ")


KINDS = [
    Kind("key", ("UNIQUE({g})",), _SAME),
    Kind("key of two", ("UNIQUE({g}, {a})",), f"{_SAME} AND {_two('=', 'a')}"),
    Kind("dependency", ("{g} -> {a}",), _fd("g", "a")),
    Kind("one value", ("[] -> {a}",), _two("<>", "a")),
    Kind("two right-hand columns", ("{g} -> {a}, {b}",), f"{_fd('g', 'a')} OR {_fd('g', 'b')}"),
    Kind("chain", ("{g} -> {a}", "{g}, {a} -> {b}"), f"{_fd('g', 'a')} OR ({_two('=', 'a')} AND {_fd('g', 'b')})"),
    Kind(
        "condition on both",
        ("{b} IS NOT NULL: {g} -> {a}",),
        f"{_fd('g', 'a')} AND t1.{{b}} IS NOT NULL AND t2.{{b}} IS NOT NULL",
    ),
    _denials("condition on one", f"{_SAME}&{_two('<>', 'a')}&t1.{{b}} IS NULL"),
    Kind("A <-> B", ("{g} -> {a}", "{a} -> {g}"), _BOTH),
    Kind("two keys", ("UNIQUE({g})", "UNIQUE({a})"), _KEYS),
    Kind(
        "A <-> B -> C",
        ("NOT NULL({g})", "NOT NULL({a})", "{g} -> {a}", "{a} -> {g}", "{g} -> {b}"),
        f"{_BOTH} OR {_fd('g', 'b')}",
        alone=f"{_null('g')} OR {_null('a')}",
    ),
    _denials("order", _ORDER),
    _denials("order with ties", f"{_two('>=', 'a')}&{_two('<', 'b')}"),
    _denials("order with both ties", f"{_SAME}&{_two('>=', 'a')}&{_two('<=', 'b')}"),
    _denials("order in groups", f"{_SAME}&{_ORDER}"),
    _denials("order the same way", f"{_SAME}&{_two('<', 'a')}&{_two('<', 'b')}"),
    _denials("two columns", _two(">", "a", "b")),
    _denials("two columns in groups", f"{_SAME}&{_two('>=', 'a', 'b')}"),
    _denials("intervals", _TOUCH, going=_REVERSED),
    _denials("intervals in groups", f"{_SAME}&{_TOUCH}", going=_IN_GROUP),
    _denials("intervals that touch", f"{_SAME}&{_TOUCH.replace('<', '<=')}", going=_IN_GROUP),
    Kind("one row", ("CHECK ({a} <= {b})", "NOT NULL({g})"), alone=f"{_REVERSED} OR {_null('g')}"),
    Kind("one row and a dependency", ("CHECK ({a} <= {b})", "{g} -> {a}"), _fd("g", "a"), alone=_REVERSED),
    Kind("one row and an order", ("NOT NULL({g})", f"not({_ORDER})"), _sql(_ORDER), alone=_null("g")),
    Kind("one row and intervals", ("NOT NULL({g})", f"not({_TOUCH})"), _sql(_TOUCH), _null("g"), _REVERSED),
    Kind("one row and two keys", ("NOT NULL({b})", "UNIQUE({g})", "UNIQUE({a})"), _KEYS, alone=_null("b")),
    Kind(
        "order and a dependency",
        ("{g} -> {b}", f"not({_ORDER})"),
        f"{_fd('g', 'b')} OR ({_sql(_ORDER)})",
        exact=False,
    ),
    _denials("three inequalities", f"{_two('<', 'g')}&{_two('<', 'a')}&{_two('<', 'b')}", exact=False),
    Kind("dependencies that cross", ("{g} -> {a}", "{b} -> {a}"), f"{_fd('g', 'a')} OR {_fd('b', 'a')}", exact=False),
]


@dataclass(frozen=True)
class Question:
    """A random table: its parts, and the conditions of these slices."""

    rows: pa.Table
    names: tuple[str, str, str]
    wheres: tuple[str, ...]

    def written(self, text: str) -> str:
        """A text of a kind over the names of the columns."""
        return text.format(**dict(zip("gab", map(in_double_quotes, self.names), strict=True)))


def random_table(seed: int, parts: int) -> Question:
    """Few values of each column, and NULL; a and b are of one type, so that they can be compared with each other.

    The types of a and b are all there are, one after the other.
    """
    rng = random.Random(seed)
    group, value = rng.choice(sorted(POOLS)), sorted(POOLS)[seed % len(POOLS)]
    pools = [rng.sample(POOLS[kind], min(len(POOLS[kind]), rng.choice([2, 3, 4]))) for kind in (group, value)]
    pools = [[*pool, *pool, None] for pool in (*pools, pools[1])]
    cells: list[tuple[Any, ...]] = []
    for part in range(parts):
        cells += [(part, *map(rng.choice, pools)) for _ in range(rng.choice([0, 1, 3, 5, 7, 9]))]
    rng.shuffle(cells)
    names = rng.choice(NAMES)
    kinds = dict(zip(("part", *names), ("BIGINT", group, value, value), strict=True))
    columns = list(zip(*cells, strict=True)) or [()] * 4
    arrays = [pa.array(list(column), TYPES[kind]) for column, kind in zip(columns, kinds.values(), strict=True)]
    known = in_double_quotes(names[2])
    wheres = [f"part = {part}" + rng.choice(["", "", f" AND {known} IS NOT NULL"]) for part in range(parts)]
    return Question(pa.table(arrays, [*kinds]), names, tuple(wheres))


Found = dict[str, Any]
"""Statistics of a slice, by name."""


def key_of(question: Question, kind: Kind) -> list[Found]:
    """What is right, of each part."""
    pairs, alone, going = (question.written(text) for text in (kind.pairs, kind.alone, kind.going))
    turned = pairs.replace("t1.", "t0.").replace("t2.", "t1.").replace("t0.", "t2.")
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("given", question.rows)
        connection.execute("CREATE TABLE known AS SELECT *, row_number() OVER () AS n FROM given")

        def asked(query: str) -> list[tuple[Any, ...]]:
            return connection.execute(query).fetchall()

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
    """The fewest nodes that meet all edges: of the first one either end, or the one with more edges."""
    if not edges:
        return 0
    u, v = edges[0]
    return 1 + min(fewest([edge for edge in edges if u not in edge]), fewest([edge for edge in edges if v not in edge]))


def twice_fractional(edges: Sequence[tuple[int, int]]) -> int:
    """2 tau*: a largest matching of the bipartite double cover."""
    if not edges:
        return 0
    both = np.array([*edges, *((v, u) for u, v in edges)])
    size = int(both.max()) + 1
    graph = csr_array((np.ones(len(both), np.int8), (both[:, 0], both[:, 1])), shape=(size, size))
    return int((maximum_bipartite_matching(graph) >= 0).sum())


def asked_of(opened: OpenTable, question: Question) -> list[Found]:
    """What an engine says of each part, under the constraints of the table."""
    rules, found = opened.constraints, []
    repair, check = (opened.exact_statistic(rules, reversed_go=go) for go in (False, True))
    wheres = [opened.where(where) for where in question.wheres]
    for where, rows in zip(wheres, opened.count_rows(wheres), strict=True):
        part = opened.slice(where)
        try:
            statistics = SliceStatistics(part)
            cover = Fraction(statistics.twice_fractional_cover().value, 2) + statistics.self_conflicts
            degrees, bad = conflict_graph(part).degree_summary(), statistics.self_conflicts
            assert statistics.row_count == rows
        finally:
            part.close()
        exact = [cover if each is None else opened.count_all(where, [each])[0] for each in (repair, check)]
        found.append(
            {
                "repair": exact[0],
                "check": exact[1],
                "minimal_inconsistency": bad + degrees.edge_count,
                "problematic": bad + degrees.positive_degree_nodes,
                "row_count": rows,
                "is exact": repair is not None,
            }
        )
    return found


@dataclass
class Row:
    """What came of one engine."""

    tried: int = 0
    equal: int = 0
    refused: set[str] = field(default_factory=set)
    different: list[str] = field(default_factory=list)


def compared(base: OpenTable, question: Question, kinds: Sequence[Kind], keys: Sequence[list[Found]]) -> Iterator[Row]:
    """Ask of one opened table all kinds; an engine that does not answer has to say so of no rows."""
    for kind, key in zip(kinds, keys, strict=True):
        row = Row()
        opened = base.with_constraints([question.written(rule) for rule in kind.rules])
        empty = opened.without_rows()
        try:
            if empty is not None:
                rehearsed(empty, question)
        except EngineError:
            row.refused.add(kind.name)
        else:
            for place, (found, right) in enumerate(zip(asked_of(opened, question), key, strict=True)):
                for name, number in right.items():
                    row.tried += 1
                    row.equal += found[name] == number
                    if found[name] != number:
                        where = question.wheres[place]
                        row.different.append(f"{kind.name}, {name}, {where}: {found[name]} for {number}, {question}")
        yield row


def rehearsed(empty: OpenTable, question: Question) -> None:
    """Ask of no rows, as a session does."""
    slices, where = PrivateSlices(empty), empty.where(question.wheres[0])
    try:
        slices.counts([where])
        for go in (False, True):
            found = empty.exact_statistic(empty.constraints, reversed_go=go)
            slices.exact(where, [] if found is None else [found])
        slices.statistics(where).rehearse(["twice_fractional_cover"])
    finally:
        slices.forget()
