r"""Which texts are values of a type: the one rule by which cells of files, and keys of folders, are read.

A cell is a value of its column's type if it is written as such values are, whole and with nothing to be lost; else it
is NULL, and counted for the owner. Each cell is read by itself and none can fail. Blanks around it do not count.

| type | cells that are values |
| --- | --- |
| whole numbers | digits after an optional sign, within the type's range: no point, exponent, ``0x1F`` or ``1_000`` |
| DECIMAL(p,s) | digits with a point or none, of which none but zeros lies behind the last place; no exponent |
| FLOAT, DOUBLE | as DECIMAL, with an exponent or none: the nearest number, unless that is infinite, or 0 for another \
number; ``inf``, ``infinity``; no NaN |
| BOOLEAN | true, false, t, f, yes, no, y, n, 1, 0, in any case |
| DATE | ``2025-03-04``: a year of four digits, and no time of day |
| TIME | ``10:30``, ``10:30:00``, with as many places of a second as the type has; more may be zeros |
| TIMESTAMP, _S, _MS, _NS | DATE, or DATE, blank or T, and TIME; no offset, which would be lost |
| ... WITH TIME ZONE | the same with the offset, which must be there: ``Z``, ``+05``, ``-0530``, ``+05:30``, ``UTC`` |
| INTERVAL | whole numbers with their units, then a time or none: ``1 month 2 days 01:30:00`` |
| UUID | 32 hexadecimal digits, with the four hyphens or without |
| BIT | zeros and ones |
| ENUM | the values themselves, blanks and all |
| others | what DuckDB's own cast reads: of texts each, of JSON what is valid, of BLOB ``\x00`` and plain ASCII |

What is read otherwise by another version of this module is another table to a ledger: then `RULE` is another, too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping

from sqlglot import exp

from dpdb.predicates import data_type
from dpdb.sources.cells.formats import as_written, split_declared

RULE = "cells are read by rule 2"
"""The version of the rule. The first one was DuckDB's casts, by which ``12.7`` was the INTEGER 13."""

