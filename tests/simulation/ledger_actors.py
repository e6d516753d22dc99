"""Who uses the ledger: processes that release under run ids, and its owner, who also makes mistakes."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from inside import state_of
from ledger_model import Line, Model
from simulated_disk import SimulatedDisk
from simulated_world import Actor, Killed, ViolationError, World, require
from text_reader import parse_where

from dpdb import stopping as steps
from dpdb.errors import BudgetExceededError, LedgerError, ParameterError
from dpdb.ledger import Ledger, SourceMark

LEDGER = "t.ledger"
FILES = [LEDGER, f"{LEDGER}-wal", f"{LEDGER}-shm", f"{LEDGER}-journal"]
HEAD, LOG = f"{LEDGER}-head", f"{LEDGER}-wal"
WAIT = 1.0
LONG = 1e9  # seconds for a decision: a tick of the simulated clock is far less
UNIT = 10**8

# What a ledger may answer when nothing has failed; everything else is a violation.
PLAIN = ("is being answered by another process", "keep the ledger busy", "was retired", "source has changed",
         "before the source changed", "another file was put", "locking protocol", "is being run by another process",
         "clock is behind the newest run of kept suite", "a secret was overwritten, but other processes",
         "was closed on", "the access of")  # fmt: skip
NOT_MADE = ("no ledger there", "the file is empty", "is left of a ledger", "exists already")


@dataclass
class Copy:
    """A copy that the owner keeps: its files, what the model knew, and when it was taken."""

    files: dict[str, bytes]
    model: Model
    step: int


@dataclass
class Life:
    """One ledger, everything that happens to it, and what may be expected."""

    world: World
    disk: SimulatedDisk
    model: Model
    append_only: bool
    has_analysts: bool = False
    has_servers: bool = False  # which alone ask in the names of analysts
    content: int = 0
    made_at: int | None = None  # the step at which the owner knew that the ledger is there
    may_be_retired: bool = False
    may_be_closed: bool = False  # some suite
    generation: int = 0  # changes when an old copy is put back with its head, or a log was exchanged
    drawing: dict[str, Actor] = field(default_factory=dict)
    answers: int = 0
    copies: list[Copy] = field(default_factory=list)
    newest: Copy | None = None  # what the owner moved away; there is an old copy in its place
    must_refuse: bool = False
    head_moves: list[tuple[int, int]] = field(
        default_factory=list
    )  # when calls that have moved the head began and ended
    ends: dict[str, str] = field(default_factory=dict)
    audited: object = None
    due: Callable[[Life], None] | None = None  # what the owner does when he has stopped everybody

    @property
    def is_made(self) -> bool:
        return self.made_at is not None

    def was_made(self) -> None:
        self.made_at = self.world.steps

    @property
    def path(self) -> Any:
        return self.disk.root / LEDGER

    def source(self) -> SourceMark:
        return SourceMark("table", str(self.content))

    def expected(self, actor: Actor, error: Exception) -> str:
        """Say which error it is; raise if nothing explains it."""
        if actor.dead:
            raise Killed
        text = str(error).replace(str(self.disk.root), "")
        known = next((words for words in PLAIN if words in text), None)
        if known == "was retired" and not self.may_be_retired:
            known = None
        if known == "was closed on" and not self.may_be_closed:
            known = None
        if known is None and (self.made_at is None or actor.began < self.made_at):  # it may have looked before
            known = next((words for words in NOT_MADE if words in text), None)
        if known is None and (actor.faults or self.newest is not None):
            known = "a fault" if actor.faults else "an old copy"
        if known is None:
            raise ViolationError(f"{actor.name}: {text}")
        self.world.say(f"refused: {known}")
        self.world.events[f"refused: {known}"] += 1
        return known


# -- processes ---------------------------------------------------------------------------------------------------


def process(life: Life, run_ids: list[str]) -> Any:
    """A process that opens the ledger and makes some releases."""

    def work(actor: Actor) -> None:
        import suite_actors  # which knows this module

        try:
            generation = life.generation
            with Ledger.open(life.path) as ledger:
                if life.must_refuse and generation == life.generation and life.newest is not None:
                    raise ViolationError("an old copy without its head was opened")
                for run_id in run_ids:
                    with suppress_expected(life, actor, run_id):
                        make = suite_actors.check if life.model.runs[run_id].suite is not None else release
                        make(life, actor, ledger, run_id, generation)
        except LedgerError as error:
            life.expected(actor, error)

    return work


@contextmanager
def suppress_expected(life: Life, actor: Actor, run_id: str) -> Iterator[None]:
    """A run that the ledger refuses has ended, if the refusal is one to be expected."""
    try:
        yield
    except LedgerError as error:
        life.ends[run_id] = life.expected(actor, error)


def release(life: Life, actor: Actor, ledger: Ledger, run_id: str, generation: int) -> None:
    """One release, as `dpdb.release.publish` makes it: debit, draw, record, publish."""
    run = life.model.runs[run_id]
    exchanged = actor.log is not None and life.disk.names.get(LOG) is not actor.log
    try:
        found = ledger.reserve(
            parse_where(run.where), run.charge, source=life.source(), request=json.dumps({"where": run.where}),
            run_id=run_id, analyst=run.analyst, deadline=LONG, wait=WAIT,
        )  # fmt: skip
    except BudgetExceededError:
        refuse_exchanged(exchanged)
        state = state_of(ledger)
        if generation == life.generation:
            line = Line(run, state.epoch.number, actor.clock, run.charge)
            life.model.refused.append((run_id, line, state.lines, len(state.acts.done)))
        life.world.say(f"over budget {run_id}")
        life.world.events["over budget"] += 1
        life.ends[run_id] = "over budget"
        return
    try:
        refuse_exchanged(exchanged)
        if generation == life.generation:
            life.model.debited.add(run_id)
        answer = found.answer
        if answer is None:
            answer = draw(life, actor, run_id)
            try:
                publish(life, actor, ledger, found, run_id, answer, generation)
            finally:
                if life.drawing.get(run_id) is actor:
                    del life.drawing[run_id]
        else:
            show(life, run_id, answer, generation)
        settle(life, ledger, found, run_id, generation)
    finally:
        found.close()


def refuse_exchanged(exchanged: bool) -> None:
    if exchanged:
        raise ViolationError("files were exchanged under an open ledger, and it went on")


def draw(life: Life, actor: Actor, run_id: str) -> str:
    other = life.drawing.get(run_id)
    if other is not None and not other.dead and not other.doomed:
        raise ViolationError(f"{run_id} is drawn by two processes at once")
    life.drawing[run_id] = actor
    life.answers += 1
    return json.dumps([{"n": life.answers}])


def publish(life: Life, actor: Actor, ledger: Ledger, found: Any, run_id: str, answer: str, generation: int) -> None:
    record(life, ledger, found, answer)
    show(life, run_id, answer, generation)


def record(life: Life, ledger: Ledger, found: Any, answer: str) -> None:
    began = life.world.steps
    ledger.record(found, answer)
    life.head_moves.append((began, life.world.steps))


def settle(life: Life, ledger: Ledger, found: Any, run_id: str, generation: int) -> None:
    """What the release really cost, as a suite of checks does in its end; only after its answer was recorded."""
    settled = life.model.runs[run_id].settled
    if settled is None:
        return
    began, earlier = life.world.steps, state_of(ledger).settlements.of(found.number)
    ledger.settle(found, settled)
    if earlier is None:  # else only the head was written, which a crash had left behind: a copy may have the settlement
        life.head_moves.append((began, life.world.steps))
    if generation == life.generation and life.newest is None:
        life.model.settled.add(run_id)
    life.world.events["settled"] += 1


def show(life: Life, run_id: str, answer: str, generation: int) -> None:
    steps.reached("publishing")
    if generation == life.generation and life.newest is None:
        require(life.model.published.setdefault(run_id, answer) == answer, f"{run_id} was published with two answers")
    else:
        life.model.forgotten += 1
    life.ends[run_id] = "published"
    steps.reached("published")


# -- the owner -----------------------------------------------------------------------------------------------------


def make(life: Life) -> Any:
    """The owner makes the ledger; what a crash left of an earlier try is removed first, as its messages say."""

    def work(actor: Actor) -> None:
        if life.is_made:
            return
        try:
            Ledger.create(life.path, life.model.budget / 10**9, append_only=life.append_only).close()
            life.was_made()
            life.world.say("made")
        except LedgerError as error:
            known = life.expected(actor, error)
            if known == "exists already":
                if life.path.stat().st_size:
                    life.was_made()
                else:
                    life.disk.move_away(FILES)
            elif known == "is left of a ledger":
                life.disk.move_away(FILES)

    return work


def act(life: Life, kind: str) -> Any:
    """The owner raises, allows, opens an epoch or retires; each act has a label of its own."""
    label = f"act {life.world.chance.randrange(10**9)}"
    amount = life.world.chance.randint(2, 8) * UNIT / 10**9
    period = life.world.chance.choice(["12h", "30d"])

    def work(actor: Actor) -> None:
        generation, began = life.generation, life.world.steps
        try:
            with Ledger.open(life.path) as ledger:
                if kind == "raise":
                    budget = state_of(ledger).budget / 10**9
                    ledger.owner.raise_budget(round(budget + amount / 4, 3), label=label)
                elif kind == "allow":
                    ledger.owner.allow(period, amount, label=label)
                elif kind == "end allowance":
                    ledger.owner.allow(period, label=label)
                elif kind == "retire":
                    life.may_be_retired = True
                    ledger.owner.retire(label=label)
                else:
                    life.content += 1
                    ledger.confirm_rows(life.source())
            if generation == life.generation and kind != "epoch":
                life.model.acts.add(label)
                life.head_moves.append((began, life.world.steps))
            life.world.say(f"done: {kind}")
            life.world.events[f"owner: {kind}"] += 1
        except ParameterError:
            life.world.say(f"cannot {kind}")
        except LedgerError as error:
            life.expected(actor, error)

    return work


def copies(life: Life) -> Any:
    """The owner copies the ledger as it lies there, with its log and its head."""

    def work(actor: Actor) -> None:
        if life.is_made and life.newest is None:
            life.copies.append(take(life))
            life.world.say("copied")
            life.world.events["owner: copy"] += 1

    return work


def take(life: Life) -> Copy:
    return Copy(life.disk.copy([*FILES, HEAD]), copy.deepcopy(life.model), life.world.steps)


def puts_back(life: Life, kind: str) -> Any:
    """The owner puts back an old copy: without its head, with it, or only its write-ahead log."""

    def work(actor: Actor) -> None:
        if not life.copies or life.newest is not None:
            return
        old = life.world.chance.choice(life.copies)
        if kind == "only its log":
            if LOG not in old.files or LOG not in life.disk.names:
                return
            life.newest = take(life)
            life.world.fault("old log put back")
            life.disk.move_away([LOG])
            life.disk.put({LOG: old.files[LOG]})
            life.generation += 1
            for _ in range(life.world.chance.randint(20, 200)):
                life.world.step("owner waits")
            life.due = put_newest
            return
        if kind == "with its head":
            life.due = lambda life: put_both(life, old)
            return
        newest = take(life)
        life.newest = newest
        life.must_refuse = any(began > old.step for began, _ in life.head_moves)
        life.world.fault("old copy put back without its head")
        life.disk.move_away(FILES)
        life.disk.put({name: data for name, data in old.files.items() if name != HEAD})
        life.generation += 1
        try:
            Ledger.open(life.path).close()
            if life.must_refuse:
                raise ViolationError("an old copy without its head was opened")
        except LedgerError as error:
            life.world.say(f"refused: {str(error).split(': ')[-1][:40]}")
            life.world.events["old copy refused"] += 1
        for _ in range(life.world.chance.randint(0, 200)):
            life.world.step("owner waits")
        life.due = put_newest

    return work


def put_both(life: Life, old: Copy) -> None:
    """Put an old copy back with its head, when nobody is alive: what was released since is forgotten."""
    life.world.fault("old copy put back with its head")
    life.disk.move_away([*FILES, HEAD])
    life.disk.put(old.files)
    forgotten = len(life.model.published) - len(old.model.published)
    life.model = copy.deepcopy(old.model)
    life.model.forgotten += forgotten
    life.generation += 1
    life.head_moves = [move for move in life.head_moves if move[1] < old.step]
    life.copies = [each for each in life.copies if each.step <= old.step]


def put_newest(life: Life) -> None:
    """Put the newest ledger back, when nobody is alive; what was written to the other one is of no world."""
    if life.newest is None:
        return
    life.disk.move_away([*FILES, HEAD])
    life.disk.put(life.newest.files)
    life.model.debited = set(life.newest.model.debited)
    life.model.settled = set(life.newest.model.settled)
    life.model.acts = set(life.newest.model.acts)
    life.model.rearmed = dict(life.newest.model.rearmed)
    life.model.refused = list(life.newest.model.refused)
    life.head_moves = [move for move in life.head_moves if move[1] < life.newest.step]
    life.newest, life.must_refuse = None, False
    life.generation += 1
    life.world.fault("newest put back")
