"""`dpdb.check`, `dpdb.dp_count` and `dpdb.diagnose`: what a session of its own answers, and its errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import dpdb
from dpdb.errors import BudgetExceededError, ParameterError
from dpdb.ledger import Ledger

ROWS = "\n".join(["id,part,v", *(f"{k},{'ab'[k % 2]},{k % 7}" for k in range(400))])


@pytest.fixture
def table(tmp_path: Path) -> Path:
    (tmp_path / "t.csv").write_text(ROWS)
    return tmp_path / "t.csv"


@pytest.mark.heavy(family="long")
def test_each_opens_a_table_with_what_it_needs(table: Path) -> None:
    results = dpdb.check(table, "UNIQUE(id)\nNOT NULL(v)  fail above 5%", epsilon=9, where="part = 'a'", label="x")
    assert [each.verdict for each in results] == ["pass", "pass"]
    dated = dpdb.check(table, "NOT NULL(v) WHERE part = '{date}'", epsilon=9, day="2026-11-28")
    assert len(dated) == 1
    assert abs(dpdb.dp_count(table, 9, where="part = 'a'").value - 200) < 10
    slices = dpdb.dp_count(table, 9, by="part", keys=["a", "b"])
    assert len(slices) == 2
    assert dpdb.diagnose(table, "UNIQUE(v)", "part", ["a", "b"], 5, top=1).epsilon == 5


@pytest.mark.heavy
@pytest.mark.parametrize("name", ["dp_count", "check", "diagnose"])
def test_errors_are_those_of_a_session(table: Path, name: str) -> None:
    needs: dict[str, dict[str, Any]] = {
        "dp_count": {},
        "check": {"suite": "UNIQUE(id)"},
        "diagnose": {"constraints": "UNIQUE(id)", "by": "part", "keys": ["a", "b"]},
    }
    call = getattr(dpdb, name)
    with pytest.raises(ParameterError, match=r"'epsiln'; did you mean 'epsilon'|'wher'; did you mean 'where'"):
        call(table, **needs[name], wher="v = 1")
    with pytest.raises(BudgetExceededError):
        call(table, **needs[name], epsilon=2, budget=1)


@pytest.mark.heavy(family="long")
def test_a_check_has_all_options_of_a_session(table: Path, tmp_path: Path) -> None:
    """Numbers from the start, in epsilon or in rho; and those that are bought for a kept suite."""
    suite = "NOT NULL(v) fail above 5\nCHECK (v < 3) fail above 250"
    typed: dict[str, Any] = {"csv_schema": {"v": "INTEGER"}}
    [_, sized] = dpdb.check(table, suite, epsilon=9, sizes=True, **typed)
    assert sized.number is not None
    assert abs(sized.number - 228) < 40  # k % 7 >= 3 for 228 of 400 rows; beyond 40 by exp(-100)
    Ledger.create(tmp_path / "z.ledger", notion="zcdp", epsilon=9, delta=1e-6).close()
    assert dpdb.check(table, suite, rho=0.5, ledger=tmp_path / "z.ledger", **typed).rho_reserved == 0.5
    Ledger.create(tmp_path / "k.ledger", 9).close()
    kept = typed | {"ledger": tmp_path / "k.ledger", "keep": "nightly"}
    dpdb.check(table, suite, epsilon=0.3, **kept)
    with pytest.raises(ParameterError, match=r"are of one run|left no check"):
        dpdb.check(table, suite, epsilon=0.3, sizes=True, numbers=1, **kept)
