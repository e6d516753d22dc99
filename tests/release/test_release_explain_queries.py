"""`explain` tells the truth: the SQL that it shows is the SQL that a release runs, and no other."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
import pytest
from inside import table_of
from stub_noise import StubNoise

import dpdb
from dpdb.constraints import load_constraints
from dpdb.engine import SETTINGS
from dpdb.privacy.noise import replaced_noise
from dpdb.release.ask import Ask
from dpdb.release.explain import explain
from dpdb.thresholds import FEW_TEXTS, MOST_LISTED

TABLE = pa.table(
    {"d": [1, 1, 1, 2, 2, None], "n": [1, 1, 2, 5, 6, 6], "m": [3, 3, 2, 1, 1, 1], "s": ["a", "b", "a", None, "b", "b"]}
)
RULES: dict[str, list[str]] = {
    "dependency": ["d -> n"],
    "order": ["not(t1.d=t2.d & t1.n<t2.n & t1.m>t2.m)"],
    "listed": ["not(t1.d=t2.d & t1.n=t2.m)"],
    "mixed": ["d -> s", "not(t1.d=t2.d & t1.n=t2.m)", "not(t1.n>5)"],
    "one row": ["not(t1.n>5)", "NOT NULL(s)"],
    "computed": ["not(t1.d=t2.d & lower(t1.s)!=lower(t2.s))", "UNIQUE(d, n)"],
}
ASKS: dict[str, dict[str, Any]] = {
    "all": {"measure": "all"},
    "repair": {"measure": "repair"},
    "slice": {"measure": "problematic", "where": "m < 3"},
    "rate": {"measure": "repair", "rate": True},
    "each": {"measure": "all", "each_constraint": True},
    "by_rule": {"measure": "minimal_inconsistency", "mechanism": "by_rule"},
}


def normal(sql: str) -> str:
    """Without the number of the slice, which only tells whether it is the first one."""
    return re.sub(r"\bslice(_\d+)*\b", "slice", sql)


def shown(rules: list[str], ask: dict[str, Any], edges: str) -> dict[str, Any]:
    return explain(TABLE, rules, Ask.called("dp_inconsistency", {"epsilon": 10} | ask), edges=edges)


@pytest.mark.heavy(of=10)
@pytest.mark.parametrize("edges", ["auto", "table"])
@pytest.mark.parametrize("ask", ASKS)
@pytest.mark.parametrize("rules", RULES)
def test_what_is_shown_is_what_runs(rules: str, ask: str, edges: str) -> None:
    if ask == "by_rule" and rules not in {"dependency", "one row", "computed"}:
        return
    explained = shown(RULES[rules], ASKS[ask], edges)
    with dpdb.open(TABLE, constraints=RULES[rules], edges=edges) as session, replaced_noise(StubNoise()):
        session.prepare(Ask.called("dp_inconsistency", {"epsilon": 10} | ASKS[ask]))  # constants are typed before
        with table_of(session).database.traced() as ran:  # type: ignore[attr-defined]
            session.dp_inconsistency(**{"epsilon": 10} | ASKS[ask])
            statements = {normal(one.sql) for one in ran}
    queries = {normal(query["sql"]) for query in explained["queries"]}
    if "hash" in str(queries) and "singles" in str(statements):  # of a key, some hash is shared, and of no row none is
        queries |= {statement for statement in statements if "singles" in statement}
    assert queries == statements
    joins = [query for query in queries if "AS a\nJOIN" in query]
    reads_edges = any("edge table" in release["edges"] for release in explained["releases"])
    assert bool(joins) == reads_edges
    is_listed = any("conflict_edge" in query for query in queries)
    assert not is_listed or reads_edges
    assert all("conflict_edge" not in query for query in queries) or edges == "table" or rules in {"listed", "mixed"}
    assert any("closed form" in one["edges"] for one in explained["releases"]) == any(
        one["mechanism"] == "fewest_deletions" for one in explained["releases"]
    )


def test_where_a_private_number_chooses_both_ways_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The words are the same on both sides of the threshold: nothing of the rows is in them."""
    first = shown(RULES["mixed"], ASKS["all"], "auto")
    [words] = {release["edges"] for release in first["releases"]}
    assert words.startswith("blocks, and the joined edges of what has none (not(t1.d=t2.d & t1.n=t2.m)); or edge table")
    assert [each.split(":")[0] for each in first["choices"]] == [
        "rows of a table whose columns can be read one by one",
        "distinct texts of a column whose hash another text of it has",
        "rows of a slice", "edges of constraints without blocks, beside constraints with blocks",
    ]  # fmt: skip
    bigger = explain(pa.concat_tables([TABLE] * 50), RULES["mixed"], Ask("all", 10))
    assert bigger == first | {"source": bigger["source"]}
    monkeypatch.setattr(MOST_LISTED, "at", 0)
    assert "more than 0" in shown(RULES["mixed"], ASKS["all"], "auto")["releases"][0]["edges"]


@pytest.mark.parametrize(
    ("rules", "ask", "is_named"),
    [
        (["d -> s"], {}, True),
        (["d -> s"], {"where": "s <> 'a'"}, False),  # it is read as a value, too
        (["d -> s", "not(t1.s='b')"], {}, False),
        (["d -> s", "not(t1.s='b')"], {"each_constraint": True}, True),
        (["not(t1.d=t2.d & lower(t1.s)!=lower(t2.s))"], {}, False),
        (["d -> n"], {}, False),
    ],
)
def test_texts_are_named_where_hashes_of_them_may_be_copied(
    rules: list[str], ask: dict[str, Any], is_named: bool
) -> None:
    """And there alone: what runs beyond the threshold has hashes in it."""
    asked = {"measure": "all"} | ask
    assert (FEW_TEXTS.words in shown(rules, asked, "auto")["choices"]) == is_named
    with pytest.MonkeyPatch.context() as patch, dpdb.open(TABLE, constraints=rules) as session:
        patch.setattr(FEW_TEXTS, "at", -1)
        with replaced_noise(StubNoise()), table_of(session).database.traced() as ran:  # type: ignore[attr-defined]
            session.dp_inconsistency(**{"epsilon": 10} | asked)
    assert any("row_hash" in one.sql and "INSERT" in one.sql for one in ran) == is_named


def test_every_setting_of_edges_is_known_to_explain() -> None:
    assert "edges" in SETTINGS
    assert load_constraints(RULES["mixed"], TABLE.column_names)
