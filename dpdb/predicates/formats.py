"""Regular expressions and named formats of text.

A regular expression is one of RE2, which takes time in proportion to the text; it is found anywhere in the text. `$` is
the end of the text alone, and `.` no line break.

Each named format is a regular expression that the whole text matches, so its time is linear, too. Of IBAN and of
Luhn's numbers the check digits are computed besides. All read their own text alone, and are defined for every text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from string import ascii_uppercase
from typing import NamedTuple

from sqlglot import exp

from dpdb.constraints import shortened
from dpdb.errors import PredicateError
from dpdb.names import nearest_words

LONGEST_PATTERN = 1000
"""Characters of a regular expression; RE2 refuses those that would be large when they are compiled."""


class Format(NamedTuple):
    """The regular expression of whole texts, its source for people, and whether check digits are computed."""

    pattern: str
    source: str
    is_checked: bool = False


_LABEL = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_BYTE = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_DAY, _LONG, _SHORT = "(?:0[1-9]|[12][0-9]|3[01])", "(?:0[13578]|1[02])", "(?:0[469]|11)"
_LEAP_YEAR = "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)"
_SIGN = r"(?:[a-zA-Z0-9._~!$&'()*+,;=:-]|%[0-9a-fA-F]{2})"
_FREE = r"(?:[a-zA-Z0-9._~!$&'()*+,;=:@/?-]|%[0-9a-fA-F]{2})*"

FORMATS: dict[str, Format] = {
    "email": Format(
        rf"[a-zA-Z0-9.!#$%&'*+/=?^_`{{|}}~-]+@{_LABEL}(?:\.{_LABEL})+", "HTML's email fields, and a dot in the domain"
    ),
    "uuid": Format("[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}", "RFC 9562"),
    "iso_date": Format(
        f"(?:[0-9]{{4}}-(?:{_LONG}-{_DAY}|{_SHORT}-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))"
        f"|{_LEAP_YEAR}-02-29)",
        "ISO 8601: a day of the calendar as YYYY-MM-DD",
    ),
    "url": Format(
        rf"[a-zA-Z][a-zA-Z0-9+.-]*://(?:{_SIGN}*@)?(?:\[[0-9a-fA-F:.]+\]|(?:[a-zA-Z0-9._~!$&'()*+,;=-]|%[0-9a-fA-F]{{2}})+)"
        rf"(?::[0-9]*)?(?:/(?:{_SIGN}|[@/])*)?(?:\?{_FREE})?(?:#{_FREE})?",
        "RFC 3986: a scheme, `://` and a host, in ASCII",
    ),
    "ipv4": Format(rf"(?:{_BYTE}\.){{3}}{_BYTE}", "RFC 3986, section 3.2.2: no leading zeros"),
    "e164": Format(r"\+[1-9][0-9]{1,14}", "ITU-T E.164: `+` and 2 to 15 digits"),
    "iban": Format("[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]){11,30}", "ISO 13616; spaces between are passed over", True),
    "luhn": Format("[0-9](?:[ -]?[0-9]){1,29}", "ISO/IEC 7812-1; spaces and hyphens between are passed over", True),
}
_OTHER_NAMES = {"isodate": "iso_date", "date": "iso_date", "phone": "e164", "phonee164": "e164", "creditcard": "luhn"}


def known_format(said: str) -> str:
    """Return the format of a name, in which case, spaces and punctuation do not count."""
    plain = "".join(character for character in said.lower() if character.isalnum())
    name = _OTHER_NAMES.get(plain, plain)
    if name not in FORMATS:
        near = nearest_words(said.lower(), FORMATS)
        raise PredicateError(f"where: no format is called {shortened(said)}{near}")
    return name


def refuse_pattern(pattern: str, problem_of: Callable[[str], str | None]) -> None:
    """Refuse what is no regular expression.

    Parameters
    ----------
    problem_of
        Says why an engine reads no expression in it; None if it does.
    """
    if len(pattern) > LONGEST_PATTERN:
        raise PredicateError(f"where: a regular expression has at most {LONGEST_PATTERN} characters")
    if (problem := problem_of(pattern)) is not None:
        raise PredicateError(f"where: {shortened(pattern)} is no regular expression of RE2: {problem}")


_TOKEN = re.compile(
    r"\\Q(?P<quoted>.*?)(?:\\E|\Z)|(?P<script>\\[pP](?:\{[^}]*\}|.))|\\x\{[^}]*\}|\\."
    r"|(?P<listed>\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\])|(?P<open>\()|(?P<close>\))"
    r"|\{(?P<least>\d+)(?:,(?P<most>\d*))?\}|.",
    re.DOTALL,
)
_SCRIPT = re.compile(r"\\[pP]")
_OF_SCRIPT = 500  # ranges of such a class, in UTF-8, with those of the largest
MOST_PIECES = 30_000


def pieces_of(pattern: str) -> int:
    r"""Return in how many pieces a regular expression is compiled, roughly and at least.

    What is repeated `{m,n}` times stands n times in the compiled expression, and a class such as `\p{L}` has hundreds
    of ranges. Source: RE2, `Regexp::Simplify` and `Compiler`.
    """
    sums, last = [0], 0
    for found in _TOKEN.finditer(pattern):
        kind = found.lastgroup
        if kind == "open":
            sums.append(0)
            continue
        if kind in ("least", "most"):
            times = max(int(found["most"] or found["least"]), 1) - 1
            sums[-1] += last * times
            last *= times + 1
            continue
        if kind == "close":
            last = sums.pop()
            sums = sums or [0]
        elif kind in ("script", "listed"):
            last = 1 + _OF_SCRIPT * len(_SCRIPT.findall(found[0]))
        else:
            last = 1 if kind is None else len(found["quoted"])
        sums[-1] += last
    return sum(sums)


def refuse_large(pattern: str) -> None:
    """Refuse a regular expression whose compiled form is large, before anything is compiled; raises `PredicateError`.

    RE2 takes time in proportion to the text and to that form: without a bound a few characters cost seconds.
    """
    if (pieces := pieces_of(pattern)) > MOST_PIECES:
        raise PredicateError(
            f"where: {shortened(pattern)} repeats large classes: it is compiled to about {pieces:,} pieces, at most "
            f"{MOST_PIECES:,}; write `+` instead of a count, and compare length(...)"
        )


def refuse_unread(said: str, *, is_format: bool) -> None:
    """Refuse what is no expression, or no format, for every table. Errors as `refuse_pattern` and `known_format`."""
    if is_format:
        known_format(said)
    else:
        refuse_pattern(said, re2_problem)


def re2_problem(pattern: str) -> str | None:
    """Say why RE2 reads no regular expression in a text, in the words of pyarrow's copy; None if it does."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        pc.match_substring_regex(pa.array([""]), pattern)
    except pa.ArrowInvalid as error:
        return str(error).removeprefix("Invalid regular expression: ")
    return None


