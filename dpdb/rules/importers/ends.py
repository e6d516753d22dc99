"""Smallest and largest values of other tools' checks, as rules of every row.

`min(x) >= a` holds where no row breaks `x >= a`. That the smallest value is at most a is decided by some row, so it is
no rule; a range of it is left out whole.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from dpdb.errors import ParameterError
from dpdb.rules.limits import Severity
from dpdb.rules.options import Options
from dpdb.rules.texts import checked

End: TypeAlias = Literal["min", "max"]
_SIGNS = {"min": (">", ">="), "max": ("<", "<=")}


def end_line(end: End, term: str, sign: str, limit: str, severity: Severity) -> tuple[str, str]:
    """Return the line of a suite with its limit, for `TableRules.count_as`.

    Parameters
    ----------
    term, sign, limit
        What the end is of, and how it is compared, as SQL writes it.

    Raises
    ------
    ParameterError
        If it is no rule of every row.
    """
    if sign not in _SIGNS[end]:
        raise ParameterError(f"whether a {end} is {sign} {limit} is decided by some row, not by every row")
    return checked(f"{term} {sign} {limit}"), "" if severity == "fail" else "warn above 0"


def asked_end(end: End, options: Options, *, strict: bool) -> tuple[str, object]:
    """Return the sign and the number of a check with `min_value` and `max_value`, of which one may be asked.

    Parameters
    ----------
    end
        Which end of the column's values is checked.
    options
        Of the check.
    strict
        Whether the number itself is excluded.
    """
    other: End = "max" if end == "min" else "min"
    own, beyond = options.get(f"{end}_value"), options.get(f"{other}_value")
    if beyond is not None:
        raise ParameterError(f"{other}_value: that is decided by some row, not by every row")
    if own is None:
        raise ParameterError("neither a smallest nor a largest value is given")
    return _SIGNS[end][not strict], own
