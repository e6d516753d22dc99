"""`dpdb report RESULTS`."""

from __future__ import annotations

import argparse
from pathlib import Path

from dpdb.constraints import distinct, load_constraints
from dpdb.doors.cli.streams import show
from dpdb.doors.jobs.results import read_results
from dpdb.doors.reports import report_page
from dpdb.errors import ParameterError
from dpdb.files.new_file import new_file
from dpdb.ledger import Ledger

__all__ = ["run_report"]


def run_report(options: argparse.Namespace) -> int:
    """Read results, write the page; the private source is not opened."""
    out = Path(options.out)
    if out.suffix.lower() not in (".html", ".htm"):
        raise ParameterError(f"--out {options.out!r}: the report is a .html file")
    results = read_results(options.results, options.table)
    if not results.rows:
        raise ParameterError(f"{options.results}: the results table has no rows yet; `dpdb run JOB.toml` writes them")
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
    show(f"{out}: {len(results.rows):,} releases")
    return 0
