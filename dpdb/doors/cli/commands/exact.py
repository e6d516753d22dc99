"""`dpdb exact`: for the owner only."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dpdb.doors.cli.options import command, csv_line, format_option, given, limit_options, table_options, table_settings
from dpdb.doors.cli.parser import positive
from dpdb.doors.cli.streams import show
from dpdb.errors import ParameterError

if TYPE_CHECKING:
    from dpdb.owner import ExactMeasures

_STEPS = 4


def add_exact(commands: Any) -> None:
    """Add `dpdb exact`."""
    text = "print the true values, which are not private: for the owner of the data only"
    example = "dpdb exact hospital.parquet --constraints hospital.dcs.txt --non-private --format json"
    parser = command(commands, "exact", run, text, example)
    table_options(parser)
    parser.add_argument("--where", metavar="SQL", help="predicate that selects the slice")
    parser.add_argument("--non-private", action="store_true", help="yes, exact values may be shown")
    parser.add_argument("--measure", metavar="M", action="append", help="compute only this measure; may be repeated")
    parser.add_argument(
        "--by-constraint", action="store_true", help="also each constraint by itself: violations, measures named"
    )
    parser.add_argument(
        "--violations",
        metavar="FILE",
        help="write what violates each constraint by itself to a new .csv, .parquet or .duckdb file",
    )
    parser.add_argument("--repair-rows", metavar="FILE", help="write a smallest set of rows to delete to such a file")
    parser.add_argument("--suggest", metavar="FILE", help="write values to change to the majority of their group")
    parser.add_argument("--columns", metavar="NAMES", help="columns that these files show of each row: id,name or '*'")
    parser.add_argument("--materialize", metavar="FILE", help="leave the conflict edges in a new DuckDB file")
    parser.add_argument(
        "--time-limit", metavar="S", type=positive, default=10.0, help="seconds for proving the exact repair (10)"
    )
    limit_options(parser)
    format_option(parser)


def run(options: argparse.Namespace) -> None:
    """Print true values; `exact` refuses without `--non-private`."""
    from dpdb.doors.cli.session import step_bar
    from dpdb.owner import exact_measures

    files = (options.violations, options.repair_rows, options.suggest, options.materialize)
    measures = exact_measures(
        options.source,
        measures=options.measure,
        suggestions=options.suggest,
        columns=_names(options.columns),
        **given(
            options, "non_private", "where", "by_constraint", "violations", "repair_rows", "materialize", "time_limit"
        ),
        progress=step_bar(options, _STEPS + options.by_constraint + sum(file is not None for file in files)),
        **table_settings(options),
    )
    with _digits_without_limit():
        show(json.dumps(measures.to_dict(), indent=2) if options.format == "json" else _text(measures))


@contextmanager
def _digits_without_limit() -> Iterator[None]:
    """Print numbers of any length: counts of maximal consistent subsets may have more digits than Python's limit."""
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        yield
    finally:
        sys.set_int_max_str_digits(limit)


def _names(text: str | None) -> tuple[str, ...]:
    """Read names separated by commas, as a line of CSV: names with commas are quoted."""
    if text is None:
        return ()
    names = tuple(name.strip() for name in csv_line("--columns", text, spaced=True))
    if not all(names) or not names:
        raise ParameterError(f"--columns {text!r}: expected names separated by commas, or '*'")
    return names


def _text(measures: ExactMeasures) -> str:
    fields = measures.to_dict()
    reasons = fields.pop("reasons")
    by_constraint = fields.pop("by_constraint", [])
    not_of_type = fields.pop("not_of_type", {})
    lines = ["NOT PRIVATE: exact values, for the owner of the data only"]
    lines += [f"{name:22} {'-' if value is None else value}" for name, value in fields.items()]
    lines += [f"{name}: {reason}" for name, reason in reasons.items()]
    lines += [f"column {name!r}: {n:,} cells are no values of its type, so NULL" for name, n in not_of_type.items()]
    return "\n".join([*lines, *_of_each(by_constraint)])


def _of_each(rules: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Give a line for each constraint, under a line of headings if it has several numbers."""
    names = [name for name in (rules[0] if rules else {}) if name not in {"constraint", "reasons"}]
    widths = [max(12, len(name)) for name in names]
    if len(names) > 1:
        yield "  ".join(f"{name:>{width}}" for name, width in zip(names, widths, strict=True)) + "  constraint"
    for rule in rules:
        cells = ("-" if rule[name] is None else rule[name] for name in names)
        yield (
            "  ".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True)) + f"  {rule['constraint']}"
        )
    for rule in rules:
        yield from (f"{name} of {rule['constraint']}: {reason}" for name, reason in rule.get("reasons", {}).items())
