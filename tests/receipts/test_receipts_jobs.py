"""Receipts of jobs: beside every release, verdict and diagnosis, the same on every retry, refused before the debit."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from case_share import fifth
from receipt_ledgers import Kept, made_ledger
from test_receipts_logs import changed, copied, exchanged, forget, put_back, resealed, without
from test_receipts_mutations import mutated

import dpdb
from dpdb import stopping as steps
from dpdb.doors.cli import main
from dpdb.errors import ParameterError
from dpdb.ledger import Ledger
from dpdb.receipts import Receipt, load_public, new_key_file, open_receipt, read_receipts
from dpdb.receipts.statement import canonical

JOB = """\
name = "job"
source = "t.parquet"
constraints = ["city -> state"]
ledger = "books/t.ledger"
results = "results"
receipt = "receipts.jsonl"
receipt_key = "receipts.key"
"""
PARTS = """\
[[release]]
name = "cities"
measure = "repair"
epsilon = 0.1
by = "city"
keys = ["ulm", "oslo"]
gate.repair = 1e9
[[release]]
name = "rows"
measure = "count"
epsilon = 0.1
where = "state = 'bavaria'"
[[check]]
name = "limits"
suite = "s.txt"
epsilon = 0.25
[[check]]
name = "nightly"
suite = "s.txt"
epsilon = 0.25
keep = "kept"
[[diagnose]]
name = "worst"
by = "city"
keys = ["ulm", "oslo"]
epsilon = 0.1
"""
ONE = """\
who = "Ada"
[[release]]
name = "rows"
measure = "count"
epsilon = 0.1
"""
NAMES = ["cities", "rows", "limits", "nightly", "worst"]
STEPS = ["results ready", "reserved", "recorded", "published", "appended", "receipt kept"]
STOPS = [(step, part) for step in STEPS for part in range(len(NAMES))]


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kept:
    rows = {"city": ["ulm", "ulm", "oslo"], "state": ["bavaria", "swabia", "norway"]}
    pq.write_table(pa.table(rows), tmp_path / "t.parquet")
    (tmp_path / "job.toml").write_text(JOB + PARTS)
    (tmp_path / "one.toml").write_text(
        JOB + 'who = "Ada"\n[[release]]\nname = "rows"\nmeasure = "count"\nepsilon = 0.1\n'
    )
    (tmp_path / "s.txt").write_text("city -> state  fail above 2 rows\n")
    monkeypatch.chdir(tmp_path)
    return made_ledger(tmp_path, 100)


def run(run_id: str, *options: str, job: str = "job.toml") -> int:
    return main(["run", job, "--run-id", run_id, "--quiet", *options])


def spent(kept: Kept) -> int:
    with Ledger.open(kept.ledger) as ledger:
        return ledger.spent_units()


def lines() -> list[str]:
    return [line.decode() for line in read_receipts("receipts.jsonl")]


def opened(kept: Kept) -> list[Receipt]:
    return [open_receipt(line.encode(), [load_public(kept.public)]) for line in lines()]


def in_document(capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    found = json.loads(capsys.readouterr().out)
    return {one["name"]: one["receipt"] for one in [*found["releases"], *found["checks"], *found["diagnoses"]]}


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize("results", ["results", "results.duckdb"])
def test_every_part_of_a_job_has_its_receipt(kept: Kept, results: str, capsys: pytest.CaptureFixture[str]) -> None:
    """In the document, in the file beside the results and from Python: the same line, also when asked again."""
    Path("job.toml").write_text((JOB + PARTS).replace('"results"', json.dumps(results)))
    assert run("monday", "--format", "json") in (0, 1, 5)
    first = in_document(capsys)
    assert [*first] == NAMES
    assert [*first.values()] == lines()
    paid, receipts = spent(kept), opened(kept)
    assert [one.claims["debit"]["entry"] for one in receipts] == [1, 2, 3, 4, 5]
    assert [bool(one.claims["suite"]) for one in receipts] == [False, False, True, True, False]
    assert len(receipts[0].statement["subject"]) == 3  # the debit, and two slices
    assert run("monday", "--format", "json") in (0, 1, 5)
    outcomes = dpdb.jobs.run("job.toml", "monday")
    assert in_document(capsys) == {outcome.name: outcome.receipt for outcome in outcomes} == first
    assert (lines(), spent(kept)) == ([*first.values()], paid)
    assert run("tuesday", "--format", "json") in (0, 1, 5)  # the kept suite has a second run for one debit
    assert [one.claims["debit"]["entry"] for one in opened(kept)[5:]] == [6, 7, 8, 4, 9]
    private = ("ulm", "oslo", "bavaria", "city", "state", "nightly", 'kept"', "monday", "job")
    stated = "".join(json.dumps([one.statement["subject"], {**one.claims, "log": None}]) for one in opened(kept))
    assert not [word for word in private if word in stated.replace('"kind": "kept"', "")]
    shown = ["verify", "receipts.jsonl", "--key", "receipts.key.pub"]
    assert main([*shown, "--ledger", "books/t.ledger"]) == 0
    shutil.rmtree("books")
    assert main(shown) == 0


@pytest.mark.heavy(family="spending")
@pytest.mark.parametrize(
    "stops", [[("recorded", 1), ("appended", 3), ("receipt kept", 4)], pytest.param(STOPS, marks=pytest.mark.slow)]
)
def test_a_job_stopped_at_any_step_has_each_receipt_once(kept: Kept, stops: list[tuple[str, int]]) -> None:
    """Stopped behind a step of a part; the lines that were there stay, and every debit has one."""
    expected: list[str] = []
    for number, (step, part) in enumerate(stops):
        passed = 0

        def stop(now: str, step: str = step, part: int = part) -> None:
            nonlocal passed
            if now == step and (passed >= part or step == "results ready"):
                raise KeyboardInterrupt
            passed += now == "receipt kept"

        steps.watchers.append(stop)
        try:
            with pytest.raises(KeyboardInterrupt):
                dpdb.jobs.run("job.toml", f"run {number}")
        finally:
            steps.watchers.remove(stop)
        before = lines() if Path("receipts.jsonl").stat().st_size else []
        assert before[: len(expected)] == expected
        outcomes = dpdb.jobs.run("job.toml", f"run {number}")
        assert lines()[: len(before)] == before
        expected += [str(outcome.receipt) for outcome in outcomes]
        assert lines() == expected
        assert len(outcomes) == len(NAMES)
    entries = [one.claims["debit"]["entry"] for one in opened(kept)]
    assert len({*entries}) == 4 * len(stops) + 1  # and one of the kept suite


@pytest.mark.heavy(family="spending")
def test_a_job_that_is_killed_between_results_and_receipt_has_it_afterwards(kept: Kept) -> None:
    program = (
        "import os, sys; import dpdb.stopping as steps; from dpdb.doors.cli import main\n"
        "steps.watchers.append(lambda step: os._exit(9) if step == 'appended' else None)\n"
        "main(sys.argv[1:])"
    )
    command = ["run", "one.toml", "--run-id", "a", "--quiet"]
    killed = subprocess.run([sys.executable, "-c", program, *command], env=os.environ, check=False, timeout=120)
    assert killed.returncode == 9
    paid = spent(kept)
    assert Path("receipts.jsonl").read_bytes() == b""
    assert main(command) == 0
    assert (len(lines()), spent(kept)) == (1, paid)


def no_key(kept: Kept) -> None:
    kept.key.unlink()


def open_key(kept: Kept) -> None:
    kept.key.chmod(0o644)


def damaged_key(kept: Kept) -> None:
    kept.key.write_text(kept.key.read_text()[:-9])


def other_key(kept: Kept) -> None:
    kept.key.unlink()
    kept.public.unlink()
    new_key_file(kept.key, "other")


def key_beside(kept: Kept) -> None:
    shutil.copy2(kept.key, kept.ledger.parent)
    edited('"receipts.key"', '"books/receipts.key"')


def damaged_memory(kept: Kept) -> None:
    Path(f"{kept.key}-signed").write_text("x")


def cut_file(kept: Kept) -> None:
    del kept
    Path("receipts.jsonl").write_bytes(Path("receipts.jsonl").read_bytes()[:-1])


def open_file(kept: Kept) -> None:
    del kept
    Path("receipts.jsonl").chmod(0o644)


def linked_file(kept: Kept) -> None:
    del kept
    Path("receipts.jsonl").rename("other.jsonl")
    Path("receipts.jsonl").symlink_to("other.jsonl")


def edited(old: str, new: str) -> None:
    Path("one.toml").write_text(Path("one.toml").read_text().replace(old, new))


def in_source(kept: Kept) -> None:
    del kept
    edited('receipt = "receipts.jsonl"', 'receipt = "t.parquet"')


def no_folder(kept: Kept) -> None:
    del kept
    edited('receipt = "receipts.jsonl"', 'receipt = "nothing/r.jsonl"')


def key_alone(kept: Kept) -> None:
    del kept
    edited('receipt = "receipts.jsonl"\n', "")


def file_alone(kept: Kept) -> None:
    del kept
    edited('receipt_key = "receipts.key"\n', "")


def number_for_key(kept: Kept) -> None:
    del kept
    edited('receipt_key = "receipts.key"', "receipt_key = 1")


WRONG: list[tuple[Any, str]] = [
    (no_key, "No such file"), (open_key, "others may read"), (damaged_key, "no private key|damaged"),
    (other_key, "no key that was given has signed it"), (key_beside, "in the folder of the ledger"),
    (damaged_memory, "remembers what the key has signed"), (cut_file, "cut off"), (open_file, "chmod 600"),
    (linked_file, "symbolic link"), (in_source, "into the source"), (no_folder, "No such file"),
    (key_alone, "go together"), (file_alone, "go together"), (number_for_key, "expected a text"),
]  # fmt: skip


@pytest.mark.heavy
@pytest.mark.parametrize(("wrong", "words"), WRONG, ids=[wrong.__name__ for wrong, _ in WRONG])
def test_a_key_or_a_file_that_cannot_be_used_is_refused_before_the_debit(kept: Kept, wrong: Any, words: str) -> None:
    assert run("first", job="one.toml") == 0
    paid = spent(kept)
    wrong(kept)
    with pytest.raises(ParameterError, match=words) as refused:
        dpdb.jobs.run("one.toml", "second")
    assert "\n" not in str(refused.value)
    assert run("second", job="one.toml") == 2
    assert spent(kept) == paid
    if wrong in (no_key, open_key, damaged_key, key_beside, key_alone, file_alone):  # a plan says so, too
        with pytest.raises(ParameterError, match=words):
            dpdb.jobs.plan("one.toml", "second")


@pytest.mark.heavy(family="long")
def test_every_field_of_a_jobs_receipt_is_fixed(kept: Kept) -> None:
    """A file with a receipt in which one field was changed is refused by the next run, which spends nothing."""
    assert run("first", job="one.toml") == 0
    [line], paid, tried = lines(), spent(kept), 0
    assert opened(kept)[0].claims["debit"]["analyst"] is not None
    assert "Ada" not in json.dumps({**opened(kept)[0].claims, "log": None})  # hashes may have any three letters
    cases = list(mutated(json.loads(line)))
    for path, other in fifth(cases):
        Path("receipts.jsonl").write_bytes(canonical(other) + b"\n")
        with pytest.raises(ParameterError, match="receipt 1"):
            dpdb.jobs.run("one.toml", "second")
        tried += 1
        assert spent(kept) == paid, path
    print(f"{tried} of {len(cases)} changed files refused")
    assert tried


@pytest.mark.heavy(family="long")
def test_a_ledger_that_went_back_is_refused_by_the_receipts_of_a_job(
    kept: Kept, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ledger, head and the key's memory put back together, or the receipts alone are remembered: nothing is spent."""
    assert run("first", job="one.toml") == 0
    copied(kept, "old")
    assert run("second", job="one.toml") == 0
    put_back(kept, "old")
    forget(kept)
    paid = spent(kept)
    capsys.readouterr()
    assert run("third", job="one.toml") == 3
    assert "an old copy was put back" in capsys.readouterr().err
    with Ledger.open(kept.ledger) as ledger:  # it grows beyond the receipts, with other lines
        assert ledger.spent_units() == paid
    Path("receipts.jsonl").rename("away.jsonl")
    for number in range(3):
        assert run(f"more {number}", job="one.toml") == 0
    Path("away.jsonl").rename("receipts.jsonl")
    paid = spent(kept)
    assert run("third", job="one.toml") == 3
    assert spent(kept) == paid


@pytest.mark.heavy
@pytest.mark.parametrize("rewrite", [without(2), exchanged(1), changed(2, analyst="ann"), changed(1, charge=1)])
def test_a_ledger_that_was_rewritten_is_refused_by_the_receipts_of_a_job(kept: Kept, rewrite: Any) -> None:
    """Removed, reordered and changed leaves, with every seal made again."""
    for number in range(3):
        assert run(f"run {number}", job="one.toml") == 0
    resealed(kept.ledger, rewrite)
    forget(kept)
    paid = spent(kept)
    assert run("more", job="one.toml") == 3
    assert spent(kept) == paid
