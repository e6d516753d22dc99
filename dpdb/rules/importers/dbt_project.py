"""A dbt project: its schemas, its singular tests, and what `dbt_project.yml` says of all tests.

A singular test is a query of a file of its own, which returns the rows that fail. It is taken where it is
`SELECT .. FROM {{ ref('orders') }} WHERE ..`.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable, Iterator, Mapping
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
    found
        Gets the rules and the tests that are left out.

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
    said_of = _OfTests(settings, folder)
    schemas = {path: document for path, document in documents.items() if is_schema(document)}
    for path, document in schemas.items():
        import_schema(document, found, Project(said_of.at(path), frozenset(own)))
    beside = {str(_get(said, "name")): said for document in schemas.values() for said in tests_of(mapping(document))}
    places = [folder / place for place in texts(settings.get("test-paths")) or ["tests"]]
    for path, text in queries.items():
        inside = next((path.relative_to(place).parts for place in places if path.is_relative_to(place)), None)
        if inside is not None and "generic" not in inside[:-1]:
            config = mapping(_get(beside.get(path.stem), "config"))
            _singular(path.stem, text, found, {**said_of.at(path), **config})
    for place in said_of.unmet():
        reason = "it says something of the tests of packages, or of some by their names, which dpdb does not read"
        found.table(ANY_TABLE).leave(f"dbt_project.yml: {place}", reason)


def _files(folder: Path) -> list[Path]:
    """Return the project's files of YAML and SQL in the order of their names."""
    files: list[Path] = []
    seen = 0
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _OTHERS and not name.startswith("."))
        seen += len(names) + len(folders)
        if seen > _MOST_FILES:
            raise ParameterError(f"{folder} has more than {_MOST_FILES:,} files: name the folder of one dbt project")
        files += [Path(place, name) for name in names if Path(name).suffix in {".yml", ".yaml", ".sql"}]
    return sorted(files)


class _OfTests:
    """What the project says of its tests: of all, and of those in a folder, the folder's own words before others."""

    def __init__(self, settings: Mapping[str, Any], folder: Path) -> None:
        name = str(settings.get("name"))
        kinds = (("model", "models"), ("seed", "seeds"), ("snapshot", "snapshots"), ("test", "tests"))
        self._places = [
            folder / place for kind, usual in kinds for place in texts(settings.get(f"{kind}-paths")) or [usual]
        ]
        self._name = name
        self._blocks = {key: mapping(settings.get(key)) for key in ("tests", "data_tests")}
        self._met: set[tuple[str, ...]] = set()

    def unmet(self) -> Iterator[str]:
        """Return the blocks of no folder that `at` has met: of packages, and of tests by their names."""
        for key, block in self._blocks.items():
            yield from self._unmet(block, (key,))

    def _unmet(self, block: Mapping[str, Any], place: tuple[str, ...]) -> Iterator[str]:
        for name, said in block.items():
            inner = (*place, name)
            if not isinstance(said, Mapping) or name.startswith("+"):
                continue
            if inner in self._met:
                yield from self._unmet(said, inner)
            else:
                yield ": ".join(inner)

    def at(self, path: Path) -> dict[str, Any]:
        """Return what is said of the tests of a file."""
        inside = next((path.relative_to(place).parts[:-1] for place in self._places if path.is_relative_to(place)), ())
        defaults: dict[str, Any] = {}
        for key, block in self._blocks.items():
            place: tuple[str, ...] = (key,)
            defaults |= _settings_of(block)
            for part in (self._name, *inside):
                place, block = (*place, part), mapping(block.get(part))  # noqa: PLW2901 - one folder after the other
                self._met.add(place)
                defaults |= _settings_of(block)
        return defaults


def _settings_of(block: Mapping[str, Any]) -> dict[str, Any]:
    named = {key.removeprefix("+"): said for key, said in block.items()}
    return {key: said for key, said in named.items() if key in _OF_ALL}


def _get(said: object, key: str) -> Any:
    return mapping(said).get(key)


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
    """Fill in `{{ ref('orders') }}` and `{{ source('shop', 'orders') }}`, and take `{{ config(..) }}` out."""
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
