"""Every accepted spelling of one random constraint is the same constraint, and no spelling has two readings."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from dpdb.constraints import DenialConstraint, parse_constraint
from dpdb.errors import DpdbError

COLUMNS = ["a", "b", "zip", "City", "address.city", "t1.rate", "First Name", "x.1.y z", "and", "where", "not", "größe"]
OPERATORS = {
    "=": ["=", "=="],
    "!=": ["!=", "<>", "≠"],
    "<": ["<"],
    "<=": ["<=", "≤"],
    ">": [">"],
    ">=": [">=", "≥"],
}
NEGATED = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", "<=": ">", ">": "<="}
FUNCTIONS = {"=": "EQ", "!=": "IQ", "<": "LT", "<=": "LTE", ">": "GT", ">=": "GTE"}
PAIRS = [
    ("t1", "t2"), ("t0", "t1"), ("t", "s"), ("t", "t'"), ("t", "t\u2032"), ("ti", "tj"), ("t_i", "t_j"), ("x", "y"),
    ("T1", "T2"), ("r", "s"), ("r", "r'"), ("row1", "row2"), ("t\u03b1", "tβ"), ("t₁", "t₂"), ("u", "v"),
]  # fmt: skip
WORDS_OF_SQL = {"and", "where", "not"}
CONSTANTS = ["0", "-1.5", "'x'", "'it''s -> # {}'", "DATE '2020-01-31'", "TIME '10:00:00'", "TRUE"]

_RICH = ["{} IS NOT NULL", "{} IN ('A', 'B')", "{} NOT IN (1, 2)", "{} LIKE 'a%'", "{} + 1 <= 2 * {}"]
_RICH += ["{} BETWEEN 1 AND 5", "lower({}) = 'x' or {} is null", "({} > 1 OR {} < 0) AND {} != 7"]

Side = tuple[int, str] | str
Comparison = tuple[Side, str, Side]


def _canonical(text: str) -> list[DenialConstraint]:
    return _canonical_of(text, COLUMNS)


def _quoted(name: str, random_: random.Random) -> str:
    return random_.choice([f'"{name}"', f"`{name}`"])


def _name(name: str, random_: random.Random, *, bare: bool) -> str:
    """Write a column: in quotes where it has to be, and else now and then."""
    must = bare and name in WORDS_OF_SQL
    return _quoted(name, random_) if must or random_.random() < 0.3 else name


def _comparisons(random_: random.Random, rows: Sequence[int]) -> list[Comparison]:
    def side(row: int) -> Side:
        return row, random_.choice(COLUMNS)

    found: list[Comparison] = [(side(rows[0]), random_.choice(list(OPERATORS)), side(rows[-1]))]
    for _ in range(random_.randint(0, 3)):
        right: Side = random_.choice(CONSTANTS) if random_.random() < 0.3 else side(random_.choice(rows))
        found.append((side(random_.choice(rows)), random_.choice(list(OPERATORS)), right))
    random_.shuffle(found)
    return found


def _infix(comparisons: Sequence[Comparison], random_: random.Random, of_row: Callable[[tuple[int, str]], str]) -> str:
    def shown(side: Side) -> str:
        return side if isinstance(side, str) else of_row(side)

    gap = random_.choice(["", " ", "  "])
    parts = [f"{shown(left)}{gap}{random_.choice(OPERATORS[op])}{gap}{shown(right)}" for left, op, right in comparisons]
    return random_.choice([" and ", " AND ", "&", " && ", " ∧ ", " ^ ", "\n  & "]).join(parts)


def _denials(random_: random.Random) -> list[str]:
    """One denial constraint, in every notation; the first one is the plain one."""
    comparisons = _comparisons(random_, [0, 1])

    def named(names: Sequence[str]) -> str:
        return _infix(comparisons, random_, lambda side: f"{names[side[0]]}.{_name(side[1], random_, bare=False)}")

    def functions() -> str:
        calls = []
        for left, op, right in comparisons:
            sides = (s if isinstance(s, str) else f't{s[0] + 1}."{s[1]}"' for s in (left, right))
            calls.append(f"{FUNCTIONS[op]}({', '.join(sides)})")
        return "&".join(["t1", "t2", *calls])

    pair = random_.choice(PAIRS)
    declared = random_.choice([*PAIRS, ("first", "second"), ("orders", "others")])
    opening, closing = random_.choice(["()", "{}", "[]"])
    return [
        f"not({_infix(comparisons, random_, lambda side: f't{side[0] + 1}.{chr(34)}{side[1]}{chr(34)}')})",
        f"{random_.choice(['not', 'NOT ', '¬', '! '])}{opening} {named(pair)} {closing}",
        f"{random_.choice(['forall ', '∀'])}{declared[0]}, {declared[1]}: ¬{opening}{named(declared)}{closing};",
        named(random_.choice(PAIRS)),
        f"rule: {named(pair)}",
        functions(),
    ]


def _dependencies(random_: random.Random) -> list[str]:
    """One functional dependency of one right-hand column."""
    *left, right = random_.sample(COLUMNS, random_.randint(2, 4))
    arrow = random_.choice(["->", "=>", "→", "⇒", "⟶"])
    row = random_.choice(["t.", "t1.", "s.", "x."])
    lists = [("[", "]", ", "), ("{", "}", ","), ("(", ")", ", "), ("[", "]", " "), ("{", "}", " "), ("", "", ", ")]

    def listed(names: Sequence[str], before: str = "") -> str:
        opening, closing, between = random_.choice(lists)
        # Two names beside each other may be one that a column has; commas and quotes keep them apart.
        shown = [before + (_quoted(name, random_) if before or between == " " else _name(name, random_, bare=False))
                 for name in names]  # fmt: skip
        return f"{opening}{between.join(shown)}{closing}"

    equal = "&".join(f't1."{name}"=t2."{name}"' for name in left)
    return [
        f'not({equal}&t1."{right}"!=t2."{right}")',
        f"{listed(left)} {arrow} {listed([right])}",
        f"{listed(left, row)}{arrow}{listed([right], row)};",
        f"fd: {listed(left)} {arrow} {listed([right])}",
    ]


def _checks(random_: random.Random) -> list[str]:
    """One comparison that every row must satisfy."""
    [comparison] = _comparisons(random_, [0])[:1]
    left, op, right = comparison

    def bare() -> str:
        return _infix([comparison], random_, lambda side: _name(side[1], random_, bare=True))

    denied = _infix([(left, NEGATED[op], right)], random_, lambda side: f't1."{side[1]}"')
    return [f"not({denied})", f"CHECK ({bare()})", bare(), f"CONSTRAINT rule CHECK ({bare()})", f"rule: {bare()}"]


def _conditions(random_: random.Random) -> list[str]:
    """A richer condition that every row must satisfy: alone, and in CHECK."""
    column = random_.choice(COLUMNS)

    def name() -> str:
        return _name(column, random_, bare=True)

    form = random_.choice(_RICH)
    spelled = ["CHECK (" + form.replace("{}", f'"{column}"') + ")"]
    spelled += [before + form.format(*(name() for _ in range(3))) for before in ("", "rule: ")]
    spelled.append(f"CONSTRAINT rule CHECK ({form.format(*(name() for _ in range(3)))})")
    if form == "{} IS NOT NULL":
        spelled += [f"NOT NULL({name()})", f'not(t1."{column}" IS NULL)']
    return spelled


@pytest.mark.heavy
@pytest.mark.parametrize("kind", [_denials, _dependencies, _checks, _conditions])
def test_every_spelling_is_the_same_constraint_and_can_be_read_again(
    kind: Callable[[random.Random], list[str]],
) -> None:
    for seed in range(150 if kind is _conditions else 500):
        plain, *others = kind(random.Random(seed))
        expected = _canonical(plain)
        for text in others:
            assert _canonical(text) == expected, (seed, plain, text)
        for dc in parse_constraint(plain, COLUMNS):
            assert [again.canonical() for again in parse_constraint(str(dc), COLUMNS)] == expected, (seed, str(dc))


@pytest.mark.parametrize(
    "condition", ["{}a = 5", "{}a <= {}b", "{}a IS NULL", "{}a IN (1, 2) and {}b > 0", "{}a = 'x' WHERE b = 1"]
)
def test_a_bare_condition_on_one_row_is_a_check_without_a_tuple_and_nothing_with_one(condition: str) -> None:
    text, _, among = condition.format("", "").partition(" WHERE")
    where = among and f" WHERE{among}"
    assert _canonical(condition.format("", "")) == _canonical(f"CHECK ({text}){where}")
    for name in ("t1.", "t.", "x.", "row1."):
        with pytest.raises(DpdbError, match=r"expected not\(\.\.\.\) around what no row may be, or CHECK"):
            parse_constraint(condition.format(name, name), COLUMNS)
        assert parse_constraint(f"not({condition.partition(' WHERE')[0].format(name, name)})", COLUMNS)


_PIECES = ["a", "zip", "address.city", "First Name", "t1", "t3.", ".", " ", ",", "(", ")", "{", "}", "[", "]", "->"]
_PIECES += ["=", "<=", "≠", "&", " and ", " or ", " in ", " is null", "not", "¬", "∀", ":", " where ", "CHECK (", "|"]
_PIECES += [
    "CONSTRAINT n ",
    "UNIQUE(",
    "'x'",
    "`b`",
    '"a"',
    "5",
    "-1",
    "'",
    "`",
    ";",
    "time '1'",
    "EQ(",
    " in b.c",
    "=>",
]


def _message(error: DpdbError) -> str:
    return str(error).split("\n")[0]


@pytest.mark.heavy(family="alone")
def test_texts_with_small_changes_are_read_as_what_can_be_written_down_or_refused_in_one_line() -> None:
    read, kinds = 0, (_denials, _dependencies, _checks, _conditions)
    for seed in range(1500):
        random_ = random.Random(seed)
        text = random_.choice(kinds[seed % 4](random_))
        for _ in range(random_.randint(0, 2)):
            start = random_.randint(0, len(text))
            text = text[:start] + random_.choice([*_PIECES, ""]) + text[start + random_.choice([0, 0, 1, 3]) :]
        try:
            found = parse_constraint(text, COLUMNS)
        except DpdbError as error:
            found = ()
            short = len(_message(error)) < 400
            assert short, text
        for dc in found:
            read += 1
            assert [each.canonical() for each in parse_constraint(str(dc), COLUMNS)] == [dc.canonical()], text
    assert read > 200


@pytest.mark.heavy
@pytest.mark.parametrize(
    "text",
    [
        "(" * 10_000 + "a" + ")" * 10_000 + " <= b",
        "¬" + "{" * 22_500,
        "[" * 12_500 + "a" + "]" * 10_000 + " -> b",
        "a." * 12_250 + "b -> a",
        "a." * 12_250 + "b <= a",
        "t1.a = t2.a and " * 1_500,
        "a <= b and " * 2_250 + "a <= b",
        "x IN (" + "1, " * 7_500 + "1)",
        "`" * 24_999,
        "a " * 12_250 + "-> b",
        "[" + "a " * 12_250 + "] -> b",
        "NOT " * 6_000 + "a = b",
        "in " * 7_500,
        "where " * 4_000,
        "r'." * 8_250,
    ],
)  # fmt: skip
def test_long_and_nested_texts_take_bounded_time(text: str) -> None:
    started = time.process_time()
    for columns in (["a", "b", "x", ".".join("a" * 10_000)], None):
        with suppress(DpdbError):
            parse_constraint(text, columns)
    assert time.process_time() - started < 5


def test_the_manual_lists_spellings_that_are_read() -> None:
    manual = Path(__file__).parents[2] / "examples" / "manual" / "commands.md"
    listed = [
        line
        for line in manual.read_text(encoding="utf-8").split("Five measures")[0].split("\n")
        if line.startswith("    ")
    ]
    columns = [
        "zip_code",
        "zip code",
        "city",
        "state",
        "address.city",
        "ticker",
        "date",
        "salary",
        "rate",
        "age",
        "dep",
    ]
    columns += ["arr", "carrier", "air_time", "tailnum", "country", "customer_id", "birth"]
    dependency = _canonical_of("zip_code -> city", columns)
    found = [_canonical_of(line, columns) for line in listed]
    assert len(found) >= 20
    assert sum(each == dependency for each in found) >= 4
    assert _canonical_of("age >= 0", columns) == _canonical_of("not(t1.age<0)", columns)


def _canonical_of(text: str, columns: Sequence[str]) -> list[DenialConstraint]:
    return [dc.canonical() for dc in parse_constraint(text, columns)]
