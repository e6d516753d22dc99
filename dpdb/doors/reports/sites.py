"""What several sites have published, side by side: verdicts as they are, and sums of numbers. Nothing private is read.

Each site's file is the JSON of `dpdb check`, `dpdb measure` or `dpdb count`. Sites hold different rows, so a number of
all of them is the sum, and its noise the sum of independent noises of known scales, whose law is known exactly. The
checks make one HTML page: escaped, no script, nothing loaded.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

from dpdb.errors import ParameterError
from dpdb.files.bounded_file import bounded_bytes
from dpdb.names import LONGEST_NAME, breakable, in_html, listed_names, printable
from dpdb.suites import CheckResult, how_many, limit_words, verdict_words

_LARGEST = 64 << 20
_LARGEST_NUMBER = sys.float_info.max
_LEAST_SCALE = 1e-6  # noise of a smaller one is 0, and its inverse may overflow
_NOISES = ("laplace", "fewest_deletions")  # mechanisms whose noise is one discrete Laplace of the published scale
_COVER = "fractional"  # discrete Laplace on half rows; a lower bound of the fewest rows to delete, and at least half
_SAME = ("measure", "estimand", "mechanism", "where", "constraints_sha256", "constraint", "unit", "quantity")
_WORDS = ("name", "rule", "verdict", "severity", "direction", "unit", "statistic")
_OPTIONAL = ("since", "key", "population")
_BOUNDS = ("limit", "lower", "upper", "level", "within", "asked", "number")


@dataclass(frozen=True)
class Site:
    """What a site has published.

    Attributes
    ----------
    name : str
        Its file's name without ending.
    releases : tuple of mapping
        As `Release.to_dict` gives them.
    """

    name: str
    checks: tuple[CheckResult, ...]
    releases: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True)
class BoardLine:
    """One limit of one check: its verdict at each site that has it, by the site's name."""

    name: str
    limit: str
    checks: Mapping[str, CheckResult]


@dataclass(frozen=True)
class Board:
    """The checks of some sites, in the order in which they are first met."""

    sites: tuple[str, ...]
    lines: tuple[BoardLine, ...]


@dataclass(frozen=True)
class Total:
    """A number of all sites together.

    Attributes
    ----------
    value : float
        The sum of their noisy numbers, before any was raised to 0.
    lower, upper : float
        The true sum lies between these with `confidence`; a sum of counts is not below 0. It is the sum of the sites'
        own numbers, not that of a table of all their rows. Of `repair` it is that of the fewest rows to delete, of
        which a fractional cover is at least half: its upper end counts twice.
    """

    what: str
    sites: tuple[str, ...]
    value: float
    lower: float
    upper: float
    confidence: float


def read_sites(paths: Sequence[str | Path]) -> list[Site]:
    """Read the files of some sites."""
    sites = [_read(Path(path)) for path in paths]
    names = [site.name for site in sites]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ParameterError(f"two sites are called {listed_names(twice)}: files are called as their sites")
    return sites


def board_of(sites: Sequence[Site]) -> Board:
    """Return the checks of some sites, side by side; checks are the same if they have one name, limit and slice."""
    found: dict[tuple[str, str], dict[str, CheckResult]] = {}
    for site in sites:
        for check in site.checks:
            name = check.name if check.key is None else f"{check.name} [{check.key}]"
            found.setdefault((name, limit_words(check)), {})[site.name] = check
    lines = tuple(BoardLine(name, limit, checks) for (name, limit), checks in found.items())
    return Board(tuple(site.name for site in sites), lines)


