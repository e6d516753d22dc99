"""`import_rules`: suites from files of other tools, recognised by their content."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dpdb.constraints import MAX_LENGTH
from dpdb.errors import ParameterError
from dpdb.names import listed_names, nearest_words
from dpdb.rules.document import document_of, text_of
from dpdb.rules.found import Found, ImportedRule, LeftOut
from dpdb.rules.importers.dbt import import_schema, is_schema
from dpdb.rules.importers.ddl import import_ddl, is_ddl
from dpdb.rules.importers.great_expectations import import_suite, is_suite
from dpdb.rules.importers.odcs import import_contract, is_contract
from dpdb.rules.importers.soda import import_soda, is_soda
from dpdb.rules.texts import comment

__all__ = ["ImportedRules", "import_rules"]

_DOCUMENTS: tuple[tuple[str, Callable[[object], bool], Callable[[object, Found], None]], ...] = (
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
    kind : str
        The file's format, in words.
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


def import_rules(path: str | Path, table: str | None = None, dialect: str = "postgres") -> ImportedRules:
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

    Raises
    ------
    ParameterError
        If the file cannot be read, is of none of these kinds, has no such table, or has several and none is named.

    Examples
    --------
    >>> import_rules("examples/rules/schema.yml").rules[0].text
    'UNIQUE(provider_number, measure_code)'
    """
    found = Found()
    kind = _import_folder(Path(path), found) if Path(path).is_dir() else _import(Path(path), found, dialect)
    chosen = _chosen(found, table, path)
    return ImportedRules(
        kind,
        chosen,
        tuple(rule for rule in found.rules if rule.table == chosen),
        tuple(item for item in found.left_out if item.table == chosen),
    )


def _import_folder(folder: Path, found: Found) -> str:
    """Read the schemas of a dbt project, but not those of its packages and build folders."""
    for path in sorted(folder.rglob("*.y*ml")):
        inside = path.relative_to(folder).parts
        if path.is_file() and not {"dbt_packages", "target", "dbt_modules"} & set(inside) and inside[0][0] != ".":
            document = document_of(text_of(path), path)
            if is_schema(document):
                import_schema(document, found)
    return "dbt project"


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
    raise ParameterError(f"{path} is none of: dbt schema, SQL schema, {', '.join(kind for kind, *_ in _DOCUMENTS[:3])}")


def _chosen(found: Found, table: str | None, path: str | Path) -> str:
    named = [rule.table for rule in found.rules] + [item.table for item in found.left_out]
    tables = list(dict.fromkeys(named))
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