_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_INFINITE = "(?i:[+-]?inf(?:inity)?)"
_NOT_ZERO = "^[^eE]*[1-9]"
_DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_HOURS, _SECONDS = "(?:[01][0-9]|2[0-3]):[0-5][0-9]", ":[0-5][0-9]"
_OFFSET = "(?:Z| UTC| ?[+-](?:0[0-9]|1[0-5])(?::?[0-5][0-9])?)"
_UNIT = "(?:year|mon|month|week|day|hour|min|minute|sec|second|millisecond|microsecond)s?"
_SPAN = r"-?[0-9]+:[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,6}0*)?)?"
_PARTS = f"-?[0-9]+ +{_UNIT}"
_DECIMAL = re.compile(r"DECIMAL\((\d+),\s*(\d+)\)")
_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_FLOATS = ("FLOAT", "DOUBLE")
_MOMENTS = ("DATE", "TIME", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP WITH TIME ZONE")
_TIMES = ("TIME", "TIME WITH TIME ZONE")
_ZONED = ("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ_NS")
_PLACES = {
    **dict.fromkeys(_TIMES, 6), "TIMESTAMP_S": 0, "TIMESTAMP_MS": 3, "TIMESTAMP": 6, "TIMESTAMP_NS": 9,
    "TIMESTAMP WITH TIME ZONE": 6, "TIMESTAMPTZ_NS": 9,
}  # fmt: skip
_PATTERNS = {
    **dict.fromkeys([*_WHOLE, *(f"U{kind}" for kind in _WHOLE)], "[+-]?[0-9]+"),
    **dict.fromkeys(_FLOATS, _NUMBER),
    "BOOLEAN": "(?i:true|false|t|f|yes|no|y|n|1|0)",
    "DATE": _DAY,
    "INTERVAL": f"(?i:{_PARTS}(?: +{_PARTS})*(?: +{_SPAN})?|{_SPAN})",
    "UUID": "[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}|[0-9a-fA-F]{32}",
    "BIT": "[01]+",
}


def reading(kinds: Iterable[str], types: Mapping[str, str], written: str = "") -> str:
    """Return what a ledger knows of how cells are read, beside their types; empty where all are but text.

    Parameters
    ----------
    kinds
        The types of the columns whose cells are text.
    types
        What is declared of columns, by name.
    written
        What is declared of all cells; see `Writing.state`. Default: nothing.
    """
    states = {name: split_declared(types[name]).state for name in sorted(types)}
    formats = {name: state for name, state in states.items() if state is not None}
    if all(kind == "VARCHAR" for kind in kinds) and not written and not formats:
        return ""
    told = [json.dumps(formats)] if formats else []
    return ", ".join([f"; {RULE}", *told, *([written] if written else [])])


def typed(text: exp.Expr, kind: str | None, written: str | None = None) -> exp.Expr:
    """Read a text as a value of a type, by the rule of this module: NULL where it is none.

    Parameters
    ----------
    kind
        The type in DuckDB's spelling; None for the text itself.
    written
        The declared format, see `dpdb.sources.cells.formats`. Default: as the type says.
    """
    if kind is None:
        return text
    if written is not None:
        value = as_written(text, kind, written)
        if kind == "BOOLEAN":
            return value
        return exp.TryCast(this=value, to=data_type(kind)) if kind in _MOMENTS else typed(value, kind)
    written = _pattern(kind)
    if written is None:
        return exp.TryCast(this=text.copy(), to=data_type(kind))
    value = exp.TryCast(this=_bare(text, kind), to=data_type(kind))
    cases = [exp.If(this=_is_written(text, written), true=_nearest(text, value) if kind in _FLOATS else value)]
    if kind in _FLOATS:
        cases.append(exp.If(this=_is_written(text, _INFINITE), true=value.copy()))
    return exp.Case(ifs=cases)


def _nearest(text: exp.Expr, value: exp.Expr) -> exp.Expr:
    """Return the number, unless it is infinite or 0 and the text says otherwise: then all of it is lost."""
    some = exp.Anonymous(this="regexp_matches", expressions=[text.copy(), exp.Literal.string(_NOT_ZERO)])
    lost = exp.or_(
        exp.Anonymous(this="isinf", expressions=[value.copy()]), exp.and_(value.copy().eq(exp.Literal.number(0)), some)
    )
    return exp.Case(ifs=[exp.If(this=exp.Not(this=exp.paren(lost)), true=value.copy())])


def _is_written(text: exp.Expr, pattern: str) -> exp.Expr:
    whole = exp.Literal.string(rf"[ \t]*(?:{pattern})[ \t]*")
    return exp.Anonymous(this="regexp_full_match", expressions=[text.copy(), whole])


def _bare(text: exp.Expr, kind: str) -> exp.Expr:
    """Return the text as DuckDB's cast takes it: numbers and dates as they are, others without blanks around them."""
    if kind in (*_WHOLE, *_FLOATS, "DATE") or kind.startswith("DECIMAL("):
        return text.copy()
    bare = _called("trim", text.copy(), " \t")
    if kind in _ZONED or kind == "TIME WITH TIME ZONE":
        for sign in "+-":
            bare = _called("replace", bare, f" {sign}", sign)
    if kind == "TIME WITH TIME ZONE":
        for name in (" UTC", "Z"):
            bare = _called("replace", bare, name, "+00")
    return bare


def _called(function: str, text: exp.Expr, *texts: str) -> exp.Expr:
    return exp.Anonymous(this=function, expressions=[text, *map(exp.Literal.string, texts)])


def _pattern(kind: str) -> str | None:
    """Return how values of a type are written, as a regular expression; None where DuckDB's own cast says it."""
    if kind in _PLACES:
        return _of_time(kind, _PLACES[kind])
    exact = _DECIMAL.fullmatch(kind)
    if exact is None:
        return _PATTERNS.get(kind)
    places = int(exact[2])
    below_one = rf"|\.[0-9]{{1,{places}}}0*" if places else ""
    return rf"[+-]?(?:[0-9]+(?:\.[0-9]{{0,{places}}}0*)?{below_one})"


def _of_time(kind: str, places: int) -> str:
    fraction = rf"(?:\.[0-9]{{1,{places}}}0*)?" if places else r"(?:\.0+)?"
    if kind == "TIME WITH TIME ZONE":  # DuckDB's cast wants the seconds of such
        return f"{_HOURS}{_SECONDS}{fraction}{_OFFSET}"
    clock = f"{_HOURS}(?:{_SECONDS}{fraction})?"
    if kind == "TIME":
        return clock
    return f"{_DAY}[ T]{clock}{_OFFSET}" if kind in _ZONED else f"{_DAY}(?:[ T]{clock})?"
