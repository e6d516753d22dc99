"""Every form of release as a door: neighbouring tables, a way to draw through public calls, what is collected for it."""

from __future__ import annotations

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
from dpdb.accounting import Ledger
from dpdb.accounting.stored_predicate import predicate_from_text
from dpdb.frontend import FrontEnd
from dpdb.jobs import load_job
from dpdb.jobs.run_job import run_job
from dpdb.privacy.epsilon import NANO
from dpdb.session import Release, Session

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
        On each table.
    moved
        The rows by which the tables differ: one, or those of one person or unit.
    notion
        Of the account.
    default
        Whether the default run samples it; `slow` samples all.
    """

    name: str
    sample: Callable[[Path, Sequence[Row], Sequence[Row], int], Sample]
    edges: tuple[float, ...]
    draws: int = 700
    moved: list[Row] = field(default_factory=lambda: ONE_ROW)
    notion: str = "pure"
    default: bool = True

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
    releases = (released,) if isinstance(released, Release) else released
    return tuple(release.to_dict() for release in releases)


def collected(path: Path, moved: Sequence[Row]) -> int:
    """What the fullest of the moved rows collects, by the predicates and charges that the ledger's file holds."""
    with Ledger.open(path) as ledger:
        lines = ledger.lines()
        spent = ledger.spent_units()
    charged = [(predicate_from_text(line.predicate), line.charge) for line in lines]
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in moved]
    most = max(sum(charge for predicate, charge in charged if predicate.covers(row)) for row in rows)
    assert most <= spent, "the ledger says that it has spent less than a row has collected"
    return most


def each(total: int, draws: int) -> int:
    """What one draw was charged; all the same."""
    assert total % draws == 0, f"{draws} equal draws were charged {total} together"
    return total // draws


# -- sessions -------------------------------------------------------------------------------------------------


def in_memory(ask: Ask, *, rules: Any = RULE, write: Callable[[Path, Sequence[Row]], Path] = parquet, **options: Any):
    def sample(folder: Path, rows: Sequence[Row], moved: Sequence[Row], draws: int) -> Sample:
        with dpdb.open(write(folder, rows), constraints=rules, budget=10**6, **options) as session:
            drawn = [answers(ask(session)) for _ in range(draws)]
            return Sample(drawn, each(round(session.spent() * NANO), draws))

    return sample


_LEDGER_HOLDS = 200  # draws: budgets in rho and mu have an upper limit


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
            [answers(outcome.releases)[0] for outcome in run_job(load_job(path), f"run {len(drawn)}")]
            for _ in range(2)
        )
        drawn += zip(first, again, strict=True)
    return Sample(drawn, each(collected(folder / "t.ledger", moved), draws))


# -- the doors ------------------------------------------------------------------------------------------------

_REPAIR = "dp_inconsistency('t', measure := 'repair', epsilon := 2.5, confidence := {confidence}"

DOORS = [
    Door("repair", in_memory(lambda s: s.dp_inconsistency("repair", EPSILON)), (0.5,)),
    Door("problematic", in_memory(lambda s: s.dp_inconsistency("problematic", EPSILON)), (1,), 1000),
    Door(
        "minimal_inconsistency",
        in_memory(lambda s: s.dp_inconsistency("minimal_inconsistency", EPSILON)), (1,), 1000,
    ),
    Door("all", in_memory(lambda s: s.dp_inconsistency("all", "4")), (1, 1, 0.5), 1500),
    Door("count", in_memory(lambda s: s.dp_count(EPSILON)), (4,)),
    Door("count by keys", in_memory(lambda s: s.dp_count(EPSILON, by="zip", keys=["2", "1"])), (1, 2), 500),
    Door(
        "repair by keys, ledger",
        with_ledger(lambda s: s.dp_inconsistency("repair", EPSILON, by="zip", keys=["2", "1"])), (0.5, 0.5),
    ),
    Door(
        "repair where",
        in_memory(lambda s: s.dp_inconsistency("repair", EPSILON, where="zip = '1'"), write=in_duckdb), (0.5,),
    ),
    Door("count where", in_memory(lambda s: s.dp_count(EPSILON, where="zip = '1'"), write=in_duckdb), (2,), 600),
    Door("rate", in_memory(lambda s: s.dp_inconsistency("repair", EPSILON, rate=True)), (1 / 8,), 1000),
    Door("rates", in_memory(lambda s: s.dp_inconsistency("all", "4", rate=True)), (1 / 4, 1 / 8), 1500),
    Door(
        "each constraint",
        in_memory(lambda s: s.dp_inconsistency("repair", "3", each_constraint=True), rules=TWO_RULES), (0.5, 0.5), 1500,
    ),
    Door(
        "rows per person",
        in_memory(lambda s: s.dp_inconsistency("repair", EPSILON), rows_per_person=2), (1,), moved=TWO_ROWS,
    ),
    Door(
        "unit",
        in_memory(lambda s: s.dp_count(EPSILON), unit="person", max_rows=2), (4,), moved=UNIT,
    ),
    Door(
        "unit, zcdp ledger",
        with_ledger(lambda s: s.dp_count(EPSILON), "zcdp", unit="person", max_rows=2), (4,),
        moved=UNIT, notion="zcdp", default=False,
    ),
    Door("sharing slices, ledger", with_ledger(sharing_slices), (0.5, 0.5), 1200),
    Door("run id, ledger", with_ledger(same_run_twice), (0.5, 0.5), default=False),
    Door("repair, zcdp ledger", with_ledger(lambda s: s.dp_inconsistency("repair", EPSILON), "zcdp"), (0.5,),
         notion="zcdp", default=False),
    Door("count in rho, zcdp ledger", with_ledger(lambda s: s.dp_count(rho=4), "zcdp"), (4,), 1100, notion="zcdp"),
    Door("repair, gdp ledger", with_ledger(lambda s: s.dp_inconsistency("repair", EPSILON), "gdp"), (0.5,),
         notion="gdp", default=False),
    Door("front end", front_end(f"{_REPAIR})"), (0.5,), 600),
    Door("front end, keys", front_end(f"{_REPAIR}, by := 'zip', keys := ['2', '1'])", 2), (0.5, 0.5), default=False),
    Door("registered functions", registered(f"{_REPAIR})"), (0.5,), 600),
    Door(
        "registered functions, keys",
        registered(f"{_REPAIR}, by_column := 'zip', group_keys := ['2', '1'])", 2), (0.5, 0.5), default=False,
    ),
    Door("job", job, (0.5, 0.5), 600),
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
