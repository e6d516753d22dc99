"""Limits of other tools' checks: kept where the number that they are about is a statistic of dpdb.

A check of another tool has a limit of its own kind (`mostly`, `error_if`, `< 5%`, `mustBeLessThan`) on a number of its
own kind (rows, values that occur more than once, rows that share a value, distinct wrong values). Only where dpdb
counts the same number, and percentages are of the same rows, the limit means the same here.

Checks on the number of rows become limits of `row_count`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from math import ceil, floor
from typing import Any, Literal, NamedTuple, TypeAlias

from dpdb.constraints import MOST_ROWS, ROW_COUNT, VIOLATIONS, Limit, Statistic, is_key, never_null, parse_constraint
from dpdb.errors import ParameterError

Severity: TypeAlias = Literal["warn", "fail"]
Share: TypeAlias = Literal["share", "share of non-null", "share of selected"]

_SEVERITIES: tuple[Severity, ...] = ("warn", "fail")
_FINEST_SHARE = 10**6
_LONGEST_NUMBER = 40


@dataclass(frozen=True)
class Counted:
    """The number that a check counts.

    Attributes
    ----------
    statistic : str or None
        The same number of dpdb, None if there is none.
    share : str or None
        What its percentages are of, in a limit's units; None if dpdb has no such denominator.
    """

    statistic: Statistic | None
    share: Share | None = None


NOTHING = Counted(None)
"""A number that no statistic of dpdb is."""

OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "=": "!=", "!=": "=", "<>": "="}
"""What a comparison says that is met where another is not."""

ASKS_FOR_DIRT = "it fails where no row does, and a limit of dpdb is a most"
NO_MOST = "it passes where more rows fail than where it fails, and a limit of dpdb is a most"
NEVER = "it passes whatever the rows are"
EVERY = Fraction(10**18)
"""More rows than any table has: a bound that is never exceeded."""


def of_selected(share: Share, among: object) -> Share:
    """Return what shares of all rows are of where a check looks at some rows, which the rule's WHERE selects."""
    return "share of selected" if among else share


@dataclass(frozen=True)
class Bound:
    """The largest amount at which a check neither warns nor fails; None if the file does not say which.

    Percentages are shares from 0 to 1; `EVERY` is never exceeded. What is met by no number, or by some and not by all
    smaller ones, is no bound: reading it raises `ParameterError`, and its check is left out.
    """

    severity: Severity
    amount: Fraction | None


@dataclass(frozen=True)
class Kept:
    """The limits of a rule as a suite has them (empty for `fail above 0`), and a comment if they are others."""

    limits: str
    note: str | None = None


@dataclass(frozen=True)
class Allowed:
    """The bounds of a check: what it tolerates.

    Attributes
    ----------
    bounds : tuple of Bound
        At most one that warns and one that fails; none for a check that tolerates nothing.
    percent : bool
        Whether the bounds are shares.
    words : str or None
        The bounds in the file's words, for a comment where they are not kept.
    """

    bounds: tuple[Bound, ...] = ()
    counted: Counted = NOTHING
    percent: bool = False
    words: str | None = None

    def kept(self, texts: Sequence[str]) -> Kept:
        """Return the limits of a check that is written as some rules, in a suite's words."""
        bounds: dict[Severity, Bound] = {bound.severity: bound for bound in self.bounds if bound.amount != EVERY}
        if self.bounds and not bounds:
            raise ParameterError(NEVER)
        if len(bounds) == 2 and _fails_first(bounds["warn"].amount, bounds["fail"].amount):
            del bounds["warn"]
        if all(bound.amount == 0 for bound in bounds.values()):
            return Kept(_none_at_all(bounds))
        try:
            limits = [self._limit(bounds[severity], texts[0]) for severity in _SEVERITIES if severity in bounds]
        except ParameterError:
            limits = []
        if not limits or not self._is_counted(texts):
            return Kept(_none_at_all(bounds), f"tolerated there: {self.words}" if self.words else None)
        return Kept(", ".join(limit.written(self.counted.statistic or VIOLATIONS) for limit in limits))

    def _limit(self, bound: Bound, text: str) -> Limit:
        unit = self._share(text) if self.percent else "rows"
        if bound.amount is None or unit is None:
            raise ParameterError("it is no limit of dpdb")
        return Limit(bound.severity, "above", bound.amount, unit)

    def _share(self, text: str) -> Share | None:
        """Return what the rule's percentages are of: without WHERE all rows are selected."""
        return "share" if self.counted.share == "share of selected" and " WHERE " not in text else self.counted.share

    def _is_counted(self, texts: Sequence[str]) -> bool:
        if self.counted.statistic is None or len(texts) != 1:
            return False
        rules = parse_constraint(texts[0])
        if len(rules) != 1:
            return False
        if self.percent and self.counted.share == "share of non-null" and never_null(rules[0]) is not None:
            return False
        return self.counted.statistic == VIOLATIONS or is_key(rules[0])


