"""Analysts in a simulated life, as server processes let them ask: the owner rations and revokes them meanwhile."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import server_actors
from inside import file_of
from ledger_actors import UNIT, Life
from ledger_model import Line, Run, fits
from simulated_world import Actor, require

from dpdb.errors import LedgerError
from dpdb.ledger import Ledger

__all__ = ["NAMES", "assigned", "check_rights", "fits_rights", "grant_all", "rations"]

NAMES = ("ann", "bob")
_TOKEN = hashlib.sha256(b"token").hexdigest()
_LINES = "SELECT place, name, quota, credentials, expires, approved_by FROM analyst ORDER BY number"


def assigned(runs: dict[str, Run], seed: int) -> dict[str, Run]:
    """Let analysts ask for most runs; a kept suite is its owner's."""
    chance = random.Random(f"analysts {seed}")
    return {
        run_id: run if run.suite else run._replace(analyst=chance.choice([None, *NAMES, *NAMES]))
        for run_id, run in runs.items()
    }


def grant_all(life: Life) -> None:
    """The owner gives every analyst a quota, in peace."""
    with Ledger.open(life.path) as ledger:
        for name in NAMES:
            token = f"first of {name}" if life.has_servers else None
            quota = life.world.chance.randint(1, 8) * UNIT / 10**9
            ledger.rights.grant(name, _digest(token), quota=quota, approved_by=name)
            if token is not None:
                server_actors.granted(life, name, token)


def _digest(token: str | None) -> str:
    return _TOKEN if token is None else server_actors.digest_of(token)


def rations(life: Life) -> Any:
    """The owner gives an analyst a quota, changes it or withdraws his access."""
    chance = life.world.chance
    kind = chance.choice(["grant", "grant", "ration", "revoke"])
    name, quota = chance.choice(NAMES), chance.randint(1, 8) * UNIT / 10**9
    label = f"rights {chance.randrange(10**9)}"
    token = label if life.has_servers else None
    expires = server_actors.expiry(life) if life.has_servers and chance.random() < 0.7 else None

    def work(actor: Actor) -> None:
        generation, began = life.generation, life.world.steps
        try:
            with Ledger.open(life.path) as ledger:
                if kind == "grant":
                    ledger.rights.grant(name, _digest(token), quota=quota, expires=expires, approved_by=label)
                elif kind == "ration":
                    ledger.rights.ration(name, quota, None, approved_by=label)
                else:
                    ledger.rights.revoke(name, approved_by=label)
            if generation == life.generation:
                life.model.rights.add(label)
                if life.has_servers and kind != "ration":
                    server_actors.granted(life, name, label if kind == "grant" else "")
                life.head_moves.append((began, life.world.steps))
            life.world.events[f"owner: {kind}"] += 1
        except LedgerError as error:
            if "no analyst" not in str(error) or actor.dead:
                life.expected(actor, error)

    return work


def check_rights(told: set[str], ledger: Any, entries: Sequence[Any], lines: Sequence[Sequence[Line]]) -> None:
    """Compare what analysts were debited with their rights at that time; `lines` are those up to each entry."""
    rows = file_of(ledger).rows(_LINES)
    require(told <= {row[-1] for row in rows}, "an act of the owner on an analyst is lost")
    for entry, upto in zip(entries, lines, strict=True):
        *before, line = upto
        require(entry.analyst == line.run.analyst, "debited to another analyst")
        require(fits_rights(rows, entry.place, before, line), f"{entry.run_id}: above a quota, or after a revocation")


def fits_rights(rows: Sequence[Any], place: int, before: Sequence[Line], new: Line) -> bool:
    """Whether an analyst's rights before a place allow a line after those before it."""
    of_name = [row for row in rows if row[1] == new.run.analyst and row[0] < place]
    if not of_name:
        return True
    _, _, quota, credentials, expires, _ = of_name[-1]
    if expires is not None and max(line.at for line in [*before, new]) >= datetime.fromisoformat(expires):
        return False
    own = [line for line in before if line.run.analyst == new.run.analyst]
    return credentials is not None and (quota is None or fits(own, new, quota, {}))
