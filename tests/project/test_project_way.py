"""The way of a release and of a suite: how many files run for it, and how often calls go from one room into another.

Counted while `dpdb measure` releases one measure of a bundled table under one rule, and `dpdb check` runs its suite,
with noise that adds nothing: so the figures are the same each time. Neither code that runs while modules are imported
counts, nor that of `compiled` and what it calls: it depends on what was compiled before. A module beside the rooms is a
room of its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
TABLE = TESTS.parent / "examples" / "data" / "hospital.parquet"

PROGRAM = """
import json, sys, threading
from pathlib import Path

sys.path.insert(0, {tests!r})
import dpdb
from stub_noise import StubNoise
from dpdb.doors.cli import main
from dpdb.privacy.noise import replaced_noise

ROOT = f"{{Path(dpdb.__file__).parent}}/"
files, switches = set(), []


def ours(code):
    return code.co_filename.removeprefix(ROOT) if code.co_filename.startswith(ROOT) else ""


def room(file):
    return file.partition("/")[0]


def callers(frame):
    while frame := frame.f_back:
        if ours(frame.f_code):
            yield frame.f_code


def count(frame, event, argument):
    code = frame.f_code
    file = ours(code)
    if event != "call" or not file or room(file) == "compiled" or code.co_code[frame.f_lasti + 1]:  # or goes on
        return
    above = list(callers(frame))
    if any(each.co_name == "<module>" or room(ours(each)) == "compiled" for each in (code, *above)):
        return
    files.add(file)
    if above and code.co_name != "<genexpr>" and room(ours(above[0])) != room(file):
        switches.append(f"{{ours(above[0])}}:{{above[0].co_name}} -> {{file}}:{{code.co_name}}")


with replaced_noise(StubNoise()):
    threading.setprofile(count)
    sys.setprofile(count)
    try:
        main({arguments!r})
    finally:
        sys.setprofile(None)
print(json.dumps([sorted(files), switches]))
"""


@pytest.mark.parametrize(
    ("arguments", "shown", "passed", "most_files", "most_switches"),
    [
        (
            ["measure", TABLE, "--constraint", "zip_code -> city", "--measure", "problematic"],
            "in some conflict",
            "engine/slice.py",
            71,
            210,
        ),
        (["check", TABLE, TABLE.with_suffix(".suite.txt")], "17 checks", "engine/count_all.py", 85, 1_060),
    ],
    ids=["measure", "check"],
)
def test_it_takes_a_short_way(
    arguments: Sequence[object], shown: str, passed: str, most_files: int, most_switches: int
) -> None:
    """A call that comes back, a value that is derived again for each who asks, or a wrapper shows here first.

    Of the changes of room of `check`, three for each of its levels are the mechanism's.
    """
    program = PROGRAM.format(tests=str(TESTS), arguments=[*map(str, arguments), "--epsilon", "1", "--quiet"])
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert shown in done.stdout, done.stdout + done.stderr
    files, switches = json.loads(done.stdout.splitlines()[-1])
    assert {"doors/cli/main.py", passed, "release/publish.py"} <= set(files)
    assert len(files) <= most_files, files
    assert len(switches) <= most_switches, switches
