"""One life of a ledger: made, used, hit by faults, and brought to an end; `python ledger_lives.py SEED` prints it."""

from __future__ import annotations

import gc
import hashlib
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

sys.path.append(str(Path(__file__).parents[1]))  # as a script

import analyst_actors
import ledger_actors
import server_actors
import simulated_sqlite
import suite_actors
from ledger_actors import UNIT, Life
from ledger_model import Model, run
from simulated_disk import SimulatedDisk
from simulated_world import SimulatedTime, ViolationError, World
from suite_model import ended_keys

from dpdb import stopping as steps
from dpdb.files import disk as product_disk, owned_file as file_lock
from dpdb.ledger import Ledger, ledger as ledger_module, suite_runs
from dpdb.ledger.store import clock, file as store_file
from dpdb.overlap import instance as bound

SIMPLE = [{}], [{"a": 0}], [{"a": 1}], [{"b": 0}], [{"a": 1, "b": 1}], [{"a": 0, "c": 1}], [{"a": 0}, {"b": 1}]
CHAOS_STEPS, CALM_STEPS = 900, 60_000
SERVED_STEPS = 3_000  # a server takes hundreds to start
RUNS, PROCESSES, NIGHTS = 5, 3, 2


@dataclass
class Result:
    """What a life was: its trace, what happened how often, how the ledger ended."""

    seed: int
    trace: list[str]
    events: Counter[str]
    faults: Counter[str]
    ends: dict[str, str]
    final: list[object] = field(default_factory=list)

    @property
    def digest(self) -> str:
        return hashlib.sha256("\n".join(self.trace).encode()).hexdigest()


class LifeFailed(AssertionError):  # noqa: N818
    """A life in which something went wrong: its seed and its shortened trace."""


