"""The clock of a ledger, and the times as of which its debits count.

The clock is the machine's, in UTC, to the millisecond. Everything that asks for the time asks here. The times of debits
in an allowance, and the time of a decision, never go back.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from datetime import UTC, datetime, timedelta

from dpdb.errors import LedgerError

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


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Times:
    """The times of the debits, as an allowance counts them: a clock that goes back does not move the ledger back.

    Debit n counts as of the latest time that any debit up to n has recorded, and a decision is made at `now`, which is
    never before that of the newest debit. So times never fall with the number of the debit. A period that begins at
    some time reaches from its first debit to the newest, and when the clock goes back, `now` stays, the period begins
    where it began, and all that counted at the last debit still counts: a clock going back never gives more.
    """

    def __init__(self) -> None:
        self._milliseconds = array("q")
        self._charges = array("q")

    def add(self, recorded: str, charge: int) -> None:
        """Add a debit."""
        self._milliseconds.append(max(_milliseconds(datetime.fromisoformat(recorded)), self._last))
        self._charges.append(charge)

    def settle(self, number: int, charge: int) -> None:
        """Lower the charge of a debit."""
        self._charges[number - 1] = charge

    def charge(self, number: int) -> int:
        """Charge of a debit, as settled."""
        return self._charges[number - 1]

    def charges(self, first: int) -> array[int]:
        """Charges from debit `first` on."""
        return self._charges[first - 1 :]

    def now(self, clock: datetime) -> datetime:
        """Return the time by which a decision is made: the clock's, or the newest debit's if that is later."""
        return clock if _milliseconds(clock) >= self._last else self.of(len(self._milliseconds))

    def of(self, number: int) -> datetime:
        """Return the time as of which a debit counts."""
        return _EPOCH + timedelta(milliseconds=self._milliseconds[number - 1])

    def first_since(self, begin: datetime) -> int:
        """Number of the first debit that counts at `begin` or later; the next number if there is none."""
        return bisect_left(self._milliseconds, _milliseconds(begin)) + 1

    @property
    def _last(self) -> int:
        return self._milliseconds[-1] if self._milliseconds else -(2**62)


def _milliseconds(time: datetime) -> int:
    return (time - _EPOCH) // timedelta(milliseconds=1)
