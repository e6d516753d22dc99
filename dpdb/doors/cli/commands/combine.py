"""`dpdb combine SITE...`."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from dpdb.doors.cli.numbers import real
from dpdb.doors.cli.shared_options import command, format_option
from dpdb.doors.cli.streams import show

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpdb.doors.reports.sites import Board, Total

__all__ = ["add_combine"]


def add_combine(commands: Any) -> None:
    """Add `dpdb combine`."""
    text = "put what sites have published side by side: verdicts as they are, sums of numbers; reads nothing private"
    parser = command(commands, "combine", _combine, text, "dpdb combine north.json south.json")
    parser.add_argument(
        "sites", metavar="SITE.json", nargs="+", help="JSON of dpdb check, measure or count, a file a site"
    )
    parser.add_argument(
        "--confidence", type=real, default=0.95, metavar="C", harmless=True, help="of each sum's interval (.95)"
    )
    format_option(parser)


def _combine(options: argparse.Namespace) -> int:
    """Print verdicts by site, and sums with their intervals; exit code 1 if a check failed at a site."""
    from dpdb.doors.reports.sites import board_of, read_sites, totals_of

    sites = read_sites(options.sites)
    board = board_of(sites)
    totals, left_out = totals_of(sites, options.confidence)
    if options.format == "json":
        show(json.dumps(_as_json(board, totals, left_out), indent=2))
    else:
        show("\n".join([*_board_lines(board), *_total_lines(totals), *(f"not added: {each}" for each in left_out)]))
    failed = any(c.verdict == "fail" and c.severity == "fail" for line in board.lines for c in line.checks.values())
    return 1 if failed else 0


def _as_json(board: Board, totals: list[Total], left_out: list[str]) -> dict[str, Any]:
    return {
        "sites": list(board.sites),
        "checks": [
            {"name": line.name, "limit": line.limit, "sites": {site: asdict(c) for site, c in line.checks.items()}}
            for line in board.lines
        ],
        "sums": [asdict(total) for total in totals],
        "not_added": left_out,
    }


def _board_lines(board: Board) -> Iterator[str]:
    from dpdb.doors.cli.checks_text import aligned
    from dpdb.doors.reports.sites import cell_words

    if not board.lines:
        return
    rows = [("check", "limit", *board.sites)]
    rows += [(line.name, line.limit, *(cell_words(line, site) for site in board.sites)) for line in board.lines]
    yield from aligned(rows)


def _total_lines(totals: list[Total]) -> Iterator[str]:
    for total in totals:
        between = f"{total.lower:,} to {total.upper:,} ({100 * total.confidence:g}%)"
        yield f"{total.what}: {total.value:,}, true sum {between}, of {', '.join(total.sites)}"
