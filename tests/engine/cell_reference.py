"""One cell to a value of a declared type, character by character: what `dpdb.sources.cells.typed` says in words.

Values are what `SHOWN` makes of the engine's: whole numbers for moments (ticks since 1970), days, and times of day.
"""

from __future__ import annotations

import math
import struct
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

DIGITS = "0123456789"
BITS = {"TINYINT": 8, "SMALLINT": 16, "INTEGER": 32, "BIGINT": 64, "HUGEINT": 128}
PLACES = {
    "TIMESTAMP_S": 0, "TIMESTAMP_MS": 3, "TIMESTAMP": 6, "TIMESTAMP_NS": 9, "TIMESTAMP WITH TIME ZONE": 6,
    "TIMESTAMPTZ_NS": 9,
}  # fmt: skip
SHOWN = {
    "DATE": "date_diff('day', DATE '1970-01-01', {})",
    "TIME": "{}::VARCHAR",
    "TIME WITH TIME ZONE": "{}::VARCHAR",
    "INTERVAL": "CASE WHEN {0} IS NOT NULL THEN [datepart('year', {0}) * 12 + datepart('month', {0}), "
    "datepart('day', {0}), datepart('hour', {0}) * 3600000000 + datepart('minute', {0}) * 60000000 + "
    "datepart('microsecond', {0})] END",
    "UUID": "{}::VARCHAR",
    "BIT": "{}::VARCHAR",
    "FLOAT": "{}::DOUBLE",
    **{kind: "epoch_us({}::TIMESTAMP)" if places < 6 else "epoch_us({})" for kind, places in PLACES.items()},
    "TIMESTAMP_NS": "epoch_ns({})",
    "TIMESTAMPTZ_NS": "epoch_ns({})",
}


def value(kind: str, cell: str) -> Any:
    """The value of a cell, None if it has none of the type."""
    text = cell.strip(" \t")
    if kind.removeprefix("U") in BITS:
        return whole(kind, text)
    if kind.startswith("DECIMAL("):
        return decimal(kind, text)
    if kind in ("FLOAT", "DOUBLE"):
        return nearest(kind, text)
    if kind in PLACES:
        return moment(kind, text)
    return {
        "BOOLEAN": truth, "DATE": day_number, "TIME": time_text, "TIME WITH TIME ZONE": zoned_time, "INTERVAL": span,
        "UUID": uuid, "BIT": lambda bits: bits if bits and set(bits) <= {"0", "1"} else None,
    }[kind](text)  # fmt: skip


def all_digits(text: str, length: int | None = None) -> bool:
    return text != "" and all(each in DIGITS for each in text) and length in (None, len(text))


def unsigned(text: str) -> str:
    return text[1:] if text[:1] in ("+", "-") else text


def whole(kind: str, text: str) -> int | None:
    if not all_digits(unsigned(text)):
        return None
    bits, number = BITS[kind.removeprefix("U")], int(text)
    low, high = (0, 2**bits) if kind[0] == "U" else (-(2 ** (bits - 1)), 2 ** (bits - 1))
    return number if low <= number < high else None


def exact(text: str) -> Fraction | None:
    """A number with a point or none."""
    front, _, behind = unsigned(text).partition(".")
    if not all_digits(front + behind):
        return None
    size = Fraction(int(front + behind), 10 ** len(behind))
    return -size if text[0] == "-" else size


def decimal(kind: str, text: str) -> Decimal | None:
    width, scale = map(int, kind[len("DECIMAL(") : -1].split(","))
    number = exact(text)
    if number is None or (number * 10**scale).denominator != 1 or abs(number) >= 10 ** (width - scale):
        return None
    size = int(number * 10**scale)
    return Decimal((int(size < 0), tuple(map(int, str(abs(size)))), -scale))


def nearest(kind: str, text: str) -> float | None:
    if unsigned(text).lower() in ("inf", "infinity"):
        return -math.inf if text[0] == "-" else math.inf
    at = next((place for place, each in enumerate(text) if each in "eE"), len(text))
    mantissa, exponent = text[:at], text[at + 1 :]
    number = exact(mantissa)
    if number is None or (at < len(text) and not all_digits(unsigned(exponent))):
        return None
    found = float(text)
    if kind == "FLOAT" and math.isfinite(found):
        try:
            found = struct.unpack("<f", struct.pack("<f", found))[0]
        except OverflowError:
            return None
    return None if math.isinf(found) or (found == 0 and number != 0) else found


def truth(text: str) -> bool | None:
    word = text.lower()
    if word in ("true", "t", "yes", "y", "1"):
        return True
    return False if word in ("false", "f", "no", "n", "0") else None


def days_before(year: int) -> int:
    """Days from the first of January of year 0 to that of a year."""
    return 365 * year + sum(1 for each in range(year) if is_leap(each))


def is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


MONTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
BEFORE = [days_before(0)]
for _year in range(10_000):
    BEFORE.append(BEFORE[-1] + 365 + is_leap(_year))


