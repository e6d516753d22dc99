"""Run mutants of rooms against the tests of these rooms, and say which survive.

    python tests/mutation/run_mutants.py release ledger/limits.py --sample 50 --seed 1

Each mutant is written into a copy of the tree and tested there by a process of its own, with the tests of its room,
those that name its function or module first, until one fails. A mutant is *killed* if one fails, *out of time* if the
processor seconds end before, else it *survives*. `explained.txt` names survivors that change nothing, and why.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from mutants import Mutant, mutants

ROOT = Path(__file__).resolve().parents[2]
EXPLAINED = Path(__file__).with_name("explained.txt")
KILLED, SURVIVES, OUT_OF_TIME, EXPLAINED_AS = "killed", "survives", "out of time", "explained"
_WALL = 8  # seconds of wall time for each processor second: machines are shared
_BEFORE = 20  # processor seconds of tests on the tree as it is
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)


@dataclass(frozen=True)
class Found:
    """A mutant, and what became of it."""

    path: str
    mutant: Mutant
    fate: str
    by: str
    seconds: float

    def __str__(self) -> str:
        one = self.mutant
        return f"{self.fate:11} {self.path}:{one.line} {one.function}: {one.was} -> {one.now}  {self.by}"

    def to_json(self) -> str:
        """Return all but the source, for a log."""
        one = self.mutant
        return json.dumps(
            {
                "path": self.path, "line": one.line, "function": one.function, "was": one.was, "now": one.now,
                "fate": self.fate, "by": self.by, "seconds": round(self.seconds, 1),
            }
        )  # fmt: skip


def key(path: str, mutant: Mutant) -> str:
    """By what `explained.txt` knows a mutant: no line number, which moves."""
    return f"{path} | {mutant.function} | {mutant.was} | {mutant.now}"


def explained() -> dict[str, str]:
    """Return the reasons of survivors that change nothing, by key."""
    lines = EXPLAINED.read_text().splitlines() if EXPLAINED.exists() else []
    cut = (line.rpartition(" | ") for line in lines if line and not line.startswith("#"))
    return {name: reason for name, _, reason in cut}


def files_of(rooms: Sequence[str], package: Path) -> list[str]:
    """Return the modules of rooms or files, relative to the package."""
    found: list[Path] = []
    for room in rooms:
        place = package / room
        found += sorted(place.rglob("*.py")) if place.is_dir() else [place]
    return [str(path.relative_to(package)) for path in found if path.name != "__init__.py"]


def files_for(path: str, mutant: Mutant, tests: Path, names: str = "test_*.py") -> list[str]:
    """Return the files of tests of the module's room, those first that name its function, then those of its module."""
    room, module = tests / Path(path).parts[0], Path(path).stem

    def rank(text: str) -> int:
        named = mutant.function.lstrip("_") and re.search(rf"\b{re.escape(mutant.function)}\b", text)
        return -2 * bool(named) - bool(re.search(rf"\b{re.escape(module)}\b", text))

    files = {file: file.read_text() for file in sorted(room.glob(names))}
    by_name = [file for file in files if module in file.stem]
    return [str(file) for file in sorted(files, key=lambda file: (file not in by_name, rank(files[file])))]


class Bench:
    """A copy of the tree, in which one file at a time is a mutant."""

    def __init__(self, root: Path, folder: Path, names: str = "test_*.py") -> None:
        self.names = names
        self.root, self.said = folder, folder / "said.txt"
        for name in filter(lambda name: (root / name).exists(), ("dpdb", "sql", "tests", "examples")):
            shutil.copytree(root / name, folder / name, ignore=shutil.ignore_patterns("*.pyc"))
        for name in filter(lambda name: (root / name).exists(), ("pyproject.toml", "README.md")):
            shutil.copy(root / name, folder / name)

    def fate(self, path: str, mutant: Mutant, seconds: int, options: Sequence[str] = ()) -> tuple[str, str]:
        """Test a mutant; return what became of it, and the test that decided."""
        place = self.root / "dpdb" / path
        whole = place.read_bytes()
        try:
            place.write_text(mutant.source)
            return self._tested(files_for(path, mutant, self.root / "tests", self.names), seconds, options)
        finally:
            place.write_bytes(whole)

    def refuse_red(self, path: str, seconds: int, options: Sequence[str]) -> None:
        """End the run if the tests of a room fail on the tree as it is: all mutants would count as killed."""
        whole = (self.root / "dpdb" / path).read_text()
        fate, by = self.fate(path, Mutant(0, "", "", "", whole), min(seconds, _BEFORE), options)
        if fate == KILLED:
            raise SystemExit(f"without a change {by or 'the tests'} failed: {self.said.read_text()[-2_000:]}")

    def _tested(self, files: Sequence[str], seconds: int, options: Sequence[str]) -> tuple[str, str]:
        process = os.fork()  # what tests import from others is imported once, see `main`
        if process == 0:
            _test_here(self.root, self.said, files, seconds, options)
        status, end = None, time.monotonic() + _WALL * seconds
        while status is None and time.monotonic() < end:
            done, waited = os.waitpid(process, os.WNOHANG)
            status = waited if done else None
            time.sleep(0.05)
        _kill(process)
        if status is None:
            os.waitpid(process, 0)
        if status is None or os.WIFSIGNALED(status):
            return OUT_OF_TIME, ""
        if os.WEXITSTATUS(status) == 0:
            return SURVIVES, ""
        failed = _FAILED.search(self.said.read_text(errors="replace"))
        return KILLED, failed[1] if failed else f"exit code {os.WEXITSTATUS(status)}"


