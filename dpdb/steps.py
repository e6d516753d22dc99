"""Steps of acts that must survive a kill: a debit, a settlement, a job. Each act reports its steps as it reaches them.

Nobody listens, except tests, which end the process there, press Ctrl-C, or let others spend in between. A list of the
process and no parameter: the ledger that a command debits is opened by a session inside a job, and a parameter for
tests would stand in the signature of every door down to it.
"""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["reached", "watchers"]

watchers: list[Callable[[str], None]] = []
"""Called with the name of every step, in this process."""


def reached(step: str) -> None:
    """Say that a step is reached."""
    for watch in watchers:
        watch(step)
