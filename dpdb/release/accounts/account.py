"""The account to which a session's releases are charged: in memory (`Budget`) or in a ledger (`LedgerAccount`)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from dpdb.ledger import Reservation
from dpdb.predicates import Region

__all__ = ["Account", "Charge", "Reservation"]


@dataclass(frozen=True)
class Charge:
    """The cost of a release, before it is made.

    Parameters
    ----------
    parts
        What the call's draws cost one unit, in nano-epsilon: each of them pure, with randomness of its own, whatever
        those before it have shown. A pure account adds them; others add what they cost in rho or mu squared
        (`pure_units`). Empty if it is paid in rho.
    coverage
        The rows that can change its answer.
    request
        Everything public that was asked: a run id may be used again for the same request only.
    run_id
        Name of the run, if it may be retried.
    rho
        Pico-rho of a release that is zCDP and not pure; only a zcdp ledger can take it.
    rule_set
        Digest of the constraints, for the history of a ledger.
    label
        A word for that history.

    Raises
    ------
    PredicateError
        If it covers no row: a ledger would take it for nothing, so no account is ever asked.
    """

    parts: tuple[int, ...]
    coverage: Region
    request: Mapping[str, Any]
    run_id: str | None = None
    rho: int | None = None
    rule_set: str | None = None
    label: str | None = None

    def __post_init__(self) -> None:
        self.coverage.refuse_no_row()

    @property
    def epsilon(self) -> int:
        """Nano-epsilon of all parts together, for which the call is pure; 0 if it is paid in rho."""
        return sum(self.parts)

    @property
    def request_text(self) -> str:
        """The request as canonical JSON."""
        return json.dumps(self.request, sort_keys=True, default=str)


class Account(Protocol):
    """Every release of every door goes: `debit`, draw noise, `record`, publish; `Reservation.close` in the end."""

    def will_draw(self, charge: Charge) -> bool:
        """Return whether a debit will be followed by a draw: not for a run that is answered."""

    def debit(self, charge: Charge) -> Reservation:
        """Spend, before any noise is drawn; a reservation with an answer is a run that was answered before.

        Raises
        ------
        BudgetExceededError
            If it is more than what remains; nothing is spent then.
        ParameterError
            If it is paid in rho, which this account does not count.
        """

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
        """Bound what releases with these charges cost together, in the account's parameter; spend nothing."""

    def record(self, reservation: Reservation, answer: str) -> None:
        """Keep the answer, before it is published."""

    def spent(self) -> float:
        """Return what was spent so far."""

    def remaining(self) -> float | None:
        """Return what a release of the whole table may still cost; None if that is unlimited."""

    def little_left(self) -> str | None:
        """Say what is left if the newest debit has left little; None otherwise, and where nothing is left behind."""

    def close(self) -> None:
        """Let go of files. May be called twice."""
