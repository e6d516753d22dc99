"""The API reference is built by its command, without a warning, and has every public name with its docstring."""

from __future__ import annotations

import re
import runpy
from importlib import import_module
from pathlib import Path

import pytest

pytest.importorskip("pdoc", reason="the API reference needs pdoc: pip install 'dpdb[docs]'")
SCRIPT = Path(__file__).resolve().parents[2] / "examples" / "api_reference.py"


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        import pdoc.doc

        patch.setattr(pdoc.doc, "Class", pdoc.doc.Class)  # so that it is put back
        folder = tmp_path_factory.mktemp("reference")
        program = runpy.run_path(str(SCRIPT))
        assert program["write_reference"](folder) == program["MODULES"]
    return folder


def shown(reference: Path, module: str) -> set[str]:
    page = (reference / (module.replace(".", "/") + ".html")).read_text(encoding="utf-8")
    return set(re.findall(r'<(?:section|div) id="([\w.]+)"', page))


@pytest.mark.heavy(family="long")
def test_every_public_name_is_there_and_documented(reference: Path) -> None:
    for module in runpy.run_path(str(SCRIPT))["MODULES"]:
        names = set(import_module(module).__all__)
        assert names <= shown(reference, module), module
    public = import_module("dpdb")
    assert [name for name in public.__all__ if not (getattr(public, name).__doc__ or "").strip()] == []


def test_classes_show_what_they_inherit_and_what_a_release_is_made_of(reference: Path) -> None:
    wanted = {"Session.dp_inconsistency", "Session.dp_count", "Release.value", "Release.to_dict", "Release.change"}
    assert wanted <= shown(reference, "dpdb")
    assert {"Releases.to_pandas", "Ask.where"} <= shown(reference, "dpdb.release")
    assert "Releases.index" not in shown(reference, "dpdb.release")
    text = re.sub(r"<[^>]+>", "", (reference / "dpdb.html").read_text(encoding="utf-8"))
    assert "Release one measure, or all three, of the table or of a slice." in text
    assert "each_constraint" in text


def test_no_page_names_a_folder_of_this_machine(reference: Path) -> None:
    for page in reference.rglob("*.*"):
        assert str(SCRIPT.parents[1]) not in page.read_text(encoding="utf-8"), page
