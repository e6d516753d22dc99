"""Releases and exact values in words."""

from __future__ import annotations

from dpdb.release import Release

__all__ = ["amount", "in_words", "named", "noise"]

_MEANING = {
    "minimal_inconsistency": "about {value} pairs of rows (or rows on their own) break a rule",
    "problematic": "about {value} rows are involved in a conflict",
    "repair": "at least about {value} rows must go before the table is consistent",
    "count": "there are about {value} rows",
}
_RATE_MEANING = {
    "problematic": "about {value} of the rows are involved in a conflict",
    "repair": "at least about {value} of the rows must go before the table is consistent",
}
_GREEDY = "a cover of about {value} rows removes all conflicts; half of them may be needed"
_GREEDY_RATE = "a cover of about {value} of the rows removes all conflicts; half of them may be needed"


def in_words(release: Release) -> str:
    """Say what one release means, with its bounds, cost and noise."""
    rate = release.quantity == "share of rows"
    meaning = (_RATE_MEANING if rate else _MEANING)[release.measure]
    if release.mechanism == "greedy":
        meaning = _GREEDY_RATE if rate else _GREEDY
    if release.noise_scale > release.value:
        meaning = "too small to tell apart from the noise at this epsilon"
    cost = f"epsilon {release.epsilon:g}" if release.epsilon is not None else f"rho {release.rho:g}"
    upper = "no upper bound" if release.upper is None else f"at most {amount(release, release.upper)}"
    lines = [
        f"{named(release)} = {amount(release, release.value)}{' of rows' if rate else ''}",
        f"  meaning   {meaning.format(value=amount(release, release.value))}",
        f"  bounds    at least {amount(release, release.lower)}, {upper} ({release.confidence:.0%} sure)",
        f"  estimates {release.estimand}",
        f"  cost      {cost} ({release.mechanism}, noise scale {noise(release)})",
    ]
    if release.upper_reason is not None:
        lines.insert(3, f"  no upper  {release.upper_reason}")
    if release.theta is not None:
        lines.insert(-1, f"  theta     {_theta(release)}")
    return "\n".join(lines)


def _theta(release: Release) -> str:
    """Say what theta is, where it comes from, and between which numbers the count at this theta lies."""
    from_where = "" if release.theta_from is None else f" ({release.theta_from})"
    words = f"{release.theta:,}{from_where}"
    if release.estimate_lower is None or release.estimate_upper is None:
        return f"{words}; no interval at this theta: {release.estimate_reason}" if release.estimate_reason else words
    low, high = amount(release, release.estimate_lower), amount(release, release.estimate_upper)
    what = "share" if release.quantity == "share of rows" else "count"
    return f"{words}; at this theta the {what} lies between {low} and {high} ({release.confidence:.0%} sure)"


def named(release: Release) -> str:
    """Name what was measured, and where."""
    return f"{release.measure} where {release.where}" if release.where else release.measure


def amount(release: Release, value: float) -> str:
    """Write a value or a bound of a release: a share as a percentage."""
    return f"{value:.3%}" if release.quantity == "share of rows" else f"{value:,}"


def noise(release: Release) -> str:
    """Write the noise scale of a release, in the same units."""
    return f"{release.noise_scale:.3%}" if release.quantity == "share of rows" else f"{release.noise_scale:.4g}"
