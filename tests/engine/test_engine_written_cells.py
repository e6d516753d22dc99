"""Text whose writing the schema declares: encodings, quotes, escapes, comments, headers, texts that are NULL.

A row depends on its own line alone: one line, put anywhere, is one row more or none, and changes no other.
"""

from __future__ import annotations

import gzip
import json
import random
import sqlite3
from argparse import Namespace
from contextlib import closing
from itertools import chain, product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from case_share import fifth, of_all
from stub_noise import StubNoise
from written_reference import REFUSED, Declared, Row, Units, declared_rows

import dpdb
from dpdb.database import Database
from dpdb.doors.cli import main
from dpdb.doors.cli.options import csv_schema
from dpdb.doors.jobs.job_file import load_job
from dpdb.errors import ParameterError, SourceError
from dpdb.ledger import Ledger
from dpdb.owner import exact_measures
from dpdb.privacy.noise import replaced_noise
from dpdb.sources.cells.faults import Faults
from dpdb.sources.cells.typed import reading
from dpdb.sources.cells.writing import Writing, split_writing
from dpdb.sources.files import csv_files, csv_header
from dpdb.sources.files.cell_files import with_nulls
from dpdb.sources.open import find_files, open_source
from dpdb.sources.source import Wanted

ENCODINGS = ("utf-8", "utf-16", "utf-16le", "utf-16be", "latin-1", "cp1252", "cp850")
BROKEN = {"utf-8": [0xE9], "cp1252": [0x81], "latin-1": [0x81], "cp850": [0x81]}
PARTS = ["a", "b", "a", ",", ";", "\t", '"', "'", '"', "'", "\\", "\\", "\\n", "\\N", "#", "# x", "NA", "-", " ", "\r",
         "é", "\0", '"x"', "'x'", '"a,b"', "\\\\", "''", '""', "1"]  # fmt: skip
WIDE = ["\U0001f600", "\u2028", "\x85", "\ufeff", "Ā"]


def declared(rng: random.Random) -> Declared:
    """A declaration of everything at once."""
    delimiter = rng.choice([",", ",", ";", "\t"])
    return Declared(
        rng.choice(ENCODINGS), delimiter, rng.choice(['"', "'", "", "`"]), rng.choice(["", "\\", "^"]),
        rng.choice(["", "#", "# "]), rng.choice([(), ("NA", "-")]), rng.choice(["\n", "\n", "\r\n", "\r"]),
    )  # fmt: skip


def units(rng: random.Random, said: Declared, most: int) -> Units:
    """Some text without a line end, some of it broken."""
    found: Units = []
    for _ in range(rng.randrange(most)):
        if rng.random() < 0.08:
            found += [rng.choice([0xD800, 0xDC00])] if said.pairs else BROKEN[said.encoding]
        elif rng.random() < 0.1 and (said.pairs or said.encoding == "utf-8"):
            found += said.units_of(rng.choice(WIDE))
        else:
            found += said.units_of(rng.choice([*PARTS, said.delimiter]))
    return [unit for unit in found if unit != ord(said.end[-1])]


def line(rng: random.Random, said: Declared, most: int = 8) -> Units:
    return units(rng, said, most) + [ord(sign) for sign in said.end]


def even_line(rng: random.Random, said: Declared) -> Units:
    """A line after which no quotes of CSV are open."""
    while True:
        found = line(rng, said)
        if said.quote != '"' or said.escape or found.count(ord('"')) % 2 == 0:
            return found


def schema_of(said: Declared, columns: int, header: int) -> dict[str, str]:
    quoted = "''''" if said.quote == "'" else f"'{said.quote}'"
    told = {
        "encoding": said.encoding, "delimiter": f"'{said.delimiter}'", "quote": quoted if said.quote else "none",
        "escape": f"'{said.escape}'" if said.escape else "none", "header": header or "none",
    }  # fmt: skip
    if said.comment:
        told["comment"] = f"'{said.comment}'"
    if said.nulls:
        told["nulls"] = " ".join(f"'{text}'" for text in said.nulls)
    cells = {"*": ", ".join(f"{name} {value}" for name, value in told.items())}
    return cells | ({} if header else {f"c{at}": "VARCHAR" for at in range(columns)})