def live(
    seed: int,
    folder: Path,
    *,
    faults: bool = True,
    plain: bool = False,
    analysts: bool = False,
    servers: bool = False,
) -> Result:
    """Replay one life in a new folder; raises `LifeFailed` with the seed if an invariant does not hold."""
    world = World(seed)
    disk = SimulatedDisk(world, folder.resolve() / f"life-{seed}")
    chance = world.chance
    runs = {f"run {n}": run(chance.choice(SIMPLE), chance.randint(1, 4) * UNIT) for n in range(RUNS)}
    for chosen in chance.sample(sorted(runs), chance.randint(0, RUNS - 1)):
        runs[chosen] = runs[chosen]._replace(settled=chance.randint(0, runs[chosen].charge // UNIT) * UNIT)
    covers = run(chance.choice(SIMPLE), chance.randint(2, 5) * UNIT)
    runs["suite"] = covers._replace(suite="")
    every, name = run([{}], chance.randint(2, 5) * UNIT), "nightly"
    runs |= {f"{name} {day}": every._replace(suite=name) for day in range(NIGHTS)}
    runs = analyst_actors.assigned(runs, seed) if analysts or servers else runs
    runs = server_actors.named(runs) if servers else runs
    life = Life(world, disk, Model(runs, chance.randint(4, 12) * UNIT), append_only=chance.random() < 0.2)
    life.has_analysts, life.has_servers = analysts or servers, servers
    gc.disable()  # finalizers run where the code says
    try:
        with _in_place(world, disk, plain, yields=faults), server_actors.servers_in_place(life):
            if faults:
                _chaos(life)
            _calm(life, faults)
            final = _audited(life)
        return Result(seed, world.trace, world.events, world.faults, life.ends, final)
    except Exception as error:
        for actor in list(world.actors):
            world.kill(actor)
        raise LifeFailed(f"seed {seed}: {type(error).__name__}: {error}\n{world.shortened()}") from error
    finally:
        simulated_sqlite.VFS.disk = None
        for each in folder.glob(f"life-{seed}*"):
            shutil.rmtree(each) if each.is_dir() else each.unlink()
        gc.enable()


@contextmanager
def _in_place(world: World, disk: SimulatedDisk, plain: bool, *, yields: bool) -> Iterator[None]:
    """Put the simulated disk, SQLite, clock and keys in the place of the real ones."""
    simulated_sqlite.VFS.disk, simulated_sqlite.VFS.yields = disk, yields
    kind: Any = simulated_sqlite.PlainConnection if plain else simulated_sqlite.SimulatedConnection

    def connect(path: Path, mode: str, timeout: float = 0.0) -> Any:
        return kind(disk, path, mode)

    with ExitStack() as stack:
        for name in set(product_disk.__all__) - {"sync"}:  # which is made of the others
            stack.enter_context(patch.object(product_disk, name, getattr(disk, name)))
        stack.enter_context(patch.object(store_file, "connect", connect))
        stack.enter_context(patch.object(clock, "datetime", world))
        stack.enter_context(patch.object(store_file, "is_mounted_alone", lambda path: False))
        for module in (ledger_module, suite_runs):
            stack.enter_context(patch.object(module, "new_key", lambda: world.chance.randbytes(32)))
        for module in (file_lock, store_file):
            stack.enter_context(patch.object(module, "time", SimulatedTime(world)))
        stack.enter_context(patch.object(bound, "time", SimulatedTime(world, tick=1e-6)))
        for hook in ("excepthook", "unraisablehook"):  # what SQLite swallows
            stack.enter_context(patch.object(sys, hook, lambda *why: None))
        stack.enter_context(patch.object(steps, "watchers", [lambda name: world.step("step", name)]))
        yield


def _chaos(life: Life) -> None:
    """Processes and the owner at work, while calls fail, processes are killed and the machine stops."""
    world, chance = life.world, life.world.chance
    world.fault_rate = chance.choice([0.0, 0.0, 0.003, 0.01, 0.03])
    stops, kills = chance.choice([0.0, 0.003, 0.01]), chance.choice([0.0, 0.01, 0.03])
    end = world.steps + (SERVED_STEPS if life.has_servers else CHAOS_STEPS)
    if chance.random() < 0.7:  # most lives begin with a ledger that was made in peace
        Ledger.create(life.path, life.model.budget / 10**9, append_only=life.append_only).close()
        life.was_made()
        if life.has_analysts:
            analyst_actors.grant_all(life)
        if chance.random() < 0.5:
            _stop(life)
    while world.steps < end:
        _keep_busy(life)
        world.turn()
        _do_what_is_due(life)
        if chance.random() < kills and world.actors:
            actor = chance.choice(world.actors)
            _kill(life, actor)
        if chance.random() < (10 * stops if world.is_critical else stops):
            _stop(life)
        if chance.random() < 0.01:
            world.jump(chance.choice([-30, -1, 1, 13, 24 * 20, 24 * 31]))
    world.fault_rate = 0.0
    if chance.random() < 0.5:
        _stop(life)


def _keep_busy(life: Life) -> None:
    """Start who is missing: the owner at something, processes with runs of their own choice."""
    world, chance = life.world, life.world.chance
    names = {actor.name for actor in world.actors}
    if "owner" not in names:
        world.start("owner", _owner(life))
    for number in range(PROCESSES):
        if f"process {number}" not in names and (life.is_made or chance.random() < 0.02):
            known = _of(life, served=life.has_servers and number > 0)
            run_ids = chance.sample(known, min(len(known), chance.randint(1, 3)))
            if run_ids:
                world.start(f"process {number}", _kind(life, number)(life, run_ids))


def _of(life: Life, *, served: bool) -> list[str]:
    """Runs that a server answers, or those that processes make; all of them where there is no server."""
    runs = sorted(life.model.runs.items())
    return [run_id for run_id, one in runs if not life.has_servers or (one.analyst is not None) == served]


def _kind(life: Life, number: int) -> Callable[[Life, list[str]], Any]:
    """Of the processes all but the first are servers, in lives that have servers."""
    return server_actors.server if life.has_servers and number else ledger_actors.process


def _owner(life: Life) -> Callable[[Any], None]:
    chance = life.world.chance
    if not life.is_made:
        return ledger_actors.make(life)
    if life.has_analysts and chance.random() < 0.7:
        return analyst_actors.rations(life)
    kind = chance.choices(
        ["copy", "raise", "allow", "end allowance", "epoch", "retire", "without its head", "with its head",
         "only its log", "re-arm", "close", "rest"],
        [6, 3, 3, 1, 3, 0.15, 2, 0.7, 1, 6, 3, 12],
    )[0]  # fmt: skip
    if kind == "rest":
        return lambda actor: [life.world.step("owner rests") for _ in range(20)] and None
    if kind in ("re-arm", "close"):
        return suite_actors.rearms(life) if kind == "re-arm" else suite_actors.closes(life)
    if kind == "copy":
        return ledger_actors.copies(life)
    if kind in ("without its head", "with its head", "only its log"):
        return ledger_actors.puts_back(life, kind)
    return ledger_actors.act(life, kind)


def _kill(life: Life, actor: Any) -> None:
    life.world.fault("kill", actor.name)
    life.world.kill(actor)
    life.disk.let_go(actor)
    if actor.name == "owner" and life.newest is not None:
        life.due = ledger_actors.put_newest
        _do_what_is_due(life)


def _do_what_is_due(life: Life) -> None:
    """The owner stops everybody before he puts files back, but for the mistakes that he makes."""
    if life.due is not None:
        _kill_all(life)
        due, life.due = life.due, None
        due(life)


def _kill_all(life: Life) -> None:
    for actor in list(life.world.actors):
        life.world.kill(actor)
        life.disk.let_go(actor)


def _stop(life: Life) -> None:
    """The machine stops: everybody dies, the disk forgets."""
    _kill_all(life)
    life.due = None
    keep = life.disk.stop()
    life.world.fault("machine stops", f"keeps {keep}")
    ledger_actors.put_newest(life)
    model = life.model
    told = [life.generation, *map(len, (model.debited, model.published, model.acts, model.refused, model.levels))]
    if life.audited != told:  # the end looks at all of it again
        _audited(life)
        life.audited = told


def _calm(life: Life, faults: bool) -> None:
    """Nothing fails any more: every run ends."""
    world = life.world
    _finish(life)
    _do_what_is_due(life)
    for _ in range(6):
        if life.is_made:
            break
        world.start("owner", ledger_actors.make(life))
        _finish(life)
    if not life.is_made:
        raise ViolationError("the ledger cannot be made")
    ledger_actors.put_newest(life)
    if faults:
        world.start("owner", ledger_actors.act(life, "epoch"))
        _finish(life)
    life.ends.clear()
    for number in range(PROCESSES):
        run_ids = _of(life, served=life.has_servers and number > 0)
        world.chance.shuffle(run_ids)
        if life.has_servers and number and run_ids:
            run_ids = run_ids if number == 1 else run_ids[:1]
            world.start(f"process {number}", server_actors.server(life, run_ids, until_ended=True))
            continue
        run_ids = run_ids if number == 0 else run_ids[:1]
        world.start(f"process {number}", ledger_actors.process(life, run_ids))
    _finish(life)
    missing = life.model.runs.keys() - life.ends.keys()
    if missing:
        raise ViolationError(f"runs without an end: {sorted(missing)}")


def _finish(life: Life) -> None:
    end = life.world.steps + CALM_STEPS
    while life.world.actors:
        life.world.turn()
        if life.world.steps > end:
            raise ViolationError("somebody does not come to an end")
    for actor in {by for _, _, by in life.disk.opened.values()}:
        life.disk.let_go(actor)


def _audited(life: Life) -> list[object]:
    """Look at the ledger as it is, with nobody else alive."""
    if not life.is_made:
        return []
    with Ledger.open(life.path) as ledger:
        life.model.check(ledger)
        if life.has_servers:
            server_actors.check_audit(life, ledger.lines())
        lines = [(line.run_id, line.epoch, line.charge, line.upper, line.reserved) for line in ledger.lines()]
        final = [*lines, sorted(life.model.published.items()), ledger.spent_units()]
        ended = ended_keys(ledger)
    suite_actors.look_for(life, ended)  # also what a crash has brought back is gone when nobody uses the ledger
    return final


def main() -> None:
    """Print the trace of one seed, or how many lives of a range end well and what happened in them."""
    first, last = int(sys.argv[1]), int(sys.argv[-1])
    with tempfile.TemporaryDirectory() as folder:
        if first == last:
            result = live(first, Path(folder))
            print("\n".join(result.trace), result.digest, result.ends, result.final, sep="\n")
            return
        events: Counter[str] = Counter()
        faults: Counter[str] = Counter()
        for seed in range(first, last + 1):
            result = live(seed, Path(folder))
            events += result.events
            faults += result.faults
        for kind, found in (("events", events), ("faults", faults)):
            print(kind, *(f"  {count:8} {name}" for name, count in sorted(found.items())), sep="\n")


if __name__ == "__main__":
    main()
