"""The faces of rooms: where their names are at home, and an installation without sources.

A name that a face gets or loses changes `dpdb/face_names.py`: write that anew with

    DPDB_WRITE_FACES=1 pytest tests/project/test_project_faces.py
"""

from __future__ import annotations

import ast
import builtins
import compileall
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import dpdb
from dpdb import face_names

PACKAGE = Path(dpdb.__file__).parent
HOMES = {"dpdb.settings": "dpdb."}
HEAD = '''"""Where the names of each room's face are at home: by room and module.

Written by `tests/project/test_project_faces.py` from what the faces import for type checkers; change those.
"""

from __future__ import annotations

from collections.abc import Mapping

FACES: Mapping[str, Mapping[str, str]] = {
'''


def stated() -> dict[str, dict[str, list[str]]]:
    """Read the faces: what those that are lazy import ``as`` themselves, from their own modules (`settings` of any)."""
    found = {}
    for path in sorted([*PACKAGE.rglob("__init__.py"), PACKAGE / "settings.py"]):
        text = path.read_text(encoding="utf-8")
        if "lazy_names(" not in text:
            continue
        folder = path.parent if path.name == "__init__.py" else path.with_suffix("")
        room = ".".join(("dpdb", *folder.relative_to(PACKAGE).parts))
        homes: dict[str, list[str]] = {}
        own = HOMES.get(room, f"{room}.")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and node.module and f"{node.module}.".startswith(own):
                names = [alias.asname for alias in node.names if alias.asname is not None and node.module != room]
                if names:
                    homes.setdefault(node.module, []).extend(names)
        found[room] = homes
    return found


def written(faces: dict[str, dict[str, list[str]]]) -> str:
    lines = []
    for room, homes in faces.items():
        lines.append(f'    "{room}": {{')
        for module, names in sorted(homes.items()):
            parts = textwrap.wrap(" ".join(sorted(names)), 80)
            if len(parts) == 1 and len(module) + len(parts[0]) < 100:
                lines.append(f'        "{module}": "{parts[0]}",')
            else:
                lines.append(f'        "{module}": (')
                lines += [
                    f'            "{part}{" " if place < len(parts) - 1 else ""}"' for place, part in enumerate(parts)
                ]
                lines.append("        ),")
        lines.append("    },")
    return HEAD + "\n".join(lines) + "\n}\n"


def test_the_names_of_faces_are_those_that_they_import() -> None:
    text, path = written(stated()), PACKAGE / "face_names.py"
    if os.environ.get("DPDB_WRITE_FACES"):
        path.write_text(text, encoding="utf-8")
        return
    known = {
        room: {module: names.split() for module, names in homes.items()} for room, homes in face_names.FACES.items()
    }
    wanted = {room: {module: sorted(names) for module, names in homes.items()} for room, homes in stated().items()}
    assert known == wanted, "write dpdb/face_names.py anew: DPDB_WRITE_FACES=1"


PROGRAM = """
import builtins, importlib, sys
import dpdb, pyarrow
from dpdb.face_names import FACES
assert dpdb.__file__.endswith(".pyc"), dpdb.__file__
for room, homes in FACES.items():
    face = importlib.import_module(room)
    for names in homes.values():
        for name in names.split():
            getattr(face, name)
from dpdb.doors.cli.main import main
with dpdb.open(pyarrow.table({"a": [1, 1, 1], "b": [1, 1, 2]}), constraints="a -> b", budget=1) as session:
    print(session.dp_inconsistency("repair", 0.5).measure, session.check("a -> b", 0.5)[0].name)
sys.exit(main(["--version"]))
"""


def test_an_installation_without_sources_works(tmp_path: Path) -> None:
    """As `compileall -b` makes it: compiled files beside no source."""
    there = tmp_path / "site" / "dpdb"
    shutil.copytree(PACKAGE, there, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(PACKAGE.parent / "sql", there.parent / "sql")
    assert compileall.compile_dir(there, quiet=2, legacy=True, workers=1)
    for path in there.rglob("*.py"):
        path.unlink()
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "-P", str(program)],
        env={**os.environ, "PYTHONPATH": str(there.parent)}, cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("repair a -> b\n")


# -- the package's own names ------------------------------------------------------------------------------------------


def test_the_package_shows_public_names_only() -> None:
    shown = dir(dpdb)
    assert {"open", "dp_inconsistency", "register", "Session", "Release", "plan", "jobs", "__version__"} <= {*shown}
    assert not {"TYPE_CHECKING", "annotations", "import_module", "Any"} & {*shown}
    assert [name for name in shown if name.startswith("_")] == ["__version__"]
    assert all(getattr(dpdb, name) is not None for name in shown)


def test_importing_all_names_keeps_the_builtin_ones() -> None:
    names: dict[str, object] = {}
    exec("from dpdb import *", names)  # what a reader of a tutorial types
    assert "open" not in names
    assert not {*names} & {*dir(builtins)} - {"__builtins__"}
    assert names["dp_inconsistency"] is dpdb.dp_inconsistency
    assert callable(dpdb.open)
