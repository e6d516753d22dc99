"""Both ways of the conflict graph: blocks, which list no edge, and the table of all edges (`edges="table"`).

For every kind of rule and every statistic both give the same integers, which a self-join in Python gives, too. A faster
way of one of them has this table as its answer key.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from asked_there import AskedThere
from inside import true_numbers
from stub_noise import StubNoise
from test_release_thresholds import by_definition
from threshold_fuzz import Question, maximum_matching, random_question, read, truth

import dpdb
from dpdb.diagnosis.prepare import Counted as CountedByDiagnosis
from dpdb.engine import LocalSlice
from dpdb.engine.sql.coded_rows import TableEdges
from dpdb.errors import ParameterError
from dpdb.graph import BlockGraph, EdgeGraph
from dpdb.ledger import Ledger
from dpdb.opening import open_table
from dpdb.owner import exact_measures
from dpdb.privacy.noise import replaced_noise
from dpdb.release import CountedStatistics
from dpdb.release.conflict_graph import conflict_graph
from dpdb.suites import load_suite
from dpdb.suites.counted import CountedSuite

SAME = ((0, "d"), "=", (1, "d"))


def _two(column: str, sign: str, other: str | None = None) -> tuple[Any, str, Any]:
    return (0, column), sign, (1, other or column)


# Of every kind, over the columns of `threshold_fuzz`: groups d and e, numbers n, m, a and z.
RULES: dict[str, list[Any]] = {
    "dependency": [SAME, _two("n", "!=")],
    "dependency of two columns": [SAME, _two("e", "="), _two("n", "!=")],
    "constant column": [_two("n", "!=")],
    "key": [SAME, _two("n", "=")],
    "two classes": [SAME, _two("n", "!="), _two("m", "!=")],
    "condition on both rows": [SAME, _two("n", "!="), ((0, "m"), ">", 1), ((1, "m"), ">", 1)],
    "condition on one row": [SAME, _two("n", "!="), ((0, "m"), "=", 1)],
    "key with a condition": [SAME, _two("n", "="), ((0, "a"), "<", 3), ((1, "a"), "<", 3)],
    "order": [_two("n", "<"), _two("m", ">")],
    "order in groups": [SAME, _two("n", "<"), _two("m", "<")],
    "order with ties": [SAME, _two("n", "<="), _two("m", ">")],
    "order with ties on both sides": [SAME, _two("n", "<="), _two("m", ">=")],
    "order with a condition": [SAME, _two("n", "<"), _two("m", ">"), ((0, "a"), "=", 1)],
    "three orders": [SAME, _two("n", "<"), _two("m", "<"), _two("a", "<")],
    "order and difference": [SAME, _two("n", "<"), _two("m", "!=")],
    "one range": [SAME, _two("n", "<", "m")],
    "two columns equal": [_two("n", "=", "m")],
    "two columns crossed": [SAME, _two("n", ">", "m"), _two("a", "=")],
    "one row": [((0, "n"), ">", 2)],
}
MIXES = [
    ["dependency", "order in groups"],
    ["key", "one row"],
    ["order", "two columns equal"],
    ["dependency", "two classes", "condition on one row"],
    ["one range", "dependency of two columns", "key", "one row"],
    ["dependency", "two columns crossed", "two columns equal"],  # two rules are listed beside one in blocks
]


def question(rng: random.Random, rules: list[Any]) -> Question:
    """Rows of few values and NULLs, some of them equal, under given rules."""
    of_rows = random_question(rng, "mixed").rows or random_question(random.Random(1), "order").rows
    return Question(of_rows, rules, [f"not({' & '.join(_atom(*atom) for atom in rule)})" for rule in rules])


def _atom(left: Any, sign: str, right: Any) -> str:
    sides = [side if isinstance(side, int) else f"t{side[0] + 1}.{side[1]}" for side in (left, right)]
    return f"{sides[0]}{sign}{sides[1]}"


def compared(asked: Question, source: object = None) -> None:
    """Compare both ways, and the table of edges with the definition."""
    blocks, listed = (read(asked, source, edges=way) for way in ("auto", "table"))
    if source is None:
        by_definition(asked, listed)
    assert blocks.statistics == listed.statistics, asked.texts
    assert blocks.edges == listed.edges
    with open_table(source or asked.table, constraints=asked.texts, edges="table") as opened:  # type: ignore[arg-type]
        assert opened.lists_edges
        part = opened.slice()
        assert part.lists_edges
        assert isinstance(conflict_graph(part), EdgeGraph)


@pytest.mark.heavy(of=10)
@pytest.mark.parametrize("names", [[name] for name in RULES] + MIXES, ids=" + ".join)
def test_every_statistic_of_every_kind_of_rule_is_the_same_both_ways(names: list[str]) -> None:
    for seed in range(3):
        compared(question(random.Random(f"{seed} {names}"), [RULES[name] for name in names]))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(200))
def test_random_rules_too(seed: int) -> None:
    rng = random.Random(f"both ways {seed}")
    for theme in ("mixed", "order", "classes"):
        compared(random_question(rng, theme))


@pytest.mark.heavy
@pytest.mark.parametrize("names", [["dependency"], ["key", "order in groups"]], ids=" + ".join)
def test_a_table_of_another_engine_has_both_ways(names: list[str]) -> None:
    asked = question(random.Random(5), [RULES[name] for name in names])
    compared(asked, AskedThere(asked.table))


@pytest.mark.heavy
@pytest.mark.parametrize("names", [["dependency"], ["key", "one row"], ["order in groups"]], ids=" + ".join)
def test_exact_values_and_closed_forms_are_the_same(names: list[str]) -> None:
    asked = question(random.Random(7), [RULES[name] for name in names])
    found = [
        exact_measures(asked.table, asked.texts, non_private=True, by_constraint=True, edges=way).to_dict()
        for way in ("auto", "table")
    ]
    assert found[0] == found[1]
    counts = []
    for way in ("auto", "table"):
        with open_table(asked.table, constraints=asked.texts, edges=way) as opened:
            counts.append(CountedStatistics(opened, None).if_known("violations"))
    assert counts[0] == counts[1] == found[0]["repair_upper"]


# -- what a release reads --------------------------------------------------------------------------------------------


RULE = ["d -> n", "not(t1.d=t2.d & t1.n<t2.n & t1.m>t2.m)"]
TABLE = pa.table({"d": [1, 1, 1, 2, 2], "n": [1, 1, 2, 5, 6], "m": [3, 3, 2, 1, 1]})
CALLS: dict[str, Callable[[dpdb.Session], Any]] = {
    "minimal_inconsistency": lambda session: session.dp_inconsistency("minimal_inconsistency", 10).value,
    "problematic": lambda session: session.dp_inconsistency("problematic", 10).value,
    "repair": lambda session: session.dp_inconsistency("repair", 10, mechanism="fractional").value,
    "repair_greedy": lambda session: session.dp_inconsistency("repair", 10, mechanism="greedy").value,
}


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is joined into tables of edges, by the names of slices' methods."""
    seen: list[str] = []
    edges = LocalSlice.__dict__["edges"].func
    first = LocalSlice.first_violations

    def noted_edges(part: LocalSlice) -> TableEdges:
        seen.append("conflict_edge")
        return edges(part)  # type: ignore[no-any-return]

    def noted_first(part: LocalSlice, positions: Any, most: float) -> Any:
        seen.extend(f"edge_{position}" for position in positions)
        return first(part, positions, most)

    monkeypatch.setattr(LocalSlice, "edges", property(noted_edges))
    monkeypatch.setattr(LocalSlice, "first_violations", noted_first)
    return seen


