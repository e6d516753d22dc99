"""Every form of release as a door: neighbouring tables, a way to draw by public calls, what is collected for it."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from guessing import LARGER, NOTHING, SMALLER
from numpy.typing import NDArray
from scipy.special import expit, logit
from scipy.stats import norm

import dpdb
from dpdb.accounting import NOTIONS, ZCDP, Ledger
from dpdb.accounting.stored_predicate import predicate_from_text
from dpdb.frontend import FrontEnd
from dpdb.jobs import load_job
from dpdb.jobs.run_job import run_job
from dpdb.privacy.epsilon import NANO
from dpdb.session import Release, Session, shares

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


Attacker = Mapping[int, tuple[float, float]]  # by the release's position: its statistic on the larger and smaller table
Sampler = Callable[[Path, Sequence[Row], Sequence[Row], int], Iterator[Sample]]


@dataclass(frozen=True)
class Door:
    """A form of release.

    Attributes
    ----------
    name
    sampler
        From a folder, the table's rows, the rows by which the neighbour differs and a number: samples of so many draws.
    larger, smaller
        Per release of a draw the exact statistic on each table (of a release that combines several, something near).
    told_by
        Attackers: the releases from whose numbers each guesses. All must be at least `larger` for it to say "larger",
        or at most `smaller` (see `guesses`). The first one is to see a doubled loss wherever it is.
    unbounded
        What the first release's statistic would be on the larger table if all moved rows were used: an attacker of its
        own guesses by it.
    seen
        What part of the charge the first attacker sees; less where something is paid for that it does not read.
    draws
        On each table for the events of `excess_loss`, under `slow`.
    part
        Of the charge, that their probabilities refute; more than 2 where a loss is spread over many events.
    quick
        Whether it is drawn from in the default run.
    rows
        The smaller table.
    moved
        The rows by which the tables differ: one, or those of one person or unit.
    notion
        Of the account.
    in_rho
        Whether the release is paid in rho.
    hub
        How many rows the moved one is in conflict with, where a release chooses how many of them count.
    """

    name: str
    sampler: Sampler
    larger: tuple[float, ...]
    smaller: tuple[float, ...]
    told_by: tuple[tuple[int, ...], ...] = ((0,),)
    unbounded: float | None = None
    seen: float = 1
    draws: int = 1000
    part: int = 2
    quick: bool = True
    rows: Sequence[Row] = field(default_factory=lambda: FEWER)
    moved: Sequence[Row] = field(default_factory=lambda: ONE_ROW)
    notion: str = "pure"
    in_rho: bool = False
    hub: int | None = None

    @property
    def passes(self) -> bool:
        """Whether an attacker may say nothing: where the charge bounds its guesses one by one."""
        return self.notion == "pure"

    def half(self, charge: int) -> int:
        """What a release of half the loss is charged: rho and mu squared of a pure release are like epsilon squared."""
        return self._divided(charge, 2)

    def part_of(self, charge: int) -> int:
        return self._divided(charge, self.part)

    def _divided(self, charge: int, part: int) -> int:
        return charge // (part if self.notion == "pure" or self.in_rho else part**2)

    def reached(self, charge: int) -> float:
        """How often the first attacker is right where the loss is twice the charge; by the noise's exact law."""
        if self.notion == "pure":
            return float(expit(max(1.0, 2 * self.seen * charge / NANO)))
        notion = NOTIONS[self.notion]
        if self.in_rho:
            weights = np.exp(-(np.arange(-200, 201) ** 2) * 2 * notion.value(charge))  # scale^2 = 1 / (2 (2 rho))
            return (1 + 1 / float(weights.sum())) / 2
        paid = notion.value(charge)
        epsilon = math.sqrt(2 * paid) if notion is ZCDP else float(logit(norm.cdf(paid / 2)))
        return float(expit(2 * epsilon))

    @property
    def attackers(self) -> list[Attacker]:
        found = [{k: (self.larger[k], self.smaller[k]) for k in told_by} for told_by in self.told_by]
        return found if self.unbounded is None else [*found, {0: (self.unbounded, self.smaller[0])}]

    def guesses(self, draws: Draws, attacker: Attacker) -> NDArray[np.int_]:
        """What an attacker says of each draw."""
        high, low = np.ones(len(draws), bool), np.ones(len(draws), bool)
        for position, (larger, smaller) in attacker.items():
            value = np.array([draw[position]["value"] for draw in draws])
            missing: Any = 0
            if self.hub is not None and draws[0][position]["theta"] is not None:
                theta = np.array([draw[position]["theta"] for draw in draws])
                missing = np.maximum(0, self.hub - theta)  # at most theta of the hub's conflicts count
                high &= theta <= 5  # what is as likely on both tables is no evidence
                low &= theta <= 2
            high &= value >= larger - missing
            low &= value <= smaller
        return np.where(high, LARGER, np.where(low, SMALLER, NOTHING) if self.passes else SMALLER)

    def samples(self, folder: Path, draws: int) -> Generator[tuple[Sample, Sample]]:
        """Sample the larger and the smaller table, again and again."""
        with ExitStack() as stack:
            sides = []
            for name, rows in (("larger", [*self.rows, *self.moved]), ("smaller", self.rows)):
                (folder / name).mkdir()
                sides.append(stack.enter_context(closing(self.sampler(folder / name, rows, self.moved, draws))))
            while True:
                yield next(sides[0]), next(sides[1])


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


