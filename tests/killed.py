"""Kills within this process: a block ends at a step, as if the process were gone there, and nothing behind it runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from dpdb import stopping


class Killed(BaseException):
    """No `except Exception` takes it, as none takes a kill."""


@contextmanager
def killed_at(step: str, passed: int = 0) -> Iterator[None]:
    """Run a block that dies at a step, after it has passed that so many times; it fails if the block lives."""
    left = passed

    def reached(name: str) -> None:
        nonlocal left
        if name == step:
            left -= 1
            if left < 0:
                raise Killed(step)

    stopping.watchers.append(reached)
    try:
        with pytest.raises(Killed):
            yield
    finally:
        stopping.watchers.remove(reached)
