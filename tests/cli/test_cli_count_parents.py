"""`dpdb count` spends from a ledger that counts for rows of private parents, as every other door does."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpdb.doors.cli import main
from dpdb.ledger import Ledger

RULE = ["--constraints", "customer_id IN customers.id"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"id": [1, 2, 3, 4], "customer_id": [1, 1, 2, 9]}), "orders.parquet")
    pq.write_table(pa.table({"id": [1, 2]}), "customers.parquet")
    for name in ("o", "c"):
        Ledger.create(tmp_path / f"{name}.ledger", 9).close()


def spent(name: str = "o") -> float:
    with Ledger.open(f"{name}.ledger") as ledger:
        return ledger.summary().spent


@pytest.mark.heavy
@pytest.mark.parametrize("unit", [["--unit", "customer_id", "--max-rows", "2"], ["--max-children", "2"]])
def test_the_same_unit_as_that_of_a_measure(unit: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    parents = ["--private-parent", "customers=customers.parquet", *unit]
    shared = ["orders.parquet", "--epsilon", "1", "--ledger", "o.ledger"]
    if "--max-children" in unit:
        assert main(["measure", *shared, *parents, *RULE]) == 2
        assert "--parent-ledger customers=FILE" in capsys.readouterr().err
        parents += ["--parent-ledger", "customers=c.ledger"]
    assert main(["measure", *shared, *parents, *RULE, "--measure", "repair"]) == 0
    assert main(["count", *shared, *parents, *RULE]) == 0
    assert (spent(), spent("c")) == (2, 2 if "--max-children" in unit else 0)
    capsys.readouterr()
    for words, says in (
        ([], "counts for"),
        (unit, "private-parent" if "--max-children" in unit else "Give the unit, the private parents and their rules"),
        (parents, "--private-parent needs --constraints: its rules say"),
    ):
        assert main(["count", *shared, *words]) == 2
        assert says in capsys.readouterr().err
    assert spent() == 2


@pytest.mark.heavy(family="privacy")
def test_rules_of_a_settings_file_do_not_matter_without_private_parents() -> None:
    Path("dpdb.toml").write_text('constraints = ["customer_id IN customers.id", "not(t1.id != t2.customer_id)"]\n')
    assert main(["count", "orders.parquet", "--epsilon", "1"]) == 0
    with_parents = ["--private-parent", "customers=customers.parquet", "--unit", "customer_id", "--max-rows", "1"]
    assert main(["count", "orders.parquet", "--epsilon", "1", *with_parents]) == 0  # a count compares no rows
