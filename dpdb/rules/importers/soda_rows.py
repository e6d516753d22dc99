"""Soda's checks of the number of rows: `row_count > 0`, with `warn` and `fail`, and `row_count` of data contracts."""

from __future__ import annotations

from dpdb.errors import ParameterError
from dpdb.rules.importers.soda_thresholds import BETWEEN, COMPARED, spaced
from dpdb.rules.limits import Severity
from dpdb.rules.options import Options
from dpdb.rules.row_counts import RowRange, allowed_rows, rows_between, rows_compared

__all__ = ["limits_of_contract_rows", "limits_of_rows"]

_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}


def limits_of_rows(threshold: str, options: Options) -> list[str]:
    """Return the limits of SodaCL's `row_count`: what stands behind it, and the options `warn` and `fail`."""
    limits = [] if not threshold else _met(threshold).limits("fail")
    severities: tuple[Severity, ...] = ("warn", "fail")
    for severity in severities:
        condition = options.get(severity)
        if condition is not None:
            limits += _not_met(str(condition).removeprefix("when ").strip()).limits(severity)
    if not limits:
        raise ParameterError("it has no threshold")
    return limits


def _met(threshold: str) -> RowRange:
    said = COMPARED.fullmatch(threshold)
    if said is not None:
        return rows_compared(said["sign"], said["number"])
    said = BETWEEN.fullmatch(threshold)
    if said is None:
        raise ParameterError(f"{threshold} is no range of numbers of rows")
    return rows_between(said["low"], said["high"], strict_low=said["open"] == "(", strict_high=said["close"] == ")")


def _not_met(condition: str) -> RowRange:
    said = COMPARED.fullmatch(condition)
    if said is not None and said["sign"] == "=" and said["number"] == "0":
        return RowRange(1)
    if said is None or said["sign"] not in _OPPOSITE:
        raise ParameterError(f"all numbers of rows but {condition} are no range")
    return rows_compared(_OPPOSITE[said["sign"]], said["number"])


def limits_of_contract_rows(options: Options) -> list[str]:
    """Return the limits of a contract's `row_count`, which needs at least one row by default."""
    names = options.starting("must")
    said = {name: options.get(name) for name in names} | spaced(options.get("threshold"))
    severity: Severity = "warn" if str(said.pop("level", "fail")).lower() == "warn" else "fail"
    if said.pop("metric", "count") != "count":
        raise ParameterError("its threshold is no number of rows")
    return allowed_rows(said).limits(severity)
