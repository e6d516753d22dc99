"""Options that several commands share, and the parameters of sessions and releases that are read from them."""

from __future__ import annotations

import argparse
import csv
import logging
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from dpdb.doors.cli.parser import CONFIG, Parser, real, whole
from dpdb.doors.cli.streams import describe_failure, say
from dpdb.errors import ParameterError
from dpdb.options import Kind, Option
from dpdb.release import COUNT_OPTIONS, OPTIONS
from dpdb.settings import LIMITS, SETTINGS

if TYPE_CHECKING:
    from dpdb.release import Gate, Release

_Command = Callable[[argparse.Namespace], int | None]
_SHAPE = ("constraints", "table", "csv_schema", "delimiter")


def command(commands: Any, name: str, run: _Command, text: str, example: str, *, config: str | None = None) -> Parser:
    """Make a command with its help and an example.

    Parameters
    ----------
    commands
        The subparsers that the command is added to.
    run
        Runs the command and returns its exit code, None for 0; imports its work on first use.
    text
        The help: a phrase without a capital letter and a full stop.
    config
        What `--config` names, where it is no file of options: then it must be given, and no other file is looked for.
    """
    parser: Parser = commands.add_parser(
        name,
        help=text,
        description=text[0].upper() + text[1:] + ".",
        epilog=f"example:\n  {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    parser.takes_defaults = config is None
    words = config or "values of options that are not given (dpdb.toml, if harmless)"
    parser.add_argument(CONFIG, metavar="FILE", required=config is not None, help=words)
    return parser


def command_of_actions(commands: Any, name: str, text: str, *actions: Callable[[Any], None]) -> None:
    """Make a command that has actions, such as `dpdb budget`.

    Parameters
    ----------
    commands
        The subparsers that the command is added to.
    actions
        Each adds an action, in the order of `dpdb NAME --help`.
    """
    below = commands.add_parser(name, help=text).add_subparsers(required=True, metavar="ACTION")
    for add in actions:
        add(below)


def source_options(parser: Parser, *, constraints: bool = True) -> None:
    """Add the options for the table and how it is read."""
    text = "Parquet or CSV file, directory or glob; DuckDB file; spark:TABLE; postgresql://..."
    parser.add_argument("source", metavar="SOURCE", help=text)
    shape_options(parser, constraints=constraints)


def shape_options(parser: Parser, schema: str | None = None, *, constraints: bool = True) -> None:
    """Add the options for constraints, table, column types and delimiter.

    Parameters
    ----------
    schema
        Help of the column types; by default that of the setting.
    constraints
        Whether to add the option for constraints.
    """
    setting_options(parser, _SHAPE if constraints else _SHAPE[1:], {} if schema is None else {"csv_schema": schema})


def declared_options(parser: Parser) -> None:
    """Add the options for the owner's other declarations: other tables, the unit of protection, public sizes."""
    setting_options(parser, [name for name in SETTINGS if name not in {*_SHAPE, *LIMITS}])


def table_options(parser: Parser, *, required: bool = True) -> None:
    """Add the options for the table and all that its owner declares of it; `required`: its constraints are."""
    source_options(parser, constraints=required)
    if not required:
        setting_options(parser, _SHAPE[:1], required=False)
    declared_options(parser)


def setting_options(
    parser: Parser, names: Iterable[str], words: Mapping[str, str] | None = None, *, required: bool = True
) -> None:
    """Add options for settings of a table.

    Parameters
    ----------
    names
        Names of the settings in `SETTINGS`.
    words
        Help by name of the setting; a setting that is not in it keeps its own.
    required
        Whether constraints are.
    """
    for name in names:
        own = {"required": required} if SETTINGS[name].kind == "constraints" else {}
        add_option(parser, SETTINGS[name], **({"help": words[name]} if words and name in words else {}), **own)


# How argparse reads options of each kind; all others are one text.
_FORMS: Mapping[Kind, Mapping[str, Any]] = {
    "whole": {"type": whole},
    "number": {"type": real},
    "flag": {"action": "store_true"},
    "columns": {"action": "append"},
    "lists": {"action": "append"},
    "constraints": {"action": "append"},
    "parents": {"action": "append"},
}


def add_option(parser: Parser, one: Option, **own: Any) -> None:
    """Add an option by its field.

    Parameters
    ----------
    **own
        What the command says otherwise, as `add_argument` takes it.
    """
    form: dict[str, Any] = {**_FORMS.get(one.kind, {}), "default": one.default, "harmless": one.is_harmless}
    if one.choices:
        form["choices"] = [*one.choices]
    elif one.kind != "flag":
        form["metavar"] = one.letter
    parser.add_argument(option_of(one), **form | {"help": one.words.replace("%", "%%")} | own)


def ask_options(parser: Parser, asked: Mapping[str, Option], **own: Mapping[str, Any]) -> None:
    """Add the options of what is asked, in their order; those that name its run come with the ledger.

    Parameters
    ----------
    asked
        The options by name, as `options_of` gives them.
    **own
        By name, what the command says of an option otherwise.
    """
    for name, one in asked.items():
        if "commands" not in one.not_in:
            add_option(parser, one, **own.get(name, {}))


def count_options(parser: Parser) -> None:
    """Add the options of a count: its cost, its slice and the confidence of its bounds."""
    ask_options(parser, {name: OPTIONS[name] for name in OPTIONS if name in COUNT_OPTIONS})


def spending_options(parser: Parser, *, who: bool = True) -> None:
    """Add the options that name the ledger of a release and its entry; without `who`, the owner alone spends."""
    ledger_options(parser, who=who)
    for one in OPTIONS.values():
        if "commands" in one.not_in:
            add_option(parser, one)


def ledger_options(parser: Parser, *, who: bool = True) -> None:
    """Add the options for the ledger, who spends from it, and receipts of that."""
    parser.add_argument("--ledger", metavar="FILE", help="durable budget of the table; see `dpdb budget create`")
    parent_ledger_option(parser)
    if who:
        who_option(parser)
    receipt_options(parser)


def parent_ledger_option(parser: Parser) -> None:
    """Add the option for the ledgers of other private tables."""
    words = "durable budget of a private parent, which pays for what looks into it, too; may be repeated"
    parser.add_argument("--parent-ledger", metavar="NAME=FILE", action="append", default=[], help=words)


def receipt_options(parser: Parser) -> None:
    """Add the options for receipts of what is spent."""
    parser.add_argument("--receipt", metavar="FILE", help="append a signed receipt of what is spent to FILE")
    parser.add_argument("--receipt-key", metavar="KEY", help="private key of receipts; see `dpdb receipts key`")


def who_option(parser: Parser) -> None:
    """Add the option that names who spends or acts."""
    parser.add_argument("--who", metavar="NAME", help="who asks, for the ledger's history")


def limit_options(parser: Parser) -> None:
    """Add the options for limits of the private database."""
    setting_options(parser, LIMITS)
    quiet_options(parser)


def quiet_options(parser: Parser) -> None:
    """Add the options for progress and the log of failures."""
    parser.add_argument("--quiet", action="store_true", harmless=True, help="no progress and no notices on stderr")
    parser.add_argument(
        "--owner-log",
        metavar="FILE",
        type=owner_log,
        help="append details of failures to FILE, mode 0600; they may name private values",
    )


def output_option(parser: Parser) -> None:
    """Add the option that names the file for answers."""
    parser.add_argument("--out", metavar="FILE", help="new file for the answer, instead of standard output")


def format_option(parser: Parser, *more: str) -> None:
    """Add the option for the format: text, JSON or one of further formats."""
    parser.add_argument(
        "--format", choices=["text", "json", *more], default="text", harmless=True, help="output (text)"
    )


def margin_option(parser: Parser) -> None:
    """Add the option for a wished margin of the plan of a suite."""
    parser.add_argument(
        "--margin", type=whole, metavar="ROWS", help="of a suite's plan: say the epsilon for verdicts that close"
    )


def words_options(parser: Parser) -> None:
    """Add the options for the format, text or JSON, and for the detail of the text."""
    format_option(parser)
    parser.add_argument("--verbose", action="store_true", harmless=True, help="say every detail instead of one table")


def answer_options(parser: Parser, *, who: bool = True, verbose: bool = False) -> None:
    """Add the options for a paid answer: who pays, the limits of the database, the format and the file.

    Parameters
    ----------
    who
        Whether somebody else than the owner may ask.
    verbose
        Whether the text can have every detail.
    """
    spending_options(parser, who=who)
    limit_options(parser)
    (words_options if verbose else format_option)(parser)
    output_option(parser)


class _OwnerLog(logging.StreamHandler[TextIO]):
    """A log that never prints its own failures: they would show the record, and with it private values."""

    def __init__(self, path: str) -> None:
        from dpdb.files.owned_file import open_owned

        descriptor = open_owned(Path(path), os.O_CREAT | os.O_APPEND | os.O_WRONLY)
        super().__init__(os.fdopen(descriptor, "a", encoding="utf-8", errors="backslashreplace"))
        self._path = path

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's name
        del record
        say(f"--owner-log {self._path}: cannot be written")


def owner_log(path: str) -> str:
    """Keep the owner's log in a file of his own, from now on; returns its path."""
    from dpdb.errors import OWNER_LOG

    if path == os.devnull:  # no plain file, and no log
        return path
    try:
        handler = _OwnerLog(path)
    except (OSError, ValueError) as error:
        raise argparse.ArgumentTypeError(f"{path}: {describe_failure(error)}") from None
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    OWNER_LOG.addHandler(handler)
    return path


def configured_owner_log(path: Path | None) -> None:
    """Keep the owner's log of a server's configuration, if it names one."""
    if path is not None:
        try:
            owner_log(str(path))
        except argparse.ArgumentTypeError as error:
            raise ParameterError(str(error)) from None


_COUNT = re.compile("[0-9]{1,18}")


def csv_line(option: str, text: str, *, spaced: bool = False) -> list[str]:
    """Read the text of an option as one line of CSV; with `spaced` without the spaces after commas."""
    try:
        return next(csv.reader([text], skipinitialspace=spaced), [])
    except csv.Error:  # a line break outside of quotes, or a field beyond the reader's limit
        raise ParameterError(
            f"{option}: expected one line of CSV; what holds a comma or a line break is in quotes"
        ) from None


def _with_formats(schema: str) -> tuple[str, dict[int, str]]:
    """Write FORMAT before the formats behind types, as the parser knows them; texts in brackets are values of ENUMs.

    What stands behind NULLS, by the place of its column, is taken out.
    """
    import sqlglot

    tokens = sqlglot.tokenize(schema, dialect="duckdb")
    depth, place, parts, done = 0, 0, [], 0
    nulls: dict[int, str] = {}
    for token, after in zip(tokens, [*tokens[1:], None], strict=True):
        kind = token.token_type.name
        depth += {"L_PAREN": 1, "R_PAREN": -1}.get(kind, 0)
        place += kind == "COMMA" and depth == 0
        is_text = kind == "STRING" and depth == 0
        if is_text and place in nulls:
            nulls[place] += " " + schema[token.start : token.end + 1]
            done = token.end + 1
        elif is_text:
            parts += [schema[done : token.start], " FORMAT "]
            done = token.start
        elif depth == 0 and token.text.upper() == "NULLS" and after is not None and after.token_type.name == "STRING":
            parts.append(schema[done : token.start])
            nulls[place], done = "NULLS", token.end + 1
    return "".join([*parts, schema[done:]]), nulls


def _formats(column: Any) -> list[Any]:
    from sqlglot import exp

    return [each.kind.this for each in column.constraints if isinstance(each.kind, exp.DateFormatColumnConstraint)]


_ALL_CELLS = re.compile(r"""(?:\A|(?<=,))\s*(\*|"(?:[^"]|"")*\.\*")\s*\(((?:[^()']|'(?:[^']|'')*')*)\)\s*(?:,|\Z)""")


def _of_all_cells(schema: str) -> tuple[str, dict[str, str]]:
    """Part a schema into its columns and what it says of all cells, of the table (`*`) or of a parent."""
    found: dict[str, str] = {}
    while (match := _ALL_CELLS.search(schema)) is not None:
        name = match[1].strip('"').replace('""', '"')
        if name in found:
            raise ParameterError(f"--schema: {name} occurs twice")
        found[name] = match[2].strip()
        schema = schema[: match.start()] + schema[match.end() :]
    return schema.strip().removesuffix(",").rstrip(), found


def csv_schema(options: argparse.Namespace) -> dict[str, str] | None:
    """Read `--schema 'age INTEGER, "birth day" DATE'`, also with formats: `day DATE '%d.%m.%Y' NULLS '-'`.

    What is said of all cells stands beside the columns: `* (encoding utf-16), day DATE`. What ends in `.toml` is a
    file, which has it as `[schema]`, as `dpdb schema --out` writes it.
    """
    if options.schema is None:
        return None
    if options.schema.strip().lower().endswith(".toml"):
        return _schema_of_file(options.schema.strip())
    columns, found = _of_all_cells(options.schema)
    return found | (_columns(columns) if columns or not found else {})


_MOST = 1 << 20


def _schema_of_file(name: str) -> dict[str, str]:
    from dpdb.files.bounded_file import bounded_bytes, toml_values, usable

    with usable(name):
        content = bounded_bytes(Path(name), _MOST, "a schema")
    found = toml_values(content, name).get("schema")
    if not isinstance(found, dict) or not all(isinstance(kind, str) for kind in found.values()):
        raise ParameterError(f"{name}: expected a table [schema] of columns and their types as text")
    return found


def _columns(schema: str) -> dict[str, str]:
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    from dpdb.constraints import shortened

    of_all = ", and of all cells * (...), such as * (encoding windows-1252)" if "*" in schema else ""
    problem = ParameterError(
        f"--schema {shortened(schema)!r}: expected column names with types, such as 'age INTEGER'{of_all}"
    )
    try:
        definitions, nulls = _with_formats(schema)
        statements = sqlglot.parse(f"CREATE TABLE t ({definitions}\n)", dialect="duckdb")
    except (SqlglotError, RecursionError):
        raise problem from None
    table = statements[0].this if len(statements) == 1 and isinstance(statements[0], exp.Create) else None
    columns = table.expressions if isinstance(table, exp.Schema) else []
    if not columns or not all(isinstance(column, exp.ColumnDef) and column.kind for column in columns):
        raise problem
    try:
        texts = ([one.kind.sql("duckdb"), *(each.sql("duckdb") for each in _formats(one))] for one in columns)
        told = (" ".join([*text, *filter(None, [nulls.get(at)])]) for at, text in enumerate(texts))
        return {one.name: text for one, text in zip(columns, told, strict=True)}
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


def given(options: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Return what the options of some names are, by these names."""
    return {name: getattr(options, name) for name in names}


def asked_values(options: argparse.Namespace, asked: Mapping[str, Option]) -> dict[str, Any]:
    """Return what the options of what is asked are, by the names of their fields."""
    return {name: keys(options) if one.kind == "keys" else getattr(options, _dest(one)) for name, one in asked.items()}


def option_of(setting: Option) -> str:
    """Return the option of a field; the name of a repeatable option is in the singular."""
    name = setting.key.removesuffix("s") if setting.kind == "parents" else setting.key
    return f"--{name.replace('_', '-')}"


def table_settings(options: argparse.Namespace) -> dict[str, Any]:
    """Return, by name, the settings of a table for which a command has options."""
    found = {name: getattr(options, _dest(setting)) for name, setting in SETTINGS.items() if _dest(setting) in options}
    for name, value in found.items():
        if SETTINGS[name].kind == "parents":
            parents = named_files(option_of(SETTINGS[name]), value or [], needs_file=False)
            found[name] = {parent: path or None for parent, path in parents.items()}
    return found | ({"csv_schema": csv_schema(options)} if "csv_schema" in found else {})


def _dest(setting: Option) -> str:
    return option_of(setting).removeprefix("--").replace("-", "_")


def named_files(option: str, given: Iterable[str], *, needs_file: bool = True) -> dict[str, str]:
    """Read every NAME=FILE of an option.

    Parameters
    ----------
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


def gate_options(parser: Parser) -> None:
    """Add the options that compare released numbers with thresholds."""
    for option, what in (("--fail-above", "exit with code 1"), ("--warn-above", "say so")):
        text = f"{what} if the released value of MEASURE is above X; may be repeated"
        parser.add_repeated(option, metavar="MEASURE=X", harmless=True, help=text)
    parser.add_argument(
        "--gate",
        choices=["bounds", "value"],
        default="bounds",
        help="what --fail-above compares: with bounds only an upper bound within X passes, else exit code 5 (bounds)",
    )


_MISSED = ("failed", "not shown")


def gate_code(releases: Sequence[Release], gates: Sequence[Gate]) -> int:
    """Say which gates releases miss, and return the exit code."""
    if not gates:
        return 0
    from dpdb.release import check_gates

    missed = [result for result in check_gates(releases, gates) if not result.passed]
    for result in missed:
        say(str(result))
    failed, unsure = (any(result.outcome == word for result in missed if not result.warns) for word in _MISSED)
    return 1 if failed else 5 if unsure else 0


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
        by_value, rate = options.gate == "value", getattr(options, "rate", False)
        place = f"{option} {text!r}"
        read.append(parse_gate(name, threshold, measures, place, rate=rate, warns=warns, by_value=by_value))
    return read
