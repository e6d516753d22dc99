"""Regular expressions and formats: the same rows as plain Python finds, NULL unknown, one row at a time, or refused."""

from __future__ import annotations

import calendar
import ipaddress
import random
import re
from collections.abc import Callable, Iterator
from itertools import combinations_with_replacement, product
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from case_share import fifth

import dpdb
from dpdb.constraints import parse_constraint
from dpdb.database.database import Database
from dpdb.doors.sql import FrontEnd
from dpdb.engine.sql.where import parse_where
from dpdb.errors import ConstraintSyntaxError, DpdbError, PredicateError
from dpdb.ledger import Ledger
from dpdb.owner import exact_measures
from dpdb.predicates.formats import FORMATS
from dpdb.release import Session
from dpdb.schema import Column, TableSchema

SCHEMA = TableSchema((Column("x", "VARCHAR"), Column("n", "BIGINT")))


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    with Database(threads=1) as opened:
        yield opened


def answers(database: Database, condition: str, texts: list[str | None]) -> list[bool | None]:
    """What the condition is for each text: true, false or NULL."""
    tree = parse_where(database, condition, SCHEMA).condition
    table = pa.table({"x": pa.array(texts, pa.string()), "place": range(len(texts))})
    with database.arrow_table("texts", table):
        return [row[0] for row in database.rows(f"SELECT {tree.sql('duckdb')} FROM texts ORDER BY place")]


# -- formats: vectors as their standards and encyclopedias publish them, right and wrong ------------------------------

VECTORS = {
    "email": (
        ["simple@example.com", "very.common@example.com", "x@example.com", "user.name+tag+sorting@example.com",
         "name/surname@example.com", "mailhost!username@example.org", "user%example.com@example.org",
         "user-@example.org", "FirstName.LastName@EasierReading.org"],
        ["abc.example.com", "a@b@c@example.com", 'a"b(c)d,e:f;g<h>i[j\\k]l@example.com', "admin@example", "a@-b.org",
         "i.like.underscores@but_they_are_not_allowed_in_this_part", "a b@example.com", "a@b.org ", "a@b.org\n", "",
         "a@b..org", "a@" + "b" * 64 + ".org"],
    ),
    "uuid": (
        ["f81d4fae-7dec-11d0-a765-00a0c91e6bf6", "919108f7-52d1-4320-9bac-f847db4148a8",
         "017F22E2-79B0-7CC3-98C4-DC0C0C07398F", "00000000-0000-0000-0000-000000000000"],
        ["f81d4fae7dec11d0a76500a0c91e6bf6", "{f81d4fae-7dec-11d0-a765-00a0c91e6bf6}",
         "g81d4fae-7dec-11d0-a765-00a0c91e6bf6", "f81d4fae-7dec-11d0-a765-00a0c91e6bf", ""],
    ),
    "iso_date": (
        ["2020-02-29", "2000-02-29", "1999-12-31", "0001-01-01"],
        ["2021-02-29", "1900-02-29", "2020-02-30", "2020-13-01", "2020-00-10", "2020-1-1", "20200101", "2020-04-31",
         "2020-01-01T00:00:00", " 2020-01-01", "31.12.2020"],
    ),
    "url": (
        ["ftp://ftp.is.co.za/rfc/rfc1808.txt", "http://www.ietf.org/rfc/rfc2396.txt",
         "ldap://[2001:db8::7]/c=GB?objectClass?one", "telnet://192.0.2.16:80/",
         "foo://example.com:8042/over/there?name=ferret#nose", "https://a.b/%7Euser"],
        ["mailto:John.Doe@example.com", "news:comp.infosystems.www.servers.unix", "tel:+1-816-555-1212", "www.ietf.org",
         "http://", "http:// a.b", "http://a.b/c d", "://a.b", "1http://a.b", "http://a.b/%7", "http://bücher.example"],
    ),
    "ipv4": (
        ["192.0.2.1", "198.51.100.255", "203.0.113.0", "0.0.0.0", "255.255.255.255", "127.0.0.1"],
        ["256.0.0.1", "1.2.3", "1.2.3.4.5", "01.2.3.4", "1.2.3.4/24", "1,2,3,4", "::1", " 1.2.3.4", ""],
    ),
    "e164": (
        ["+14155552671", "+442071838750", "+551155256325", "+12"],
        ["14155552671", "+014155552671", "+1 415 555 2671", "+1234567890123456", "+", "+1"],
    ),
    "iban": (
        ["GB82WEST12345698765432", "GB82 WEST 1234 5698 7654 32", "DE89370400440532013000", "NO9386011117947",
         "FR1420041010050500013M02606", "MT84MALT011000012345MTLCAST001S", "LC55HEMM000100010012001200023015",
         "AL47212110090000000235698741", "BE68539007547034", "SA0380000000608010167519"],
        ["GB82WEST12345698765431", "GB28WEST12345698765432", "DE89370400440532013001", "de89370400440532013000",
         "DE89", "GB82WEST1234569876543?", "GB82-WEST-1234-5698-7654-32", "DE8937040044053201300", ""],
    ),
    "luhn": (
        ["79927398713", "17893729974", "4111111111111111", "5555 5555 5555 4444", "3782-822463-10005",
         "490154203237518"],
        ["79927398710", "79927398719", "4111111111111112", "1", "7992739871a", "7992739871 3 ", "",
         "\uff14111111111111111"],
    ),
}  # fmt: skip


