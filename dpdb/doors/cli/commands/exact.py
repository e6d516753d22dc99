"""`dpdb exact` and `dpdb conformance`: for the owner only."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from dpdb.doors.cli.options import (
    command,
    csv_line,
    format_option,
    given,
    limit_options,
    quiet_options,
    table_options,
    table_settings,
)
from dpdb.doors.cli.parser import positive
from dpdb.doors.cli.streams import show
from dpdb.errors import ParameterError
from dpdb.names import aligned

if TYPE_CHECKING:
    from dpdb.owner import Conformance, ExactMeasures
    from dpdb.suites import ExactCheck

_STEPS = 4


def add_exact(commands: Any) -> None:
    """Add `dpdb exact`."""
    text = "print the true values, which are not private: for the owner of the data only"
    example = "dpdb exact hospital.parquet --constraints hospital.dcs.txt --non-private --format json"
    parser = command(commands, "exact", run, text, example)
    table_options(parser, required=False)
    parser.add_argument("--suite", metavar="FILE", help="instead: the truth beside each limit of this suite")
    parser.add_argument("--date", metavar="DAY", help="with --suite: what {date} stands for in it, as YYYY-MM-DD")
    parser.add_argument("--now", metavar="TIME", help="with --suite: by which rows are fresh, as 2026-11-28T07:00:00Z")
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

    if options.suite is not None:
        _show_checks(options)
        return
    if not options.constraints:
        raise ParameterError("exact needs --constraints, or --suite FILE for the truth of its checks")
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


_OF_MEASURES = (
    "constraints",
    "measure",
    "by_constraint",
    "violations",
    "repair_rows",
    "suggest",
    "columns",
    "materialize",
)


def _show_checks(options: argparse.Namespace) -> None:
    """Print the true statistic, verdict and share beside each limit of a suite."""
    from dpdb.constraints import written_lines
    from dpdb.doors.cli.session import step_bar
    from dpdb.suites import COVER, Session, load_suite

    for name in _OF_MEASURES:
        if getattr(options, name) not in (None, False, []):
            raise ParameterError(f"--{name.replace('_', '-')} is of measures; --suite has its own rules and statistics")
    written = written_lines(options.suite)
    settings = table_settings(options) | {"constraints": load_suite(written, date=options.date).rules}
    with Session(options.source, **settings, progress=step_bar(options, _STEPS)) as session:
        found = session.exact_checks(
            written, non_private=options.non_private, where=options.where, day=options.date, now=options.now
        )
    if options.format == "json":
        show(json.dumps({"non_private": True, "checks": [asdict(each) for each in found]}, indent=2))
        return
    rows = [("verdict", "check", "true", "share", "limit"), *map(_cells, found)]
    covers = "Of a fractional cover (c) up to twice as many rows have to go."
    notes = [covers] if any(each.statistic == COVER for each in found) else []
    show("\n".join(["NOT PRIVATE: exact values, for the owner of the data only", *aligned(rows, "llrr"), *notes]))


def _cells(each: ExactCheck) -> tuple[str, ...]:
    from dpdb.suites import COVER

    said = each.verdict if each.verdict != "fail" else "FAIL" if each.severity == "fail" else "WARN"
    share = "" if each.share is None else f"{100 * each.share:.6g}%"
    return said, each.name, f"{each.value:,}{' (c)' if each.statistic == COVER else ''}", share, each.limit


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
    judged = fields.pop("judged", {})
    for name in ("not_of_type", "not_utf8", "files"):
        fields.pop(name, None)
    lines = ["NOT PRIVATE: exact values, for the owner of the data only"]
    lines += [f"{name:22} {'-' if value is None else value}" for name, value in fields.items()]
    lines += [f"{name}: {reason}" for name, reason in reasons.items()]
    lines += [] if measures.faults is None else measures.faults.words()
    lines += [
        f"{rule}: judged {rows:,} of {measures.rows:,} rows, those without NULL in its columns"
        for rule, rows in judged.items()
        if rows != measures.rows
    ]
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


_NOT_PASSED = 1
_SHOWN = 10


def add_conformance(commands: Any) -> None:
    """Add `dpdb conformance`."""
    text = "try whether another engine counts as dpdb does, over made tables that are dropped again"
    example = "dpdb conformance clickhouse://owner@host/scratch --out passed.jsonl"
    parser = command(commands, "conformance", run_suite, text, example)
    parser.add_argument("source", metavar="SOURCE", help="an address of PostgreSQL or ClickHouse, or spark:")
    parser.add_argument("--schema", metavar="NAME", help="schema or database in which tables may be made for a while")
    parser.add_argument(
        "--out", metavar="FILE", help="record that it has passed; the variable DPDB_CONFORMANCE then names this file"
    )
    format_option(parser)
    quiet_options(parser)


def run_suite(options: argparse.Namespace) -> int:
    """Run the suite, and print one line for what was tried, refused and different. Exit code 1 unless it passes."""
    from dpdb.doors.cli.session import step_bar
    from dpdb.owner import run_conformance

    found = run_conformance(options.source, options.schema, out=options.out, progress=step_bar(options, 15))
    show(_conformance_json(found) if options.format == "json" else _conformance_text(found, options.out))
    return 0 if found.passed else _NOT_PASSED


def _conformance_json(found: Conformance) -> str:
    fields = {"server": found.server, "tried": found.tried, "equal": found.equal, "passed": found.passed}
    return json.dumps(fields | {"refused": sorted(found.refused), "different": found.different}, indent=2)


def _conformance_text(found: Conformance, out: str | None) -> str:
    """Say what came of it; of what differs the first ones."""
    lines = [f"{found.server}: tried {found.tried:,}, equal {found.equal:,}, different {len(found.different):,}"]
    lines += [f"refused, at no cost: {', '.join(sorted(found.refused))}"] if found.refused else []
    lines += [f"different: {each}" for each in found.different[:_SHOWN]]
    if len(found.different) > _SHOWN:
        lines.append(f"and {len(found.different) - _SHOWN:,} more")
    if not found.passed:
        return "\n".join([*lines, "not passed: nothing should be released of it"])
    return "\n".join([*lines, "passed" if out is None else f"passed, as {out} says: export DPDB_CONFORMANCE={out}"])
