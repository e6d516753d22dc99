"""The mutants are the changes that they say, and the runner tells killed ones from survivors and endless ones."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from mutants import mutants

SOURCE = '''
"""Texts stay: 3 < 4."""
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import nothing
__all__ = ["f" * 2]
LEAST: int = 3


class A:
    def f(self, a: "Literal[1]" = True) -> "Literal[2]":
        """And 5 here."""
        if a < 3 and not a == 1:
            raise ValueError(f"{a + 1} and {2}" + str(7))
        return -min(a, 10**9) if a else a // 2

    def g(self, a):
        return zip(a, a, strict=True)
'''
CHANGES = [
    ("", "3", "4"), ("", "3", "2"),
    ("f", "True", "False"),
    ("f", "a < 3 and (not a == 1)", "a < 3 or not a == 1"),
    ("f", "a < 3", "a <= 3"), ("f", "3", "4"), ("f", "3", "2"),
    ("f", "not a == 1", "a == 1"), ("f", "a == 1", "a != 1"), ("f", "1", "2"),
    ("f", "-min(a, 10 ** 9) if a else a // 2", "a // 2 if a else -min(a, 10 ** 9)"),
    ("f", "-min(a, 10 ** 9)", "min(a, 10 ** 9)"), ("f", "min(a, 10 ** 9)", "max(a, 10 ** 9)"),
    ("f", "10 ** 9", "10 * 9"), ("f", "10", "11"), ("f", "10", "9"), ("f", "9", "10"), ("f", "9", "8"),
    ("f", "a // 2", "a * 2"), ("f", "2", "3"), ("f", "2", "1"),
]  # fmt: skip


def test_every_place_is_changed_once_and_texts_types_and_messages_are_not() -> None:
    found = list(mutants(SOURCE))
    assert sorted((one.function, one.was, one.now) for one in found) == sorted(CHANGES)
    assert len({one.source for one in found}) == len(found)
    for one in found:
        compile(one.source, "mutant", "exec")
        assert one.now in one.source


TREE = {
    "dpdb/__init__.py": "",
    "dpdb/room/__init__.py": "",
    "dpdb/room/module.py": "def until(n):\n    k = 0\n    while k < n:\n        k = k + 1\n    return min(k, 1000)\n",
    "tests/room/test_room_module.py": "from dpdb.room.module import until\n\n\ndef test():\n    assert until(7) == 7\n",
}


@pytest.mark.heavy(family="alone")
def test_the_runner_says_what_became_of_each(tmp_path: Path) -> None:
    for name, text in TREE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    runner, log = Path(__file__).with_name("run_mutants.py"), tmp_path / "log"
    command = [sys.executable, runner, "room", "--root", tmp_path, "--seconds", "4", "--log", log]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    fates = {(one["was"], one["now"]): one["fate"] for one in map(json.loads, log.read_text().splitlines())}
    assert fates == {
        ("0", "1"): "survives",
        ("k < n", "k <= n"): "killed",
        ("k + 1", "k - 1"): "out of time",
        ("1", "2"): "killed",
        ("min(k, 1000)", "max(k, 1000)"): "killed",
        ("1000", "1001"): "survives",
        ("1000", "999"): "survives",
    }
    assert done.returncode == 1, done.stderr
    assert done.stdout.splitlines()[-1] == "7 mutants: 3 killed, 3 survives, 1 out of time"
    assert (tmp_path / "dpdb/room/module.py").read_text() == TREE["dpdb/room/module.py"]
    (tmp_path / "tests/room/test_room_module.py").write_text("def test():\n    assert False\n")
    red = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "without a change tests/room/test_room_module.py::test failed" in red.stderr
