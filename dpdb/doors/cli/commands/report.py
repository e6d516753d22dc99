"""`dpdb report RESULTS...`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from dpdb.doors.cli.shared_options import command
from dpdb.doors.cli.streams import show
from dpdb.errors import ParameterError

__all__ = ["add_report"]


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


def _report(options: argparse.Namespace) -> int:
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
        return _board(options, out)
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
    return 0


def _board(options: argparse.Namespace, out: Path) -> int:
    """Write a page of the checks by sites, from what they have published."""
    from dpdb.doors.reports.sites import board_of, board_page, read_sites
    from dpdb.files.new_file import new_file

    board = board_of(read_sites(options.results))
    if not board.lines:
        raise ParameterError("no site has a verdict: write them with dpdb check --format json --out SITE.json")
    with new_file(out, replace=True) as partial:
        partial.write_text(board_page(board, options.title or "Checks by site"), encoding="utf-8")
    show(f"{out}: {len(board.lines):,} checks of {len(board.sites)} sites")
    return 0
