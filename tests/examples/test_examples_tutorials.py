"""Every tutorial is executed, cell by cell, where it lies. It is stored without outputs, which noise would change.

By default one of the two that need no command line, by the commit (`case_share`); the others (`-m slow`) start a
process for each of their commands.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
TUTORIALS = sorted((EXAMPLES / "tutorials").glob("*.ipynb"))
FAST = ("health_network", "notebook")
HAS_SPARK = find_spec("pyspark") is not None and shutil.which("java") is not None
SPARK = pytest.mark.skipif(not HAS_SPARK, reason="pyspark (extra `spark`) and Java are needed, one is not installed")


def written() -> set[Path]:
    return {path for folder in ("data", "tutorials") for path in (EXAMPLES / folder).rglob("*")}


def executed(path: Path) -> object:
    marks = [pytest.mark.heavy if path.stem in FAST else pytest.mark.slow]
    return pytest.param(path, id=path.stem, marks=[*marks, SPARK] if path.stem == "spark" else marks)


@pytest.mark.heavy(family="alone")
@pytest.mark.parametrize("path", [executed(path) for path in TUTORIALS])
@pytest.mark.filterwarnings("default")  # of the notebook's own libraries
def test_every_cell_runs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    before = written()
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(
        notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(path.parent)}}
    ).execute()
    assert written() == before, "a tutorial writes to temporary folders only"


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_what_is_stored_is_valid_and_has_no_outputs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.source for cell in code if cell.outputs or cell.execution_count] == []
    assert any("assert " in cell.source for cell in code), "a tutorial checks what it says"
    assert notebook.cells[0].cell_type == "markdown"


def test_every_tutorial_is_listed_and_every_link_in_them_leads_somewhere() -> None:
    listed = re.findall(r"\]\(tutorials/(\w+)\.ipynb\)", (EXAMPLES / "README.md").read_text())
    assert sorted(listed) == [path.stem for path in TUTORIALS]
    for path in TUTORIALS:
        text = "\n".join(cell.source for cell in nbformat.read(path, as_version=4).cells)
        for link in re.findall(r"\]\(([^)#:]+)\)", text):
            assert (path.parent / link).exists(), f"{path.name}: {link}"
