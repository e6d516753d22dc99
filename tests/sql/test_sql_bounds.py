"""Texts that would keep the parent busy: refused after a bounded amount of work, with one line."""

from __future__ import annotations

from pathlib import Path

import pytest
from case_share import fifth
from counting_noise import CountingNoise
from legitimate_statements import CASES
from private_rows import RULE

import dpdb
from dpdb.bounded_parser import TooMuchWorkError, parse_duckdb
from dpdb.doors.cli import main
from dpdb.doors.sql import FrontEnd
from dpdb.doors.sql.parse import MOST_SCRIPT, parse_statement, split_statements
from dpdb.errors import ParameterError, PredicateError, StatementRefusedError
from dpdb.privacy.noise import replaced_noise

# The parser's work doubles with each level; at these depths it would still end, after a second or two.
DOUBLING = {
    "arrays": f"SELECT {'ARRAY[' * 13}1{']' * 13}",
    "structs": f"SELECT {'struct(' * 18}1{')' * 18}",
    "joins": f"SELECT 1 FROM {'t JOIN ' * 14}t",
    "types": f"SELECT 1::{'DECIMAL(' * 13}INT{')' * 13}",
    "enumerations": f"SELECT 1::{'ENUM(' * 13}INT{')' * 13}",
}


@pytest.mark.heavy
@pytest.mark.parametrize("name", DOUBLING)
def test_nesting_that_doubles_the_work_is_refused(name: str, front_end: FrontEnd) -> None:
    with pytest.raises(StatementRefusedError, match="too many possible readings"):
        parse_statement(DOUBLING[name])
    with pytest.raises(TooMuchWorkError):
        parse_duckdb(DOUBLING[name])
    if name != "joins":  # no predicate has them
        predicate = f"age = {DOUBLING[name].removeprefix('SELECT ')}"
        with pytest.raises(PredicateError, match="too many possible readings"):
            front_end.check(f"SELECT dp_count('visits', where := '{predicate}', epsilon := 1).value")


@pytest.mark.heavy(family="long")
def test_what_people_write_is_far_from_the_bound() -> None:
    for case in fifth(CASES):
        parse_statement(case.sql)
    for text in (
        f"SELECT {' + '.join(['1'] * 4_000)}",
        f"SELECT {', '.join(f'round(a.column_{k} / 2, 1)' for k in range(1_000))} FROM a",
        f"SELECT 1 FROM t {' '.join(f'JOIN t{k} ON t.x = t{k}.x' for k in range(500))}",
        f"SELECT {'ARRAY[' * 6}1{']' * 6}, {'struct(' * 8}1{')' * 8}, {'(' * 40}1{')' * 40}",
        f"SELECT {'CASE WHEN a THEN 1 ELSE ' * 30}0{' END' * 30}",
    ):
        parse_statement(text)


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("statement", "says"),
    [
        (f"SELECT '{'x' * 65_536}'", "more than 65,536 bytes"),
        (f"SELECT '{'é' * 33_000}'", "more than 65,536 bytes"),
        ("SELECT '\udcff'", "not UTF-8"),
        (f"SELECT 1{'+1' * 16_000}", "more than 30,000 words and signs"),
        (f"SELECT {', '.join(['a'] * 11_000)}", "more than 10,000 parts"),
        (f"SELECT {'9' * 5_000}", "a number has more than 400 digits"),
        (f"SELECT {'9' * 60_000}x", "a number has more than 400 digits"),
        (f"SELECT dp_count('visits', epsilon := {'9' * 5_000}).value", "a number has more than 400 digits"),
        ("SELECT dp_count('visits', epsilon := 1e999999999999999999999).value", "no number that epsilon can be"),
        ("SELECT * FROM ROWS FROM (dp_count('visits', epsilon := 1))", "is not a table that statements may read"),
        (
            "SELECT * FROM ROWS FROM (dp_count('visits', epsilon := 1), dp_count('visits', epsilon := 1))",
            "is not a table",
        ),
        (f"SELECT {', '.join(['dp_count($$visits$$, epsilon := 1).value'] * 101)}", "more than 100 calls"),
    ],
)
def test_odd_texts_are_refused_in_words(statement: str, says: str, front_end: FrontEnd) -> None:
    with pytest.raises(StatementRefusedError, match=says):
        front_end.run(statement)


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("statement", "error"),
    [
        (f"SELECT dp_count('visits', epsilon := '{'9' * 5_000}').value", ParameterError),
        (f"SELECT dp_count('visits', where := 'age > {'9' * 5_000}', epsilon := 1).value", PredicateError),
        (f"SELECT value FROM dp_count('visits', by := 'age', keys := ['{'9' * 5_000}'], epsilon := 1)", ParameterError),
        ("SELECT value + nothing FROM dp_count('visits', epsilon := 1)", StatementRefusedError),
        ("SELECT upper(people) FROM states", StatementRefusedError),
        (f"SELECT {'x' * 60_000}", StatementRefusedError),
        ('SELECT state AS "a\nb\x1b[31m", nothing FROM states', StatementRefusedError),
    ],
)
def test_errors_have_one_short_line(statement: str, error: type[dpdb.DpdbError], front_end: FrontEnd) -> None:
    for run in (front_end.check, front_end.run):
        with pytest.raises(error) as caught:
            run(statement)
        assert type(caught.value) is error
        message = str(caught.value)
        assert (message.isprintable(), len(message) < 600) == (True, True)


