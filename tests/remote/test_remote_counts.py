"""How new rows are and how many distinct values there are: asked of other engines, against our own database."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from asked_there import Sent

from dpdb.suites import Session, load_suite

pytestmark = pytest.mark.filterwarnings("ignore")  # of PySpark, pandas and py4j, which are not ours to mend

NOW = datetime(2026, 11, 28, 11, 20, 5, tzinfo=UTC)
MOMENTS = [
    None,
    *(NOW - timedelta(days=2) + timedelta(seconds=each) for each in (-1, 0, 1)),
    *(datetime(2026, 11, day, tzinfo=UTC) for day in (26, 27)),
    *(NOW + timedelta(minutes=each) for each in range(-90, 60, 7)),
]
ROWS = pa.table(
    {
        "day": pa.array([each and each.date() for each in MOMENTS], pa.date32()),
        "naive": pa.array([each and each.replace(tzinfo=None) for each in MOMENTS], pa.timestamp("us")),
        "zoned": pa.array(MOMENTS, pa.timestamp("us", tz="UTC")),
        "k": pa.array([place % 7 or None for place in range(len(MOMENTS))], pa.int64()),
        "word": [f"w{place % 5}" for place in range(len(MOMENTS))],
    }
)
SUITE = """
freshness(zoned) < 2 days
freshness(zoned) <= 2 days WHERE k > 2
freshness(naive) <= 2 days
freshness(naive, 'Europe/Berlin') < 1 hour
freshness(day) < 2 days
freshness(day) <= 1 week
distinct_count(k) within [1, 9]
distinct_count(k, word) fail above 3
distinct_count(word) WHERE k > 2  fail below 3
distinct_count(day) fail above 3
"""


def counts(suite: str, **named: Any) -> list[int]:
    loaded = load_suite(suite)
    with Session(constraints=loaded.rules, budget=1, **named) as session:
        return [int(each.value) for each in session.exact_checks(loaded, non_private=True, now=NOW)]


@pytest.mark.parametrize("count", [0, len(MOMENTS)])
def test_other_engines_count_the_same(sent: Sent, count: int) -> None:
    rows = ROWS.slice(0, count)
    wanted = counts(SUITE, source=rows)
    assert counts(SUITE, **sent(rows)) == wanted
    assert (sum(wanted) > 0) == (count > 0)


def test_a_check_runs_there(sent: Sent) -> None:
    rows = pa.table(
        {"at": pa.array([NOW] * 3000, pa.timestamp("us", tz="UTC")), "k": [each % 900 for each in range(3000)]}
    )
    with Session(budget=9, **sent(rows)) as session:
        found = session.check("freshness(at) < 1 hour\ndistinct_count(k) within [300, 2000]\n", 2, now=NOW)
        assert [each.verdict for each in found] == ["pass"] * 3
        assert session.check("freshness(at) < 1 hour", 2, now="2027-01-01T00:00:00Z")[0].verdict == "fail"
