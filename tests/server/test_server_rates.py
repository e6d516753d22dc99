"""Rates: events and work within any minute, by a clock that tests move."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from pathlib import Path
from typing import Any

import pytest
from server_site import make_site

from dpdb.doors.server import rates
from dpdb.doors.server.analysts import Analyst
from dpdb.doors.server.configuration import load_configuration
from dpdb.doors.server.desk import Desk
from dpdb.doors.server.exchange import Asker, RefusedError
from dpdb.doors.server.rates import PerMinute


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1_000.0
        monkeypatch.setattr(rates.time, "monotonic", lambda: self.now)


def test_events_and_work_are_counted_within_any_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, drawn = Clock(monkeypatch), random.Random(7)
    rate, done = PerMinute(100), {"ann": [], "bob": []}
    refused = 0
    for _ in range(5_000):
        clock.now += drawn.expovariate(1)
        name, work = drawn.choice([*done]), drawn.choice((1, 1, 5, 40, 101))
        within = sum(amount for at, amount in done[name] if at > clock.now - 60)
        allowed = rate.allows(name, work)
        assert allowed == (within + work <= 100)
        done[name] += [(clock.now, work)] * allowed
        refused += not allowed
    assert 0 < refused < 5_000


def test_work_that_is_known_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    rate = PerMinute(30)
    for _ in range(3):
        assert rate.allows("ann", 0)
        rate.add("ann", 12)
    assert not rate.allows("ann", 0)
    assert rate.allows("bob", 0)
    clock.now += 61
    assert rate.allows("ann", 0)


@pytest.mark.heavy(family="long")
def test_many_refusals_of_one_keep_no_other_waiting_for_the_audit(tmp_path: Path) -> None:
    """Of sixty statements of one, refused or not, at most one line waits at a time; another's comes next."""
    site = make_site(tmp_path, analysts={"ann": {}, "bob": {}})
    desk = Desk(load_configuration(site.config))
    lines, begin = list[str](), desk.audit.begin

    def slow(who: str, *more: Any, **named: Any) -> int:
        lines.append(who)
        time.sleep(0.01)
        return begin(who, *more, **named)

    desk.audit.begin = slow  # type: ignore[method-assign]

    async def asked() -> None:
        async def ask(name: str) -> None:
            with contextlib.suppress(RefusedError):
                await desk.run(Asker(Analyst(name, "analyst"), "test", "here"), "SELECT 1")

        tasks = [asyncio.create_task(ask("ann")) for _ in range(60)]
        await asyncio.sleep(0.05)
        before = len(lines)
        tasks.append(asyncio.create_task(ask("bob")))
        await asyncio.gather(*tasks)
        assert lines.index("bob") - before <= 2

    try:
        asyncio.run(asked())
    finally:
        desk.close()
    assert lines.count("ann") == 60
