"""Progress: the names of long steps, never a number, because how long a step takes or how much it found is private."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

__all__ = ["Progress", "no_progress"]

Progress: TypeAlias = Callable[[str], None]


def no_progress(step: str) -> None:
    """Report nothing."""
    del step
