"""`Account`: what a session's releases are charged to; `Budget`: the account in memory; `SuiteRun` and `AnswerRun`.

A debit is checked first and never given back. The other account is that of a ledger (`LedgerAccount`). The runs are
what an account pays for beside releases, as far as sessions and accounts know them.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from threading import Lock
from typing import TYPE_CHECKING, Protocol

from dpdb.errors import BudgetExceededError, ParameterError
from dpdb.ledger import Reservation, SuiteReservation
from dpdb.privacy import as_float, format_epsilon, parse_epsilon
from dpdb.release.costs import Charge

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpdb.engine import Progress
    from dpdb.ledger import RecordedLevel, RecordedRearm
    from dpdb.privacy import Notion
    from dpdb.release.statistics import PrivateSlices

__all__ = [
    "Account",
    "AnswerRun",
    "Budget",
    "Reservation",
    "SuiteLevel",
    "SuiteReservation",
    "SuiteRun",
    "as_budget",
    "new_run_id",
]


if TYPE_CHECKING:
    pass


class Payer(Protocol):
    """What pays for an answer: `debit`, draw noise, `record`, publish; `Reservation.close` last."""

    def will_draw(self, charge: Charge) -> bool:
        """Return whether a debit will be followed by a draw: not if the run has a recorded answer."""

    def debit(self, charge: Charge) -> Reservation:
        """Debit a charge before any noise is drawn; a run that was answered before gives a reservation with the answer.

        Raises
        ------
        BudgetExceededError
            If it is more than what remains; nothing is spent then.
        ParameterError
            If it is paid in rho, which this account does not count.
        """

    def record(self, reservation: Reservation, answer: str) -> None:
        """Keep the answer, before it is published."""


class Account(Payer, Protocol):
    """The account of a session."""

    @property
    def has_debited(self) -> bool:
        """Whether the newest `debit` or `open_suite` has spent anything, not an earlier try of its run."""

    @property
    def notion(self) -> Notion:
        """The notion in which it counts."""

    @property
    def place(self) -> str | None:
        """What it is called as one of two that pay for one answer; None for one in memory. Public."""

    def check_together(self, charges: Sequence[Charge], *, new_epoch: bool = False) -> None:
        """Check that releases could be debited one after another now; spend nothing.

        With `new_epoch` an epoch will be opened before if the rows have changed.

        Raises
        ------
        BudgetExceededError
            If they cost more together than what remains.
        ParameterError
            If one of them is paid in rho, which this account does not count.
        LedgerError
            If a run id was used for another request, or by somebody else, or the rows have changed.
        """

    def confirm_rows(self, charges: Sequence[Charge]) -> int | None:
        """Open a new epoch if one of the charges is to be drawn and the rows have changed; return its number."""

    def cost_together(self, charges: Sequence[Charge]) -> float:
        """Bound the joint cost of releases with these charges, in the account's parameter; spend nothing."""

    def open_suite(self, run: SuiteRun) -> SuiteReservation:
        """Debit all that a suite may cost, with its secret, or go on with a run of it. Errors as `debit`."""

    def opens_suite(self, run: SuiteRun) -> bool:
        """Return whether a run debits its suite: not a later run of a kept one. Runs debited before count as well."""

    def will_test(self, run: SuiteRun) -> bool:
        """Return whether a run will test, as `will_draw`: not if its verdicts are recorded."""

    def kept_suite(self, name: str) -> str | None:
        """Return with what a kept suite of this name was opened, as JSON; None if there is none."""

    def suite_history(self, name: str) -> list[RecordedLevel | RecordedRearm] | None:
        """Return what an open kept suite has recorded; None if there is none. Public."""

    def spec_of_run(self, run_id: str) -> str | None:
        """Return with what the suite of a run that is not kept was opened, as JSON; None if there is none."""

    def record_level(self, held: SuiteReservation, level: SuiteLevel) -> None:
        """Keep what one level has found, before anything of it is shown."""

    def end_suite(self, held: SuiteReservation, answer: str, last: SuiteLevel | None = None) -> None:
        """Keep the answer of a run, and lower the charge to what was spent unless the suite is kept.

        With a last level that closes a kept suite: keep that, too, and close it.
        """

    def spent(self) -> float:
        """Return the budget spent so far."""

    def remaining(self) -> float | None:
        """Return the budget left for a release of the whole table; None if that is unlimited."""

    def little_left(self) -> str | None:
        """Say how much budget is left if the newest debit has left little; None otherwise, and in memory."""

    def close(self) -> None:
        """Close its files. May be called twice."""


