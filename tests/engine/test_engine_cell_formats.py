"""Cells of a declared format: dates by a pattern, numbers with a decimal comma, words for true and false."""

from __future__ import annotations

import csv
import random
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from sqlglot import exp
from stub_noise import StubNoise

import dpdb
from dpdb.database import Database
from dpdb.doors.cli import main
from dpdb.doors.jobs.job_file import load_job
from dpdb.errors import LedgerError, SourceError
from dpdb.ledger import Ledger
from dpdb.opening import open_local_table
from dpdb.owner import exact_measures
from dpdb.privacy.noise import replaced_noise
from dpdb.sources.cells.formats import format_problem, split_declared
from dpdb.sources.cells.typed import typed

PATTERNS = {
    "%d.%m.%Y": "DATE", "%m/%d/%y": "DATE", "%d %b %Y": "DATE", "%B %d, %Y": "DATE", "%d.%m.%Y %H:%M": "TIMESTAMP",
    "%Y%m%d": "DATE", "%m/%d/%Y %I:%M:%S %p": "TIMESTAMP", "%d.%m.%Y %H:%M:%S.%f": "TIMESTAMP", "%H.%M": "TIME",
    "%d.%m.%Y %H:%M %z": "TIMESTAMP WITH TIME ZONE", "100%% %d-%m-%Y": "DATE",
}  # fmt: skip


def read(texts: list[str], kind: str, written: str) -> list[Any]:
    cell = typed(exp.column("cell"), kind, written).sql("duckdb", normalize_functions=False)
    with Database() as database, database.arrow_table("cells", pa.table({"n": range(len(texts)), "cell": texts})):
        return [row[0] for row in database.rows(f"SELECT {cell} FROM cells ORDER BY n")]


def year_is_whole(text: str, pattern: str) -> bool:
    """Whether a year has the digits that the pattern says: Python takes fewer."""
    shape = "".join("9" if each.isdigit() else each for each in text)
    return ("9999" in shape) if "%Y" in pattern else True


def by_python(text: str, kind: str, pattern: str) -> Any:
    try:
        found = datetime.strptime(text.strip(" \t"), pattern)
    except ValueError:
        return None
    if not year_is_whole(text, pattern) or (pattern == "%Y%m%d" and len(text.strip()) != 8):
        return None
    if kind == "TIMESTAMP WITH TIME ZONE":
        offset = found.utcoffset()
        return found.astimezone(UTC) if offset is not None and abs(offset) < timedelta(hours=16) else None
    return found.date() if kind == "DATE" else found.time() if kind == "TIME" else found


@pytest.mark.heavy
@pytest.mark.parametrize("pattern", PATTERNS)
def test_dates_and_times_are_read_as_by_python(pattern: str) -> None:
    kind, rng = PATTERNS[pattern], random.Random(pattern)
    texts = ["", "2025-03-04", "04.03.25", "04.03.2025", "4.3.2025", "31.02.2025", "12/5/25", "04.03.2025 x", "24.00"]
    for _ in range(1_000):
        moment = datetime(rng.randrange(1970, 2060), rng.randrange(1, 13), rng.randrange(1, 29), rng.randrange(24),
                          rng.randrange(60), rng.randrange(60), rng.randrange(10**6), UTC)  # fmt: skip
        text = moment.strftime(pattern)
        if rng.random() < 0.5:
            at = rng.randrange(len(text))
            text = text[:at] + rng.choice("0123456789.:/-x") + text[at + rng.choice([0, 1]) :]
        texts.append(text)
    texts = [text for text in texts if "  " not in text and "\n" not in text and not text.endswith(" ")]
    found = read(texts, kind, pattern)
    for text, mine in zip(texts, found, strict=True):
        theirs = by_python(text, kind, pattern)
        assert (mine.astimezone(UTC) if kind.endswith("ZONE") and mine else mine) == theirs, text
    assert sum(value is not None for value in found) > 100


NUMBERS: dict[str, tuple[str, dict[str, Any]]] = {
    "1.234,56": ("DECIMAL(12,2)", {
        "8.424,18": "8424.18", "8424,18": "8424.18", "-1.000.000,5": "-1000000.50", "12": "12", "1,235": None,
        "1.5": None, "12.34,5": None, "1,234.5": None, ",5": None, "8424.18": None, "1.2345": None, " 7,00 ": "7",
        "": None, "1e3": None,
    }),
    "1234,56": ("DOUBLE", {"8424,18": "8424.18", "1.234,5": None, "1,5e2": "150", "1.5": None, "5,": "5"}),
    "1,234.56": ("DECIMAL(12,2)", {"8,424.18": "8424.18", "8424.18": "8424.18", "8,42": None, "84,24.18": None}),
    "1 234,5": ("DECIMAL(9,1)", {"1 234,5": "1234.5", "12 34,5": None, "1.234": None}),
    "1.234": ("INTEGER", {"1.234": "1234", "12.345.678": "12345678", "1234": "1234", "1.23": None, "1,5": None}),
    "1,5": ("DECIMAL(9,2)", {"1,5": "1.5", "1234,56": "1234.56", "1.5": None}),
}  # fmt: skip


@pytest.mark.parametrize("sample", NUMBERS)
def test_numbers_are_read_as_they_are_said_to_be_written(sample: str) -> None:
    kind, cells = NUMBERS[sample]
    found = read(list(cells), kind, sample)
    assert [None if each is None else Decimal(str(each)) for each in found] == [
        None if each is None else Decimal(each) for each in cells.values()
    ]


def test_words_for_true_and_false() -> None:
    assert read(["ja", "NEIN", " Ja ", "true", "j", ""], "BOOLEAN", "ja/nein") == [True, False, True, None, None, None]


REFUSED = {
    ("DATE", "%d.%m"): "one year", ("DATE", "%d.%m.%Y %H"): "would be lost", ("TIMESTAMP", "%d.%m.%Y %z"): "%z",
    ("TIMESTAMP WITH TIME ZONE", "%d.%m.%Y"): "%z", ("DATE", "%d.%m.%Y %Q"): "'%Q' is no part",
    ("DATE", "%d%d%m%Y"): "twice",
    ("TIMESTAMP", "%d.%m.%Y %I"): "%I with %p", ("TIMESTAMP", "%d.%m.%Y %H:%S"): "larger ones",
    ("TIME", "%d %H"): "no day",
    ("DATE", ""): "one year", ("DATE", "%d.%m.%Y%"): "'%' is no part", ("INTEGER", "1.234,5"): "written so",
    ("DECIMAL(9,2)", "1,2,3"): "written so", ("BOOLEAN", "ja"): "the words", ("BOOLEAN", "x/X"): "the words",
    ("VARCHAR", "x"): "no format", ("TIMESTAMP_NS", "%d.%m.%Y"): "no format",
    ("DECIMAL(9,2)", "1.234.567.8"): "written so",
}  # fmt: skip


@pytest.mark.heavy
@pytest.mark.parametrize(("kind", "written"), REFUSED)
def test_formats_that_lose_something_or_mean_nothing_are_refused(kind: str, written: str, tmp_path: Path) -> None:
    assert REFUSED[kind, written] in str(format_problem(kind, written))
    (tmp_path / "t.csv").write_text("a\n1\n")
    with pytest.raises(SourceError, match=f"column 'a', format '.*': .*{REFUSED[kind, written]}"):
        dpdb.open(tmp_path / "t.csv", csv_schema={"a": f"{kind} '{written}'"})


def test_a_format_is_what_stands_in_quotes_behind_a_type() -> None:
    assert split_declared("DATE '%d.%m.%Y'") == ("DATE", "%d.%m.%Y", ())
    assert split_declared("DECIMAL(12, 2) FORMAT '1''234.5'") == ("DECIMAL(12, 2)", "1'234.5", ())
    assert split_declared("ENUM('a', 'b') NULLS 'b' ' a '") == ("ENUM('a', 'b')", None, ("a", "b"))
    assert split_declared("DATE 'x") == ("DATE 'x", None, ())


@pytest.fixture
def orders(tmp_path: Path) -> Path:
    path = tmp_path / "orders.csv"
    rng = random.Random(7)
    with path.open("w", newline="") as file:
        out = csv.writer(file, delimiter=";")
        out.writerow(["id", "order date", "shipped", "total", "gift"])
        for number in range(500):
            day = rng.randint(2, 20)
            ordered = f"{day:02}.03.2025" if rng.random() < 0.9 else f"2025-03-{day:02}"
            shown = f"{rng.randint(1, 9)}.{rng.randint(0, 999):03},{rng.randint(0, 99):02}"
            out.writerow(
                [number, ordered, f"{day + rng.randint(-1, 5):02}.03.2025", shown, rng.choice(["ja", "nein", ""])]
            )
    return path


SCHEMA = (
    """"order date" DATE '%d.%m.%Y', shipped DATE '%d.%m.%Y', total DECIMAL(12,2) '1.234,56', gift BOOLEAN 'ja/nein'"""
)
TYPES = {
    "order date": "DATE '%d.%m.%Y'", "shipped": "DATE '%d.%m.%Y'", "total": "DECIMAL(12,2) '1.234,56'",
    "gift": "BOOLEAN 'ja/nein'",
}  # fmt: skip
RULE = '"order date" <= shipped'


