"""Random rules and rows, what mechanisms read of them at some thresholds, and the same by a self-join in Python."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import combinations
from typing import Any
from unittest.mock import patch

import pyarrow as pa

from dpdb.engine import has_class_histogram
from dpdb.graph import steps
from dpdb.graph.loading import load_all_kernels
from dpdb.opening import open_table
from dpdb.release.statistics import RuleStatistics, SliceStatistics
from dpdb.thresholds import THRESHOLDS

THETAS = [1, 2, 3, 7, 10**6]
TAUS = [1, 2, 5]

_SIGNS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_FLIPPED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

Row = Mapping[str, int | None]
Side = tuple[int, str] | int
Atom = tuple[Side, str, Side]
Rule = list[Atom]
"""Comparisons that do not hold together; a side is (0 or 1 for t1 or t2, column), or a number."""


@dataclass(frozen=True)
class Question:
    """Rows, rules over them and the rules' texts."""

    rows: list[Row]
    rules: list[Rule]
    texts: list[str]

    @property
    def table(self) -> pa.Table:
        return pa.table({name: pa.array([row[name] for row in self.rows], pa.int64()) for name in _COLUMNS})


# -- questions -------------------------------------------------------------------------------------------------------

_GROUPS, _ORDERED = ["d", "e"], ["n", "m", "a", "z"]
_COLUMNS = [*_GROUPS, *_ORDERED]


def random_question(rng: random.Random, theme: str) -> Question:
    """Make a table of up to 50 rows, and up to four rules of a theme that share columns.

    Themes: `mixed`, all kinds of rules; `order`, one order rule; `classes`, dependencies and keys over rows most of
    which agree.
    """
    count = rng.choice([0, 1, 9, 30, 45] if theme == "mixed" else [9, 30, 45])
    spread = {name: rng.choice([2, 4] if name in _GROUPS else [3, 6, 40]) for name in _COLUMNS}
    missing, even = rng.choice([0.0, 0.1]), 0.1 if theme == "classes" else 1.0
    rows: list[Row] = [
        {
            name: None if rng.random() < missing else rng.randrange(spread[name]) if rng.random() < even else 0
            for name in _COLUMNS
        }
        for _ in range(count)
    ]
    rows += [rng.choice(rows) for _ in range(5) if rows]  # equal rows
    if theme == "order":
        rules = [_order(rng, columns=2, conditions=[(), (0, 1)])]
    elif theme == "classes":
        rules = [rng.choice([_dependency, _dependency, _key])(rng) for _ in range(rng.choice([1, 2, 3]))]
    else:
        kinds = rng.choices([_order, _dependency, _key, _unequal, _crossing, _alone], [6, 3, 1, 1, 2, 1], k=4)
        rules = [kind(rng) for kind in kinds[: rng.choice([1, 2, 2, 3, 4])]]
    return Question(rows, rules, [_text(rng, rule) for rule in rules])


def order_pair(rng: random.Random) -> Question:
    """Make two order rules that share a column, under names in any order, and rows."""
    first, second, third = rng.sample(_ORDERED, 3)
    rules = [
        [_same("d"), _compared(rng, one), _compared(rng, other)] for one, other in ((first, second), (first, third))
    ]
    rows = [{name: rng.randrange(3 if name == "d" else 4) for name in _COLUMNS} for _ in range(12)]
    return Question(rows, rules, [_text(rng, rule) for rule in rules])


def _same(column: str) -> Atom:
    return (0, column), "=", (1, column)


def _compared(rng: random.Random, column: str, ties: float = 0.0) -> Atom:
    return (0, column), rng.choice("<>") + ("=" if rng.random() < ties else ""), (1, column)


def _prefix(rng: random.Random, least: int) -> Rule:
    return [_same(column) for column in rng.sample(_GROUPS, rng.randint(least, 2))]


_ON = [(), (), (), (0, 1), (0,)]
"""The rows of which a condition is asked: of both alike, of one of them, of none."""
_ON_BOTH = [(), (), (0, 1)]


def _condition(rng: random.Random, on: Sequence[Sequence[int]]) -> Rule:
    column, sign, number = rng.choice(_COLUMNS), rng.choice(list(_SIGNS)), rng.randrange(4)
    return [((row, column), sign, number) for row in rng.choice(on)]


