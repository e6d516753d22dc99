"""Commands that make releases, or say what they would cost."""

from __future__ import annotations

import argparse
from typing import Any

from dpdb.doors.cli.numbers import real, whole
from dpdb.doors.cli.shared_options import (
    command,
    format_option,
    group_option,
    limit_options,
    output_option,
    quiet_options,
    release_options,
    shape_options,
    slice_options,
    source_options,
    spending_options,
    unit_options,
)

__all__ = ["add_count", "add_demo", "add_explain", "add_measure", "add_plan", "add_run", "add_sql"]


def add_measure(commands: Any) -> None:
    """Add `dpdb measure`."""

    def run(options: argparse.Namespace) -> int:
        from dpdb.doors.cli.commands.measure import run_measure

        return run_measure(options)

    parser = command(
        commands,
        "measure",
        run,
        "release one measure, or all three, under differential privacy",
        "dpdb measure hospital.parquet --constraints hospital.dcs.txt --measure repair --epsilon 1",
    )
    source_options(parser)
    release_options(parser)
    parser.add_argument("--theta", type=whole, metavar="N", help="public threshold of the projection; not chosen then")
    limit_options(parser)
    spending_options(parser)
    parser.add_argument(
        "--fail-above",
        metavar="MEASURE=X",
        action="append",
        default=[],
        help="exit with code 1 if the released value of MEASURE is above X; may be repeated",
    )
    format_option(parser)
    output_option(parser)


def add_count(commands: Any) -> None:
    """Add `dpdb count`."""

    def run(options: argparse.Namespace) -> int:
        from dpdb.doors.cli.commands.count import run_count

        return run_count(options)

    parser = command(
        commands,
        "count",
        run,
        "release the number of rows, with a two-sided interval, under differential privacy",
        "dpdb count hospital.parquet --where \"state = 'AL'\" --epsilon 0.1",
    )
    source_options(parser, constraints=False)
    slice_options(parser, epsilon=None)
    parser.add_argument("--rho", metavar="R", help="cost of Gaussian noise instead, on a ledger of notion zcdp")
    spending_options(parser)
    limit_options(parser)
    format_option(parser)
    output_option(parser)


def add_sql(commands: Any) -> None:
    """Add `dpdb sql`."""

    def run(options: argparse.Namespace) -> int:
        from dpdb.doors.cli.commands.sql import run_sql

        return run_sql(options)

    parser = command(
        commands,
        "sql",
        run,
        "answer an analyst's SQL, which reaches the private table through releases only; without a statement, a prompt",
        "dpdb sql visits.parquet --constraints rules.txt --budget 3 "
        "\"SELECT * FROM dp_inconsistency('visits', measure := 'repair', epsilon := 0.5)\"",
    )
    parser.intermixed = True
    source_options(parser)
    parser.add_argument(
        "statement", metavar="STATEMENT", nargs="?", help="one or more statements; - reads standard input"
    )
    parser.add_argument("--file", metavar="FILE", help="statements to run in order, up to the first error")
    parser.add_argument("--budget", metavar="E", help="total epsilon of this command")
    parser.add_argument("--ledger", metavar="FILE", help="durable budget of the table; see `dpdb budget create`")
    parser.add_argument(
        "--public",
        metavar="NAME=FILE",
        action="append",
        default=[],
        help="a Parquet or CSV file for statements to read",
    )
    parser.add_argument(
        "--rows-per-person", type=whole, default=1, metavar="K", help="at most K rows belong to one person (1)"
    )
    unit_options(parser)
    parser.add_argument("--row-bound", type=whole, metavar="N", help="public bound of the number of rows")
    group_option(parser)
    parser.add_argument(
        "--format", choices=["table", "csv", "json", "parquet", "arrow"], default="table", help="output (table)"
    )
    parser.add_argument("--out", metavar="FILE", help="new file for the result, instead of standard output")
    limit_options(parser)


def add_run(commands: Any) -> None:
    """Add `dpdb run`."""

    def run(options: argparse.Namespace) -> int:
        from dpdb.doors.cli.commands.run import run_job_file

        return run_job_file(options)

    parser = command(
        commands,
        "run",
        run,
        "run a job file: make its releases, append them to its results table, compare them with its gates",
        "dpdb run visits.toml --run-id 2026-11-21",
    )
    parser.add_argument("job", metavar="JOB.toml", help="job file; its paths are relative to its folder")
    parser.add_argument(
        "--run-id",
        metavar="ID",
        help="name of this run, such as the scheduler's: retried, it never spends twice (today)",
    )
    parser.add_argument(
        "--check", action="store_true", help="check everything and print plan and cost; spends nothing, reads no row"
    )
    quiet_options(parser)
    format_option(parser)


def add_explain(commands: Any) -> None:
    """Add `dpdb explain`."""

    def run(options: argparse.Namespace) -> int:
        from dpdb.doors.cli.commands.explain import run_explain

        return run_explain(options)

    parser = command(
        commands,
        "explain",
        run,
        "show compiled SQL, plans, privacy cost and expected noise; spends nothing and shows no data",
        "dpdb explain hospital.parquet --constraints hospital.dcs.txt --epsilon 1",
    )
    source_options(parser)
    release_options(parser, required=False)
    format_option(parser)


def add_plan(commands: Any) -> None:
    """Add `dpdb plan`."""

    def run(options: argparse.Namespace) -> int:
        from dpdb.doors.cli.commands.plan import run_plan

        return run_plan(options)

    parser = command(
        commands,
        "plan",
        run,
        "simulate releases on a synthetic table of a guessed shape; spends nothing and reads no row",
        "dpdb plan visits.parquet --constraints rules.txt --epsilon 1 --rows 10000 --error-rate 0.01",
    )
    parser.add_argument("source", metavar="SOURCE", nargs="?", help="as of `dpdb measure`; only its schema is read")
    shape_options(parser, "column types, such as 'age INTEGER, day DATE': of a CSV file, or in place of SOURCE")
    parser.add_argument("--epsilon", default="1", metavar="E", help="privacy cost to plan for (1)")
    parser.add_argument("--rows", type=whole, required=True, metavar="N", help="a guess of the number of rows")
    parser.add_argument(
        "--error-rate", type=real, required=True, metavar="A", help="guessed share of wrong cells, such as 0.01"
    )
    parser.add_argument(
        "--distinct",
        metavar="COLUMN=K",
        action="append",
        default=[],
        help="a guess of the column's number of distinct values (square root of N); may be repeated",
    )
    parser.add_argument("--max-degree", type=whole, metavar="N", help="public bound of conflicts per row")
    parser.add_argument("--target", type=real, metavar="X", help="find the epsilon that gives this relative error")
    parser.add_argument("--repetitions", type=whole, default=50, metavar="R", help="simulated releases per figure (50)")
    parser.add_argument("--seed", type=whole, help="of the synthetic table; the noise is fresh every time")
    format_option(parser)


def add_demo(commands: Any) -> None:
    """Add `dpdb demo`."""

    def run(options: argparse.Namespace) -> int:
        from dpdb.doors.cli.commands.demo import run_demo

        return run_demo(options)

    parser = command(
        commands, "demo", run, "release the three measures of the bundled real hospital table", "dpdb demo --epsilon 1"
    )
    parser.add_argument("--epsilon", default="1", metavar="E", help="privacy cost of the three together (1)")
    quiet_options(parser)
