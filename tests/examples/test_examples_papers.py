"""The page of the two papers: its counts are those of its lines, and what it names is there."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "examples" / "manual" / "papers.md").read_text(encoding="utf-8")
VERDICTS = ("confirmed", "refuted", "not done")
SECTIONS = (
    "Paper A: definitions, algorithms, theorems, examples",
    "Paper A: what its tables and experiments say",
    "Paper B",
)


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split(" | ")]


def statements(section: str) -> list[list[str]]:
    lines = PAGE.partition(f"## {section}\n")[2].partition("\n## ")[0].splitlines()
    return [cells(line) for line in lines if line.startswith("| ")][2:]


def test_counts_are_those_of_the_lines() -> None:
    counted = []
    for section in SECTIONS:
        verdicts = [line[3] for line in statements(section)]
        assert set(verdicts) <= set(VERDICTS)
        counted.append([*(verdicts.count(one) for one in VERDICTS), len(verdicts)])
    printed = [cells(line) for line in PAGE.partition("## Table 2")[0].splitlines() if line.startswith("| ")][2:]
    total = [sum(column) for column in zip(*counted, strict=True)]
    assert [list(map(int, line[1:])) for line in printed] == [*counted, total]


def test_what_is_confirmed_or_refuted_has_its_reason() -> None:
    for section in SECTIONS:
        for line in statements(section):
            assert len(line) == 5, line
            if line[3] == "confirmed":
                assert "::test_" in line[4] or ".py`" in line[2], line
            if line[3] == "refuted":
                assert re.search(r"\d", line[4]), line


def test_tests_and_files_that_are_named_exist() -> None:
    named = re.findall(r"`((?:dpdb|tests|examples|sql)/[\w/.]+)(?:::(\w+))?`", PAGE)
    assert len(named) > 40
    for path, function in named:
        text = (ROOT / path).read_text(encoding="utf-8")
        assert not function or f"def {function}(" in text, (path, function)


CERTAIN = ("table_2", "table_3", "table_4", "figure_9")
PROGRAM = (
    "import sys, json, importlib; sys.modules['matplotlib'] = None; sys.path.insert(0, sys.argv[1])\n"
    "found = {name: importlib.import_module(name).main([sys.argv[2], '--quick']) for name in sys.argv[3:]}\n"
    "print(json.dumps({name: [(s.sentence, s.confirmed) for s in said] for name, said in found.items()}))"
)


@pytest.mark.heavy(family="long")
def test_what_no_chance_decides_is_as_the_programs_say(tmp_path: Path) -> None:
    """Sentences and verdicts of their statements stand on the page, and no others of them."""
    folder = str(ROOT / "examples" / "inconsistency_paper")
    command = [sys.executable, "-c", PROGRAM, folder, str(tmp_path), *CERTAIN]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    for name, said in json.loads(done.stdout.splitlines()[-1]).items():
        shown = [line for line in statements(SECTIONS[1]) if line[2] == f"`{name}.py`"]
        expected = [(sentence.replace("|D|", "size(D)"), confirmed) for sentence, confirmed in said]
        assert [(line[1], line[3] == "confirmed") for line in shown] == expected
