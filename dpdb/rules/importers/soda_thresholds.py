"""Thresholds of Soda: what SodaCL writes behind a metric and under `warn` and `fail`, and those of data contracts.

`duplicate_count` of SodaCL (version 3) is the number of values that occur more than once, and its percentages are of
all rows. `duplicate` of a column in a contract (version 4) is the number of rows that are not NULL less that of
distinct values, which is the fewest rows to delete, and its percentages are of the rows that are not NULL.

SodaCL rounds percentages to two decimals before it compares them, contracts do not.

The number of rows has limits, too: `row_count > 0`, with `warn` and `fail`, and `row_count` of data contracts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from math import floor
from typing import Any

from dpdb.constraints import DUPLICATE_VALUES, VIOLATIONS
from dpdb.errors import ParameterError
from dpdb.rules.limits import (
    ASKS_FOR_DIRT,
    EVERY,
    NO_MOST,
    NOTHING,
    OPPOSITE,
    SIGNS,
    Allowed,
    Bound,
    Counted,
    RowRange,
    Severity,
    allowed_rows,
    largest_met,
    number,
    of_selected,
    rows_between,
    rows_compared,
)
from dpdb.rules.options import Options, mapping

COMPARED = re.compile(r"(?P<sign>[<>]=?|=|!=|<>)\s*(?P<number>[\d.]+)\s*%?")
BETWEEN = re.compile(
    r"between\s*(?P<open>[\[(]?)\s*(?P<low>[\d.]+)\s*%?\s+and\s+(?P<high>[\d.]+)\s*%?\s*(?P<close>[\])]?)"
)
_ZERO = Fraction(0)
_TWO_THRESHOLDS = "it has a threshold behind its name and one under fail"
_ROUNDED_TO = 10**4  # shares of SodaCL's percentages
_ROUNDED_UP = Fraction(49, 10**6)  # the last share of a limit below half of that


def threshold_of_metric(match: re.Match[str] | None, options: Options, *, among: bool) -> Allowed:
    """Read the threshold of a check of SodaCL.

    Parameters
    ----------
    match
        The parts of a check of a metric: `metric`, `unit` and the `rest`, its threshold; None for other checks.
    options
        Those of the check, of which `warn` and `fail` are read.
    among
        Whether the check looks at some of the rows, of which its percentages are then.
    """
    metric, percent, rest = "", False, ""
    if match is not None:
        metric, percent, rest = match["metric"], match["unit"] == "percent", match["rest"].strip()
    words = ", ".join(filter(None, [rest, options.notes("warn", "fail")]))
    warn, fail = options.shown("warn"), options.shown("fail")
    bounds: list[Bound] = []
    if fail is not None and rest:
        raise ParameterError(_TWO_THRESHOLDS)
    if fail is not None:
        bounds.append(Bound("fail", _not_met(fail, percent)))
    elif rest or warn is None:
        bounds.append(Bound("fail", _met(rest, percent)))
    if warn is not None:
        bounds.append(Bound("warn", _not_met(warn, percent, bounds[0].amount if bounds else None)))
    counted = Counted(VIOLATIONS, of_selected("share", among))
    if metric == "duplicate":
        counted = Counted(DUPLICATE_VALUES, None if among else "share")
    if metric == "duplicate" and "missing values" in options:  # which SodaCL counts, and the rule does not
        counted = NOTHING
    return Allowed(tuple(bounds), counted, percent, words)


def _met(threshold: str, percent: bool) -> Fraction:
    """Return the largest number that meets a threshold such as `< 5`."""
    if not threshold:
        return _ZERO
    said = COMPARED.fullmatch(threshold)
    if said is not None:
        return _largest(said["sign"], said["number"], percent)
    said = BETWEEN.fullmatch(threshold)
    if said is None:
        raise ParameterError(f"dpdb does not know the threshold {threshold}")
    if number(said["low"]) != 0 or said["open"] == "(":
        raise ParameterError(ASKS_FOR_DIRT)
    return _largest("<" if said["close"] == ")" else "<=", said["high"], percent)


def _largest(sign: str, said: str, percent: bool) -> Fraction:
    """Return the largest number that meets a comparison; of percentages, once they are rounded to two decimals.

    Ties are left out: floats round some up and some down.
    """
    largest = largest_met(sign, said, percent=percent)
    if not percent or largest in {0, EVERY}:
        return largest
    return min(Fraction(floor(largest * _ROUNDED_TO), _ROUNDED_TO) + _ROUNDED_UP, Fraction(1))


def _not_met(condition: object, percent: bool, fails_above: Fraction | None = None) -> Fraction:
    """Return the largest number that does not meet a condition such as `when > 5`.

    `when between 1 and 10` has one, too, if all above it fail.
    """
    text = str(condition).removeprefix("when ").strip()
    if text.startswith("not between "):
        return _met(text.removeprefix("not "), percent)
    said = COMPARED.fullmatch(text)
    if said is not None:
        return _largest(OPPOSITE[said["sign"]], said["number"], percent)
    said = BETWEEN.fullmatch(text)
    if said is None:
        raise ParameterError(f"dpdb does not know the threshold {text}")
    low = _largest("<=" if said["open"] == "(" else "<", said["low"], percent)
    if fails_above is None or _largest("<" if said["close"] == ")" else "<=", said["high"], percent) < fails_above:
        raise ParameterError(NO_MOST)
    return low


def threshold_of_contract(name: str, options: Options, *, among: bool, excludes_values: bool) -> Allowed:
    """Read the threshold of a check of a contract.

    Parameters
    ----------
    name
        The type of the check, such as `missing` or `duplicate_percent`.
    options
        Those of the check, of which `threshold` and all that begin with `must be` are read.
    among
        Whether the check looks at some of the rows.
    excludes_values
        Whether some values count as missing.

    Raises
    ------
    ParameterError
        If it is no largest number.
    """
    names = options.starting("must")
    words = ", ".join(filter(None, [options.notes("threshold"), options.notes(*names)]))
    said = {name: options.shown(name) for name in names} | spaced(options.shown("threshold"))
    also = spaced(said.pop("additional", None))
    unit = str(said.pop("metric", None) or said.pop("unit", None) or "")
    percent = unit == "percent" or name.endswith("_percent")
    bounds = [_bound(said, percent), *([_bound(also, percent)] if also else [])]
    if unit not in {"", "count", "percent"} or len({bound.severity for bound in bounds}) < len(bounds):
        bounds = [replace(bound, amount=None) for bound in bounds]
    counted = Counted(VIOLATIONS, of_selected("share", among))
    if name == "duplicate":
        counted = Counted(VIOLATIONS, None if among or excludes_values else "share of non-null")
    elif "duplicate" in name:
        counted = Counted(DUPLICATE_VALUES, None if among else "share")
    return Allowed(tuple(bounds), counted, percent, words)


def spaced(said: object) -> dict[str, Any]:
    """Return options under SodaCL's names: contracts write `valid_values`, SodaCL `valid values`."""
    return {key.replace("_", " "): item for key, item in mapping(said).items()}


