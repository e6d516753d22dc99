"""Count what `dpdb rules import` takes of the test definitions that a tool's own repository publishes.

    python tests/rules/published_definitions.py TOOL FOLDER [--list]

TOOL is dbt, gx, soda, odcs or dqx; FOLDER is a checked-out repository. Definitions are counted by the keys of the
documents alone, without an importer (`tests` and `data_tests` of dbt, `expectations`, `checks`, `quality`, and what an
Open Data Contract says beside a column). Each is then imported by itself, in its document with all others taken out: it
is taken, left out with a reason, or (a fault) vanishes. Documents are files of YAML and JSON, blocks of them in
Markdown, and texts and lists in Python, where `{name}` of an f-string stands for itself.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import yaml

from dpdb.errors import DpdbError
from dpdb.rules.found import Found, ImportedRule, LeftOut
from dpdb.rules.importers.dbt import Project, import_schema, is_schema
from dpdb.rules.importers.dbt_project import import_project
from dpdb.rules.importers.dqx import import_dqx, is_dqx
from dpdb.rules.importers.great_expectations import import_suite, is_suite
from dpdb.rules.importers.odcs import import_contract, is_contract
from dpdb.rules.importers.soda import import_soda, is_soda
from dpdb.rules.importing import document_of, text_of

Place: TypeAlias = tuple[str | int, ...]
_BLOCK = re.compile(r"^([ \t]*)```(?:ya?ml|json)[^\n]*\n(.*?)^[ \t]*```", re.MULTILINE | re.DOTALL | re.IGNORECASE)
_OWN_TEST = re.compile(r"\{%-?\s*(?:test\s+|macro\s+test_)(\w+)\s*\(")
_BUILT_IN = {"unique", "not_null", "accepted_values", "relationships"}


@dataclass(frozen=True)
class Tool:
    """How definitions of a tool are found in a document, without its importer.

    Attributes
    ----------
    word : str
        A text without it has no definition.
    is_document : callable
        Whether a document is one of the tool's.
    keys : callable
        Whether the items of a list under this key are definitions.
    flags : tuple of str
        Keys that are a definition where they are `true`, or a mapping.
    recognises : callable
        Whether dpdb takes a document for one of the tool's.
    read : callable
        The importer.
    """

    word: re.Pattern[str]
    is_document: Callable[[Any], bool]
    keys: Callable[[str], bool]
    flags: tuple[str, ...]
    recognises: Callable[[object], bool]
    read: Callable[[Any, Found, frozenset[str]], None]


def _is_mapping_with(*names: str) -> Callable[[Any], bool]:
    return lambda document: isinstance(document, Mapping) and any(isinstance(document.get(n), list) for n in names)


def _is_soda(document: Any) -> bool:
    if not isinstance(document, Mapping):
        return False
    checks = [document, *(column for column in document.get("columns") or [] if isinstance(column, Mapping))]
    return any(str(key).startswith("checks for ") for key in document) or (
        isinstance(document.get("columns", []), list) and any(isinstance(each.get("checks"), list) for each in checks)
    )


def _is_dqx(document: Any) -> bool:
    return isinstance(document, list) and any(
        isinstance(item, Mapping) and isinstance(item.get("check"), Mapping) and "function" in item["check"]
        for item in document
    )


TOOLS = {
    "dbt": Tool(
        re.compile(r"tests:"),
        _is_mapping_with("models", "seeds", "snapshots", "sources"),
        lambda key: key in {"tests", "data_tests"},
        (),
        is_schema,
        lambda document, found, own: import_schema(document, found, Project(own_tests=own)),
    ),
    "gx": Tool(
        re.compile("expect"),
        _is_mapping_with("expectations"),
        lambda key: key == "expectations",
        (),
        is_suite,
        lambda document, found, _: import_suite(document, found),
    ),
    "soda": Tool(
        re.compile("checks"),
        _is_soda,
        lambda key: key == "checks" or key.startswith("checks for "),
        (),
        is_soda,
        lambda document, found, _: import_soda(document, found),
    ),
    "odcs": Tool(
        re.compile("DataContract"),
        lambda document: isinstance(document, Mapping) and document.get("kind") == "DataContract",
        lambda key: key in {"quality", "relationships"},
        ("required", "unique", "primaryKey", "logicalTypeOptions"),
        is_contract,
        lambda document, found, _: import_contract(document, found),
    ),
    "dqx": Tool(
        re.compile("function"),
        _is_dqx,
        lambda key: key == "",
        (),
        lambda document: document == [] or is_dqx(document),
        lambda document, found, _: import_dqx(document, found),
    ),
}  # fmt: skip


def documents(folder: Path, tool: Tool, unread: Counter[str]) -> Iterator[tuple[str, Any]]:
    """Yield the documents of a repository with the name of their file; count the texts that cannot be read."""
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or path.suffix not in _READERS or {".git", "dbt_packages"} & set(path.parts):
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        if tool.word.search(text):
            name = str(path.relative_to(folder))
            for document in _READERS[path.suffix](text, name, unread):
                for each in _with_cases(document):
                    if tool.is_document(each):
                        yield name, {"dataset": "t", **each} if tool is TOOLS["soda"] else each


def _with_cases(document: Any) -> Iterator[Any]:
    """Yield a document; instead of published test cases of an expectation, a suite of all cases."""
    if isinstance(document, Mapping) and "expectation_type" in document and "datasets" in document:
        cases = [case for data in document["datasets"] for case in data["tests"] if isinstance(case, Mapping)]
        given = [case.get("in") for case in cases]
        kind = document["expectation_type"]
        yield {"expectations": [{"type": kind, "kwargs": kwargs} for kwargs in given if isinstance(kwargs, Mapping)]}
    yield document


def _of_yaml(text: str, name: str, unread: Counter[str]) -> Iterator[Any]:
    try:
        yield from [document for document in yaml.safe_load_all(text) if isinstance(document, (Mapping, list))]
    except (yaml.YAMLError, ValueError, RecursionError):
        unread[name] += 1


def _of_json(text: str, name: str, unread: Counter[str]) -> Iterator[Any]:
    try:
        yield json.loads(text)
    except ValueError:
        unread[name] += 1


def _of_markdown(text: str, name: str, unread: Counter[str]) -> Iterator[Any]:
    for block in _BLOCK.finditer(text):
        yield from _of_yaml(textwrap.dedent(block[1] + block[2]), name, unread)


def _of_python(text: str, name: str, unread: Counter[str]) -> Iterator[Any]:
    try:
        tree = ast.parse(text)
    except SyntaxError:
        unread[name] += 1
        return
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            said = "".join(str(p.value) if isinstance(p, ast.Constant) else _stands_for(p) for p in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside:
            said = node.value
        else:
            if isinstance(node, (ast.List, ast.Dict)):
                yield from _literal(node)
            continue
        if said.count("\n") > 1 and re.search(r"^\s*(- )?\w[\w ]*:", said, re.MULTILINE):
            yield from _of_yaml(textwrap.dedent(said), name, Counter())


def _stands_for(part: ast.expr) -> str:
    return re.sub(r"\W+", "_", ast.unparse(part)).strip("_")


def _literal(node: ast.List | ast.Dict) -> list[Any]:
    try:
        return [ast.literal_eval(node)]
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return []


_READERS = {
    ".yml": _of_yaml, ".yaml": _of_yaml, ".json": _of_json, ".md": _of_markdown, ".mdx": _of_markdown, ".py": _of_python
}  # fmt: skip


def places(document: Any, tool: Tool, at: Place = ()) -> Iterator[Place]:
    """Yield where the definitions of a document are: the keys and numbers that lead to each."""
    entries = document.items() if isinstance(document, Mapping) else enumerate(document)
    if isinstance(document, list) and tool.keys(str(at[-1]) if at else ""):
        yield from [(*at, number) for number, item in enumerate(document) if item]
        return
    for key, inner in entries:
        if _is_flag(key, inner, tool):
            yield (*at, key)
        elif isinstance(inner, (Mapping, list)):
            yield from places(inner, tool, (*at, key))


def _is_flag(key: object, said: object, tool: Tool) -> bool:
    return key in tool.flags and (said is True or (isinstance(said, Mapping) and bool(said)))


def only(document: Any, tool: Tool, place: Place | None, at: Place = ()) -> Any:
    """Return a document with one of its definitions (None: with none of them)."""
    if isinstance(document, list):
        if tool.keys(str(at[-1]) if at else ""):
            return [item for number, item in enumerate(document) if (*at, number) == place]
        return [only(item, tool, place, (*at, number)) for number, item in enumerate(document)]
    if isinstance(document, Mapping):
        return {
            key: only(inner, tool, place, (*at, key))
            for key, inner in document.items()
            if not _is_flag(key, inner, tool) or (*at, key) == place
        }
    return document


@dataclass(frozen=True)
class Definition:
    """One definition, and what became of it: rules, checks left out, or (neither) nothing."""

    file: str
    said: str
    rules: tuple[ImportedRule, ...]
    left_out: tuple[LeftOut, ...]


def _imported(tool: Tool, document: Any, own: frozenset[str]) -> Found:
    found = Found()
    if not tool.recognises(document):
        return Found(left_out=[LeftOut("", "document", "dpdb does not take it for a file of the tool")])
    try:
        tool.read(document, found, own)
    except DpdbError as error:
        found.left_out.append(LeftOut("", "document", str(error)))
    return found


def definitions(folder: Path, tool: Tool, unread: Counter[str]) -> Iterator[Definition]:
    """Yield all definitions of a repository, each imported by itself; equal ones of one file count once."""
    own = frozenset(
        name
        for path in folder.rglob("*")
        if path.suffix in {".sql", ".py"} and path.is_file()
        for name in _OWN_TEST.findall(path.read_text(encoding="utf-8", errors="replace"))
    )
    seen = set()
    for file, document in documents(folder, tool, unread):
        rest = _imported(tool, only(document, tool, None), own)
        for place in places(document, tool):
            alone = only(document, tool, place)
            said = json.dumps(alone, default=str)
            if (file, said) in seen:
                continue
            seen.add((file, said))
            found = _imported(tool, alone, own - _BUILT_IN)
            rules = tuple((Counter(found.rules) - Counter(rest.rules)).elements())
            left_out = tuple((Counter(found.left_out) - Counter(rest.left_out)).elements())
            if not tool.recognises(alone):
                left_out = tuple(found.left_out)
            yield Definition(file, json.dumps(_at(document, place), default=str), rules, left_out)
    if tool is TOOLS["dbt"]:
        yield from _singular_tests(folder)


def _at(document: Any, place: Place) -> Any:
    for key in place:
        document = document[key]
    return document if isinstance(document, (Mapping, str)) else f"{place[-1]}: {document}"


def _singular_tests(folder: Path) -> Iterator[Definition]:
    """Yield the singular tests of all projects: files of SQL in `tests` that define no generic test."""
    for project in sorted(folder.rglob("dbt_project.yml")):
        whole = Found()
        try:
            import_project(project.parent, whole, text_of, document_of)
        except DpdbError as error:
            whole.left_out.append(LeftOut("", "project", str(error)))
        for path in sorted((project.parent / "tests").rglob("*.sql")):
            if "generic" in path.parts or "{% macro" in (text := path.read_text()) or _OWN_TEST.search(text):
                continue
            rules = tuple(rule for rule in whole.rules if path.stem in (rule.name, rule.origin))
            left_out = tuple(item for item in whole.left_out if item.origin in (path.stem, "project"))
            yield Definition(str(path.relative_to(folder)), path.stem, rules, left_out)


_KINDS = {
    r"^dpdb cannot read": "a condition that dpdb cannot read",
    r"is no column but an expression|field inside a column": "an expression or a field where a column is expected",
    r"template|\$\{|\{\{": "it has a template, which only its own tool fills in",
    r"regular expression|in a pattern of LIKE|dpdb (has no|has not).* format|dates or documents in texts": (
        "an expression that RE2 does not read, or another format"
    ),
    r"dpdb does not know (its (option|argument)|this (key|option))": "an option that dpdb does not know",
    r"fails where no row does|passes where more rows fail": "it asks for dirt: no largest number",
    r"passes whatever|allows every number|returns every row": "it passes, or fails, whatever the rows are",
    r"dpdb does not know this|no file of the tool": "the tool's users' own check, or no check of the tool",
    r"is missing|no number|no share|neither true|is empty|no range": "an invalid definition",
    r"is given|no query|no column name|is no SQL$": "an invalid definition",
    r"another parser|more than comparisons": "a condition in another grammar than SQL",
    r"^it is written for": "it is written for another engine",
}


def published_cases(folder: Path) -> Iterator[tuple[str, Any, dict[str, Any], bool]]:
    """Yield the cases of Great Expectations' own tests: file, data, expectation, and whether it is met by the data."""
    for path in sorted(folder.rglob("tests/test_definitions/**/*.json")):
        document = json.loads(path.read_text(encoding="utf-8"))
        for data in document.get("datasets", []):
            for case in data["tests"]:
                success = case.get("out", {}).get("success") if isinstance(case, Mapping) else None
                if isinstance(case.get("in"), Mapping) and isinstance(success, bool):
                    yield path.name, data["data"], {"type": document["expectation_type"], "kwargs": case["in"]}, success