def in_memory(ask: Ask, *, rules: Any = RULE, filler: int = 0,
    write: Callable[[Path, Sequence[Row]], Path] = parquet, **options: Any) -> Sampler:  # fmt: skip
    def sample(folder: Path, rows: Sequence[Row], moved: Sequence[Row], draws: int) -> Iterator[Sample]:
        more = [(f"f{k}", f"f{k}", "x", f"f{k}", 0) for k in range(filler)]
        with dpdb.open(write(folder, [*rows, *more]), constraints=rules, budget=10**6, **options) as session:
            spent = 0
            while True:
                drawn = [answers(ask(session)) for _ in range(draws)]
                before, spent = spent, round(session.spent() * NANO)
                yield Sample(drawn, each(spent - before, draws))

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

    `measure` and `rows` are the public shares of epsilon.
    """
    return math.hypot(1 / measure, rate["value"] / rows) / rate["noise_scale"] + 1e-9  # not below by rounding


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


# -- the doors ------------------------------------------------------------------------------------------------

_REPAIR = "dp_inconsistency('t', measure := 'repair', epsilon := 2.5, confidence := {confidence}"

BY_KEYS = {"by": "zip", "keys": ["2", "1"]}
_CALLED_BY_KEYS = f"{_REPAIR}, by := 'zip', keys := ['2', '1'])"
_REGISTERED_BY_KEYS = f"{_REPAIR}, by_column := 'zip', group_keys := ['2', '1'])"

DOORS = [
    Door("repair", in_memory(lambda s: s.dp_inconsistency("repair", EPSILON)), (1,), (0,)),
    Door("problematic, theta given", in_memory(lambda s: s.dp_inconsistency("problematic", "3", theta=1)), (2,), (0,)),
    Door(
        "minimal_inconsistency, theta given",
        in_memory(lambda s: s.dp_inconsistency("minimal_inconsistency", EPSILON, theta=1)), (1,), (0,),
    ),
    Door(
        "problematic", in_memory(lambda s: s.dp_inconsistency("problematic", "4")), (5,), (0,), rows=LEAVES, hub=4,
        seen=0.63, draws=4000,
    ),
    Door(
        "minimal_inconsistency", in_memory(lambda s: s.dp_inconsistency("minimal_inconsistency", "4")), (4,), (0,),
        rows=LEAVES, hub=4, seen=0.66, draws=3000,
    ),
    # The degree cap's tenth is paid and not used; a row that is no pair is half of what `problematic` pays for.
    Door(
        "all", in_memory(lambda s: s.dp_inconsistency("all", "4"), rules=ONE_ROW_RULE), (1, 1, 1), (0, 0, 0),
        ((0, 1, 2),), seen=0.72, draws=3000,
    ),
    Door(
        "all, theta chosen", in_memory(lambda s: s.dp_inconsistency("all", "4")), (4, 5, 1), (0, 0, 0), ((0, 1, 2),),
        rows=LEAVES, hub=4, seen=0.67, draws=7000, quick=False,
    ),
    Door("count", in_memory(lambda s: s.dp_count(EPSILON)), (4,), (3,)),
    Door(
        "repair by keys", in_memory(lambda s: s.dp_inconsistency("repair", EPSILON, **BY_KEYS)), (0, 1), (0, 0),
        ((1,),),
    ),
    Door("count by keys", in_memory(lambda s: s.dp_count(EPSILON, **BY_KEYS)), (1, 2), (1, 1), ((1,),)),
    Door(
        "repair by keys, ledger", with_ledger(lambda s: s.dp_inconsistency("repair", EPSILON, **BY_KEYS)), (0, 1),
        (0, 0), ((1,),),
    ),
    Door(
        "repair where",
        in_memory(lambda s: s.dp_inconsistency("repair", EPSILON, where="zip = '1'"), write=in_duckdb), (1,), (0,),
    ),
    Door("count where", in_memory(lambda s: s.dp_count(EPSILON, where="zip = '1'"), write=in_duckdb), (2,), (1,)),
    # The attackers read the rows to delete; these and the number of rows.
    Door(
        "rate", in_memory(repair_rate, filler=60), (0, 1, 4), (0, 0, 3), ((1,), (1, 2)), seen=0.95,
    ),
    Door(
        "rates", in_memory(both_rates, filler=60), (0, 0, 5, 1), (0, 0, 0, 0), ((2, 3),), rows=LEAVES, hub=4, seen=0.7,
        draws=4000,
    ),
    Door(
        "each constraint",
        in_memory(lambda s: s.dp_inconsistency("repair", "3", each_constraint=True), rules=TWO_RULES), (1, 1), (0, 0),
        ((0, 1),), draws=1500,
    ),
    Door(
        "rows per person",
        in_memory(lambda s: s.dp_inconsistency("repair", "3"), rows_per_person=2), (2,), (0,), moved=TWO_ROWS,
    ),
    Door(
        "unit", in_memory(lambda s: s.dp_count(EPSILON), unit="person", max_rows=2), (5,), (3,), unbounded=7,
        moved=UNIT,
    ),
    Door(
        "unit, zcdp ledger", with_ledger(lambda s: s.dp_count("1.75"), "zcdp", unit="person", max_rows=1), (4,), (3,),
        moved=UNIT, notion="zcdp",
    ),
    Door(
        "sharing slices, ledger", with_ledger(lambda s: sharing_slices(s, "1.5")), (1, 1), (0, 0), ((0, 1),),
        draws=1600,
    ),
    Door("run id, ledger", with_ledger(same_run_twice), (1, 1), (0, 0), ((0, 1),)),
    Door("count, zcdp ledger", with_ledger(lambda s: s.dp_count("1.75"), "zcdp"), (4,), (3,), notion="zcdp"),
    Door(
        "count in rho, zcdp ledger", with_ledger(lambda s: s.dp_count(rho=3), "zcdp"), (4,), (3,), notion="zcdp",
        in_rho=True, draws=1100,
    ),
    Door("count, gdp ledger", with_ledger(lambda s: s.dp_count(EPSILON), "gdp"), (4,), (3,), notion="gdp"),
    Door("front end", front_end(f"{_REPAIR})"), (1,), (0,)),
    Door("front end, keys", front_end(_CALLED_BY_KEYS, 2), (0, 1), (0, 0), ((1,),)),
    Door("registered functions", registered(f"{_REPAIR})"), (1,), (0,)),
    Door("registered functions, keys", registered(_REGISTERED_BY_KEYS, 2), (0, 1), (0, 0), ((1,),)),
    Door("job", job, (1, 1), (0, 0), ((0, 1),)),
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
