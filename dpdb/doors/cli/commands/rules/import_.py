"""`dpdb rules import`."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import Any

from dpdb.doors.cli.shared_options import command, format_option
from dpdb.doors.cli.streams import say, show

__all__ = ["add", "run"]


def add(actions: Any) -> None:
    """Add `dpdb rules import`."""
    parser = command(
        actions,
        "import",
        run,
        "write the constraints that a dbt schema, SQL DDL, Great Expectations suite, Soda file or data contract states",
        "dpdb rules import models/schema.yml --table orders > rules.txt",
    )
    parser.add_argument("file", metavar="FILE", help="schema.yml, dbt project, .sql, suite.json, .odcs.yaml, ...")
    parser.add_argument("--table", metavar="T", help="the table whose rules are wanted, where the file has several")
    parser.add_argument("--dialect", default="postgres", metavar="D", help="SQL dialect of DDL, as sqlglot names it")
    format_option(parser)


def run(options: argparse.Namespace) -> int:
    """Print a constraints file; it lists the checks that are left out, and standard error has their number."""
    from dpdb.rules import import_rules

    imported = import_rules(options.file, options.table, options.dialect)
    show(json.dumps(asdict(imported), indent=2) if options.format == "json" else imported.text().rstrip("\n"))
    if imported.left_out:
        say(f"rules taken: {len(imported.rules)}, checks left out: {len(imported.left_out)}; the output says why")
    return 0