ZERO = Allowed()
"""Nothing is tolerated."""


def _fails_first(warn: Fraction | None, fail: Fraction | None) -> bool:
    """Return whether all that warns fails."""
    return warn == fail or (warn is not None and fail is not None and warn > fail)


def _none_at_all(severities: dict[Severity, Bound]) -> str:
    return "warn above 0" if [*severities] == ["warn"] else ""


def number(said: object) -> Fraction | None:
    """Read a number, maybe with a percent sign; None for any other value."""
    text = str(said).strip().removesuffix("%").strip()
    if isinstance(said, bool) or not isinstance(said, (int, float, str)) or len(text) > _LONGEST_NUMBER:
        return None
    try:
        value = Decimal(text)
    except InvalidOperation:
        return None
    return Fraction(value) if value.is_finite() and abs(value.adjusted()) <= _LONGEST_NUMBER else None


def _above(said: object, *, percent: bool) -> Fraction:
    """Return the largest amount that is not above a number."""
    value = _any_number(said)
    if value < 0:
        raise ParameterError(ASKS_FOR_DIRT)
    return value / 100 if percent else Fraction(floor(value))


def _reaching(said: object, *, percent: bool) -> Fraction:
    """Return the largest amount that is below a number: of shares, the next one that a limit can have."""
    value = _any_number(said)
    if value <= 0:
        raise ParameterError(ASKS_FOR_DIRT)
    return Fraction(ceil(value / 100 * _FINEST_SHARE) - 1, _FINEST_SHARE) if percent else Fraction(ceil(value) - 1)


def largest_met(sign: str, said: object, *, percent: bool = False) -> Fraction:
    """Return the largest amount that meets a comparison, as all smaller ones do.

    Parameters
    ----------
    sign
        One of ``<``, ``<=``, ``=``, ``!=``, ``<>``, ``>``, ``>=``.
    percent
        Whether amounts are percentages; else they are whole numbers.

    Returns
    -------
    fractions.Fraction
        `EVERY` if all amounts meet it.
    """
    if sign == "<":
        return _reaching(said, percent=percent)
    if sign == "<=":
        return _above(said, percent=percent)
    value = _any_number(said)
    if sign == "=" and value == 0:
        return Fraction(0)
    meets_none = {">": value < 0, ">=": value <= 0, "!=": value < 0, "<>": value < 0}
    if meets_none.get(sign):
        return EVERY
    zero = {"!=": value != 0, "<>": value != 0}.get(sign, False)
    raise ParameterError(NO_MOST if zero else ASKS_FOR_DIRT)


def _any_number(said: object) -> Fraction:
    value = number(said)
    if value is None:
        raise ParameterError(f"{said} is no number")
    return value


SIGNS = {
    "must be greater than": ">", "must be greater than or equal": ">=", "must be less than": "<",
    "must be less than or equal": "<=", "must be": "=", "must not be": "!=",
    "greater than": ">", "greater than or equal": ">=", "less than": "<", "less than or equal": "<=",
}  # fmt: skip


class RowRange(NamedTuple):
    """The fewest and the most rows that a check allows; None for no bound on that side."""

    fewest: int | None = None
    most: int | None = None

    def limits(self, severity: Severity) -> list[str]:
        """Return the limits as a suite has them, one for each line; no table has more rows than a limit may be."""
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

    def of(self, counted: str, severity: Severity) -> list[tuple[str, str]]:
        """Return lines that count something, such as `distinct_count(a)`, each with a limit."""
        return [(counted, limit) for limit in self.limits(severity)]

    def both(self, other: RowRange) -> RowRange:
        """Return the numbers that two ranges allow."""
        fewest = [each for each in (self.fewest, other.fewest) if each is not None]
        most = [each for each in (self.most, other.most) if each is not None]
        return RowRange(max(fewest, default=None), min(most, default=None))


def rows_compared(sign: str, said: object) -> RowRange:
    """Return the numbers of rows that are as a comparison says, such as `>` 0."""
    value = _number(said)
    if sign in {"!=", "<>"} and value == 0:
        return RowRange(1)
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
        elif name in SIGNS:
            found = found.both(rows_compared(SIGNS[name], value))
        else:
            raise ParameterError(f"{name} is no range of numbers of rows")
    return found


def _number(said: object) -> Fraction:
    value = number(said)
    if value is None:
        raise ParameterError(f"{said} is no number of rows")
    return value