def content(text: Units, said: Declared, columns: int, header: int) -> bytes:
    """A file: a mark, lines above the header line, the header line, and rows."""
    end = "\n" if said.end == "\r" and not header else said.end
    names = said.delimiter.join(f"c{at}" for at in range(columns)) + end
    above = "".join(f'above "{number}{end}' for number in range(1, header)) + names if header else ""
    mark = b"\xff\xfe" if said.encoding == "utf-16" else b""
    return mark + said.bytes_of([*said.units_of(above), *text])


def read(path: Path, schema: dict[str, str]) -> list[Row] | str:
    """The rows as the source gives them, without a database, which takes most of the time."""
    types, writing = split_writing(schema)
    assert writing is not None
    files, wanted = find_files(str(path)), Wanted(types=types, delimiter=writing.delimiter, writing=writing)
    try:
        batches = csv_files.csv_batches(files, csv_files.csv_columns(files, wanted), Faults(), wanted)
        return [tuple(row.values()) for batch in with_nulls(batches, wanted) for row in batch.to_pylist()]
    except SourceError:
        return REFUSED


def opened(path: Path, schema: dict[str, str]) -> list[tuple[Any, ...]]:
    """The rows as a table has them."""
    with Database() as database:
        return database.rows(f"FROM {open_source(database, path, csv_schema=schema).scan.sql('duckdb')}")


def cases(seed: int) -> tuple[random.Random, Declared, int, int]:
    rng = random.Random(seed)
    said = declared(rng)
    header = rng.choice([0, 1, 1, 3]) if said.end != "\r" else rng.choice([1, 3])
    return rng, said, rng.choice([1, 2, 3]), header


@pytest.fixture(params=[7, 1 << 23], ids=["tiny blocks", "real blocks"])
def blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_header, "BLOCK", request.param)
    monkeypatch.setattr(csv_header, "HEADER_BLOCK", min(request.param, 1 << 16))


def one_line_more(seed: int, path: Path) -> str:
    """Read a text, and the same with one line more somewhere; return what became of that line."""
    rng, said, columns, header = cases(seed)
    good = said.units_of(said.delimiter.join("a" * columns) + said.end)
    before, after = ([good, *(even_line(rng, said) for _ in range(rng.randrange(4)))] for _ in range(2))
    added = line(rng, said)
    if said.quote == '"' and not said.escape and rng.random() < 0.5:
        added = [ord('"'), *added]
    if rng.random() < 0.3:
        after[-1] = after[-1][: -len(said.end)]  # the last line may lack its end
    schema = schema_of(said, columns, header)
    texts = [[*chain(*parts)] for parts in (before, [*before, *after], [*before, added, *after])]
    found = []
    for text in texts:
        path.write_bytes(content(text, said, columns, header))
        found.append(read(path, schema))
        assert found[-1] == declared_rows(text, columns, said), (said, columns, header, text)
    first, old, new = found
    assert isinstance(first, list)
    assert isinstance(old, list)
    if isinstance(new, str):
        assert said.quote == '"'  # that of CSV, which a line may leave open
        assert not said.escape
        return "refused"
    at, more = len(first), len(new) - len(old)
    assert more in (0, 1)
    assert [*new[:at], *new[at + more :]] == old, (said, columns, before, added, after)
    return ("row" if any(new[at]) else "row of NULLs") if more else "no row"


LEFT_OPEN = (15, 23, 127)
"""Seeds of lines that open a quote, of which a fifth may have none."""


@pytest.mark.heavy
@pytest.mark.usefixtures("blocks")
def test_one_line_more_changes_no_other_row(tmp_path: Path) -> None:
    seen = [one_line_more(seed, tmp_path / "x.csv") for seed in sorted({*fifth(range(1_000)), *LEFT_OPEN})]
    assert set(seen) == {"row", "row of NULLs", "no row", "refused"}
    assert min(map(seen.count, set(seen))) >= of_all(5)


@pytest.mark.slow
@pytest.mark.usefixtures("blocks")
def test_one_line_more_changes_no_other_row_in_many_texts(tmp_path: Path) -> None:
    for seed in range(1_000, 21_000):
        one_line_more(seed, tmp_path / "x.csv")


