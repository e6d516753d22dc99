"""Run any statement and hold its outcome against what must be true of every outcome."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable

import pyarrow as pa
from private_rows import shows_private

from dpdb.doors.sql import FrontEnd, Spoken
from dpdb.errors import DpdbError

# After a limit is reached: what the parent may take to read, check, kill and say so. The second is for the default
# run, which a busy machine must not fail: without the limits these statements would not end at all.
GRACE = 2.0
PATIENCE = 20.0
LONGEST_ERROR = 600


def run_all(
    front_end: FrontEnd, statements: Iterable[str], seconds: float, grace: float, spoken: Spoken = "duckdb"
) -> tuple[Counter[str], float]:
    """Run statements; return how often each outcome came and the longest time one took beyond its limits."""
    outcomes: Counter[str] = Counter()
    longest = 0.0
    for statement in statements:
        outcome, took = run_one(front_end, statement, spoken)
        runs = 2 if outcome in ("answered", "failed after the debit") else 1  # the rehearsal has its own time
        assert took <= runs * seconds + grace, (took, statement)
        longest = max(longest, took - runs * seconds)
        outcomes[outcome] += 1
    return outcomes, longest


def run_one(front_end: FrontEnd, statement: str, spoken: Spoken = "duckdb") -> tuple[str, float]:
    """Run one statement through the front end, which has kept nothing so far; return the outcome and its time."""
    session = front_end.session
    before = session.spent()
    start = time.monotonic()
    try:
        result = front_end.run(statement, spoken)
    except DpdbError as error:
        took = time.monotonic() - start
        message = str(error)
        assert "\n" not in message, statement
        assert message.isprintable(), statement
        assert len(message) <= LONGEST_ERROR, statement
        assert not shows_private(message), statement
        if session.spent() == before:
            assert front_end.kept == front_end.kept_checks == (), statement
            return f"refused ({type(error).__name__})", took
        assert front_end.kept or front_end.kept_checks, statement  # spent, and not lost
        front_end._paid.take(list(front_end._paid._answers))
        return "failed after the debit", took
    took = time.monotonic() - start
    assert not shows_private(seen(result.table)), statement
    assert front_end.kept == front_end.kept_checks == (), statement
    spent = session.spent() - before
    answers = [*result.releases, *result.checks]
    assert (spent > 0) == bool(answers), statement
    assert spent <= sum(answer.epsilon or 0.0 for answer in answers) + 1e-9, statement
    return "answered", took


def seen(table: pa.Table) -> str:
    """Return the start of a result as text."""
    try:
        return str(table.slice(0, 1_000).to_pylist())
    except (OverflowError, ValueError):  # Python has no such date
        return str(table.schema)
