"""Processes that spend from a ledger and are killed on the way; run as a program, so that no test process forks.

ledger_driver.py debits LEDGER PROCESSES EACH          concurrent debits; prints how many were allowed
ledger_driver.py kills LEDGER PUBLISHED RUNS           every run killed at a step, then retried; prints a summary
ledger_driver.py race LEDGER PUBLISHED PROCESSES RUNS  processes answer the same run ids at the same time
ledger_driver.py settlements LEDGER RUNS               every settlement killed at two steps, then asked for again
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

from dpdb import stopping as steps
from dpdb.errors import BudgetExceededError
from dpdb.ledger import Ledger, SourceMark

sys.path.append(str(Path(__file__).parents[1]))

from text_reader import parse_where

SOURCE = SourceMark("table", "content")
STEPS = ["asked", "begun", "inserted", "reserved", "drawn", "written", "recorded", "publishing", "published"]
SETTLEMENT_STEPS = ["settling", "settlement written", "settled"]
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


def settlements(path: str, runs: int) -> None:
    """Every run settles its debit at half of it and is killed at a step of that, then asks again; prints the kills."""
    killed = 0
    for run in range(runs):
        number = f"run {run}"
        release(path, f"{path}-published", f"{path}-drawn", number, run)

        def work(step: str | None, number: str = number) -> None:
            if step is not None:
                kill_at(step)
            with Ledger.open(path) as ledger:
                ledger.settle(number, UNIT // 2)

        for step in [SETTLEMENT_STEPS[run % 3], SETTLEMENT_STEPS[run // 3 % 3]]:
            killed += wait([in_child(lambda step=step: work(step))]) == [-signal.SIGKILL]
            with Ledger.open(path) as ledger:
                assert ledger.lines()[-1].charge in (UNIT, UNIT // 2)
        assert wait([in_child(lambda: work(None))]) == [0]
    with Ledger.open(path) as ledger:
        charges = [line.charge for line in ledger.lines()]
    print(json.dumps({"killed": killed, "charges": charges}))


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
    {"debits": debits, "kills": kills, "race": race, "settlements": settlements}[sys.argv[1]](
        *(int(part) if part.isdigit() else part for part in sys.argv[2:])
    )
