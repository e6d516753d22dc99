"""`Session.with_constraints`: several sets of rules over one opening of a source, under one budget."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

import dpdb
from dpdb.errors import BudgetExceededError, ParameterError
from dpdb.ledger import Ledger
from dpdb.sources import open_source

EPSILON = 1000  # noise of scale 1 / 1000: another value than the exact one has probability 1e-400


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "t.parquet"
    duckdb.sql("SELECT k // 3 AS a, k % 2 AS b, k % 5 AS c, k % 4 AS who FROM range(30) s(k)").write_parquet(str(path))
    return path


def _repair(session: dpdb.Session) -> float:
    return session.dp_inconsistency("repair", epsilon=EPSILON).value


RULES = ["a -> b", "c -> b", "CHECK (b = 0)", "UNIQUE(a, c)"]


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize("settings", [{}, {"unit": "who", "max_rows": 4}])
def test_each_set_of_rules_is_measured_as_alone(
    table: Path, settings: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = []
    for rule in RULES:
        with dpdb.open(table, constraints=rule, **settings) as session:
            alone.append((_repair(session), session.constraints, session.public.constraints_sha256))
    opened: list[object] = []
    monkeypatch.setattr("dpdb.engine.table.open_source", lambda *a, **k: opened.append(a[1]) or open_source(*a, **k))
    with dpdb.open(table, constraints=RULES[0], **settings) as session:
        others = [session, *(session.with_constraints(rule) for rule in RULES[1:])]
        found = [(_repair(other), other.constraints, other.public.constraints_sha256) for other in others]
        assert found == alone
        assert [_repair(other) for other in reversed(others)] == [value for value, *_ in reversed(alone)]
        assert type(others[1]) is type(session)
    assert len(opened) == 1


@pytest.mark.heavy(family="long")
def test_they_have_one_budget_and_end_together(table: Path, tmp_path: Path) -> None:
    with dpdb.open(table, constraints="a -> b", budget=2) as session:
        other = session.with_constraints("c -> b")
        other.dp_count(epsilon=1.5)
        assert session.remaining() == 0.5
        with pytest.raises(BudgetExceededError):
            session.dp_count(epsilon=1)
        database = session.public.opened.database  # type: ignore[attr-defined]
        other.dp_inconsistency("problematic", epsilon=0.25)
        made = "SELECT count(*) FROM duckdb_schemas() WHERE schema_name LIKE 'slice%'"
        assert database.value(made) == 1
        other.close()
        assert database.value(made) == 0
        with pytest.raises(ParameterError, match="this session is closed"):
            other.dp_count(epsilon=0.1)
        session.dp_count(epsilon=0.1)
        third = session.with_constraints(None)
    for ended in (session, third):
        with pytest.raises(ParameterError, match="this session is closed"):
            ended.dp_count(epsilon=0.1)
    Ledger.create(tmp_path / "l", 2).close()
    with dpdb.open(table, constraints="a -> b", ledger=tmp_path / "l") as session:
        session.with_constraints("c -> b").dp_count(epsilon=1.5)
        assert session.remaining() == 0.5


@pytest.mark.heavy(family="alone")
def test_parents_and_children_of_several_sets_of_rules(table: Path, tmp_path: Path) -> None:
    """Each set copies the keys of its own parents, and chooses children by its own keys."""
    parent = tmp_path / "p.parquet"
    duckdb.sql("SELECT k AS id, k % 3 AS third FROM range(4) s(k)").write_parquet(str(parent))
    settings = {"private_parents": {"p": parent}, "max_children": 2}
    rules = ["a IN p.id", "c IN p.third", "b IN p.id"]
    alone = []
    for rule in rules:
        with dpdb.open(table, constraints=rule, **settings) as session:
            alone.append(session.dp_inconsistency("problematic", epsilon=EPSILON).value)
    with dpdb.open(table, constraints=rules[0], **settings) as session:
        others = [session, *map(session.with_constraints, rules[1:])]
        for _ in range(2):
            found = [other.dp_inconsistency("problematic", epsilon=EPSILON).value for other in others]
            assert found == alone
            others[1].public.opened.forget_rows()
