"""What is read and what is charged come from one tree: random predicates, and the leaks of the past put back in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from case_share import twentieth
from charge_fuzz import Findings, fuzz
from random_predicates import KINDS
from sqlglot import exp

from dpdb.database.database import Database
from dpdb.engine import table as keys
from dpdb.engine.sql.comparison import texts_of
from dpdb.engine.sql.where import WherePredicate
from dpdb.predicates import nodes, region as coverage, value_sets as places
from dpdb.predicates.value_sets import ValueSet

SEED = 20_261_121


def report(findings: Findings, capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        print(f"\nfuzz of charges, seed {SEED}: {dict(sorted(findings.seen.items()))}")


def test_predicates_that_share_a_row_are_never_charged_as_disjoint(capsys: pytest.CaptureFixture[str]) -> None:
    """Tables of every type in each twentieth."""
    findings, parts = Findings(), twentieth(range(20))
    for part in parts:
        found = fuzz(20 * SEED + part, tables=len(KINDS), predicates=36)
        findings.seen.update(found.seen)
        assert found.wrong == []
    report(findings, capsys)
    assert findings.pairs >= 5_000 * len(parts)
    assert findings.seen["refused for selecting no row"] > 5 * len(parts)
    assert findings.seen["keys refused as the same value"] > len(parts)
    assert findings.seen["charged for every row"] < 0.2 * findings.seen["predicates"]
    assert findings.seen["predicates that compute"] > 0.1 * findings.seen["predicates"]


@pytest.mark.slow
def test_two_million_pairs_are_never_charged_as_disjoint(capsys: pytest.CaptureFixture[str]) -> None:
    together = Findings()
    for part in range(20):
        findings = fuzz(SEED + 1 + part, tables=len(KINDS), predicates=160)
        together.seen.update(findings.seen)
        assert findings.wrong == []
    report(together, capsys)
    assert together.pairs >= 2_000_000


# -- leaks put back -------------------------------------------------------------------------------------------


def constants_are_dropped(patch: pytest.MonkeyPatch) -> None:
    """The engine leaves out a predicate without columns; the accountant reads `false` as no row."""
    real = WherePredicate.condition.fget
    assert real is not None
    patch.setattr(WherePredicate, "condition", property(lambda self: real(self) if self.columns else exp.true()))


def keys_are_compared_as_text(patch: pytest.MonkeyPatch) -> None:
    def equal_texts(database: Database, literals: Sequence[nodes.Literal]) -> tuple[int, int] | None:
        texts = texts_of(database, literals)
        return next(((texts.index(text), k) for k, text in enumerate(texts) if texts.index(text) < k), None)

    patch.setattr(keys, "equal_values", equal_texts)


def literals_are_points_in_double(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(places, "neighbours", lambda near: (near, near))


def literals_are_what_was_written(patch: pytest.MonkeyPatch) -> None:
    """The accountant does not know the type that was bound."""
    patch.setattr(places, "_holds_exactly", lambda kind, column_type: True)


LEAKS = [
    (constants_are_dropped, ["BOOLEAN", "VARCHAR"], "charged for no row and answers about one"),
    (keys_are_compared_as_text, ["INTERVAL", "DOUBLE"], "two keys select the same row"),
    (literals_are_points_in_double, ["HUGEINT", "UBIGINT", "DECIMAL(38,2)"], "charged as disjoint"),
    (literals_are_what_was_written, ["HUGEINT", "UBIGINT", "DECIMAL(38,2)"], "charged as disjoint"),
]


@pytest.mark.heavy
@pytest.mark.parametrize(("leak", "kinds", "says"), LEAKS, ids=[leak.__name__ for leak, _, _ in LEAKS])
def test_a_leak_of_the_past_is_caught(leak, kinds: list[str], says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    leak(monkeypatch)
    findings = fuzz(SEED, tables=20, predicates=70, kinds=kinds, until=says)
    assert any(says in words for words in findings.wrong)


# -- other ways to charge too little --------------------------------------------------------------------------


MUTANTS = {
    "intervals are ordered by their text": (
        lambda patch: patch.setitem(places._PLACES, "INTERVAL", str), ["INTERVAL"],
    ),
    "times with zones are ordered by their text": (
        lambda patch: patch.setitem(places._PLACES, "TIME WITH TIME ZONE", str), ["TIME WITH TIME ZONE"],
    ),
    "far years are ordered by their text": (
        lambda patch: patch.setitem(places._PLACES, "DATE", str), ["DATE"],
    ),
    "functions are charged as their columns": (
        lambda patch: patch.setattr(coverage._Reader, "rows", _of_the_column(coverage._Reader.rows)),
        ["INTEGER", "VARCHAR"],
    ),
    "computed values are charged for no row": (
        lambda patch: patch.setattr(coverage._Reader, "_computed", lambda self, leaf: []),
        ["INTEGER", "VARCHAR", "DATE"],
    ),
    "NOT does not swap the questions": (
        lambda patch: patch.setattr(coverage._Reader, "rows", _without_not(coverage._Reader.rows)), ["INTEGER"],
    ),
    "column comparisons cover equal columns only": (
        lambda patch: patch.setattr(coverage._Reader, "rows", _no_columns(coverage._Reader.rows)), ["INTEGER", "DATE"],
    ),
    "excluded keys cover nothing": (
        lambda patch: patch.setattr(ValueSet, "__invert__", lambda self: ValueSet.nothing()), ["INTEGER"],
    ),
}  # fmt: skip


def _of_the_column(real):
    """`abs(x) = 5` is charged as `x = 5`."""

    def rows(self, tree, truth):
        computed = isinstance(tree, nodes.Comparison) and not isinstance(tree.term, nodes.Column)
        column = next(nodes.columns_in(tree.term)) if computed else None
        return real(self, replace(tree, term=column) if computed else tree, truth)

    return rows


def _without_not(real):
    return lambda self, tree, truth: real(self, tree.part if isinstance(tree, nodes.Not) else tree, truth)


def _no_columns(real):
    return lambda self, tree, truth: [] if isinstance(tree, nodes.TermComparison) else real(self, tree, truth)


@pytest.mark.heavy
@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    put_in, kinds = MUTANTS[name]
    put_in(monkeypatch)
    assert fuzz(SEED, tables=20, predicates=60, kinds=kinds, until="").wrong
