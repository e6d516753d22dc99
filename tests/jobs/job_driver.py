"""Jobs that are killed and retried, as real processes; run as a program, so that no test process forks.

job_driver.py FOLDER ROUNDS KIND

With results in DuckDB or in Parquet: runs are killed at every step, ROUNDS times,
and at random moments, then retried; then
several jobs append to one results table at the same time. Prints what happened.

The driver imports and compiles everything once and forks a child per command, so that a start costs little; the child
runs the real command line.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dpdb
import dpdb.doors.cli.commands.run
import dpdb.doors.cli.job_output
import dpdb.doors.cli.parser
import dpdb.doors.cli.session
import dpdb.doors.jobs.run_job
import dpdb.doors.jobs.stored
import dpdb.engine.sql.comparison
import dpdb.release.ledger_account
import dpdb.sources.open
from dpdb import stopping as steps
from dpdb.doors.cli import main
from dpdb.doors.jobs import read_results
from dpdb.ledger import Ledger

LEDGER_STEPS = ["asked", "begun", "inserted", "reserved", "drawn", "written", "recorded"]
STEPS = {
    "DuckDB": ["results made", "results ready", *LEDGER_STEPS, "published", "result written", "result committed",
               "appended"],
    "Parquet": ["results ready", *LEDGER_STEPS, "published", "result written", "appended"],
}  # fmt: skip
RELEASES = {"first": 1, "slices": 2}  # name -> number of rows in the results
RESULTS = {"DuckDB": "results.duckdb", "Parquet": "results"}


def job_file(folder: Path, name: str, results: str) -> Path:
    path = folder / f"{name}.toml"
    path.write_text(
        f"""name = "{name}"
source = "t.parquet"
constraints = ["zip -> city"]
ledger = "{name}.ledger"
results = "{results}"
[[release]]
name = "first"
measure = "repair"
epsilon = 0.001
gate.repair = 1000000000
[[release]]
name = "slices"
measure = "count"
epsilon = 0.001
by = "zip"
keys = ["1", "2"]
"""
    )
    Ledger.create(folder / f"{name}.ledger", 1).close()
    return path


def in_child(work: Callable[[], int]) -> int:
    """Run `work` in a forked process, silently; return its id."""
    child = os.fork()
    if child:
        return child
    code = 99
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        code = work()
    finally:
        os._exit(code)


def wait(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def kill_at(step: str, release: int) -> None:
    """End the process when it reaches a step of the release with this number (from 0)."""
    passed = 0

    def reached(now: str) -> None:
        nonlocal passed
        if now == step and (passed == release or step.startswith("results")):
            os.kill(os.getpid(), signal.SIGKILL)
        passed += now == "appended"

    steps.watchers.append(reached)


def run(job: Path, run_id: str) -> int:
    return main(["run", str(job), "--run-id", run_id, "--quiet"])


def kills(folder: Path, count: int, kind: str) -> dict[str, Any]:
    """Kill each run at a step, every third one once more at a random moment; then let it finish."""
    job = job_file(folder, "job", RESULTS[kind])
    rng = random.Random(0)
    killed: dict[str, int] = {}

    def note(child: int, moment: str) -> None:
        if wait(child) == -signal.SIGKILL:
            killed[moment] = killed.get(moment, 0) + 1

    for number in range(count):
        run_id = f"run {number}"
        step, release = STEPS[kind][number % len(STEPS[kind])], number // len(STEPS[kind]) % len(RELEASES)

        def work(step: str = step, release: int = release, run_id: str = run_id) -> int:
            kill_at(step, release)
            return run(job, run_id)

        note(in_child(work), step)
        if number % 3 == 2:
            child = in_child(lambda run_id=run_id: run(job, run_id))
            time.sleep(rng.uniform(0.01, 0.15))
            os.kill(child, signal.SIGKILL)
            note(child, "at random")
        check(folder, kind, complete=number)
        assert wait(in_child(lambda run_id=run_id: run(job, run_id))) == 0, run_id
    check(folder, kind, complete=count)
    left = sorted(path.name for path in [*folder.glob(".*"), *folder.glob("results/.*")])
    return {"killed": killed, "left": left}


def check(folder: Path, kind: str, complete: int) -> None:
    """Every complete run has each release once, in the ledger and in the results, and they agree."""
    results = folder / RESULTS[kind]
    written = results.exists() and (kind == "DuckDB" or any(results.glob("[!.]*.parquet")))
    rows = read_results(results).rows if written else ()
    ids = [row.release.release_id for row in rows]
    assert len(ids) == len(set(ids)), "a release was appended twice"
    with Ledger.open(folder / "job.ledger") as ledger:
        entries = {entry.run_id: entry for entry in ledger.history()}
        spent = ledger.summary().sequential
    assert abs(spent - len(entries) / 1000) < 1e-9, "a release spent twice"
    found: dict[str, int] = {}
    for row in rows:
        name = f"{row.job}/{row.run_id}/{row.release_name}"
        assert entries[name].answered, "a release was appended without its debit and answer"
        found[name] = found.get(name, 0) + 1
    for name, number in found.items():
        assert number == RELEASES[name.split("/")[2]], f"{name} was appended in part"
    for number in range(complete):
        for release in RELEASES:
            assert f"job/run {number}/{release}" in found, f"run {number} is complete but {release} is missing"


def race(folder: Path, kind: str) -> dict[str, Any]:
    jobs = [job_file(folder, f"job {number}", RESULTS[kind]) for number in range(2)]
    children = [in_child(lambda job=job: run(job, "a")) for job in jobs for _ in range(2)]
    codes = [wait(child) for child in children]
    rows = [row for row in read_results(folder / RESULTS[kind]).rows if row.job != "job"]
    return {"codes": codes, "rows": len(rows), "distinct": len({row.release.release_id for row in rows})}


if __name__ == "__main__":
    where, rounds, results_kind = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    dpdb.dp_inconsistency(where / "t.parquet", "zip -> city", "repair", epsilon=1)  # compiles the kernels
    print(json.dumps(kills(where, rounds * len(STEPS[results_kind]), results_kind) | race(where, results_kind)))