@pytest.mark.heavy
@pytest.mark.parametrize("name", FORMATS)
def test_published_vectors_are_right_and_wrong(database: Database, name: str) -> None:
    right, wrong = VECTORS[name]
    found = answers(database, f"has_format(x, '{name}')", [*right, *wrong, None])
    assert found == [True] * len(right) + [False] * len(wrong) + [None]
    assert answers(database, f"NOT has_format(x, '{name}')", [right[0], wrong[0], None]) == [False, True, None]


def test_days_are_those_of_the_calendar(database: Database) -> None:
    days = [(year, month, day) for year in (1900, 2000, 2023, 2024) for month in range(14) for day in range(33)]
    days += [(year, 2, 29) for year in range(1, 10_000)]
    exist = [1 <= m <= 12 and 1 <= d <= calendar.monthrange(y, m)[1] for y, m, d in days]
    assert answers(database, "has_format(x, 'ISO date')", [f"{y:04}-{m:02}-{d:02}" for y, m, d in days]) == exist


def test_addresses_are_those_of_the_library(database: Database) -> None:
    def exists(text: str) -> bool:
        try:
            ipaddress.IPv4Address(text)
        except ValueError:
            return False
        return True

    texts = [f"{place}.0.1.{part}" for place, part in product(["0", "00", "1", "9"], range(300))]
    texts += [f"{part}.2.{part}.3" for part in range(300)]
    assert answers(database, "has_format(x, 'ipv4')", [*texts]) == list(map(exists, texts))


def _luhn(digits: str) -> bool:
    doubled = [int(d) * (1 + place % 2) for place, d in enumerate(reversed(digits))]
    return sum(d - 9 if d > 9 else d for d in doubled) % 10 == 0


def test_luhn_is_computed_as_by_hand(database: Database) -> None:
    rng = random.Random(1)
    texts = ["".join(part) for length in (2, 3, 4) for part in product("0123456789", repeat=length)]
    texts = fifth(texts + ["".join(rng.choices("0123456789", k=rng.randint(5, 30))) for _ in range(2000)])
    assert answers(database, "has_format(x, 'luhn')", [*texts]) == list(map(_luhn, texts))


def _iban(text: str) -> bool:
    moved = text[4:] + text[:4]
    return int("".join(str(int(sign, 36)) for sign in moved)) % 97 == 1


def test_check_digits_of_ibans_are_computed_as_by_hand(database: Database) -> None:
    rng = random.Random(2)
    signs = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    texts = []
    for _ in range(1500):
        account = "".join(rng.choices(signs if rng.random() < 0.7 else "Z", k=rng.randint(11, 30)))
        country = "".join(rng.choices(signs[10:], k=2))
        check = 98 - int("".join(str(int(sign, 36)) for sign in f"{account}{country}00")) % 97
        texts += [f"{country}{check:02}{account}", f"{country}{rng.randint(0, 99):02}{account}"]
    expected = list(map(_iban, texts))
    assert 1500 <= sum(expected) < 1700
    assert answers(database, "has_format(x, 'iban')", [*texts]) == expected


# -- regular expressions ----------------------------------------------------------------------------------------------