def test_a_tree_that_nobody_foresaw_is_refused(front_end: FrontEnd, monkeypatch: pytest.MonkeyPatch) -> None:
    def surprised(*args: object) -> None:
        raise AttributeError("canary")

    monkeypatch.setattr("dpdb.doors.sql.front_end.check_statement", surprised)
    with pytest.raises(StatementRefusedError, match=r"^the statement is not understood$"):
        front_end.run("SELECT 1")


def test_the_parser_says_nothing_on_its_own(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    parse_duckdb(
        "CALL something('visits') WHERE note = 'canary'"
    )  # sqlglot's own parser prints a warning with the text
    assert (capfd.readouterr(), caplog.text) == (("", ""), "")


@pytest.mark.heavy
@pytest.mark.parametrize(
    "statement",
    ["SELECT * FROM ROWS FROM (dp_count('visits', 1))", f"SELECT {'9' * 5_000}", DOUBLING["arrays"], "SELECT '\udcff'",
     "SELECT upper(1.5, 2)", f"SELECT {'(' * 30_000}"],
)  # fmt: skip
def test_the_command_line_gives_one_line_and_exit_code_2(
    statement: str, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    command = ["sql", str(folder / "visits.parquet"), "--constraints", RULE, "--budget", "1", statement]
    assert main(command) == 2
    out, err = capfd.readouterr()
    assert (out, err.count("\n"), err.startswith("dpdb: ")) == ("", 1, True)


@pytest.mark.parametrize("value", ["TIME '24:00:00'", "170141183460469231731687303715884105727::HUGEINT"])
def test_values_that_no_result_can_hold_are_refused_before_anything_is_spent(value: str, front_end: FrontEnd) -> None:
    statement = f"SELECT {value} AS odd, dp_count('visits', epsilon := 0.1).value AS n"
    with pytest.raises(dpdb.DpdbError, match=r"column .odd. has a value that a result cannot hold.*cast it to VARCHAR"):
        front_end.run(statement)
    assert front_end.run(f"SELECT ({value})::VARCHAR AS odd, sum(1) AS n").table.num_rows == 1


def test_closed_standard_input_is_one_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", None)  # what Python makes of <&-
    command = ["sql", str(folder / "visits.parquet"), "--constraints", RULE, "--budget", "1"]
    assert main(command) == 2
    assert capfd.readouterr().err == "dpdb: standard input is closed; name a file, or give what it should have\n"
    with replaced_noise(CountingNoise()):
        assert main([*command, "--quiet", "SELECT value FROM dp_count('visits', epsilon := 1)"]) == 0


@pytest.mark.heavy(family="long")
def test_many_columns_of_one_name_are_shown_in_time(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    command = ["sql", str(folder / "visits.parquet"), "--constraints", RULE, "--budget", "1", "--quiet"]
    assert main([*command, "--format", "csv", f"SELECT {', '.join(['1'] * 4_000)}"]) == 0
    header, row = capfd.readouterr().out.splitlines()
    assert header.startswith("1,1_1,1_2,")
    assert len(set(header.split(","))) == len(row.split(",")) == 4_000


def test_scripts_are_split_into_what_they_hold_and_no_more() -> None:
    for text in ("1;" * 500, "SELECT 1;\n" * 900, "  -- nothing\n;;SELECT\n1 ;" * 300):
        parts = split_statements(text)
        assert sum(map(len, parts)) <= len(text)  # it was quadratic: each stood behind blanks for all before it
    for text in ("1;" * 1_001, "x" * (MOST_SCRIPT + 1)):
        with pytest.raises(StatementRefusedError, match="a script has at most"):
            split_statements(text)
    with pytest.raises(StatementRefusedError, match="found 32,000 statements"):
        parse_statement("1;" * 32_000)


def test_errors_stand_where_the_statement_stands_in_its_script(front_end: FrontEnd) -> None:
    *_, second, third = split_statements("SELECT 1; SELECT nothing()\n;\n\n SELECT 2,\n  random()")
    for part, place in ((second, "line 1, column 18: "), (third, "line 5, column 3: ")):
        with pytest.raises(StatementRefusedError, match=f"^{place}") as caught:
            front_end.check(part)
        assert f"line {caught.value.line}, column {caught.value.column}: " == place
