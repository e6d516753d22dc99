"""A tenth of the cases of heavy tests: which one hangs on the commit, so that over commits all of them run.

`pytest --cases all` runs every case (`.ci/full`), `--cases 0` to `--cases 19` that twentieth, and that tenth and fifth
(the number's rest). What runs is printed first, how many cases wait for `--cases all` at the end.

Lists of cases inside a test go through `fifth` or `twentieth`. A parametrized test is marked `heavy`, or
`heavy(of=20)`: its cases are dealt out in an order that mixes the parameters, and at least one of them runs. Tests of
one file marked `heavy(family="...")` with one name are cases of one family: those about what is spent are "spending",
those about what others may know "privacy", so that one of each runs. Tests that take long are "long", one family over
all files of a folder ("alone": over all folders), so that a tenth of them runs. Of the files whose tests start Spark
one runs these, which is printed at the end.
"""

from __future__ import annotations

import subprocess
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar
from zlib import crc32

import pytest
from hypothesis import seed, settings

__all__ = ["CHOICES", "choose", "examples", "fifth", "file_of_spark", "leave_out", "of_all", "twentieth"]

FIFTH = 5
TENTH = 10
"""What runs of parametrized tests and families marked `heavy`."""
TWENTIETH = 20
ALONE = "alone"
"""The family of long tests that is one over all files."""
LONG = "long"
"""The family of long tests that is one over the files of a folder."""
CHOICES = ("commit", "all", *map(str, range(TWENTIETH)))
WITHOUT_GIT = "0" * 40

Case = TypeVar("Case")
_chosen: list[int | None] = [None]  # which twentieth runs; all of them without one


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
        asked, why = str(int(found, 16) % TWENTIETH), f"commit {found[:12]}"
        config.option.cases = asked  # so that workers of xdist take the same
    _chosen[0] = None if asked == "all" else int(asked)
    if asked == "all":
        return f"heavy tests take all cases; chosen by {why}"
    number = int(asked)
    parts = f"fifth {number % FIFTH}, tenth {number % TENTH} or twentieth {number} (each from 0)"
    return f"heavy tests take {parts} of their cases, more with --cases all; chosen by {why}"


def _share(cases: Sequence[Case], of: int, first: int = 0) -> list[Case]:
    if _chosen[0] is None:
        return list(cases)
    chosen = (_chosen[0] + first) % of
    return list(cases[chosen::of]) or [cases[chosen % len(cases)]]


def fifth(cases: Sequence[Case]) -> list[Case]:
    """Return every fifth case from the chosen one on, at least one; under `--cases all` all."""
    return _share(cases, FIFTH)


def twentieth(cases: Sequence[Case]) -> list[Case]:
    """Return every twentieth case from the chosen one on, at least one; under `--cases all` all."""
    return _share(cases, TWENTIETH)


def of_all(number: int) -> int:
    """Return what part of a number that holds for all cases is asked of a fifth of them."""
    return number if _chosen[0] is None else number // FIFTH


def examples(number: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorate a test of hypothesis: a fifth of so many examples, drawn from a seed that hangs on the commit."""

    def decorated(test: Callable[..., None]) -> Callable[..., None]:
        return seed(_chosen[0] or 0)(settings(max_examples=of_all(number), deadline=None)(test))

    return decorated


def with_spark(item: pytest.Item) -> bool:
    """Return whether a test of remote tables starts Spark, as it asks for it or as a parameter of it says so."""
    if not item.nodeid.startswith("tests/remote/"):
        return False
    cases = getattr(item, "callspec", None)
    given = [] if cases is None else [value for value in cases.params.values() if isinstance(value, str)]
    return "spark" in (*getattr(item, "fixturenames", ()), *given)


def file_of_spark(items: Sequence[pytest.Item]) -> str | None:
    """Return the one file of the tests whose tests of Spark run; nothing, if all of them do."""
    files = sorted({item.nodeid.partition("::")[0] for item in items if with_spark(item)})
    return None if _chosen[0] is None or not files else files[_chosen[0] % len(files)]


def _of_other_files(items: Sequence[pytest.Item]) -> set[pytest.Item]:
    file = file_of_spark(items)
    return {item for item in items if file and with_spark(item) and item.nodeid.partition("::")[0] != file}


def leave_out(items: list[pytest.Item]) -> list[pytest.Item]:
    """Take the cases of tests marked `heavy` that do not run out of `items`, and return them."""
    families = defaultdict(list)
    for item in items:
        if marker := item.get_closest_marker("heavy"):
            file, _, test = item.nodeid.partition("[")[0].partition("::")
            family, of = marker.kwargs.get("family", test), marker.kwargs.get("of", TENTH)
            home = {ALONE: "", LONG: str(Path(file).parent)}.get(family, file)
            name = f"{home}::{family}"
            families[name, of].append(item)
    left = _of_other_files(items)
    for (name, of), cases in families.items():
        mixed = sorted(cases, key=lambda case: (crc32(case.nodeid.encode()), case.nodeid))
        left |= set(cases) - set(_share(mixed, of, crc32(name.encode())))
    found = [item for item in items if item in left]
    items[:] = [item for item in items if item not in left]
    return found
