"""Commands in processes of their own, forked from one that has imported what they need: imports are paid once.

For commands whose process matters but not its start: each is `python -m module arguments`, or `python file.py
arguments`, with its own folder, environment, standard streams and exit code. Tests of starting, of encodings and of
signals start an interpreter.
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import runpy
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

__all__ = ["ForkServer", "Forked"]


class ForkServer:
    """Runs one module or file again and again, with `preloaded` modules imported beforehand."""

    def __init__(self, program: str | Path, *preloaded: str) -> None:
        self._program, self._preloaded = str(program), preloaded
        self._process: subprocess.Popen[str] | None = None
        self._lock = threading.Lock()

    def run(
        self, arguments: Sequence[str], cwd: Path, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run the program to its end, with no standard input."""
        environment = dict(os.environ if env is None else env)
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            asked = {"argv": [self._program, *arguments], "cwd": str(cwd), "env": environment}
            streams = [f"/proc/{os.getpid()}/fd/{stream.fileno()}" for stream in (out, err)]
            code = self.asked(asked | {"streams": streams})
            out.seek(0)
            err.seek(0)
            return subprocess.CompletedProcess(asked["argv"], code, out.read(), err.read())

    def start(self, arguments: Sequence[str], cwd: Path, env: Mapping[str, str]) -> Forked:
        """Start the program, with no standard input and output."""
        read, write = os.pipe()
        asked = {"argv": [self._program, *arguments], "cwd": str(cwd), "env": dict(env)}
        number = self.asked(asked | {"streams": [os.devnull, f"/proc/{os.getpid()}/fd/{write}"], "lasts": True})
        os.close(write)
        return Forked(self, number, os.fdopen(read, encoding="utf-8"))

    def asked(self, question: Mapping[str, Any]) -> Any:
        """Return what the process that forks answers."""
        with self._lock:
            process = self._process = self._process or self._started()
            written(process.stdin, json.dumps(question))
            assert process.stdout is not None
            return json.loads(process.stdout.readline())

    def _started(self) -> subprocess.Popen[str]:
        command = [sys.executable, __file__, *self._preloaded]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        atexit.register(process.communicate)  # closes its standard input, at which it ends
        return process


class Forked:
    """A program that runs: of `subprocess.Popen`, what tests of servers use."""

    def __init__(self, server: ForkServer, pid: int, stderr: IO[str]) -> None:
        self.pid, self.stderr, self._server = pid, stderr, server
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None:
            self.returncode = self._server.asked({"poll": self.pid})
        return self.returncode

    def wait(self, timeout: float = 600) -> int:
        end = time.monotonic() + timeout
        while (code := self.poll()) is None:
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired("a forked program", timeout)
            time.sleep(0.005)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def written(stream: IO[str] | None, line: str) -> None:
    assert stream is not None
    print(line, file=stream, flush=True)


def serve(preloaded: Sequence[str]) -> None:
    for name in preloaded:
        importlib.import_module(name)
    lasting: set[int] = set()
    for line in sys.stdin:
        asked = json.loads(line)
        if "poll" in asked:
            ended, status = os.waitpid(asked["poll"], os.WNOHANG)
            lasting.discard(ended)
            print(json.dumps(os.waitstatus_to_exitcode(status) if ended else None), flush=True)
            continue
        lasts = asked.pop("lasts", False)
        streams = [os.open(path, os.O_WRONLY) for path in asked.pop("streams")]
        child = os.fork()
        if not child:
            become(streams=streams, **asked)
            return
        for stream in streams:
            os.close(stream)
        if lasts:
            lasting.add(child)
        print(child if lasts else os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    for child in lasting:
        os.kill(child, signal.SIGKILL)


def become(argv: list[str], cwd: str, env: dict[str, str], streams: list[int]) -> None:
    """Run the program as the command; how it ends, ends this process."""
    for number, stream in enumerate([os.open(os.devnull, os.O_RDONLY), *streams]):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin = open(0)  # noqa: SIM115
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    sys.argv = argv
    if argv[0].endswith(".py"):
        sys.path[0] = str(Path(argv[0]).parent)
        runpy.run_path(argv[0], run_name="__main__")
    else:
        sys.path[0] = cwd
        runpy.run_module(argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    serve(sys.argv[1:])
