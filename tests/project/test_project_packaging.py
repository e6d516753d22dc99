"""The wheel carries what the package needs; the README's commands are true."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_wheel_carries_sql_data_and_types(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    wanted = [
        "dpdb/py.typed",
        "dpdb/sql/conflict.sql",
        "dpdb/sql/settings.sql",
        "dpdb/sql/conflict_edge.sql",
        "dpdb/sql/release_macros.sql",
        "dpdb/data/hospital.parquet",
        "dpdb/doors/reports/style.css",
    ]
    assert set(wanted) <= set(names)
    assert not [name for name in names if name.startswith(("tests", "examples"))]
    metadata = next(name for name in names if name.endswith("METADATA"))
    assert "License-Expression: Apache-2.0" in zipfile.ZipFile(wheel).read(metadata).decode()


def test_an_unpacked_wheel_finds_its_sql_and_data(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    program = (
        "import dpdb, sys; from dpdb.doors.cli import main; assert 'site' in dpdb.__file__; sys.exit(main(['demo']))"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path / "site", capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert "repair = " in run.stdout


def _imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
        elif isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
    return found


def test_sql_runs_in_one_class_and_random_numbers_come_from_one_module() -> None:
    for path in (ROOT / "dpdb").rglob("*.py"):
        modules = _imports(path)
        if any(module.split(".")[0] == "opendp" for module in modules):
            assert path.relative_to(ROOT) == Path("dpdb/privacy/noise.py")
        if "duckdb" in modules:
            ours = ("__init__.py", "database.py", "interruptible.py")
            in_the_owners_connection = (
                "duckdb_connection.py", "duckdb_relation.py", "owner_table.py", "sql_functions.py",
            )  # fmt: skip
            of_analysts = ("worker.py",)
            assert path.name in ours + in_the_owners_connection + of_analysts, path


def test_every_command_of_the_readme_exists() -> None:
    from dpdb.doors.cli.main import build_parser

    commands = re.findall(r"^dpdb (.*?)(?:\s+#.*)?$", (ROOT / "README.md").read_text(), flags=re.MULTILINE)
    assert len(commands) >= 7
    for command in commands:
        import shlex

        build_parser().parse_args(shlex.split(command))
