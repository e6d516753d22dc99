"""Releases and verdicts as commands print them: a table with notes below it, in detail, or as one JSON document."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from dpdb.names import aligned, listed_names, short_names
from dpdb.release import (
    KEYS,
    PER_ROW,
    SHARE,
    VERDICT,
    Release,
    alone_words,
    measured_words,
    missing_words,
    number_words,
    population_of,
    promise_words,
    releases_words,
    sentence,
    sure_words,
    too_noisy_words,
    value_words,
    verdict_words,
    words_of,
    would_do_words,
)

if TYPE_CHECKING:
    from dpdb.suites import CheckResults, CheckRun, SuitePlan

_RULE = "rule"


def releases_text(releases: Sequence[Release], output: str, verbose: bool = False) -> str:
    """Return the releases of one call as one JSON document or in words.

    Parameters
    ----------
    releases
        None only of a long list of keys, none of whose counts is above the threshold.
    output
        ``"json"``, or anything else for words.
    verbose
        Whether the words have every detail, instead of a table with notes.
    """
    if output == "json":
        return json.dumps({"releases": [release.to_dict() for release in releases]}, indent=2) + "\n"
    if not releases:
        return "no key is listed\n"
    if verbose:
        return f"{releases_words(releases)}\n"
    return "\n".join([*_table(releases), *_notes(releases)]) + "\n"


def _table(releases: Sequence[Release]) -> Iterator[str]:
    """Align the columns; the last one has the rules, which may be long."""
    heads = ("measure", "value", f"bounds ({sure_words(releases[0].confidence)})", "meaning", "cost", _RULE)
    rows = [heads, *map(_cells, releases)]
    by_rule = releases[0].constraint is not None and releases[0].quantity != KEYS
    return aligned(rows if by_rule else [row[:-1] for row in rows], "lrl")


def _cells(release: Release) -> tuple[str, ...]:
    lower = number_words(release.lower, release.quantity)
    upper = None if release.upper is None else number_words(release.upper, release.quantity)
    bounds = f"at least {lower}" if upper is None else f"{lower} to {upper}"
    return (
        measured_words(release, constraint=release.quantity == KEYS, population=False),  # which the meaning has
        value_words(release),
        ((release.quantity == VERDICT and verdict_words(release)) or bounds) + (" *" if release.theta_limits else ""),
        _meaning(release),
        _cost(release),
        release.shown_constraint or "",
    )


def _meaning(release: Release) -> str:
    if noisy := too_noisy_words(release):
        rows = population_of(release)
        return noisy if rows is None else f"{noisy} ({rows})"
    short = words_of(release).short
    return {SHARE: f"share of {short}", PER_ROW: f"{short}, per row"}.get(release.quantity, short)


def _cost(release: Release) -> str:
    if release.epsilon == 0:
        return "no more"  # one number with the release before it
    return f"rho {release.rho:g}" if release.epsilon is None else f"epsilon {release.epsilon:g}"


def _notes(releases: Sequence[Release]) -> Iterator[str]:
    """Give each note on rows of the table once, and the guarantee of all releases."""
    if any(release.upper is None for release in releases):
        yield "No upper end: the true number may be larger (examples/manual/mechanisms.md says why)."
    for missing in dict.fromkeys(filter(None, map(missing_words, releases))):  # one call has one source of thetas
        yield f"* {sentence(missing)}"
    for release in releases:
        if would_do := would_do_words(release):
            yield f"Too noisy: {measured_words(release)}; {would_do}."
    if alone := alone_words(releases):
        yield sentence(alone)
    if len({release.constraint for release in releases if release.quantity != KEYS} - {None}) >= _MANY:
        yield (
            "Of many rules `dpdb check SOURCE SUITE --sizes` gives numbers in one draw, in which a row counts in at "
            "most k of those on single rows."
        )
    yield f"Guarantee: {promise_words(releases[0].guarantee)}; it covers all that is shown."


_MANY = 4
"""From so many rules on numbers of each of them are better drawn together."""

_HEADS = ("verdict", "check", "how many", "limit")
_LONGEST_NAME = 60


def checks_text(results: CheckResults, plan: SuitePlan | None = None) -> str:
    """Return one line a check, in the order of the file, and what holds for all of them.

    With the suite's plan also what would test to the end what was not.
    """
    return "\n".join([*_verdict_table(results), *_verdict_notes(results, plan)]) + "\n"


def tables_text(found: Mapping[str, CheckResults]) -> str:
    """Return one line a check of several tables, each behind its table's name, and what holds for each table."""
    from dpdb.suites import cost_words, counts_words

    checks = tuple(
        replace(check, name=f"{table}: {check.name}") for table, results in found.items() for check in results
    )
    first = next(iter(found.values()))
    lines = [*_verdict_table(replace(first, checks=checks)), f"{counts_words(checks)}."]
    for table, results in found.items():
        cost = f"Cost: {cost_words(results.to_dict())}. " if results.epsilon_reserved or results.rho_reserved else ""
        lines.append(f"{table}: {results.certainty} {cost}Guarantee: {results.guarantee}.")
    return "\n".join(lines) + "\n"


