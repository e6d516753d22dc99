"""Runs of a ledger by name: what an earlier try of a run has left. Asked again, a run spends nothing."""

from __future__ import annotations

from typing import Any

from dpdb.accounting.ledger_file import LedgerFile
from dpdb.accounting.ledger_lines import Reservation
from dpdb.accounting.ledger_state import LedgerState
from dpdb.errors import LedgerError, ParameterError

__all__ = ["answered", "check_run_id", "earlier_try"]

_LONGEST_RUN_ID = 200


def check_run_id(run_id: object) -> None:
    """Raise `ParameterError` unless it is a short text of printable characters."""
    if not isinstance(run_id, str) or not run_id.isprintable() or not 0 < len(run_id) <= _LONGEST_RUN_ID:
        raise ParameterError(f"a run id has 1 to {_LONGEST_RUN_ID} printable characters")


def answered(file: LedgerFile, run_id: str, request: str) -> str | None:
    """The recorded answer of a run, None if there is none yet or it was another request."""
    found = file.rows("SELECT answer FROM entry WHERE run_id = ? AND request = ?", (run_id, request))
    return str(found[0][0]) if found and found[0][0] is not None else None


def earlier_try(
    file: LedgerFile, state: LedgerState, run_id: str, asked: tuple[str, str, int], rows_mark: bytes
) -> Reservation | None:
    """The reservation of an earlier try of the same run; `asked` is its request, stored predicate and charge.

    The request decides whether it is the same: an answer that an earlier version recorded is given back even if this
    version would charge other rows or another amount for it. Without an answer it would have to be drawn now, and then
    what was debited must be enough: the same rows, at least the same amount.

    Raises
    ------
    LedgerError
        If it was another request, or has no answer and cannot get one: the rows changed, or the charge would differ.
    """
    found: list[Any] = file.rows(
        "SELECT number, epoch, request, predicate, charge, source_mark, answer FROM entry WHERE run_id = ?",
        (run_id,),
    )
    if not found:
        return None
    number, epoch, request, predicate, charge, source_mark, answer = found[0]
    if request != asked[0]:
        raise LedgerError(f"run id {run_id!r} was used for another request; give every request its own run id")
    if answer is None and (predicate != asked[1] or charge < asked[2]):
        raise LedgerError(
            f"run id {run_id!r} ended without an answer, and the same request is charged otherwise now; ask again "
            "under a new run id"
        )
    same_rows = epoch == state.epoch.number and source_mark == rows_mark
    if answer is None and not (state.terms.append_only or same_rows):
        raise LedgerError(
            f"run id {run_id!r} ended without an answer before the source changed; ask again under a new run id"
        )
    return Reservation(number, answer)
