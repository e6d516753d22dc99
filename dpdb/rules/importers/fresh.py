"""How new rows are by other tools' checks: their ages as lines of a suite, which count the rows that are newer.

A table of the other tools is fresh if its newest row is; here, if one row so new is shown to be there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from dpdb.errors import ParameterError
from dpdb.rules.limits import Severity, number
from dpdb.rules.texts import column_name

_UNITS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800}
_LETTERS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_AGE = re.compile(r"(?:\d{1,9}[dhms]\s*)+")
_PART = re.compile(r"(\d+)([dhms])")
_COMPARED = re.compile(r"(?P<sign><=?|>=?)\s*(?P<age>[\ddhms\s]+)")
FUTURE = "rows of the future are fresh here"


def fresh_lines(column: object, ages: Iterable[tuple[Severity, str, int]]) -> list[tuple[str, str]]:
    """Return lines of a suite with their limits, for `TableRules.count_as`.

    Parameters
    ----------
    column
        Of dates or moments.
    ages
        Severities, signs (`<` or `<=`) and ages in seconds.
    """
    name = column_name(column)
    limits = {"fail": "", "warn": "warn below 1"}
    found = [(f"freshness({name}) {sign} {_written(age)}", limits[severity]) for severity, sign, age in ages]
    if not found:
        raise ParameterError("it has no threshold")
    return found


def _written(seconds: int) -> str:
    if seconds <= 0:
        raise ParameterError("no row is newer than that")
    unit = next(unit for unit in reversed(_UNITS) if seconds % _UNITS[unit] == 0 and unit != "week")
    count = seconds // _UNITS[unit]
    return f"{count} {unit}{'s' * (count != 1)}"


def age_of(count: object, unit: object) -> int:
    """Return an age in seconds: 2 and `day`."""
    value, name = number(count), str(unit).lower().removesuffix("s")
    if value is None or name not in _UNITS or (value * _UNITS[name]).denominator != 1:
        raise ParameterError(f"{count} {unit} is no age in seconds, minutes, hours, days or weeks")
    return int(value * _UNITS[name])


def age_in_letters(text: str) -> int:
    """Return an age in seconds, as SodaCL writes it: `1d`, `1h30m`."""
    if not _AGE.fullmatch(text.strip()):
        raise ParameterError(f"{text} is no age such as 1d or 1h30m")
    return sum(int(count) * _LETTERS[letter] for count, letter in _PART.findall(text))


def met(condition: str) -> tuple[str, int]:
    """Return the sign and the age of `< 1d`, which a fresh table meets."""
    said = _COMPARED.fullmatch(condition.strip())
    if said is None or said["sign"][0] != "<":
        raise ParameterError(f"dpdb does not know the threshold {condition}")
    return said["sign"], age_in_letters(said["age"])


def not_met(condition: object) -> tuple[str, int]:
    """Return the sign and the age of a condition such as `when > 1d` that a fresh table does not meet."""
    said = _COMPARED.fullmatch(str(condition).removeprefix("when ").strip())
    if said is None or said["sign"][0] != ">":
        raise ParameterError(f"dpdb does not know the threshold {condition}")
    return ("<=" if said["sign"] == ">" else "<"), age_in_letters(said["age"])


def periods(said: Mapping[str, object]) -> list[tuple[Severity, str, int]]:
    """Return the ages of dbt's `warn_after` and `error_after`, each a count and a period."""
    names: dict[Severity, str] = {"warn": "warn_after", "fail": "error_after"}
    found: list[tuple[Severity, str, int]] = []
    for severity, name in names.items():
        after = said.get(name)
        if isinstance(after, Mapping) and after.get("count") is not None:
            found.append((severity, "<=", age_of(after.get("count"), after.get("period"))))
    return found
