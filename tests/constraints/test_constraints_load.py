"""Constraints from files, texts, lists and values."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from dpdb.constraints import WrittenLines, distinct, load, load_constraints, load_lines, parse_constraint, written_lines
from dpdb.errors import ConstraintSyntaxError, ParameterError, UnknownColumnError

DATA = Path(__file__).parents[3] / "shared" / "data"

TEXT = """\ufeff# zip codes\r
not(t1.zip=t2.zip&t1.city!=t2.city)  # trailing\r
\r
   -- a key
UNIQUE(zip, city) -- and more
zip -> city, state
not(t1.city = 'a # b -- c')"""

LOADED = [
    "not(t1.zip=t2.zip&t1.city!=t2.city)",
    "not(t1.zip=t2.zip&t1.city=t2.city)",
    "not(t1.zip=t2.zip&t1.city!=t2.city)",
    "not(t1.zip=t2.zip&t1.state!=t2.state)",
    "not(t1.city='a # b -- c')",
]


def written(loaded):
    return [str(dc) for dc in loaded]


def test_text():
    assert written(load_constraints(TEXT)) == LOADED


def test_file(tmp_path):
    path = tmp_path / "zip.dcs.txt"
    path.write_bytes(TEXT.encode())
    assert written(load_constraints(path)) == LOADED
    assert written(load_constraints(str(path))) == LOADED
    assert written(load_constraints([path, "a -> b"])) == [*LOADED, "not(t1.a=t2.a&t1.b!=t2.b)"]


def test_list_and_values():
    (dc,) = parse_constraint("zip -> city")
    assert load_constraints(dc) == (dc,)
    assert load_constraints((dc, "zip -> city\nzip->state"))[:2] == (dc, dc)
    assert written(load_constraints([dc], ["ZIP", "City"])) == ["not(t1.ZIP=t2.ZIP&t1.City!=t2.City)"]


def test_values_with_unknown_columns():
    (dc,) = parse_constraint("zip -> city")
    with pytest.raises(
        UnknownColumnError, match=r"constraint zip -> city: the table has no column 'city'; nearest is 'Cty'"
    ):
        load_constraints(dc, ["ZIP", "Cty"])


def test_slashes_do_not_make_a_constraint_a_path():
    assert written(load_constraints('"a/b" -> c')) == ['not(t1."a/b"=t2."a/b"&t1.c!=t2.c)']
    assert written(load_constraints("a -> b # see notes/x.txt")) == ["not(t1.a=t2.a&t1.b!=t2.b)"]
    assert written(load_constraints("not(t1.a='x/y.txt')")) == ["not(t1.a='x/y.txt')"]


@pytest.mark.parametrize("name", ["nowhere.txt", "nowhere.dcs", "no (1).DC", "some/dir/rules", "C:\\rules", "./x"])
def test_missing_file(name):
    with pytest.raises(ParameterError, match="constraints file not found: "):
        load_constraints(name)


def test_missing_path_and_directory(tmp_path):
    for path in (tmp_path, tmp_path / "x", str(tmp_path)):
        with pytest.raises(ParameterError, match="constraints file not found: "):
            load_constraints(path)


def test_unreadable_file(tmp_path, monkeypatch):
    def refuse(path, mode):
        raise PermissionError(13, "Permission denied")

    path = tmp_path / "x.txt"
    path.touch()
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(ParameterError, match="cannot be read"):
        load_constraints(path)


@pytest.mark.parametrize("nothing", ["", " \n# only a comment\n", [], (), [""]])
def test_nothing_is_an_error(nothing):
    with pytest.raises(ParameterError, match="no constraints"):
        load_constraints(nothing)


def test_empty_file(tmp_path):
    path = tmp_path / "empty.txt"
    path.write_text("# nothing\n")
    with pytest.raises(ParameterError, match=r"no constraints in .*empty\.txt"):
        load_constraints(path)


@pytest.mark.parametrize("wrong", [5, None, [5], {"a -> b"}, b"a -> b"])
def test_wrong_types(wrong):
    with pytest.raises(ParameterError, match="constraints must be"):
        load_constraints(wrong)


def test_columns_must_not_be_one_text():
    with pytest.raises(ParameterError, match="columns must be"):
        load_constraints("a -> b", "ab")


def test_errors_have_file_line_and_column(tmp_path):
    path = tmp_path / "bad.txt"
    path.write_text("# first\na -> b\nnot(t1.a=t2.a\n")
    with pytest.raises(ConstraintSyntaxError, match=r"bad\.txt: line 3, column 14: expected '&' or '\)'"):
        load_constraints(path)
    with pytest.raises(UnknownColumnError, match=r"bad\.txt: line 2, column 6: the table has no column 'b'"):
        load_constraints(path, ["a"])
    with pytest.raises(ConstraintSyntaxError, match=r"^line 2, column 1: "):
        load_constraints("a -> b\n= c")


def test_file_must_be_utf8(tmp_path):
    path = tmp_path / "latin.txt"
    path.write_bytes("a -> b\nü, größe".encode() + b" \xfc -> c")
    with pytest.raises(
        ConstraintSyntaxError, match=r"latin\.txt: line 2, column 10: expected UTF-8 text, found byte 0xFC"
    ):
        load_constraints(path)


@pytest.mark.parametrize(
    ("name", "count", "kept"),
    [("adult", 3, 3), ("flight", 13, 13), ("hospital", 7, 7), ("stock", 1, 1), ("tax", 9, 8)],
)
@pytest.mark.parametrize("ending", [".dcs.txt", ".dcs.orig.txt"])
def test_paper_constraints(name, count, kept, ending):
    path = DATA / f"{name}{ending}"
    if not path.is_file():
        pytest.skip(f"{path.name} is not on this machine")
    loaded = load_constraints(path)
    lines = path.read_text(encoding="utf-8").split()
    assert written(loaded) == lines
    assert len(loaded) == count
    assert len(distinct(loaded)) == kept


@pytest.mark.parametrize("text", ["a / b <= 2", "a => b", "a LIKE 'x/y.txt'", "c <= below.dc"])
def test_a_text_with_signs_of_constraints_is_no_path(text):
    assert load_constraints(text) == parse_constraint(text)
    with pytest.raises(ConstraintSyntaxError, match="expected"):
        load_constraints(f"{text} = = folder/c.txt")


def test_a_file_that_is_no_constraints_file_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "x.txt").open("wb") as file:
        file.truncate((16 << 20) + 1)
    with pytest.raises(ParameterError, match=r"x\.txt is larger than 16 MiB: is it a constraints file\?"):
        load_constraints(tmp_path / "x.txt")


_LINES = """zip -> city
one: zip, Street -> city WHERE state = 'NY'  fail above 3
UNIQUE(zip, city)  warn above 2 duplicate values
CHECK (age BETWEEN 1 AND 9 OR city IS NULL)
CHECK (0 <= age)  fail above 1%
NOT NULL(age)
age IS NOT NULL
city in ('a', 'zip')
not(t1.zip = t2.zip & t1.city != t2.city)
"zip": age > 1
"zip code" -> city
zip code -> city
home.city -> zip
order_id IN orders.id
CHECK (orders.age > age) BY order_id = orders.id
CHECK (age IN (SELECT id FROM orders))
age = current_date
date = 3: zip -> city
distinct_count(zip)  within [2, 4]
row_count WHERE age > 3  fail below 5
freshness(day) < 2 days
schema has (age)
limit: zip -> rows  fail above 5 rows
CHECK (length(city) > 2 and active)
not active"""
_TABLES = [
    ["zip", "city", "age", "state", "street", "day", "order_id", "rows", "active", "date"],
    ["zip", "city", "age", "state", "Street", "day", "order_id", "active"],
    ["ZIP", "CITY", "AGE", "State", "Street", "Day", "Order_id", "rows", "Active"],
    ["zip", "Zip", "ZIP", "city", "age", "state", "Street", "id", "active"],
    ["zip code", "home.city", "zip", "city", "age", "code", "street", "state", "order_id", "active"],
    ["zip", "city", "age", "current_date", "above", "limit", "one", "orders", "check", "length", "unique", "state"],
    ["zip", "city", "age", "fail", "in", "null", "not", "where", "and", "or", "between", "Street", "state", "3", "NY"],
    ["city"],
]


@pytest.mark.parametrize("columns", _TABLES)
@pytest.mark.parametrize("line", _LINES.split("\n"))
def test_a_line_that_was_read_without_columns_is_read_as_if_it_had_not_been(line: str, columns: list[str]) -> None:
    def said(written: WrittenLines) -> object:
        try:
            return [replace(each, cursor=None) for each in load_lines(written, columns)]  # type: ignore[arg-type]
        except (ConstraintSyntaxError, UnknownColumnError) as error:
            return type(error), str(error)

    before = written_lines(f"# a comment\n\n{line}\n")
    with suppress(ConstraintSyntaxError):
        load_lines(before)
    assert said(before) == said(written_lines(f"# a comment\n\n{line}\n"))


def test_most_lines_are_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read, inner = [], load.read_line
    monkeypatch.setattr(load, "read_line", lambda *given: read.append(1) or inner(*given))
    written = written_lines(
        "zip -> city\nCHECK (age > 1)  fail above 3\nNOT NULL(zip)\nt: not(t1.age > 3)\nzip -> City"
    )
    load_lines(written)
    found = load_lines(written, ["zip", "city", "age"])
    assert len(read) == 5 + 2
    assert [line.cursor.source.line for line in found] == [1, 2, 3, 4, 5]
