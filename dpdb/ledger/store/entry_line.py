"""`EntryLine`: one debit as a line of the ledger."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["EntryLine"]


class EntryLine(NamedTuple):
    """A debit as its row, without seal; `charge` is the settled charge, where a settlement has lowered it.

    `place` counts the lines of all chains in the order in which they were written.
    """

    number: int
    epoch: int
    run_id: str | None
    request: str
    predicate: str
    charge: int
    upper: int
    source_mark: bytes
    reserved: str
    analyst: str | None = None
    label: str | None = None
    rule_set: str | None = None
    place: int = 0
