"""The ways through the rooms: how many files run for a command, and how often calls go from one room into another.

Counted while `dpdb measure` releases one measure of a bundled table under one rule, `dpdb check` runs its suite, `dpdb
serve` answers one statement, and `dpdb rules import` reads SQL. Noise adds nothing, so the figures of what has one
thread are the same each time. Neither code that runs while modules are imported
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
from server_site import COUNT, Server, make_site

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
        threading.setprofile(None)
Path({out!r}).write_text(json.dumps([sorted(files), switches]))
"""


class Way:
    """The files that run, and the changes of room, of a program that counts them."""

    def __init__(self, folder: Path, arguments: Sequence[object]) -> None:
        self._out = folder / "way.json"
        self.program = PROGRAM.format(tests=str(TESTS), arguments=[*map(str, arguments)], out=str(self._out))

    def hold(self, passed: set[str], most_files: int, most_switches: int, *, once: bool = False) -> None:
        """Hold it to its bounds; with `once` equal changes count once, however often threads look at the clock."""
        files, switches = json.loads(self._out.read_text())
        switches = sorted(set(switches)) if once else switches
        assert {"doors/cli/main.py", *passed} <= set(files)
        assert len(files) <= most_files, files
        assert len(switches) <= most_switches, switches


RULES = """
CREATE TABLE orders (id INTEGER PRIMARY KEY, status TEXT NOT NULL CHECK (status IN ('open', 'paid')),
                     amount INTEGER CHECK (amount > 0));
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
        (["check", TABLE, TABLE.with_suffix(".suite.txt")], "17 checks", "engine/count_all.py", 85, 800),
    ],
    ids=["measure", "check"],
)
def test_a_release_takes_a_short_way(
    tmp_path: Path, arguments: Sequence[object], shown: str, passed: str, most_files: int, most_switches: int
) -> None:
    """A call that comes back, a value that is derived again for each who asks, or a wrapper shows here first.

    Of the changes of room of `check`, three for each of its levels are the mechanism's.
    """
    way = Way(tmp_path, [*arguments, "--epsilon", "1", "--quiet"])
    done = subprocess.run([sys.executable, "-c", way.program], capture_output=True, text=True, check=False)
    assert shown in done.stdout, done.stdout + done.stderr
    way.hold({passed, "release/publish.py"}, most_files, most_switches)


def test_rules_of_another_tool_take_a_short_way(tmp_path: Path) -> None:
    (tmp_path / "orders.sql").write_text(RULES)
    way = Way(tmp_path, ["rules", "import", tmp_path / "orders.sql"])
    done = subprocess.run([sys.executable, "-c", way.program], capture_output=True, text=True, check=False)
    assert "amount" in done.stdout, done.stdout + done.stderr
    way.hold({"rules/importing.py"}, 31, 105)


def test_a_statement_to_a_server_takes_a_short_way(tmp_path: Path) -> None:
    """From its start to its stop. How often its threads look whether something has changed depends on the machine."""
    site = make_site(tmp_path, suites=False)
    way = Way(tmp_path, ["serve", "--config", site.config])

    class Counted(Server):
        command = ("-c", way.program)

    with Counted(site) as server:
        assert server.ask("ann", COUNT).status_code == 200
    way.hold({"doors/server/desk.py", "release/publish.py", "ledger/debit.py"}, 125, 190, once=True)
