"""A folder that can be read at a glance."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "dpdb"
FOLDERS = sorted({path.parent for path in PACKAGE.rglob("*.py")})


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.relative_to(PACKAGE.parent)))
def test_no_folder_has_more_than_twenty_modules(folder: Path) -> None:
    assert len(list(folder.glob("*.py"))) <= 20


@cache
def code_lines(text: str) -> int:
    """Lines with a token that is no comment, without those of docstrings."""
    none = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    tokens = [token for token in tokenize.generate_tokens(io.StringIO(text).readline) if token.type not in none]
    lines = {line for token in tokens for line in range(token.start[0], token.end[0] + 1)}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def test_the_sizes_of_rooms_are_told() -> None:
    """Within a quarter, so that they are taken along once in a while and not with each change."""
    assert code_lines('"""No."""\n\nx = 1  # yes\n# no\ny = """\nyes"""\n') == 3
    section = (PACKAGE / "README.md").read_text().partition("## Sizes")[2].partition("## ")[0]
    told = {
        name: (lines, files) for name, lines, files in re.findall(r"\b([a-z]+)\s+([\d,]+)\s+/\s+(\d+)[;.]", section)
    }
    rooms = {folder.name: list(folder.rglob("*.py")) for folder in FOLDERS if folder.parent == PACKAGE}
    assert set(told) - {"packages"} == rooms.keys()
    for name, paths in rooms.items():
        lines, files = (int(number.replace(",", "")) for number in told[name])
        assert lines * 0.75 - 100 <= sum(code_lines(path.read_text()) for path in paths) <= lines * 1.25 + 100, name
        assert files * 0.75 - 2 <= len(paths) <= files * 1.25 + 2, name