def test_a_table_has_the_rows_of_the_source(tmp_path: Path) -> None:
    for seed in fifth(range(20)):
        rng, said, columns, header = cases(seed)
        good = said.units_of(said.delimiter.join("a" * columns) + said.end)
        text = [*chain(good, *(even_line(rng, said) for _ in range(5)))]
        (tmp_path / "x.csv").write_bytes(content(text, said, columns, header))
        schema = schema_of(said, columns, header)
        assert opened(tmp_path / "x.csv", schema) == read(tmp_path / "x.csv", schema)


EVERY_SIGN = "".join(map(chr, [*range(1, 8), *range(14, 32), 127]))


@pytest.mark.parametrize("quote", ["'", "", "`", '"'])
@pytest.mark.parametrize("escape", ["", "\\", "^"])
def test_short_lines_of_all_signs_are_read_one_by_one(quote: str, escape: str, tmp_path: Path) -> None:
    """All lines of up to three signs, a sample of those of six; beside a line with all bytes that stand for others."""
    if quote == '"' and not escape:
        return  # the quotes of CSV, whose cells may span lines
    rng = random.Random(f"{quote}{escape}")
    for mark, end, columns in fifth([*product(",\t", ["\n", "\r\n"], [1, 2, 3])]):
        said = Declared("utf-8", mark, quote, escape, end=end)
        signs = list(dict.fromkeys(["a", mark, quote or "x", '"', escape or "y", "N", "n", " ", "\r"]))
        short = ["".join(each) for length in range(4) for each in product(signs, repeat=length)]
        lines = [*rng.sample(short, 300), *("".join(rng.choices(signs, k=6)) for _ in range(300))]
        found = []
        for each in (lines, [*lines[:100], EVERY_SIGN, *lines[100:]]):
            text = said.units_of("".join(line + end for line in each))
            (tmp_path / "x.csv").write_bytes(content(text, said, columns, 0))
            found.append(read(tmp_path / "x.csv", schema_of(said, columns, 0)))
            assert found[-1] == declared_rows(text, columns, said), said
        assert sorted(map(str, found[0])) == sorted(str(row) for row in found[1] if EVERY_SIGN not in row)


# -- files as programs write them -----------------------------------------------------------------------------------

FILES: dict[str, tuple[bytes, dict[str, str], list[Row]]] = {
    "Athena": (
        b'concept_id\tconcept_name\n1\talpha\n2\t"beta\n3\t6" tube\tx\n4\t\n',
        {"*": "delimiter tab, quote none", "concept_id": "INTEGER"},
        [(1, "alpha"), (2, '"beta'), (None, None), (4, None)],
    ),
    "MySQL, INTO OUTFILE": (
        b"1\ta\\\tb\t\\N\n2\tc:\\\\new\tx\\ny\n3\tends so \\\n\t4\t\n",
        {"*": "header none, delimiter tab, quote none, escape backslash", "a": "INTEGER", "b": "TEXT", "c": "TEXT"},
        [(1, "a\tb", None), (2, "c:\\new", "x\ny"), (None, None, None), (None, "4", None)],
    ),
    "Spark": (
        b'id,path\n1,"say \\"x, y\\""\n2,"c:\\new"\n3,"c:\\\\"\n4,"a\nb"\n',
        {"*": "escape backslash", "id": "INTEGER"},
        [(1, 'say "x, y"'), (2, "c:\\new"), (3, "c:\\"), (None, None), (None, None)],
    ),
    "single quotes": (b"id,v\n1,'O''Brien, \"P\"'\n2,O'Brien\n3,'x\n", {"*": "quote single"}, [
        ("1", "O'Brien, \"P\""), ("2", "O'Brien"), (None, None)]),
    "Excel, sep": (b"sep=;\r\na;b\r\n1,5;x\r\n", {"*": "nulls x", "a": "DOUBLE '1,5'"}, [(1.5, None)]),
    "Excel, sep in quotes, tab": (b'"sep=\t"\na\tb\n1\tx\n', {}, [("1", "x")]),
    "Excel, Unicode text": ("a\tb\r\n1\té\U0001f600\r\n".encode("utf-16"), {}, [("1", "é\U0001f600")]),
    "German bank": (
        "Konto;12345\n\nBuchung;Betrag;Offen\n03.12.2025;-8.424,18;Ja\n31.02.2025;1;nein\n-;n/a;?\n".encode("cp1252"),
        {"*": "encoding windows-1252, header 3, nulls '-' 'n/a' '?'", "Buchung": "DATE '%d.%m.%Y'",
         "Betrag": "DOUBLE '1.234,56'", "Offen": "BOOLEAN 'ja/nein'"},
        [("2025-12-03", -8424.18, True), (None, 1.0, False), (None, None, None)],
    ),
    "comments": (b"# made by x\n# at \"y\na,b\n1,2\n# 3,4\n#5,6\n", {"*": "comment '# '"}, [("1", "2"), ("#5", "6")]),
    "comments within quotes": (b'a,b\n1,"x\n#y\nz"\n', {"*": "comment '#'"}, [("1", "x\nz")]),
    "a code page of DOS": ("a\nä\n".encode("cp850"), {"*": "encoding cp850"}, [("ä",)]),
}  # fmt: skip


