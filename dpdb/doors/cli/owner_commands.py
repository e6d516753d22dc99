"""Commands for the owner of a table: exact values, proposed types, noisy copies, budgets, reports."""

from __future__ import annotations

import argparse
from typing import Any

from dpdb.doors.cli.numbers import positive, real, whole
from dpdb.doors.cli.shared_options import (
    command,
    format_option,
    limit_options,
    quiet_options,
    shape_options,
    source_options,
    unit_options,
)

__all__ = ["add_budget", "add_exact", "add_noise", "add_overlap", "add_report", "add_schema"]


def add_exact(commands: Any) -> None:
    """Add `dpdb exact`."""

    def run(options: argparse.Namespace) -> int:
        from dpdb.doors.cli.commands.exact import run_exact

        return run_exact(options)

    parser = command(
        commands,
        "exact",
        run,
        "print the true values, which are not private: for the owner of the data only",
        "dpdb exact hospital.parquet --constraints hospital.dcs.txt --non-private --format json",
    )
    source_options(parser)
    parser.add_argument("--where", metavar="SQL", help="predicate that selects the slice")
    unit_options(parser)
    parser.add_argument("--non-private", action="store_true", help="yes, exact values may be shown")
    parser.add_argument("--by-constraint", action="store_true", help="also count the violations of each constraint")
    parser.add_argument("--violations", metavar="FILE", help="write all conflicts to a new .csv or .parquet file")
    parser.add_argument("--materialize", metavar="FILE", help="leave the conflict edges in a new DuckDB file")
    parser.add_argument(
        "--time-limit", metavar="S", type=positive, default=10.0, help="seconds for proving the exact repair (10)"
    )
    limit_options(parser)
    format_option(parser)


def add_schema(commands: Any) -> None:
    """Add `dpdb schema`."""

    def run(options: argparse.Namespace) -> int:
        from dpdb.doors.cli.commands.schema import run_schema

        return run_schema(options)

    parser = command(
        commands,
        "schema",
        run,
        "propose types for columns that have none, as a --schema option; reads rows, so it is for the owner only",
        "dpdb schema visits.csv",
    )
    parser.add_argument("source", metavar="FILE", help="CSV file, or directory or glob of CSV or Parquet files")
    parser.add_argument("--table", metavar="T", help="table or view of a DuckDB file")
    limit_options(parser)
    format_option(parser)


def add_noise(commands: Any) -> None:
    """Add `dpdb noise`."""

    def run(options: argparse.Namespace) -> int:
        from dpdb.doors.cli.commands.noise import run_noise

        return run_noise(options)

    parser = command(
        commands,
        "noise",
        run,
        "write a dirtied copy of a table, for experiments (paper A, section 6.1)",
        "dpdb noise rnoise adult.parquet --constraints adult.dcs.txt --alpha 0.01 --seed 1 --out noisy.parquet",
    )
    parser.add_argument(
        "kind", choices=["rnoise", "conoise"], help="rnoise changes random cells; conoise makes random pairs violate"
    )
    source_options(parser)
    parser.add_argument("--out", required=True, metavar="FILE", help="new .parquet, .csv or .duckdb file")
    parser.add_argument("--alpha", type=real, help="rnoise: changes per cell of the table, such as 0.01")
    parser.add_argument("--typo", type=real, metavar="P", help="rnoise: probability of a typo (0.5)")
    parser.add_argument("--skew", type=real, metavar="BETA", help="rnoise: Zipf skew of values (0)")
    parser.add_argument("--iterations", type=whole, metavar="N", help="conoise: iterations (200)")
    parser.add_argument("--sample", type=whole, metavar="ROWS", help="first keep this many random rows")
    parser.add_argument("--seed", type=whole, help="seed of the generator; the same seed gives the same file")
    parser.add_argument("--overwrite", action="store_true", help="replace FILE if it exists")
    quiet_options(parser)


