"""CSV text is cut at the delimiter that the owner gives, through every door; without one as before."""

from __future__ import annotations

import argparse
import gzip
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from csv_reference import REFUSED, rows_of

import dpdb
from dpdb.database.database import Database
from dpdb.doors.cli import main
from dpdb.doors.cli.options import csv_schema
from dpdb.errors import LedgerError, ParameterError, SourceError
from dpdb.ledger import Ledger
from dpdb.owner import exact_measures, propose_schema
from dpdb.sources.cells.faults import Faults
from dpdb.sources.files import csv_files as csv_rows
from dpdb.sources.open import find_files, open_source, opened_content
from dpdb.sources.source import Wanted

# Three rows of zip 1, one of which has another city; a comma and a blank stand in cells.
ROWS = [("zip", "city"), ("1", "a, b"), ("1", "a, b"), ("1", "c"), ("2", "d")]


def text_of(delimiter: str) -> str:
    return "".join(f'"{zip_code}"{delimiter}"{city}"\n' for zip_code, city in ROWS)


def written(path: Path, delimiter: str) -> Path:
    content = text_of(delimiter).encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def read(source: Any, delimiter: str | None, **options: Any) -> tuple[list[tuple[Any, ...]], str]:
    """The rows of a source below the names of its columns, and the state by which a ledger knows them."""
    with Database() as database:
        opened = open_source(database, source, delimiter=delimiter, **options)
        rows = database.rows(f"FROM {opened.scan.sql('duckdb')}")
        return [opened.schema.names, *rows], opened_content(database, opened)


@pytest.mark.heavy
@pytest.mark.parametrize("given", [";", "|", "^", "~", ":", " ", "\x01", "\t", "\\t", "tab", ","])
@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.txt", "t", "t.dat.gz"])
def test_text_of_any_name_is_cut_where_the_owner_says(tmp_path: Path, given: str, name: str) -> None:
    path = written(tmp_path / name, "\t" if given in ("\\t", "tab") else given)
    assert read(path, given)[0] == ROWS
    assert read(str(tmp_path / "t*"), given)[0] == ROWS


