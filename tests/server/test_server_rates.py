"""Rates: events and work within any minute, by a clock that tests move."""

from __future__ import annotations

import random

import pytest

from dpdb.doors.server import rates
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