def expected(path: Path) -> tuple[int, int]:
    """Cells that are no dates, and rows that break the rule, by Python's csv."""

    def day(text: str) -> datetime | None:
        try:
            return datetime.strptime(text, "%d.%m.%Y")
        except ValueError:
            return None

    with path.open(newline="") as file:
        pairs = [(day(row["order date"]), day(row["shipped"])) for row in csv.DictReader(file, delimiter=";")]
    known = [(ordered, shipped) for ordered, shipped in pairs if ordered and shipped]
    return sum(ordered is None for ordered, _ in pairs), sum(ordered > shipped for ordered, shipped in known)


@pytest.mark.heavy(family="long")
def test_every_door_takes_them(orders: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lost, broken = expected(orders)
    assert lost > 0 < broken
    found = exact_measures(orders, [RULE, "total >= 1000", "not(t1.gift=t2.gift)"], non_private=True, csv_schema=TYPES,
                           measures=["problematic"], by_constraint=True)  # fmt: skip
    assert found.not_of_type == {"order date": lost}
    assert found.by_constraint is not None
    assert [rule.measured.problematic for rule in found.by_constraint if rule.measured][:2] == [broken, 0]
    command = ["exact", str(orders), "--constraints", RULE, "--measure", "problematic", "--non-private"]
    assert main([*command, "--schema", SCHEMA]) == 0
    assert f"problematic            {broken}\n" in capsys.readouterr().out
    Ledger.create(tmp_path / "l", 3).close()
    job = tmp_path / "job.toml"
    job.write_text(
        f'name = "j"\nsource = "{orders}"\nconstraints = [\'{RULE}\']\nledger = "l"\nresults = "r.duckdb"\n[schema]\n'
        + "".join(f'"{name}" = "{kind}"\n' for name, kind in TYPES.items())
        + '[[release]]\nname = "r"\nmeasure = "repair"\nepsilon = 1\n'
    )
    assert load_job(job).table.csv_schema == TYPES
    capsys.readouterr()
    asked = "SELECT value FROM dp_count('orders', epsilon := 1, \"where\" := 'gift')"
    with replaced_noise(StubNoise()):
        sql = ["sql", str(orders), asked, "--constraints", RULE, "--schema", SCHEMA, "--format", "csv", "--budget", "9"]
        assert main(sql) == 0
    with orders.open(newline="") as file:
        gifts = sum(row["gift"] == "ja" for row in csv.DictReader(file, delimiter=";"))
    assert capsys.readouterr().out.splitlines()[-1].startswith(str(gifts))


@pytest.mark.heavy(family="spending")
def test_they_are_part_of_the_rows_that_a_ledger_knows(orders: Path, tmp_path: Path) -> None:
    for append_only in (False, True):
        ledger = tmp_path / f"{append_only}.ledger"
        Ledger.create(ledger, 3, append_only=append_only).close()
        for types in (TYPES, TYPES):
            with dpdb.open(orders, csv_schema=types, ledger=ledger) as session:
                session.dp_count(epsilon=1, where="total IS NULL" if session.spent() else "total > 0")
        other = TYPES | {"total": "DECIMAL(12,2) '1,234.56'"}
        with (
            dpdb.open(orders, csv_schema=other, ledger=ledger) as session,
            pytest.raises(LedgerError, match="cells are read otherwise"),
        ):
            session.dp_count(epsilon=1, where="total IS NULL")
    unit = tmp_path / "unit.ledger"
    Ledger.create(unit, 3).close()
    with dpdb.open(orders, csv_schema=TYPES, ledger=unit, unit="total", max_rows=1) as session:
        session.dp_count(epsilon=1)
    assert main(["budget", "epoch", str(unit)]) == 0
    with pytest.raises(LedgerError, match="ledger of another table"):
        dpdb.open(orders, csv_schema=other, ledger=unit, unit="total", max_rows=1)


@pytest.mark.heavy(family="long")
def test_other_sources_of_text_take_them(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text('{"a": "04.03.2025"}\n{"a": "2025-03-04"}\n')
    (tmp_path / "a=04.03.2025").mkdir()
    (tmp_path / "a=04.03.2025" / "t.csv").write_text("b\n1\n")
    with closing(sqlite3.connect(tmp_path / "t.sqlite")) as connection, connection:
        connection.execute("CREATE TABLE t (a)")
        connection.executemany("INSERT INTO t VALUES (?)", [("04.03.2025",), ("x",)])
    assert [_known(tmp_path / name) for name in ("t.jsonl", "a=*/t.csv", "t.sqlite")] == [1, 1, 1]


def _known(path: Path) -> int:
    with open_local_table(path, csv_schema={"a": "DATE '%d.%m.%Y'"}) as table:
        return table.count_rows([table.where("a = '2025-03-04'")])[0]


def test_decimal_numbers_are_exact() -> None:
    """No number goes through DOUBLE on its way."""
    with pytest.raises(InvalidOperation):
        Decimal("1.234,5")
    assert read(["12.345.678.901.234.567.890.123.456,789"], "DECIMAL(38,3)", "1.234,5") == [
        Decimal("12345678901234567890123456.789")
    ]
