"""`LedgerAccount`: releases of a session, charged to a durable ledger."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpdb.errors import OWNER_LOG, ParameterError
from dpdb.ledger import Ledger, SourceMark, rows_of
from dpdb.overlap import maximum_overlap
from dpdb.privacy import PURE, Notion
from dpdb.release.account import Budget, Reservation, SuiteReservation, as_budget
from dpdb.release.costs import Charge
from dpdb.release.privacy_unit import PrivacyUnit
from dpdb.schema import TableSchema, TypeOrigin

if TYPE_CHECKING:
    from dpdb.ledger import RecordedLevel, RecordedRearm
    from dpdb.release.account import SuiteLevel, SuiteRun


class LedgerAccount:
    """A ledger, and optionally a smaller budget of this session: every debit must fit both.

    Parameters
    ----------
    budget
        Total epsilon of the session, or None.
    schema, read_as, reading
        Columns and types, how text is cut into rows, and how cells become values: with them the ledger knows its table
        and its rows.
    opened
        The state of the source's rows that this session has read, or will read unless it changes.
    unit
        What is protected; the ledger's first release binds it to this unit.

    Raises
    ------
    LedgerError
        The ledger cannot be used, or it is of another table. Whether it is of these rows, the debit looks: an answered
        run is answered again whatever has become of them.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        budget: Budget | float | int | str | Decimal | None,
        schema: TableSchema,
        read_as: str,
        reading: str,
        opened: str,
        unit: PrivacyUnit,
    ) -> None:
        self._is_low = self.has_debited = False
        self._budget = as_budget(budget)
        bound = unit.bound if unit.children is None or unit.bound is None else rows_of(unit.bound)
        # A unit is a value as it was read at first: with other types and formats it would be another unit.
        columns = "" if bound is not None else columns_text(schema)
        table = table_text(schema) + ("" if bound is None else reading.partition(", ")[2])
        self._source = SourceMark(table, opened, unit.rows, bound, read_as, columns, reading)
        self._ledger = Ledger.open(path)
        try:
            self._ledger.check_table(self._source)
            for other in self._ledger.others(self._source):
                OWNER_LOG.warning(
                    "%s: the ledger %s counts for the same rows already; what both allow adds up, and neither knows of "
                    "the other: keep one",
                    self._ledger.shown,
                    other,
                )
        except BaseException:
            self._ledger.close()
            raise

    @property
    def notion(self) -> Notion:
        """The ledger's notion."""
        return self._ledger.notion

    @property
    def place(self) -> str:
        """The ledger's name, which every copy of it has."""
        return self._ledger.log().id

    def will_draw(self, charge: Charge) -> bool:
        """Return whether the ledger has no recorded answer of the run."""
        return charge.run_id is None or self._ledger.answered(charge.run_id, charge.request_text) is None

    def debit(self, charge: Charge) -> Reservation:
        """Debit the ledger; see `Ledger.reserve`. If either budget refuses, nothing is spent in both."""
        units = self._units(charge)
        if self.will_draw(charge):
            self._budget.check(charge.epsilon)
        reservation = self._ledger.reserve(
            charge.coverage,
            units,
            notion=self._ledger.notion.name,
            label=charge.label,
            rule_set=charge.rule_set,
            **self._asked(charge),
        )
        if reservation.answer is None:
            self._budget.spend(charge.epsilon)
        self._is_low, self.has_debited = reservation.is_low, reservation.is_new
        return reservation

    def check_together(self, charges: Sequence[Charge], *, new_epoch: bool = False) -> None:
        """Check the ledger and the session's own budget for all charges; runs that were debited cost nothing.

        A run id that was used otherwise is refused as by the debit, before those ahead of it are paid for; so are rows
        that are not those of the epoch, unless a new one will be opened for them (`confirm_rows`).
        """
        with_units = [(charge, self._units(charge)) for charge in charges]
        tries = [self._earlier_try(charge, units) for charge, units in with_units]
        if all(earlier is not None and earlier.answer is not None for earlier in tries):
            return
        changed = not self._ledger.is_of_rows(self._source)
        if changed and not new_epoch:
            self._ledger.check_rows(self._source)
        new = [pair for pair, earlier in zip(with_units, tries, strict=True) if earlier is None]
        self._budget.check(sum(charge.epsilon for charge, _ in new))
        together = [(charge.coverage, units) for charge, units in new]
        asker = next((charge.who for charge, _ in new), None)
        self._ledger.check_together(together, new_epoch=changed, analyst=asker)

    def confirm_rows(self, charges: Sequence[Charge]) -> int | None:
        """Open a new epoch if one of the charges is to be drawn and the rows have changed; return its number."""
        return self._ledger.confirm_rows(self._source) if any(map(self.will_draw, charges)) else None

    def _earlier_try(self, charge: Charge, units: int) -> Reservation | None:
        if charge.run_id is None:
            return None
        return self._ledger.earlier_try(charge.coverage, units, **self._asked(charge))

    def _asked(self, charge: Charge) -> dict[str, Any]:
        """Return of what, what and who asks, as the ledger takes it."""
        return {
            "source": self._source,
            "request": charge.request_text,
            "run_id": charge.run_id,
            "analyst": charge.who,
        }

    def cost_together(self, charges: Sequence[Charge]) -> float:
        """Bound the charges that any row collects, in the ledger's parameter; runs debited before count, too."""
        found = maximum_overlap([charge.coverage for charge in charges], [self._units(charge) for charge in charges])
        return self._ledger.notion.value(found.upper)

    def record(self, reservation: Reservation, answer: str) -> None:
        """Keep the answer in the ledger."""
        self._ledger.record(reservation, answer)

    def open_suite(self, run: SuiteRun) -> SuiteReservation:
        """Debit the ledger and keep the secret there, as `LedgerSuites.open_suite`. If either refuses, nothing is."""
        charge = run.charge
        units = self._units(charge)
        opens = self.opens_suite(run)
        if opens and self.will_draw(charge):
            self._budget.check(charge.epsilon)
        held = self._ledger.checks.open_suite(
            charge.coverage,
            units,
            spec=run.spec,
            make_secret=run.make_secret,
            name=run.name,
            label=charge.label,
            rule_set=charge.rule_set,
            **self._asked(charge),
        )
        if opens and held.answer is None:
            self._budget.spend(charge.epsilon)
        self._is_low, self.has_debited = held.is_low, held.is_new
        return held

    def opens_suite(self, run: SuiteRun) -> bool:
        """Return whether a run debits its suite: later runs of a kept one cost nothing."""
        return run.name is None or self._ledger.kept_suite(run.name) is None

    def will_test(self, run: SuiteRun) -> bool:
        """Return whether the ledger has no recorded verdicts of the run; those of a kept suite stand at level 0."""
        suite = None if run.name is None else self._ledger.kept_suite(run.name)
        if suite is None:
            return self.will_draw(run.charge)
        levels = self._ledger.suite_levels(suite.number)
        return not any(each.run_id == run.charge.run_id and each.level == 0 for each in levels)

    def kept_suite(self, name: str) -> str | None:
        """Return with what a kept suite of this name was opened, as JSON; None if there is none."""
        found = self._ledger.kept_suite(name)
        return None if found is None else found.spec

    def record_level(self, held: SuiteReservation, level: SuiteLevel) -> None:
        """Keep what one level has found in the ledger."""
        self._ledger.checks.record_level(held, level.number, level.answer, spent=level.spent, failed=level.failed)

    def suite_history(self, name: str) -> list[RecordedLevel | RecordedRearm] | None:
        """Return what an open kept suite has recorded in the ledger; None if there is none."""
        found = self._ledger.kept_suite(name)
        return None if found is None or found.ended is not None else self._ledger.suite_history(found.number)

    def spec_of_run(self, run_id: str) -> str | None:
        """Return with what the suite of a run that is not kept was opened; None if the ledger has none."""
        return next((suite.spec for suite in self._ledger.suites() if suite.run_id == run_id), None)

    def end_suite(self, held: SuiteReservation, answer: str, last: SuiteLevel | None = None) -> None:
        """Keep the answer in the ledger, which settles a suite that is not kept; the session's budget stays debited."""
        if last is None:
            self._ledger.checks.end_suite(held, answer)
        else:
            self._ledger.checks.end_and_close(
                held, last.number, last.answer, answer, spent=last.spent, failed=last.failed
            )

    def spent(self) -> float:
        """Return the joint cost of the ledger's releases, in its parameter (epsilon, rho or mu)."""
        return self._ledger.summary().spent

    def remaining(self) -> float:
        """Return the budget left for a release of the whole table, in the ledger's parameter (epsilon, rho or mu)."""
        left = self._ledger.summary().may_cost
        mine = self._budget.remaining()
        return left if mine is None or self._ledger.notion is not PURE else min(left, mine)

    def little_left(self) -> str | None:
        """Say how much the ledger has left if the newest debit has left little of its budget or of an allowance."""
        words = self._ledger.little_left() if self._is_low else None
        return None if words is None else f"{self._ledger.shown}: {words}"

    def close(self) -> None:
        """Close the ledger. May be called twice."""
        self._ledger.close()

    def __repr__(self) -> str:
        return repr(self._ledger)

    def _units(self, charge: Charge) -> int:
        """Return the ledger's units for a charge; refuse a charge that either budget cannot count."""
        units = charge.units(self._ledger.notion)
        if charge.rho is not None and self._budget.remaining() is not None:
            raise ParameterError("the budget of this session is in epsilon and cannot hold a charge in rho")
        return units

    @property
    def compares_rows(self) -> bool:
        """Whether an epoch is one state of the rows, so that a debit for changed rows would buy nothing."""
        return not self._ledger.append_only


def table_text(schema: TableSchema) -> str:
    """Return columns and types as the text by which a ledger identifies its table."""
    return json.dumps([[column.name, column.declared_type] for column in schema.columns])


def columns_text(schema: TableSchema) -> str:
    """Return the same for a table whose cells are text, without the types that they are read in; empty for another."""
    text = (TypeOrigin.DECLARED, TypeOrigin.TEXT_CELLS)
    if all(column.origin not in text for column in schema.columns):
        return ""
    return json.dumps([[one.name, None if one.origin in text else one.declared_type] for one in schema.columns])
