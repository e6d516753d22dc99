"""The documents' Python passes `mypy --strict`; `import dpdb` is cheap and gives every name that is documented."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from case_share import fifth

ROOT = Path(__file__).resolve().parents[2]
MANUAL = sorted((ROOT / "examples" / "manual").glob("*.md"))
DOCUMENTS = [ROOT / "README.md", ROOT / "dpdb" / "README.md", ROOT / "dpdb" / "CHANGELOG.md", *MANUAL]
HEAVY = ("dbt", "duckdb", "numba", "numpy", "opendp", "pandas", "polars", "pyarrow", "scipy", "sqlglot")

# Large packages that dpdb uses and no document does: their types are not read, which takes three quarters of the time.
UNSEEN = ("jinja2", "networkx", "numba", "numpy", "opendp", "polars", "scipy", "sqlglot")
SETTINGS = f"""\
[mypy]
strict = True
python_version = 3.11
follow_imports = silent
ignore_missing_imports = True
[mypy-dpdb.*]
ignore_errors = True
ignore_missing_imports = False
[mypy-{",".join(f"{name}.*" for name in UNSEEN)}]
follow_imports = skip
"""


def python_blocks(document: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", document.read_text(encoding="utf-8"), flags=re.DOTALL)


def documented_names() -> list[str]:
    """`dpdb.jobs.read_results` and its kin: in code of any form, not in names of files or settings."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in DOCUMENTS)
    return sorted(set(re.findall(r"(?<![\w./-])dpdb(?:\.[A-Za-z_]\w*)+", text)) - {"dpdb.toml", "dpdb.run_id"})


def in_new_process(program: str) -> str:
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=ROOT)
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


def test_python_of_the_documents_is_well_typed(tmp_path: Path) -> None:
    """All blocks of a document are one session, in their order; mypy reads the types that users get."""
    programs = [tmp_path / f"session_{number}.py" for number in range(len(DOCUMENTS))]
    for document, program in zip(DOCUMENTS, programs, strict=True):
        program.write_text("\n".join(python_blocks(document)), encoding="utf-8")
    texts = [program.read_text() for program in programs]
    assert sum(map(bool, texts)) >= 3
    assert not re.search(rf"^\s*(import|from) ({'|'.join(UNSEEN)})\b", "\n".join(texts), re.MULTILINE)
    settings = tmp_path / "mypy.ini"
    settings.write_text(SETTINGS, encoding="utf-8")
    cache = str(ROOT / ".mypy_cache" / "documents")  # of other settings than the project's own
    command = [sys.executable, "-m", "mypy", "--config-file", str(settings), "--cache-dir", cache, *map(str, programs)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


def test_import_gives_every_documented_name(tmp_path: Path) -> None:
    names = documented_names()
    assert {"dpdb.dp_inconsistency", "dpdb.jobs.read_results", "dpdb.open", "dpdb.plan", "dpdb.register"} <= set(names)
    # Each alone: no other name's import may be what makes it work.
    in_new_process(
        "import sys\n"
        f"sys.dont_write_bytecode, sys.pycache_prefix = False, {str(tmp_path)!r}\n"  # compiled once for all names
        f"for name in {fifth(names)}:\n"
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
    """Paths from the project's root in documents and docstrings; in `dpdb/README.md` from its own folder."""
    texts = [*DOCUMENTS, *(ROOT / "dpdb").rglob("*.py")]
    kinds = r"(?<![\w/])(?:dpdb/[a-zA-Z_/]+\.(?:py|css|md)|examples/[a-zA-Z_/]+\.(?:py|md|toml|parquet|txt|ipynb))\b"
    named = {path for text in texts for path in re.findall(kinds, text.read_text())}
    ours = re.findall(r"`([a-z_]+/[a-z_/]+\.py)`", (ROOT / "dpdb" / "README.md").read_text())
    named |= {f"dpdb/{path}" for path in ours if not path.startswith(("dpdb/", "tests/"))}
    assert len(named) > 40
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


def test_links_of_documents_lead_to_files() -> None:
    pages = [*DOCUMENTS, *(ROOT / "examples").rglob("*.md")]
    links = [
        (page, link) for page in pages for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8"))
    ]
    assert len(links) > 10
    assert [f"{page}: {link}" for page, link in links if not (page.parent / link).exists()] == []


def test_every_page_of_the_manual_is_listed() -> None:
    listed = re.findall(r"\]\(manual/(\w+\.md)\)", (ROOT / "examples" / "README.md").read_text())
    assert sorted(listed) == [page.name for page in MANUAL]


def test_the_readme_leads_to_what_changed() -> None:
    (section,) = re.findall(r"## Upgrading\n(.*?)\n## ", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    assert "(dpdb/CHANGELOG.md)" in section


def test_the_changelog_begins_with_this_version() -> None:
    from dpdb import __version__

    first = re.findall(r"^## (\S+)", (ROOT / "dpdb" / "CHANGELOG.md").read_text(), flags=re.MULTILINE)[0]
    assert first == __version__


def words_of_sentences(text: str) -> list[int]:
    """The number of words of each sentence outside of code, tables and headings, from the shortest on.

    What stands in code is one word. A colon ends a sentence before a capital letter, a semicolon never does.
    """
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    text = re.sub(r"^(    .*|\|.*|#.*|---.*)$", "", text, flags=re.MULTILINE)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"`[^`]*`", "X", text))
    parts = [" ".join(part.split()) for part in re.split(r"\n\s*\n|\n(?=[-*] |\d+\. )", text)]
    sentences = [one for part in parts for one in re.split(r"(?<=[.!?:])\s+(?=[A-Z\"(*])", part)]
    counts = (len(re.findall(r"[A-Za-z][\w'-]*|\d[\d,.]*", one)) for one in sentences)
    return sorted(count for count in counts if count > 2)


def test_documents_have_short_sentences() -> None:
    """16 words in the mean, and nine of ten at most 30: of all pages together; the mean of each is at most 20."""
    assert words_of_sentences("One, two: three. `four five` six seven eight; nine ten!\n\n| a | b |") == [3, 6]
    found = {document: words_of_sentences(document.read_text(encoding="utf-8")) for document in DOCUMENTS}
    counts = sorted(count for one in found.values() for count in one)
    assert sum(counts) / len(counts) <= 16
    assert counts[len(counts) * 9 // 10] <= 30
    means = {document.name: sum(one) / len(one) for document, one in found.items()}
    assert {name: mean for name, mean in means.items() if mean > 20} == {}
