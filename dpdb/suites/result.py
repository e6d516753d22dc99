"""`CheckResult`: the verdict of one limit of one check; verdicts in words, as every entry point says them, and as HTML.

Words also say how sure the verdicts of a run are. HTML is for notebooks: escaped, no script, nothing loaded; a colour
never says more than its words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, floor
from typing import Any, Literal

from dpdb.constraints import OF_KEYS, SCHEMA
from dpdb.names import in_html
from dpdb.release import population_words


@dataclass(frozen=True)
class CheckResult:
    """The verdict of one limit of one check. Public.

    Attributes
    ----------
    name, rule : str
        Of the check, as its file names and writes it.
    verdict : str
        ``pass``, ``fail``, ``not shown`` (to be within its limit: a pass whose bound is beyond what was asked), or
        ``undecided`` where epsilon did not suffice for any test (with certain passes: for one at the last level).
    severity : str
        ``fail`` or ``warn``.
    limit : float
        In `unit`.
    direction : str
        Whether the check fails ``above`` its limit or ``below`` it.
    unit : str
        ``rows``, ``share`` (of all rows), ``share of non-null`` or ``share of selected`` (by the rule's WHERE).
    statistic : str
        What the limit is about; see `dpdb.suites.suite.SuiteLine`. ``fractional cover``: what was tested is a lower
        bound of the fewest rows to delete, which are at most twice as many.
    lower, upper : float or None
        Bounds in rows: of the statistic, or, where the limit is a share, of what it is above that share of the rows.
        Of a fractional cover bounds of the fewest rows to delete: the upper one is twice that of the cover.
    level : int
        Where it failed, or the last level at which it was quiet; 0 if it was not tested.
    since : str or None
        Of a kept suite, when the check failed, if that was in an earlier run.
    key : str or None
        The slice, if there are several.
    population : str or None
        The rows that are counted, in words; None for all rows, for units, and in verdicts of older versions.
    within : float or None
        Of what was quiet: by how many rows it may be beyond its limit; None if that is not known, and in verdicts of
        older versions.
    asked : float or None
        By how many rows a pass may be beyond its limit (``--within``), and else is `not shown`.
    number : float or None
        The statistic with noise, where numbers were drawn: a unit counts in at most k checks on single rows, and
        `capped` of the run says by how many rows it may be short for that. Of a share the rows above it (below 0: under
        it). Of a fractional cover that cover, not the fewest rows to delete.
    differs : str or None
        Of a check of the columns, how they differ from what it says; None if they do not, and of other checks.
    """

    name: str
    rule: str
    verdict: Literal["pass", "fail", "not shown", "undecided"]
    severity: Literal["warn", "fail"]
    limit: float
    direction: Literal["above", "below"]
    unit: str
    statistic: str
    lower: float | None
    upper: float | None
    level: int
    since: str | None = None
    key: str | None = None
    population: str | None = None
    within: float | None = None
    asked: float | None = None
    number: float | None = None
    differs: str | None = None

    @property
    def fails(self) -> bool:
        """Whether it fails the suite: it failed, and is no warning."""
        return self.verdict == "fail" and self.severity == "fail"

    def asked_within(self, rows: float) -> CheckResult:
        """Return the verdict as it is where a pass may be beyond its limit by so many rows. Draws nothing."""
        if self.verdict not in ("pass", "not shown") or self.asked is None:
            return self
        shown = self.within is not None and self.within <= rows
        return replace(self, asked=rows, verdict="pass" if shown else "not shown")

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name; `key` only where there are slices, `population` where not all rows are used."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}  # as asdict, which copies each value
        for name in ("key", "population", "differs"):
            if fields[name] is None:
                del fields[name]
        return fields


_FEW = 10**5
_DECIMALS = 6  # of bounds at most, so that none is rounded away because floats are binary
_SAID = {"pass": "passed", "WARN": "warned", "FAIL": "failed", "not shown": "not shown", "undecided": "undecided"}
COVER = "fractional cover"
"""The statistic of a check that is tested by a lower bound of the fewest rows to delete."""
SCHEMA_WORDS = "Checks of the columns read public facts: their verdicts are exact and cost nothing."

_COMMAND = "dpdb diagnose SOURCE --constraints SUITE --by COLUMN --keys V,V --epsilon E"
WHERE_IT_IS = f"Where it is: `{_COMMAND}` names the dirtiest slices."
"""After a failed check."""


def verdict_words(check: CheckResult) -> str:
    """Return the verdict in a word or two: `pass`, `FAIL`, `WARN`, `not shown` or `undecided`."""
    if check.verdict == "fail":
        return "FAIL" if check.severity == "fail" else "WARN"
    return check.verdict


def counts_words(checks: Sequence[CheckResult]) -> str:
    """Return how many checks there are and how many have each verdict: `3 checks: 2 passed, 1 warned`."""
    found = Counter(map(verdict_words, checks))
    counts = [f"{found[verdict]} {said}" for verdict, said in _SAID.items() if found[verdict]]
    return f"{len(checks)} check{'s' * (len(checks) != 1)}: {', '.join(counts)}"


def cost_words(found: Mapping[str, Any]) -> str:
    """Return what a run cost of what was reserved: `epsilon 0.3 of 1`, or in rho.

    Parameters
    ----------
    found
        The verdicts, as `CheckResults.to_dict` gives them.
    """
    of = "epsilon" if found.get("rho") is None else "rho"
    return f"{of} {found[of]:g} of {found[f'{of}_reserved']:g}"


def kept_words(found: Mapping[str, Any]) -> str:
    """Return what a kept suite holds after a run, or what it was settled to, where numbers were bought with it.

    Parameters
    ----------
    found
        The verdicts, as `CheckResults.to_dict` gives them.
    """
    if found.get("capped"):
        return f"{found['suite']!r} is closed, because all that it had left bought numbers: {cost_words(found)}"
    dated = any("{date}" in str(check["rule"]) for check in found["checks"])
    of_day = ", for this {date} alone (other days are other rules)" if dated else ""
    return (
        f"Kept as {found['suite']!r}{of_day}: epsilon {found['epsilon_reserved']:g} stays reserved until it is closed"
    )


def capped_words(found: Mapping[str, Any]) -> list[str]:
    """Return what a row counts in, where checks have numbers; for each slice that has numbers of its own.

    Parameters
    ----------
    found
        The verdicts, as `CheckResults.to_dict` gives them.
    """
    return [_capped(**each) for each in found.get("capped", ())]


def _capped(checks: int, most: int, short: int, unit: str, key: str | None) -> str:
    of = "" if key is None else f"[{key}] "
    numbers = f"{checks} check{'s on single rows have' if checks > 1 else ' on single rows has'} a number"
    if short == 0:
        return f"{of}{numbers}. k = {most}: no check is short by any row because of it."
    them = "these checks" if checks > 1 else "this check"
    return (
        f"{of}{numbers}. k = {most}: a {unit} counts in at most {most} of {them}; no check is short by more than "
        f"{short:,} row{'s' * (short > 1)} because of it."
    )


def undecided_words(checks: Sequence[CheckResult]) -> str | None:
    """Return how many checks are undecided and why; None if none is."""
    undecided = sum(check.verdict == "undecided" for check in checks)
    if undecided == 0:
        return None
    before = sum(check.verdict == "fail" and check.number is None for check in checks)
    failures, them = f"{before} failure{'s' * (before != 1)}", "it" if undecided == 1 else "them"
    kept = ", and what was kept for numbers," if any(check.number is not None for check in checks) else ""
    return (
        f"{undecided} undecided, which may fail or pass: the {failures} found before{kept} left too little epsilon to "
        f"test {them}."
    )


def not_shown_words(checks: Sequence[CheckResult]) -> str | None:
    """Return how many checks are not shown to be within their limits, and what would take them for passes.

    None if there is none. The figure is the largest `within` that is known, rounded up: held to it, each of these
    passes.
    """
    missed = [check for check in checks if check.verdict == "not shown"]
    if not missed:
        return None
    covers = sum(check.statistic == COVER for check in missed)
    several = len(missed) > 1
    said = "1 is not shown to be within its limit and does not count as passed."
    if several:
        said = f"{len(missed)} are not shown to be within their limits and do not count as passed."
    if covers:
        tested = "It is" if not several else "1 of them is" if covers == 1 else f"{covers} of them are"
        said += f" {tested} tested by a fractional cover: twice as many rows may have to go."
    known = [ceil(check.within) for check in missed if check.within is not None]
    if known:
        takes = f"{len(known)} of them for passes" if several else "it for a pass"
        said += f" --within {max(known)} takes {takes}."
    return said


def limit_words(check: CheckResult) -> str:
    """Return severity and limit, as a suite's file has them."""
    if check.statistic == SCHEMA:
        return check.severity
    text = f"{check.severity} {check.direction} {check.limit:,.0f}{' bits' * (check.statistic == 'decision bits')}"
    if check.unit != "rows":
        text = f"{check.severity} {check.direction} {100 * check.limit:g}%{check.unit.removeprefix('share')}"
    if check.population is None or (check.unit == "rows" and check.statistic not in ("row_count", "distinct values")):
        return text
    return f"{text} used rows" if check.unit not in ("rows", "share") else f"{text} of used rows"


def how_many(check: CheckResult) -> str:
    """Return the bounds of a check's statistic in words."""
    if check.statistic == SCHEMA:
        return check.differs or "as it says"
    if check.since is not None:
        return f"failed on {check.since[:10]}, not re-armed"
    if check.upper is None and check.lower is None:
        return "not known"
    words = _rows(check) if check.unit == "rows" else _share(check)
    if check.number is not None:
        words = f"{_about(check, check.number)}; {words}"
    if check.statistic != COVER or check.upper is None:
        return words
    return f"{words} ({'fractional cover to twice it' if check.lower else 'twice a fractional cover'})"


def populations(found: Iterable[str | None]) -> list[str]:
    """Return the sentences that say of which rows some checks are, by their populations; none if all are of all."""
    return [sentence for rows in dict.fromkeys(found) for sentence in population_words(rows)]


def check_words(check: CheckResult) -> str:
    """Return a check with its verdict, bounds and limit in one line."""
    said = {**_SAID, "WARN": "warns"}[verdict_words(check)]
    where = "" if check.key is None else f" [{check.key}]"
    rows = "" if check.population is None else f"; {check.population}"
    return f"check {said}: {check.name}{where}: {how_many(check)} ({limit_words(check)}){rows}"


def spoken(checks: Iterable[CheckResult]) -> list[dict[str, str]]:
    """Return for each check its name, verdict, bounds and limit in words, for pages that show them."""
    return [
        {
            "name": check.name if check.key is None else f"{check.name} [{check.key}]",
            "rule": check.rule,
            "verdict": verdict_words(check),
            "how_many": how_many(check),
            "limit": limit_words(check),
            **({} if check.population is None else {"population": check.population}),
        }
        for check in checks
    ]


_NAMED = ("rows in duplicates", "duplicate values", "distinct values", "units", *OF_KEYS)


def _counted(check: CheckResult) -> str:
    """Name what is counted: rows, or what else the statistic is of, and whether not all rows are used."""
    what = check.statistic if check.statistic in _NAMED else "rows"
    what = "bits" if check.statistic == "decision bits" else what
    if check.population is None:
        return what
    return f"used {what}" if what.startswith("rows") else f"{what} of used rows"


def _rows(check: CheckResult) -> str:
    what = _counted(check)
    if check.upper is None:
        return f"at least {_number(check.lower or 0, floor)} {what}"
    return f"{f'{_number(check.lower, floor)} to' if check.lower else 'at most'} {_number(check.upper, ceil)} {what}"


def _share(check: CheckResult) -> str:
    """A share is not released: only how many rows there are above the limit's share of the rows."""
    share, lower, upper = f"{100 * check.limit:g}%", check.lower, check.upper
    what = "units" if check.statistic == "units" else "rows" if check.population is None else "used rows"
    if lower is not None and lower >= 0 and upper is not None:
        return f"{_number(lower, floor)} to {_number(upper, ceil)} {what} above {share}"
    if upper is None:
        return f"at least {_number(lower or 0, floor)} {what} above {share}"
    return f"at most {share}" + (
        f" and {_number(upper, ceil)} {what}" if upper > 0 else f" less {_number(-upper, floor)} {what}"
    )


def _about(check: CheckResult, number: float) -> str:
    """Return a number with noise: to a whole one, or to one decimal where it is small and no count of rows."""
    said = f"{number:,.1f}" if check.statistic == "decision bits" and abs(number) < _FEW else f"{round(abs(number)):,}"
    if check.unit == "rows":
        return f"about {said}"
    share = f"{100 * check.limit:g}%"
    return f"about {said} above {share}" if number >= 0 else f"about {share} less {said}"


def _number(value: float, away: Callable[[float], int]) -> str:
    """Return a bound with at most one decimal, which is all that is useful, rounded away from the statistic."""
    if abs(value) >= _FEW:
        return f"{away(value):,}"
    return f"{away(round(10 * value, _DECIMALS)) / 10:,g}"


def certainty_words(found: Mapping[str, Any]) -> str:
    """Return what holds with which confidence, 1 - beta or less.

    Three things may go wrong, with probability beta each. (A) In the runs that were planned some noise of a test is
    beyond the margin s: then a check within its limit may fail, and the lower end of a failure's size be too high.
    (B) A hidden threshold is beyond its own margin: then a pass, and the upper end of a size, may be wrong. (C) In a
    later run the noise of a ring is beyond what its number among all tests allows, which only the lower end of that
    failure's size needs. So (A) and (B) are all there is up to the last run that was planned. After it nothing is said
    of (A) but for failures that stand since, and all numbers together need (C) besides. Of checks that fail below their
    limits a pass is certain, by (B).

    Parameters
    ----------
    found
        The verdicts of a run, as `CheckResults.to_dict` gives them.
    """
    said = _certainty(found)
    return said if found.get("now") is None else f"{said} Rows are fresh by {found['now']}."


def _certainty(found: Mapping[str, Any]) -> str:
    doubt, run, runs = 1 - found["confidence"], found.get("run"), found.get("runs")
    passes = "none passed beyond its limit"
    below = [check["direction"] == "below" for check in found["checks"] if check["statistic"] != SCHEMA]
    if found["certain"] == "fail" and found.get("below") == "pass" and (run is None or runs is None or run <= runs):
        shown = f"with {_percent(1 - doubt)} no count passed below its limit"
        if all(below):
            return f"{shown.capitalize()}; with {_percent(1 - 2 * doubt)} all numbers hold, too."
        return (
            f"With {_percent(1 - doubt)} no rule failed within its limit, {shown}; with {_percent(1 - 2 * doubt)} both "
            "hold, and all numbers."
        )
    if run is None or runs is None or run <= runs:
        sure = "none failed within its limit" if found["certain"] == "fail" else passes
        return f"With {_percent(1 - doubt)} {sure}; with {_percent(1 - 2 * doubt)} all numbers hold, too."
    sure = "the bounds of what passed hold" if found["certain"] == "fail" else passes
    return (
        f"This was run {run} of {runs} that were planned: by now a check may fail within its limit. With "
        f"{_percent(1 - doubt)} {sure}; with {_percent(max(0, 1 - 3 * doubt))} all numbers hold, too."
    )


def _percent(share: float) -> str:
    return f"{100 * share:g}%"


# Readable on white and on black; what is undecided is neither green nor red.
_COLOURS = {"pass": "#2e9b57", "FAIL": "#d6494a", "WARN": "#c9822b", "not shown": "#8a7cc7", "undecided": "#8a7cc7"}
_CELL = "padding:3px 12px 3px 0;text-align:left;vertical-align:top;border-bottom:1px solid rgba(128,128,128,.3)"
_FAINT = "opacity:.75;font-size:90%"


def checks_html(found: Mapping[str, Any]) -> str:
    """Return the verdicts of a run as a table, with what holds for all of them in folded details.

    Parameters
    ----------
    found
        The verdicts, as `CheckResults.to_dict` gives them.
    """
    checks = [CheckResult(**check) for check in found["checks"]]
    slices = any(check.key is not None for check in checks)
    heads = ("verdict", "check", *(("slice",) if slices else ()), "how many", "limit", "rule")
    head = "".join(f'<th style="{_CELL}">{name}</th>' for name in heads)
    body = "".join(f"<tr>{''.join(_cells(check, slices))}</tr>" for check in checks)
    return (
        f'<table style="border-collapse:collapse"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
        f'<div style="{_FAINT}">{in_html(_summary(found, checks))}'
        f"<details><summary>details</summary>{_details(found)}</details></div>"
    )


def _cells(check: CheckResult, slices: bool) -> list[str]:
    said = verdict_words(check)
    verdict = f'<span style="color:{_COLOURS[said]};font-weight:600">{said}</span>'
    texts = [check.name, *([str(check.key)] if slices else []), how_many(check), limit_words(check), check.rule]
    return [f'<td style="{_CELL}">{cell}</td>' for cell in (verdict, *map(in_html, texts))]


def _summary(found: Mapping[str, Any], checks: Sequence[CheckResult]) -> str:
    cost = cost_words(found)
    if found.get("suite") is not None:
        cost = kept_words(found)
    of_rows = populations(check.population for check in checks)
    said = [f"{counts_words(checks)}; {cost}.", not_shown_words(checks), undecided_words(checks)]
    said += [*capped_words(found), *of_rows]
    return " ".join(filter(None, said))


def _details(found: Mapping[str, Any]) -> str:
    facts = (("run id", found["run_id"]), ("sure", certainty_words(found)), ("guarantee", found["guarantee"]))
    return "<br>".join(f"{name}: {in_html(str(text))}" for name, text in facts)