def _order(rng: random.Random, columns: int = 0, conditions: Sequence[Sequence[int]] = _ON) -> Rule:
    ordered = rng.sample(_ORDERED, columns or rng.choice([2, 2, 2, 2, 3]))
    return [*_prefix(rng, 0), *(_compared(rng, each, ties=0.15) for each in ordered), *_condition(rng, conditions)]


def _dependency(rng: random.Random) -> Rule:
    column = rng.choice(_ORDERED)
    return [*_prefix(rng, 1), ((0, column), "!=", (1, column)), *_condition(rng, _ON_BOTH)]


def _key(rng: random.Random) -> Rule:
    return [*_prefix(rng, 1), _same(rng.choice(_ORDERED)), *_condition(rng, _ON_BOTH)]


def _unequal(rng: random.Random) -> Rule:
    return [*_prefix(rng, 1), *(((0, column), "!=", (1, column)) for column in rng.sample(_ORDERED, 2))]


def _crossing(rng: random.Random) -> Rule:
    """Compare two different columns: such conflicts are listed."""
    one, other = rng.sample(_ORDERED, 2)
    return [*_prefix(rng, 1), ((0, one), rng.choice(["<", ">", "="]), (1, other)), *_condition(rng, _ON)]


def _alone(rng: random.Random) -> Rule:
    return [((0, rng.choice(_COLUMNS)), rng.choice(["=", ">"]), rng.randrange(2, 6))]


def _text(rng: random.Random, rule: Rule) -> str:
    """Write a rule with its tuples, sides and comparisons in any order."""
    names = rng.choice([("t1", "t2"), ("t2", "t1")]) if any(side == 1 for side, *_ in _sides(rule)) else ("t1", "t2")
    written = []
    for left, sign, right in rule:
        sides = [side if isinstance(side, int) else f"{names[side[0]]}.{side[1]}" for side in (left, right)]
        turned = not isinstance(right, int) and rng.random() < 0.5
        written.append(f"{sides[1]}{_FLIPPED[sign]}{sides[0]}" if turned else f"{sides[0]}{sign}{sides[1]}")
    rng.shuffle(written)
    return f"not({' & '.join(written)})"


def _sides(rule: Rule) -> Iterator[tuple[int, str]]:
    for left, _, right in rule:
        yield from (side for side in (left, right) if not isinstance(side, int))


# -- by definition ---------------------------------------------------------------------------------------------------


def _violates(rule: Rule, *rows: Row) -> bool:
    for left, sign, right in rule:
        one, other = (side if isinstance(side, int) else rows[side[0]][side[1]] for side in (left, right))
        if one is None or other is None or not _SIGNS[sign](one, other):
            return False
    return True


@dataclass(frozen=True)
class Truth:
    """The rows of the graph, the pairs of their positions with the first rule that each violates, and the others."""

    rows: list[Row]
    conflicts: dict[tuple[int, int], int]
    alone: int

    def in_order(self, rank: Mapping[int, int]) -> list[tuple[int, int]]:
        """List the pairs in the canonical order, given the ranks of rows."""
        ranked = [(*sorted((rank[i], rank[j])), rule) for (i, j), rule in self.conflicts.items()]
        return [(u, v) for u, v, _ in sorted(ranked, key=lambda each: (each[0], each[2], each[1]))]


def truth(question: Question) -> Truth:
    """Compare every row with every other one, in both orders."""
    single = [rule for rule in question.rules if all(side[0] == 0 for side in _sides(rule))]
    rows = [row for row in question.rows if not any(_violates(rule, row) for rule in single)]
    conflicts = {}
    for (i, s), (j, t) in combinations(enumerate(rows), 2):
        for number, rule in enumerate(question.rules):
            if rule not in single and (_violates(rule, s, t) or _violates(rule, t, s)):
                conflicts[i, j] = number
                break
    return Truth(rows, conflicts, len(question.rows) - len(rows))