if TYPE_CHECKING:
    pass


class Budget:
    """Total epsilon that the releases of a session may cost together (sequential composition).

    Parameters
    ----------
    total : number or None
        None means unlimited, and `repr` says so.
    """

    has_debited = True  # a budget remembers no runs
    place = None

    @property
    def notion(self) -> Notion:
        """Pure: a budget is of epsilon."""
        from dpdb.privacy import PURE  # the notions are loaded for ledgers and suites

        return PURE

    def __init__(self, total: float | int | str | Decimal | None) -> None:
        self._total = None if total is None else parse_epsilon(total, name="budget")
        self._spent = 0
        self._lock = Lock()

    def will_draw(self, charge: Charge) -> bool:
        """Return True: a budget records no answers, so noise is drawn after every debit."""
        del charge
        return True

    def debit(self, charge: Charge) -> Reservation:
        """Debit a charge before any noise is drawn.

        Raises
        ------
        BudgetExceededError
            If it is more than what remains; nothing is spent then.
        ParameterError
            If it is paid in rho.
        """
        self.spend(_epsilon(charge))
        return Reservation(0, is_new=True)

    def spend(self, epsilon: int) -> None:
        """Spend nano-epsilon, or raise as `check`."""
        with self._lock:
            self.check(epsilon)
            self._spent += epsilon

    def check_together(self, charges: Sequence[Charge], *, new_epoch: bool = False) -> None:
        """Raise as `debit` if the charges together exceed the remaining budget or are paid in rho; spend nothing."""
        del new_epoch
        self.check(sum(map(_epsilon, charges)))

    def confirm_rows(self, charges: Sequence[Charge]) -> None:
        """Open nothing: a budget has no epochs."""

    def cost_together(self, charges: Sequence[Charge]) -> float:
        """Return the sum of the charges, in epsilon."""
        return as_float(sum(map(_epsilon, charges)))

    def check(self, epsilon: int) -> None:
        """Raise `BudgetExceededError` if nano-epsilon exceeds the remaining budget; spend nothing."""
        remaining = None if self._total is None else self._total - self._spent
        if remaining is not None and epsilon > remaining:
            raise BudgetExceededError(
                f"budget refused: requested epsilon {format_epsilon(epsilon)}, remaining "
                f"{format_epsilon(remaining)}, short by {format_epsilon(epsilon - remaining)}; nothing was spent",
                requested=as_float(epsilon),
                remaining=as_float(remaining),
            )

    def record(self, reservation: Reservation, answer: str) -> None:
        """Keep nothing: the answer is published at once, and the session ends with its process."""

    def open_suite(self, run: SuiteRun) -> SuiteReservation:
        """Debit all that a suite may cost, and draw its secret; a kept suite needs a ledger."""
        if run.name is not None:
            raise ParameterError("a suite is kept in a ledger; name one with ledger= (--ledger)")
        self.spend(_epsilon(run.charge))
        return SuiteReservation(
            number=0,
            suite=0,
            run_id=run.charge.run_id or "",
            name=None,
            secret=run.make_secret(),
            levels={},
            answer=None,
            spent=0,
            reserved=run.charge.epsilon,
            failed={},
            is_new=True,
        )

    def opens_suite(self, run: SuiteRun) -> bool:
        """Return True: a budget keeps no suites."""
        del run
        return True

    def will_test(self, run: SuiteRun) -> bool:
        """Return True, as `will_draw`."""
        del run
        return True

    def kept_suite(self, name: str) -> None:
        """Return None: a suite is kept in a ledger."""

    def suite_history(self, name: str) -> None:
        """Return None, as `kept_suite`."""

    def spec_of_run(self, run_id: str) -> None:
        """Return None: a budget remembers no runs."""

    def record_level(self, held: SuiteReservation, level: SuiteLevel) -> None:
        """Keep nothing, as `record`."""

    def end_suite(self, held: SuiteReservation, answer: str, last: SuiteLevel | None = None) -> None:
        """Give back what the suite did not need; sound because budgets are pure (see `dpdb.ledger.ledger_suites`)."""
        del answer, last
        with self._lock:
            self._spent -= held.reserved - held.spent

    def little_left(self) -> None:
        """Return None: a budget is often made for one release only."""

    def close(self) -> None:
        """Do nothing: a budget has no files."""

    def spent(self) -> float:
        """Epsilon spent so far."""
        return as_float(self._spent)

    def remaining(self) -> float | None:
        """Epsilon that may still be spent; None if the budget is unlimited."""
        return None if self._total is None else as_float(self._total - self._spent)

    def __repr__(self) -> str:
        if self._total is None:
            return f"UNLIMITED budget, {format_epsilon(self._spent)} spent"
        return f"budget {format_epsilon(self._total)}, {format_epsilon(self._total - self._spent)} remaining"


