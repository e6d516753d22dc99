"""Suites of checks in a simulated life: their runs, level by level, and the owner who re-arms and closes them."""

from __future__ import annotations

import json
from typing import Any

import ledger_actors
from inside import state_of
from ledger_actors import FILES, LONG, WAIT, Life, parse_where
from ledger_model import Line, Run
from simulated_world import Actor, ViolationError, require
from suite_model import REARM_UNITS

from dpdb import stopping as steps
from dpdb.errors import BudgetExceededError, LedgerError
from dpdb.ledger import Ledger

LEVELS = 2
CHECKS = "ab"


def check(life: Life, actor: Actor, ledger: Ledger, run_id: str, generation: int) -> None:
    """One run of a suite, as `dpdb check` makes it: open, then per level draw, record, show; then end and show."""
    run = life.model.runs[run_id]
    kept = run.suite or None
    exchanged = actor.log is not None and life.disk.names.get(ledger_actors.LOG) is not actor.log

    def make_secret() -> str:
        life.answers += 1
        return f"<secret {life.answers}>"

    try:
        found = ledger.checks.open_suite(
            parse_where(run.where), run.charge, source=life.source(), request=json.dumps({"suite": run.key(run_id)}),
            spec=json.dumps({"charge": run.charge}), make_secret=make_secret, run_id=run_id, name=kept,
            analyst=run.analyst, deadline=LONG, wait=WAIT,
        )  # fmt: skip
    except BudgetExceededError:
        ledger_actors.refuse_exchanged(exchanged)
        over_budget(life, actor, ledger, run_id, generation)
        return
    try:
        ledger_actors.refuse_exchanged(exchanged)
        if is_of_this_world(life, generation):
            life.model.debited.add(run.key(run_id))
        if found.answer is None:
            test(life, actor, ledger, found, run, generation)
            forgotten(life, actor, run_id, generation)
        else:
            show(life, run_id, found.answer, generation)
    finally:
        found.close()


def over_budget(life: Life, actor: Actor, ledger: Ledger, run_id: str, generation: int) -> None:
    run, state = life.model.runs[run_id], state_of(ledger)
    if generation == life.generation:
        line = Line(run, state.epoch.number, actor.clock, run.charge)
        life.model.refused.append((run.key(run_id), line, state.lines, len(state.acts.done)))
    life.world.say(f"over budget {run_id}")
    life.world.events["over budget"] += 1
    life.ends[run_id] = "over budget"


def is_of_this_world(life: Life, generation: int) -> bool:
    return generation == life.generation and life.newest is None


