"""`dpdb explain`."""

from __future__ import annotations

import argparse
import json
import textwrap
from typing import Any

from dpdb.doors.cli.options import (
    ask_options,
    command,
    format_option,
    setting_options,
    table_options,
    table_settings,
)
from dpdb.doors.cli.parser import whole
from dpdb.doors.cli.streams import show
from dpdb.release import OPTIONS
from dpdb.settings import LIMITS


def add_explain(commands: Any) -> None:
    """Add `dpdb explain`."""
    text = "show what a release runs and costs: its SQL, noise and price; spends nothing and shows no data"
    example = "dpdb explain hospital.parquet --constraints hospital.dcs.txt --epsilon 1"
    parser = command(commands, "explain", run, text, example)
    table_options(parser)
    ask_options(parser, OPTIONS, epsilon={"help": f"{OPTIONS['epsilon'].words} (1)"})
    parser.add_argument("--rows", type=whole, metavar="N", help="a guess of the number of rows: says what else to ask")
    setting_options(parser, LIMITS)
    format_option(parser)


def run(options: argparse.Namespace) -> None:
    """Print what a release would run and cost."""
    from dpdb.doors.cli.session import asked
    from dpdb.release.explain import explain

    if options.epsilon is None and options.rho is None:
        options.epsilon = "1"  # it spends nothing
    explained = explain(
        options.source,
        ask=asked(options, "dp_inconsistency"),
        rows=options.rows,
        **table_settings(options),
    )
    show(json.dumps(explained, indent=2) if options.format == "json" else _text(explained))


def _text(explained: dict[str, Any]) -> str:
    from dpdb.release import NOTHING_SPENT, cost_preview

    lines = [f"source: {explained['source']}"]
    if explained["where"]:
        lines.append(f"slice:  {explained['where']}")
    lines.append(f"unit:   {explained['unit']['words']}")
    if explained["unit"]["sql"]:
        lines.append(textwrap.indent(explained["unit"]["sql"], "   "))
    for number, constraint in enumerate(explained["constraints"], 1):
        lines += [
            "",
            f"{number}. {constraint['constraint']}",
            f"   {constraint['words']} ({constraint['shape']})",
            f"   kept as {constraint['representation']}{_joined(constraint)}",
        ]
    bound = explained["degree_bound"]
    lines += [
        "",
        f"degree bound: {' + '.join(bound['terms']) or 'no constraint over two tuples'}; "
        f"one row changes it by at most {bound['sensitivity']}",
    ]
    lines += [line for release in explained["releases"] for line in _planned(release)]
    lines += _charged(explained)
    lines += [f"also: {offer}" for offer in explained["offers"]]
    lines += _queries(explained)
    lines += ["", f"total cost: {cost_preview(explained['epsilon'], explained['charges'])}; {NOTHING_SPENT}"]
    return "\n".join(lines)


def _joined(constraint: dict[str, Any]) -> str:
    if constraint["operator"] is None:
        return ""
    plan = " <- ".join(constraint["plan"])
    return f"; joined by {constraint['operator']} at realistic sizes\n   plan on an empty table: {plan}"


def _queries(explained: dict[str, Any]) -> list[str]:
    """Return the queries of one slice, each under the files of `sql/` that it comes from."""
    queries = explained["queries"]
    if queries is None:
        return ["", "queries: the other engine is asked in its own SQL"]
    lines = ["", f"queries of one slice, counted on an empty table: {len(queries)}"]
    lines += [f"   {choice}" for choice in explained["choices"]]
    for number, query in enumerate(queries, 1):
        files = ", ".join(f"sql/{name}.sql" for name in query["files"])
        lines += ["", f"-- {number}. {files or 'made for these rules'}", f"{query['sql']};"]
    return lines


def _planned(planned: dict[str, Any]) -> list[str]:
    constraint = "" if planned["constraint"] is None else f" of {planned['constraint']}"
    return [
        f"{planned['measure']}{constraint}: mechanism {planned['mechanism']}, {_cost(planned)}, "
        f"{planned['noise']}; computing {planned['time']}",
        f"   {planned['edges']}",
    ]


def _cost(planned: dict[str, Any]) -> str:
    epsilon = planned["epsilon"]
    return f"rho {planned['rho']:g}" if epsilon is None else f"epsilon {epsilon:g}"


def _charged(explained: dict[str, Any]) -> list[str]:
    """Return for which rows a ledger charges the release; a predicate that is not understood is charged in full."""
    charged = explained["charged"]
    rows = charged["rows"]
    if charged["every_row"] and explained["where"]:
        rows = "every row: the slice does not lower the charge"
    also = [f"the ledger of {name} charges as much: every row" for name in charged["also"]]
    return [f"a ledger charges: {rows}", *(f"   {note}" for note in charged["notes"]), *also]
