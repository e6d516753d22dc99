"""Random tables and predicates over the whole grammar of `where`, for every type of column that dpdb keeps.

Values and literals come from one pool per type, with the ends of its range, NaN, infinities, -0.0 and close neighbours,
so that rows often lie exactly at, just below and just above what a predicate names.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from random import Random

INTEGERS = {
    "TINYINT": (-(2**7), 2**7 - 1),
    "SMALLINT": (-(2**15), 2**15 - 1),
    "INTEGER": (-(2**31), 2**31 - 1),
    "BIGINT": (-(2**63), 2**63 - 1),
    "HUGEINT": (-(2**127), 2**127 - 1),
    "UTINYINT": (0, 2**8 - 1),
    "USMALLINT": (0, 2**16 - 1),
    "UINTEGER": (0, 2**32 - 1),
    "UBIGINT": (0, 2**64 - 1),
    "UHUGEINT": (0, 2**128 - 1),
}
DECIMALS = [
    "DECIMAL(4,2)", "DECIMAL(9,9)", "DECIMAL(18,3)", "DECIMAL(20,10)", "DECIMAL(38,0)", "DECIMAL(38,2)",
    "DECIMAL(38,20)", "DECIMAL(38,38)",
]  # fmt: skip
FLOATS = ["FLOAT", "DOUBLE"]
NUMBERS = [*INTEGERS, *DECIMALS, *FLOATS]
MOMENTS = [
    "DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ_NS"
]  # fmt: skip
TEXTS = ["VARCHAR", "ENUM('a', 'A', 'b', '1', '', 't')", "JSON"]
OTHERS = ["BOOLEAN", "UUID", "BLOB", "BIT", "TIME", "TIME WITH TIME ZONE", "INTERVAL"]
KINDS = [*NUMBERS, *MOMENTS, *TEXTS, *OTHERS]

_POWERS = [2**53, 2**60, 10**18, 10**20, 10**30, 2**63, 2**64, 2**100, 2**126, 2**127, 2**128]
_WHOLE = [0, 1, 2, 3, 5, 100, 2**24, *_POWERS]
_STEPS = [-(10**9), -1025, -3, -2, -1, 0, 1, 2, 3, 60, 1025, 10**9]
_FRACTIONS = [
    "0.1", "0.5", "1.5", "0.015", "2.25", "99.99", "12345.678", "0.30000000000000004", "100000000000000000000.25",
    "0.12345678901234567890123456789012345678", "1e-38", "3e-5", "1e37", "9007199254740992.5", "0.000000001",
]  # fmt: skip
_REALS = [
    "nan", "-nan", "inf", "-inf", "-0.0", "0", "0.1", "0.5", "1", "1.5", "16777216", "16777217", "1.00000011920929",
    "1.0000000596", "5e-324", "-5e-324", "1e-45", "1.7976931348623157e308", "3.4028234663852886e38", "1e30", "3e-5",
    "9007199254740993", "0.30000000000000004", "1e-400", "123456789.123456789", "-0.1", "-0.5", "-1", "-1.5",
    "-16777217", "-3e-5", "-1e30", "-3.4028234663852886e38",
]  # fmt: skip
_MOMENT_VALUES = [
    "2020-01-01", "2020-01-02", "2019-12-31", "1970-01-01", "0001-01-01", "9999-12-31", "10000-01-01", "infinity",
    "-infinity", "0044-03-15 (BC)", "0045-03-15 (BC)", "20200-01-01", "2020-01-01 00:00:00.000001",
    "2020-01-01 00:00:00.0000004", "2020-01-01 12:00:00", "2020-01-01 23:59:59.999999", "2020-01-01 12:00:00.4",
    "2020-01-01 12:00:00.123456789", "2020-01-01 12:00:00.123456788", "2020-01-01 12:00:00.123456",
    "2020-01-01 23:59:59.9999999", "1677-09-22", "2262-04-11 23:47:16.854775806",
    "0044-03-15 (BC) 10:11:12", "1999-05-05 05:05:05.5", "2020-01-01 05:00:00+05",
]  # fmt: skip
_POOLS = {
    "BOOLEAN": ["true", "false"],
    "VARCHAR": [
        "", "a", "A", "ab", "aB", "b", "1", "01", "1.0", "true", "t", "zürich", "Zurich", "ZÜRICH", "é", "e\u0301",
        "x y", " a", "a ", "NULL", "0", "%", "_", "2020-01-01", "\U0001f600", "\uffff", "a\0", "a\0b", "it's", "\\",
    ],
    "JSON": ['"a"', "1", "null", "{}", "[1]", '"A"'],
    "UUID": [
        f"{first}0000000-0000-0000-0000-0000000000{last}" for first in "07f8A" for last in ("0a", "0A", "ff", "00")
    ],
    "BLOB": ["a", "\\x61", "ab", "A", "", "\\x00", "\\xFF", "a\\x00", "\\x80", "b"],
    "BIT": ["1", "01", "001", "0", "111", "10101010", "110101010"],
    "TIME": ["00:00:00", "24:00:00", "12:00:00.5", "12:00", "23:59:59.999999", "12:00:00.0000001", "1:02:03"],
    "TIME WITH TIME ZONE": ["00:00:00+00", "01:00:00+01", "24:00:00+00", "23:00:00-01", "00:00:00", "12:00:00+05"],
    "INTERVAL": [
        "1 month", "30 days", "29 days 24:00:00", "720 hours", "1 year", "12 months", "360 days", "0 days", "-1 month",
        "00:00:00", "1 day", "24:00:00", "1 month -30 days", "-30 days",
    ],
}  # fmt: skip


_PALETTE = 25


@cache
def pool(kind: str) -> tuple[str, ...]:
    """Texts of values of a type; some are no values of it after all, and then NULL as rows and refused as literals."""
    if kind in INTEGERS:
        low, high = INTEGERS[kind]
        near = {sign * base + step for base in _WHOLE for step in _STEPS for sign in (1, -1)} | {low, high}
        return tuple(str(value) for value in sorted(near) if low <= value <= high)
    if kind.startswith("DECIMAL"):
        width, scale = map(int, kind[8:-1].split(","))
        most, unit = 10**width - 1, Decimal(1).scaleb(-scale)
        units = {sign * base * 10**scale + step for base in _WHOLE for step in (-1, 0, 1) for sign in (1, -1)}
        exact = {
            _scaled(value, scale) for value in units | {most, -most, most - 1, 10 ** (width // 2)} if abs(value) <= most
        }
        return tuple(sorted(exact | {text for text in _FRACTIONS if abs(Decimal(text)) >= unit}))
    if kind in FLOATS:
        near = [float(text) for text in _REALS if "n" not in text]
        ends = {repr(math.nextafter(value, way)) for value in near for way in (math.inf, -math.inf)}
        return (*_REALS, *sorted(ends))
    if kind in MOMENTS:
        return tuple(_MOMENT_VALUES)
    return tuple(_POOLS["VARCHAR" if kind.startswith("ENUM") else kind])


def _scaled(units: int, scale: int) -> str:
    digits = str(abs(units)).rjust(scale + 1, "0")
    whole, fraction = digits[: len(digits) - scale], digits[len(digits) - scale :]
    return ("-" if units < 0 else "") + whole + ("." + fraction if fraction else "")


@dataclass(frozen=True)
class RandomColumn:
    """A column of a random table."""

    name: str
    kind: str


class Predicates:
    """Draws rows and predicates over some columns, from few values of each type, so that they meet often."""

    def __init__(self, rng: Random, columns: list[RandomColumn]) -> None:
        self.rng = rng
        self.columns = columns
        self._chosen = {kind: rng.sample(pool(kind), min(len(pool(kind)), _PALETTE)) for kind in KINDS}

    def cell(self, kind: str) -> str | None:
        """Text of a value of a row, which may be no value of its type; None for NULL."""
        x = self.rng.random()
        if x < 0.06:
            return None
        if kind in NUMBERS and x < 0.15:
            return self._text(self.rng.choice(NUMBERS))
        return self._text(kind) if x < 0.9 else self.rng.choice(pool(kind))

    def _text(self, kind: str) -> str:
        return self.rng.choice(self._chosen[kind])

    def predicate(self, depth: int = 0) -> str:
        rng, x = self.rng, self.rng.random()
        if depth > 2 or x < 0.55:
            return self._atom()
        if x < 0.68:
            return f"NOT ({self.predicate(depth + 1)})" if rng.random() < 0.7 else f"NOT {self._atom()}"
        word = rng.choice([" AND ", " OR ", " and ", " Or "])
        parts = [rng.choice(["({})", "{}"]).format(self.predicate(depth + 1)) for _ in range(rng.randint(2, 3))]
        return f"({word.join(parts)})" if rng.random() < 0.5 else word.join(parts)

    def keys(self, column: RandomColumn) -> list[str | int | float | bool]:
        """Public keys as a caller may give them: texts, numbers, truth values."""
        return [self._key(column.kind) for _ in range(self.rng.randint(1, 6))]

    def _key(self, kind: str) -> str | int | float | bool:
        text = self._text(kind)
        if kind in INTEGERS and self.rng.random() < 0.4:
            return int(text)
        if kind in FLOATS and self.rng.random() < 0.4:
            return float(text)
        if kind == "BOOLEAN" and self.rng.random() < 0.5:
            return text == "true"
        return self.rng.choice([text, text, f" {text}", f"{text}.0", f"0{text}", text.upper()])

    def _atom(self) -> str:  # noqa: C901 - one line per kind of atom
        rng, x = self.rng, self.rng.random()
        column = rng.choice(self.columns)
        name, kind = rng.choice([f'"{column.name}"', column.name, column.name.upper(), f"({column.name})"]), column.kind
        if rng.random() < 0.12:
            return self._computed(name, kind)
        if x < 0.45:
            sides = [name, rng.choice(["{}", "({})"]).format(self._literal(kind))]
            left, right = sides if rng.random() < 0.8 else reversed(sides)
            return f"{left} {self._operator()} {right}"
        if x < 0.58:
            return f"{name} {self._no()}BETWEEN {self._literal(kind, null=0.1)} AND {self._literal(kind, null=0.1)}"
        if x < 0.72:
            items = [self._literal(kind, null=0.08) for _ in range(rng.choice([1, 1, 2, 3, 4, 12]))]
            if rng.random() < 0.05:
                items.append(rng.choice(self.columns).name)
            return f"{name} {self._no()}IN ({', '.join(items)})"
        if x < 0.82:
            return rng.choice([f"{name} IS NULL", f"{name} IS NOT NULL", f"{name} ISNULL", f"{name} NOTNULL"])
        if x < 0.87 and kind == "VARCHAR":
            if rng.random() < 0.5:
                return f"{name} {self._no()}LIKE {quoted(rng.choice(['a%', '%', '_', 'A', '', '%b', '%é%']))}"
            shapes = ["{} ~ '^a'", "{} !~ 'b$'", "regexp_matches({}, '(?i)^A.?$')", "NOT has_format({}, 'luhn')"]
            return rng.choice([*shapes, "regexp_full_match({}, '[ab]*', 'i')", "matches({}, '')"]).format(name)
        if x < 0.90 and kind == "BOOLEAN":
            return name
        if x < 0.94:
            return rng.choice(["true", "false", "TRUE", "NOT true", "NOT false", "(false)"])
        if x < 0.96:
            return f"{name} {self._operator()} NULL"
        return f'{name} {self._operator()} "{rng.choice(self.columns).name}"'

    def _computed(self, name: str, kind: str) -> str:
        """A condition on what is computed from a column; of types without arithmetic and functions an atom."""
        rng = self.rng
        if kind in TEXTS:
            shapes = ["lower({})", "UPPER({})", "trim({})", "length({})", "lower(trim({}))", "coalesce({}, 'a')"]
            term = rng.choice([*shapes, "CAST({} AS BIGINT)"]).format(name)
            value = str(rng.randint(0, 3)) if "length" in term or "CAST" in term else self._literal("VARCHAR")
        elif kind in NUMBERS:
            term, value = self._arithmetic(name, kind), self._number(kind)
        elif kind in MOMENTS and rng.random() < 0.4:
            term = rng.choice(["year({})", "EXTRACT(month FROM {})", "day({})", "year(CAST({} AS DATE))"]).format(name)
            value = str(rng.choice([-43, 0, 1, 2, 12, 31, 1970, 2020]))
        elif kind == "DATE":
            steps = ["+ 1", "- 30", "+ INTERVAL '1 month'", "- INTERVAL 1 YEAR"]
            term, value = f"{name} {rng.choice(steps)}", self._literal(kind)
        elif kind in MOMENTS:
            steps = ["+ INTERVAL '1 month'", "- INTERVAL '1 year'", "+ INTERVAL 1 SECOND"]
            term, value = f"{name} {rng.choice(steps)}", self._literal(kind)
        else:
            return self._atom()
        x = rng.random()
        if x < 0.6:
            return f"{term} {self._operator()} {value}"
        if x < 0.7:
            return f"{term} IS {self._no()}NULL"
        if x < 0.8:
            return f"{term} {self._no()}IN ({value}, {value})"
        if x < 0.9:
            return f"{term} {self._no()}BETWEEN {value} AND {value}"
        return f"{value if x < 0.95 else name} {self._operator()} {term}"

    def _arithmetic(self, name: str, kind: str) -> str:
        rng = self.rng
        number = rng.choice(["0", "1", "2", "60", "0.5", "1e3", "-1", str(2**63), str(2**126)])
        other = rng.choice([column.name for column in self.columns if column.kind in NUMBERS] or [number])
        to = rng.choice(["TINYINT", "BIGINT", "DECIMAL(6,2)", "DOUBLE"])
        terms = [
            f"abs({name})",
            f"coalesce({name}, {number})",
            f"CAST({name} AS {to})",
            f"-{name}",
            f"{name} {rng.choice('+-*/%')} {rng.choice([number, number, other])}",
        ]
        return rng.choice([*terms, f"({name} + 1) * 2 - {number}"])

    def _operator(self) -> str:
        return self.rng.choice(["=", "=", "<>", "!=", "<", "<=", ">", ">=", "=="])

    def _no(self) -> str:
        return self.rng.choice(["", "NOT "])

    def _literal(self, kind: str, null: float = 0.0) -> str:
        rng = self.rng
        if rng.random() < null:
            return "NULL"
        if kind in NUMBERS:
            return self._number(kind)
        text = self._text(kind)
        if kind == "BOOLEAN":
            return rng.choice(["true", "false", "TRUE", "'true'", "'t'", "'1'", "'0'", "'no'", "'F'", "'Yes'"])
        if kind in TEXTS:
            words = [text, text, text.upper(), text.lower(), text.title(), text + " "]
            return rng.choice([quoted(rng.choice(words))] * 5 + ["1", "01", "1.0", "1e0", "-0", "0.10", "1E+5"])
        if kind in MOMENTS:
            spelled = rng.choice([text, text, f"{text} ", text.replace("-", "/"), text.replace(" ", "T"), text + "+00"])
            return rng.choice(["", "", "DATE ", "TIMESTAMP "]) + quoted(spelled)
        return quoted(rng.choice([text, text, text, text.upper(), f" {text}"]))

    def _number(self, kind: str) -> str:
        """A number of the pool, one next to it, or one of another type's pool; plain, with exponent, in quotes."""
        rng = self.rng
        text = self._text(kind if rng.random() < 0.75 else rng.choice(NUMBERS))
        if text.lower().lstrip("-") in ("nan", "inf"):
            return quoted(rng.choice([text, text.upper(), text + ("inity" if "inf" in text else ""), f" {text}"]))
        x = rng.random()
        if "e" not in text:
            if x < 0.3:
                text += rng.choice(["0", "5", "00000001"]) if "." in text else rng.choice(
                    [".5", ".0", ".25", ".000", "." + "0" * 19 + "1", "." + "9" * 20, "0"])  # fmt: skip
            elif x < 0.4:
                text += rng.choice(["e0", "E1", "e-1", "e+2", "e-20", "e-400", "e300", "e-45"])
        if rng.random() < 0.25:
            return quoted(rng.choice(["", " ", "+" if text[0] != "-" else ""]) + text + rng.choice(["", " "]))
        return f"-({text[1:]})" if text.startswith("-") and rng.random() < 0.2 else text


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
