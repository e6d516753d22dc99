"""`dpdb plan`: the errors to expect of releases, simulated on a synthetic table."""

from __future__ import annotations

import argparse
import json
from typing import Any

from dpdb.doors.cli.options import (
    command,
    declared_options,
    distinct,
    format_option,
    given,
    margin_option,
    setting_options,
    shape_options,
    table_settings,
    values,
)
from dpdb.doors.cli.parser import real, whole
from dpdb.doors.cli.streams import show
from dpdb.errors import ParameterError
from dpdb.settings import LIMITS, SETTINGS


def add_plan(commands: Any) -> None:
    """Add `dpdb plan`."""
    text = "simulate releases on a synthetic table of a guessed shape; spends nothing and reads no row"
    example = "dpdb plan visits.parquet --constraints rules.txt --epsilon 1 --rows 10000 --error-rate 0.01"
    parser = command(commands, "plan", run, text, example)
    parser.add_argument("source", metavar="SOURCE", nargs="?", help="as of `dpdb measure`; only its schema is read")
    types = "column types, such as 'age INTEGER, day DATE': of a CSV file, or in place of SOURCE"
    shape_options(parser, types, constraints=False)
    constraints = SETTINGS["constraints"]
    parser.add_argument("--constraints", metavar=constraints.letter, action="append", help=constraints.words)
    parser.add_argument("--suite", metavar="FILE", help="plan a suite of checks instead: needs --rows and no SOURCE")
    parser.add_argument("--certain", choices=["fail", "pass"], default="fail", help="with --suite: as of `dpdb check`")
    parser.add_argument(
        "--runs", type=whole, default=1, metavar="H", help="with --suite: how often it runs if kept (1)"
    )
    margin_option(parser)
    parser.add_argument("--epsilon", default="1", metavar="E", help="privacy cost to plan for (1)")
    parser.add_argument("--rows", type=whole, required=True, metavar="N", help="a guess of the number of rows")
    parser.add_argument("--error-rate", type=real, metavar="A", help="guessed share of wrong cells, such as 0.01")
    text = "a guess of the column's number of distinct values (square root of N); may be repeated"
    parser.add_repeated("--distinct", metavar="COLUMN=K", help=text)
    text = "values that a column may have, where its rules alone do not tell any; may be repeated"
    parser.add_repeated("--values", metavar="COLUMN=V,V", help=text)
    parser.add_argument("--max-degree", type=whole, metavar="N", help="public bound of conflicts per row")
    parser.add_argument("--target", type=real, metavar="X", help="find the epsilon that gives this relative error")
    parser.add_argument("--repetitions", type=whole, default=50, metavar="R", help="simulated releases per figure (50)")
    parser.add_argument("--seed", type=whole, help="of the synthetic table; the noise is fresh every time")
    declared_options(parser)
    setting_options(parser, LIMITS)
    format_option(parser)


def run(options: argparse.Namespace) -> None:
    """Print the errors to expect, or what a suite of checks will be able to tell apart."""
    if options.suite is not None:
        _suite(options)
        return
    for name in ("constraints", "error_rate"):
        if getattr(options, name) is None:
            raise ParameterError(f"{_option(name)} is missing (or give --suite FILE)")
    from dpdb.owner import plan

    planned = plan(
        options.source,
        distinct=distinct(options),
        values=values(options),
        **given(options, "rows", "error_rate", "epsilon", "max_degree", "target", "repetitions", "seed"),
        **table_settings(options),
    )
    show(json.dumps(planned.to_dict(), indent=2) if options.format == "json" else str(planned))


def _suite(options: argparse.Namespace) -> None:
    from dpdb.suites import load_suite, planned_words

    for name in ("source", "constraints", "error_rate", "target"):
        if getattr(options, name) is not None:
            raise ParameterError(f"--suite is planned without {'SOURCE' if name == 'source' else _option(name)}")
    if options.format != "text":
        raise ParameterError("--suite is planned in words: --format text")
    suite = load_suite(options.suite, date="2000-01-01")  # whatever {date} stands for, the plan is the same
    show("\n".join(planned_words(suite, options.epsilon, options.rows, **given(options, "runs", "certain", "margin"))))


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"
