"""Processes that spend from a ledger and are killed on the way; run as a program, so that no test process forks.

ledger_driver.py debits LEDGER PROCESSES EACH          concurrent debits; prints how many were allowed
ledger_driver.py kills LEDGER PUBLISHED RUNS           every run killed at a step, then retried; prints a summary
ledger_driver.py race LEDGER PUBLISHED PROCESSES RUNS  processes answer the same run ids at the same time
ledger_driver.py upgrades LEDGER FOLDER RANDOM         copies of an old ledger, the upgrade of each killed at a step or,
                                                       so many times, at any moment; prints what is there then
ledger_driver.py together LEDGER PROCESSES             processes open an old ledger at the same time
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sqlite3
import sys
import time
from collections.abc import Callable
from pathlib import Path

from dpdb import steps
from dpdb.errors import BudgetExceededError
from dpdb.ledger import Ledger, SourceMark

sys.path.append(str(Path(__file__).parents[1]))

from text_reader import parse_where

SOURCE = SourceMark("table", "content")
STEPS = ["asked", "begun", "inserted", "reserved", "drawn", "written", "recorded", "publishing", "published"]
UPGRADE_STEPS = [
    "upgrade begun", "upgrade checked", "copy written", "copy left", "tables made", "entries sealed", "answers sealed",
    "upgrade written", "upgraded",
]  # fmt: skip
UNIT = 10**6


def in_child(work: Callable[[], object]) -> int:
    """Run `work` in a forked process; return its id."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        work()
        code = 0
    finally:
        os._exit(code)


def wait(children: list[int]) -> list[int]:
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]


def append(path: str, line: str) -> None:
    with Path(path).open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")
        file.flush()
        os.fsync(file.fileno())


def release(path: str, published: str, drawn: str, run_id: str, value: int) -> None:
    """One release, as a session makes it: debit, draw, record, publish."""
    with Ledger.open(path) as ledger:
        found = ledger.reserve(
            parse_where(f"a = {value}"), UNIT, source=SOURCE, request=json.dumps({"a": value}), run_id=run_id
        )
        try:
            answer = found.answer
            if answer is None:
                append(drawn, run_id)
                answer = json.dumps(os.urandom(8).hex())
                ledger.record(found, answer)
            steps.reached("publishing")
            append(published, json.dumps([run_id, answer]))
            steps.reached("published")
        finally:
            found.close()


def kill_at(step: str) -> None:
    """From now on this process is killed when it reaches `step`."""

    def reached(now: str) -> None:
        if now == step:
            os.kill(os.getpid(), signal.SIGKILL)

    steps.watchers.append(reached)


def debits(path: str, processes: int, each: int) -> None:
    def work(process: int) -> None:
        rng = random.Random(process)
        with Ledger.open(path) as ledger:
            allowed = 0
            for _ in range(each):
                where = rng.choice(["", "a = 1", "a = 2", "a > 1 AND b < 5", "b >= 3"])
                try:
                    ledger.reserve(parse_where(where), UNIT * rng.randint(1, 3), source=SOURCE, request="{}")
                    allowed += 1
                except BudgetExceededError:
                    pass
        append(f"{path}-allowed", str(allowed))

    start = time.perf_counter()
    codes = wait([in_child(lambda process=process: work(process)) for process in range(processes)])
    allowed = sum(int(line) for line in Path(f"{path}-allowed").read_text().split())
    print(json.dumps({"codes": codes, "allowed": allowed, "seconds": time.perf_counter() - start}))


