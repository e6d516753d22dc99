"""`BoughtRun`: numbers that the owner buys for what a kept suite has left open.

Either as an entry of their own, with any epsilon: the suite's purse, its state and its failures stay as they are. Or
for all that the suite has left: numbers, answer, settlement and closing are one transaction, and the suite settles to
its first share, its rings and the price. So the money of one is never settled with the other.

Which statistics get numbers follows from what is recorded, so it is public; the numbers are of the rows of today. By
composition with Theorem 5 what was shown loses at most the first share, the rings and the price (Theorem 6).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol, cast

from dpdb.engine import Progress
from dpdb.errors import LedgerError, ParameterError
from dpdb.ledger import RecordedLevel, RecordedRearm, SuiteReservation, kept_otherwise
from dpdb.privacy import as_float, check_samplers, format_epsilon, parse_epsilon
from dpdb.release import Epsilon, PrivateSlices, SuiteLevel
from dpdb.suites.check import CheckRun, standing
from dpdb.suites.mechanism.bounds import verdicts
from dpdb.suites.mechanism.capped import STEPS, CappedPlan, Cell, Numbers, draw_numbers
from dpdb.suites.mechanism.state import SuiteState, capped_plan, share_cells
from dpdb.suites.numbers import capped_counts, numbers_text, recorded_numbers, rows_counted
from dpdb.suites.results import CheckResults, result_of

if TYPE_CHECKING:
    from dpdb.suites.mechanism.plan import SuitePlan

LEFT = "left"
"""What is given instead of epsilon to spend all that a kept suite has left, and to close it."""


class SuiteBooks(Protocol):
    """What an account knows of its suites."""

    def kept_suite(self, name: str) -> str | None:
        """Return with what a kept suite was opened; None if there is none."""

    def suite_history(self, name: str) -> list[RecordedLevel | RecordedRearm] | None:
        """Return what an open kept suite has recorded; None if there is none."""

    def spec_of_run(self, run_id: str) -> str | None:
        """Return with what the suite of a run that is not kept was opened; None if there is none."""


def bought_run(run: CheckRun, numbers: Epsilon, books: SuiteBooks) -> CheckRun:
    """Return a run that buys numbers for what a kept suite has left open.

    Parameters
    ----------
    run
        Of the kept suite, prepared.
    numbers
        Epsilon of an entry of its own; or `left`, for all that the suite has left, which closes it.

    Raises
    ------
    ParameterError
        If no suite is kept under that name, it is another one, or none of its runs has ended; if no check is on single
        rows; if none was left open. Nothing is spent.
    """
    name = run.name
    if name is None:
        raise ParameterError("numbers are bought for what a kept suite has left open: give keep= (--keep NAME), too")
    history, recorded = books.suite_history(name), _recorded(run, books)
    if history is None and books.kept_suite(name) is not None and recorded is None:
        if numbers != LEFT:
            raise ParameterError(f"kept suite {name!r} was closed: check its rules in a run of their own")
        return run  # the ledger gives the answer of the run that has closed it, or refuses
    _refuse_other_suite(run, name, books.kept_suite(name))
    ended = [each.run_id for each in history or () if isinstance(each, RecordedLevel) and each.level == 0]
    if recorded is None and not ended:
        raise ParameterError(f"no run of a kept suite {name!r} has ended, so it has left nothing open yet")
    if not run.plan.row_local:
        raise ParameterError(
            f"no check of {name!r} is on single rows with a limit above, of at most a half: none gets a number"
        )
    after, statistics = recorded or (ended[-1], _open(run, history or [], ended[-1]))
    if not statistics:
        raise ParameterError(
            f"run {after} of {name!r} has left no check on single rows open: each has failed, or was tested to the "
            "end; nothing was spent"
        )
    bought = BoughtRun(
        run.charge, name, run.counted, run.plan, run.slices, run.within, statistics=statistics, of=name, after=after
    )
    if numbers == LEFT:
        left = bought.left(history or [])
        if left < run.plan.levels[0]:
            raise ParameterError(
                f"{name!r} has only epsilon {format_epsilon(left)} left: buy numbers as an entry of their own"
            )
        return _paid(replace(bought, amount=left))
    epsilon = parse_epsilon(numbers, name="numbers")
    asked = {key: value for key, value in run.charge.request.items() if key != "keep"}
    request = {**asked, "epsilon": format_epsilon(epsilon), "numbers_of": name}
    charge = replace(run.charge, parts=(epsilon,), request=request)
    return _paid(replace(bought, charge=charge, name=None, amount=epsilon))


def _paid(run: BoughtRun) -> BoughtRun:
    """Return a run; refuse an amount that cannot be split, before it is debited."""
    run.capped.refuse_too_small()
    return run


def _refuse_other_suite(run: CheckRun, name: str, spec: str | None) -> None:
    """Refuse numbers under the name of a suite that was kept with other values than the caller gives now."""
    words = kept_otherwise(spec or run.spec, run.spec)
    if words is not None:
        raise ParameterError(
            f"kept suite {name!r} {words}; numbers are bought for what it has left open; nothing was spent"
        )


def _recorded(run: CheckRun, books: SuiteBooks) -> tuple[str, tuple[int, ...]] | None:
    """Return what a run of this id has been opened for, which a killed one goes on with."""
    spec = books.spec_of_run(cast(str, run.charge.run_id))
    found = {} if spec is None else json.loads(spec).get("mechanism", {})
    return (found["after"], tuple(found["statistics"])) if "statistics" in found else None


def _open(run: CheckRun, history: Sequence[RecordedLevel | RecordedRearm], after: str) -> tuple[int, ...]:
    [state] = standing(run.plan, run.names[0], history, after).states
    return tuple(state.open_statistics(run.plan))


@dataclass(frozen=True)
class BoughtRun(CheckRun):
    """Numbers under a debit of their own (implements `dpdb.release.account.SuiteRun`); `plan` is the suite's.

    Attributes
    ----------
    statistics : tuple of int
        Those that get a number, by place in `plan.row_local`.
    of, after : str
        The kept suite, and the run that has left them open.
    amount : int
        Nano-epsilon that they cost: of an entry of their own, or, where `name` is that of the suite, all its rest.
    """

    statistics: tuple[int, ...] = field(kw_only=True)
    of: str = field(kw_only=True)
    after: str = field(kw_only=True)
    amount: int = field(default=0, kw_only=True)

    @property
    def deciding(self) -> SuitePlan | None:
        """None: nothing stays undecided."""
        return None

    @property
    def capped(self) -> CappedPlan:
        """How they are drawn: their confidence is their own."""
        return capped_plan(self.plan, self._cells, self.amount, float(1 - self.plan.confidence), self._shares)

    @property
    def _cells(self) -> list[Cell]:
        return [(0, place) for place in self.statistics]

    @property
    def _shares(self) -> list[Cell]:
        return share_cells(self.plan, self._cells)

    def mechanism(self) -> dict[str, object]:
        """Return all that decides what a number means; of a run of the suite, what the suite is tested by."""
        if self.name is not None:
            return super().mechanism()
        return {"numbers_of": self.of, "after": self.after, "statistics": self.statistics, "steps": STEPS}

    def load(self) -> None:
        """Load the samplers. Reads no row."""
        check_samplers(gaussian=False)
        self.counted.load()

    def make_secret(self) -> str:
        """Return nothing: no threshold is hidden."""
        return "{}"

    def read(
        self, slices: PrivateSlices, held: SuiteReservation, progress: Progress, compare: Callable[[], None]
    ) -> Callable[[], SuiteLevel | None]:
        """Return what draws all numbers at once, from one scan of the rows; nothing if they are recorded. Private."""
        left = [] if held.levels else [len(self.plan.levels) + 1]
        if self.name is not None and (self.left(held.history), _open(self, held.history, self.after)) != (
            self.amount,
            self.statistics,
        ):
            raise LedgerError(f"another run of {self.of!r} came between; ask again")  # nothing is spent

        def draw() -> SuiteLevel | None:
            if not left:
                return None
            level = left.pop()
            progress("drawing noise")
            local = self.counted.row_local
            lines = [(0, local.lines[place]) for place in self.statistics]
            predicates, shares = self.slices.predicates, self._shares
            sums = self.counted.broken(slices, predicates, lines)
            counts = self.counted.counts(slices, predicates[0]) if shares else []
            compare()
            rows = [rows_counted(self.plan, counts, place) for _, place in shares]
            drawn = draw_numbers(self.capped, sums, self._cells, level, rows=rows)
            names, found = self.names[0], verdicts(self.plan, self._state(drawn))
            failed = {names[test] for test, each in enumerate(found) if each.verdict == "fail"}
            cost, closes = held.spent + drawn.amount, self.name is not None
            return SuiteLevel(level, numbers_text([drawn], 1), cost, tuple(sorted(failed)), closes)

        return draw

    def left(self, history: Sequence[RecordedLevel | RecordedRearm]) -> int:
        """Return the nano-epsilon that the suite has left, without what checks were re-armed with by themselves."""
        return standing(self.plan, self.names[0], history, self.after).states[0].left

    def _state(self, drawn: Numbers) -> SuiteState:
        return SuiteState.start(self.plan).with_numbers(self.plan, [drawn], 0)

    def answer(self, held: SuiteReservation) -> str:
        """Return the verdicts of what has a number, as JSON."""
        [drawn] = recorded_numbers(held.levels[len(self.plan.levels) + 1]) or []
        state, lines = self._state(drawn), self.counted.suite.lines
        numbered = {test for place in self.statistics for test in self.plan.row_local[place]}
        checks = [
            result_of(each, lines[each.line].text, lines[each.line].statistic, verdict, since=None, key=None)
            for test, (each, verdict) in enumerate(zip(self.counted.limits, verdicts(self.plan, state), strict=True))
            if test in numbered
        ]
        return CheckResults(
            tuple(checks),
            confidence=float(self.plan.confidence),
            epsilon_reserved=as_float(held.reserved),
            epsilon=as_float(held.spent),
            run_id=cast(str, self.charge.run_id),
            name=self.name,
            now=self.now,
            certain=self.plan.certain,
            below="pass" if self.plan.shows_below and any(test.is_shown for test in self.plan.tests) else "fail",
            capped=capped_counts([state], [None], owned=self.counted.row_local.owned),
            guarantee=f"what is shown tells at most epsilon {format_epsilon(held.spent)} about adding or removing "
            f"{self.counted.protects} (pure differential privacy), for any unknown number of rows",
        ).to_json()


def bought_words(run: BoughtRun) -> list[str]:
    """Return what numbers can tell; public, nothing is read or spent."""
    plan = run.capped
    widths = [-(-plan.width(most) // STEPS) for most in (plan.candidates[0], plan.candidates[-1])]
    unit = "row" if plan.reach == 1 else "unit"
    percent = f"{float(run.plan.confidence * 100):.12g}%"
    checks = f"{plan.count:,} checks" if plan.count > 1 else "1 check"
    paid = format_epsilon(plan.amount)
    words = f"epsilon {paid} buys numbers for {checks} that run {run.after} of {run.of!r} has left open"
    words += ", and the suite stays kept" if run.name is None else ": all that the suite has left, which closes it"
    if len(plan.candidates) == 1:
        return [words, f"with {percent} the bounds of the number are {widths[0]:,} rows apart"]
    return [
        words,
        f"a {unit} counts in at most k of them, k is chosen privately: with {percent} all bounds together are "
        f"{widths[0]:,} rows apart where k is 1, and what that cuts off more, {widths[1]:,} where nothing is cut off",
    ]
