"""Rooms import downwards, through their faces and in no circle, and `dpdb measure` loads no room without need."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
CONTRACTS = PROJECT["tool"]["importlinter"]["contracts"]
LAYERS = [room.strip() for layer in CONTRACTS[0]["layers"] for room in layer.split("|")]
ROOMS = [room for room in LAYERS if (ROOT / "dpdb" / room).is_dir() and room not in ("compiled", "files")]
EXCEPTIONS = Path(__file__).with_name("imports_past_a_face.txt")
MOST_EXCEPTIONS = 20
MOST_LOADED = 148


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def modules() -> dict[str, ast.Module]:
    return {module_name(path): ast.parse(path.read_text()) for path in (ROOT / "dpdb").rglob("*.py")}


@cache
def exports(module: str) -> list[str]:
    """Names that a module shows: its `__all__`, or what a face imports as itself."""
    tree = modules().get(module)
    for node in () if tree is None else tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "__all__":
            return list(ast.literal_eval(node.value))
    return [] if tree is None else [name for _, name in imports(module, as_itself=True)]


def is_lazy(module: str) -> bool:
    return ("dpdb.faces", "lazy_names") in set(imports(module))


def imports(module: str, *, as_itself: bool = False) -> Iterator[tuple[str, str]]:
    """Module and name of every import, in functions and for type checkers, too; of `import x` the name is empty.

    With `as_itself`, those of the form ``from x import name as name`` alone.
    """
    for node in ast.walk(modules()[module]):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                if not as_itself or alias.asname == alias.name:
                    yield node.module, alias.name
        elif isinstance(node, ast.Import) and not as_itself:
            for alias in node.names:
                yield alias.name, ""


def imported_modules(module: str) -> set[str]:
    """Modules of dpdb that a module imports; of a room's face, that is all that the face shows."""
    found = set()
    for source, name in imports(module):
        inside = f"{source}.{name}"
        found.add(inside if inside in modules() and module.startswith(f"{source}.") else source)
        found.add(inside)
    return found & modules().keys() - {module}


