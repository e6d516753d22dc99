"""`dpdb rules lint`."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import Any

from dpdb.doors.cli.shared_options import command, format_option
from dpdb.doors.cli.streams import show

__all__ = ["add_lint"]


def add_lint(actions: Any) -> None:
    """Add `dpdb rules lint`."""
    text = "find duplicate, implied, contradicting and quadratic rules; reads no row; exit code 1 if there are any"
    parser = command(actions, "lint", _lint, text, "dpdb rules lint rules.txt")
    parser.add_argument("constraints", metavar="FILE_OR_TEXT", nargs="+", help="constraints files or texts")
    format_option(parser)


def _lint(options: argparse.Namespace) -> int:
    """Print the findings."""
    from dpdb.rules import lint

    findings = lint(options.constraints)
    if options.format == "json":
        show(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        lines = [f"rule {finding.rules[0]}: {finding.kind}: {finding.message}" for finding in findings]
        show("\n".join(lines) if lines else "nothing odd")
    return 1 if findings else 0
