"""The wheel carries what the package needs; the README's commands are true."""

from __future__ import annotations

import ast
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from dpdb.doors.cli.main import build_parser

ROOT = Path(__file__).resolve().parents[2]


def built(folder: Path, **environment: str) -> Path:
    """Build a wheel, without the kernels: they take half a minute."""
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    settings = {**os.environ, "HATCH_BUILD_NO_HOOKS": "true", **environment}
    subprocess.run(build, check=True, capture_output=True, env=settings)
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("wheel"))


def test_the_wheel_carries_sql_data_and_types(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    wanted = [
        "dpdb/CHANGELOG.md",
        "dpdb/README.md",
        "dpdb/py.typed",
        *(f"dpdb/sql/{path.name}" for path in (ROOT / "sql").glob("*.sql")),
        "dpdb/data/hospital.parquet",
        "dpdb/data/LICENSE.hospital.txt",
        "dpdb/doors/reports/page.html.jinja",
        "dpdb/doors/reports/style.css",
    ]
    assert set(wanted) <= set(names)
    assert not [name for name in names if name.startswith(("tests", "examples"))]
    metadata = next(name for name in names if name.endswith("METADATA"))
    said = zipfile.ZipFile(wheel).read(metadata).decode()
    assert "License-Expression: Apache-2.0\nLicense-File: LICENSE\n" in said
    (licence,) = [name for name in names if name.endswith(".dist-info/licenses/LICENSE")]
    assert zipfile.ZipFile(wheel).read(licence) == (ROOT / "LICENSE").read_bytes()
    assert [f"Classifier: Programming Language :: Python :: 3.{minor}" in said for minor in (11, 12, 13)] == [True] * 3


MIT = "this permission notice shall be included"
HOLDERS = {
    "inconsistency_paper/data/adult.parquet": ("Becker, B. and Kohavi, R. (1996)", "CC BY 4.0"),
    "data/hospital.parquet": ("Copyright (c) 2011-2013, Qatar Foundation", MIT),
    "inconsistency_paper/data/flight.parquet": ("Copyright 2018-2025 The Apache Software Foundation", "Apache License"),
    "inconsistency_paper/data/stock.parquet": ("Copyright (c) 2021 Jeffrey Varner", MIT),
}


def test_every_table_of_others_has_its_notice_beside_it() -> None:
    tables = {str(path.relative_to(ROOT / "examples")) for path in (ROOT / "examples").rglob("*.parquet")}
    assert tables == HOLDERS.keys()
    for table, wanted in HOLDERS.items():
        path = ROOT / "examples" / table
        notice = path.with_name(f"LICENSE.{path.stem}.txt").read_text().replace("\n", " ")
        assert all(words in notice for words in wanted), table


def test_a_source_archive_carries_licences_and_notices(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
    notices = {str(path.relative_to(ROOT)) for path in (ROOT / "examples").rglob("LICENSE.*")}
    assert len(notices) == 4
    assert {"LICENSE", *notices} <= names


def test_an_unpacked_wheel_finds_its_sql_and_data(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    compiled = Path("dpdb", "__pycache__", "kernels")
    if (ROOT / compiled).is_dir():  # from the same source: it need not be compiled again
        shutil.copytree(ROOT / compiled, tmp_path / "site" / compiled)
    program = (
        "import dpdb, sys; from dpdb.doors.cli import main; assert 'site' in dpdb.__file__; sys.exit(main(['demo']))"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path / "site", capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert "\nrepair " in run.stdout


@pytest.mark.slow
def test_the_wheel_carries_every_kernel_as_portable_code(tmp_path: Path) -> None:
    site = tmp_path / "site"
    zipfile.ZipFile(built(tmp_path, HATCH_BUILD_NO_HOOKS="false")).extractall(site)
    program = (
        "import sys; from dpdb.graph import load_all_kernels; from dpdb.overlap import load_search;"
        "load_all_kernels(); load_search(); assert 'numba' not in sys.modules;"
        "from dpdb.compiled import compiled_so_far; print(compiled_so_far.made)"
    )
    settings = {**os.environ, "PYTHONPATH": str(site), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=site, capture_output=True, text=True, env=settings, check=False)
    assert done.stderr == ""
    assert int(done.stdout) == len(list((site / "dpdb" / "compiled" / "portable").iterdir())) > 30


TWO_KERNELS = "import beside, numpy, dpdb.graph.grouping as g; g.sort_into_groups(numpy.zeros(3, numpy.int32), 1)"


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("version", "loads", "carried", "warnings"),
    [("standard", TWO_KERNELS, 2, 0), ("standard", "1 / 0", None, 1), ("editable", TWO_KERNELS, None, 0)],
)
def test_a_build_carries_the_kernels_that_numba_compiles_there(
    version: str, loads: str, carried: int | None, warnings: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "beside.py").write_text("")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))  # as pip tells a build where its packages are
    hatch_build = runpy.run_path(str(ROOT / ".hatch_build.py"))
    kind = hatch_build["PortableKernels"]
    program = hatch_build["_PROGRAM"].replace("load_all_kernels()", loads).replace("load_search()", "pass")
    monkeypatch.setitem(kind.initialize.__globals__, "_PROGRAM", program)
    said: list[str] = []
    hook = object.__new__(kind)
    monkeypatch.setattr(kind, "root", str(ROOT))
    monkeypatch.setattr(kind, "app", SimpleNamespace(display_warning=said.append))
    data: dict[str, dict[str, str]] = {"force_include": {}}
    hook.initialize(version, data)
    folders = {there: Path(here) for here, there in data["force_include"].items()}
    found = {there: len(list(folder.iterdir())) for there, folder in folders.items()}
    hook.finalize(version, data, "")
    assert found == ({} if carried is None else {"dpdb/compiled/portable": carried})
    assert len(said) == warnings
    assert not any(folder.exists() for folder in folders.values())


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
                "attached.py", "duckdb_connection.py", "owner_table.py", "sql_functions.py",
            )  # fmt: skip
            of_analysts = ("worker.py",)
            assert path.name in ours + in_the_owners_connection + of_analysts, path


def commands_of(page: str) -> list[str]:
    """Commands in blocks for a shell, and in indented lines; a line that ends with a backslash goes on.

    Without where the shell writes their output.
    """
    page = re.sub(r"\\\n\s*", " ", page)
    blocks = "".join(re.findall(r"```(?:sh|console)\n(.*?)```", page, flags=re.DOTALL))
    fenced = re.findall(r"^(?:\$ )?dpdb (.*?)(?:\s+#.*)?$", blocks, flags=re.MULTILINE)
    indented = re.findall(r"^    (?:\w+=\S+ )?dpdb (.*?)(?:\s+#.*)?$", page, flags=re.MULTILINE)
    parts = [part for command in fenced + indented for part in command.split(" && ")]
    return [re.sub(r" > \S+$", "", part.removeprefix("dpdb ")) for part in parts]


def test_every_command_of_readme_and_manual_exists() -> None:
    pages = [ROOT / "README.md", *(ROOT / "examples").rglob("*.md")]
    commands = [command for page in pages for command in commands_of(page.read_text())]
    assert len(commands) >= 40
    parser = build_parser()
    for command in commands:
        parser.parse_args(shlex.split(command))