def add_budget(commands: Any) -> None:
    """Add `dpdb budget`."""

    def run(options: argparse.Namespace) -> int:
        from dpdb.doors.cli.commands.budget import run_budget

        return run_budget(options)

    actions = commands.add_parser("budget", help="make, show and continue ledgers: the durable budget of one table")
    actions = actions.add_subparsers(required=True, metavar="ACTION", dest="action")
    create = command(
        actions,
        "create",
        run,
        "make the ledger of a table; its first release binds it to the table's columns",
        "dpdb budget create visits.ledger --epsilon 3",
    )
    show = command(actions, "show", run, "print what was spent and what is left", "dpdb budget show visits.ledger")
    history = command(actions, "history", run, "print every debit", "dpdb budget history visits.ledger")
    epoch = command(
        actions,
        "epoch",
        run,
        "confirm that a changed source is the same table; what was spent stays spent",
        "dpdb budget epoch visits.ledger",
    )
    answers = command(
        actions,
        "answers",
        _budget_answers,
        "print recorded answers again; spends nothing and draws nothing",
        "dpdb budget answers visits.ledger --run-id monday",
    )
    audit = command(
        actions,
        "audit",
        _budget_audit,
        "compare what older versions have charged with the rules of this one; reads no row and changes nothing",
        "dpdb budget audit visits.ledger visits.parquet",
    )
    for parser in (create, show, history, epoch, answers, audit):
        parser.add_argument("ledger", metavar="LEDGER", help="file of the ledger")
        format_option(parser)
    answers.add_argument("--release", metavar="ID", help="only the release of this id")
    answers.add_argument("--run-id", metavar="ID", help="only what this run has released")
    audit.add_argument("source", metavar="SOURCE", nargs="?", help="as of `dpdb measure`; only its schema is read")
    shape_options(
        audit, "column types, such as 'age INTEGER, day DATE': of a CSV file, or in place of SOURCE", constraints=False
    )
    show.add_argument(
        "--at-delta", type=real, metavar="D", help="of a pure ledger: also the tighter epsilon at delta D"
    )
    create.add_argument("--epsilon", required=True, metavar="E", help="total privacy cost allowed")
    create.add_argument("--notion", choices=["pure", "zcdp", "gdp"], default="pure", help="how losses add up (pure)")
    create.add_argument("--delta", type=real, default=0.0, metavar="D", help="of a zcdp or gdp ledger, such as 1e-6")
    create.add_argument("--append-only", action="store_true", help="rows are added and never change: no epochs needed")


def _budget_answers(options: argparse.Namespace) -> int:
    from dpdb.doors.cli.commands.budget_answers import run_budget_answers

    return run_budget_answers(options)


def _budget_audit(options: argparse.Namespace) -> int:
    from dpdb.doors.cli.commands.budget_audit import run_budget_audit

    return run_budget_audit(options)


def add_overlap(commands: Any) -> None:
    """Add `dpdb overlap`."""

    def run(options: argparse.Namespace) -> int:
        from dpdb.doors.cli.commands.overlap import run_overlap

        return run_overlap(options)

    parser = command(
        commands,
        "overlap",
        run,
        "bound what a set of WHERE clauses or counting queries costs together; opens no table, spends nothing",
        "dpdb overlap queries.sql --weights 5,5,10 --format json",
    )
    parser.add_argument(
        "file", metavar="FILE.sql", help="one WHERE clause or counting query per line; - reads standard input"
    )
    parser.add_argument(
        "--weights", metavar="W,W,...", help="whole-number charge per query, or a file of them (1 each)"
    )
    parser.add_argument(
        "--method",
        default="auto",
        metavar="M",
        help="auto, or one of paper B's: clique, clique_overlap, dsatur, hypergraph (auto)",
    )
    parser.add_argument(
        "--deadline", metavar="S", type=positive, default=10.0, help="seconds after which the search stops (10)"
    )
    parser.add_argument("--schema", metavar="COLS", help="column types, such as 'age INTEGER, day DATE'")
    format_option(parser)


def add_report(commands: Any) -> None:
    """Add `dpdb report`."""

    def run(options: argparse.Namespace) -> int:
        from dpdb.doors.cli.commands.report import run_report

        return run_report(options)

    parser = command(
        commands,
        "report",
        run,
        "write one HTML page about a results table; reads releases only, never the private source",
        "dpdb report results.duckdb --out report.html",
    )
    parser.add_argument("results", metavar="RESULTS", help="DuckDB file, or folder of Parquet files, of `dpdb run`")
    parser.add_argument("--out", required=True, metavar="FILE", help=".html file; replaced if it exists")
    parser.add_argument("--table", metavar="T", help="results table of a DuckDB file (dpdb_results)")
    parser.add_argument("--ledger", metavar="FILE", help="show what this ledger says now, not after the last run")
    parser.add_argument(
        "--constraints", metavar="FILE_OR_TEXT", action="append", help="show these; default: those of the last run"
    )
    parser.add_argument("--title", metavar="T", help="heading of the page (Data quality report)")