def maximum_matching(count: int, pairs: list[tuple[int, int]]) -> int:
    """Match left copies to right copies of the double cover, one augmenting path after another: 2 tau*."""
    near: list[list[int]] = [[] for _ in range(count)]
    for u, v in pairs:
        near[u].append(v)
        near[v].append(u)
    mate = [-1] * count

    def augmented(left: int, seen: set[int]) -> bool:
        for right in near[left]:
            if right not in seen:
                seen.add(right)
                if mate[right] < 0 or augmented(mate[right], seen):
                    mate[right] = left
                    return True
        return False

    return sum(augmented(left, set()) for left in range(count))


# -- what mechanisms read --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Read:
    """All statistics of a table, the steps that were shown, and how its rows are ranked and listed."""

    statistics: dict[str, Any]
    steps: list[str]
    rank: dict[int, int]
    edges: list[tuple[int, int]]


def read(question: Question, source: object = None, **settings: Any) -> Read:
    """Read what the mechanisms do, at the thresholds as they are."""
    shown: list[str] = []
    table = question.table if source is None else source
    with open_table(table, constraints=question.texts, progress=shown.append, **settings) as opened:  # type: ignore[arg-type]
        part = opened.slice()
        of = SliceStatistics(part)
        found: dict[str, Any] = {"2 tau*": of.twice_fractional_cover().value}
        found["self-conflicts"], found["rows"] = of.self_conflicts, of.row_count
        found["degree bound"], found["degrees"] = of.degree_bound(), of.graph.degree_summary()
        of.prepare(THETAS[:2], THETAS[:2])
        between = [(of.projected_edges_between(theta), of.witnesses_between(theta)) for theta in THETAS]
        found["projected edges"], found["projected nodes"] = of.projected_edges(THETAS), of.projected_nodes(THETAS)
        found["witnesses"], found["greedy cover"] = of.witnesses(THETAS), of.greedy_cover()
        found["truncated"] = of.twice_truncated_edges(TAUS)
        exact = zip(found["projected edges"], found["witnesses"], strict=True)
        for bounds, values in zip(between, exact, strict=True):
            assert all(low <= value <= high for (low, high), value in zip(bounds, values, strict=True))
        if all(dc.constraint.is_single_tuple or has_class_histogram(dc) for dc in part.constraints):
            rules = RuleStatistics(*opened.class_histograms())
            found["by rule"] = rules.projected_edges(THETAS), rules.witnesses(THETAS), rules.degree_bound()
        steps_shown = list(shown)
        order = part.canonical_order().tolist()
        listed = [pair for u, v in part.edges.batches() for pair in zip(u.tolist(), v.tolist(), strict=True)]
        return Read(found, steps_shown, {row: rank for rank, row in enumerate(order)}, listed)


@contextmanager
def moved(ends: Mapping[str, float], *, in_pieces: bool = False) -> Iterator[None]:
    """Move thresholds, and do all work in pieces as small as can be, while a block lasts."""
    load_all_kernels()
    kept = {name: THRESHOLDS[name].at for name in ends}
    pieces = [
        patch.object(steps, "WORK", 1),
        patch("dpdb.graph.blocks.block_graph.BATCH", 1),
        patch("dpdb.graph.blocks.block_scans._AHEAD", 1),
        patch("dpdb.graph.blocks.block_scans._SPANS", 0),
        patch("dpdb.engine.sql.coded_rows._COLUMNS_AT_ONCE", 1),
    ]
    try:
        for name, end in ends.items():
            THRESHOLDS[name].at = end
        for piece in pieces if in_pieces else ():
            piece.start()
        yield
    finally:
        for piece in pieces if in_pieces else ():
            piece.stop()
        for name, at in kept.items():
            THRESHOLDS[name].at = at


def all_ends() -> list[dict[str, float]]:
    """Return each threshold alone at each of its ends, and all of them together."""
    each = [{name: end} for name, of in THRESHOLDS.items() for end in (of.least, of.most)]
    least, most = ({name: getattr(of, end) for name, of in THRESHOLDS.items()} for end in ("least", "most"))
    return [*each, least, most]


def random_ends(rng: random.Random) -> dict[str, float]:
    """Move each threshold to one of its ends, or leave it."""
    chosen = {name: rng.choice([of.least, of.most, of.at]) for name, of in THRESHOLDS.items()}
    return {name: end for name, end in chosen.items() if end != THRESHOLDS[name].at}
