"""Every form of release as a door: neighbouring tables, a way to draw by public calls, what is collected for it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

import dpdb
from dpdb.doors.jobs import load_job
from dpdb.doors.jobs.run_job import run_job
from dpdb.doors.sql import FrontEnd
from dpdb.ledger import Ledger
from dpdb.predicates.stored_region import region_from_text
from dpdb.privacy.epsilon import NANO
from dpdb.release import Release, Session
from dpdb.release.prepared import shares

Row = tuple[str, str, str, str, int]
Draws = list[tuple[dict[str, Any], ...]]
Ask = Callable[[Session], Any]

COLUMNS = ("person", "zip", "city", "state", "age")
SCHEMA = pa.schema([(name, pa.int32() if name == "age" else pa.string()) for name in COLUMNS])
RULE = "zip -> city"
TWO_RULES = ["zip -> city", "state -> city"]

FEWER: list[Row] = [("p", "1", "x", "CA", 1), ("q", "2", "x", "NY", 2), ("s", "3", "x", "TX", 3)]
ONE_ROW: list[Row] = [("r", "1", "y", "CA", 4)]  # in conflict with the first of them, by either rule
TWO_ROWS: list[Row] = [*ONE_ROW, ("r", "2", "y", "NY", 5)]
UNIT: list[Row] = [*TWO_ROWS, ("r", "3", "y", "TX", 6), ("r", "4", "y", "WA", 7)]  # at most two are used

# The mechanisms are exercised where they come near to their bound, and 300 to 2,000 draws tell a loss from its half.
EPSILON = "2.5"
PACKED = 40  # releases in one statement or job: a confidence of its own makes each a release of its own


@dataclass(frozen=True)
class Sample:
    """Draws of a door on one table, and what the account says that the moved rows collected for one of them."""

    draws: Draws
    charge: int


@dataclass(frozen=True)
class Door:
    """A form of release.

    Attributes
    ----------
    name
    sample
        From a folder, the table's rows, the rows by which the neighbour differs and a number of draws.
    edges
        Per release of a draw the least value that is likelier on the larger table.
    draws
        On each table, so many that a loss is told from its half but with a tiny probability.
    part
        Of the loss, that all draws refute; more than 2 where a composite loss is spread over many events.
    quick
        Draws in the default run, 0 for none and None for all; fewer only tell a loss from its eighth.
    moved
        The rows by which the tables differ: one, or those of one person or unit.
    notion
        Of the account.
    in_rho
        Whether the release is paid in rho.
    """

    name: str
    sample: Callable[[Path, Sequence[Row], Sequence[Row], int], Sample]
    edges: tuple[float, ...]
    draws: int = 950
    moved: list[Row] = field(default_factory=lambda: ONE_ROW)
    notion: str = "pure"
    in_rho: bool = False
    part: int = 2
    quick: int | None = None

    def less(self, charge: int) -> int:
        """What a release of half the loss is charged: rho and mu squared of a pure release are like epsilon squared."""
        return charge // (self.part if self.notion == "pure" or self.in_rho else self.part**2)

    def both(self, folder: Path, draws: int) -> tuple[Sample, Sample]:
        """Sample the larger and the smaller table."""
        found = []
        for name, rows in (("more", [*FEWER, *self.moved]), ("fewer", FEWER)):
            (folder / name).mkdir()
            found.append(self.sample(folder / name, rows, self.moved, draws))
        return found[0], found[1]


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
    write: Callable[[Path, Sequence[Row]], Path] = parquet, **options: Any):  # fmt: skip
    def sample(folder: Path, rows: Sequence[Row], moved: Sequence[Row], draws: int) -> Sample:
        more = [(f"f{k}", f"f{k}", "x", f"f{k}", 0) for k in range(filler)]
        with dpdb.open(write(folder, [*rows, *more]), constraints=rules, budget=10**6, **options) as session:
            drawn = [answers(ask(session)) for _ in range(draws)]
            return Sample(drawn, each(round(session.spent() * NANO), draws))

    return sample


_LEDGER_HOLDS = 100  # draws: budgets in rho and mu have an upper limit


def with_ledger(ask: Ask, notion: str = "pure", **options: Any):
    def sample(folder: Path, rows: Sequence[Row], moved: Sequence[Row], draws: int) -> Sample:
        source, drawn, total = parquet(folder, rows), [], 0
        while len(drawn) < draws:
            path = folder / f"{len(drawn)}.ledger"
            Ledger.create(path, 30 if notion == "gdp" else 1_000, notion).close()
            with dpdb.open(source, constraints=RULE, ledger=path, **options) as session:
                drawn += [answers(ask(session)) for _ in range(min(_LEDGER_HOLDS, draws - len(drawn)))]
            total += collected(path, moved)
        return Sample(drawn, each(total, draws))

    return sample


def sharing_slices(session: Session) -> tuple[Release, ...]:
    """Two slices that share the moved row and little else."""
    wheres = ("zip = '1' AND age <> 2", "state = 'CA' AND age < 9")
    return tuple(session.dp_inconsistency("repair", "1.25", where=where) for where in wheres)  # type: ignore[misc]


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
    first, second = answers(session.dp_inconsistency("all", "6", rate=True))
    rows = released_rows(second, 6 * 0.95 / 3, 6 * 0.05)
    return first, second, *(rate | {"value": rate["value"] * rows} for rate in (first, second))


def released_rows(rate: dict[str, Any], measure: float, rows: float) -> float:
    """The noisy number of rows, from the published value and noise scale of a rate of `repair`; see `rate_answer`.

    `measure` and `rows` are the public shares of epsilon.
    """
    return math.hypot(1 / measure, rate["value"] / rows) / rate["noise_scale"] + 1e-9  # not below by rounding


# -- SQL and jobs ---------------------------------------------------------------------------------------------


def confidences() -> list[str]:
    return [f"0.{500 + k}" for k in range(PACKED)]


def union_of(call: str, draws: int) -> Iterator[str]:
    """Statements that make so many releases together."""
    for start in range(0, draws, PACKED):
        chosen = confidences()[: draws - start]
        yield " UNION ALL ".join(f"SELECT * FROM {call.format(confidence=one)}" for one in chosen)


def by_confidence(table: pa.Table, names: int) -> Draws:
    """Rows of a union as draws: those of one confidence are one draw."""
    drawn: dict[float, list[dict[str, Any]]] = {}
    for row in table.to_pylist():
        drawn.setdefault(row["confidence"], []).append(row)
    assert all(len(rows) == names for rows in drawn.values())
    return [tuple(rows) for rows in drawn.values()]


def front_end(call: str, releases: int = 1):
    def sample(folder: Path, rows: Sequence[Row], moved: Sequence[Row], draws: int) -> Sample:
        drawn: Draws = []
        with (
            dpdb.open(parquet(folder, rows), constraints=RULE, budget=10**6) as session,
            FrontEnd(session, "t") as door,
        ):
            for statement in union_of(call, draws):
                drawn += by_confidence(door.run(statement).table, releases)
            return Sample(drawn, each(round(session.spent() * NANO), draws))

    return sample


def registered(call: str, releases: int = 1):
    def sample(folder: Path, rows: Sequence[Row], moved: Sequence[Row], draws: int) -> Sample:
        drawn: Draws = []
        with (
            duckdb.connect(str(in_duckdb(folder, rows))) as connection,
            dpdb.register(connection, constraints=RULE, budget=10**6) as functions,
        ):
            for statement in union_of(call, draws):
                drawn += by_confidence(functions.execute(statement), releases)
            return Sample(drawn, each(round(functions.spent("t") * NANO), draws))

    return sample


_JOB = """name = "visits"
source = "t.parquet"
constraints = ["zip -> city"]
ledger = "t.ledger"
results = "results"
"""
_JOB_RELEASE = """
[[release]]
name = "{name}"
measure = "repair"
epsilon = "{epsilon}"
confidence = {confidence}
"""


def job(folder: Path, rows: Sequence[Row], moved: Sequence[Row], draws: int) -> Sample:
    """Runs of a job, each run again under its id: both answers are one draw."""
    parquet(folder, rows)
    texts = [_JOB_RELEASE.format(name=f"r{k}", epsilon=EPSILON, confidence=c) for k, c in enumerate(confidences())]
    path = folder / "job.toml"
    Ledger.create(folder / "t.ledger", 10**5).close()
    drawn: Draws = []
    while len(drawn) < draws:
        path.write_text(_JOB + "".join(texts[: draws - len(drawn)]))
        first, again = (
            [answers(outcome.releases)[0] for outcome in run_job(load_job(path), f"run {len(drawn)}")] for _ in range(2)
        )
        drawn += zip(first, again, strict=True)
    return Sample(drawn, each(collected(folder / "t.ledger", moved), draws))


# -- the doors ------------------------------------------------------------------------------------------------

_REPAIR = "dp_inconsistency('t', measure := 'repair', epsilon := 2.5, confidence := {confidence}"

DOORS = [
    Door("repair", in_memory(lambda s: s.dp_inconsistency("repair", EPSILON)), (1,)),
    Door("problematic", in_memory(lambda s: s.dp_inconsistency("problematic", "4")), (2,), 2500, quick=500),
    Door(
        "minimal_inconsistency", in_memory(lambda s: s.dp_inconsistency("minimal_inconsistency", "4")), (1,), 1200,
        quick=500,
    ),
    Door("all", in_memory(lambda s: s.dp_inconsistency("all", "6")), (1, 2, 1), 2500, quick=500),
    Door(
        "all, less epsilon", in_memory(lambda s: s.dp_inconsistency("all", EPSILON)), (1, 2, 1), 2500, part=8, quick=0,
    ),
    Door("count", in_memory(lambda s: s.dp_count(EPSILON)), (4,), 650, quick=300),
    Door(
        "repair by keys",
        in_memory(lambda s: s.dp_inconsistency("repair", EPSILON, by="zip", keys=["2", "1"])), (1, 1), quick=150,
    ),
    Door(
        "count by keys", in_memory(lambda s: s.dp_count(EPSILON, by="zip", keys=["2", "1"])), (1, 2), quick=0,
    ),
    Door(
        "repair by keys, ledger",
        with_ledger(lambda s: s.dp_inconsistency("repair", EPSILON, by="zip", keys=["2", "1"])), (1, 1), quick=100,
    ),
    Door(
        "repair where",
        in_memory(lambda s: s.dp_inconsistency("repair", EPSILON, where="zip = '1'"), write=in_duckdb), (1,), quick=250,
    ),
    Door(
        "count where", in_memory(lambda s: s.dp_count(EPSILON, where="zip = '1'"), write=in_duckdb), (2,),
        quick=100,
    ),
    Door("rate", in_memory(repair_rate, filler=60), (0, 1, 4), 1500, quick=500),
    Door("rates", in_memory(both_rates, filler=60), (0, 0, 2, 1), 3000, quick=400),
    Door(
        "each constraint",
        in_memory(lambda s: s.dp_inconsistency("repair", "3", each_constraint=True), rules=TWO_RULES), (1, 1), 1500,
        quick=500,
    ),
    Door(
        "rows per person",
        in_memory(lambda s: s.dp_inconsistency("repair", EPSILON), rows_per_person=2), (2,), moved=TWO_ROWS,
    ),
    Door("unit", in_memory(lambda s: s.dp_count(EPSILON), unit="person", max_rows=2), (5,), moved=UNIT),
    Door(
        "unit, zcdp ledger",
        with_ledger(lambda s: s.dp_count(EPSILON), "zcdp", unit="person", max_rows=2), (5,), 1000,
        moved=UNIT, notion="zcdp", quick=0,
    ),
    Door("sharing slices, ledger", with_ledger(sharing_slices), (1, 1), 1600, quick=200),
    Door("run id, ledger", with_ledger(same_run_twice), (1, 1), quick=100),
    Door(
        "count, zcdp ledger", with_ledger(lambda s: s.dp_count(EPSILON), "zcdp"), (4,), 900, notion="zcdp",
        quick=0,
    ),
    Door(
        "count in rho, zcdp ledger", with_ledger(lambda s: s.dp_count(rho=4), "zcdp"), (4,), 1100, notion="zcdp",
        in_rho=True, quick=200,
    ),
    Door("count, gdp ledger", with_ledger(lambda s: s.dp_count(EPSILON), "gdp"), (4,), notion="gdp", quick=100),
    Door("front end", front_end(f"{_REPAIR})"), (1,), quick=320),
    Door("front end, keys", front_end(f"{_REPAIR}, by := 'zip', keys := ['2', '1'])", 2), (1, 1), quick=0),
    Door("registered functions", registered(f"{_REPAIR})"), (1,), quick=240),
    Door(
        "registered functions, keys",
        registered(f"{_REPAIR}, by_column := 'zip', group_keys := ['2', '1'])", 2), (1, 1), quick=0,
    ),
    Door("job", job, (1, 1), quick=120),
]  # fmt: skip

NAMED = {door.name: door for door in DOORS}


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
