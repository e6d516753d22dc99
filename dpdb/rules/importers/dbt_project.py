"""A dbt project: its schemas, its singular tests, and what `dbt_project.yml` says of all tests.

A singular test is a query of a file of its own, which returns the rows that fail. It is taken where it is
`SELECT .. FROM {{ ref('orders') }} WHERE ..`.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from dpdb.errors import ParameterError
from dpdb.rules.found import ANY_TABLE, Found
from dpdb.rules.importers.dbt import SETTINGS, SILENT, Project, allowed_failures, import_schema, is_schema, tests_of
from dpdb.rules.importers.failing_rows import failing_rows
from dpdb.rules.options import Options, mapping, texts
from dpdb.rules.texts import checked

_MOST_FILES = 50_000
_OF_ALL = (*SETTINGS, "where", "enabled")
_OTHERS = {"dbt_packages", "target", "dbt_modules"}
_REFERENCE = re.compile(r"\{\{-?\s*(?:ref|source)\s*\(([^{}]*)\)\s*-?\}\}")
_CONFIG = re.compile(r"\{\{-?\s*config\s*\((.*?)\)\s*-?\}\}", re.DOTALL)
_COMMENT = re.compile(r"\{#.*?#\}", re.DOTALL)
_QUOTED = re.compile(r"""["']([^"'{}]+)["']""")
_TEMPLATE_WORDS = {"true": True, "false": False, "none": None}
_OWN_TEST = re.compile(r"\{%-?\s*test\s+(\w+)\s*\(")


def import_project(
    folder: Path, found: Found, text_of: Callable[[Path], str], document_of: Callable[[str, Path], Any]
) -> None:
    """Read all tests of a project, but not those of its packages and build folders.

    Parameters
    ----------
    folder
        Of the project.
    found
        Gets the rules and the tests that are left out.
    text_of, document_of
        Read a file, and its JSON or YAML.

    Raises
    ------
    ParameterError
        If a file cannot be read, or is no YAML.
    """
    files = _files(folder)
    documents = {path: document_of(text_of(path), path) for path in files if path.suffix in {".yml", ".yaml"}}
    queries = {path: text_of(path) for path in files if path.suffix == ".sql"}
    settings = next((mapping(said) for path, said in documents.items() if path == folder / "dbt_project.yml"), {})
    own = {name for text in queries.values() for name in _OWN_TEST.findall(text)}
    project = Project(_of_all_tests(settings, found), frozenset(own))
    schemas = [document for document in documents.values() if is_schema(document)]
    for document in schemas:
        import_schema(document, found, project)
    beside = {str(mapping(said).get("name")): said for document in schemas for said in tests_of(mapping(document))}
    places = [folder / place for place in texts(settings.get("test-paths")) or ["tests"]]
    for path, text in queries.items():
        inside = next((path.relative_to(place).parts for place in places if path.is_relative_to(place)), None)
        if inside is not None and "generic" not in inside[:-1]:
            config = mapping(mapping(beside.get(path.stem)).get("config"))
            _singular(path.stem, text, found, {**project.defaults, **config})


def _files(folder: Path) -> list[Path]:
    """Return the project's files of YAML and SQL in the order of their names.

    Raises
    ------
    ParameterError
        If the folder has too many files to be a project.
    """
    files: list[Path] = []
    seen = 0
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _OTHERS and not name.startswith("."))
        seen += len(names) + len(folders)
        if seen > _MOST_FILES:
            raise ParameterError(f"{folder} has more than {_MOST_FILES:,} files: name the folder of one dbt project")
        files += [Path(place, name) for name in names if Path(name).suffix in {".yml", ".yaml", ".sql"}]
    return sorted(files)


def _of_all_tests(settings: Mapping[str, Any], found: Found) -> dict[str, Any]:
    """Return what the project says of all its tests; list what it says of those of some folders."""
    defaults: dict[str, Any] = {}
    for key in ("tests", "data_tests"):
        said = mapping(settings.get(key))
        for block in (said, mapping(said.get(str(settings.get("name"))))):
            for name, value in block.items():
                if name.removeprefix("+") in _OF_ALL:
                    defaults[name.removeprefix("+")] = value
                elif isinstance(value, Mapping) and name != settings.get("name") and not name.startswith("+"):
                    reason = "it says something of the tests of some folders or packages, which dpdb does not read"
                    found.table(ANY_TABLE).leave(f"dbt_project.yml: {key}: {name}", reason)
    return defaults


class _Filled(NamedTuple):
    """A query with its references filled in, and what its `config(...)` says."""

    query: str
    config: dict[str, Any]


def _singular(name: str, text: str, found: Found, config: Mapping[str, Any]) -> None:
    """Take a singular test."""
    references = [names[-1] for said in _REFERENCE.findall(text) if (names := _QUOTED.findall(said))]
    table = found.table(references[0] if references else ANY_TABLE)
    try:
        query, own = _filled(text)
        rows = failing_rows(query)
        if rows.table not in references:
            raise ParameterError("it reads a table that is none of the project's models and sources")
    except ParameterError as error:
        table.leave(name, str(error))
        return
    given, options = Options({}), Options({**config, **own}, SILENT)

    def written() -> str:
        if not options.flag("enabled", True):
            raise ParameterError("it is not enabled")
        return checked(f"NOT ({rows.condition})")

    table.take(written, name, options, name=name, allowed=lambda: allowed_failures("singular", given, options))


def _filled(text: str) -> _Filled:
    """Fill in `{{ ref('orders') }}` and `{{ source('shop', 'orders') }}`, and take `{{ config(..) }}` out.

    Raises
    ------
    ParameterError
        If it has other templates, which only dbt fills in.
    """
    config: dict[str, Any] = {}

    def configured(said: re.Match[str]) -> str:
        config.update(_arguments(said[1]))
        return ""

    def referred(said: re.Match[str]) -> str:
        names = _QUOTED.findall(said[1])
        return '"' + names[-1] + '"' if names else said[0]

    query = _REFERENCE.sub(referred, _CONFIG.sub(configured, _COMMENT.sub("", text)))
    if "{{" in query or "{%" in query:
        raise ParameterError("it has a template, which only its own tool fills in")
    return _Filled(query, config)


def _literal(node: ast.expr) -> Any:
    """Return a value, in the words of Python and of dbt's templates, where `true`, `false` and `none` are values."""
    if isinstance(node, ast.Name) and node.id in _TEMPLATE_WORDS:
        return _TEMPLATE_WORDS[node.id]
    return ast.literal_eval(node)


def _arguments(text: str) -> dict[str, Any]:
    """Return the named values of a call."""
    try:
        call = ast.parse(f"f({text})", mode="eval").body
        assert isinstance(call, ast.Call)
        return {each.arg: _literal(each.value) for each in call.keywords if each.arg is not None}
    except (SyntaxError, ValueError, RecursionError, MemoryError, AssertionError):
        raise ParameterError(f"dpdb does not know config({' '.join(text.split())[:80]})") from None
