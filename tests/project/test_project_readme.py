"""README's Python runs and passes `mypy --strict`; `import dpdb` is cheap and gives every name that is documented."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [path for path in (ROOT / "README.md", ROOT / "dpdb" / "README.md") if path.is_file()]
HEAVY = ("dbt", "duckdb", "numba", "numpy", "opendp", "pandas", "polars", "pyarrow", "scipy", "sqlglot")


def python_blocks(document: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", document.read_text(encoding="utf-8"), flags=re.DOTALL)


def documented_names() -> list[str]:
    """`dpdb.jobs.read_results` and its kin: in code of any form, not in names of files such as `dpdb/dbt.py`."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in DOCUMENTS)
    return sorted(set(re.findall(r"(?<![\w./-])dpdb(?:\.[A-Za-z_]\w*)+", text)) - {"dpdb.toml"})


def in_new_process(program: str) -> str:
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=ROOT)
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


def test_the_readmes_python_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    tour, *others = python_blocks(ROOT / "README.md")
    first = tour.split("\n\nwith ")[0]
    assert others, "the README has lost its Python"
    monkeypatch.chdir(ROOT)
    names: dict[str, object] = {}
    exec(first, names)
    assert names["r"].value >= 0  # type: ignore[attr-defined]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_python_of_the_documents_is_well_typed(document: Path, tmp_path: Path) -> None:
    """All blocks of a document are one session, in their order; mypy reads the types that users get."""
    program = tmp_path / "session.py"
    program.write_text("\n".join(python_blocks(document)), encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", "pyproject.toml", str(program)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


def test_import_gives_every_documented_name() -> None:
    names = documented_names()
    assert {"dpdb.dp_inconsistency", "dpdb.jobs.read_results", "dpdb.open", "dpdb.plan", "dpdb.register"} <= set(names)
    # Each alone: no other name's import may be what makes it work.
    in_new_process(
        "import sys\n"
        f"for name in {names}:\n"
        "    for module in [each for each in sys.modules if each.partition('.')[0] == 'dpdb']:\n"
        "        del sys.modules[module]\n"
        "    import dpdb\n"
        "    eval(name)\n"
    )


def test_import_loads_nothing_but_the_package_itself() -> None:
    program = (
        f"import sys, dpdb; print(*(m for m in sys.modules if m.startswith('dpdb') or m.split('.')[0] in {HEAVY}))"
    )
    assert set(in_new_process(program).split()) == {"dpdb", "dpdb._version"}


def test_every_public_name_is_found_when_it_is_first_used() -> None:
    in_new_process("import dpdb; [getattr(dpdb, name) for name in dpdb.__all__]")
    assert in_new_process("import dpdb; print(hasattr(dpdb, 'no_such_name'))") == "False"


def test_files_that_documents_name_exist() -> None:
    """Paths from the project's root in README and docstrings; in `dpdb/README.md` from its own folder."""
    texts = [ROOT / "README.md", *(ROOT / "dpdb").rglob("*.py")]
    named = {path for text in texts for path in re.findall(r"dpdb/[a-z_/]+\.(?:py|css|md)\b", text.read_text())}
    ours = re.findall(r"`([a-z_]+/[a-z_/]+\.py)`", (ROOT / "dpdb" / "README.md").read_text())
    named |= {f"dpdb/{path}" for path in ours if not path.startswith(("dpdb/", "tests/"))}
    assert len(named) > 40
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []
