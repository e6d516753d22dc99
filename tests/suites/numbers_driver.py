"""Checks whose processes are killed (SIGKILL) at a step around their numbers; then the same command twice again.

numbers_driver.py FOLDER MODE STEP:NTH...

FOLDER has `t.parquet`, `suite.txt` and `rules.txt`. MODE is `once` (one run, whose levels leave checks open), `own`
(numbers for a kept suite, as an entry of their own) or `left` (for all that it has left). A case kills the process when
it reaches a step for the NTH time. Prints, as JSON by case, how the processes ended, the two answers, what was recorded
of numbers after the kill and at the end, and what the ledger has.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import dpdb
from dpdb import stopping as steps
from dpdb.ledger import Ledger
from dpdb.privacy.noise import replaced_noise

folder, mode, *cases = sys.argv[1:]
os.chdir(folder)
OPTIONS: dict[str, dict[str, Any]] = {
    "once": {"epsilon": 0.5},
    "own": {"epsilon": 1, "keep": "nightly", "numbers": 0.5},
    "left": {"epsilon": 1, "keep": "nightly", "numbers": "left"},
}


class Nothing:
    """Adds nothing: what is left of the kept suite is certain then."""

    def laplace(self, value: int, scale: float) -> int:
        return value

    def gaussian(self, value: int, scale: float) -> int:
        raise AssertionError

    def noisy_extreme(self, scores: Any, scale: float, *, negate: bool) -> int:
        return scores.index(min(scores) if negate else max(scores))


def check(ledger: str, **options: Any) -> str:
    if mode == "left":
        with replaced_noise(Nothing()):
            return checked(ledger, **options)
    return checked(ledger, **options)


def checked(ledger: str, **options: Any) -> str:
    with dpdb.open("t.parquet", constraints="rules.txt", ledger=ledger) as session:
        return session.check("suite.txt", **options).to_json()


def in_child(ledger: str, said: Path, kill: tuple[str, int] | None = None) -> int:
    child = os.fork()
    if child == 0:
        code = 1
        try:
            left = [0 if kill is None else kill[1]]

            def reached(now: str) -> None:
                left[0] -= kill is not None and now == kill[0]
                if kill is not None and now == kill[0] and left[0] == 0:
                    os.kill(os.getpid(), signal.SIGKILL)

            steps.watchers.append(reached)
            said.write_text(check(ledger, run_id="killed", **OPTIONS[mode]))
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def numbers(ledger: str) -> list[str]:
    with Ledger.open(ledger) as opened:
        levels = [each for suite in opened.suites() for each in opened.suite_levels(suite.number)]
    return [each.answer for each in levels if each.level and json.loads(each.answer).get("kind") == "numbers"]


found: dict[str, Any] = {}
for case in cases:
    step, nth = case.rsplit(":", 1)
    ledger, said = f"{case}.ledger", [Path(f"{case}.{n}") for n in range(3)]
    Ledger.create(ledger, 5).close()
    if mode != "once":
        check(ledger, run_id="first", **{name: OPTIONS[mode][name] for name in ("epsilon", "keep")})
    ended = [in_child(ledger, said[0], (step, int(nth)))]
    before = numbers(ledger)
    ended += [in_child(ledger, each) for each in said[1:]]
    with Ledger.open(ledger) as opened:
        found[case] = {
            "ended": ended,
            "numbers": [before, numbers(ledger)],
            "said": [json.loads(each.read_text()) for each in said[1:]],
            "debits": len(opened.lines()),
            "spent": opened.summary().spent,
            "open": [suite.ended is None for suite in opened.suites()],
            "settled": [suite.spent for suite in opened.suites()],
        }
print(json.dumps(found))