@pytest.mark.heavy
@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("compressed", [False, True])
def test_files_as_programs_write_them(name: str, compressed: bool, tmp_path: Path) -> None:
    text, schema, rows = FILES[name]
    mark = "\t" if b"\t" in text.split(b"\n")[0] and b"sep" not in text else None
    path = tmp_path / f"x.{'tsv' if mark else 'csv'}{'.gz' if compressed else ''}"
    path.write_bytes(gzip.compress(text) if compressed else text)
    found = opened(path, schema)
    assert [tuple(str(cell) if hasattr(cell, "year") else cell for cell in row) for row in found] == rows


def test_half_a_pair_of_bytes_refuses_a_text_of_utf_16(tmp_path: Path) -> None:
    """One line more of an odd number of bytes would shift every later one; so the text is refused when it is opened."""
    lines = ["a,b\n1,2\n".encode("utf-16"), *(f"{n},x\n".encode("utf-16-le") for n in range(3))]
    (tmp_path / "x.csv").write_bytes(b"".join([*lines[:2], b"\x41", *lines[2:]]))
    with pytest.raises(SourceError, match=r"x\.csv: is cut short or damaged: UTF-16 has an even number of bytes"):
        opened(tmp_path / "x.csv", {})
    (tmp_path / "x.csv").write_bytes(b"".join(lines))
    assert opened(tmp_path / "x.csv", {}) == [("1", "2"), ("0", "x"), ("1", "x"), ("2", "x")]


def test_no_first_row_tells_the_encoding_or_the_delimiter_where_there_is_no_header_line(tmp_path: Path) -> None:
    schema = {"*": "header none", "a": "VARCHAR", "b": "VARCHAR"}
    for first in (b"sep=;\n", b"\xff\xfea,b\n", b"a;b\n", b"x\ty\r\n"):
        (tmp_path / "x.csv").write_bytes(first + b"1,2\n")
        assert opened(tmp_path / "x.csv", schema)[1:] == [("1", "2")]


WRONG: dict[str, str] = {
    "": "a setting is missing",
    "quote": "quote has no value",
    "quote none single": "quote has several values",
    "quote none, quote none": "quote occurs twice",
    "quotes none": "there is no setting 'quotes'; did you mean 'quote'",
    "quote \"'": "cannot be read from",
    "quote ab": "quote 'ab': expected none, or one ASCII character",
    "quote a": "quote 'a': expected none",
    "quote ' '": "quote ' ': expected none",
    "escape é": "escape 'é': expected none",
    "quote single, escape single": "must be different characters",
    "delimiter single, quote single": "must be different characters",
    "delimiter ab": "delimiter 'ab'",
    "comment x": "comment 'x'",
    "comment ''": "comment ''",
    "header 0": "header '0'",
    "header no": "header 'no'",
    "header 5000": "header '5000'",
    "encoding klingon": "encoding 'klingon' is not known",
    "encoding shift_jis": "could take the line's end with it",
    "encoding utf-7": "could take the line's end with it",
    "encoding cp037": "in which ASCII is ASCII",
    "encoding raw_unicode_escape": "could take the line's end with it",
    "encoding rot13": "could take the line's end with it",
    "encoding 'utf-8\0'": "is not known",
    "encoding utf-16, ": "a setting is missing",
}  # fmt: skip


@pytest.mark.parametrize("text", WRONG)
def test_what_cannot_be_declared_is_one_line(text: str) -> None:
    with pytest.raises(ParameterError, match=rf"\Aschema, \* .*{WRONG[text]}[^\n]*\Z|\Adelimiter"):
        Writing.parse(text)


