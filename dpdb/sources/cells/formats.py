r"""How cells of one column are written where it is not as their type says: declared by the owner behind the type.

- dates and times: a pattern, ``DATE '%d.%m.%Y'``, ``TIMESTAMP '%m/%d/%Y %I:%M %p'``. Its parts are those of `_PARTS`;
  a year is written with four digits, or as ``%y`` with two (69 to 99 are years of the last century), names of months
  in English, all in any case. The pattern has all that the type has, and nothing else, so that nothing is lost.
- numbers: a number written so, ``DECIMAL(12,2) '1.234,56'``. Its last sign that is no digit is the one before the
  fraction (of whole numbers there is none), the other one may stand between groups of three
  digits, between all or none.
- truth values: both words, ``BOOLEAN 'ja/nein'``, in any case.
- any type: texts that are NULL in this column, ``INTEGER NULLS '-999' '-'``, also
  behind a format.

What is not written so is NULL, also if it is written as the type says. Blanks around it do not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from sqlglot import exp, tokenize
from sqlglot.errors import SqlglotError

_PARTS = {
    "%Y": "[0-9]{4}", "%y": "[0-9]{2}", "%m": "[0-9]{1,2}", "%d": "[0-9]{1,2}", "%b": "[A-Za-z]{3}", "%B": "[A-Za-z]+",
    "%H": "[0-9]{1,2}", "%I": "[0-9]{1,2}", "%M": "[0-9]{1,2}", "%S": "[0-9]{1,2}", "%f": "[0-9]{1,6}",
    "%p": "[AaPp][Mm]", "%z": "[+-](?:0[0-9]|1[0-5])(?::?[0-5][0-9])?", "%%": "%",
}  # fmt: skip
_PART = re.compile("%.?|[^%]+", re.DOTALL)
_YEARS, _MONTHS, _DAYS, _HOURS = ({"%Y", "%y"}, {"%m", "%b", "%B"}, {"%d"}, {"%H", "%I"})
_CLOCK = _HOURS | {"%M", "%S", "%f", "%p"}
_DATED = ("DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP WITH TIME ZONE")
_ZONED = "TIMESTAMP WITH TIME ZONE"
_SAMPLE = re.compile(r"[0-9]+(?:([.,'_ \u00a0\u202f])[0-9]{3})*(?:([.,])[0-9]*)?")
NULLS = "NULLS"
_WORDS = re.compile(r"([^/\s]+)/([^/\s]+)")


class Declared(NamedTuple):
    """What is declared of a column.

    Attributes
    ----------
    kind : str
        Its SQL type.
    written : str or None
        The format in quotes behind it.
    nulls : tuple of str
        Texts that are NULL, ascending, without blanks around them.
    """

    kind: str
    written: str | None = None
    nulls: tuple[str, ...] = ()

    @property
    def state(self) -> object:
        """What a ledger knows of it beside the type, ready for JSON; None where that is nothing."""
        return [self.written, *self.nulls] if self.nulls else self.written


def split_declared(declared: str) -> Declared:
    """Part what is declared of a column: its type, then a format, then `NULLS` and texts."""
    try:
        tokens = tokenize(declared, dialect="duckdb")
    except SqlglotError:
        return Declared(declared)
    texts = len(tokens)
    while texts > 1 and tokens[texts - 1].token_type.name == "STRING":
        texts -= 1
    nulls: tuple[str, ...] = ()
    if texts < len(tokens) and tokens[texts - 1].text.upper() == NULLS and texts > 1:
        nulls = tuple(sorted({token.text.strip(" \t") for token in tokens[texts:]}))
        declared, tokens = declared[: tokens[texts - 1].start].rstrip(), tokens[: texts - 1]
    last = tokens[-1]
    if last.token_type.name != "STRING" or len(tokens) == 1:
        return Declared(declared, None, nulls)
    kind = declared[: last.start].rstrip()
    return Declared(kind.removesuffix("FORMAT").rstrip(), last.text, nulls)


def format_problem(kind: str, written: str) -> str | None:
    """Say why values of a type, in DuckDB's spelling, are not written so; None if they may be."""
    if kind in (*_DATED, "TIME"):
        return _pattern_problem(kind, [each for each in _PART.findall(written) if each.startswith("%")])
    if kind == "BOOLEAN":
        words = _WORDS.fullmatch(written.lower())
        good = words is not None and words[1] != words[2]
        return None if good else "expected the words for true and false, such as 'ja/nein'"
    if _is_number(kind):
        return None if _signs(kind, written) is not None else "expected a number that is written so, such as '1.234,56'"
    return f"no format is declared for {kind}; dates, times, numbers and BOOLEAN may have one"


