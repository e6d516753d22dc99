"""From parsed options to the parameters of sessions and releases."""

from __future__ import annotations

import argparse
import csv
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from dpdb.doors.cli.numbers import real
from dpdb.engine import SETTINGS, Setting
from dpdb.errors import ParameterError

if TYPE_CHECKING:
    from dpdb.release import Gate

__all__ = [
    "csv_line",
    "csv_schema",
    "distinct",
    "keys",
    "named_files",
    "option_of",
    "table_settings",
    "thresholds",
    "values",
]


_COUNT = re.compile("[0-9]{1,18}")


def csv_line(option: str, text: str, *, spaced: bool = False) -> list[str]:
    """Read the text of an option as one line of CSV; with `spaced` without the spaces after commas."""
    try:
        return next(csv.reader([text], skipinitialspace=spaced), [])
    except csv.Error:  # a line break outside of quotes, or a field beyond the reader's limit
        raise ParameterError(
            f"{option}: expected one line of CSV; what holds a comma or a line break is in quotes"
        ) from None


def csv_schema(options: argparse.Namespace) -> dict[str, str] | None:
    """Read `--schema 'age INTEGER, "birth day" DATE'`."""
    if options.schema is None:
        return None
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    from dpdb.constraints import shortened

    problem = ParameterError(
        f"--schema {shortened(options.schema)!r}: expected column names with types, such as 'age INTEGER'"
    )
    try:
        statements = sqlglot.parse(f"CREATE TABLE t ({options.schema}\n)", dialect="duckdb")
    except (SqlglotError, RecursionError):
        raise problem from None
    table = statements[0].this if len(statements) == 1 and isinstance(statements[0], exp.Create) else None
    columns = table.expressions if isinstance(table, exp.Schema) else []
    if not columns or not all(isinstance(column, exp.ColumnDef) and column.kind for column in columns):
        raise problem
    try:
        return {column.name: column.kind.sql("duckdb") for column in columns}
    except RecursionError:
        raise problem from None


def keys(options: argparse.Namespace) -> list[str] | None:
    """Read `--keys CA,NY,"a, b"`."""
    return None if options.keys is None else csv_line("--keys", options.keys)


def distinct(options: argparse.Namespace) -> dict[str, int]:
    """Read every `--distinct COLUMN=K`."""
    read = {}
    for text in options.distinct:
        name, _, count = text.rpartition("=")
        if not name or not _COUNT.fullmatch(count):
            raise ParameterError(f"--distinct {text!r}: expected COLUMN=NUMBER")
        read[name] = int(count)
    return read


def values(options: argparse.Namespace) -> dict[str, list[str]]:
    """Read every `--values COLUMN=V,V`, whose values are one line of CSV."""
    read: dict[str, list[str]] = {}
    for text in options.values:
        name, _, line = text.partition("=")
        if not name or not line:
            raise ParameterError(f"--values {text!r}: expected COLUMN=VALUE,VALUE")
        read[name] = csv_line("--values", line)
    return read


def option_of(setting: Setting) -> str:
    """Return the option of a table's setting; the name of a repeatable option is in the singular."""
    name = setting.key.removesuffix("s") if setting.kind == "parents" else setting.key
    return f"--{name.replace('_', '-')}"


def table_settings(options: argparse.Namespace) -> dict[str, Any]:
    """Return, by name, the settings of a table for which a command has options."""
    given = {name: getattr(options, _dest(setting)) for name, setting in SETTINGS.items() if _dest(setting) in options}
    for name, value in given.items():
        if SETTINGS[name].kind == "parents":
            parents = named_files(option_of(SETTINGS[name]), value or [], needs_file=False)
            given[name] = {parent: path or None for parent, path in parents.items()}
    return given | ({"csv_schema": csv_schema(options)} if "csv_schema" in given else {})


def _dest(setting: Setting) -> str:
    return option_of(setting).removeprefix("--").replace("-", "_")


def named_files(option: str, given: Iterable[str], *, needs_file: bool = True) -> dict[str, str]:
    """Read every NAME=FILE of an option.

    Parameters
    ----------
    option
        Name of the option, for messages.
    given
        Its values.
    needs_file
        Whether a name alone is refused; else its file is empty.
    """
    read: dict[str, str] = {}
    for text in given:
        name, equals, path = text.partition("=")
        if not name.strip() or not (path or (not needs_file and not equals)):
            raise ParameterError(f"{option} {text!r}: expected {'' if needs_file else 'NAME or '}NAME=FILE")
        if name.strip() in read:
            raise ParameterError(f"{option} {text!r}: the name is taken")
        read[name.strip()] = path
    return read


def thresholds(options: argparse.Namespace, measures: tuple[str, ...]) -> list[Gate]:
    """Read every `--fail-above MEASURE=X` and `--warn-above`; the measure must be among those released."""
    stated = [("--fail-above", text, False) for text in options.fail_above]
    stated += [("--warn-above", text, True) for text in options.warn_above]
    if not stated:
        return []
    from dpdb.release import parse_gate

    read = []
    for option, text, warns in stated:
        name, _, limit = text.partition("=")
        try:
            threshold = real(limit)
        except argparse.ArgumentTypeError:
            raise ParameterError(f"{option} {text!r}: expected MEASURE=NUMBER") from None
        read.append(parse_gate(name, threshold, measures, f"{option} {text!r}", rate=options.rate, warns=warns))
    return read
