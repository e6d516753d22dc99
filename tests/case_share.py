"""A fifth of the cases of heavy tests: which one hangs on the commit, so that over commits all of them run.

`pytest --cases all` runs every case (`.ci/full`), `--cases 0` to `--cases 4` that fifth. What runs is printed first.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import pytest

__all__ = ["CHOICES", "choose", "fifth", "of_all"]

OF = 5
CHOICES = ("commit", "all", *map(str, range(OF)))
WITHOUT_GIT = "0" * 40

Case = TypeVar("Case")
_chosen = list(range(OF))  # which fifths run


def _commit() -> str:
    """Return the hash of HEAD; zeros where there is no git or no repository."""
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--verify", "-q", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return WITHOUT_GIT
    return done.stdout.strip() if done.returncode == 0 else WITHOUT_GIT


def choose(config: pytest.Config) -> str:
    """Choose the cases that the option `--cases` names; return what is printed about them."""
    asked, why = config.getoption("--cases"), "--cases"
    if asked == "commit":
        found = _commit()
        asked, why = str(int(found, 16) % OF), f"commit {found[:12]}"
        config.option.cases = asked  # so that workers of xdist take the same
    _chosen[:] = range(OF) if asked == "all" else [int(asked)]
    what = "all cases" if asked == "all" else f"fifth {asked} (of 0 to {OF - 1}) of their cases, more with --cases all"
    return f"heavy tests take {what}; chosen by {why}"


def fifth(cases: Sequence[Case]) -> list[Case]:
    """Return every fifth case from the chosen one on, at least one; under `--cases all` all."""
    found = [case for position, case in enumerate(cases) if position % OF in _chosen]
    return found or [cases[_chosen[0] % len(cases)]]


def of_all(number: int) -> int:
    """Return what part of a number that holds for all cases is asked of those that run."""
    return number * len(_chosen) // OF
