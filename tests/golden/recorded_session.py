"""A session of commands as a user types them, and what they printed: run again and written in the same form.

A recording is a text file. Lines that start with `$ ` are commands; below each stands what it printed on standard
output, then `! ` and what it printed on standard error, then `? ` and the exit code where that is not 0. `lines LEDGER`
is the recorder's own command: it shows what a ledger keeps of every request. No noise is drawn, the best candidate is
always chosen, and what differs from run to run (ids, keys, times, the version) is masked.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import shlex
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from stub_noise import StubNoise

from dpdb._version import __version__
from dpdb.doors.cli import main
from dpdb.measures import NAMES
from dpdb.privacy.noise import replaced_noise

_MASKS = (
    (re.compile(r"\b[0-9a-f]{32}\b"), "RELEASE_ID"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(\+00:00|Z)?"), "TIME"),
    (re.compile(rf"\b{re.escape(__version__)}\b"), "VERSION"),
    (re.compile(r"\+[0-9a-f]{8}\+[A-Za-z0-9+/=]{44}"), "+KEY"),
    (re.compile(r"\broot [0-9a-f]{64}\b"), "root ROOT"),
    (re.compile(re.escape(", ".join((*NAMES, "all")))), "MEASURES"),
    (re.compile(r'\b\d+\.\d+ s\b|(?<="seconds": )[\d.e-]+'), "SECONDS"),
    (re.compile(re.escape(str(Path(__file__).resolve().parents[2]))), "PROJECT"),
)


def commands_of(recording: Path) -> list[str]:
    """Return the commands of a recording."""
    lines = recording.read_text(encoding="utf-8").splitlines()
    return [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]


def rerun(recording: Path) -> str:
    """Run the commands of a recording in the current folder; return the recording that they make."""
    text = "\n".join(_run(command) for command in commands_of(recording)) + "\n"
    for pattern, mask in _MASKS:
        text = pattern.sub(mask, text)
    return text


def _run(command: str) -> str:
    out, err = io.StringIO(), io.StringIO()
    program, *arguments = shlex.split(command)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        if program == "dpdb":
            code = _exit_code(arguments)
        else:
            assert program == "lines", program
            code = 0
            print("\n".join(_lines(Path(*arguments))))
    parts = [f"$ {command}", *out.getvalue().splitlines()]
    parts += [f"! {line}" for line in err.getvalue().splitlines()]
    return "\n".join(parts if code == 0 else [*parts, f"? {code}"]).replace("\r", "\n")


def _exit_code(arguments: list[str]) -> int:
    with replaced_noise(StubNoise()):
        try:
            return main(arguments)
        except SystemExit as left:  # argparse
            return int(left.code or 0)


def _lines(ledger: Path) -> Iterator[str]:
    with contextlib.closing(sqlite3.connect(ledger)) as connection:
        found = connection.execute(
            "SELECT number, epoch, run_id, request, predicate, charge, upper FROM entry ORDER BY number"
        ).fetchall()
    for number, epoch, run, request, predicate, charge, upper in found:
        yield f"{number}  epoch {epoch}  run {run}  charge {charge}  upper {upper}"
        yield f"  {json.dumps(json.loads(request), sort_keys=True)}"
        yield f"  {predicate}"
