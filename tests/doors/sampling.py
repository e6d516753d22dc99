"""Neighbouring tables, ways to draw from them by public calls, and what is collected for it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

import dpdb
from dpdb import Release, Session
from dpdb.doors.jobs import load_job
from dpdb.doors.jobs.run_job import run_job
from dpdb.doors.sql import FrontEnd
from dpdb.ledger import Ledger
from dpdb.predicates import region_from_text
from dpdb.privacy.epsilon import NANO
from dpdb.release import measure_part as shares

Row = tuple[str, str, str, str, int]
Draws = list[tuple[dict[str, Any], ...]]
Ask = Callable[[Session], Any]

COLUMNS = ("person", "zip", "city", "state", "age")
SCHEMA = pa.schema([(name, pa.int32() if name == "age" else pa.string()) for name in COLUMNS])
RULE = "zip -> city"
ONE_ROW_RULE = "not(t.age > 3)"
TWO_RULES = ["zip -> city", "state -> city"]

FEWER: list[Row] = [("p", "1", "x", "CA", 1), ("q", "2", "x", "NY", 2), ("s", "3", "x", "TX", 3)]
ONE_ROW: list[Row] = [("r", "1", "y", "CA", 4)]  # in conflict with the first of them, by either rule
TWO_ROWS: list[Row] = [*ONE_ROW, ("r", "2", "y", "NY", 5)]
LEAVES: list[Row] = [*FEWER, *(("p", "1", "x", "CA", 1) for _ in range(3))]  # the one row is in conflict with four
UNIT: list[Row] = [*TWO_ROWS, ("r", "3", "y", "TX", 6), ("r", "4", "y", "WA", 7)]  # at most two are used

# Both a loss of 2.5 where 1.25 are paid and one of 5 for 2.5 show after few draws: with less, guesses are often wrong;
# with more, nearly all may be right anyway. Other epsilons were chosen likewise, for the same number of draws.
EPSILON = "2.5"
BATCH = 40  # draws on each table before the next look; what one statement or job holds


@dataclass(frozen=True)
class Sample:
    """Draws of a door on one table, and what the account says that the moved rows collected for one of them."""

    draws: Draws
    charge: int


Sampler = Callable[[Path, Sequence[Row], Sequence[Row], int], Iterator[Sample]]


@contextmanager
def fast_folder(folder: Path) -> Iterator[Path]:
    """A folder in memory where the system has one: a ledger waits for its disk at every debit."""
    import tempfile

    memory = Path("/dev/shm")
    if not memory.is_dir():
        yield folder
        return
    with tempfile.TemporaryDirectory(dir=memory) as made:
        yield Path(made)


# -- what is written, drawn and collected ---------------------------------------------------------------------


def table(rows: Sequence[Row]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(COLUMNS, row, strict=True)) for row in rows], SCHEMA)


def parquet(folder: Path, rows: Sequence[Row]) -> Path:
    path = folder / "t.parquet"
    pq.write_table(table(rows), path)
    return path


def in_duckdb(folder: Path, rows: Sequence[Row]) -> Path:
    path = folder / "t.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.register("given", table(rows))
        connection.execute("CREATE TABLE t AS FROM given")
    return path


def answers(released: Any) -> tuple[dict[str, Any], ...]:
    """Releases as what is published; what a door has made of them already is taken as it is."""
    if not isinstance(released, Release) and isinstance(released[0], dict):
        return tuple(released)
    releases = (released,) if isinstance(released, Release) else released
    return tuple(release.to_dict() for release in releases)


def collected(path: Path, moved: Sequence[Row]) -> int:
    """What the fullest of the moved rows collects, by the predicates and charges that the ledger's file holds."""
    with Ledger.open(path) as ledger:
        lines = ledger.lines()
        spent = ledger.spent_units()
    charged = [(region_from_text(line.predicate), line.charge) for line in lines]
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in moved]
    most = max(sum(charge for predicate, charge in charged if predicate.covers(row)) for row in rows)
    assert most <= spent, "the ledger says that it has spent less than a row has collected"
    return most


