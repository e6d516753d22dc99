"""A signal may come between any two steps of the thread that waits for a query: nobody waits for ever then."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from itertools import count
from types import FrameType
from typing import Any

import pytest

from dpdb.database.database import interruptible

ENOUGH = 500
"""Calls of `interrupt`, at least 20 ms apart: after so many nobody ends any more."""


class Query:
    """Takes a moment if nobody stops it."""

    def __init__(self) -> None:
        self.stopped, self.calls = False, 0

    def run(self) -> str:
        for _ in range(5):
            if not self.stopped:
                time.sleep(0.001)
        return "answer"

    def interrupt(self) -> None:
        self.stopped, self.calls = True, self.calls + 1
        assert self.calls < ENOUGH, "the main thread waits for ever"


def test_a_signal_at_any_step_stops_the_query_and_is_raised() -> None:
    for step in count(1):
        query, steps = Query(), [0]

        def trace(frame: FrameType, event: str, _: Any, steps: list[int] = steps, step: int = step) -> Any:
            frame.f_trace_opcodes = True
            steps[0] += event == "opcode"
            if steps[0] == step:
                sys.settrace(None)
                raise KeyboardInterrupt
            return trace

        before = sys.gettrace()
        try:
            sys.settrace(trace)
            answer = interruptible(query, query.run)
        except KeyboardInterrupt:
            pass
        else:
            assert answer == "answer"
            break
        finally:
            sys.settrace(before)
    assert step > 50


def test_a_query_that_forgets_to_stop_is_told_again_and_waited_for() -> None:
    """Until it has ended: it would go on beside the next one, in a connection that takes one at a time.

    Its signal often comes when the main thread is about to wait, and has to be seen all the same.
    """

    class Forgetful(Query):
        ended = False

        def run(self) -> str:
            os.kill(os.getpid(), signal.SIGINT)
            for _ in range(20_000):
                if self.calls >= 3:
                    self.ended = True
                    break
                time.sleep(0.001)
            return "answer"

    query = Forgetful()
    with pytest.raises(KeyboardInterrupt):
        interruptible(query, query.run)
    assert query.ended


def test_a_query_that_had_not_begun_when_the_signal_came_never_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    late: list[Callable[[], None]] = []

    def slow_to_start(run: Callable[[], None], _: tuple[()]) -> None:
        late.append(run)
        raise KeyboardInterrupt

    monkeypatch.setattr("dpdb.database.database.start_new_thread", slow_to_start)
    begun: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        interruptible(Query(), lambda: begun.append(1))
    late[0]()
    assert begun == []