ATOMS = ["a", "b", ".", "[ab]", "[^a]", "^", r"\d", r"\w", r"\.", "é", "(?:ab)", "(a|b)"]
TEXTS = ["", "a", "b", "ab", "ba", "aab", "a\nb", "A", "1", ".", "é", "aé", "%", "_a", "a b", "b\n", "\\", "'", "ﬀ"]


def drawn_pattern(rng: random.Random) -> str:
    parts = [rng.choice(ATOMS) for _ in range(rng.randint(0, 4))]
    pattern = "".join(
        part + (rng.choice(["", "", "*", "+", "?", "{2}", "{0,2}"]) if part != "^" else "") for part in parts
    )
    return rng.choice(["{}", "{}", "{}|b", "(?i){}", "^{}"]).format(pattern)


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("condition", "meant"),
    [
        ("regexp_matches(x, {})", lambda pattern: re.compile(pattern).search),
        ("x ~ {}", lambda pattern: re.compile(pattern).search),
        ("matches(x, {}, 'i')", lambda pattern: re.compile(pattern, re.IGNORECASE).search),
        ("regexp_full_match(x, {})", lambda pattern: re.compile(pattern).fullmatch),
        ("x ~* {}", lambda pattern: re.compile(pattern, re.IGNORECASE).search),
    ],
)
def test_expressions_find_what_python_finds(
    database: Database, condition: str, meant: Callable[[str], Callable[[str], object]]
) -> None:
    rng = random.Random(condition)
    for _ in range(120):
        pattern = drawn_pattern(rng)
        # Python's \d and \w know other scripts.
        find = meant(pattern.replace(r"\d", "[0-9]").replace(r"\w", "[0-9A-Za-z_]"))
        quoted = "'" + pattern.replace("'", "''") + "'"
        found = answers(database, condition.format(quoted), [*TEXTS, None])
        assert found == [*(find(text) is not None for text in TEXTS), None], pattern
        if condition.startswith("regexp_matches"):
            assert found[:-1] == pc.match_substring_regex(pa.array(TEXTS), pattern).to_pylist(), pattern


def test_the_end_of_a_text_is_no_line_break(database: Database) -> None:
    assert answers(database, "x ~ '^a$'", ["a", "a\n", "\na", None]) == [True, False, False, None]
    assert answers(database, "x !~ 'a'", ["a", "b", None]) == [False, True, None]
    assert answers(database, "lower(x) ~ '^a'", ["A", "b", None]) == [True, False, None]


WRONG = [
    ("regexp_matches(x, '(')", "missing )"),
    ("x ~ 'a(?=b)'", "invalid perl operator"),
    (r"x ~ '(a)\1'", "invalid escape sequence"),
    ("x ~ 'a{1001}'", "repetition size"),
    (r"x ~ '\p{L}{1000}'", "repeats large classes"),
    (f"x ~ '{'a' * 1001}'", "at most 1000 characters"),
    ("regexp_full_match(x, 'a)|(b')", "unexpected )"),
    ("x ~ n", "not allowed"),
    ("x ~ NULL", "not allowed"),
    ("regexp_matches(x, x)", "not allowed"),
    ("regexp_matches('a', 'a')", "not allowed"),
    ("regexp_matches(x, 'a', 'g')", "not allowed"),
    ("regexp_replace(x, 'a', 'b') = 'a'", "not allowed"),
    ("n ~ '1'", "needs a text column; 'n' is BIGINT"),
    ("has_format(x, 'emial')", "did you mean 'email'"),
    ("has_format(x, x)", "not allowed"),
    ("has_format(n, 'luhn')", "needs a text column"),
]


@pytest.mark.heavy
@pytest.mark.parametrize(("condition", "problem"), WRONG)
def test_what_is_no_expression_is_refused_before_the_debit(tmp_path: Path, condition: str, problem: str) -> None:
    source = pa.table({"x": ["a", "b"], "n": [1, 2]})
    Ledger.create(tmp_path / "l", 1).close()
    with Session(source, ledger=tmp_path / "l") as session:
        with pytest.raises(PredicateError, match=re.escape(problem)):
            session.dp_count(0.5, where=condition)
        with pytest.raises(DpdbError):
            session.with_constraints([f"CHECK ({condition})"]).dp_inconsistency("problematic", 0.5)
        assert session.spent() == 0


