"""The statements of the README are answered."""

from __future__ import annotations

import re
from pathlib import Path

from dpdb.doors.sql import FrontEnd, split_statements

README = Path(__file__).resolve().parents[2] / "README.md"


def test_the_statements_of_the_readme_are_answered(front_end: FrontEnd) -> None:
    (block,) = re.findall(r"## The SQL door\n.*?```sql\n(.*?)```", README.read_text(), flags=re.DOTALL)
    statements = split_statements(block)
    assert len(statements) >= 5
    for statement in statements:
        assert front_end.run(statement).table.num_rows >= 1
