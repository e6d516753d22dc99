"""`import_rules`: suites from files of other tools, recognised by their content."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

from dpdb.constraints import MAX_LENGTH, load_lines, never_a_path, written_lines
from dpdb.errors import ParameterError, UnknownColumnError
from dpdb.files.bounded_file import bounded_bytes
from dpdb.names import listed_names, nearest_words
from dpdb.rules.found import ANY_TABLE, Found, ImportedRule, LeftOut
from dpdb.rules.importers.dbt import import_schema, is_schema
from dpdb.rules.importers.dbt_project import import_project
from dpdb.rules.importers.ddl import import_ddl, is_ddl
from dpdb.rules.importers.dqx import import_dqx, is_dqx
from dpdb.rules.importers.great_expectations import import_suite, is_suite
from dpdb.rules.importers.odcs import import_contract, is_contract
from dpdb.rules.importers.soda import import_soda, is_soda
from dpdb.rules.texts import comment

_LARGEST = 16 << 20
_LARGEST_YAML = 2 << 20  # characters; PyYAML takes about ten seconds for a million
_MOST_PARTS = 1_000_000
_LONGEST_NUMBER = 1_000  # bits: Python writes it, and knows it as a float
_SEVERAL = (Mapping, list, tuple, set)


def text_of(path: Path) -> str:
    """Read a file."""
    try:
        content = bounded_bytes(path, _LARGEST, "a file of rules")
    except OSError as error:
        raise ParameterError(f"{path} cannot be read: {error.strerror}") from None
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise ParameterError(f"{path} is no UTF-8 text") from None


def document_of(text: str, path: Path) -> Any:
    """Read JSON or YAML.

    Raises
    ------
    ParameterError
        If it is neither, a key stands twice in one mapping (one of the two would be lost without a word), its
        aliases make it more than a million values, or it has a whole number of more than 300 digits.
    """
    document = _parsed(text, path)
    try:
        _parts(document, path, {})
    except RecursionError:
        raise ParameterError(f"{path} is nested too deeply") from None
    return document


def _parsed(text: str, path: Path) -> Any:
    is_json = path.suffix.lower() == ".json"
    try:
        return json.loads(text, object_pairs_hook=_unique)
    except _TwiceError as error:
        raise ParameterError(f"{path}: {error}") from None
    except (ValueError, RecursionError):
        if is_json:
            raise ParameterError(f"{path} is no JSON") from None
    if len(text) > _LARGEST_YAML:
        raise ParameterError(f"{path} is larger than {_LARGEST_YAML >> 20} MiB, which YAML may have: split it")
    try:
        import yaml
    except ImportError:
        raise ParameterError("reading YAML needs PyYAML: pip install 'dpdb[rules]'") from None

    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        """Refuses a mapping in which a key stands twice; a key that `<<` merges may be given again."""

        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
            keys = [key for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
            _refuse_twice([(key.tag, key.value) for key in keys if key.tag != "tag:yaml.org,2002:merge"])
            made: dict[Hashable, Any] = super().construct_mapping(node, deep)
            return made

    try:
        return yaml.load(text, Loader)
    except RecursionError:
        raise ParameterError(f"{path} is no YAML: it is nested too deeply") from None
    except _TwiceError as error:
        raise ParameterError(f"{path}: {error}") from None
    except (yaml.YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark is not None else ""
        why = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise ParameterError(f"{path} is no YAML{where}: {why}") from None


class _TwiceError(Exception):
    """A key stands twice in one mapping."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    _refuse_twice([("", key) for key, _ in pairs])
    return dict(pairs)


def _refuse_twice(keys: list[tuple[str, str]]) -> None:
    seen: set[tuple[str, str]] = set()
    for key in keys:
        if key in seen:
            raise _TwiceError(f"{key[1]!r} stands twice in one mapping; keep one")
        seen.add(key)