def _level(said: Mapping[str, Any]) -> Severity:
    return "warn" if str(said.get("level", "fail")).lower() == "warn" else "fail"


def _bound(said: Mapping[str, Any], percent: bool) -> Bound:
    compared = {name: value for name, value in said.items() if name != "level"}
    return Bound(_level(said), largest_allowed(compared, percent=percent))


def largest_allowed(compared: Mapping[str, Any], *, percent: bool) -> Fraction:
    """Return the largest number that meets a comparison such as `must be less than: 5`; none tolerates nothing."""
    if not compared:
        return _ZERO
    if len(compared) > 1:
        raise ParameterError(f"dpdb does not know {' and '.join(compared)} together")
    [(name, value)] = compared.items()
    if name == "must be between":
        return _upper_end(value, percent)
    if name not in SIGNS:
        raise ParameterError(f"dpdb does not know {name}")
    return largest_met(SIGNS[name], value, percent=percent)


def _upper_end(value: object, percent: bool) -> Fraction:
    """Return the upper end of a range from zero: `[0, 5]`, or a mapping with `greater_than_or_equal` and another."""
    ends = spaced(value)
    if isinstance(value, list) and len(value) == 2:
        ends = {"greater than or equal": value[0], "less than or equal": value[1]}
    low, below, most = (ends.pop(name, None) for name in ("greater than or equal", "less than", "less than or equal"))
    if ends or (below is None) == (most is None):
        raise ParameterError(f"{value} is no range from 0")
    if number(low) != 0:
        raise ParameterError(ASKS_FOR_DIRT)
    return largest_met("<=" if below is None else "<", most if below is None else below, percent=percent)


def limits_of_rows(threshold: str, options: Options) -> list[str]:
    """Return the limits of SodaCL's `row_count`: what stands behind it, and the options `warn` and `fail`."""
    limits = [] if not threshold else _rows_met(threshold).limits("fail")
    severities: tuple[Severity, ...] = ("warn", "fail")
    for severity in severities:
        condition = options.get(severity)
        if condition is not None:
            limits += _rows_not_met(str(condition).removeprefix("when ").strip()).limits(severity)
    if not limits:
        raise ParameterError("it has no threshold")
    return limits


def _rows_met(threshold: str) -> RowRange:
    said = COMPARED.fullmatch(threshold)
    if said is not None:
        return rows_compared(said["sign"], said["number"])
    said = BETWEEN.fullmatch(threshold)
    if said is None:
        raise ParameterError(f"{threshold} is no range of numbers of rows")
    return rows_between(said["low"], said["high"], strict_low=said["open"] == "(", strict_high=said["close"] == ")")


def _rows_not_met(condition: str) -> RowRange:
    said = COMPARED.fullmatch(condition)
    if condition.startswith("not between "):
        return _rows_met(condition.removeprefix("not "))
    if said is None:
        raise ParameterError(f"all numbers of rows but {condition} are no range")
    return rows_compared(OPPOSITE[said["sign"]], said["number"])


def limits_of_contract_rows(options: Options) -> list[str]:
    """Return the limits of a contract's `row_count`, which needs at least one row by default."""
    names = options.starting("must")
    said = {name: options.get(name) for name in names} | spaced(options.get("threshold"))
    if said.pop("metric", "count") != "count":
        raise ParameterError("its threshold is no number of rows")
    thresholds = [said, also] if (also := spaced(said.pop("additional", None))) else [said]
    levels = [_level(threshold) for threshold in thresholds]
    if len(set(levels)) < len(levels):
        raise ParameterError("its two thresholds have one level")
    limits: list[str] = []
    for severity, threshold in zip(levels, thresholds, strict=True):
        limits += allowed_rows({key: end for key, end in threshold.items() if key != "level"}).limits(severity)
    return limits