def test(life: Life, actor: Actor, ledger: Ledger, found: Any, run: Run, generation: int) -> None:
    """Draw what is not recorded; what a level costs and finds is decided by chance."""
    chance, key = life.world.chance, run.key(found.run_id)
    other = life.drawing.get(key)
    if other is not None and not other.dead and not other.doomed:
        raise ViolationError(f"{key} is drawn by two processes at once")
    life.drawing[key] = actor
    try:
        if is_of_this_world(life, generation):
            require(life.model.secrets.setdefault(key, found.secret) == found.secret, f"{key} has two secrets")
        for level, text in found.levels.items():
            show_level(life, key, found.run_id, level, text, generation)
        spent, failed = found.spent, set(found.failed)
        for level in range(1, LEVELS + 1):
            if level in found.levels:
                continue
            steps.reached("drawing")
            left = (found.reserved - spent) // ledger_actors.UNIT
            fails = [one for one in CHECKS if one not in failed and left and chance.random() < 0.6]
            cost = chance.randint(len(fails[:left]), left) // level * ledger_actors.UNIT
            fails, life.answers = fails[: cost // ledger_actors.UNIT], life.answers + 1
            spent, failed = spent + cost, failed | set(fails)
            text = json.dumps({"n": life.answers, "cost": cost})
            publish_level(life, ledger, found, level, text, generation, spent=spent, failed=fails)
            life.world.events["rings"] += len(fails)
        life.answers += 1
        answer = json.dumps({"n": life.answers})
        began = life.world.steps
        ledger.checks.end_suite(found, answer)
        life.head_moves.append((began, life.world.steps))
    finally:
        if life.drawing.get(key) is actor:
            del life.drawing[key]
    life.world.events["suite ended"] += 1
    if run.suite == "" and is_of_this_world(life, generation):
        life.model.settled.add(key)
    show(life, found.run_id, answer, generation)


def publish_level(
    life: Life, ledger: Ledger, found: Any, level: int, text: str, generation: int, **record: Any
) -> None:  # fmt: skip
    record_level(life, ledger, found, level, text, **record)
    key = life.model.runs[found.run_id].key(found.run_id)
    show_level(life, key, found.run_id, level, text, generation)


def record_level(life: Life, ledger: Ledger, found: Any, level: int, text: str, **record: Any) -> None:
    began = life.world.steps
    ledger.checks.record_level(found, level, text, **record)
    life.head_moves.append((began, life.world.steps))


def show_level(life: Life, key: str, run_id: str, level: int, text: str, generation: int) -> None:
    steps.reached("showing")
    if is_of_this_world(life, generation):
        shown = life.model.levels.setdefault((key, run_id, level), text)
        require(shown == text, f"{run_id} has shown level {level} with two results")


def show(life: Life, run_id: str, answer: str, generation: int) -> None:
    """Of a kept suite, the answer of a run is no answer of its debit."""
    if life.model.runs[run_id].suite:
        show_level(life, life.model.runs[run_id].key(run_id), run_id, 0, answer, generation)
        life.ends[run_id] = "published"
    else:
        ledger_actors.show(life, run_id, answer, generation)


def forgotten(life: Life, actor: Actor, run_id: str, generation: int) -> None:
    """A suite that has ended, and whose process went on, has left its secret nowhere."""
    key = life.model.runs[run_id].key(run_id)
    if life.model.runs[run_id].suite == "" and is_of_this_world(life, generation):
        look_for(life, [key])


def look_for(life: Life, keys: list[str]) -> None:
    texts = [life.model.secrets[key].encode() for key in keys if key in life.model.secrets]
    for name in FILES:
        path = life.disk.root / name
        if path.exists():
            content = path.read_bytes()
            require(not any(text in content for text in texts), f"{name} has the secret of a suite that was closed")


# -- the owner -----------------------------------------------------------------------------------------------------


def rearms(life: Life) -> Any:
    """The owner re-arms a check that has failed, for nothing or with a debit."""
    name = life.world.chance.choice(kept_names(life))
    charge = life.world.chance.choice([None, REARM_UNITS])

    def work(actor: Actor) -> None:
        generation, began = life.generation, life.world.steps
        try:
            with Ledger.open(life.path) as ledger:
                suite = ledger.kept_suite(name)
                if suite is None or not suite.failed or suite.ended is not None:
                    return
                checks = sorted(name for name, _ in suite.failed)
                ledger.owner.rearm(name, life.world.chance.choice(checks), charge, deadline=LONG)
            if is_of_this_world(life, generation):
                life.model.rearmed[name] = life.model.rearmed.get(name, 0) + 1
                life.head_moves.append((began, life.world.steps))
            life.world.events["owner: re-arms"] += 1
        except BudgetExceededError:
            life.world.say("cannot re-arm")
        except LedgerError as error:
            life.expected(actor, error)

    return work


def closes(life: Life) -> Any:
    """The owner closes a kept suite, or a run that does not come to an end."""
    runs = [run_id for run_id, run in life.model.runs.items() if run.suite == ""]
    key = life.world.chance.choice([*kept_names(life), *runs])

    def work(actor: Actor) -> None:
        generation, began = life.generation, life.world.steps
        try:
            with Ledger.open(life.path) as ledger:
                if key not in {suite.name or suite.run_id for suite in ledger.suites() if suite.ended is None}:
                    return
                life.may_be_closed = True
                ledger.owner.close_suite(key, wait=WAIT)
            if is_of_this_world(life, generation):
                life.model.settled.add(key)
                life.head_moves.append((began, life.world.steps))
                look_for(life, [key])
            life.world.events["owner: closes"] += 1
        except LedgerError as error:
            life.expected(actor, error)

    return work


def kept_names(life: Life) -> list[str]:
    return sorted({run.suite for run in life.model.runs.values() if run.suite})
