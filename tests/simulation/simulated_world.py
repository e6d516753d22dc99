"""The world of a simulation: actors as threads of which one runs at a time, one generator that decides, a trace.

An actor runs until it says what it does next (`World.step`); then the world decides who goes on. Nothing else decides:
not time, not the system, not the hash seed. So a number replays a life.
"""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

CRITICAL = {"rename", "sync", "sync folder", "write", "sqlite sync"}  # before and after these, much can be lost
START = datetime(2026, 11, 23, 9, tzinfo=UTC)


class Killed(BaseException):
    """The process ends here; what runs while it unwinds no longer reaches the disk."""


class ViolationError(AssertionError):
    """Something that must never happen has happened."""


def require(holds: bool, words: str) -> None:
    if not holds:
        raise ViolationError(words)


def closed_gate() -> threading.Lock:
    gate = threading.Lock()
    gate.acquire()
    return gate


class Actor:
    """One process, or the owner at one command."""

    def __init__(self, world: World, name: str, work: Callable[[Actor], None]) -> None:
        self.name, self.world, self._work = name, world, work
        self.doomed = self.dead = self.done = self.waiting = False
        self.faults = 0
        self.log: object = None  # the write-ahead log that it has open
        self.clock, self.began = START, world.steps
        self.failed: BaseException | None = None
        self.gate = closed_gate()
        self.thread = threading.Thread(target=self._run, name=name, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        self.gate.acquire()
        try:
            if not self.doomed:
                self._work(self)
        except Killed:
            pass
        except BaseException as error:
            if not self.dead:  # of the dead, nothing is heard
                self.failed = error
        self.done = True
        self.world.gate.release()


class World:
    """Who is alive, what time it is, what was done so far; every decision comes from `chance`."""

    def __init__(self, seed: int) -> None:
        self.seed, self.chance = seed, random.Random(seed)
        self.gate = closed_gate()
        self.actors: list[Actor] = []
        self.current: Actor | None = None
        self.clock, self.monotonic = START, 0.0
        self.events: Counter[str] = Counter()
        self.faults: Counter[str] = Counter()
        self.trace: list[str] = []
        self.steps = self.stays = 0
        self.fault_rate = 0.0
        self.is_critical = False

    def say(self, text: str) -> None:
        self.trace.append(f"{len(self.trace)} {self.current.name if self.current else 'world'} {text}")

    def fault(self, kind: str, text: str = "") -> None:
        self.faults[kind] += 1
        self.say(f"! {kind} {text}".rstrip())
        if self.current is not None:
            self.current.faults += 1

    def step(self, kind: str, text: str = "", *, waiting: bool = False) -> None:
        """Let the world decide who goes on; the auditor, who is no actor, just goes on."""
        actor = self.current
        if actor is None:
            return
        if actor.dead:
            raise Killed
        self.events[kind] += 1
        self.steps += 1
        self.say(f"{kind} {text}".rstrip())
        self.is_critical = kind in CRITICAL
        if self.stays and not waiting and not (self.is_critical and self.chance.random() < 0.5):
            self.stays -= 1
            return
        actor.waiting = waiting
        self.gate.release()
        actor.gate.acquire()
        if actor.doomed:
            actor.dead = True
            raise Killed

    def wait(self, kind: str, seconds: float) -> None:
        self.monotonic += seconds
        self.step(kind, waiting=True)

    def strikes(self) -> bool:
        """Whether a fault comes now."""
        return self.current is not None and self.fault_rate > 0 and self.chance.random() < self.fault_rate

    def start(self, name: str, work: Callable[[Actor], None]) -> None:
        self.actors.append(Actor(self, name, work))

    def turn(self) -> None:
        """One actor takes one step."""
        ready = [actor for actor in self.actors if not actor.waiting] or self.actors
        actor = self.chance.choice(ready)
        if self.chance.random() < 0.1:  # who waits looks again
            for other in self.actors:
                other.waiting = False
        self.stays = self.chance.choice([0, 0, 0, 1, 3, 10, 30])
        self._resume(actor)

    def kill(self, actor: Actor) -> None:
        actor.doomed, self.stays = True, 0
        while not actor.done:
            self._resume(actor)

    def _resume(self, actor: Actor) -> None:
        self.current = actor
        actor.gate.release()
        self.gate.acquire()
        self.current = None
        if actor.done:
            self.actors.remove(actor)
            actor.thread.join()
            if actor.failed is not None:
                raise actor.failed

    def shortened(self, last: int = 40) -> str:
        """The faults of the trace and its last lines."""
        early = [line for line in self.trace[:-last] if " ! " in line]
        return "\n".join([*early, "...", *self.trace[-last:]])

    # -- what is put in the place of modules that tell the time ------------------------------------------------

    fromisoformat = staticmethod(datetime.fromisoformat)

    def now(self, zone: object) -> datetime:
        if self.current is not None:
            self.current.clock = self.clock
        return self.clock

    def jump(self, hours: float) -> None:
        self.clock += timedelta(hours=hours)
        self.fault("clock jumps", f"{hours:+g} h")


class SimulatedTime:
    """Stands for the module `time`: of waiting, seconds that pass where somebody waits; of a search, hardly any."""

    def __init__(self, world: World, tick: float = 0.0) -> None:
        self._world, self._tick, self._ticks = world, tick, 0

    def monotonic(self) -> float:
        self._ticks += 1
        return self._tick * self._ticks if self._tick else self._world.monotonic

    def sleep(self, seconds: float) -> None:
        self._world.wait("lock waits", seconds)
