"""`LedgerAccount`: releases of a session, charged to a durable ledger."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

from dpdb.accounting import PURE, Ledger, SourceMark
from dpdb.engine.schema import TableSchema
from dpdb.errors import LedgerError
from dpdb.privacy.epsilon import NANO
from dpdb.session.account import Charge, Reservation
from dpdb.session.budget import Budget

__all__ = ["LedgerAccount"]


class LedgerAccount:
    """A ledger, and optionally a smaller budget for this session: both hold.

    Parameters
    ----------
    path
        The ledger's file.
    budget
        Total epsilon of the session, or None.
    schema
        Columns and types: with them the ledger knows its table.
    content
        Tells the state of the source's rows, whenever it is called.

    Raises
    ------
    LedgerError
        The ledger cannot be used, or it is of another table or state of the rows.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        budget: float | int | str | Decimal | None,
        schema: TableSchema,
        content: Callable[[], str],
        rows_per_person: int,
    ) -> None:
        self._budget = Budget(budget)
        self._content = content
        table = json.dumps([[column.name, column.declared_type] for column in schema.columns])
        # What this session has read, or will read unless it changes: caches of slices rely on it.
        self._source = SourceMark(table, content(), rows_per_person)
        self._ledger = Ledger.open(path)
        try:
            self._ledger.check(self._source)
        except BaseException:
            self._ledger.close()
            raise

    def debit(self, charge: Charge) -> Reservation:
        """Spend in the ledger; see `Ledger.reserve`. Refused by either budget, nothing is spent in any."""
        self._refuse_changed_source()
        before = self._ledger.answered(charge.run_id, charge.request_text) if charge.run_id is not None else None
        if before is None:
            self._budget.check(charge.epsilon)
        reservation = self._ledger.reserve(
            charge.coverage,
            self._units(charge.epsilon),
            source=self._source,
            request=charge.request_text,
            notion=self._ledger.notion.name,
            run_id=charge.run_id,
        )
        if reservation.answer is None:
            self._budget.debit(charge)
        return reservation

    def check_together(self, charges: Sequence[Charge]) -> None:
        """Check the ledger and the session's own budget for all charges; runs that are answered cost nothing."""
        self._refuse_changed_source()
        new = [
            charge
            for charge in charges
            if charge.run_id is None or self._ledger.answered(charge.run_id, charge.request_text) is None
        ]
        self._budget.check_together(new)
        self._ledger.check_together([(charge.coverage, self._units(charge.epsilon)) for charge in new])

    def record(self, reservation: Reservation, answer: str) -> None:
        """Keep the answer in the ledger, unless the rows changed while they were read: then it is of no one table."""
        self._refuse_changed_source()
        self._ledger.record(reservation, answer)

    def spent(self) -> float:
        """What the ledger's releases have cost together, in its parameter (epsilon, rho or mu)."""
        return self._ledger.summary().spent

    def remaining(self) -> float:
        """What a release of the whole table may still cost, in the ledger's parameter (epsilon, rho or mu)."""
        left = self._ledger.summary().remaining
        mine = self._budget.remaining()
        return left if mine is None or self._ledger.notion is not PURE else min(left, mine)

    def close(self) -> None:
        """Close the ledger. May be called twice."""
        self._ledger.close()

    def __repr__(self) -> str:
        return repr(self._ledger)

    def _units(self, epsilon: int) -> int:
        """Units of the ledger for a pure release.

        A mechanism runs at epsilon / k for k rows per person, and a person's rows may lie in k slices: k times the
        epsilon of a row, or k^2 times its rho or mu^2 (group privacy), bounds what all of them collect.
        """
        notion, rows = self._ledger.notion, self._source.rows_per_person
        if notion is PURE:
            return epsilon
        return rows**2 * notion.charge_pure(Fraction(epsilon, NANO * rows))

    def _refuse_changed_source(self) -> None:
        if not self._ledger.append_only and self._content() != self._source.content:
            raise LedgerError(
                "the source changed after this session opened it; nothing is published: open a new session"
            )
