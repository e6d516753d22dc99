"""Values that a client sends for `$1`, `$2`, ...: from text or binary to values that become literals."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable

from dpdb.doors.server.postgres.values import BY_OID, ELEMENTS, TIMES, single_text
from dpdb.doors.server.postgres.wire import Reading, WireError, utf8
from dpdb.doors.sql import Numeral, ParameterType, Value

OIDS: dict[ParameterType, int] = {
    "BIGINT": 20, "DOUBLE": 701, "DECIMAL": 1700, "BOOLEAN": 16, "DATE": 1082, "TIMESTAMP": 1114, "TIMESTAMPTZ": 1184,
    "TEXT": 25,
}  # fmt: skip
"""The type that a client is told of a parameter."""
_TYPES: dict[int, ParameterType] = {oid: name for name, oid in OIDS.items()} | {
    21: "BIGINT", 23: "BIGINT", 26: "BIGINT", 700: "DOUBLE",
}  # fmt: skip
_UUID, _UUID_BYTES = 2950, 16
_TEXTS = frozenset((0, 18, 19, 25, 114, 705, 1042, 1043, 3802))
_ELEMENTS = ELEMENTS | {1014: 1042, 1015: 1043}
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,4})?", re.ASCII)
_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
_BOOLEANS = {"t": True, "true": True, "y": True, "yes": True, "on": True, "1": True,
             "f": False, "false": False, "n": False, "no": False, "off": False, "0": False}  # fmt: skip
_MOST_ELEMENTS = 10_000
_ITEM = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|([^,{}"\\\s](?:[^,{}"\\]*[^,{}"\\\s])?))\s*(,|$)', re.DOTALL)


def parameter_type(oid: int) -> ParameterType:
    """Return the type of a parameter by the number that the client gave; of arrays, of their elements."""
    return _TYPES.get(_ELEMENTS.get(oid, oid), "TEXT")


def read_value(content: bytes | None, oid: int, form: int) -> Value:
    """Read a value.

    Parameters
    ----------
    content
        None for NULL.
    form
        0 for text, 1 for binary.
    """
    if content is None:
        return None
    if form not in (0, 1):
        raise WireError("08P01", "a format is 0 or 1")
    return _from_binary(content, oid) if form == 1 else _from_text(utf8(content), oid)


def _invalid(text: str, what: str) -> WireError:
    shown = text if len(text) <= 40 else f"{text[:40]}..."
    return WireError("22P02", f"{shown!r} is not {what}")


def _from_text(text: str, oid: int) -> Value:
    if oid in _ELEMENTS:
        return [None if one is None else _element(_from_text(one, _ELEMENTS[oid])) for one in _items(text)]
    kind = parameter_type(oid)
    plain = text.strip()
    if kind == "BOOLEAN":
        if plain.lower() not in _BOOLEANS:
            raise _invalid(text, "true or false")
        return _BOOLEANS[plain.lower()]
    if kind in ("BIGINT", "DOUBLE", "DECIMAL"):
        if kind != "BIGINT" and plain.lower().lstrip("+-") in ("nan", "inf", "infinity"):
            return plain
        if not (_WHOLE if kind == "BIGINT" else _NUMBER).fullmatch(plain) or len(plain) > 400:
            raise _invalid(text, "a whole number" if kind == "BIGINT" else "a number")
        return _numeral(plain)
    return text


def _numeral(text: str) -> Numeral:
    sign, digits = ("-" if text.startswith("-") else ""), text.lstrip("+-")
    return Numeral(sign + ("0" if digits.startswith(".") else "") + digits)


def _element(value: Value) -> str | bool | Numeral | None:
    if isinstance(value, list):
        raise WireError("0A000", "a parameter is a value or a list of values, not a list of lists")
    return value


def _items(text: str) -> list[str | None]:
    """Split PostgreSQL's text of an array of one dimension."""
    plain = text.strip()
    if not (plain.startswith("{") and plain.endswith("}")):
        raise _invalid(text, "an array such as {CA,NY}")
    inside, place = plain[1:-1], 0
    found: list[str | None] = []
    while place < len(inside):
        item = _ITEM.match(inside, place)
        if item is None or len(found) >= _MOST_ELEMENTS or (item[3] and item.end() == len(inside)):
            raise _invalid(text, "an array of one dimension")
        bare = item[2]
        quoted = None if item[1] is None else re.sub(r"\\(.)", r"\1", item[1], flags=re.DOTALL)
        found.append(quoted if bare is None else None if bare.upper() == "NULL" else bare)
        place = item.end()
    return found


def _from_binary(content: bytes, oid: int) -> Value:
    if oid in _TEXTS:
        return utf8(content[1:] if oid == 3802 else content)
    if oid in _ELEMENTS:
        return _array(content)
    if oid not in _BINARY:
        raise WireError("0A000", f"a parameter of the type {oid} is not read in binary: send it as text")
    size = _UUID_BYTES if oid == _UUID else BY_OID[oid].size
    if size not in (-1, len(content)):
        raise WireError("22P03", f"a value has {len(content)} bytes, which its type {oid} has not")
    return _BINARY[oid](content)


def _array(content: bytes) -> Value:
    reading = Reading(content)
    dimensions, _, oid = reading.whole(), reading.whole(), reading.whole()
    if not dimensions:
        return []
    count, _ = reading.whole(), reading.whole()
    if dimensions != 1 or not 0 <= count <= _MOST_ELEMENTS:
        raise WireError("0A000", "a parameter is a value or a list of values, not a list of lists")
    found = []
    for _ in range(count):
        one = reading.sized()
        found.append(None if one is None else _element(_from_binary(one, oid)))
    return found


def _whole(content: bytes) -> Numeral:
    return Numeral(int.from_bytes(content, "big", signed=True))


def _float(content: bytes) -> Value:
    value: float = struct.unpack("!f" if len(content) == 4 else "!d", content)[0]
    if not math.isfinite(value):
        return repr(value)
    return Numeral(single_text(value) if len(content) == 4 else repr(value))


def _numeric(content: bytes) -> Value:
    reading = Reading(content)
    count, weight, sign, scale = (reading.short() for _ in range(4))
    if sign & 0xFFFF not in (0, 0x4000) or not 0 <= count <= 100 or abs(weight) > 100 or not 0 <= scale <= 400:
        raise WireError("22P03", "a number is not finite, or too long")
    digits = [reading.short() for _ in range(count)]
    if not all(0 <= digit < 10_000 for digit in digits):
        raise WireError("22P03", "a number is malformed")
    whole = "".join(f"{digits[place] if place < count else 0:04}" for place in range(weight + 1)).lstrip("0") or "0"
    part = "".join(
        f"{digits[place] if 0 <= place < count else 0:04}" for place in range(weight + 1, weight + 2 + scale // 4)
    )[:scale]
    return Numeral(("-" if sign else "") + whole + (f".{part}" if part else ""))


def _uuid(content: bytes) -> Value:
    text = content.hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


_BINARY: dict[int, Callable[[bytes], Value]] = {
    16: lambda content: content != b"\0",
    20: _whole, 21: _whole, 23: _whole, 26: lambda content: Numeral(int.from_bytes(content, "big")),
    700: _float, 701: _float, 1700: _numeric,
    **TIMES, _UUID: _uuid,
}  # fmt: skip
