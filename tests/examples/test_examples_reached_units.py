"""The commands of the manual's page about units that are reached through keys run as they are printed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import duckdb
import pytest

from dpdb.doors.cli.main import main

PAGE = Path(__file__).resolve().parents[2] / "examples" / "manual" / "parents.md"


def test_the_commands_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as database:
        database.execute("CREATE TABLE customers AS SELECT i AS id FROM range(300) t(i)")
        database.execute("CREATE TABLE orders AS SELECT i AS id, i % 310 AS customer_id FROM range(900) t(i)")
        database.execute("CREATE TABLE items AS SELECT i % 950 AS order_id, i % 9 AS quantity FROM range(3000) t(i)")
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text(encoding="utf-8").partition("## Units that are reached through keys")[2]
    [block] = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    commands = block.replace("\\\n", " ").splitlines()
    assert len(commands) == 2
    for command in commands:
        assert main(shlex.split(command)[1:]) == 0
