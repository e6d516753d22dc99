"""A placeholder that touches something is refused: together they would be another literal than either."""

from __future__ import annotations

import pytest

from dpdb.doors.jobs.placeholders import fill
from dpdb.errors import ParameterError

HOSTILE = {"date": "2026-11-21", "run_id": "\\' OR 1=1 OR x='"}


@pytest.mark.parametrize(
    "where", ["x = e{run_id}", "x = {date}{run_id}", "x = 'a'{run_id}", "x = {run_id}'a'", "x = {{date}}"]
)
def test_what_touches_is_refused(where: str) -> None:
    with pytest.raises(ParameterError, match="put a space between them"):
        fill(where, HOSTILE)


def test_signs_may_touch() -> None:
    assert fill("a={date} AND b IN ({date},{run_id})", {"date": "d", "run_id": "r"}) == "a='d' AND b IN ('d','r')"