@cache
def module_is_package(module: str) -> bool:
    return any(other.startswith(f"{module}.") for other in modules())


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Take away what imports nothing that is left, again and again; what stays is in a circle or leads to one."""
    left = dict(graph)
    while True:
        ends = [module for module, needed in left.items() if not needed & left.keys()]
        if not ends:
            return [[module, *sorted(needed & left.keys())] for module, needed in left.items()]
        for module in ends:
            del left[module]


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = {module: imported_modules(module) for module in modules()}
    assert sum(map(len, graph.values())) > 500
    assert circles(graph) == []


def test_circles_are_found() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": set()}) == []
    assert circles({"a": {"b"}, "b": {"a"}, "c": set()}) == [["a", "b"], ["b", "a"]]


def test_the_contracts_on_imports_are_kept() -> None:
    """Those of pyproject.toml: rooms import downwards only, and doors know nothing of one another."""
    assert len(ROOMS) == 19
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert f"Contracts: {len(CONTRACTS)} kept, 0 broken." in done.stdout


def room_of(module: str) -> str | None:
    parts = module.split(".")
    return parts[1] if parts[0] == "dpdb" and len(parts) > 1 and parts[1] in ROOMS else None


def is_face(module: str) -> bool:
    return module_is_package(module) and bool(exports(module))


def past_a_face() -> set[str]:
    """Return imports of another room that name a module inside it, as lines `importer -> imported`."""
    found = set()
    for module in modules():
        for source, name in imports(module):
            target = f"{source}.{name}" if f"{source}.{name}" in modules() else source
            room = room_of(target)
            if name in exports(source) and is_face(source):
                continue  # a name that is shown, though a module has the same
            if room not in (None, room_of(module)) and target != f"dpdb.{room}" and not is_face(target):
                found.add(f"{module} -> {target}")
    return found


def test_rooms_are_imported_through_their_faces() -> None:
    """The list of exceptions can only become shorter: one that is not used any more fails, too."""
    allowed = EXCEPTIONS.read_text().split("\n")[:-1]
    assert allowed == sorted(set(allowed))
    found = past_a_face()
    assert sorted(found - set(allowed)) == [], "import the room's face"
    assert sorted(set(allowed) - found) == [], f"not used any more: delete from {EXCEPTIONS.name}"
    assert len(allowed) <= MOST_EXCEPTIONS


@pytest.mark.parametrize("face", sorted(filter(is_lazy, modules())))
def test_a_lazy_face_has_every_name_that_it_shows_and_no_other(face: str) -> None:
    package = importlib.import_module(face)
    homes = {name: source for source, name in imports(face, as_itself=True)}
    assert package.__all__ == sorted(homes)
    for name, home in homes.items():
        assert home.startswith(f"{face}.") or face == "dpdb.settings"
        assert f"{face}.{name}" not in modules() or home == f"{face}.{name}", (
            "importing this module would take its place"
        )
        assert getattr(package, name) is getattr(importlib.import_module(home), name)
    with pytest.raises(AttributeError, match="no_such_name"):
        package.no_such_name  # noqa: B018


@pytest.mark.parametrize(
    "asked",
    [
        ["measure", "--constraint", "UNIQUE(provider_number, measure_code)", "--measure", "all"],
        ["check", str(ROOT / "examples" / "data" / "hospital.suite.txt")],
    ],
)
def test_nobody_waits_for_pandas(asked: list[str]) -> None:
    """Where it is installed, `pyarrow` imports it to make values of Python into columns: a third of a small command."""
    pytest.importorskip("pandas")
    command, *more = asked
    arguments = [command, str(ROOT / "examples" / "data" / "hospital.parquet"), *more, "--epsilon", "1", "--quiet"]
    program = f"import sys; from dpdb.doors.cli import main; main({arguments!r}); print('pandas' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"


def test_measure_of_a_file_loads_what_it_needs_only() -> None:
    """Importing is most of the time of a small release. What is compiled, and by whom, `tests/graph` looks at."""
    data = ROOT / "examples" / "data"
    program = (
        "import sys; from dpdb.doors.cli import main; "
        f"main(['measure', {str(data / 'hospital.parquet')!r}, '--constraints', {str(data / 'hospital.dcs.txt')!r}, "
        "'--measure', 'all', '--epsilon', '1', '--quiet']); "
        "print(*sorted(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = done.stdout.splitlines()[-1].split()
    assert "dpdb.release.session" in loaded
    unwanted = (
        "dpdb.doors.jobs",
        "dpdb.doors.reports",
        "dpdb.doors.sql",
        "dpdb.engine.parents.opened",
        "dpdb.remote.postgres_table",
        "dpdb.graph.exact.solver",
        "dpdb.ledger.lines",
        "dpdb.ledger.store",
        "dpdb.overlap",
        "dpdb.owner",
        "dpdb.release.limited_children",
        "dpdb.release.published.comparisons",
        "dpdb.release.published.comparisons",
        *("adbc_driver_manager", "matplotlib", "pandas", "polars", "pyspark", "rich"),
    )
    assert [name for name in loaded if f"{name}.".startswith(tuple(f"{room}." for room in unwanted))] == []
    commands = [name for name in loaded if name.startswith("dpdb.doors.cli.commands.")]
    assert commands == ["dpdb.doors.cli.commands.measure"]
    dialects = [name for name in loaded if name.startswith("sqlglot.dialects.")]
    assert dialects == ["sqlglot.dialects.dialect", "sqlglot.dialects.duckdb"]
    ours = [name for name in loaded if name.startswith("dpdb") and not name.startswith("dpdb.compiled.")]
    assert len(ours) <= MOST_LOADED, "load it where it is used, or take the bound along if every release needs it"
