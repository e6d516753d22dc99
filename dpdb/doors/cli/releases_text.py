"""Releases as commands print them: one JSON document, one table with notes below it, or in detail."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from dpdb.release import (
    SHARE,
    Release,
    is_within_noise,
    measured_words,
    missing_words,
    number_words,
    promise_words,
    releases_words,
    sure_words,
    value_words,
    words_of,
)

__all__ = ["releases_text"]

_RULE = "rule"


def releases_text(releases: Sequence[Release], output: str, verbose: bool = False) -> str:
    """Return the releases of one call as one JSON document or in words.

    Parameters
    ----------
    releases
        At least one release.
    output
        ``"json"``, or anything else for words.
    verbose
        Whether the words have every detail, instead of a table with notes.
    """
    if output == "json":
        return json.dumps({"releases": [release.to_dict() for release in releases]}, indent=2) + "\n"
    if verbose:
        return f"{releases_words(releases)}\n"
    return "\n".join([*_table(releases), *_notes(releases)]) + "\n"


def _table(releases: Sequence[Release]) -> Iterator[str]:
    """Align the columns; the last one has the rules, which may be long."""
    by_rule = releases[0].constraint is not None
    heads = ("measure", "value", f"bounds ({sure_words(releases[0].confidence)})", "meaning", "cost", _RULE)
    rows = [heads, *map(_cells, releases)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for measure, value, *others, rule in rows:
        cells = [measure.ljust(widths[0]), value.rjust(widths[1])]
        cells += [cell.ljust(width) for cell, width in zip(others, widths[2:-1], strict=True)]
        yield "  ".join([*cells, *([rule] if by_rule else [])]).rstrip()


def _cells(release: Release) -> tuple[str, ...]:
    lower = number_words(release.lower, release.quantity)
    upper = None if release.upper is None else number_words(release.upper, release.quantity)
    return (
        measured_words(release, constraint=False),
        value_words(release),
        (f"at least {lower}" if upper is None else f"{lower} to {upper}") + (" *" if release.theta_limits else ""),
        _meaning(release),
        _cost(release),
        release.shown_constraint or "",
    )


def _meaning(release: Release) -> str:
    if is_within_noise(release):
        return "perhaps nothing but noise"
    short = words_of(release).short
    return f"share of {short}" if release.quantity == SHARE else short


def _cost(release: Release) -> str:
    if release.epsilon == 0:
        return "no more"  # one number with the release before it
    return f"rho {release.rho:g}" if release.epsilon is None else f"epsilon {release.epsilon:g}"


def _notes(releases: Sequence[Release]) -> Iterator[str]:
    """Give each note on rows of the table once, and the guarantee of all releases."""
    if any(release.upper is None for release in releases):
        yield "No upper end: the true number may be larger (examples/manual/mechanisms.md says why)."
    for missing in dict.fromkeys(filter(None, map(missing_words, releases))):  # one call has one source of thetas
        yield f"* {missing[0].upper()}{missing[1:]}."
    yield f"Guarantee: {promise_words(releases[0].guarantee)}; it covers all that is shown."
