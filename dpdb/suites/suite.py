"""A suite as a value: checks with their limits, in the order of a file."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from dpdb.constraints import DenialConstraint, Limit, Statistic

__all__ = ["Limit", "Suite", "SuiteLine"]


@dataclass(frozen=True)
class SuiteLine:
    """One check: a rule, or the number of rows, with its limits.

    Attributes
    ----------
    name : str
        As the file names it, else the text of the rule. No other line of the suite has it in any case.
    rule : DenialConstraint or None
        None for `row_count`.
    where : str or None
        The rows that `row_count` counts, as SQL; None for all rows. Of a rule, which has its own condition, the rows
        that a limit is a share of; None without such a limit.
    statistic : str
        What the limits are about: `violations` (the fewest rows to delete), `row_count`, `duplicate values` or
        `rows in duplicates` (of a key).
    limits : tuple of Limit
        One or two; of two, one warns and one fails, in the order written.
    text : str
        The rule as it is written, without name and limits.
    number : int
        The number of the line in its file or text, from 1.
    """

    name: str
    rule: DenialConstraint | None
    where: str | None
    statistic: Statistic
    limits: tuple[Limit, ...]
    text: str = field(compare=False)
    number: int = field(compare=False)

    @property
    def identity(self) -> str:
        """The text that identifies the check, however it is written: name, rule, statistic and limits."""
        tested = str(self.rule) if self.rule is not None else f"row_count WHERE {self.where or 'TRUE'}"
        return "\n".join([self.name, tested, *(limit.written(self.statistic) for limit in self.limits)])


@dataclass(frozen=True)
class Suite:
    """The checks of a suite file, in its order."""

    lines: tuple[SuiteLine, ...]

    @property
    def rules(self) -> tuple[DenialConstraint, ...] | None:
        """The rules of its lines, as the constraints of the table; None if it counts rows only."""
        return tuple(line.rule for line in self.lines if line.rule is not None) or None

    @property
    def digest(self) -> str:
        """The SHA-256 of the checks: equal for suites with the same names, rules and limits in the same order."""
        return hashlib.sha256("\n\n".join(line.identity for line in self.lines).encode()).hexdigest()
