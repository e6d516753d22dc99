"""SIGTERM and SIGHUP end every command within two seconds at any time, Ctrl-C is answered with one line, and nothing is
left behind, half written or lost."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from argparse import Namespace
from collections import Counter
from contextlib import suppress
from pathlib import Path
from types import FrameType

import pyarrow as pa
import pytest
from struck_commands import COMMANDS, Struck, busy_folder, strike, wait_for_handlers

from dpdb.database import Database
from dpdb.doors.cli.main import main
from dpdb.doors.cli.parser import Parser
from dpdb.errors import ConstraintTypeError
from dpdb.ledger import Ledger
from dpdb.stopping import SignalsEndTheCommand, went_on

LIMIT = 2.0
SLACK = 1.5  # of a machine that does other things, too
LAST_WORDS = ("dpdb: terminated; ", "dpdb: interrupted; ")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return busy_folder(tmp_path_factory.mktemp("busy"), 60_000)


def check(struck: Struck, folder: Path) -> None:
    """What holds after every strike."""
    assert struck.seconds < LIMIT + SLACK or struck.number is signal.SIGINT, struck
    assert struck.code in (0, 128 + struck.number), struck
    assert "Traceback" not in struck.err, struck
    assert sum(line.startswith(LAST_WORDS) for line in struck.err.splitlines()) == (struck.code != 0), struck
    if struck.out and "json" in COMMANDS[struck.command]:
        json.loads(struck.out)
    assert list((folder / "temporary").iterdir()) == [], struck
    assert list(folder.glob(".*partial*")) == [], struck
    for path in folder.glob("out-*"):
        assert path.stat().st_size > 0, struck
    for name in ("t", "wide"):
        with Ledger.open(folder / f"{name}.ledger") as ledger:
            summary = ledger.summary()
            assert len(ledger.history()) == summary.releases
            assert summary.releases == 0 or summary.spent > 0


def strikes(folder: Path, count: int, seed: int, longest: float) -> Counter[tuple[str, int]]:
    rng = random.Random(seed)
    names = list(COMMANDS)
    rng.shuffle(names)
    ended: Counter[tuple[str, int]] = Counter()
    for attempt in range(count):
        number = rng.choice([signal.SIGTERM, signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
        struck = strike(folder, names[attempt % len(names)], number, rng.uniform(0, longest), attempt)
        check(struck, folder)
        ended[number.name, struck.code] += 1
    return ended


@pytest.mark.heavy(family="long")
def test_signals_at_random_times(folder: Path) -> None:
    ended = strikes(folder, 6, seed=1, longest=2)
    assert any(code for _, code in ended)


@pytest.mark.slow
def test_two_hundred_signals_at_random_times(folder: Path) -> None:
    ended = strikes(folder, 200, seed=2, longest=12)
    print(dict(ended))
    assert sum(count for (_, code), count in ended.items() if code) > 100


# -- the first moments ----------------------------------------------------------------------------------------


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize(
    "program", [["-m", "dpdb"], ["-c", "from dpdb.doors.cli.main import run_process; run_process()"]]
)
def test_control_c_during_imports_shows_no_traceback(program: list[str], folder: Path) -> None:
    """From the moment our own code runs: everything heavy is imported later."""
    for after in (0, 0.07, 0.3, 0.6):
        process = subprocess.Popen(
            [sys.executable, "-X", "frozen_modules=on", *program, "count", "t.parquet", "--epsilon", "0.001"],
            cwd=folder,
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
        )
        wait_for_handlers(process)
        time.sleep(after)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
        assert "Traceback" not in err
        assert process.returncode in (0, 130)


@pytest.mark.parametrize(
    ("before", "after"), [("signal.default_int_handler", "signal.SIG_DFL"), ("signal.SIG_IGN", "signal.SIG_IGN")]
)
def test_control_c_before_the_handlers_just_ends_the_process(before: str, after: str) -> None:
    """Python's own handler would raise, and show a traceback; where a shell has it ignored it stays so."""
    code = f"import signal; signal.signal(signal.SIGINT, {before}); import dpdb.__main__"
    code += f"; assert signal.getsignal(signal.SIGINT) is {after}"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_nothing_heavy_is_imported_before_the_handlers() -> None:
    heavy = {"numpy", "duckdb", "pyarrow", "sqlglot", "argparse"}
    code = f"import sys, dpdb.doors.cli.main; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


# -- the second Ctrl-C, ignored signals --------------------------------------------------------------------------


STUCK = """\
import sys, threading, time
import dpdb.doors.cli
import dpdb.stopping as stopping
from dpdb.database.database import Database

def stuck(arguments):
    database = Database()
    said = []
    if "held" in sys.argv:
        with stopping.unbroken():
            print("stuck", flush=True)
            time.sleep(2.5)
            print("committed", flush=True)
    while True:
        try:
            if "held" not in sys.argv and not said:
                said.append(print("stuck", flush=True))
            time.sleep(60)
        except BaseException:  # what a native call, or careless code, does with our exception
            pass

command = sys.modules["dpdb.doors.cli.main"]
command._run = stuck
command.run_process()
"""


