"""The commands of the manual's page about units that are reached through keys run as they are printed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import duckdb
import pytest

from dpdb.doors.cli.main import main
from dpdb.ledger import Ledger

PAGE = Path(__file__).resolve().parents[2] / "examples" / "manual" / "parents.md"


@pytest.mark.heavy(family="long")
def test_the_commands_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as database:
        database.execute("CREATE TABLE customers AS SELECT i AS id FROM range(300) t(i)")
        database.execute("CREATE TABLE orders AS SELECT i AS id, i % 310 AS customer_id FROM range(900) t(i)")
        database.execute("CREATE TABLE items AS SELECT i % 950 AS order_id, i % 9 AS quantity FROM range(3000) t(i)")
    (tmp_path / "suites").mkdir()
    (tmp_path / "ledgers").mkdir()
    for name in ("customers", "orders", "items"):
        key = "order_id" if name == "items" else "id"
        (tmp_path / "suites" / f"{name}.suite.txt").write_text(f"NOT NULL({key})  fail above 100\n")
        Ledger.create(tmp_path / "ledgers" / f"{name}.ledger", 10).close()
    Ledger.create(tmp_path / "unit.ledger", 10).close()
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text(encoding="utf-8").partition("## Units that are reached through keys")[2]
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    commands = [command for block in blocks for command in block.replace("\\\n", " ").splitlines()]
    assert len(commands) == 4
    for command in commands:
        assert main(shlex.split(command)[1:]) in (0, 5), command
