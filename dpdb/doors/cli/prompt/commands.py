"""The commands of the prompt, which start with a dot; they show public facts and the spent budget only."""

from __future__ import annotations

import re

from dpdb.doors.cli.result_formats import as_text
from dpdb.doors.cli.sql_words import budget_words, text_width
from dpdb.doors.cli.streams import show
from dpdb.doors.sql import FrontEnd
from dpdb.names import folded, in_double_quotes, nearest_words

__all__ = ["DOT_COMMANDS", "described", "run_command"]

DOT_COMMANDS = (".budget", ".help", ".quit", ".rules", ".schema", ".tables")
_OTHER_WORDS = {"help": ".help", "quit": ".quit", "exit": ".quit", ".exit": ".quit"}
_DESCRIBE = re.compile(r"\s*(?:DESCRIBE|DESC)\s+(?:TABLE\s+)?(\"(?:[^\"]|\"\")+\"|\w+)\s*;?\s*", re.IGNORECASE)
_HELP = """\
Statements end with a semicolon and may take several lines. The private table is reached through releases only:
  SELECT * FROM dp_inconsistency('{table}', measure := 'repair', epsilon := 0.5);
  SELECT (dp_count('{table}', epsilon := 0.1, where := 'age >= 65')).value;
  {explain}  the plan and the privacy cost; spends nothing
  {describe}  columns and types of a table
.budget   what is spent and left        .tables   what statements may name
.schema   the private table's columns   .rules    its constraints
.help     this text                     .quit     leave (also Ctrl-D)
"""


def run_command(front_end: FrontEnd, line: str) -> bool | None:
    """Run a command; return whether it ends the prompt, or None if the line is no command."""
    name = _OTHER_WORDS.get(line, line)
    if not name.startswith("."):
        return None
    table = front_end.table_name
    match name:
        case ".quit":
            return True
        case ".budget":
            show(budget_words(front_end))
        case ".tables":
            public = map("{}  (public)".format, front_end.public)
            show("\n".join([f"{table}  (private: releases only)", *public]))
        case ".schema":
            show(_columns(front_end))
        case ".rules":
            show("\n".join(dc.label for dc in front_end.session.constraints) or "no constraints")
        case ".help":
            named = table if table.isidentifier() else in_double_quotes(table)
            explain, describe = "EXPLAIN SELECT ...;", f"DESCRIBE {named};"
            width = max(len(explain), len(describe))
            shown = {"explain": explain.ljust(width), "describe": describe.ljust(width)}
            show(_HELP.format(table=table.replace("'", "''"), **shown).rstrip("\n"))
        case _:
            show(f"unknown command {name}{nearest_words(name, DOT_COMMANDS)}")
    return False


def described(front_end: FrontEnd, statement: str) -> str | None:
    """Answer ``DESCRIBE table``, of a private or public table; None if the statement is something else."""
    match = _DESCRIBE.fullmatch(statement)
    if match is None:
        return None
    name = match[1][1:-1].replace('""', '"') if match[1].startswith('"') else match[1]
    if folded(name) == folded(front_end.table_name):
        return _columns(front_end)
    if all(folded(name) != folded(public) for public in front_end.public):
        return None
    return as_text(front_end.run(f"DESCRIBE SELECT * FROM {match[1]}").table, text_width())


def _columns(front_end: FrontEnd) -> str:
    import pyarrow as pa

    columns = front_end.session.public.opened.schema.columns
    kinds = [f"{column.declared_type}{' (no type: text)' if column.is_untyped else ''}" for column in columns]
    return as_text(pa.table({"column": [column.name for column in columns], "type": kinds}), text_width())
