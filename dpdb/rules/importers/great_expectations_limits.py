"""What an expectation of Great Expectations tolerates: `mostly`, and its `severity`."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from dpdb.constraints import ROWS_IN_DUPLICATES, VIOLATIONS
from dpdb.errors import ParameterError
from dpdb.rules.importers.shapes import sequence
from dpdb.rules.limits import NOTHING, Allowed, Bound, Counted, Severity, number
from dpdb.rules.options import Options

__all__ = ["allowed_by_mostly", "severity_note", "severity_of"]

_WARNINGS = ("warning", "info")
_OF_KEYS = ("expect_column_values_to_be_unique", "expect_compound_columns_to_be_unique")


def severity_of(*places: Options) -> Severity:
    """Return what a failure of an expectation is, by its `severity`: critical (the default), warning or info."""
    said = [str(place.shown("severity")).lower() for place in places if "severity" in place]
    return "warn" if said and all(word in _WARNINGS for word in said) else "fail"


def severity_note(place: Options) -> str | None:
    """Read a severity; return it for a comment unless `warn` and `fail` say it."""
    word = str(place.get("severity", "critical")).lower()
    return None if word in {"critical", "warning"} else f"severity {place.shown('severity')}"


def allowed_by_mostly(name: str, options: Options) -> Allowed:
    """Read `mostly`, the share that must meet an expectation, of the rows that it looks at.

    Great Expectations divides by the rows that are not NULL for expectations of one column, by all rows for
    `to_be_null` and `to_not_be_null`, and by the rows that `ignore_row_if` leaves for those of several columns.
    """
    mostly = options.get("mostly", 1)
    if isinstance(mostly, dict):  # a parameter, known when the suite runs
        return Allowed((Bound("fail", None),), NOTHING, words=f"mostly {mostly}")
    if isinstance(mostly, bool) or not isinstance(mostly, (int, float)) or not 0 <= mostly <= 1:
        raise ParameterError(f"mostly: {mostly!r} is no share from 0 to 1")
    allowed = 1 - (number(mostly) or Fraction(0))
    counted = Counted(ROWS_IN_DUPLICATES if name in _OF_KEYS else VIOLATIONS, _share(name, options))
    return Allowed((Bound("fail", allowed),), counted, percent=True, words=f"mostly {mostly}")


def _share(name: str, options: Options) -> Literal["share", "share of non-null"] | None:
    if options.shown("row_condition"):  # the share is of the rows that meet it
        return None
    if name in {"expect_column_values_to_be_null", "expect_column_values_to_not_be_null"}:
        return "share"
    word = str(options.shown("ignore_row_if") or "all")
    several = "column_A" in options or len(sequence(options.shown("column_list"))) > 1
    if not several or word.startswith(("any", "either")):
        return "share of non-null"
    return "share" if word in {"neither", "never"} else None