def totals_of(sites: Sequence[Site], confidence: float = 0.95) -> tuple[list[Total], list[str]]:
    """Add up the numbers that sites have in common, and say which cannot be added.

    The interval is exact: with the true numbers f_i and noises N_i it holds that sum (f_i + N_i) = value, N_i is
    discrete Laplace of the published scale, the noises are independent, and their sum is symmetric. So the true sum is
    within t of the value but for twice the chance that the noises' sum exceeds t.

    Exact repairs and fractional covers are added up, too. Let E be the sum of the first, C of the second. The sites'
    fewest rows to delete come to between E + C and E + 2 C. The noise of 2 C is a sum of discrete Laplace noises of
    twice the published scales, so the law of that of E + 2 C is known, and its upper end as above; from below E and C
    are bounded by themselves, each with half of the doubt.

    Parameters
    ----------
    confidence
        Confidence of each interval.
    """
    if not 0.5 <= confidence < 1:
        raise ParameterError(f"confidence must be at least 0.5 and below 1, got {confidence!r}")
    groups: dict[str, dict[str, Mapping[str, Any]]] = {}
    left_out: list[str] = []
    for site in sites:
        for release in site.releases:
            words = f"{release['measure']}, {release['estimand']}"
            why = _why_not(release)
            key = json.dumps(_same(release), sort_keys=True)
            if why is None and site.name in groups.get(key, {}):
                why = "it has it twice"
            if why is None:
                groups.setdefault(key, {})[site.name] = release
            else:
                left_out.append(f"{site.name}: {words}: {why}")
    totals = []
    for members in groups.values():
        totals.append(_total(members, confidence))
    return totals, left_out


def _total(members: Mapping[str, Mapping[str, Any]], confidence: float) -> Total:
    from dpdb.privacy import laplace_sum_tail

    found, doubt = [*members.values()], (1 - confidence) / 2
    steps = [2 if one["mechanism"] == _COVER else 1 for one in found]  # per row
    kinds = [[(one["raw"] * step, one["noise_scale"] * step) for one, step in zip(found, steps, strict=True) if
              step == kind] for kind in (1, 2) if kind in steps]  # fmt: skip
    highest = sum(raw for of in kinds for raw, _ in of) + laplace_sum_tail([s for of in kinds for _, s in of], doubt)
    lower = sum(
        (sum(raw for raw, _ in of) - laplace_sum_tail([scale for _, scale in of], doubt / len(kinds))) / step
        for of, step in zip(kinds, sorted(set(steps)), strict=True)
    )
    first = found[0]
    condition = f", where {printable(str(first['where']))}" if first.get("where") else ""
    what = f"{first['measure']}: {_COVERED if _COVER in _mechanisms(found) else first['estimand']}{condition}"
    value, low, high = map(_whole, (sum(one["raw"] for one in found), max(0, lower), max(0, highest)))
    return Total(what, tuple(members), value, low, high, confidence)


_COVERED = "fewest rows to delete of each site by itself, of which fractional covers are at least half"


def _mechanisms(releases: Sequence[Mapping[str, Any]]) -> set[str]:
    return {release["mechanism"] for release in releases}


def _whole(number: float) -> float:
    return int(number) if number == int(number) else number


def _same(release: Mapping[str, Any]) -> list[Any]:
    """Return what two numbers have in common that can be added; covers and exact repairs are of one thing."""
    repairs = release["measure"] == "repair" and release["mechanism"] in (_COVER, "fewest_deletions")
    return [None if repairs and name in ("estimand", "mechanism") else release.get(name) for name in _SAME]


def _why_not(release: Mapping[str, Any]) -> str | None:
    """Return why a number cannot be added to others; None if it can."""
    if (
        release.get("mechanism") not in (*_NOISES, _COVER)
        or release.get("rho") is not None
        or release.get("quantity") != "rows"
    ):
        return "its noise is not one discrete Laplace of a published scale"
    raw, scale = release.get("raw"), release.get("noise_scale")
    step = 2 if release["mechanism"] == _COVER else 1
    if not _is_number(raw) or raw * step != int(raw * step):
        return "it has no number before it was raised to 0"
    if not _is_number(scale) or scale < _LEAST_SCALE:
        return "it has no noise scale"
    return None


