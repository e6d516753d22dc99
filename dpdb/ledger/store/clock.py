"""The clock of a ledger: the machine's, in UTC, to the millisecond. Everything that asks for the time asks here."""

from __future__ import annotations

from datetime import UTC, datetime

from dpdb.errors import LedgerError

__all__ = ["now", "present", "written"]

# From the beginning of Unix time on, and so that the longest period still ends within the calendar.
_YEARS = range(1970, 9000)


def present() -> datetime:
    """Return the time of the machine's clock; `LedgerError` if it is out of range."""
    found = datetime.now(UTC)
    if found.year not in _YEARS:
        raise LedgerError(f"the machine's clock says {found:%Y-%m-%d}: set it; nothing was released")
    return found


def written(time: datetime) -> str:
    """Write a time as in a line of the ledger."""
    return time.isoformat(timespec="milliseconds")


def now() -> str:
    """The present, as in a line of the ledger."""
    return written(present())