def _pattern_problem(kind: str, parts: list[str]) -> str | None:
    used = [part for part in parts if part != "%%"]
    found = set(used)
    unknown = sorted(found - _PARTS.keys())
    days = [len(found & group) for group in (_YEARS, _MONTHS, _DAYS)]
    steps = [part in found for part in ("%M", "%S", "%f")]
    has_clock = kind == "TIME" or bool(found & _CLOCK)
    hours_fit = len(found & _HOURS) == 1 and ("%I" in found) == ("%p" in found)
    problems = {
        f"{''.join(unknown[:1])!r} is no part of a pattern; known are {', '.join(_PARTS)}": bool(unknown),
        "a part occurs twice in it": len(found) < len(used),
        "a TIME has no day and no offset": kind == "TIME" and (any(days) or "%z" in found),
        "it needs one year (%Y or %y), one month (%m, %b or %B) and one day (%d)": kind != "TIME" and days != [1, 1, 1],
        "a DATE has no time of day, which would be lost: declare TIMESTAMP": kind == "DATE" and has_clock,
        "TIMESTAMP_S has no fractions, which would be lost: declare TIMESTAMP": kind == "TIMESTAMP_S" and "%f" in found,
        "it has %z where the type has a time zone, and only there": (kind == _ZONED) != ("%z" in found),
        "it needs hours, %H, or %I with %p": has_clock and not hours_fit,
        "it has parts of a time without the larger ones": steps != sorted(steps, reverse=True),
    }
    return next((words for words, is_so in problems.items() if is_so), None)


def _is_number(kind: str) -> bool:
    return kind in ("FLOAT", "DOUBLE") or kind.startswith("DECIMAL(") or kind.endswith(("INT", "INTEGER"))


def _signs(kind: str, sample: str) -> tuple[str, str] | None:
    """Return the sign between groups and the one before the fraction, empty where there is none."""
    found = _SAMPLE.fullmatch(sample)
    if found is None:
        return None
    groups, point = found[1] or "", found[2] or ""
    has_fraction = kind in ("FLOAT", "DOUBLE") or kind.startswith("DECIMAL(")
    if not has_fraction:
        return (groups, "") if not point else None
    if groups and not point:  # 1,234 of a type with fractions: its only sign is the one before the fraction
        return ("", groups) if groups in ".," and sample.count(groups) == 1 else (groups, "")
    return (groups, point) if groups != point else None


def as_written(text: exp.Expr, kind: str, written: str) -> exp.Expr:
    """Read a text in a declared format as the text that `typed` reads, or as the value itself; NULL where it is not so.

    Parameters
    ----------
    kind
        Its type, whose format has no problem.
    """
    bare = _called("trim", text.copy(), " \t")
    if kind == "BOOLEAN":
        yes, no = written.lower().split("/")
        word = exp.Lower(this=bare)
        answers = ((yes, exp.true()), (no, exp.false()))
        return exp.Case(
            ifs=[exp.If(this=word.copy().eq(exp.Literal.string(text)), true=said) for text, said in answers]
        )
    if _is_number(kind):
        return _plain_number(bare, kind, written)
    looks = "".join(_looks(written))
    value = exp.Anonymous(this="try_strptime", expressions=[bare, exp.Literal.string(written)])
    return exp.Case(ifs=[exp.If(this=_is_whole(bare, looks), true=value)])


def _looks(pattern: str) -> Iterator[str]:
    """Give the parts as regular expressions. Digits right behind others are two: 2025111 would be two days."""
    parts = _PART.findall(pattern)
    digits = [_PARTS.get(part, "").startswith("[0-9]") for part in parts]
    for at, part in enumerate(parts):
        beside = any(digits[max(at - 1, 0) : at]) or any(digits[at + 1 : at + 2])
        looks = _PARTS[part] if part.startswith("%") else re.escape(part)
        yield looks.replace("{1,2}", "{2}") if beside else looks


def _plain_number(bare: exp.Expr, kind: str, written: str) -> exp.Expr:
    groups, point = _signs(kind, written) or ("", "")
    front = rf"(?:[0-9]+|[0-9]{{1,3}}(?:{re.escape(groups)}[0-9]{{3}})+)" if groups else "[0-9]+"
    behind = rf"(?:{re.escape(point)}[0-9]*)?" if point else ""
    exponent = "(?:[eE][+-]?[0-9]+)?" if kind in ("FLOAT", "DOUBLE") else ""
    number = _called("replace", bare.copy(), groups, "") if groups else bare.copy()
    number = _called("replace", number, point, ".") if point not in ("", ".") else number
    return exp.Case(ifs=[exp.If(this=_is_whole(bare, f"[+-]?{front}{behind}{exponent}"), true=number)])


def _is_whole(text: exp.Expr, pattern: str) -> exp.Expr:
    return _called("regexp_full_match", text.copy(), pattern)


def _called(function: str, text: exp.Expr, *texts: str) -> exp.Expr:
    return exp.Anonymous(this=function, expressions=[text, *map(exp.Literal.string, texts)])
