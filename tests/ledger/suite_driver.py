"""Processes that run suites of checks on a ledger and are killed on the way; run as a program, like `ledger_driver`.

suite_driver.py runs LEDGER TOLD RUNS   suites of one run, killed at every step, finished by two processes at once
suite_driver.py kept LEDGER TOLD RUNS   a kept suite: runs, re-armed checks and its closing, killed at every step

Every process tells, in the file TOLD, which secret it got and what it has shown; prints the number of kills.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from ledger_driver import SOURCE, UNIT, append, in_child, kill_at, wait

from dpdb import stopping as steps
from dpdb.errors import LedgerError
from dpdb.ledger import Ledger
from dpdb.predicates import Region

LEVELS = 2
OPENING = ["asked", "begun", "secret written", "inserted", "reserved"]
RUNNING = ["level drawn", "level written", "level recorded", "showing", "shown", "ending", "end written"]
RUN_STEPS = [*OPENING, *RUNNING, "secret overwritten", "ended"]
KEPT_STEPS = [*RUNNING, "ended"]
REARM_STEPS = ["re-arming", "re-arming written", "re-armed"]
CLOSE_STEPS = ["closing", "closing written", "secret overwritten", "closed"]
NAME = "nightly"


def check(path: str, told: str, run_id: str, name: str | None = None) -> None:
    """One run of a suite: open, draw and record and show every level, end and show."""
    with Ledger.open(path) as ledger:
        run = ledger.checks.open_suite(
            Region(), 4 * UNIT, source=SOURCE, request=json.dumps({"suite": name or run_id}), spec="{}",
            make_secret=lambda: f"<secret {os.urandom(8).hex()}>", run_id=run_id, name=name,
        )  # fmt: skip
        key, spent, failed = name or run_id, run.spent, set(run.failed)
        try:
            if run.answer is None:
                append(told, json.dumps(["secret", key, 0, run.secret]))
            levels, answer = dict(run.levels), run.answer
            for level in range(1, LEVELS + 1):
                if level not in levels and answer is None:
                    fails = {"zip"} - failed if level == LEVELS and spent + UNIT <= run.reserved else set()
                    text = json.dumps({"n": os.urandom(8).hex(), "cost": UNIT * len(fails)})
                    spent, failed = spent + UNIT * len(fails), failed | fails
                    ledger.checks.record_level(run, level, text, spent=spent, failed=fails)
                    levels[level] = text
                show(told, run_id, level, levels[level])
            if answer is None:
                answer = json.dumps({"n": os.urandom(8).hex()})
                ledger.checks.end_suite(run, answer)
            show(told, run_id, 0, answer)
        finally:
            run.close()


def show(told: str, run_id: str, level: int, text: str) -> None:
    steps.reached("showing")
    append(told, json.dumps(["shown", run_id, level, text]))
    steps.reached("shown")


def rearm(path: str) -> None:
    with Ledger.open(path) as ledger, suppress(LedgerError):  # it was re-armed before the kill
        ledger.owner.rearm(NAME, "zip", UNIT)


def close(path: str) -> None:
    with Ledger.open(path) as ledger:
        ledger.owner.close_suite(NAME)


def killed(work: Callable[[], None], step: str | None, chance: random.Random) -> bool:
    """Whether a process was killed: at a step, or some moment later."""

    def until() -> None:
        if step is not None:
            kill_at(step)
        work()

    child = in_child(until)
    if step is None:
        time.sleep(chance.uniform(0.0, 0.03))
        os.kill(child, signal.SIGKILL)
    return wait([child]) == [-signal.SIGKILL]


def runs(path: str, told: str, number: int) -> None:
    """Kill every run at a step or a moment, every third again; then two processes finish it at once."""
    chance, kills = random.Random(0), 0
    for n in range(number):
        run_id = f"run {n}"
        for attempt in range(1 + (n % 3 == 0)):
            step = RUN_STEPS[(n + attempt * 5) % len(RUN_STEPS)] if n % 10 else None
            kills += killed(lambda run_id=run_id: check(path, told, run_id), step, chance)
            audit(path, told)
        assert wait([in_child(lambda run_id=run_id: check(path, told, run_id)) for _ in range(2)]) == [0, 0]
        audit(path, told, [run_id])
    print(json.dumps({"kills": kills}))


def kept(path: str, told: str, number: int) -> None:
    """Kill every run, re-arming and, at the end, the closing; then let each finish, runs of two nights at once."""
    chance, kills = random.Random(1), 0
    for n in range(number):
        step = [*(OPENING if n < len(OPENING) else []), *KEPT_STEPS][n % len(KEPT_STEPS)] if n % 10 else None
        night = f"night {n}"
        kills += killed(lambda night=night: check(path, told, night, NAME), step, chance)
        kills += killed(lambda: rearm(path), REARM_STEPS[n % 3], chance)
        audit(path, told)
        nights = [night, f"other night {n}"]
        children = [in_child(lambda each=each: check(path, told, each, NAME)) for each in nights]
        assert wait(children) == [0, 0]
        assert wait([in_child(lambda: rearm(path))]) == [0]
        audit(path, told)
    for step in CLOSE_STEPS:
        kills += killed(lambda: close(path), step, chance)
        audit(path, told)
    assert wait([in_child(lambda: close(path)) for _ in range(2)]) == [0, 0]
    audit(path, told, [NAME])
    print(json.dumps({"kills": kills}))


def audit(path: str, told: str, ended: list[str] | None = None) -> None:
    """One debit and one secret a suite, nothing shown that is not recorded so, settled at its cost or not at all."""
    shown: dict[tuple[str, int], str] = {}
    secrets: dict[str, str] = {}
    for line in Path(told).read_text().splitlines() if Path(told).exists() else []:
        kind, key, level, text = json.loads(line)
        if kind == "secret":
            assert secrets.setdefault(key, text) == text, f"{key} has two secrets"
        else:
            assert shown.setdefault((key, level), text) == text, f"{key} has shown level {level} with two results"
    with Ledger.open(path) as ledger:
        suites, entries = ledger.suites(), ledger.lines()
        keys = [suite.name or suite.run_id for suite in suites]
        assert len(set(keys)) == len(keys), "a suite was opened twice"
        recorded = {(each.run_id, 0): each.answer for each in ledger.answers() if each.run_id is not None}
        for suite in suites:
            levels = ledger.suite_levels(suite.number)
            recorded |= {(one.run_id, one.level): one.answer for one in levels}
            cost = sum(json.loads(one.answer)["cost"] for one in levels if one.level)
            assert suite.spent == cost <= suite.reserved
        assert shown.items() <= recorded.items(), "shown before it was recorded"
        held = sum(suite.reserved if suite.ended is None else suite.spent for suite in suites)
        assert ledger.spent_units() == sum(entry.charge for entry in entries) == held
        still = {suite.name or suite.run_id for suite in suites if suite.ended is None}
        assert not still.intersection(ended or [])
    content = b"".join(each.read_bytes() for each in Path(path).parent.glob(f"{Path(path).name}*"))
    for key in ended or []:
        assert secrets[key].encode() not in content, f"the secret of {key} is in a file"


if __name__ == "__main__":
    {"runs": runs, "kept": kept}[sys.argv[1]](sys.argv[2], sys.argv[3], int(sys.argv[4]))