def whole(pattern: str) -> str:
    r"""Return the expression that a text matches as a whole; it must be one by itself, not such as ``a)|(b``."""
    return rf"\A(?:{pattern})\z"


def check_digits(name: str, text: exp.Expr) -> exp.Expr:
    """Write whether the check digits of a text that matches its format are right; of NULL NULL, else anything."""
    return _is_iban(text) if name == "iban" else _is_luhn(text)


def _is_iban(text: exp.Expr) -> exp.Expr:
    """Write whether the number that ISO 7064's MOD 97-10 makes of a text leaves 1.

    The first four signs go to the end, and each letter counts 10 to 35. That are at most 66 digits: those before the
    last 30 fit in 128 bits, and 10^30 is `10**30 % 97` modulo 97. Casts that fail give NULL.
    """
    plain = _function("replace", text, _text(" "), _text(""))
    digits = _joined(_function("substr", plain, _number(5)), _function("substr", plain, _number(1), _number(4)))
    for value, letter in enumerate(ascii_uppercase, start=10):
        digits = _function("replace", digits, _text(letter), _text(str(value)))
    high = _function("left", digits, exp.Neg(this=_number(_LOW)))
    left, right = (_remainder(part) for part in (high, _function("right", digits, _number(_LOW))))
    total = exp.Add(this=exp.Mul(this=left, expression=_number(10**_LOW % 97)), expression=right)
    return exp.EQ(this=exp.Mod(this=exp.paren(total), expression=_number(97)), expression=_number(1))


_LOW = 30


def _remainder(digits: exp.Expr) -> exp.Expr:
    """Write a number of at most 38 digits modulo 97; that of no digits is 0, and of NULL it is NULL."""
    number = exp.TryCast(this=_joined(_text("0"), digits), to=exp.DataType.build("INT128", dialect="duckdb"))
    return exp.Mod(this=number, expression=_number(97))


def _is_luhn(text: exp.Expr) -> exp.Expr:
    """Write whether the digits, every second from the right but one doubled and cast out nines, have a sum of tens.

    Zeros in front bring all to 32 digits, so that pairs of digits can be parted. A digit's share of the sum is how
    often it occurs: by how much the text shortens without it.
    """
    plain = _function("replace", _function("replace", text, _text(" "), _text("")), _text("-"), _text(""))
    padded = _function("lpad", plain, _number(32), _text("0"))
    doubled, kept = (
        _function("regexp_replace", padded, _text("(.)(.)"), _text(rf"\{place}"), _text("g")) for place in (1, 2)
    )
    doubled = _function("translate", doubled, _text("0123456789"), _text("0246813579"))
    digits = _joined(doubled, kept)
    total: exp.Expr = _number(0)
    for digit in range(1, 10):
        without = _function("length", _function("replace", digits, _text(str(digit)), _text("")))
        times = exp.paren(exp.Sub(this=_function("length", digits), expression=without))
        total = exp.Add(this=total, expression=exp.Mul(this=_number(digit), expression=times))
    return exp.EQ(this=exp.Mod(this=exp.paren(total), expression=_number(10)), expression=_number(0))


def _function(name: str, *parts: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=[part.copy() for part in parts])


def _joined(one: exp.Expr, other: exp.Expr) -> exp.Expr:
    """Write two texts as one; unlike `concat` it is NULL where one of them is."""
    return exp.paren(exp.DPipe(this=one.copy(), expression=other.copy(), safe=True))


def _text(value: str) -> exp.Expr:
    return exp.Literal.string(value)


def _number(value: int) -> exp.Expr:
    return exp.Literal.number(value)