def compare_cases(folder: Path) -> Counter[str]:
    """Compare the exact verdicts of imported cases with the published ones; print those that differ."""
    import duckdb
    import pandas as pd

    import dpdb
    from dpdb.suites import load_suite

    counted: Counter[str] = Counter()
    for file, data, expectation, success in published_cases(folder):
        found = Found()
        import_suite({"expectations": [expectation]}, found)
        if found.left_out:
            counted["left out"] += 1
            continue
        made = duckdb.connect()
        try:
            made.register("given", pd.DataFrame(data))
            made.execute("CREATE TABLE t AS SELECT * FROM given")
            suite = load_suite("\n".join(rule.line() for rule in found.rules))
            with dpdb.open(made, constraints=suite.rules, table="t") as session:
                checks = session.exact_checks(suite, non_private=True)
        except Exception as error:  # columns of several types, which no table has
            counted[f"no such table: {type(error).__name__}"] += 1
            continue
        is_kept = not any("tolerated there" in (rule.note or "") for rule in found.rules)
        if all(check.verdict == "pass" for check in checks) == success:
            counted["equal"] += 1
        elif not is_kept and success:
            counted["limit not kept: fails where the tool tolerates"] += 1
        else:
            counted["differs"] += 1
            print(
                f"DIFFERS {file}: {json.dumps(expectation)}, there {success}: {[rule.line() for rule in found.rules]}"
            )
    return counted