def day_number(text: str) -> int | None:
    parts = text.split("-")
    if len(parts) != 3 or not all(map(all_digits, parts, (4, 2, 2))):
        return None
    year, month, day = map(int, parts)
    lengths = [length + (at == 1 and is_leap(year)) for at, length in enumerate(MONTHS)]
    if not (1 <= month <= 12 and 1 <= day <= lengths[month - 1]):
        return None
    return BEFORE[year] + sum(lengths[: month - 1]) + day - 1 - BEFORE[1970]


def ticks(text: str, places: int, *, seconds: bool = False) -> int | None:
    """A time of day in the smallest unit of a type."""
    clock, point, fraction = text.partition(".")
    parts = clock.split(":")
    if len(parts) not in ((3,) if seconds or point else (2, 3)) or not all(all_digits(part, 2) for part in parts):
        return None
    hour, minute, second = map(int, [*parts, "0"][:3])
    if hour > 23 or minute > 59 or second > 59:
        return None
    if point and (not all_digits(fraction) or fraction[places:].strip("0")):
        return None
    return (hour * 3600 + minute * 60 + second) * 10**places + int((fraction[:places]).ljust(places, "0") or "0")


def clock_text(micros: int) -> str:
    seconds, rest = divmod(micros, 10**6)
    shown = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return shown + (f".{rest:06}".rstrip("0") if rest else "")


def time_text(text: str) -> str | None:
    found = ticks(text, 6)
    return None if found is None else clock_text(found)


def without_offset(text: str) -> tuple[str, int] | None:
    """What stands before the offset, and the offset in minutes."""
    for name in ("Z", " UTC"):
        if text.endswith(name):
            return text[: -len(name)], 0
    at = max(text.rfind("+"), text.rfind("-"))
    before, digits = text[:at], text[at + 1 :]
    if at < 0 or ":" not in before:
        return None
    hours, minutes = digits[:2], digits[2:].removeprefix(":") if len(digits) > 3 else digits[2:]
    if not all_digits(hours, 2) or not (minutes == "" or all_digits(minutes, 2)) or digits.endswith(":"):
        return None
    if int(hours) > 15 or int(minutes or "0") > 59:
        return None
    size = int(hours) * 60 + int(minutes or "0")
    return before.removesuffix(" ") if text[at - 1] == " " else before, -size if text[at] == "-" else size


def zoned_time(text: str) -> str | None:
    found = without_offset(text)
    at = None if found is None else ticks(found[0], 6, seconds=True)
    if found is None or at is None:
        return None
    hours, minutes = divmod(abs(found[1]), 60)
    return clock_text(at) + ("-" if found[1] < 0 else "+") + f"{hours:02}" + (f":{minutes:02}" if minutes else "")


def moment(kind: str, text: str) -> int | None:
    offset = 0
    if kind in ("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ_NS"):
        found = without_offset(text)
        if found is None or len(found[0]) < 11:
            return None
        text, offset = found
    day, places = day_number(text[:10]), PLACES[kind]
    at = 0 if len(text) == 10 else ticks(text[11:], places) if text[10:11] in ("T", " ") and text[11:] else None
    if day is None or at is None:
        return None
    count = (day * 86_400 - offset * 60) * 10**places + at
    if places == 9:
        return count if -(2**63) + 10**15 < count < 2**63 - 10**15 else None  # near the ends DuckDB has none
    return count * 10 ** (6 - places)


UNITS = {
    "year": (12, 0, 0), "mon": (1, 0, 0), "month": (1, 0, 0), "week": (0, 7, 0), "day": (0, 1, 0),
    "hour": (0, 0, 3600 * 10**6), "min": (0, 0, 60 * 10**6), "minute": (0, 0, 60 * 10**6), "sec": (0, 0, 10**6),
    "second": (0, 0, 10**6), "millisecond": (0, 0, 1000), "microsecond": (0, 0, 1),
}  # fmt: skip


def span(text: str) -> list[int] | None:
    words = [word for word in text.split(" ") if word]
    total = [0, 0, 0]
    if words and ":" in words[-1]:
        clock = words.pop()
        size = clock.removeprefix("-").split(":")
        micros = ticks(":".join(["00", *size[1:]]), 6)
        if not all_digits(size[0]) or micros is None:
            return None
        micros += int(size[0]) * 3600 * 10**6
        total[2] = -micros if clock[0] == "-" else micros
    elif not words:
        return None
    if len(words) % 2 or any(each == "" for each, _ in pairwise(words)):
        return None
    for number, unit in zip(words[::2], words[1::2], strict=True):
        size_of = UNITS.get(unit.lower(), UNITS.get(unit.lower().removesuffix("s")))
        if size_of is None or not all_digits(number.removeprefix("-")):
            return None
        for place, one in enumerate(size_of):
            total[place] += int(number) * one
    return total if "\t" not in text and abs(total[0]) < 2**31 and abs(total[1]) < 2**31 else None


def uuid(text: str) -> str | None:
    parts = text.lower().split("-")
    if [*map(len, parts)] not in ([8, 4, 4, 4, 12], [32]) or not set("".join(parts)) <= set("0123456789abcdef"):
        return None
    digits = "".join(parts)
    return "-".join(digits[low:high] for low, high in pairwise((0, 8, 12, 16, 20, 32)))