@pytest.mark.heavy
@pytest.mark.parametrize("call", CALLS)
def test_a_release_reads_the_table_of_edges_only_where_that_is_asked(call: str, statements: list[str]) -> None:
    values = []
    for way in ("auto", "table"):
        with dpdb.open(TABLE, constraints=RULE, edges=way) as session, replaced_noise(StubNoise()):
            values.append(CALLS[call](session))
            assert isinstance(true_numbers(session).statistics().graph, BlockGraph if way == "auto" else EdgeGraph)
        assert statements == ([] if way == "auto" else ["conflict_edge"])
    assert values[0] == values[1]


@pytest.mark.heavy
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("way", ["auto", "table"])
def test_without_one_row_of_the_table_of_edges_the_answer_changes(
    call: str, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody takes the first edge out of `conflict_edge` between the join and the scan: only one way sees it."""
    edges = LocalSlice.__dict__["edges"].func

    def robbed(part: LocalSlice) -> TableEdges:
        whole: TableEdges = edges(part)
        table = part.table("conflict_edge").sql("duckdb")
        part.database.execute(f"DELETE FROM {table} WHERE (u, v) = (SELECT (min(u), min(v)) FROM {table})")
        return whole

    one_conflict = pa.table({"d": [1, 1, 2], "n": [1, 2, 5], "m": [3, 2, 1]})

    def released() -> Any:
        with dpdb.open(one_conflict, constraints=RULE, edges=way) as session, replaced_noise(StubNoise()):
            return CALLS[call](session)

    before = released()
    monkeypatch.setattr(LocalSlice, "edges", property(robbed))
    assert (released() == before) == (way == "auto")
    assert way == "auto" or released() == 0 < before


def test_where_a_closed_form_answers_no_edge_is_read(statements: list[str]) -> None:
    with dpdb.open(TABLE, constraints="d -> n", edges="table") as session, replaced_noise(StubNoise()):
        assert session.dp_inconsistency("repair", 10).value == 2
        session.dp_inconsistency("problematic", 10, mechanism="by_rule")
        session.dp_count(1)
    with dpdb.open(TABLE, constraints="not(t1.n>5)", edges="table") as session, replaced_noise(StubNoise()):
        session.dp_inconsistency("all", 10)
    assert statements == []


def test_the_setting_is_part_of_no_request(tmp_path: Path) -> None:
    """A run that was drawn one way is answered the other way: the number is the same."""
    Ledger.create(tmp_path / "t.ledger", 5).close()
    source = tmp_path / "t.parquet"
    pq.write_table(TABLE, source)
    found = []
    for way in ("auto", "table"):
        with dpdb.open(source, constraints=RULE, ledger=tmp_path / "t.ledger", edges=way) as session:
            found.append(session.dp_inconsistency("problematic", 1, run_id="monday"))
            assert session.spent() == 1
    assert found[0] == found[1]


@pytest.mark.parametrize("edges", ["Table", "", "blocks", None, 1])
def test_other_ways_are_refused(edges: Any) -> None:
    with pytest.raises(ParameterError, match="edges must be 'auto' or 'table'"):
        dpdb.open(TABLE, constraints=RULE, edges=edges)


# -- checks and diagnoses --------------------------------------------------------------------------------------------

CERTAIN = 100_000  # noise below a thousandth of a row, except with probability below exp(-25)
CHECKED = {"dependency": False, "key": False, "one row": False, "two classes": True, "order and difference": True}
"""Kinds of rules, and whether they are counted by their conflict graph, which has blocks."""


def rows_to_delete(asked: Question) -> float:
    """The rows that violate a rule alone, and tau* of the others, by definition."""
    found = truth(asked)
    return found.alone + maximum_matching(len(found.rows), list(found.conflicts)) / 2


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What checks and diagnoses count, exactly, of each slice and limit."""
    seen: list[Any] = []

    def noted(count: Callable[..., Any]) -> Callable[..., Any]:
        def counting(*given: Any) -> Any:
            seen.append(count(*given))
            return seen[-1]

        return counting

    monkeypatch.setattr(CountedSuite, "counts", noted(CountedSuite.counts))
    monkeypatch.setattr(CountedByDiagnosis, "count", noted(CountedByDiagnosis.count))
    return seen


@pytest.mark.heavy(family="long")
def test_checks_count_and_decide_the_same(counts: list[Any], statements: list[str]) -> None:
    asked = question(random.Random(11), [RULES[name] for name in CHECKED])
    suite = "\n".join(f"{text}  fail above 2 rows" for text in asked.texts)
    found = []
    for way in ("auto", "table"):
        with dpdb.open(asked.table, constraints=load_suite(suite).rules, edges=way) as session:
            verdicts = session.check(suite, epsilon=CERTAIN)
        found.append(([(each.verdict, each.rule) for each in verdicts], [*counts]))
        assert statements == ([] if way == "auto" else ["conflict_edge"] * sum(CHECKED.values()))
        counts.clear()
    assert found[0] == found[1]
    verdicts, [of_limits] = found[1]
    for (verdict, _), (count, _), rule, name in zip(verdicts, of_limits, asked.rules, CHECKED, strict=True):
        alone = rows_to_delete(Question(asked.rows, [rule], []))
        assert count == alone if CHECKED[name] else count >= alone
        assert verdict == ("fail" if count > 2 else "pass")


@pytest.mark.heavy
@pytest.mark.parametrize("names", [["dependency"], ["two classes", "order in groups"], [*CHECKED]], ids=" + ".join)
def test_diagnoses_count_and_name_the_same(names: list[str], counts: list[Any], statements: list[str]) -> None:
    asked = question(random.Random(13), [RULES[name] for name in names])
    keys, found = [0, 1, 2, 3], []
    for way in ("auto", "table"):
        with dpdb.open(asked.table, constraints=asked.texts, edges=way) as session:
            diagnosis = session.diagnose("e", keys, CERTAIN, top=4, rules=len(names) > 1)
        named = [(each.key, round(each.lower), round(each.upper)) for each in diagnosis.named]
        found.append((sorted(named), [*counts]))
        assert ("conflict_edge" in statements) == (way == "table" and names != ["dependency"])
        statements.clear()
        counts.clear()
    assert found[0] == found[1]
    if names != ["dependency"]:
        for key, count in zip(keys, found[1][1][: len(keys)], strict=True):
            rows = [row for row in asked.rows if row["e"] == key]
            assert count == 2 * rows_to_delete(Question(rows, asked.rules, []))


def test_the_definition_sees_conflicts() -> None:
    """Most of the random tables have some, so that equal numbers say something."""
    found = [truth(question(random.Random(f"{seed} {[name]}"), [RULES[name]])) for name in RULES for seed in range(3)]
    assert sum(bool(each.conflicts) or each.alone > 0 for each in found) > len(found) / 2
