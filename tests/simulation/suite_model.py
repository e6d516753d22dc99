"""What must hold of suites in a ledger: one debit and one secret each, levels recorded once, settled at their cost."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from inside import file_of, state_of
from simulated_world import require

REARM_UNITS = 10**8


class Ended(NamedTuple):
    """What a debit was settled at, and where that line stands."""

    charge: int
    place: int


def key_of(entry: Any) -> str:
    """The run id of a debit, or what stands for it in a kept suite."""
    if entry.run_id is not None:
        return str(entry.run_id)
    asked = json.loads(entry.request)
    return asked["suite"] if "rearm" not in asked else f"{asked['suite']} {entry.number}"


def is_rearming(entry: Any) -> bool:
    return entry.run_id is None and "rearm" in json.loads(entry.request)


def check_suites(model: Any, ledger: Any, settled: dict[str, Ended]) -> None:
    """Compare the suites of a ledger with what the actors were told."""
    entries, suites = ledger.lines(), ledger.suites()
    keys = [key_of(entry) for entry in entries]
    told: dict[tuple[str, str, int], str] = {}
    for suite in suites:
        key = suite.name or suite.run_id
        levels = ledger.suite_levels(suite.number)
        told |= {(key, one.run_id, one.level): one.answer for one in levels}
        cost = sum(json.loads(one.answer)["cost"] for one in levels if one.level)
        paid = [n for n, entry in enumerate(entries) if keys[n] == key or is_rearming_of(entry, key)]
        ends = [settled.get(keys[n]) for n in paid]
        held = [json.loads(answer) for answer in (state_of(ledger).answer(entries[n].number) for n in paid) if answer]
        is_closed = suite.ended is not None
        require(
            all((end is not None) == is_closed for end in ends), f"{key}: settled while it is open, or not at its end"
        )
        require(not is_closed or sum(end.charge for end in ends) == cost, f"{key}: not settled at what its levels cost")
        require(suite.spent == cost <= suite.reserved, f"{key}: costs more than was debited, or other than its levels")
        require(len(held) == len(paid) - (not is_closed), f"{key}: answered while it is open, or not at its end")
        rows = file_of(ledger).rows("SELECT salt, secret FROM suite_secret WHERE suite = ?", (suite.number,))
        is_over = is_closed or ledger.summary().retired is not None
        require((rows == [(None, None)]) == is_over, f"{key}: its secret is lost, or kept after its end")
        require(model.rearmed.get(key, 0) <= len(suite.rearmed), f"{key}: a re-armed check is lost")
        if not is_over and key in model.secrets:
            require(rows[0][1] == model.secrets[key], f"{key} has two secrets")
    require(len({suite.name for suite in suites if suite.name}) == sum(suite.name is not None for suite in suites),
            "two suites have one name")  # fmt: skip
    require(model.levels.items() <= told.items(), "a level was shown, and is not recorded so")
    shown = repr((ledger.history(), suites, ledger.answers(), ledger.acts(), told))
    require("<secret" not in shown, "a reading shows a secret")


def is_rearming_of(entry: Any, key: str) -> bool:
    return is_rearming(entry) and json.loads(entry.request)["suite"] == key


def ended_keys(ledger: Any) -> list[str]:
    """The suites whose secret must be gone: closed ones, and all of a retired ledger."""
    retired = ledger.summary().retired is not None
    return [suite.name or suite.run_id for suite in ledger.suites() if retired or suite.ended is not None]
