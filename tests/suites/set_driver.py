"""Checks of a set of tables whose processes are killed at a step, or find a full disk; then the same command again.

set_driver.py PLACE TABLE SUITES FOLDER KEPT CASE...   TABLE is empty for files; KEPT a name, or empty

A case is "kill STEP" or "full STEP". The hidden thresholds of the first process are others than of the second, the
noise of levels is none: so an answer tells whose thresholds it was tested with. Prints, as JSON by case, how the first
process ended, the answers of the second and third, and the ledger's lines and epsilon; by "1" and "2" the answers of
undisturbed runs with the thresholds of either.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dpdb import stopping as steps
from dpdb.errors import DpdbError
from dpdb.ledger import Ledger
from dpdb.privacy.noise import replaced_noise
from dpdb.suites import TableSet
from dpdb.suites.check import CheckRun

place, table, suites, folder, kept, *cases = sys.argv[1:]
OPTIONS: dict[str, Any] = {"unit": "person_id", "public_parents": {"concept": None}, "table": table or None}


UNLIMITED = resource.getrlimit(resource.RLIMIT_FSIZE)


class Offset:
    """Adds a number, and counts nothing."""

    def __init__(self) -> None:
        self.added = 0

    def laplace(self, value: int, scale: float) -> int:
        return value + self.added

    def gaussian(self, value: int, scale: float) -> int:
        raise AssertionError

    def noisy_extreme(self, scores: Any, scale: float, *, negate: bool) -> int:
        raise AssertionError


def check(ledger: Path, process: int, said: Path, before: Callable[[], None] = lambda: None) -> None:
    """Open the set and check it, as one process does; write the answer or the error."""
    noise, draw = Offset(), CheckRun.make_secret

    def make_secret(run: CheckRun) -> str:
        noise.added = 50 * process
        try:
            return draw(run)
        finally:
            noise.added = 0

    CheckRun.make_secret = make_secret  # type: ignore[method-assign]
    try:
        with replaced_noise(noise), TableSet(place, suites, ledger=ledger, **OPTIONS) as opened:
            run = opened.prepare(epsilon=1, run_id="monday", keep=kept or None, runs=3 if kept else None)
            before()
            text = opened.run(run).to_json()
    except DpdbError as error:
        text = f"error: {error}"
    resource.setrlimit(resource.RLIMIT_FSIZE, UNLIMITED)
    said.write_text(text)


def in_child(*asked: Any) -> int:
    child = os.fork()
    if child == 0:
        code = 1
        try:
            check(*asked)
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def disturbed(kind: str, step: str) -> Callable[[], None]:
    def reached(now: str) -> None:
        if now == step and kind == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if now == step:
            resource.setrlimit(resource.RLIMIT_FSIZE, (1, UNLIMITED[1]))  # no file grows any more

    return lambda: steps.watchers.append(reached)


def told(said: Path) -> str | None:
    return said.read_text() if said.exists() else None


def ledger_of(name: str) -> Path:
    path = Path(folder) / f"{name.replace(' ', '-')}.ledger"
    Ledger.create(path, 3).close()
    return path


found: dict[str, Any] = {}
for process in (1, 2):
    ledger, said = ledger_of(f"undisturbed {process}"), Path(folder) / f"{process}.said"
    assert in_child(ledger, process, said) == 0
    with Ledger.open(ledger) as opened:
        found[str(process)] = [told(said), opened.summary().spent]
for case in cases:
    ledger, said = ledger_of(case), [Path(folder) / f"{case.replace(' ', '-')}.{n}" for n in range(3)]
    kind, step = case.split(" ", 1)
    ended = [in_child(ledger, 1, said[0], disturbed(kind, step))]
    with Ledger.open(ledger) as opened:
        after = len(opened.lines())
    ended += [in_child(ledger, 2, each) for each in said[1:]]
    with Ledger.open(ledger) as opened:
        found[case] = {
            "ended": ended,
            "debits after": after,
            "said": [told(each) for each in said],
            "debits": len(opened.lines()),
            "spent": opened.summary().spent,
        }
print(json.dumps(found))
