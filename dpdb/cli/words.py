"""Releases and exact values in words."""

from __future__ import annotations

from dpdb.session import Release

__all__ = ["in_words"]

_MEANING = {
    "minimal_inconsistency": "about {value} pairs of rows (or rows on their own) break a rule",
    "problematic": "about {value} rows are involved in a conflict",
    "repair": "at least about {value} rows must go before the table is consistent",
    "count": "about {value} rows",
}


def in_words(release: Release) -> str:
    """Say what one release means, with its bounds, cost and noise."""
    meaning = _MEANING[release.measure].format(value=_number(release.value))
    if release.mechanism == "greedy":
        meaning = f"a cover of about {_number(release.value)} rows removes all conflicts; half of them may be needed"
    where = f" where {release.where}" if release.where else ""
    upper = "no upper bound" if release.upper is None else f"at most {_number(release.upper)}"
    if release.noise_scale > release.value:
        meaning = "too small to tell apart from the noise at this epsilon"
    lines = [
        f"{release.measure}{where} = {_number(release.value)}",
        f"  meaning   {meaning}",
        f"  bounds    at least {_number(release.lower)}, {upper} ({release.confidence:.0%} sure)",
        f"  estimates {release.estimand}",
        f"  cost      epsilon {release.epsilon:g} ({release.mechanism}, noise scale {release.noise_scale:.4g})",
    ]
    return "\n".join(lines)


def _number(value: float) -> str:
    return f"{value:,}"
