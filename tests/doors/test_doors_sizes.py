"""`sizes` at every door: command, job, Python, DuckDB, SQL, HTTP and MCP; its receipts and its JUnit file."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as Xml

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpdb
from dpdb.doors.cli.main import main
from dpdb.doors.jobs import read_results
from dpdb.doors.server.exchange import CHECK_OPTIONS, RefusedError, check_statement, checked_fields, fields_schema
from dpdb.ledger import Ledger

SUITE = (
    "old: not(t1.age > 80)  fail above 100\nyoung: not(t1.age < 0)  fail above 10%\nzips: zip -> city  fail above 90\n"
)
RULES = ["not(t1.age > 80)", "not(t1.age < 0)", "zip -> city"]
TRUTH = {"old": 200, "young": 0 - 60, "zips": 300}
"""The noise has scale (2 + 1) / .85 at most, or 1 / .1 of the rows, a tenth of which counts: beyond 60 below 1e-7."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    row = range(600)
    city = ["a" if k % 2 else "b" for k in row]  # one zip code: half of the rows have to go
    pq.write_table(pa.table({"age": [90 if k < 200 else 20 for k in row], "zip": [1] * 600, "city": city}), "t.parquet")
    Path("suite.txt").write_text(SUITE)
    Ledger.create("t.ledger", 50).close()
    return tmp_path


def holds(found: dict[str, float]) -> bool:
    return {name: abs(number - TRUTH[name]) < 60 for name, number in found.items()} == dict.fromkeys(TRUTH, True)


@pytest.mark.heavy(family="long")
@pytest.mark.usefixtures("folder")
def test_a_job_writes_the_numbers_and_its_junit_has_them_in_words() -> None:
    Path("job.toml").write_text(
        'name = "visits"\nsource = "t.parquet"\nledger = "t.ledger"\nresults = "r.duckdb"\n'
        '[[check]]\nsuite = "suite.txt"\nepsilon = 1\nsizes = true\n'
    )
    told = ["--run-id", "monday", "--junit", "j.xml", "--quiet"]
    assert main(["run", "job.toml", *told]) == 1
    found = read_results("r.duckdb").verdicts
    assert holds({each.check.name: each.check.number for each in found})
    assert main(["run", "job.toml", *told]) == 1  # recorded: the same, and free
    assert read_results("r.duckdb").verdicts == found
    with Ledger.open("t.ledger") as ledger:
        assert ledger.summary().spent == 1
    assert "about " in Xml.tostring(Xml.parse("j.xml").getroot(), encoding="unicode")
    for value, said in (("1", "sizes"), ('"yes"', "sizes")):
        text = Path("job.toml").read_text()
        Path("bad.toml").write_text(text.replace("sizes = true", f"sizes = {value}"))
        assert main(["run", "bad.toml", *told]) == 2, said


@pytest.mark.usefixtures("folder")
def test_sql_of_a_connection_and_of_the_command() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE visits AS FROM 't.parquet'")
    suites = {"visits": {"nightly": SUITE}}
    with dpdb.register(connection, constraints=RULES, budget=10, suites=suites) as registration:
        rows = registration.execute("FROM dp_check('nightly', sizes := true)").to_pylist()
        assert holds({row["name"]: row["number"] for row in rows})
        assert registration.spent("visits") == 1
        rows = registration.execute("FROM dp_check('nightly', sizes := false)").to_pylist()
        assert rows[0]["epsilon_reserved"] == 1
        assert registration.spent("visits") <= 2


@pytest.mark.heavy(family="long")
@pytest.mark.usefixtures("folder")
def test_the_sql_command_and_a_kept_suite(capsys: pytest.CaptureFixture[str]) -> None:
    told = ["sql", "t.parquet", "--suite", "nightly=suite.txt", "--ledger", "t.ledger", "--constraints", "suite.txt"]
    statement = "SELECT name, number FROM dp_check('nightly', sizes := true)"
    assert main([*told, statement, "--format", "json", "--quiet"]) == 0
    [found] = json.loads(capsys.readouterr().out)["results"]
    assert holds({each["name"]: each["number"] for each in found["rows"]})
    with dpdb.open("t.parquet", constraints=RULES, ledger="t.ledger") as session:
        session.check("suite.txt", keep="nightly")
    assert main([*told, statement, "--quiet"]) == 2
    assert "is kept without sizes" in capsys.readouterr().err


def test_requests_of_programs() -> None:
    given = checked_fields({"sizes": True, "epsilon": 1}, CHECK_OPTIONS)
    assert check_statement("nightly", given) == "SELECT * FROM dp_check('nightly', sizes := true, epsilon := 1)"
    for wrong in ({"sizes": 1}, {"sizes": "true"}, {"epsilon": True}, {"within": False}, {"certain": True}):
        with pytest.raises(RefusedError):
            checked_fields(wrong, CHECK_OPTIONS)
    assert fields_schema(CHECK_OPTIONS, (), {})["properties"]["sizes"] == {"type": "boolean"}


@pytest.mark.usefixtures("folder")
def test_receipts_of_numbers_are_verified(capsys: pytest.CaptureFixture[str]) -> None:
    Path("keys").mkdir(mode=0o700)
    Path("books").mkdir(mode=0o700)
    Ledger.create("books/t.ledger", 50).close()
    assert main(["receipts", "key", "keys/r.key"]) == 0
    told = ["--ledger", "books/t.ledger", "--receipt", "r.jsonl", "--receipt-key", "keys/r.key", "--quiet"]
    assert main(["check", "t.parquet", "suite.txt", "--sizes", "--epsilon", "1", *told]) == 1
    capsys.readouterr()
    assert main(["verify", "r.jsonl", "--key", "keys/r.key.pub", "--ledger", "books/t.ledger"]) == 0
    assert "1 of 1" in capsys.readouterr().out
