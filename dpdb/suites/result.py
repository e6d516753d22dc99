"""`CheckResult`: the verdict of one limit of one check."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

__all__ = ["CheckResult"]


@dataclass(frozen=True)
class CheckResult:
    """The verdict of one limit of one check. Public.

    Attributes
    ----------
    name, rule : str
        Of the check, as its file names and writes it.
    verdict : str
        ``pass``, ``fail``, or ``undecided`` where epsilon did not suffice for a test to the end.
    severity : str
        ``fail`` or ``warn``.
    limit : float
        In `unit`.
    direction : str
        Whether the check fails ``above`` its limit or ``below`` it.
    unit : str
        ``rows``, ``share`` (of all rows), ``share of non-null`` or ``share of selected`` (by the rule's WHERE).
    statistic : str
        What the limit is about; see `dpdb.suites.suite.SuiteLine`.
    lower, upper : float or None
        Bounds in rows: of the statistic, or, where the limit is a share, of what it is above that share of the rows.
    level : int
        Where it failed, or the last level at which it was quiet; 0 if it was not tested.
    since : str or None
        Of a kept suite, when the check failed, if that was in an earlier run.
    key : str or None
        The slice, if there are several.
    """

    name: str
    rule: str
    verdict: Literal["pass", "fail", "undecided"]
    severity: Literal["warn", "fail"]
    limit: float
    direction: Literal["above", "below"]
    unit: str
    statistic: str
    lower: float | None
    upper: float | None
    level: int
    since: str | None = None
    key: str | None = None

    @property
    def fails(self) -> bool:
        """Whether it fails the suite: it failed, and is no warning."""
        return self.verdict == "fail" and self.severity == "fail"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name; `key` only where there are slices."""
        fields = asdict(self)
        if self.key is None:
            del fields["key"]
        return fields
