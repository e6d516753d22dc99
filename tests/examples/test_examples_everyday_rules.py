"""The 25 everyday rules of flights and of visits: released, and counted exactly, as plain SQL counts them.

By default a fifth of them is, by the commit (`case_share`).
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from case_share import fifth

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "everyday_rules"


@pytest.fixture(scope="module")
def program() -> Iterator[Any]:
    sys.path.insert(0, str(EXAMPLES))
    try:
        yield importlib.import_module("run")
    finally:
        sys.path.remove(str(EXAMPLES))
        for name in ("run", "rule", "flights", "health"):
            sys.modules.pop(name, None)


@pytest.mark.heavy(family="long")
def test_dpdb_counts_as_plain_sql_does(
    program: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for about in (program.flights, program.health):
        assert len(about.RULES) == 25
        monkeypatch.setattr(about, "RULES", tuple(fifth(about.RULES)))
    many = len(program.health.RULES)
    assert program.main(["--rows", "1500", "--epsilon", "1000"]) == 0
    printed = capsys.readouterr().out
    assert printed.count(f"dpdb counts as the SQL does: {many} of {many} rules") == 2


@pytest.mark.heavy(family="long")
def test_nearly_every_rule_is_broken_somewhere(program: Any) -> None:
    """Else equal counts would say little."""
    import duckdb

    for about in (program.flights, program.health):
        with duckdb.connect() as connection:
            connection.from_arrow(about.made_up(5000)).create(about.TABLE)
            counts = [connection.execute(rule.sql).fetchall()[0][0] for rule in about.RULES]
        assert len(counts) == 25
        assert sum(count > 0 for count in counts) >= 23


@pytest.mark.heavy(family="long")
def test_a_disagreement_is_an_error(program: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = program.Rule("wrong", "NOT NULL(person_id)", "SELECT 1 + count(*) FROM visits WHERE person_id IS NULL")
    monkeypatch.setattr(program.health, "RULES", (wrong,))
    monkeypatch.setattr(program.flights, "RULES", program.flights.RULES[:1])
    assert program.main(["--rows", "50"]) == 1
