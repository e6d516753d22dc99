"""What clients are told when something is refused or fails: the words of the desk, with a code of PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping

from dpdb.doors.server.refusals import Refusal

__all__ = ["KIND_SQLSTATE", "SQLSTATE", "WireError", "wire_error"]

SQLSTATE: Mapping[str, str] = {
    "refused": "42501", "statement_failed": "22000", "budget": "53400", "forbidden": "42501", "run_id": "22023",
    "too_many": "53000", "failed": "XX000", "closing": "57P01", "unavailable": "58000",
}  # fmt: skip
"""The code of PostgreSQL of every code of the desk."""

KIND_SQLSTATE: Mapping[str, str] = {
    "syntax": "42601", "table": "42P01", "column": "42703", "function": "42883", "parameter": "22023",
    "writes": "25006", "size": "54000",
}  # fmt: skip
"""The code of a refused statement whose message is about this; it stands at the place that has the words."""

_RETRY = "SET dpdb.run_id = '...' before a statement names its run: the same statement is then answered at no cost"


class WireError(Exception):
    """An error as a client gets it; what it says is public.

    Parameters
    ----------
    code : str
        One of PostgreSQL's.
    message : str
        One line.
    hint : str, optional
    is_final : bool
        Whether the connection ends.
    """

    def __init__(self, code: str, message: str, hint: str | None = None, *, is_final: bool = False) -> None:
        super().__init__(message)
        self.code, self.message, self.hint, self.is_final = code, message, hint, is_final

    def fields(self, severity: str) -> dict[str, str]:
        """Return the fields of the message."""
        found = {"S": severity, "V": severity, "C": self.code, "M": self.message}
        return found if self.hint is None else found | {"H": self.hint}


def wire_error(refusal: Refusal) -> WireError:
    """Return what the desk says."""
    retried = refusal.code in ("failed", "closing")
    code = KIND_SQLSTATE.get(refusal.kind) or SQLSTATE.get(refusal.code, "XX000")
    return WireError(code, refusal.message, _RETRY if retried else None)
