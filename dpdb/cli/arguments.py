"""The commands and their options."""

from __future__ import annotations

import argparse
import logging
import os
from collections.abc import Callable
from typing import Any

from dpdb._version import __version__
from dpdb.cli.intermixed import Parser

__all__ = ["build_parser"]

_Command = Callable[[argparse.Namespace], int]


def build_parser() -> argparse.ArgumentParser:
    """Build the parser; every subcommand sets `run`, which imports its work on first use."""
    parser = Parser(
        prog="dpdb",
        description="How inconsistent is a private table? Denial-constraint violations under differential privacy.",
    )
    parser.add_argument("--version", action="version", version=f"dpdb {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for add in (_measure, _count, _explain, _plan, _exact, _noise, _budget, _overlap, _job, _report, _sql, _demo):
        add(commands)
    return parser


def _command(commands: Any, name: str, run: _Command, text: str, example: str) -> Parser:
    parser: Parser = commands.add_parser(
        name,
        help=text,
        description=text[0].upper() + text[1:] + ".",
        epilog=f"example:\n  {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    return parser


def _measure(commands: Any) -> None:
    def run(options: argparse.Namespace) -> int:
        from dpdb.cli.measure import run_measure

        return run_measure(options)

    parser = _command(
        commands,
        "measure",
        run,
        "release one measure, or all three, under differential privacy",
        "dpdb measure hospital.parquet --constraints hospital.dcs.txt --measure repair --epsilon 1",
    )
    _source(parser)
    _release(parser)
    _limits(parser)
    _spending(parser)
    parser.add_argument(
        "--fail-above",
        metavar="MEASURE=X",
        action="append",
        default=[],
        help="exit with code 1 if the released value of MEASURE is above X; may be repeated",
    )
    _format(parser)


def _count(commands: Any) -> None:
    def run(options: argparse.Namespace) -> int:
        from dpdb.cli.count import run_count

        return run_count(options)

    parser = _command(
        commands,
        "count",
        run,
        "release the number of rows, with a two-sided interval, under differential privacy",
        "dpdb count hospital.parquet --where \"state = 'AL'\" --epsilon 0.1",
    )
    _source(parser, constraints=False)
    _slice(parser, epsilon=None)
    parser.add_argument("--rho", metavar="R", help="cost of Gaussian noise instead, on a ledger of notion zcdp")
    _spending(parser)
    _limits(parser)
    _format(parser)


def _explain(commands: Any) -> None:
    def run(options: argparse.Namespace) -> int:
        from dpdb.cli.explain import run_explain

        return run_explain(options)

    parser = _command(
        commands,
        "explain",
        run,
        "show compiled SQL, plans, privacy cost and expected noise; spends nothing and shows no data",
        "dpdb explain hospital.parquet --constraints hospital.dcs.txt --epsilon 1",
    )
    _source(parser)
    _release(parser, required=False)
    _format(parser)


def _plan(commands: Any) -> None:
    def run(options: argparse.Namespace) -> int:
        from dpdb.cli.plan import run_plan

        return run_plan(options)

    parser = _command(
        commands,
        "plan",
        run,
        "simulate releases on a synthetic table of a guessed shape; spends nothing and reads no row",
        "dpdb plan visits.parquet --constraints rules.txt --epsilon 1 --rows 10000 --error-rate 0.01",
    )
    parser.add_argument("source", metavar="SOURCE", nargs="?", help="as of `dpdb measure`; only its schema is read")
    _shape(parser, "column types, such as 'age INTEGER, day DATE': of a CSV file, or in place of SOURCE")
    parser.add_argument("--epsilon", default="1", metavar="E", help="privacy cost to plan for (1)")
    parser.add_argument("--rows", type=int, required=True, metavar="N", help="a guess of the number of rows")
    parser.add_argument(
        "--error-rate", type=float, required=True, metavar="A", help="a guess of the share of wrong cells, such as 0.01"
    )
    parser.add_argument(
        "--distinct",
        metavar="COLUMN=K",
        action="append",
        default=[],
        help="a guess of the column's number of distinct values (square root of N); may be repeated",
    )
    parser.add_argument("--max-degree", type=int, metavar="N", help="public bound of conflicts per row")
    parser.add_argument("--target", type=float, metavar="X", help="look for the epsilon that gives this relative error")
    parser.add_argument("--repetitions", type=int, default=50, metavar="R", help="simulated releases per figure (50)")
    parser.add_argument("--seed", type=int, help="of the synthetic table; the noise is fresh every time")
    _format(parser)


def _exact(commands: Any) -> None:
    def run(options: argparse.Namespace) -> int:
        from dpdb.cli.exact import run_exact

        return run_exact(options)

    parser = _command(
        commands,
        "exact",
        run,
        "print the true values, which are not private: for the owner of the data only",
        "dpdb exact hospital.parquet --constraints hospital.dcs.txt --non-private --format json",
    )
    _source(parser)
    parser.add_argument("--where", metavar="SQL", help="predicate that selects the slice")
    _unit(parser)
    parser.add_argument("--non-private", action="store_true", help="yes, exact values may be shown")
    parser.add_argument("--by-constraint", action="store_true", help="also count the violations of each constraint")
    parser.add_argument("--violations", metavar="FILE", help="write all conflicts to a new .csv or .parquet file")
    parser.add_argument("--materialize", metavar="FILE", help="leave the conflict edges in a new DuckDB file")
    parser.add_argument(
        "--time-limit", metavar="S", type=_positive, default=10.0, help="seconds for proving the exact repair (10)"
    )
    _limits(parser)
    _format(parser)


def _noise(commands: Any) -> None:
    def run(options: argparse.Namespace) -> int:
        from dpdb.cli.noise import run_noise

        return run_noise(options)

    parser = _command(
        commands,
        "noise",
        run,
        "write a dirtied copy of a table, for experiments (paper A, section 6.1)",
        "dpdb noise rnoise adult.parquet --constraints adult.dcs.txt --alpha 0.01 --seed 1 --out noisy.parquet",
    )
    parser.add_argument(
        "kind", choices=["rnoise", "conoise"], help="rnoise changes random cells; conoise makes random pairs violate"
    )
    _source(parser)
    parser.add_argument("--out", required=True, metavar="FILE", help="new .parquet, .csv or .duckdb file")
    parser.add_argument("--alpha", type=float, help="rnoise: changes per cell of the table, such as 0.01")
    parser.add_argument("--typo", type=float, metavar="P", help="rnoise: probability of a typo (0.5)")
    parser.add_argument("--skew", type=float, metavar="BETA", help="rnoise: Zipf skew of values (0)")
    parser.add_argument("--iterations", type=int, metavar="N", help="conoise: iterations (200)")
    parser.add_argument("--sample", type=int, metavar="ROWS", help="first keep this many random rows")
    parser.add_argument("--seed", type=int, help="seed of the generator; the same seed gives the same file")
    parser.add_argument("--overwrite", action="store_true", help="replace FILE if it exists")
    _quiet(parser)


def _budget(commands: Any) -> None:
    def run(options: argparse.Namespace) -> int:
        from dpdb.cli.budget import run_budget

        return run_budget(options)

    actions = commands.add_parser("budget", help="make, show and continue ledgers: the durable budget of one table")
    actions = actions.add_subparsers(required=True, metavar="ACTION", dest="action")
    create = _command(
        actions,
        "create",
        run,
        "make the ledger of a table; its first release binds it to the table's columns",
        "dpdb budget create visits.ledger --epsilon 3",
    )
    show = _command(actions, "show", run, "print what was spent and what is left", "dpdb budget show visits.ledger")
    history = _command(actions, "history", run, "print every debit", "dpdb budget history visits.ledger")
    epoch = _command(
        actions,
        "epoch",
        run,
        "confirm that a changed source is the same table; what was spent stays spent",
        "dpdb budget epoch visits.ledger",
    )
    for parser in (create, show, history, epoch):
        parser.add_argument("ledger", metavar="LEDGER", help="file of the ledger")
        _format(parser)
    create.add_argument("--epsilon", required=True, metavar="E", help="total privacy cost allowed")
    create.add_argument("--notion", choices=["pure", "zcdp", "gdp"], default="pure", help="how losses add up (pure)")
    create.add_argument("--delta", type=float, default=0.0, metavar="D", help="of a zcdp or gdp ledger, such as 1e-6")
    create.add_argument("--append-only", action="store_true", help="rows are added and never change: no epochs needed")


def _overlap(commands: Any) -> None:
    def run(options: argparse.Namespace) -> int:
        from dpdb.cli.overlap import run_overlap

        return run_overlap(options)

    parser = _command(
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
        "--deadline", metavar="S", type=_positive, default=10.0, help="seconds after which the search stops (10)"
    )
    parser.add_argument("--schema", metavar="COLS", help="column types, such as 'age INTEGER, day DATE'")
    _format(parser)


def _job(commands: Any) -> None:
    def run(options: argparse.Namespace) -> int:
        from dpdb.cli.run import run_job_file

        return run_job_file(options)

    parser = _command(
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
    _quiet(parser)
    _format(parser)


def _report(commands: Any) -> None:
    def run(options: argparse.Namespace) -> int:
        from dpdb.cli.report import run_report

        return run_report(options)

    parser = _command(
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


def _sql(commands: Any) -> None:
    def run(options: argparse.Namespace) -> int:
        from dpdb.cli.sql import run_sql

        return run_sql(options)

    parser = _command(
        commands,
        "sql",
        run,
        "answer an analyst's SQL, which reaches the private table through releases only; without a statement, a prompt",
        "dpdb sql visits.parquet --constraints rules.txt --budget 3 "
        "\"SELECT * FROM dp_inconsistency('visits', measure := 'repair', epsilon := 0.5)\"",
    )
    parser.intermixed = True
    _source(parser)
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
        "--rows-per-person", type=int, default=1, metavar="K", help="at most K rows belong to one person (1)"
    )
    _unit(parser)
    parser.add_argument("--row-bound", type=int, metavar="N", help="public bound of the number of rows")
    parser.add_argument(
        "--format", choices=["table", "csv", "json", "parquet", "arrow"], default="table", help="output (table)"
    )
    parser.add_argument("--out", metavar="FILE", help="new file for the result, instead of standard output")
    _limits(parser)


def _demo(commands: Any) -> None:
    def run(options: argparse.Namespace) -> int:
        from dpdb.cli.demo import run_demo

        return run_demo(options)

    parser = _command(
        commands, "demo", run, "release the three measures of the bundled real hospital table", "dpdb demo --epsilon 1"
    )
    parser.add_argument("--epsilon", default="1", metavar="E", help="privacy cost of the three together (1)")
    _quiet(parser)


# -- shared options -------------------------------------------------------------------------------------------


def _source(parser: argparse.ArgumentParser, *, constraints: bool = True) -> None:
    parser.add_argument("source", metavar="SOURCE", help="Parquet file, directory or glob; CSV; DuckDB file")
    _shape(parser, constraints=constraints)


def _shape(
    parser: argparse.ArgumentParser,
    schema: str = "CSV column types, such as 'age INTEGER, day DATE'",
    *,
    constraints: bool = True,
) -> None:
    if constraints:
        parser.add_argument(
            "--constraints", required=True, metavar="FILE_OR_TEXT", action="append", help="may be repeated"
        )
    parser.add_argument("--table", metavar="T", help="table or view of a DuckDB file")
    parser.add_argument("--schema", metavar="COLS", help=schema)


def _release(parser: argparse.ArgumentParser, *, required: bool = True) -> None:
    parser.add_argument(
        "--measure", default="all", metavar="M", help="minimal_inconsistency, problematic, repair, or all (all)"
    )
    _slice(parser, required=required, epsilon="1")
    parser.add_argument("--mechanism", metavar="NAME", help="another mechanism than the measure's default")
    parser.add_argument(
        "--rate", action="store_true", help="share of rows (problematic, repair): 5%% of epsilon counts the rows"
    )
    parser.add_argument(
        "--each-constraint",
        action="store_true",
        help="measure every constraint alone; epsilon is the total, in equal parts",
    )
    parser.add_argument("--max-degree", type=int, metavar="N", help="public bound of conflicts per row")
    parser.add_argument("--row-bound", type=int, metavar="N", help="public bound of the number of rows")


def _slice(parser: argparse.ArgumentParser, *, required: bool = False, epsilon: str | None) -> None:
    parser.add_argument("--epsilon", required=required, default=epsilon, metavar="E", help="privacy cost, in total")
    parser.add_argument("--where", metavar="SQL", help="predicate that selects the slice")
    parser.add_argument("--by", metavar="COLUMN", help="one slice per key of this column, charged once")
    parser.add_argument("--keys", metavar="V,V", help="the public list of keys, as one line of CSV")
    parser.add_argument(
        "--rows-per-person", type=int, default=1, metavar="K", help="at most K rows belong to one person (1)"
    )
    _unit(parser)
    parser.add_argument("--confidence", type=float, default=0.95, metavar="C", help="of the bounds (.95)")


def _unit(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--unit", metavar="COLUMN", help="protect each value of COLUMN with all its rows")
    parser.add_argument("--max-rows", type=int, metavar="K", help="rows used of each value of the --unit column")


def _spending(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--ledger", metavar="FILE", help="durable budget of the table; see `dpdb budget create`")
    parser.add_argument("--run-id", metavar="ID", help="name of this run: asked again, the ledger gives its answer")


def _limits(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--memory-limit", metavar="SIZE", help="such as 1GB; more spills to disk")
    parser.add_argument("--temp-directory", metavar="DIR", help="where a private directory for spilled data is made")
    parser.add_argument("--threads", type=_threads, metavar="N", help="of the database")
    _quiet(parser)


def _quiet(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")
    parser.add_argument(
        "--owner-log",
        metavar="FILE",
        type=_owner_log,
        help="append details of failures to FILE, mode 0600; they may name private values",
    )


def _format(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--format", choices=["text", "json"], default="text", help="output (text)")


def _positive(text: str) -> float:
    value = float(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError("must be positive")
    return value


def _threads(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return value


def _owner_log(path: str) -> str:
    from dpdb.engine.database import OWNER_LOG

    try:
        os.close(os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600))
        handler = logging.FileHandler(path, encoding="utf-8")
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{path}: {error.strerror}") from None
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    OWNER_LOG.addHandler(handler)
    return path