def test_every_declaration_is_a_state_of_its_own() -> None:
    texts = [
        "quote none", "quote single", "escape backslash", "comment '#'", "header 2", "header none", "nulls a",
        "nulls a b", "encoding latin-1", "encoding utf-16", "quote none, escape backslash", "encoding utf-8, header 3",
    ]  # fmt: skip
    states = [Writing.parse(text).state(",") for text in texts]
    assert len(set(states)) == len(texts)
    assert {
        Writing.parse(text).state(",") for text in ("quote double", "encoding utf-8", "header 1", "escape none")
    } == {""}
    assert Writing.parse("nulls b a b").state(",") == Writing.parse("nulls a b").state(";")
    assert Writing.parse("header none").state(",") != Writing.parse("header none").state(";")


BANK = "Konto;1\nid;Name;Betrag\n1;J\xe4ger;-1.000,5\n1;-;2\n2;'x;y';3\n2;'x;z';3\n".encode("latin-1")
ALL_CELLS = "encoding windows-1252, delimiter ';', quote single, header 2, nulls '-'"
AMOUNT = "DECIMAL(9,2) '1.234,5'"


@pytest.mark.heavy(family="long")
def test_every_door_takes_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of four rows the rule `id -> Name` has one conflict: of 2. The row with `-` has no name."""
    monkeypatch.chdir(tmp_path)
    Path("b.txt").write_bytes(BANK)
    option, rules = f"* ({ALL_CELLS}), Betrag {AMOUNT}", ["--constraints", "id -> Name", "--constraints", "Betrag >= 0"]
    types = {"*": ALL_CELLS, "Betrag": AMOUNT}
    table = f'[schema]\n"*" = "{ALL_CELLS}"\nBetrag = "{AMOUNT}"\n'

    def broken(*more: str) -> int:
        assert (
            main(["exact", "b.txt", *rules, "--measure", "problematic", "--non-private", "--format", "json", *more])
            == 0
        )
        return int(json.loads(capsys.readouterr().out)["problematic"])

    found = exact_measures(
        "b.txt", ["id -> Name", "Betrag >= 0"], non_private=True, csv_schema=types, measures=["problematic"]
    )
    assert found.problematic == 3  # two of the dependency, and -1000.5
    assert broken("--schema", option) == 3
    Path("dpdb.toml").write_text(table)
    assert broken() == 3
    Path("job.toml").write_text(
        f'name = "j"\nsource = "b.txt"\nconstraints = ["id -> Name"]\nledger = "l"\nresults = "r.duckdb"\n{table}'
        '[[release]]\nname = "r"\nmeasure = "repair"\nepsilon = 1\n'
    )
    Ledger.create("l", 3).close()
    spec = load_job(Path("job.toml")).table
    assert spec.csv_schema == types
    with replaced_noise(StubNoise()):
        query = "SELECT value FROM dp_count('b', epsilon := 1, \"where\" := 'Name IS NULL')"
        assert main(["sql", "b.txt", query, "--constraints", "id -> Name", "--format", "csv", "--budget", "9"]) == 0
        assert capsys.readouterr().out.splitlines()[-1].startswith("1")
        with dpdb.open(spec) as session:
            assert session.dp_count(epsilon=1, where="Name = 'Jäger' AND Betrag = -1000.5").value == 1


def test_parents_have_a_writing_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('code,v\n"a,b",1\n"c""d",2\nnone,3\n')
    (tmp_path / "p.csv").write_text('concept\tname\na,b\t"x\nc"d\t\'\n')
    found = exact_measures(
        tmp_path / "t.csv", "code IN p.concept", non_private=True, measures=["problematic"],
        public_parents={"p": tmp_path / "p.csv"}, csv_schema={"p.*": "delimiter tab, quote none"},
    )  # fmt: skip
    assert found.problematic == 1


def test_nulls_alone_are_said_of_all_sources_of_cells(tmp_path: Path, hospital: Path) -> None:
    (tmp_path / "t.jsonl").write_text('{"a": "NA"}\n{"a": "x"}\n{"a": " NA "}\n')
    schema = {"*": "nulls NA", "a": "VARCHAR"}
    assert opened(tmp_path / "t.jsonl", schema) == [(None,), ("x",), (None,)]
    with pytest.raises(SourceError, match=r"is JSON lines; \* in a schema .* applies to CSV text only"):
        opened(tmp_path / "t.jsonl", schema | {"*": "quote none"})
    for source in (hospital, pa.table({"a": [1]})):
        with pytest.raises(
            SourceError, match=r"\* in a schema .* applies to CSV text only|a schema applies to columns"
        ):
            opened(source, {"*": "nulls NA"})
    with pytest.raises(ParameterError, match="two delimiters are given"), Database() as database:
        open_source(database, tmp_path / "t.jsonl", csv_schema={"*": "delimiter tab"}, delimiter=";")


def test_texts_are_null_in_their_own_columns(tmp_path: Path) -> None:
    """At every door of cells; the option and its TOML say the same."""
    option = "* (nulls '?'), a INTEGER NULLS '-999' '-', b VARCHAR NULLS 'NA', c DATE '%d.%m.%Y' NULLS '0', d VARCHAR"
    schema = csv_schema(Namespace(schema=option)) or {}
    assert schema == {
        "*": "nulls '?'", "a": "INT NULLS '-999' '-'", "b": "TEXT NULLS 'NA'", "c": "DATE '%d.%m.%Y' NULLS '0'",
        "d": "TEXT",
    }  # fmt: skip
    (tmp_path / "x.csv").write_text("a,b,c,d\n-999,NA,0,NA\n -999 ,-,01.02.2025,-\n-,x NA,1,?\n-99, NA ,,0\n")
    rows = [
        (None, None, None, "NA"),
        (None, "-", "2025-02-01", "-"),
        (None, "x NA", None, None),
        (-99, None, None, "0"),
    ]
    found = opened(tmp_path / "x.csv", schema)
    assert [(a, b, c and str(c), d) for a, b, c, d in found] == rows
    (tmp_path / "x.jsonl").write_text('{"a": "-999", "b": "NA"}\n{"a": 1, "b": "-999"}\n')
    both = {"a": "INTEGER NULLS '-999'", "b": "VARCHAR NULLS 'NA'"}
    assert opened(tmp_path / "x.jsonl", both) == [(None, None), (1, "-999")]
    with closing(sqlite3.connect(tmp_path / "x.db")) as connection:
        connection.executescript("CREATE TABLE t (a, b TEXT); INSERT INTO t VALUES ('-999', 'NA'), (1, '-999')")
    assert opened(tmp_path / "x.db", {"a": "INTEGER NULLS '-999'"}) == [(None, "NA"), (1, "-999")]
    for key in ("NA", "7"):
        (tmp_path / "folders" / f"k={key}").mkdir(parents=True)
        pq.write_table(pa.table({"a": [1]}), tmp_path / "folders" / f"k={key}" / "x.parquet")
    assert sorted(opened(tmp_path / "folders", {"k": "VARCHAR NULLS 'NA'"}), key=str) == [(1, "7"), (1, None)]
    for wrong in ("a INTEGER NULLS", "a NULLS 'x'", "a INTEGER NULLS x", "a INTEGER NULLS 'x' '%d' 5"):
        with pytest.raises((ParameterError, SourceError), match=r"\A[^\n]*\Z"):
            opened(tmp_path / "x.csv", csv_schema(Namespace(schema=wrong)) or {})


def test_what_is_declared_of_a_column_is_a_part_of_its_state() -> None:
    """An analyst's budget is of rows: who reads them otherwise between two releases opens a new epoch."""
    said = ["", " NULLS 'a'", " NULLS 'b'", " NULLS 'a' 'b'"]
    states = [
        reading([kind], {"c": f"{kind}{form}{nulls}"})
        for kind, form in (("VARCHAR", ""), ("DATE", ""), ("DATE", " '%d.%m.%Y'"))
        for nulls in said
    ]
    assert states[0] == ""
    assert len({*states}) == 4 + 1 + 4  # types are a part of it elsewhere: without a format texts alone differ
    assert reading(["VARCHAR"], {"c": "VARCHAR NULLS 'b' 'a' 'b'"}) == states[3]


@pytest.mark.parametrize(
    "schema", ["* (quote ')", "* quote none", "* (quote none", "*", "a INTEGER, * ()", "* (x none)"]
)
def test_a_schema_option_that_says_it_badly_is_one_line(schema: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a\n1\n")
    with pytest.raises(ParameterError, match=r"\A[^\n]*\* \([^\n]*\Z"):
        opened(tmp_path / "t.csv", csv_schema(Namespace(schema=schema)) or {})