def _read(path: Path) -> Site:
    try:
        document = json.loads(bounded_bytes(path, _LARGEST, "what a site has published"))
    except OSError as error:
        raise ParameterError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise ParameterError(f"{path} is no JSON") from None
    name = path.stem
    if not name.isprintable() or len(name) > LONGEST_NAME:
        raise ParameterError(f"{path.name!r} is no name for a site")
    said = document if isinstance(document, dict) else {}
    checks, releases = said.get("checks", []), said.get("releases", [])
    if not isinstance(checks, list) or not isinstance(releases, list) or not (checks or releases):
        raise ParameterError(f"{path} has neither verdicts nor numbers (write it with --format json --out {path.name})")
    if not all(map(_is_check, checks)) or not all(map(_is_release, releases)):
        raise ParameterError(f"{path} was not written by dpdb, or has been changed")
    names = (*_WORDS, *_BOUNDS, *_OPTIONAL)
    found = tuple(CheckResult(**{key: each.get(key) for key in names}) for each in checks)
    return Site(name, found, tuple(releases))


def _is_check(said: object) -> bool:
    return (
        isinstance(said, dict)
        and all(isinstance(said.get(name), str) and said[name].isprintable() for name in _WORDS)
        and all(_is_number(said.get(name)) for name in _BOUNDS if said.get(name) is not None or name == "limit")
        and all(isinstance(said.get(name), str) and said[name].isprintable() for name in _OPTIONAL if said.get(name))
        and said["verdict"] in ("pass", "fail", "not shown", "undecided")
    )


def _is_release(said: object) -> bool:
    return isinstance(said, dict) and all(
        isinstance(said.get(name), str) and said[name].isprintable() for name in ("measure", "estimand", "mechanism")
    )


def _is_number(said: object) -> TypeGuard[int | float]:
    """Return whether it is a number that can be reckoned with: JSON has whole numbers of any length, and Python NaN."""
    return isinstance(said, (int, float)) and not isinstance(said, bool) and abs(said) <= _LARGEST_NUMBER


def cell_words(line: BoardLine, site: str) -> str:
    """Return what a site's cell says: a verdict, or a dash where the check is not run."""
    check = line.checks.get(site)
    return "-" if check is None else verdict_words(check)


_COLOURS = {
    "pass": "#2e9b57",
    "FAIL": "#d6494a",
    "WARN": "#c9822b",
    "not shown": "#8a7cc7",
    "undecided": "#8a7cc7",
    "-": "#888",
}
_STYLE = (
    "body{font:14px sans-serif;margin:2em}table{border-collapse:collapse}"
    "td,th{padding:3px 12px 3px 0;text-align:left;vertical-align:top;border-bottom:1px solid #ccc}"
)


def board_page(board: Board, title: str) -> str:
    """Return the page: what fails anywhere stands first."""
    lines = sorted(board.lines, key=lambda line: -sum(cell_words(line, site) == "FAIL" for site in board.sites))
    heads = "".join(f"<th>{in_html(name)}</th>" for name in ("check", "limit", *board.sites))
    body = "".join(_row(line, board) for line in lines)
    totals = "".join(f"<li>{in_html(site)}: {in_html(_totals(board, site))}</li>" for site in board.sites)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{in_html(title)}</title>'
        f"<style>{_STYLE}</style></head><body><h1>{in_html(title)}</h1><ul>{totals}</ul>"
        f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></body></html>\n"
    )


def _row(line: BoardLine, board: Board) -> str:
    cells = []
    for site in board.sites:
        said, check = cell_words(line, site), line.checks.get(site)
        bounds = "" if check is None else f"<br><small>{in_html(how_many(check))}</small>"
        if check is not None and check.population is not None:
            bounds += f"<br><small>{in_html(check.population)}</small>"
        cells.append(f'<td><b style="color:{_COLOURS[said]}">{said}</b>{bounds}</td>')
    return f"<tr><td>{breakable(line.name)}</td><td>{in_html(line.limit)}</td>{''.join(cells)}</tr>"


def _totals(board: Board, site: str) -> str:
    found = Counter(cell_words(line, site) for line in board.lines)
    return ", ".join(f"{count} {said}" for said, count in found.most_common() if said != "-")