def _epsilon(charge: Charge) -> int:
    """Return all nano-epsilon of a charge; refuse a charge in rho."""
    if charge.rho is not None:
        raise ParameterError(
            "rho= needs a ledger that counts in rho (dpdb budget create --notion zcdp); else ask with epsilon="
        )
    return charge.epsilon


def as_budget(budget: Budget | float | int | str | Decimal | None) -> Budget:
    """Return a new budget of a total, or the given budget, which several sessions may share."""
    return budget if isinstance(budget, Budget) else Budget(budget)


@dataclass(frozen=True)
class SuiteLevel:
    """What a run has found at one level; public once it is recorded.

    Attributes
    ----------
    number : int
        From 1 on.
    spent : int
        Nano-epsilon that the suite has cost with this level: its first share and every ring so far.
    failed : tuple of str
        Names of the checks that failed at this level.
    closes : bool
        Whether a kept suite ends with it: recorded with the run's answer, in one transaction.
    """

    number: int
    answer: str
    spent: int
    failed: tuple[str, ...]
    closes: bool = False


class SuiteRun(Protocol):
    """One run of a suite."""

    @property
    def charge(self) -> Charge:
        """All that the suite may cost, debited at once, for the rows that any of its checks reads; with a run id."""

    @property
    def spec(self) -> str:
        """The public facts of the suite, as a JSON object: rules, limits, levels, shares."""

    @property
    def name(self) -> str | None:
        """The name of a kept suite."""

    @property
    def others(self) -> tuple[str, ...]:
        """The other tables that are read, by name."""

    def load(self) -> None:
        """Load and compile the code of its statistics and noises. Reads no row."""

    def rehearse(self, slices: PrivateSlices) -> None:
        """Ask what `read` will ask, of a table without rows."""

    def rehearse_beside(self, name: str, slices: PrivateSlices) -> None:
        """Ask what `read` will ask of another table, of one without rows."""

    def make_secret(self) -> str:
        """Draw the hidden thresholds; once in the life of a suite."""

    def read(
        self, slices: PrivateSlices, held: SuiteReservation, progress: Progress, compare: Callable[[], None]
    ) -> Callable[[], SuiteLevel | None]:
        """Read private rows, if there is a level to draw; the result draws the next one, None after the last.

        It calls `compare` whenever it has read rows once more: they must be those of the opening.
        """

    def answer(self, held: SuiteReservation) -> str:
        """Return the verdicts of all recorded levels, as JSON."""


class AnswerRun(Protocol):
    """One run that is answered at once."""

    @property
    def charge(self) -> Charge:
        """All that it costs."""

    def load(self) -> None:
        """Load the code of the draw. Reads no row."""

    def rehearse(self, slices: PrivateSlices) -> None:
        """Ask what the draw will ask, of a table without rows."""

    def draw(self, slices: PrivateSlices, progress: Progress) -> str:
        """Read private rows and draw noise, once; the answer is a JSON object, and public."""


def new_run_id(kind: str) -> str:
    """Return a run id that nobody has used: what is run, when, and a few random digits."""
    return f"{kind}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}"