def test_expressions_run_in_linear_time(database: Database) -> None:
    """A backtracking engine takes 2^30 steps here."""
    assert answers(database, "x ~ '(a*)*b' OR x ~ '(a|aa)+$'", ["a" * 30_000 + "c"]) == [False]


# -- as rules ----------------------------------------------------------------------------------------------------

RULES = {
    "email ~ '@'": "CHECK (email ~ '@')",
    "named: matches(email, '@') AND n > 0": "CHECK (matches(email, '@') AND n > 0)",
    "has_format(email, 'email') WHERE n > 0": "CHECK (has_format(email, 'email')) WHERE n > 0",
    "NOT regexp_matches(email, 'x')": "CHECK (NOT regexp_matches(email, 'x'))",
    "email !~ 'x' OR n IS NULL": "CHECK (email !~ 'x' OR n IS NULL)",
}


@pytest.mark.parametrize(("bare", "check"), RULES.items())
def test_bare_conditions_are_checks(bare: str, check: str) -> None:
    [one], [other] = parse_constraint(bare), parse_constraint(check)
    assert one.predicates == other.predicates


def test_names_like_the_functions_are_columns() -> None:
    [rule] = parse_constraint("matches, has_format -> regexp_matches")
    assert set(rule.columns) == {"matches", "has_format", "regexp_matches"}
    with pytest.raises(ConstraintSyntaxError):
        parse_constraint("a ~ 'x' -> b")


@pytest.mark.heavy(family="long")
def test_patterns_stand_in_rules_on_pairs_and_beside_dependencies() -> None:
    rows = [("a@x.org", 1), ("a@x.org", 2), ("nobody", 1), ("nobody", 2), (None, 1), (None, 3)]
    table = pa.table({"email": [email for email, _ in rows], "n": [n for _, n in rows]})

    def problematic(rule: str) -> int:
        return exact_measures(table, [rule], non_private=True).problematic

    assert problematic("not(t1.email = t2.email & t1.n != t2.n & t1.email ~ '@')") == 2
    assert problematic("email -> n WHERE has_format(email, 'email')") == 2
    assert problematic("email ~ '@': email -> n") == 2
    assert problematic("UNIQUE(email) WHERE email !~ '@'") == 2
    assert problematic("email ~ '@'") == 2


@pytest.mark.heavy(family="privacy")
@pytest.mark.parametrize("most", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_one_row_changes_the_count_by_at_most_one(most: int) -> None:
    """Sensitivity: all tables of some rows of five values (a fifth of the largest), and each with one row less."""
    values = [None, "", "a@x.org", "GB82WEST12345698765432", "GB82 WEST"]
    rules = ["has_format(v, 'iban')", "v ~ '@' OR v ~ 'W'"]

    def broken(rows: tuple[str | None, ...], rule: str) -> int:
        table = pa.table({"v": pa.array(rows, pa.string())})
        return exact_measures(table, [rule], non_private=True).self_conflicts

    key = [lambda v: v is not None and v != "GB82WEST12345698765432", lambda v: v == ""]
    for rule, breaks in zip(rules, key, strict=True):
        found: dict[tuple[str | None, ...], int] = {}
        for size in range(most + 1):
            for rows in (fifth if size == most else list)([*combinations_with_replacement(values, size)]):
                found[rows] = broken(rows, rule)
                assert found[rows] == sum(map(breaks, rows))
                assert all(found[rows] - found[(*rows[:k], *rows[k + 1 :])] in (0, 1) for k in range(size))


def test_predicates_of_calls_and_of_sql(tmp_path: Path) -> None:
    table = pa.table({"email": ["a@x.org", "b@x.org", "nobody", None]})
    where = "has_format(email, 'email')"
    assert dpdb.dp_count(table, 50, where=where).value == 2
    with Session(table, constraints="UNIQUE(email)", budget=200) as session, FrontEnd(session, "t") as door:
        answer = door.run("SELECT value FROM dp_count('t', epsilon := 50, where := 'email !~ ''@''')")
        assert answer.table.to_pylist() == [{"value": 1}]
        assert session.dp_count(50, where="email ~ '^a'").value == 1
        assert session.spent() > 50, "patterns cover all values of their column"
