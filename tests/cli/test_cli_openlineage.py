"""`dpdb check --openlineage`: the event has OpenLineage's published fields and types, and says what JSON says."""

from __future__ import annotations

import json
import os
import uuid
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpdb.doors.cli import main
from dpdb.doors.cli.lineage import _column, dataset_of, event_of
from dpdb.ledger import Ledger
from dpdb.suites import CheckResult, CheckResults

# Required fields and their types, written down from https://openlineage.io/spec/2-0-2/OpenLineage.json (RunEvent, Run,
# Job, InputDataset, BaseFacet) and https://openlineage.io/spec/facets/1-0-1/DataQualityAssertionsDatasetFacet.json.
EVENT = {"eventTime": str, "producer": str, "schemaURL": str, "run": dict, "job": dict, "inputs": list}
NAMED = {"namespace": str, "name": str}
FACET = {"_producer": str, "_schemaURL": str}
ASSERTION = {"assertion": str, "success": bool}
TYPES = ("START", "RUNNING", "COMPLETE", "ABORT", "FAIL", "OTHER")

RULES = """\
row_count  fail below 1
sure: not(t1.age<0)  fail above 1000
dirty: not(t1.age<500)  fail above 3
warned: not(t1.age<500)  warn above 3
columns: schema has no (age)
"""
# The column that each is about, where it is one alone.
COLUMNS = {
    "age IS NOT NULL": "age", "age -> zip": None, "row_count": None, "schema has (age)": None, "age + 1 > 2": "age",
    "\"birth day\" < DATE '2030-01-01'": "birth day", "age ~ '^[0-9]'": "age", "age > 0 WHERE zip = '1'": None,
    "has_format(iban, 'iban')": "iban", "KEY(age)": "age", "not(t1.age=t2.age and t1.zip<>t2.zip)": None,
}  # fmt: skip


def has(found: Any, fields: dict[str, type]) -> None:
    for name, kind in fields.items():
        assert isinstance(found[name], kind), name


def checked_event(event: Any) -> dict[str, Any]:
    """Hold an event to the published fields, and return the assertions by name."""
    has(event, EVENT)
    assert event["eventType"] in TYPES
    assert datetime.fromisoformat(event["eventTime"]).tzinfo is not None
    uuid.UUID(event["run"]["runId"])
    has(event["job"], NAMED)
    assert event["schemaURL"] == "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
    [dataset] = event["inputs"]
    has(dataset, NAMED)
    for facet in dataset["inputFacets"].values():
        has(facet, FACET)
    assertions = dataset["inputFacets"]["dataQualityAssertions"]["assertions"]
    for assertion in assertions:
        has(assertion, ASSERTION)
        assert assertion["severity"] in ("error", "warn")
    return {each["assertion"]: each for each in assertions}


@pytest.mark.parametrize("rule", COLUMNS)
def test_an_assertion_names_the_column_of_a_rule_on_one(rule: str) -> None:
    assert _column(SimpleNamespace(rule=rule)) == ({"column": COLUMNS[rule]} if COLUMNS[rule] else {})  # type: ignore[arg-type]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENLINEAGE_NAMESPACE", "clinic")
    pq.write_table(pa.table({"age": list(range(1000))}), "t.parquet")
    Path("s.dcs.txt").write_text(RULES)
    Ledger.create(tmp_path / "l", 10).close()
    return tmp_path


def check(*more: str, run: str = "monday") -> int:
    command = ["check", "t.parquet", "s.dcs.txt", "--epsilon", "5", "--ledger", "l", "--run-id", run, "--format"]
    return main([*command, "json", "--openlineage", "event.json", *more])


def test_the_event_says_what_the_verdicts_say(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check() == 1
    shown = json.loads(capsys.readouterr().out)
    event = json.loads(Path("event.json").read_text())
    found = checked_event(event)
    assert event["job"] == {"namespace": "clinic", "name": "dpdb.check.s.dcs.txt"}
    assert {name: event["inputs"][0][name] for name in NAMED} == {
        "namespace": "file",
        "name": str(folder / "t.parquet"),
    }
    decided = {each["name"]: each for each in shown["checks"] if each["verdict"] in ("pass", "fail")}
    assert len(found) == len(decided) >= 3  # 500 rows above 3 fail at epsilon 5, but for chances below e^-100
    assert {each.get("column") for name, each in found.items() if name.startswith(("sure", "dirty"))} == {"age"}
    said = {(each["success"], each["severity"]) for name, each in found.items() if name.startswith("dirty")}
    assert said == {(False, "error")}
    [warned] = [each for name, each in found.items() if name.startswith("warned")]
    assert (warned["success"], warned["severity"]) == (False, "warn")
    assert not found["columns fail"]["success"]
    facet = event["inputs"][0]["inputFacets"]["dpdb_checks"]
    assert {name: value for name, value in facet.items() if name not in FACET} == shown


@pytest.mark.heavy(family="spending")
def test_a_run_that_is_answered_again_has_its_id_and_pays_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ids = []
    for run in ("monday", "monday", "tuesday"):
        check(run=run)
        ids.append(json.loads(Path("event.json").read_text())["run"]["runId"])
    assert ids[0] == ids[1] != ids[2]
    capsys.readouterr()


@pytest.mark.parametrize("there", ["{}", "a,b\n1,2\n", "[]"])
def test_another_file_is_not_replaced_and_nothing_is_spent(
    folder: Path, capsys: pytest.CaptureFixture[str], there: str
) -> None:
    Path("event.json").write_text(there)
    assert check() == 2
    assert "is no OpenLineage event" in capsys.readouterr().err
    assert Path("event.json").read_text() == there
    with Ledger(folder / "l") as ledger:
        assert not ledger.history()


def test_a_pipe_is_refused_and_not_waited_for(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(folder / "event.json")
    assert check() == 2
    assert "is no OpenLineage event" in capsys.readouterr().err


def test_a_dry_run_writes_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check("--dry-run") == 0
    assert not Path("event.json").exists()
    capsys.readouterr()


@pytest.mark.parametrize(
    ("verdict", "success"), [("pass", [True]), ("fail", [False]), ("not shown", []), ("undecided", [])]
)
def test_what_is_not_decided_is_no_assertion(verdict: Any, success: list[bool]) -> None:
    one = CheckResult("a", "a -> b", verdict, "fail", 3, "above", "rows", "rows", None, None, 1, key="x")
    results = CheckResults((one,), confidence=0.99, epsilon_reserved=1, epsilon=0.5, run_id="r")
    event = event_of(results, "j", dataset_of("t.csv", None))
    assert [each["success"] for each in checked_event(event).values()] == success
    assert event["inputs"][0]["inputFacets"]["dpdb_checks"]["checks"][0]["verdict"] == verdict


def test_an_address_is_named_without_its_password() -> None:
    address = "postgresql://ann:secret@db.example:5432/clinic?sslmode=require&password=secret"
    assert dataset_of(address, "visits") == {"namespace": "postgresql://db.example:5432", "name": "clinic.visits"}
    assert dataset_of("postgresql://ann:secret@[db/clinic", None) == {"namespace": "postgresql", "name": ""}
    assert dataset_of("spark:a.b", None) == {"namespace": "spark", "name": "a.b"}
    assert dataset_of("s3://bucket/a/b.parquet", None) == {"namespace": "s3://bucket", "name": "a/b.parquet"}
