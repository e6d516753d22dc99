"""The statements of the manual are answered."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dpdb.doors.sql import FrontEnd, split_statements

MANUAL = Path(__file__).resolve().parents[2] / "examples" / "manual" / "sql.md"


@pytest.mark.heavy(family="alone")
def test_the_statements_of_the_manual_are_answered(front_end: FrontEnd) -> None:
    (block,) = re.findall(r"```sql\n(.*?)```", MANUAL.read_text(), flags=re.DOTALL)
    statements = split_statements(block)
    assert len(statements) >= 5
    for statement in statements:
        assert front_end.run(statement).table.num_rows >= 1
