"""Checks of other tools on the number of rows, as limits of `row_count`."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import ceil, floor
from typing import Any, Literal, NamedTuple

from dpdb.constraints import MOST_ROWS, ROW_COUNT, Limit
from dpdb.errors import ParameterError
from dpdb.rules.limits import Severity, number

__all__ = ["RowRange", "allowed_rows", "rows_between", "rows_compared"]

_SIGNS = {
    "must be greater than": ">", "must be greater than or equal": ">=", "must be less than": "<",
    "must be less than or equal": "<=", "must be": "=",
    "greater than": ">", "greater than or equal": ">=", "less than": "<", "less than or equal": "<=",
}  # fmt: skip


class RowRange(NamedTuple):
    """The fewest and the most rows that a check allows; None for no bound on that side."""

    fewest: int | None = None
    most: int | None = None

    def limits(self, severity: Severity) -> list[str]:
        """Return the limits as a suite has them, one for each line; no table has more rows than a limit may be.

        Raises
        ------
        ParameterError
            If every number of rows is allowed, or none.
        """
        fewest = self.fewest if self.fewest is not None and self.fewest > 0 else None
        if self.most is not None and self.most < max(fewest or 0, 0):
            raise ParameterError("it allows no number of rows")
        ends: list[tuple[Literal["above", "below"], int | None]] = [("below", fewest), ("above", self.most)]
        limits = [
            Limit(severity, direction, Fraction(end)).written(ROW_COUNT)
            for direction, end in ends
            if end is not None and not (direction == "above" and end > MOST_ROWS)
        ]
        if not limits:
            raise ParameterError("it allows every number of rows")
        return limits

    def both(self, other: RowRange) -> RowRange:
        """Return the numbers that two ranges allow."""
        fewest = [each for each in (self.fewest, other.fewest) if each is not None]
        most = [each for each in (self.most, other.most) if each is not None]
        return RowRange(max(fewest, default=None), min(most, default=None))


def rows_compared(sign: str, said: object) -> RowRange:
    """Return the numbers of rows that are as a comparison says, such as `>` 0.

    Raises
    ------
    ParameterError
        If they are no range.
    """
    value = _number(said)
    low = {">": floor(value) + 1, ">=": ceil(value), "=": ceil(value)}.get(sign)
    high = {"<": ceil(value) - 1, "<=": floor(value), "=": floor(value)}.get(sign)
    if low is None and high is None:
        raise ParameterError(f"{sign} {said} is no range of numbers of rows")
    return RowRange(low, high)


def rows_between(low: object, high: object, *, strict_low: bool = False, strict_high: bool = False) -> RowRange:
    """Return the numbers of rows between two bounds; None is no bound."""
    ends = RowRange() if low is None else rows_compared(">" if strict_low else ">=", low)
    return ends if high is None else ends.both(rows_compared("<" if strict_high else "<=", high))


def allowed_rows(compared: Mapping[str, Any]) -> RowRange:
    """Return the numbers that meet a comparison such as `must be greater than: 0`; at least one row without any."""
    if not compared:
        return RowRange(1)
    found = RowRange()
    for name, value in compared.items():
        if name == "must be between" and isinstance(value, list) and len(value) == 2:
            found = found.both(rows_between(*value))
        elif name == "must be between" and isinstance(value, Mapping):
            found = found.both(allowed_rows({str(key).replace("_", " "): end for key, end in value.items()}))
        elif name in _SIGNS:
            found = found.both(rows_compared(_SIGNS[name], value))
        else:
            raise ParameterError(f"{name} is no range of numbers of rows")
    return found


def _number(said: object) -> Fraction:
    value = number(said)
    if value is None:
        raise ParameterError(f"{said} is no number of rows")
    return value
