"""Rates: events and work within any minute, by a clock that tests move."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from server_site import make_site

from dpdb.doors.server import rates, workers
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


# -- the pace of those who use much ----------------------------------------------------------------------------


class Paced:
    """Analysts who use the interpreter, each by a task of his own, on a clock that sleeps move."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.used, self.waited = 1_000.0, Counter[str](), Counter[str]()
        monkeypatch.setattr(workers.time, "monotonic", lambda: self.now)
        self.pace = workers.Pace()

    def run(self, wanted: Mapping[str, tuple[float, float]], seconds: float) -> None:
        """Let each analyst use pieces of some seconds, so many seconds apart (piece, pause)."""

        async def analyst(name: str, piece: float, pause: float) -> None:
            while self.now < end:
                began = self.now
                await self.pace.until(name)
                self.waited[name] += self.now - began
                self.pace.used(name, piece)
                self.used[name] += piece
                await asyncio.sleep(piece + pause)

        async def all_of_them() -> None:
            loop = asyncio.get_running_loop()
            monkeypatched = patch.object(loop, "time", lambda: self.now)
            waiting = patch.object(loop._selector, "select", self._passed)  # type: ignore[attr-defined]
            with monkeypatched, waiting:
                await asyncio.gather(*(analyst(name, *times) for name, times in wanted.items()))

        end = self.now + seconds
        asyncio.run(all_of_them())

    def _passed(self, seconds: float | None) -> list[Any]:
        self.now += seconds or 1e-6
        return []


def test_who_is_alone_never_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    paced = Paced(monkeypatch)
    paced.run({"ann": (0.2, 0.0)}, 60)
    assert paced.waited["ann"] == 0
    assert paced.used["ann"] >= 59


def test_who_uses_much_has_a_quarter_while_lighter_ones_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    for piece in (0.0002, 0.01, 0.3):
        paced = Paced(monkeypatch)
        paced.run({"ann": (piece, 0.0), "bob": (0.005, 0.1), "cat": (0.001, 0.2)}, 60)
        assert 0.2 * 60 < paced.used["ann"] < 0.25 * 60 + 0.5 + 4 * piece, piece
        assert paced.waited["bob"] == paced.waited["cat"] == 0


def test_beside_one_who_uses_far_more_nobody_else_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bob wants more than his part, but far less than ann."""
    paced = Paced(monkeypatch)
    paced.run({"ann": (0.3, 0.0), "bob": (0.03, 0.08), "cat": (0.001, 0.2)}, 10)
    assert paced.waited["ann"] > 5
    assert paced.waited["bob"] == paced.waited["cat"] == 0


def test_two_who_use_much_have_a_quarter_each(monkeypatch: pytest.MonkeyPatch) -> None:
    paced = Paced(monkeypatch)
    paced.run({"ann": (0.02, 0.0), "bob": (0.02, 0.0), "cat": (0.001, 0.2)}, 60)
    for name in ("ann", "bob"):
        assert 0.2 * 60 < paced.used[name] < 0.25 * 60 + 1.5
    assert paced.waited["cat"] == 0


def test_what_is_used_is_counted_where_it_is_used() -> None:
    def work() -> int:
        began = time.thread_time()
        while time.thread_time() - began < 0.05:
            pass
        return 7

    async def used() -> float:
        pace = workers.Pace()
        made = workers.Workers(pace)
        full = pace._seconds_left("ann")
        assert await made.run("ann", work) == 7
        await made.run("bob", time.sleep, 0.1)  # waiting uses nothing
        await asyncio.sleep(0.01)
        assert full - pace._seconds_left("bob") < 0.02
        found = full - pace._seconds_left("ann")
        made.close()
        return found

    assert 0.01 < asyncio.run(used()) < 0.06
