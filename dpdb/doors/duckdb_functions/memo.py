"""`Memo`: the releases of recent transactions, so that none is drawn twice in one statement."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Any

from dpdb.errors import ParameterError

__all__ = ["Memo"]

Rows = list[dict[str, Any]]


class Memo:
    """Answers by transaction and call. A failed call has none: in DuckDB it ends its transaction.

    Parameters
    ----------
    capacity : int
        Largest number of answers held. Whole transactions are forgotten, the one with the oldest call first, but never
        the one of the current call. So a repeated call is drawn again only in a transaction that stood idle while
        others made this many releases.
    """

    def __init__(self, capacity: int = 100_000) -> None:
        self._capacity = capacity
        self._answers: OrderedDict[int, dict[Hashable, Rows]] = OrderedDict()
        self._held = 0

    def find(self, transaction: int, call: Hashable) -> Rows | None:
        """Return the answer that the transaction already has for the call; None without one."""
        return self._answers.get(transaction, {}).get(call)

    def reserve(self, transaction: int) -> None:
        """Make room for one more answer of the transaction, before anything is spent.

        Raises
        ------
        ParameterError
            If the transaction alone fills the memo.
        """
        if len(self._answers.get(transaction, ())) >= self._capacity:
            raise ParameterError(f"one transaction may make at most {self._capacity:,} releases; split it")
        if transaction in self._answers:
            self._answers.move_to_end(transaction)
        while self._held >= self._capacity:
            self._held -= len(self._answers.popitem(last=False)[1])

    def keep(self, transaction: int, call: Hashable, rows: Rows) -> None:
        """Remember an answer, after `reserve`.

        Parameters
        ----------
        transaction
            Number of the transaction.
        call
            The call that was answered.
        rows
            The answer, one row for each release.
        """
        self._answers.setdefault(transaction, {})[call] = rows
        self._held += 1