def test_the_given_delimiter_alone_counts(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b;c\n1,2;3\n")
    assert read(path, None)[0] == [("a", "b;c"), ("1", "2;3")]
    assert read(path, ";")[0] == [("a,b", "c"), ("1,2", "3")]
    assert read(path, "|")[0] == [("a,b;c",), ("1,2;3",)]


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize("mark", [b"^", b";"])
def test_every_delimiter_follows_the_rule_of_commas(tmp_path: Path, mark: bytes) -> None:
    rng, parts = random.Random(16), [b"a", b",", b",", b'"', b'"', b"\n", b" ", mark, b'"x"', b'"a,b"', b"1,2\n"]
    exchanged = bytes.maketrans(b"," + mark, mark + b",")
    for _ in range(300):
        text = b"".join(rng.choice(parts) for _ in range(rng.randrange(16)))
        (tmp_path / "t.csv").write_bytes((b"c0,c1\n" + text).translate(exchanged))
        files, wanted = find_files(str(tmp_path / "t.csv")), Wanted(delimiter=mark.decode())
        try:
            batches = list(csv_rows.csv_batches(files, csv_rows.csv_columns(files, wanted), Faults(), wanted))
            found = [tuple(row.values()) for batch in batches for row in batch.to_pylist()]
        except SourceError:
            found = REFUSED
        expected = rows_of(text, 2)
        if expected != REFUSED:
            expected = [tuple(cell and cell.encode().translate(exchanged).decode() for cell in row) for row in expected]
        assert found == expected, text


def test_blanks_that_delimit_are_not_dropped_around_quotes(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text('a b c\n1  "x y"\n"2" "" "3" \n "4" 5\n')
    assert read(tmp_path / "t.txt", " ")[0][1:] == [("1", None, "x y"), ("2", None, "3"), (None, "4", "5")]


@pytest.mark.heavy
@pytest.mark.parametrize("given", ["", ";;", "é", '"', "\n", "\r", "\0", "t", "7", "space", 5])
def test_what_is_no_delimiter_is_one_line(tmp_path: Path, given: Any) -> None:
    with pytest.raises(ParameterError, match=r"\Adelimiter .*: .*expected [^\n]*\Z"):
        read(written(tmp_path / "t.csv", ";"), given)


@pytest.mark.heavy(family="long")
def test_what_is_no_csv_text_has_no_delimiter(hospital: Path, tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text('{"a": "1"}\n')
    for source, says in [
        (hospital, r"hospital\.parquet: is Parquet; a delimiter applies to CSV text only"),
        (tmp_path / "t.jsonl", r"t\.jsonl: is JSON lines; a delimiter"),
        (Database()._connection, "a delimiter applies to CSV text only"),
        ("postgresql://localhost/x", "a delimiter applies to CSV text only"),
    ]:
        with pytest.raises(SourceError, match=says):
            dpdb.open(source, delimiter=";")
    (tmp_path / "t.txt").write_text("a\n1\n")
    with pytest.raises(SourceError, match="for CSV text of another name give its delimiter"):
        dpdb.open(tmp_path / "t.txt")


@pytest.mark.heavy(family="privacy")
def test_a_ledger_knows_rows_that_are_cut_elsewhere_as_others(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("n\n1;2\n1\n")
    assert read(path, ";")[0] == [("n",), (None,), ("1",)]
    assert read(path, None) == read(path, ",")  # the same rows in other words
    assert read(path, ";")[1] != read(path, ",")[1]
    Ledger.create(tmp_path / "t.ledger", 3).close()
    with dpdb.open(path, ledger=tmp_path / "t.ledger") as session:
        session.dp_count(epsilon=1)
    with dpdb.open(path, ledger=tmp_path / "t.ledger", delimiter=",") as session:
        session.dp_count(epsilon=1)
    with (
        pytest.raises(LedgerError, match="dpdb budget epoch"),
        dpdb.open(path, ledger=tmp_path / "t.ledger", delimiter=";") as session,
    ):
        session.dp_count(epsilon=0.1)


@pytest.mark.heavy(family="spending")
@pytest.mark.parametrize(("named", "given"), [("t.csv", ";"), ("t.tsv", None)])
def test_an_append_only_ledger_is_of_rows_that_are_cut_at_one_delimiter(
    tmp_path: Path, named: str, given: str | None
) -> None:
    """Its rows are not compared; cut elsewhere, a line that was charged as one value would be released as another."""
    path, ledger = tmp_path / "t.csv", tmp_path / "t.ledger"
    path.write_text("n\n1;2\n1\t2\n")
    Ledger.create(ledger, 3, append_only=True).close()
    with dpdb.open(path, ledger=ledger) as session:
        session.dp_count(epsilon=1, where="n = '1;2'")
    path = path.rename(tmp_path / named)
    with (
        dpdb.open(path, ledger=ledger, delimiter=given) as session,
        pytest.raises(LedgerError, match=r"cells are read otherwise .*its delimiter"),
    ):
        session.dp_count(epsilon=1, where="n = '1'")
    path.write_text("n\n1;2\n1\t2\n3\n")
    with dpdb.open(path, ledger=ledger, delimiter=",") as session:
        session.dp_count(epsilon=1, where="n = '1;2'")


def test_an_append_only_ledger_takes_the_delimiter_with_which_it_began(tmp_path: Path) -> None:
    path, ledger = tmp_path / "t.txt", tmp_path / "t.ledger"
    Ledger.create(ledger, 3, append_only=True).close()
    for text in ("n\n1\n", "n\n1\n2\n"):
        path.write_text(text)
        with dpdb.open(path, ledger=ledger, delimiter="^") as session:
            session.dp_count(epsilon=1)
    with (
        dpdb.open(path, ledger=ledger, delimiter=",") as session,
        pytest.raises(LedgerError, match=r"cells are read otherwise .*its delimiter"),
    ):
        session.dp_count(epsilon=1)


@pytest.mark.heavy(family="long")
def test_parents_are_cut_there_if_their_header_line_is(tmp_path: Path) -> None:
    (tmp_path / "orders.txt").write_text("id^customer\n1^7\n2^8\n")
    for name, text in [("same.txt", "id^name\n7^x\n"), ("usual.csv", "id,name\n7,x^y\n"), ("one.csv", "id\n7\n")]:
        (tmp_path / name).write_text(text)
        found = exact_measures(
            tmp_path / "orders.txt",
            "customer IN customers.id",
            non_private=True,
            delimiter="^",
            public_parents={"customers": tmp_path / name},
        )
        assert found.problematic == 1, name


@pytest.mark.heavy(family="long")
def test_every_door_takes_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "t.txt", "^")
    rules = ["--constraints", "zip -> city"]
    for words in (
        ["exact", "t.txt", *rules, "--non-private"],
        ["measure", "t.txt", *rules, "--measure", "repair", "--epsilon", "1"],
        ["count", "t.txt", "--epsilon", "1"],
        ["explain", "t.txt", *rules],
        ["noise", "conoise", "t.txt", *rules, "--out", "noisy.csv", "--iterations", "1", "--overwrite"],
        ["sql", "t.txt", *rules, "--budget", "1", "SELECT * FROM dp_count('t', epsilon := 1)"],
    ):
        assert main([*words, "--delimiter", "^"]) == 0, words
        assert main(words) == 2, words
        assert "give its delimiter" in capsys.readouterr().err
    assert main(["schema", "t.txt"]) == 0  # which proposes how the cells are written, and shows what that gives
    assert main(["schema", "t.txt", "--delimiter", "^"]) == 0
    capsys.readouterr()
    unknown = ["plan", "t.txt", "--constraints", "zip -> town", "--rows", "9", "--error-rate", "0", "--delimiter", "^"]
    assert main(unknown) == 2
    assert "no column 'town'; nearest is 'city'" in capsys.readouterr().err
    (tmp_path / "dpdb.toml").write_text('delimiter = "^"\n')
    assert main(["count", "t.txt", "--epsilon", "1"]) == 0
    monkeypatch.setenv("DPDB_DELIMITER", "tab")
    written(tmp_path / "u.txt", "\t")
    assert main(["count", "u.txt", "--epsilon", "1"]) == 0
    assert [column.type for column in propose_schema("t.txt", delimiter="^").columns] == ["INTEGER", "VARCHAR"]


@pytest.mark.heavy
@pytest.mark.parametrize("stated", ["^", "\\t", "tab", " "])
def test_a_job_names_it(tmp_path: Path, stated: str) -> None:
    written(tmp_path / "t.txt", "\t" if stated in ("\\t", "tab") else stated)
    Ledger.create(tmp_path / "t.ledger", 3).close()
    (tmp_path / "job.toml").write_text(
        f'name = "n"\nsource = "t.txt"\ndelimiter = "{stated}"\nconstraints = ["zip -> city"]\nledger = "t.ledger"\n'
        'results = "r.duckdb"\n[[release]]\nname = "a"\nmeasure = "count"\nepsilon = 1\n'
    )
    assert main(["run", str(tmp_path / "job.toml"), "--dry-run"]) == 0
    assert main(["run", str(tmp_path / "job.toml")]) == 0


@pytest.mark.heavy(family="long")
def test_standard_input_is_cut_there() -> None:
    words = ["exact", "-", "--constraints", "zip -> city", "--non-private", "--measure", "problematic"]
    found = subprocess.run(
        [sys.executable, "-m", "dpdb", *words, "--delimiter", "^"],
        input=text_of("^"), capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "problematic            3" in found.stdout


@pytest.mark.heavy(of=20)
@pytest.mark.parametrize("mark", [*",;|\t^~:#*\x01\x1f"])
@pytest.mark.parametrize("form", ["plain", "quoted", "lone quotes"])
def test_schema_proposes_where_text_is_cut(mark: str, form: str, tmp_path: Path) -> None:
    """What it proposes reads the rows; a schema file of it, too, also of a character that nobody sees."""
    cell = {"plain": "{}", "quoted": '"{}"', "lone quotes": 'th"e {}'}[form]
    rows = [("1", cell.format("a")), ("2", cell.format("b")), ("3", cell.format("c"))]
    path = tmp_path / "t.csv"
    path.write_text("".join(f"{mark.join(row)}\n" for row in [("id", "name"), *rows]))
    proposed = propose_schema(path)
    assert [(each.name, each.type) for each in proposed.columns] == [("id", "INTEGER"), ("name", "VARCHAR")]
    (tmp_path / "schema.toml").write_text(proposed.toml)
    second = 'th"e b' if form == "lone quotes" else "b"
    wanted = ["id <> 1", f"name <> '{second}'"]
    for given in (str(tmp_path / "schema.toml"), proposed.option):
        schema = csv_schema(argparse.Namespace(schema=given))
        found = exact_measures(
            path, wanted, csv_schema=schema, non_private=True, by_constraint=True, measures=["drastic"]
        )
        assert found.rows == 3
        assert [rule.violations for rule in found.by_constraint or ()] == [1, 1]


@pytest.mark.heavy
@pytest.mark.parametrize(
    "text", ["a:b\n1\n2\n3\n", "when\n10:30\n11:00\n", "a^\n1^2\n", "a b\n1 2\n3 4\n", "mail\nx@y\nz@w\n"]
)
def test_schema_proposes_no_cut_that_nothing_tells(text: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(text)
    proposed = propose_schema(tmp_path / "t.csv")
    assert [column.name for column in proposed.columns] == [text.splitlines()[0]]
    assert "delimiter" not in proposed.option


def test_a_delimiter_may_be_told_by_its_number(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", "\x01")
    assert read(path, r"\x01") == read(path, "\x01")
    for wrong in (r"\x41", r"\x0a", r"\x80", r"\x1", r"\x001"):
        with pytest.raises(ParameterError, match="delimiter"):
            read(tmp_path / "t.csv", wrong)