def _parts(value: object, path: Path, known: dict[int, int | None]) -> int:
    """Count the values of a document with every alias expanded, looking at each container once."""
    if isinstance(value, int) and value.bit_length() > _LONGEST_NUMBER:
        raise ParameterError(f"{path} has a whole number of more than 300 digits")
    if not isinstance(value, _SEVERAL):
        return 1
    if id(value) in known:
        size = known[id(value)]
        if size is None:
            raise ParameterError(f"{path}: an alias stands inside what it names")
        return size
    known[id(value)] = None
    size = 1
    for item in [*value.keys(), *value.values()] if isinstance(value, Mapping) else value:
        size += _parts(item, path, known)
        if size > _MOST_PARTS:
            raise ParameterError(f"{path} has more than {_MOST_PARTS:,} values, its aliases followed")
    known[id(value)] = size
    return size


_DOCUMENTS: tuple[tuple[str, Callable[[object], bool], Callable[[object, Found], None]], ...] = (
    ("DQX checks", is_dqx, import_dqx),
    ("Great Expectations suite", is_suite, import_suite),
    ("Open Data Contract", is_contract, import_contract),
    ("Soda checks", is_soda, import_soda),
    ("dbt schema", is_schema, import_schema),
)


@dataclass(frozen=True)
class ImportedRules:
    """Rules that a file of another tool states for one table.

    Attributes
    ----------
    table : str
        The table of the rules, as the file names it; empty where it names none.
    rules : tuple of ImportedRule
        In the order of the file, each once.
    left_out : tuple of LeftOut
        Checks of that table that dpdb has no constraint for, with the reason.
    """

    kind: str
    table: str
    rules: tuple[ImportedRule, ...]
    left_out: tuple[LeftOut, ...]

    def of_columns(self, columns: Sequence[str]) -> ImportedRules:
        """Return the rules without those that a table with some columns cannot have, which are left out."""
        rules, left_out = [], list(self.left_out)
        for rule in self.rules:
            try:
                load_lines(written_lines(never_a_path(rule.line())), columns)
            except UnknownColumnError as error:
                left_out.append(LeftOut(rule.table, rule.origin, str(error).splitlines()[0].partition(": ")[2]))
            else:
                rules.append(rule)
        return replace(self, rules=tuple(rules), left_out=tuple(left_out))

    def text(self) -> str:
        """Return the rules as a suite file, with the checks that were left out as comments."""
        about = f" for {comment(self.table)}" if self.table else ""
        lines = [f"# rules{about}, from {self.kind}: {len(self.rules)}"]
        for rule in self.rules:
            said = rule.origin if rule.origin != rule.name else ""
            note = f"({rule.note})" if rule.note else ""
            about = comment(" ".join(filter(None, [said, note])))
            lines.append(f"{rule.line()}  # {about}"[:MAX_LENGTH] if about else rule.line())  # it cuts only the comment
        if self.left_out:
            lines += ["", f"# left out: {len(self.left_out)}"]
            lines += [f"# {comment(item.origin)}: {comment(item.reason)}" for item in self.left_out]
        return "\n".join(lines) + "\n"


def import_rules(
    path: str | Path, table: str | None = None, dialect: str = "postgres", *, used_rows: bool = False
) -> ImportedRules:
    """Read the constraints that a file of another tool states; no table is opened and no row is read.

    Parameters
    ----------
    path
        A dbt `schema.yml`, SQL DDL, a Great Expectations suite (JSON), Soda checks or contract, or an Open Data
        Contract; or the folder of a dbt project. The kind is recognised by the content. YAML needs PyYAML,
        which the extra `rules` installs.
    table
        The table whose rules are wanted; needed where the file has rules for several.
    dialect
        The SQL dialect of DDL, by sqlglot's names.
    used_rows
        Whether limits of `row_count` and shares say `of used rows`, for a table of which a unit's limit leaves rows
        out; their numbers stay those of the file.

    Raises
    ------
    ParameterError
        If the file cannot be read, is of none of these kinds, has no such table, or has several and none is named.

    Examples
    --------
    >>> import_rules("examples/rules/schema.yml").rules[0].text
    'UNIQUE(provider_number, measure_code)'
    """
    kind, found = _read(Path(path), dialect)
    chosen = _chosen(found, table, path)
    return _of_table(kind, found, chosen, used_rows=used_rows)


