"""Files that anybody may have written: their text, and the document that JSON or YAML makes of it."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

from dpdb.errors import ParameterError
from dpdb.files.bounded_file import bounded_bytes

__all__ = ["document_of", "text_of"]

_LARGEST = 16 << 20
_LARGEST_YAML = 2 << 20  # characters; PyYAML takes about ten seconds for a million
_MOST_PARTS = 1_000_000
_LONGEST_NUMBER = 1_000  # bits: Python writes it, and knows it as a float
_SEVERAL = (Mapping, list, tuple, set)


def text_of(path: Path) -> str:
    """Read a file.

    Raises
    ------
    ParameterError
        If it cannot be read, is larger than 16 MiB or is not UTF-8.
    """
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
