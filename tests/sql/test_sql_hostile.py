"""Statements that mean harm, and statements that mean nothing: each ends in time, with one line or a result.

Nothing private is shown, nothing is spent and lost, and nothing stays behind. The whole runs under `slow`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from case_share import fifth
from checked_runs import GRACE, PATIENCE, run_all, seen
from counting_noise import CountingNoise
from hostile_statements import EXHAUSTING, hostile, number_of_functions
from inside import database_of
from legitimate_statements import KINDS
from mutated_statements import mutated
from private_rows import shows_private
from suite_door import door_with_suite

from dpdb.doors.sql import FrontEnd, Spoken
from dpdb.doors.sql.child.remote_database import Form, RemoteDatabase
from dpdb.errors import DpdbError
from dpdb.privacy.noise import replaced_noise

SECONDS = 2.0
REFUSED = "refused: "
# One of each kind of exhaustion: time, memory, size of the result, depth.
SAMPLE = ("one huge text", "doubling CTEs", "all pairs of wide rows", "a list of texts of 100 MB", "deep parentheses")


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("big") / "big.parquet"
    numbers = np.arange(500_000)
    texts = [f"a text that is rather wide, number {k}" for k in numbers]
    pq.write_table(pa.table({"k": numbers, "g": numbers % 10, "t": texts}), path)
    return path


@pytest.fixture(scope="module")
def door(folder: Path, big: Path, public: dict[str, Path]) -> Iterator[FrontEnd]:
    with door_with_suite(folder, {**public, "big": big}, seconds=SECONDS) as opened, replaced_noise(CountingNoise()):
        for function, options in KINDS.values():  # the first release of each kind compiles its kernels
            getattr(opened.session, function)(epsilon=1, **options)
        yield opened


@pytest.fixture(scope="module")
def remote(door: FrontEnd) -> RemoteDatabase:
    return database_of(door)


def run_undecided(remote: RemoteDatabase, statement: str, grace: float) -> str:
    """Run a statement in a process without the decision on its tree, and without our parser; return what is seen."""
    form: Form = "explain" if statement.startswith("EXPLAIN ") else "query"
    start = time.monotonic()
    try:
        with remote.statement(statement.removeprefix("EXPLAIN "), {}, form) as process:
            if form == "query":
                process.rehearse()
                start = time.monotonic()  # the run has as much time as the rehearsal
            table = process.show() if form == "explain" else process.run({})
    except DpdbError as error:
        return f"{REFUSED}{error}"
    finally:
        assert time.monotonic() - start <= SECONDS + grace, statement
    return seen(table)


@pytest.mark.heavy
@pytest.mark.parametrize("name", SAMPLE)
def test_exhausting_statements_end_in_time(name: str, remote: RemoteDatabase) -> None:
    outcome = run_undecided(remote, EXHAUSTING[name], PATIENCE)
    assert outcome.startswith(REFUSED)
    assert "\n" not in outcome


@pytest.mark.slow
@pytest.mark.parametrize("name", EXHAUSTING)
def test_all_exhausting_statements_end_in_time(name: str, remote: RemoteDatabase, door: FrontEnd) -> None:
    for statement in (EXHAUSTING[name], f"EXPLAIN {EXHAUSTING[name]}"):
        run_undecided(remote, statement, GRACE)
        with_release = statement.replace("SELECT ", "SELECT dp_count('visits', epsilon := 1).value, ", 1)
        run_all(door, [statement, with_release], SECONDS, GRACE)


def attack_with_functions(count: int, remote: RemoteDatabase, door: FrontEnd, folder: Path, grace: float) -> None:
    files = sorted(folder.iterdir())
    statements = [hostile(k * number_of_functions() // count) for k in range(count)]
    texts = [run_undecided(remote, statement, grace) for statement in statements]
    refusals = [text for text in texts if text.startswith(REFUSED)]
    outcomes, longest = run_all(door, statements, SECONDS, grace)
    print(
        f"\n{count} hostile statements: {count - len(refusals)} answered where nothing decides on them; by the front "
        f"end {dict(outcomes)}; longest {longest:+.2f} s beyond its limit"
    )
    assert len(refusals) < count * 0.8
    assert not any("\n" in text for text in refusals)
    assert not shows_private(*texts)
    assert not any(os.environ["PATH"] in text for text in texts)
    assert sorted(folder.iterdir()) == files


@pytest.mark.heavy(family="long")
def test_functions_with_odd_arguments(remote: RemoteDatabase, door: FrontEnd, folder: Path) -> None:
    attack_with_functions(25, remote, door, folder, PATIENCE)


@pytest.mark.slow
def test_all_functions_with_odd_arguments(remote: RemoteDatabase, door: FrontEnd, folder: Path) -> None:
    assert number_of_functions() > 1_000
    attack_with_functions(2_000, remote, door, folder, GRACE)


ANSWERED = (27, 63, 113)
"""Seeds of mutated statements that are answered, of which a fifth of all seeds may have none."""


def attack_with_mutations(seeds: Sequence[int], answered: int, door: FrontEnd, grace: float, spoken: Spoken) -> None:
    outcomes, longest = run_all(door, (mutated(seed) for seed in seeds), SECONDS, grace, spoken)
    print(f"\n{len(seeds)} mutated statements: {dict(outcomes)}; longest {longest:+.2f} s beyond its limit")
    assert outcomes["answered"] >= answered
    assert outcomes["refused (StatementRefusedError)"] >= len(seeds) // 4


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize("spoken", ["duckdb", "postgres"])
def test_mutated_statements(door: FrontEnd, spoken: Spoken, capfd: pytest.CaptureFixture[str]) -> None:
    attack_with_mutations(sorted({*fifth(range(150)), *ANSWERED}), len(ANSWERED), door, PATIENCE, spoken)
    assert not shows_private(*capfd.readouterr())


@pytest.mark.slow
@pytest.mark.parametrize("spoken", ["duckdb", "postgres"])
def test_many_mutated_statements(door: FrontEnd, spoken: Spoken) -> None:
    attack_with_mutations(range(150, 20_150), 1_000, door, GRACE, spoken)  # 9% are