def each(total: int, draws: int) -> int:
    """What one draw was charged; all the same."""
    assert total % draws == 0, f"{draws} equal draws were charged {total} together"
    return total // draws


# -- sessions -------------------------------------------------------------------------------------------------


def in_memory(ask: Ask, *, rules: Any = RULE, filler: int = 0,
    write: Callable[[Path, Sequence[Row]], Path] = parquet, **options: Any) -> Sampler:  # fmt: skip
    def sample(folder: Path, rows: Sequence[Row], moved: Sequence[Row], draws: int) -> Iterator[Sample]:
        more = [(f"f{k}", f"f{k}", "x", f"f{k}", 0) for k in range(filler)]
        with dpdb.open(write(folder, [*rows, *more]), constraints=rules, budget=10**6, **options) as session:
            yield from in_session(session, ask, draws)

    return sample


def in_session(session: Session, ask: Ask, draws: int) -> Iterator[Sample]:
    spent = 0
    while True:
        drawn = [answers(ask(session)) for _ in range(draws)]
        before, spent = spent, round(session.spent() * NANO)
        yield Sample(drawn, each(spent - before, draws))


def private_parent(ask: Ask, **options: Any) -> Sampler:
    """The rows are what the parent lacks: a row of it that goes makes orphans of its five children."""
    child = table([("r", str(k), "x", "CA", k) for k in range(5)])

    def sample(folder: Path, rows: Sequence[Row], moved: Sequence[Row], draws: int) -> Iterator[Sample]:
        parent = parquet(folder, [row for row in moved if row not in rows])
        with dpdb.open(
            child, constraints="person IN p.person", private_parents={"p": parent}, budget=10**6, **options
        ) as session:
            yield from in_session(session, ask, draws)

    return sample


def with_ledger(ask: Ask, notion: str = "pure", **options: Any) -> Sampler:
    """A ledger for each sample: budgets in rho and mu have an upper limit."""

    def sample(folder: Path, rows: Sequence[Row], moved: Sequence[Row], draws: int) -> Iterator[Sample]:
        source = parquet(folder, rows)
        for number in count():
            path = folder / f"{number}.ledger"
            Ledger.create(path, 30 if notion == "gdp" else 1_000, notion).close()
            with dpdb.open(source, constraints=RULE, ledger=path, **options) as session:
                drawn = [answers(ask(session)) for _ in range(draws)]
            yield Sample(drawn, each(collected(path, moved), draws))

    return sample


def sharing_slices(session: Session, epsilon: str = "1.25") -> tuple[Release, ...]:
    """Two slices that share the moved row and little else."""
    wheres = ("zip = '1' AND age <> 2", "state = 'CA' AND age < 9")
    return tuple(session.dp_inconsistency("repair", epsilon, where=where) for where in wheres)  # type: ignore[misc]


_RUNS = count()


def same_run_twice(session: Session) -> tuple[Release, ...]:
    name = f"run {next(_RUNS)}"
    return tuple(session.dp_inconsistency("repair", EPSILON, run_id=name) for _ in range(2))


def repair_rate(session: Session) -> tuple[dict[str, Any], ...]:
    """A rate, and what an adversary computes from it: the rows to delete, and all rows without the filler."""
    (rate,) = answers(session.dp_inconsistency("repair", EPSILON, rate=True))
    count, measure = (share / NANO for share in shares.rate_shares(round(float(EPSILON) * NANO)))
    rows = released_rows(rate, measure, count)
    return rate, rate | {"value": rate["value"] * rows}, rate | {"value": rows - 60}


