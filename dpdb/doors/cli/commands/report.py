"""`dpdb report RESULTS...` and `dpdb combine SITE...`: what was published, as a page or side by side."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpdb.doors.cli.options import command, format_option
from dpdb.doors.cli.parser import real
from dpdb.doors.cli.streams import show
from dpdb.errors import ParameterError
from dpdb.names import aligned

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpdb.doors.reports.sites import Board, Total


def add_report(commands: Any) -> None:
    """Add `dpdb report`."""
    text = "write one HTML page about results tables; reads releases only, never the private source"
    parser = command(commands, "report", _report, text, "dpdb report visits.duckdb orders.duckdb --out report.html")
    text = "DuckDB file, or folder of Parquet files, of `dpdb run`; several make one page; or JSON of sites' verdicts"
    parser.add_argument("results", metavar="RESULTS", nargs="+", help=text)
    parser.add_argument("--out", required=True, metavar="FILE", help=".html file; replaced if it exists")
    parser.add_argument("--table", metavar="T", harmless=True, help="results table of a DuckDB file (dpdb_results)")
    parser.add_argument("--ledger", metavar="FILE", help="show what this ledger says now, not after the last run")
    parser.add_argument(
        "--constraints",
        metavar="FILE_OR_TEXT",
        action="append",
        harmless=True,
        help="show these; default: those of the last run",
    )
    parser.add_argument("--title", metavar="T", harmless=True, help="heading of the page (Data quality report)")


def _report(options: argparse.Namespace) -> None:
    """Read results, write the page; the private source is not opened."""
    from dpdb.constraints import distinct, load_constraints
    from dpdb.doors.jobs.results import read_results, several_results
    from dpdb.doors.reports import report_page
    from dpdb.files.new_file import new_file
    from dpdb.ledger import Ledger

    out = Path(options.out)
    if out.suffix.lower() not in (".html", ".htm"):
        raise ParameterError(f"--out {options.out!r}: the report is a .html file")
    if len(options.results) > 1 and (options.ledger is not None or options.constraints is not None):
        raise ParameterError("--ledger and --constraints are of one table; leave them out of a page about several")
    if all(Path(path).suffix.lower() == ".json" for path in options.results):
        _board(options, out)
        return
    tables = [read_results(path, options.table) for path in options.results]
    for path, read in zip(options.results, tables, strict=True):
        if not (read.rows or read.verdicts or read.diagnoses):
            raise ParameterError(f"{path}: the results table has no rows yet; `dpdb run JOB.toml` writes them")
    results = several_results(dict(zip(options.results, tables, strict=True)))
    ledger = None
    if options.ledger is not None:
        with Ledger.open(options.ledger) as opened:
            ledger = opened.summary()
    page = report_page(
        results,
        title=options.title or "Data quality report",
        ledger=ledger,
        constraints=None if options.constraints is None else distinct(load_constraints(options.constraints)),
    )
    with new_file(out, replace=True) as partial:
        partial.write_text(page, encoding="utf-8", errors="backslashreplace")
    verdicts = f", {len(results.verdicts):,} verdicts" if results.verdicts else ""
    named = f", {len(results.diagnoses):,} named" if results.diagnoses else ""
    show(f"{out}: {len(results.rows):,} releases{verdicts}{named}")


def _board(options: argparse.Namespace, out: Path) -> None:
    """Write a page of the checks by sites, from what they have published."""
    from dpdb.doors.reports.sites import board_of, board_page, read_sites
    from dpdb.files.new_file import new_file

    board = board_of(read_sites(options.results))
    if not board.lines:
        raise ParameterError("no site has a verdict: write them with dpdb check --format json --out SITE.json")
    with new_file(out, replace=True) as partial:
        partial.write_text(board_page(board, options.title or "Checks by site"), encoding="utf-8")
    show(f"{out}: {len(board.lines):,} checks of {len(board.sites)} sites")


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
    """Print verdicts by site, and sums with their intervals.

    Exit code 1 if a check failed at a site, 5 if none did and one is not shown or undecided.
    """
    from dpdb.doors.reports.sites import board_of, read_sites, totals_of

    sites = read_sites(options.sites)
    board = board_of(sites)
    totals, left_out = totals_of(sites, options.confidence)
    if options.format == "json":
        show(json.dumps(_as_json(board, totals, left_out), indent=2))
    else:
        show("\n".join([*_board_lines(board), *_total_lines(totals), *(f"not added: {each}" for each in left_out)]))
    found = {c.verdict for line in board.lines for c in line.checks.values() if c.severity == "fail"}
    return 1 if "fail" in found else 0 if found <= {"pass"} else 5


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