def kills(path: str, published: str, runs: int) -> None:
    """Kill each run at a step or at a random moment, and sometimes its retry too; then let it finish, twice."""
    rng = random.Random(0)
    killed = 0
    drawn = f"{published}-drawn"
    for run in range(runs):
        run_id = f"run {run}"
        for attempt in range(1 + run % 2):
            moment = STEPS[(run + attempt * 4) % len(STEPS)] if run % 10 else None

            def work(moment: str | None = moment, run_id: str = run_id, run: int = run) -> None:
                if moment:
                    kill_at(moment)
                release(path, published, drawn, run_id, run)

            child = in_child(work)
            if moment is None:
                time.sleep(rng.uniform(0.0, 0.02))
                os.kill(child, signal.SIGKILL)
            killed += wait([child]) == [-signal.SIGKILL]
        before = _entries(path)
        check(path, published)
        for _ in range(2):
            codes = wait([in_child(lambda run_id=run_id, run=run: release(path, published, drawn, run_id, run))])
            assert codes == [0], (run_id, codes)
        assert _entries(path) - before <= 1
        assert _entries(path) == run + 1, "a run spends once"
    check(path, published)
    with Ledger.open(path) as ledger:
        summary = ledger.summary()
    print(
        json.dumps(
            {
                "killed": killed,
                "releases": summary.releases,
                "unanswered": summary.unanswered,
                "sequential": summary.sequential,
            }
        )
    )


def race(path: str, published: str, processes: int, runs: int) -> None:
    """Several processes ask for each run id at the same time."""
    drawn = f"{published}-drawn"

    def work() -> None:
        for run in range(runs):
            release(path, published, drawn, f"race {run}", run)

    codes = wait([in_child(work) for _ in range(processes)])
    check(path, published)
    print(json.dumps({"codes": codes, "drawn": Path(drawn).read_text().splitlines(), "entries": _entries(path)}))


def upgrades(old: str, folder: str, moments: int) -> None:
    """Kill the upgrade of a copy of a ledger at every step, and at random moments; tell what each was left as."""
    rng = random.Random(0)
    told = []
    for step in [*UPGRADE_STEPS, *[None] * moments]:
        path = Path(folder) / f"{len(told)}" / "t.ledger"
        path.parent.mkdir()
        for suffix in ("", "-head"):
            if Path(f"{old}{suffix}").exists():
                shutil.copy(f"{old}{suffix}", f"{path}{suffix}")
                Path(f"{path}{suffix}").chmod(0o600)

        def work(path: Path = path, step: str | None = step) -> None:
            if step is not None:
                kill_at(step)
            Ledger.open(path).close()

        child = in_child(work)
        if step is None:
            time.sleep(rng.uniform(0.0, 0.1))
            os.kill(child, signal.SIGKILL)
        [code] = wait([child])
        told.append({"step": step, "code": code, "format": in_child_format(path), "ledger": str(path)})
    print(json.dumps(told))


def in_child_format(path: Path) -> int:
    """Format of a ledger, which a child reads: a connection here would be one of every later child."""

    def work() -> None:
        connection = sqlite3.connect(path)
        os._exit(100 + connection.execute("PRAGMA user_version").fetchone()[0])

    return wait([in_child(work)])[0] - 100


def together(path: str, processes: int) -> None:
    """Processes open a ledger of an older format at the same time."""

    def work() -> None:
        with Ledger.open(path) as ledger:
            append(f"{path}-seen", str(ledger.spent_units()))

    codes = wait([in_child(work) for _ in range(processes)])
    print(json.dumps({"codes": codes, "spent": Path(f"{path}-seen").read_text().split()}))


def check(path: str, published: str) -> None:
    """No answer was published without its debit, and no run published two different answers."""
    lines = Path(published).read_text().splitlines() if Path(published).exists() else []
    with Ledger.open(path) as ledger:
        answered = {entry.run_id for entry in ledger.history() if entry.answered}
        answers: dict[str, str] = {}
        for line in lines:
            run_id, answer = json.loads(line)
            assert run_id in answered, f"{run_id} was published without its debit"
            assert answers.setdefault(run_id, answer) == answer, f"{run_id} was published with two answers"


def _entries(path: str) -> int:
    with Ledger.open(path) as ledger:
        return len(ledger.history())


if __name__ == "__main__":
    {"debits": debits, "kills": kills, "race": race, "upgrades": upgrades, "together": together}[sys.argv[1]](
        *(int(part) if part.isdigit() else part for part in sys.argv[2:])
    )