def both_rates(session: Session) -> tuple[dict[str, Any], ...]:
    """Both rates, which share one count, and both numerators."""
    first, second = answers(session.dp_inconsistency("all", "4", rate=True))
    rows = released_rows(second, 4 * 0.95 / 3, 4 * 0.05)
    return first, second, *(rate | {"value": rate["value"] * rows} for rate in (first, second))


def released_rows(rate: dict[str, Any], measure: float, rows: float) -> float:
    """The noisy number of rows, from the published value and noise scale of a rate of `repair`; see `rate_answer`.

    `measure` and `rows` are the public shares of epsilon. About 63 rows are expected; where the noise has half the
    scale that the shares tell, twice as many are found.
    """
    found = math.hypot(1 / measure, rate["value"] / rows) / rate["noise_scale"] + 1e-9  # not below by rounding
    return found if found < 95 else found / 2


# -- SQL and jobs ---------------------------------------------------------------------------------------------


def confidences(draws: int) -> list[str]:
    """A confidence of its own makes each release of one statement or job a release of its own."""
    return [f"0.{500 + k}" for k in range(draws)]


def union_of(call: str, draws: int) -> str:
    """A statement that makes so many releases."""
    return " UNION ALL ".join(f"SELECT * FROM {call.format(confidence=one)}" for one in confidences(draws))


def by_confidence(table: pa.Table, names: int) -> Draws:
    """Rows of a union as draws: those of one confidence are one draw."""
    drawn: dict[float, list[dict[str, Any]]] = {}
    for row in table.to_pylist():
        drawn.setdefault(row["confidence"], []).append(row)
    assert all(len(rows) == names for rows in drawn.values())
    return [tuple(rows) for rows in drawn.values()]


def front_end(call: str, releases: int = 1) -> Sampler:
    def sample(folder: Path, rows: Sequence[Row], moved: Sequence[Row], draws: int) -> Iterator[Sample]:
        with (
            dpdb.open(parquet(folder, rows), constraints=RULE, budget=10**6) as session,
            FrontEnd(session, "t") as door,
        ):
            spent = 0
            while True:
                drawn = by_confidence(door.run(union_of(call, draws)).table, releases)
                before, spent = spent, round(session.spent() * NANO)
                yield Sample(drawn, each(spent - before, draws))

    return sample


def registered(call: str, releases: int = 1) -> Sampler:
    def sample(folder: Path, rows: Sequence[Row], moved: Sequence[Row], draws: int) -> Iterator[Sample]:
        with (
            duckdb.connect(str(in_duckdb(folder, rows))) as connection,
            dpdb.register(connection, constraints=RULE, budget=10**6) as functions,
        ):
            spent = 0
            while True:
                drawn = by_confidence(functions.execute(union_of(call, draws)), releases)
                before, spent = spent, round(functions.spent("t") * NANO)
                yield Sample(drawn, each(spent - before, draws))

    return sample


_JOB = """name = "visits"
source = "t.parquet"
constraints = ["zip -> city"]
ledger = "{ledger}.ledger"
results = "results"
"""
_JOB_RELEASE = """
[[release]]
name = "{name}"
measure = "repair"
epsilon = "{epsilon}"
confidence = {confidence}
"""


def job(folder: Path, rows: Sequence[Row], moved: Sequence[Row], draws: int) -> Iterator[Sample]:
    """Runs of a job, each run again under its id: both answers are one draw."""
    parquet(folder, rows)
    releases = [
        _JOB_RELEASE.format(name=f"r{k}", epsilon=EPSILON, confidence=c) for k, c in enumerate(confidences(draws))
    ]
    for number in count():
        path, ledger = folder / "job.toml", folder / f"{number}.ledger"
        path.write_text(_JOB.format(ledger=number) + "".join(releases))
        Ledger.create(ledger, 10**3).close()
        first, again = (
            [answers(outcome.releases)[0] for outcome in run_job(load_job(path), f"run {number}")] for _ in range(2)
        )
        yield Sample(list(zip(first, again, strict=True)), each(collected(ledger, moved), draws))
