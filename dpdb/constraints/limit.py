"""The limit of a check: how much of a statistic is a warning or a failure."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Literal, TypeAlias

from dpdb.errors import ParameterError

__all__ = ["DUPLICATE_VALUES", "ROWS_IN_DUPLICATES", "ROW_COUNT", "VIOLATIONS", "Limit", "Statistic"]

Statistic: TypeAlias = Literal["violations", "row_count", "duplicate values", "rows in duplicates"]

VIOLATIONS: Statistic = "violations"
ROW_COUNT: Statistic = "row_count"
DUPLICATE_VALUES: Statistic = "duplicate values"
ROWS_IN_DUPLICATES: Statistic = "rows in duplicates"

_MOST_ROWS = 10**15
_FINEST_SHARE = 10**6  # a percentage has at most four decimals


@dataclass(frozen=True, slots=True)
class Limit:
    """A check warns or fails if its statistic is above (or below) an amount.

    Parameters
    ----------
    severity, direction
        What happens, and on which side of the amount.
    amount
        A whole number of rows up to 10^15, or a share from 0 to 1 with at most six decimals.
    unit
        What `amount` is: rows, a share of all rows, or a share of the rows in which no column of the rule is NULL.

    Raises
    ------
    ParameterError
        If the amount is none of these.
    """

    severity: Literal["warn", "fail"]
    direction: Literal["above", "below"]
    amount: Fraction
    unit: Literal["rows", "share", "share of non-null"] = "rows"

    def __post_init__(self) -> None:
        if self.unit == "rows":
            if not 0 <= self.amount <= _MOST_ROWS or self.amount.denominator != 1:
                raise ParameterError("a whole number of rows from 0 to 10^15")
        elif not 0 <= self.amount <= 1:
            raise ParameterError("a percentage from 0% to 100%")
        elif (self.amount * _FINEST_SHARE).denominator != 1:
            raise ParameterError("a percentage with at most four decimals")

    def __str__(self) -> str:
        return self.written(VIOLATIONS)

    def written(self, statistic: Statistic) -> str:
        """Return the limit as a suite file has it, for a check of a statistic."""
        start = f"{self.severity} {self.direction}"
        if self.unit == "rows":
            units = {DUPLICATE_VALUES: " duplicate values", ROWS_IN_DUPLICATES: " rows in duplicates"}
            return f"{start} {int(self.amount)}{units.get(statistic, '')}"
        share = f"{Decimal(int(self.amount * _FINEST_SHARE)).scaleb(-4).normalize():f}%"
        counted = {DUPLICATE_VALUES: " duplicate values", ROWS_IN_DUPLICATES: " in duplicates"}.get(statistic, "")
        return f"{start} {share}{counted if self.unit == 'share' else f' of non-null{counted}'}"