def import_tables(path: str | Path, dialect: str = "postgres", *, used_rows: bool = False) -> tuple[ImportedRules, ...]:
    """Read the constraints that a file of another tool states, for all its tables; else as `import_rules`.

    Returns
    -------
    tuple of ImportedRules
        One for each table that has a rule or a check that is left out, in the order of the file.
    """
    kind, found = _read(Path(path), dialect)
    if not _tables(found):
        raise ParameterError(f"{path} has no rules")
    return tuple(_of_table(kind, found, table, used_rows=used_rows) for table in _tables(found))


def _read(path: Path, dialect: str) -> tuple[str, Found]:
    found = Found()
    if not path.is_dir():
        return _import(path, found, dialect), found
    import_project(path, found, text_of, document_of)
    return "dbt project", found


def import_dqd(
    folder: str | Path, cdm: str, today: date | None = None, *, used_rows: bool = False
) -> tuple[ImportedRules, ...]:
    """Read the checks of OHDSI's DataQualityDashboard for the tables of an OMOP set; no table is opened.

    Parameters
    ----------
    folder
        Has its CSV files of tables, fields and concepts.
    cdm
        The version of OMOP's common data model, such as ``5.4``.
    today
        What GETDATE() stands for; without it the checks about today are left out.

    Returns
    -------
    tuple of ImportedRules
        One for each table, in the order of the files.

    Raises
    ------
    ParameterError
        If the version is unknown, or a file is missing, is no CSV or lacks a column.
    """
    from dpdb.rules.importers.dqd import CHECKS, import_checks
    from dpdb.rules.importers.dqd_files import read_check_files

    found = Found()
    files = read_check_files(Path(folder), cdm, text_of, CHECKS)
    import_checks(files, today, found)
    kind = f"DataQualityDashboard, CDM {cdm}"
    return tuple(_of_table(kind, found, table, used_rows=used_rows) for table in _tables(found))


def _tables(found: Found) -> list[str]:
    """Return the tables that have rules, then those of checks that were left out, each once."""
    named = [rule.table for rule in found.rules] + [item.table for item in found.left_out]
    return list(dict.fromkeys(name for name in named if name != ANY_TABLE))


def _of_table(kind: str, found: Found, table: str, *, used_rows: bool) -> ImportedRules:
    rules = tuple(rule.of_used_rows() if used_rows else rule for rule in found.rules if rule.table == table)
    left_out = tuple(item for item in found.left_out if item.table in (table, ANY_TABLE))
    return ImportedRules(kind, table, rules, left_out)


def _import(path: Path, found: Found, dialect: str) -> str:
    """Read a file by its kind, and return the kind in words."""
    text = text_of(path)
    ending = path.suffix.lower()
    if ending in {".sql", ".ddl"} or (ending not in {".json", ".yml", ".yaml"} and is_ddl(text)):
        import_ddl(text, found, dialect)
        return "SQL schema"
    document = document_of(text, path)
    for kind, recognises, read in _DOCUMENTS:
        if recognises(document):
            read(document, found)
            return kind
    raise ParameterError(
        f"{path} is none of: dbt schema, SQL schema, {', '.join(kind for kind, *_ in _DOCUMENTS[:-1])}"
    )


def _chosen(found: Found, table: str | None, path: str | Path) -> str:
    tables = _tables(found)
    if table is not None and tables != [""]:  # a file that names no table is about the one that is meant
        same = [name for name in tables if name == table] or [n for n in tables if n.casefold() == table.casefold()]
        if len(same) != 1:
            raise ParameterError(f"{path} has no rules for {table!r}{nearest_words(table, tables)}")
        return same[0]
    if not tables:
        raise ParameterError(f"{path} has no rules")
    if len(tables) > 1:
        raise ParameterError(f"{path} has rules for several tables, name one with --table: {listed_names(tables)}")
    return tables[0]
