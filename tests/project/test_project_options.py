"""What callers ask with has one home: the fields of data classes. A door that writes their names by hand fails here."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from dpdb.diagnosis import ASKED
from dpdb.options import Option
from dpdb.reconciliation import ASKED as COMPARED
from dpdb.release import OPTIONS
from dpdb.settings import SETTINGS
from dpdb.suites import RUN_OPTIONS, SUITE_OPTIONS

DOORS = Path(__file__).resolve().parents[2] / "dpdb" / "doors"
SETS: Mapping[str, Mapping[str, Option]] = {
    "release": OPTIONS,
    "run of a suite": RUN_OPTIONS,
    "registered suite": SUITE_OPTIONS,
    "diagnosis": ASKED,
    "comparison": COMPARED,
    "table": SETTINGS,
}
# Commands that ask with one of the sets, and where their options are added.
ASKING = ("options.py", "measure.py", "count.py", "explain.py", "check.py", "diagnose.py")
# The order in which statements may leave names out, which is promised; which settings of a table commands show first;
# fields of a request, which are written to ledgers; the settings that both tables of a comparison may share.
BY_HAND = {
    "sql_parameters.py": ("_RELEASE_ORDER", "_ORDER"),
    "options.py": ("_SHAPE",),
    "checks.py": ("_MAY_DIFFER",),
    "__init__.py": ("_OF_BOTH",),
}
FEW = 3  # so many names of one set together are no list of it


def lists_of_names(tree: ast.AST) -> Iterator[tuple[int, list[str]]]:
    """Line and texts of each tuple, list, set and dict of a module that is written out."""
    for node in ast.walk(tree):
        items = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", [])
        yield getattr(node, "lineno", 0), [one.value for one in items if isinstance(one, ast.Constant)]


def promised(tree: ast.Module, names: tuple[str, ...]) -> set[int]:
    """The lines of assignments to some names."""
    found = (node for node in tree.body if isinstance(node, (ast.Assign, ast.AnnAssign)))
    targets = ((node, node.targets[0] if isinstance(node, ast.Assign) else node.target) for node in found)
    kept = [node for node, target in targets if isinstance(target, ast.Name) and target.id in names]
    return {line for node in kept for line in range(node.lineno, (node.end_lineno or 0) + 1)}


def written_by_hand(path: Path, text: str) -> list[str]:
    """Each place of a door that writes options of a set out."""
    tree = ast.parse(text)
    allowed = promised(tree, BY_HAND.get(path.name, ()))
    found = []
    for line, texts in lists_of_names(tree):
        for kind, own in SETS.items():
            if line not in allowed and len(own.keys() & {*texts}) > FEW:
                found.append(f"{path.name}:{line}: names options of a {kind}: {texts}")
    if path.name in ASKING:
        flags = {f"--{one.key.replace('_', '-')}" for own in SETS.values() for one in own.values()}
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                texts = [each.value for each in node.args if isinstance(each, ast.Constant)]
                if node.func.attr in {"add_argument", "add_repeated"} and flags & {*texts}:
                    found.append(f"{path.name}:{node.lineno}: types an option: {texts}")
    return found


def test_no_door_writes_options_by_hand() -> None:
    found = [each for path in DOORS.rglob("*.py") for each in written_by_hand(path, path.read_text(encoding="utf-8"))]
    assert found == [], "derive it: `options_of`, `asked_in`, `ask_options`, `TomlKeys.options`, `KINDS`"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("measure.py", "parser.add_argument('--theta', type=whole, metavar='N', help='public threshold')"),
        ("check.py", "parser.add_argument('--within', type=real)"),
        ("job_file.py", "KEYS = ('epsilon', 'where', 'rate', 'theta')"),
        ("exchange.py", "CHECK = {'epsilon': str, 'within': float, 'sizes': bool, 'date': str}"),
        ("sql_parameters.py", "KINDS = {'by': 'columns', 'keys': 'lists', 'top': 'whole', 'expected': 'amount'}"),
    ],
)
def test_what_was_written_by_hand_is_found(name: str, text: str) -> None:
    assert written_by_hand(Path(name), text)


@pytest.mark.parametrize("asked", SETS)
def test_every_option_says_what_it_is(asked: str) -> None:
    for name, one in SETS[asked].items():
        assert (one.name, bool(one.words)) == (name, True)
        assert one.letter or one.choices or one.kind == "flag", name
