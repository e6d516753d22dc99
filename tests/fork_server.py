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
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

__all__ = ["ForkServer"]


class ForkServer:
    """Runs one module or file again and again, with `preloaded` modules imported beforehand."""

    def __init__(self, program: str | Path, *preloaded: str) -> None:
        self._program, self._preloaded = str(program), preloaded
        self._process: subprocess.Popen[str] | None = None

    def run(
        self, arguments: Sequence[str], cwd: Path, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run the program to its end, with no standard input."""
        process = self._process = self._process or self._started()
        environment = dict(os.environ if env is None else env)
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            asked = {"argv": [self._program, *arguments], "cwd": str(cwd), "env": environment}
            streams = [f"/proc/{os.getpid()}/fd/{stream.fileno()}" for stream in (out, err)]
            written(process.stdin, json.dumps(asked | {"streams": streams}))
            assert process.stdout is not None
            code = int(process.stdout.readline())
            out.seek(0)
            err.seek(0)
            return subprocess.CompletedProcess(asked["argv"], code, out.read(), err.read())

    def _started(self) -> subprocess.Popen[str]:
        command = [sys.executable, __file__, *self._preloaded]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        atexit.register(process.communicate)  # closes its standard input, at which it ends
        return process


def written(stream: IO[str] | None, line: str) -> None:
    assert stream is not None
    print(line, file=stream, flush=True)


def serve(preloaded: Sequence[str]) -> None:
    for name in preloaded:
        importlib.import_module(name)
    for line in sys.stdin:
        child = os.fork()
        if not child:
            become(**json.loads(line))
            return
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def become(argv: list[str], cwd: str, env: dict[str, str], streams: list[str]) -> None:
    """Run the program as the command; how it ends, ends this process."""
    for number, path in enumerate([os.devnull, *streams]):
        opened = os.open(path, os.O_RDWR)
        os.dup2(opened, number)
        os.close(opened)
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
