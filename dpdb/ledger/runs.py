"""Runs of a ledger by name: the reservation of an earlier try. A retry of a run spends nothing."""

from __future__ import annotations

from dpdb.errors import LedgerError
from dpdb.ledger.reservation import Reservation
from dpdb.ledger.store.state import LedgerState

__all__ = ["earlier_try", "used_by_another"]


def earlier_try(
    state: LedgerState, run_id: str, asked: tuple[str, str | None], charged: tuple[str, int], rows_mark: bytes
) -> Reservation | None:
    """The reservation of an earlier try of the same run, None if this is the first.

    The request decides whether the run is the same: an answer that an earlier version recorded is returned even if this
    version would charge other rows or another amount. Without an answer it would have to be drawn now, and then the
    debit must be enough: the same rows, at least the same amount.

    Parameters
    ----------
    state
        The ledger.
    run_id
        Name of the run.
    asked
        Its request and analyst; with a recorded, hence paid, answer nothing else is compared.
    charged
        The stored predicate and the charge of a draw now.
    rows_mark
        Mark of the present state of the rows.

    Raises
    ------
    LedgerError
        If it was another request, or has no answer and cannot get one: the rows changed, or the charge would differ.
    """
    number = state.runs.get(run_id)
    if number is None:
        return None
    line = state.entry(number)
    if line.analyst != asked[1]:
        raise used_by_another(run_id)
    if line.request != asked[0]:
        raise LedgerError(f"run id {run_id!r} was used for another request; give every request its own run id")
    answer = state.answer(number)
    if answer is not None:
        return Reservation(number, answer)
    if line.predicate != charged[0] or line.charge < charged[1]:
        raise LedgerError(
            f"run id {run_id!r} ended without an answer, and the same request is charged otherwise now; ask again "
            "under a new run id"
        )
    same_rows = line.epoch == state.epoch.number and line.source_mark == rows_mark
    if not (state.terms.append_only or same_rows):
        raise LedgerError(
            f"run id {run_id!r} ended without an answer before the source changed; ask again under a new run id"
        )
    return Reservation(number)


def used_by_another(run_id: str) -> LedgerError:
    """Return the refusal of a run id that is another asker's; it does not say whose.

    Parameters
    ----------
    run_id
        Name of the run.
    """
    return LedgerError(f"run id {run_id!r} was used under another name (--who, who=); run ids are one asker's")
