"""The clock of a ledger: the machine's, in UTC, to the millisecond. Everything that asks for the time asks here."""

from __future__ import annotations

from datetime import UTC, datetime

__all__ = ["now", "present", "written"]


def present() -> datetime:
    """Return what the machine's clock says."""
    return datetime.now(UTC)


def written(time: datetime) -> str:
    """A time as a line of the ledger has it."""
    return time.isoformat(timespec="milliseconds")


def now() -> str:
    """The present, as a line has it."""
    return written(present())