def kind_of(reason: str) -> str:
    """Return a reason without the names and values in it."""
    for start, kind in _KINDS.items():
        if re.search(start, reason):
            return kind
    return re.split(r"[:;(\[]", reason)[0].strip()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("tool", choices=TOOLS)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--cases", action="store_true", help="gx: also compare verdicts with those of published cases")
    parser.add_argument("--list", action="store_true", help="every definition with what became of it")
    given = parser.parse_args()
    unread: Counter[str] = Counter()
    all_found = list(definitions(given.folder, TOOLS[given.tool], unread))
    taken = [each for each in all_found if each.rules and not each.left_out]
    left_out = [each for each in all_found if each.left_out]
    vanished = [each for each in all_found if not each.rules and not each.left_out]
    reasons = Counter(kind_of(each.left_out[0].reason) for each in left_out)
    if given.list:
        for each in all_found:
            became = [rule.line() for rule in each.rules]
            became += [f"# {item.origin}: {item.reason}" for item in each.left_out]
            print(f"{each.file}: {each.said}\n    " + "\n    ".join(became or ["VANISHED"]))
    print(f"found {len(all_found)}, taken {len(taken)}, left out {len(left_out)}, vanished {len(vanished)}")
    print(f"texts that are no YAML or JSON: {sum(unread.values())}")
    for reason, number in reasons.most_common():
        print(f"  {number:5}  {reason}")
    if given.cases:
        for said, number in compare_cases(given.folder).most_common():
            print(f"cases, {said}: {number}")


if __name__ == "__main__":
    main()