def stuck(tmp_path: Path, *arguments: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", STUCK, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"TMPDIR": str(tmp_path)},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "stuck\n"
    return process


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_command_that_does_not_leave_is_ended(number: signal.Signals, tmp_path: Path) -> None:
    process = stuck(tmp_path)
    began = time.monotonic()
    process.send_signal(number)
    _, err = process.communicate(timeout=30)
    assert time.monotonic() - began < LIMIT
    assert (process.returncode, err) == (128 + number, "dpdb: terminated; nothing was spent\n")
    assert list(tmp_path.iterdir()) == []


def test_the_second_control_c_ends_at_once(tmp_path: Path) -> None:
    process = stuck(tmp_path)
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    assert process.poll() is None
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert time.monotonic() - began < 0.5
    assert (process.returncode, err) == (130, "dpdb: interrupted; nothing was spent\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.heavy(family="long")
def test_a_forced_end_waits_for_what_must_not_be_broken(tmp_path: Path) -> None:
    process = stuck(tmp_path, "held")
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=30)
    assert (process.returncode, out) == (128 + signal.SIGTERM, "committed\n")


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    """As under `nohup`."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with SignalsEndTheCommand(print):
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
            assert signal.getsignal(signal.SIGTERM) not in (signal.SIG_DFL, signal.SIG_IGN)
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGHUP, before)


class Dropper:
    """Its destructor is where the signal comes, so Python has to drop the exception."""

    def __del__(self) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)


def test_an_exception_that_python_drops_is_raised_again(capsys: pytest.CaptureFixture[str]) -> None:
    began = time.monotonic()
    with SignalsEndTheCommand(print), pytest.raises(KeyboardInterrupt):  # noqa: PT012 - it comes somewhere in there
        dropper = Dropper()
        del dropper
        time.sleep(2)
    assert time.monotonic() - began < 1
    assert capsys.readouterr().err == ""


def swallowed() -> None:
    """What native code does that tries an import in between: DuckDB, Arrow."""
    try:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1)
    except KeyboardInterrupt:
        pass


def test_an_exception_that_native_code_swallows_is_raised_again(capsys: pytest.CaptureFixture[str]) -> None:
    began = time.monotonic()
    with SignalsEndTheCommand(print), pytest.raises(KeyboardInterrupt):  # noqa: PT012 - it comes somewhere in there
        swallowed()
        time.sleep(5)
    assert time.monotonic() - began < 3
    assert capsys.readouterr().err == ""


def test_a_signal_never_looks_like_a_column_that_cannot_be_read() -> None:
    """DuckDB runs Python code while it looks at a stream, and reports whatever that raises as an error of its own."""
    field, lines = pa.field("a", pa.string()), 0

    def trace(frame: FrameType, event: str, argument: object) -> object:
        nonlocal lines
        lines += 1
        if lines == strike_at:
            sys.settrace(None)
            os.kill(os.getpid(), signal.SIGINT)
        return trace

    with Database() as database:
        for strike_at in range(1, 160):  # about as many lines as there are, and some more
            lines = 0
            with suppress(KeyboardInterrupt):
                sys.settrace(trace)
                try:
                    assert database.reads(field), strike_at
                finally:
                    sys.settrace(None)
    assert 0 < lines < 159, "no strike came behind the last line"


def test_an_error_behind_a_signal_is_reported_as_the_signal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(options: object) -> int:
        swallowed()
        raise ConstraintTypeError("a column cannot be compared")

    parse = Parser.parse_args
    monkeypatch.setattr(Parser, "parse_args", lambda *a, **k: Namespace(**vars(parse(*a, **k)) | {"run": run}))
    assert main(["schema", "t.parquet"]) == 128 + signal.SIGINT
    assert capsys.readouterr().err.startswith("dpdb: interrupted; temporary data is removed, ")


@pytest.mark.heavy(family="long")
def test_an_exception_that_has_done_its_work_is_not_raised_again() -> None:
    with SignalsEndTheCommand(print):
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1)
        except KeyboardInterrupt:  # the prompt's
            went_on()
        time.sleep(0.2)


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize("pause", [0, 0.01, 0.02, 0.03])
def test_the_end_of_a_command_is_not_disturbed_by_it(pause: float) -> None:
    code = f"""
import os, signal, time
from dpdb.stopping import SignalsEndTheCommand
for _ in range(20):
    with SignalsEndTheCommand(print):
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1)
        except KeyboardInterrupt:
            pass
    time.sleep({pause})
print("ended")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ended\n", "")


@pytest.mark.parametrize(
    ("number", "word"), [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "terminated"), (None, "internal error")]
)
def test_a_signal_that_an_import_turns_into_another_error_is_one_line(number: signal.Signals | None, word: str) -> None:
    """As `import duckdb` does; before that import the owner's log has no handler, so logging would show a traceback."""
    code = f"""
import os, sys, time
def run(options):
    try:
        os.kill(os.getpid(), {int(number or 0)})
        time.sleep({0.5 if number else 0})
        raise ValueError("a private value")
    except BaseException as error:
        raise ImportError("Encountered an error while initializing the extension.") from error
import dpdb.doors.cli
command = sys.modules["dpdb.doors.cli.main"]
class Parser:
    options = {{}}
    command = staticmethod(lambda _: None)
    parse_args = staticmethod(lambda _: type("Options", (), {{"run": staticmethod(run)}}))
command.build_parser = lambda wanted: Parser
assert "duckdb" not in sys.modules
command.run_process()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == (128 + number if number else 3)
    assert done.stderr.startswith(f"dpdb: {word}; ")
    assert done.stderr.count("\n") == 1


def test_an_error_that_native_code_makes_of_a_signal_is_the_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    """numpy, interrupted while it is imported, raises an ImportError in which nothing of the signal is left."""

    kept = []

    def run(options: object) -> int:
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(5)
        except KeyboardInterrupt as error:
            kept.append(error)
        raise ImportError("the C extensions cannot be imported") from None

    monkeypatch.setattr("dpdb.doors.cli.commands.schema.run", run)
    assert main(["schema", "t.csv"]) == 130
