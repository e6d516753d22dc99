"""A front end with a suite of checks that its owner has registered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from private_rows import NIGHTLY, RULE

import dpdb
from dpdb.doors.sql import FrontEnd
from dpdb.release import Budget
from dpdb.suites import register_suite


@contextmanager
def door_with_suite(
    folder: Path,
    public: Mapping[str, Path],
    *,
    budget: float | None = None,
    ledger: Path | None = None,
    seconds: float = 60.0,
    who: str | None = None,
    suite: str = NIGHTLY,
) -> Iterator[FrontEnd]:
    """Open the table with the suite `nightly`; one budget, or one ledger, pays for releases and checks."""
    shared, visits = Budget(budget), folder / "visits.parquet"
    nightly = register_suite(
        "nightly", suite, lambda rules: dpdb.open(visits, constraints=rules, budget=shared, ledger=ledger)
    )
    with (
        nightly.session,
        dpdb.open(visits, constraints=RULE, budget=shared, ledger=ledger) as session,
        FrontEnd(session, "visits", public, seconds=seconds, who=who, suites=[nightly]) as opened,
    ):
        yield opened
