"""A breakdown by constraint as text: one table per slice and measure."""

from __future__ import annotations

from collections.abc import Sequence

from dpdb.doors.cli.words import amount, named, noise
from dpdb.release import Release

__all__ = ["breakdown_tables"]

_HEAD = ("value", "at least", "at most", "noise scale", "constraint")


def breakdown_tables(releases: Sequence[Release]) -> str:
    """Return the tables, in the order in which their first releases come; a row per constraint."""
    tables: dict[str, list[Release]] = {}
    for release in releases:
        tables.setdefault(named(release), []).append(release)
    return "\n".join(_table(name, rows) for name, rows in tables.items())


def _table(name: str, releases: Sequence[Release]) -> str:
    first = releases[0]
    rows = [_HEAD, *map(_row, releases)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [f"{name}, {first.quantity}, by constraint (each bound {first.confidence:.0%} sure)"]
    for *numbers, constraint in rows:
        cells = [cell.rjust(width) for cell, width in zip(numbers, widths, strict=False)]
        lines.append("  " + "  ".join([*cells, constraint]))
    reasons = dict.fromkeys(release.upper_reason for release in releases if release.upper_reason)
    return "\n".join([*lines, *(f"  no upper bound: {reason}" for reason in reasons)])


def _row(release: Release) -> tuple[str, ...]:
    upper = "-" if release.upper is None else amount(release, release.upper)
    value, lower = amount(release, release.value), amount(release, release.lower)
    assert release.constraint is not None, "a breakdown names its constraints"
    return value, lower, upper, noise(release), release.constraint
