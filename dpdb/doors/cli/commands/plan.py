"""`dpdb plan`: the errors to expect of releases, simulated on a synthetic table."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from dpdb.doors.cli.numbers import real, whole
from dpdb.doors.cli.options import csv_schema, distinct
from dpdb.doors.cli.shared_options import command, format_option, shape_options
from dpdb.doors.cli.streams import show

if TYPE_CHECKING:
    from dpdb.owner import ExpectedError, Plan

__all__ = ["add", "run"]


def add(commands: Any) -> None:
    """Add `dpdb plan`."""
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


def run(options: argparse.Namespace) -> int:
    """Print the errors to expect."""
    from dpdb.owner import plan

    planned = plan(
        options.source,
        options.constraints,
        rows=options.rows,
        error_rate=options.error_rate,
        epsilon=options.epsilon,
        table=options.table,
        schema=csv_schema(options),
        distinct=distinct(options),
        max_degree=options.max_degree,
        target=options.target,
        repetitions=options.repetitions,
        seed=options.seed,
    )
    show(json.dumps(planned.to_dict(), indent=2) if options.format == "json" else _text(planned))
    return 0


def _text(planned: Plan) -> str:
    values = ", ".join(f"{name} {count:,}" for name, count in planned.distinct.items())
    lines = [
        f"synthetic table: {planned.rows:,} rows, {planned.error_rate:.3g} of its cells changed (seed {planned.seed})",
        f"distinct values: {values}",
        *(f"note: {note}" for note in planned.notes),
        "",
        f"each measure alone, epsilon {planned.epsilon:g}",
        *_table(planned.expected),
        *(f"  {name}: not simulated, {why}" for name, why in planned.skipped.items()),
        "",
        f"all three together, epsilon {planned.epsilon:g} in total",
        *_table(planned.together),
    ]
    if planned.target is not None:
        lines += [
            "",
            f"relative error that 90% of the releases stay below, beside the risk; the target is {planned.target:.3g}",
        ]
        lines += _ladder(planned)
        lines += [
            f"  recommended for {name}: {_epsilon(epsilon)}" for name, epsilon in planned.smallest_epsilon.items()
        ]
    lines += ["", f"for one person, {planned.risk.words}", "what is released together adds up: plan with the sum"]
    lines += ["", "simulated with the real noise on synthetic rows; nothing was spent and no row was read"]
    return "\n".join(lines)


def _ladder(planned: Plan) -> list[str]:
    rows = [("epsilon", "odds change", "attacker right", *planned.smallest_epsilon)]
    for rung in planned.ladder:
        errors = [_share(rung.relative_error_90.get(name)) for name in planned.smallest_epsilon]
        risk = rung.risk
        rows.append((f"{risk.epsilon:g}", risk.odds_words, risk.accuracy_words, *errors))
    width = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  " + "  ".join(cell.rjust(w) for cell, w in zip(row, width, strict=True)) for row in rows]


def _table(errors: tuple[ExpectedError, ...]) -> list[str]:
    head = ("measure", "mechanism", "truth", "error", "90% below", "relative", "90% below", "lower held")
    rows = [
        (
            error.measure,
            f"{error.mechanism}{' (default)' if error.default else ''}",
            f"{error.truth:,g}" if error.truth < 10**6 else f"{error.truth:,.0f}",
            f"{error.absolute_error:,.1f}",
            f"{error.absolute_error_90:,.1f}",
            _share(error.relative_error),
            _share(error.relative_error_90),
            f"{error.lower_held:.0%} of {error.repetitions}",
        )
        for error in errors
    ]
    width = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    return [
        "  "
        + "  ".join(
            cell.ljust(w) if k < 2 else cell.rjust(w) for k, (cell, w) in enumerate(zip(row, width, strict=True))
        )
        for row in (head, *rows)
    ]


def _share(number: float | None) -> str:
    return "-" if number is None else f"{number:.2%}"


def _epsilon(number: float | None) -> str:
    if number is None:
        return "none: even epsilon 10, which promises one person next to nothing, is not enough; accept a larger error"
    return f"epsilon {number:g}, the smallest of these that reaches the target"
