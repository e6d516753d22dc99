"""Receipts from the command line: of every door, after kills, and refused before anything is spent."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from receipt_ledgers import Kept, made_ledger

import dpdb
from dpdb.doors.cli import main
from dpdb.errors import DpdbError, ParameterError
from dpdb.ledger import Ledger
from dpdb.receipts import load_public, open_receipt, read_receipts

JOB = """\
name = "job"
source = "t.parquet"
constraints = ["a -> b"]
ledger = "books/t.ledger"
results = "results"
[[release]]
name = "rows"
measure = "count"
epsilon = 0.1
[[check]]
name = "limits"
suite = "s.txt"
epsilon = 0.5
"""
COUNT = ["count", "t.parquet", "--epsilon", "0.1", "--quiet", "--ledger", "books/t.ledger"]


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kept:
    pq.write_table(pa.table({"a": [1, 1, 2], "b": [1, 2, 3]}), tmp_path / "t.parquet")
    (tmp_path / "job.toml").write_text(JOB)
    (tmp_path / "s.txt").write_text("a -> b  fail above 2 rows\n")
    monkeypatch.chdir(tmp_path)
    return made_ledger(tmp_path)


def wanted(file: str = "r.jsonl") -> list[str]:
    return ["--receipt", file, "--receipt-key", "receipts.key"]


def debits(kept: Kept, file: str = "r.jsonl") -> list[int]:
    key = load_public(kept.public)
    return [open_receipt(line, [key]).claims["debit"]["entry"] for line in read_receipts(file)]


def spent(kept: Kept) -> int:
    with Ledger.open(kept.ledger) as ledger:
        return ledger.spent_units()


@pytest.mark.heavy(family="long")
def test_a_job_and_a_kept_suite_have_receipts_and_a_repeated_run_has_its_again(kept: Kept) -> None:
    assert main(["run", "job.toml", "--run-id", "monday", "--quiet", *wanted()]) in (0, 1, 5)
    assert debits(kept) == [1, 2]
    paid = spent(kept)
    assert main(["run", "job.toml", "--run-id", "monday", "--quiet", *wanted("again.jsonl")]) in (0, 1, 5)
    assert (debits(kept, "again.jsonl"), spent(kept)) == ([1, 2], paid)
    check = [
        "check",
        "t.parquet",
        "s.txt",
        "--ledger",
        "books/t.ledger",
        "--quiet",
        "--epsilon",
        "0.5",
        "--run-id",
        "r",
    ]
    for name in ("nightly", "weekly"):  # two suites may have runs of one name
        assert main([*check, "--keep", name, *wanted()]) in (0, 1, 5)
    assert debits(kept) == [1, 2, 3, 4]
    assert main(["verify", "r.jsonl", "again.jsonl", "--key", "receipts.key.pub", "--ledger", "books/t.ledger"]) == 0
    assert main(["verify", "r.jsonl", "--key", "receipts.key.pub"]) == 0


@pytest.mark.heavy
@pytest.mark.parametrize(
    "command",
    [
        "rules discover t.parquet",
        "diagnose t.parquet --constraints a->b --by a --keys 1,2",
    ],
)
def test_answers_without_releases_have_receipts(kept: Kept, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):  # and a receipt that follows one of these
        told = ["--epsilon", "0.1", "--quiet", "--ledger", "books/t.ledger", *wanted()]
        assert main([*command.split(), *told]) == 0
    assert debits(kept) == [1, 2]
    capsys.readouterr()
    assert main(["verify", "r.jsonl", "--key", str(kept.public), "--ledger", "books/t.ledger"]) == 0
    assert "2 of 2 charges derived again" in capsys.readouterr().out


@pytest.mark.heavy(family="spending")
def test_a_run_killed_between_debit_and_receipt_has_its_receipt_afterwards(kept: Kept) -> None:
    """Killed at each step of the debit and the record; asked again it has one receipt, and paid once."""
    for number, step in enumerate(("reserved", "drawn", "recorded"), 1):
        program = (
            "import os, sys; import dpdb.stopping as steps; from dpdb.doors.cli import main\n"
            f"steps.watchers.append(lambda step: os._exit(9) if step == {step!r} else None)\n"
            "main(sys.argv[1:])"
        )
        command = [*COUNT, "--run-id", step, *wanted()]
        killed = subprocess.run([sys.executable, "-c", program, *command], env=os.environ, check=False, timeout=120)
        assert killed.returncode == 9, step
        assert main(command) == 0
        assert debits(kept) == list(range(1, number + 1))
    assert spent(kept) == 3 * 10**8


def test_what_is_refused_costs_nothing_and_changes_no_file(kept: Kept, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*COUNT, *wanted()]) == 0
    before, paid = Path("r.jsonl").read_bytes(), spent(kept)
    Path("cut.jsonl").write_bytes(before[:-9])
    Path("other.jsonl").write_text("{}\n")
    Path("open.jsonl").write_bytes(before)
    for name, mode in (("cut.jsonl", 0o600), ("other.jsonl", 0o600), ("open.jsonl", 0o644)):
        Path(name).chmod(mode)
    Path("link.jsonl").symlink_to("r.jsonl")
    for file, words in (
        ("cut.jsonl", "cut off"),
        ("other.jsonl", "receipt 1"),
        ("open.jsonl", "chmod 600"),
        ("link.jsonl", "symbolic link"),
        ("nothing/r.jsonl", "No such file"),
    ):
        assert main([*COUNT, *wanted(file)]) == 2
        assert words in capsys.readouterr().err
    assert main([*COUNT, "--receipt", "r.jsonl"]) == 2
    assert main(["count", "t.parquet", "--epsilon", "1", *wanted()]) == 2
    assert (Path("r.jsonl").read_bytes(), spent(kept)) == (before, paid)


def test_verification_in_json_has_the_statements(kept: Kept, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*COUNT, *wanted()]) == 0
    capsys.readouterr()
    assert main(["verify", "r.jsonl", "--key", "receipts.key.pub", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["receipts"][0]["statement"]["_type"] == "https://in-toto.io/Statement/v1"
    assert "noise was drawn rightly" in found["not_proven"]
    assert kept.ledger.exists()


@pytest.mark.heavy(family="long")
def test_a_session_signs_receipts_of_its_answers(kept: Kept, capsys: pytest.CaptureFixture[str]) -> None:
    """Of releases, slices, verdicts (of a kept suite, too), a diagnosis and a discovery, one for each debit."""
    with dpdb.open("t.parquet", constraints="a -> b", ledger="books/t.ledger") as session:
        count = session.dp_count(0.1)
        slices = session.dp_inconsistency("repair", 0.1, by="a", keys=[1, 2])
        checked = session.check("s.txt", 0.1)
        nightly = session.check("s.txt", 0.1, keep="nightly", run_id="r")
        worst = session.diagnose("a", [1, 2], 0.1)
        names = session.discover(2, 0.1)
        paid = spent(kept)
        signed = session.receipts(count, slices, checked, nightly, worst, names, key="receipts.key")
        Path("r.jsonl").write_text(signed + session.with_constraints(None).receipts(slices[1], key="receipts.key"))
        assert debits(kept) == [1, 2, 3, 4, 5, 6, 2]
        assert session.receipts(key="receipts.key") == ""
        for wrong, words in (("nothing", "no debit of 'nothing'"), (1, "int: no answer"), ([["x"]], "no debit of 'x'")):
            with pytest.raises(DpdbError, match=words):
                session.receipts(wrong, key="receipts.key")  # type: ignore[arg-type]
        with pytest.raises(ParameterError, match="No such file"):
            session.receipts(count, key="nothing")
    assert spent(kept) == paid
    assert main(["verify", "r.jsonl", "--key", "receipts.key.pub", "--ledger", "books/t.ledger"]) == 0
    assert main(["verify", "r.jsonl", "--key", "receipts.key.pub"]) == 0
    with dpdb.open("t.parquet") as session, pytest.raises(ParameterError, match="open the session with ledger="):
        session.receipts(session.dp_count(0.1), key="receipts.key")


@pytest.mark.heavy(family="long")
def test_an_answer_that_a_file_has_a_receipt_of_gets_no_second_one(kept: Kept) -> None:
    for _ in range(2):
        assert main([*COUNT, "--run-id", "a", *wanted()]) == 0
    first = Path("r.jsonl").read_bytes()
    assert debits(kept) == [1]
    assert main([*COUNT, "--run-id", "b", *wanted()]) == 0
    assert debits(kept) == [1, 2]
    assert Path("r.jsonl").read_bytes().startswith(first)