def _verdict_table(results: CheckResults) -> Iterator[str]:
    from dpdb.suites import spoken

    slices = any(check.key is not None for check in results.checks)
    heads = (*_HEADS[:2], *(["slice"] if slices else []), *_HEADS[2:])
    short = short_names([check.name for check in results.checks], _LONGEST_NAME)
    rows = [
        (words["verdict"], short[check.name], *([str(check.key)] if slices else []), words["how_many"], words["limit"])
        for check, words in zip(results.checks, spoken(results.checks), strict=True)
    ]
    return aligned([heads, *rows])


def _verdict_notes(results: CheckResults, plan: SuitePlan | None) -> Iterator[str]:
    from dpdb.constraints import SCHEMA
    from dpdb.suites import (
        SCHEMA_WORDS,
        WHERE_IT_IS,
        capped_words,
        cost_words,
        counts_words,
        deciding_words,
        kept_words,
        not_shown_words,
        populations,
        undecided_words,
    )

    yield f"{counts_words(results)}. {results.certainty}"
    decides = None if plan is None else deciding_words(plan, results)
    yield from filter(None, (not_shown_words(results), undecided_words(results), decides))
    yield from populations(check.population for check in results.checks)
    yield from capped_words(results.to_dict())
    if any(check.verdict == "fail" and check.statistic != SCHEMA for check in results.checks):
        yield WHERE_IT_IS
    if any(check.statistic == SCHEMA for check in results.checks):
        yield SCHEMA_WORDS
    said = results.to_dict()
    if results.name is not None:
        yield f"{kept_words(said)}."
    else:
        of = "epsilon" if results.rho is None else "rho"
        back = "; the rest was not needed" if said[of] < said[f"{of}_reserved"] else ""
        yield f"Cost: {cost_words(said)}{back}."
    yield f"Guarantee: {results.guarantee}."


def also_charged_words(names: Sequence[str], what: str, then: str) -> str:
    """Say which other ledgers pay for an answer that looks into private tables."""
    whose = listed_names(names)
    return f"the ledger{'s' * (len(names) > 1)} of {whose} pay{'s' * (len(names) == 1)} what {what}, too, {then}"


def plan_text(prepared: CheckRun, margin: int | None = None) -> str:
    """Return what a suite will be able to tell apart; public, nothing is read or spent."""
    from dpdb.suites import (
        BoughtRun,
        SizesRun,
        WorstRun,
        bought_words,
        plan_words,
        populations,
        sizes_words,
        worst_words,
    )

    of_rows = populations(each.population for each in prepared.counted.limits)
    if isinstance(prepared, SizesRun):
        words = sizes_words(prepared)
    elif isinstance(prepared, WorstRun):
        words = worst_words(prepared)
    else:
        words = bought_words(prepared) if isinstance(prepared, BoughtRun) else plan_words(prepared.plan, margin)
        words += filter(None, [prepared.why_no_numbers])
    if prepared.counted.also_charged:
        words.append(also_charged_words(prepared.counted.also_charged, "this suite reserves", "settled with its own"))
    return "\n".join([*words, *of_rows, "nothing was spent"]) + "\n"
