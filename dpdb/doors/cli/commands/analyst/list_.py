"""`dpdb analyst list`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from dpdb.doors.cli.commands.analyst.analyst_options import server_command
from dpdb.doors.cli.shared_options import format_option

if TYPE_CHECKING:
    from dpdb.ledger import RecordedAnalyst

__all__ = ["add_list"]

_HEADINGS = ("analyst", "table", "role", "quota", "spent", "per statement", "expires", "access")


def add_list(actions: Any) -> None:
    """Add `dpdb analyst list`."""
    text = "show who may ask, and what each has spent"
    parser = server_command(actions, "list", _list, text, "dpdb analyst list --config serve.toml")
    format_option(parser)


def _list(options: argparse.Namespace) -> int:
    """Print one line for each analyst and table."""
    from dpdb.doors.cli.checks_text import aligned
    from dpdb.doors.server.analysts import list_analysts
    from dpdb.doors.server.configuration import load_configuration

    found = list_analysts(load_configuration(options.config))
    if options.format == "json":
        print(json.dumps([_object(name, table, one) for name, of in found.items() for table, one in of.items()]))
        return 0
    lines = [_HEADINGS, *(_line(name, table, one, of) for name, of in found.items() for table, one in of.items())]
    print("\n".join(aligned(lines)))
    return 0


def _object(name: str, table: str, one: RecordedAnalyst | None) -> dict[str, Any]:
    known = {} if one is None else {key: value for key, value in asdict(one).items() if key != "token"}
    return {"name": name, "table": table, "known": one is not None, **known}


def _line(
    name: str, table: str, one: RecordedAnalyst | None, of: Mapping[str, RecordedAnalyst | None]
) -> tuple[str, ...]:
    if one is None:
        return (name, table, "", "", "", "", "", "missing here: repeat `dpdb analyst add`")
    alike = len({None if each is None else (each.role, each.token) for each in of.values()}) == 1
    access = one.ended or ("given" if alike else "differs between ledgers: repeat `dpdb analyst add`")
    return (name, table, one.role, _amount(one.quota), _amount(one.spent), _amount(one.most_per_statement),
            (one.expires or "")[:16], access)  # fmt: skip


def _amount(number: float | None) -> str:
    return "" if number is None else f"{number:.9g}"