def _test_here(root: Path, said: Path, files: Sequence[str], seconds: int, options: Sequence[str]) -> None:
    """Run tests in this process, which ends with them."""
    code = 1
    try:
        os.setpgid(0, 0)
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
        signal.signal(signal.SIGXCPU, signal.SIG_DFL)
        output = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.chdir(root)
        sys.path.insert(0, str(root))
        os.environ["PYTHONPATH"] = str(root)  # of processes that tests start
        # Code that is kept is known by its second and size, which a mutant and the next one may share.
        sys.dont_write_bytecode, os.environ["PYTHONDONTWRITEBYTECODE"] = True, "1"
        import pytest

        code = int(pytest.main(["-x", "-q", "-n", "0", "-p", "no:cacheprovider", "--tb=no", *options, *files]))
    finally:
        os._exit(code)


def _kill(process: int) -> None:
    """End the group of a process: what its tests have started must not go on."""
    with suppress(ProcessLookupError):
        os.killpg(process, signal.SIGKILL)


def chosen(asked: argparse.Namespace) -> list[tuple[str, Mutant]]:
    """Return the mutants that are asked for, drawn by the seed."""
    package, names, sample = asked.root / "dpdb", asked.only, asked.sample
    every = [
        (path, one)
        for path in files_of(asked.rooms, package)
        for one in mutants((package / path).read_text())
        if names is None or re.search(names, f"{path}:{one.function}:{one.was}")
    ]
    if sample is None or sample >= len(every):
        return every
    return [every[place] for place in sorted(random.Random(asked.seed).sample(range(len(every)), sample))]


def run(wanted: Sequence[tuple[str, Mutant]], asked: argparse.Namespace) -> list[Found]:
    """Test mutants, print each that is not killed, and return all."""
    reasons, found = explained(), []
    options = [] if asked.cases is None else ["--cases", asked.cases]
    with tempfile.TemporaryDirectory(prefix="dpdb-mutants-") as folder:
        bench = Bench(asked.root, Path(folder), asked.tests)
        for path in {Path(path).parts[0]: path for path, _ in wanted}.values():
            bench.refuse_red(path, asked.seconds, options)
        for path, mutant in wanted:
            begun = time.monotonic()
            reason = reasons.get(key(path, mutant))
            fate, by = (EXPLAINED_AS, reason) if reason else bench.fate(path, mutant, asked.seconds, options)
            found.append(Found(path, mutant, fate, by, time.monotonic() - begun))
            if asked.log is not None:
                with asked.log.open("a") as written:
                    written.write(found[-1].to_json() + "\n")
            if fate != KILLED:
                print(found[-1], flush=True)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit code is 1 if a mutant survives that is not explained."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rooms", nargs="+", help="rooms or files of dpdb, such as release or ledger/limits.py")
    parser.add_argument("--sample", type=int, help="how many mutants; all of them without it")
    parser.add_argument("--seed", type=int, default=1, help="by which they are drawn (1)")
    parser.add_argument("--seconds", type=int, default=60, help="processor seconds of each (60)")
    parser.add_argument("--only", metavar="REGEX", help="of FILE:FUNCTION:SOURCE")
    parser.add_argument("--log", type=Path, help="append what became of each, as lines of JSON")
    parser.add_argument("--list", action="store_true", help="name them, and test none")
    parser.add_argument("--tests", default="test_*.py", metavar="GLOB", help="of the room's files of tests")
    parser.add_argument("--cases", help="of heavy tests, as pytest takes it")
    parser.add_argument("--root", type=Path, default=ROOT, help="of the tree; by default the one of this file")
    asked = parser.parse_args(arguments)
    wanted = chosen(asked)
    if asked.list:
        for path, one in wanted:
            print(f"{path}:{one.line} {one.function}: {one.was} -> {one.now}")
        return 0
    for name in ("duckdb", "numpy", "opendp.prelude", "pyarrow.parquet", "sqlglot"):  # once for all of them
        importlib.import_module(name)

    found = run(wanted, asked)
    fates = Counter(one.fate for one in found)
    said = [f"{fates[fate]} {fate}" for fate in (KILLED, SURVIVES, OUT_OF_TIME, EXPLAINED_AS) if fates[fate]]
    print(f"{len(found)} mutants: {', '.join(said)}")
    return int(bool(fates[SURVIVES]))


if __name__ == "__main__":
    sys.exit(main())
