"""A clock that a test sets: what a ledger takes for the machine's."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from dpdb.ledger.store import clock

__all__ = ["START", "MovingClock"]

START = datetime(2026, 11, 22, 12, tzinfo=UTC)


class MovingClock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.time = START
        monkeypatch.setattr(clock, "datetime", self)

    fromisoformat = staticmethod(datetime.fromisoformat)

    def now(self, zone: object) -> datetime:
        assert zone is UTC
        return self.time

    def set(self, **after_start: float) -> None:
        self.time = START + timedelta(**after_start)
