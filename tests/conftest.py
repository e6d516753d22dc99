"""Paths that several folders of tests share; tests of signals need a process that they can reach."""

from __future__ import annotations

import atexit
import gc
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from case_share import CHOICES, choose, file_of_spark, leave_out
from file_order import longest_first, schedule
from hypothesis import settings

ROOT = Path(__file__).resolve().parent.parent

_CASES = pytest.StashKey[str]()
_WAITING = pytest.StashKey[int]()
_SPARK = pytest.StashKey[str]()

MEMORY = Path("/dev/shm")
ENOUGH = 4 * 2**30
_IN_MEMORY = pytest.StashKey[str]()

gc.disable()  # until all tests are collected, which makes hardly any garbage: half of the time

# Processes that tests start would otherwise compile all of dpdb anew, each of them, and pytest every file of tests.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

settings.register_profile("untimed", deadline=None)  # machines are shared: how long an example takes says nothing
settings.load_profile("untimed")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as shells start what runs in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # as `nohup` starts it
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--cases", choices=CHOICES, default="commit", help="which of the cases of heavy tests run")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    config.stash[_CASES] = choose(config)
    chosen = config.option.basetemp or os.environ.get("PYTEST_DEBUG_TEMPROOT")
    if not chosen and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ENOUGH:
        # Ledgers wait for their disk at every debit: `--basetemp` chooses one, and keeps the files.
        config.option.basetemp = config.stash[_IN_MEMORY] = tempfile.mkdtemp(prefix="dpdb-tests-", dir=MEMORY)


def pytest_unconfigure(config: pytest.Config) -> None:
    if _IN_MEMORY in config.stash:
        shutil.rmtree(config.stash[_IN_MEMORY], ignore_errors=True)


def pytest_sessionstart(session: pytest.Session) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and not hasattr(session.config, "workerinput"):
        reporter.write_line(session.config.stash[_CASES])  # under `-q` pytest shows no other header


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    return schedule(config, log) if config.getoption("dist") == "loadfile" else None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    config.stash[_SPARK] = file_of_spark(items) or ""
    left = leave_out(items)  # of what `-m` and `-k` select
    if hasattr(config, "workerinput"):
        longest_first(items)
    config.stash[_WAITING] = len(left)
    if left:
        config.hook.pytest_deselected(items=left)


def pytest_collection_finish() -> None:
    gc.freeze()  # ten thousand tests and their modules stay: no collection of garbage walks through them
    gc.enable()
    atexit.register(gc.unfreeze)  # nanobind counts at exit what is not freed


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["waiting"] = session.config.stash.get(_WAITING, 0)
        session.config.workeroutput["spark"] = session.config.stash.get(_SPARK, "")


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    sent = getattr(node, "workeroutput", {})  # every worker's are the same
    node.config.stash[_WAITING], node.config.stash[_SPARK] = sent.get("waiting", 0), sent.get("spark", "")


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if waiting := config.stash.get(_WAITING, 0):
        terminalreporter.write_line(f"{waiting} cases of heavy tests wait for --cases all")
    if file := config.stash.get(_SPARK, ""):
        terminalreporter.write_line(f"of the files with tests of Spark, {file} runs them; the others with --cases all")


@pytest.fixture
def hospital() -> Path:
    """The bundled real table."""
    return ROOT / "examples" / "data" / "hospital.parquet"


@pytest.fixture
def hospital_constraints() -> Path:
    """Its seven functional dependencies."""
    return ROOT / "examples" / "data" / "hospital.dcs.txt"
