"""`AccountsTogether`: one answer about several tables, paid by the accounts of all before a row of any is read.

**Order.** First all accounts are asked whether they can pay, so that a refusal spends nothing. Then all are debited,
then the noise is drawn, then the answer is recorded in all, and only then it is published. Whatever stops the process
in between, no account has an answer that another one has not paid for: a kill between the debits wastes the first one.
Asked again under its run id the first debit is found, the others are made, and the answer is drawn. Where one account
has recorded the answer before a kill, it is that answer, which the others get too: nothing is drawn twice.

**Locks.** Each ledger keeps a lock on the run id until the answer is recorded. They are taken in the order of the
ledgers' names, whichever side they are of, so no two processes wait for one another.

**What a debit pays for.** The answer is epsilon-DP for one unit of either table (`dpdb.measures.compared`). As a
function of one table, the other as it is, it is so for a unit of that table; so each ledger's sum holds by itself. A
person with rows of both tables loses at most what both ledgers count together.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from dpdb.errors import ParameterError
from dpdb.ledger import Reservation, SuiteReservation
from dpdb.predicates import Region
from dpdb.release.account import SuiteLevel
from dpdb.stopping import reached

if TYPE_CHECKING:
    from dpdb.engine import Progress, Side
    from dpdb.release.account import Account, SuiteRun
    from dpdb.release.costs import Charge
    from dpdb.release.statistics import PrivateSlices


class PairRun(Protocol):
    """One run that asks two tables, and is answered at once."""

    @property
    def charges(self) -> tuple[Charge, Charge]:
        """The cost for the left table, and for the right one."""

    def load(self) -> None:
        """Load the code of the draw. Reads no row."""

    def rehearse(self, side: Side, slices: PrivateSlices) -> None:
        """Ask what the draw will ask of a side, of a table without rows."""

    def draw(self, left: PrivateSlices, right: PrivateSlices, progress: Progress) -> str:
        """Read private rows and draw noise, once; the answer is JSON, and public."""


@dataclass(frozen=True)
class _Reservations(Reservation):
    """The receipts of all debits."""

    each: tuple[tuple[Account, Reservation], ...] = ()
    held: ExitStack = field(default_factory=ExitStack)

    def record(self, answer: str) -> None:
        """Keep the answer in each account that has none yet."""
        for account, own in self.each:
            if own.answer is None:
                account.record(own, answer)
                reached("one side recorded")

    def close(self) -> None:
        """Release the locks on the run id. May be called twice."""
        self.held.close()


class AccountsTogether:
    """Several accounts that pay for one answer (implements `dpdb.release.account.Payer`).

    Parameters
    ----------
    sides
        Each account with its charge. One account of two tables, as a budget that sessions share, pays once: a unit of
        either table is charged for, and no unit is charged twice.

    Raises
    ------
    ParameterError
        If one ledger is named for two tables: a ledger counts for the rows of one.
    """

    def __init__(self, sides: Sequence[tuple[Account, Charge]]) -> None:
        once = {id(account): (account, charge) for account, charge in reversed(sides)}
        refuse_one_place([account for account, _ in once.values()])
        self._sides = sorted(once.values(), key=lambda side: side[0].place or "")

    def will_draw(self, charge: Charge) -> bool:
        """Return whether no account has a recorded answer of the run."""
        del charge  # each has its own
        return all(account.will_draw(own) for account, own in self._sides)

    def debit(self, charge: Charge) -> Reservation:
        """Debit all accounts, or give the answer of the run that one of them has recorded.

        Raises
        ------
        DpdbError
            As `Account.debit`. If one refuses, neither has spent anything, unless somebody else has spent between the
            question whether they can pay and the debit.
        """
        del charge
        for account, own in self._sides:
            account.check_together([own])
        with ExitStack() as held:
            each = []
            for account, own in self._sides:
                each.append((account, held.enter_context(closing(account.debit(own)))))
                reached("one side debited")
            answer = next((one.answer for _, one in each if one.answer is not None), None)
            made = _Reservations(0, answer, each=tuple(each))
            if answer is not None:
                self.record(made, answer)
            return _Reservations(0, answer, each=made.each, held=held.pop_all())

    def record(self, reservation: Reservation, answer: str) -> None:
        """Keep the answer in each account that has none yet."""
        assert isinstance(reservation, _Reservations), "it is that of a debit"
        reservation.record(answer)


def refuse_one_place(accounts: Sequence[Account]) -> None:
    """Raise `ParameterError` if two accounts are one ledger."""
    places = [account.place for account in accounts if account.place is not None]
    if len(set(places)) < len(places):
        raise ParameterError(
            "two tables name one ledger, and a ledger counts for the rows of one table: give each its own; "
            "nothing was spent"
        )


@dataclass(frozen=True)
class _OthersRun:
    """A run of a suite as the account of another table knows it (as far as it opens suites: `SuiteRun`)."""

    charge: Charge
    spec: str
    name: str | None

    def make_secret(self) -> str:
        """Return a constant: the hidden thresholds are in the ledger of the table that is checked."""
        return "{}"


@dataclass(frozen=True, kw_only=True)
class _SharedReservation(SuiteReservation):
    """The receipt of a suite's debit, with those of the debits that other tables' accounts made for it."""

    others: tuple[tuple[Account, SuiteReservation], ...] = ()
    held: ExitStack = field(default_factory=ExitStack)

    def close(self) -> None:
        """Release all locks on the run id. May be called twice."""
        self.held.close()


class AccountWithOthers:
    """The account of a table whose answers look into other private tables, which pay for them, too.

    Others are parents of its rules, whose rows are protected by the same epsilon (`dpdb.release.limited_children`), and
    tables that its suites compare with it (`dpdb.suites.compared`). So the ledger of each is debited all that the
    answer may cost, for every row of it, under the same run id.

    **Suites.** Levels and hidden thresholds are in the table's own ledger alone. When that has settled the suite, the
    others' ledgers settle it at the same cost: what a transcript proves to have been lost bounds the loss of a unit of
    any of the tables. Until then their debits stay whole, so a process that is killed anywhere has spent too much
    there, and never too little; the same run id goes on, and settles them. Of a kept suite the others' ledgers keep a
    suite, too, which is never settled below its debit: levels that will be drawn in years to come are not known there.

    Accounts are asked and debited as by `AccountsTogether`: all before a row is read, in the order of their names.

    Parameters
    ----------
    own
        The account of the table that is asked.
    """

    def __init__(self, own: Account, others: Sequence[Account]) -> None:
        self._own, self._others = own, sorted(others, key=lambda account: account.place or "")
        refuse_one_place([own, *others])
        if any(account.notion is not own.notion for account in others if account.place is not None):
            raise ParameterError("the ledgers of a table and of those that it looks into count in one notion")

    def __getattr__(self, name: str) -> Any:
        """Return what else the table's own account has."""
        return getattr(self._own, name)

    def of_others(self, charge: Charge) -> Charge:
        """Return the charge of another table's account for an answer: for every row."""
        request = {**charge.request, "looks_into_parent_from": self._own.place}
        return replace(charge, coverage=Region(), request=request)

    def _together(self, charge: Charge) -> AccountsTogether:
        theirs = self.of_others(charge)
        return AccountsTogether([(self._own, charge), *((account, theirs) for account in self._others)])

    def will_draw(self, charge: Charge) -> bool:
        """Return whether no account has a recorded answer of the run."""
        return self._together(charge).will_draw(charge)

    def debit(self, charge: Charge) -> Reservation:
        """Debit all accounts; errors as `AccountsTogether.debit`."""
        return self._together(charge).debit(charge)

    def record(self, reservation: Reservation, answer: str) -> None:
        """Keep the answer in each account that has none yet."""
        assert isinstance(reservation, _Reservations), "it is that of `debit`"
        reservation.record(answer)

    def check_together(self, charges: Sequence[Charge], *, new_epoch: bool = False) -> None:
        """Check that all accounts can pay; errors as of each."""
        self._own.check_together(charges, new_epoch=new_epoch)
        for account in self._others:
            account.check_together([*map(self.of_others, charges)], new_epoch=new_epoch)

    def confirm_rows(self, charges: Sequence[Charge]) -> int | None:
        """Open a new epoch in each ledger whose rows have changed; return the number of the table's own."""
        for account in self._others:
            account.confirm_rows([*map(self.of_others, charges)])
        return self._own.confirm_rows(charges)

    def open_suite(self, run: SuiteRun) -> SuiteReservation:
        """Debit all accounts, or go on with the run. Errors as of each; if one refuses, nothing is spent.

        Raises
        ------
        ParameterError
            If checks of a kept suite were re-armed, which only the table's own ledger has paid for.
        """
        name = None if run.name is None else f"{run.name} of {self._own.place}"
        theirs = _OthersRun(self.of_others(run.charge), run.spec, name)
        runs: dict[int, Any] = {id(self._own): run, **{id(account): theirs for account in self._others}}
        accounts = [self._own, *self._others]
        for account in accounts:
            if account.opens_suite(runs[id(account)]):
                account.check_together([runs[id(account)].charge])
        with ExitStack() as held:
            opened: dict[int, SuiteReservation] = {}
            for account in sorted(accounts, key=lambda one: one.place or ""):
                opened[id(account)] = held.enter_context(closing(account.open_suite(runs[id(account)])))
                reached("one table debited")
            own = opened[id(self._own)]
            others = tuple((account, self._kept_whole(account, opened[id(account)], own)) for account in self._others)
            if own.answer is not None:
                self._settle(others, own.spent, own.answer)
            same = own.same_rows and all(each.same_rows for account, each in others if account.place is not None)
            return _SharedReservation(**vars(own) | {"same_rows": same}, others=others, held=held.pop_all())

    def _kept_whole(self, account: Account, theirs: SuiteReservation, own: SuiteReservation) -> SuiteReservation:
        """Record in another ledger that a kept suite has cost all of its debit, before a level of it is drawn."""
        if own.name is None or theirs.answer is not None:
            return theirs
        if account.place is not None and theirs.reserved < own.reserved:
            raise ParameterError(
                f"a check of kept suite {own.name!r} was re-armed, which the table's own ledger has paid for alone, "
                "and not those of the tables that it looks into: close it, and keep another one; nothing was released"
            )
        if theirs.spent == theirs.reserved:
            return theirs
        account.record_level(theirs, SuiteLevel(1, "{}", theirs.reserved, ()))
        return replace(theirs, spent=theirs.reserved)

    def end_suite(self, held: SuiteReservation, answer: str, last: SuiteLevel | None = None) -> None:
        """Keep the answer in the table's own ledger, then in the others', and settle them."""
        assert isinstance(held, _SharedReservation), "it is that of `open_suite`"
        self._own.end_suite(held, answer, last)
        self._settle(held.others, held.spent, answer)

    def _settle(self, others: Sequence[tuple[Account, SuiteReservation]], spent: int, answer: str) -> None:
        for account, theirs in others:
            if theirs.answer is not None:
                continue
            held = theirs
            if theirs.name is None and not theirs.levels:
                account.record_level(theirs, SuiteLevel(1, "{}", spent, ()))
                held = replace(theirs, spent=spent)
            account.end_suite(held, answer)
            reached("one parent settled")
