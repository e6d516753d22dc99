"""Long programs are solved by a child: the same solution, ended by Ctrl-C, replaced when it was killed."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest

from dpdb.errors import EngineError
from dpdb.graph.exact import solver
from dpdb.graph.exact.solver import CoverProgram, PackingLP, solve, start_solver
from dpdb.thresholds import SMALL_PROGRAM


def packing(pairs: int) -> PackingLP:
    rng = np.random.default_rng(pairs)
    nodes = pairs // 5
    u = rng.integers(0, nodes, pairs)
    v = (u + 1 + rng.integers(0, nodes - 1, pairs)) % nodes
    return PackingLP(u, v, np.ones(pairs, np.int64), np.full(nodes, 4))


def hard_cover() -> CoverProgram:
    """Edges of a random graph of 400 nodes: minutes for HiGHS."""
    rng = np.random.default_rng(0)
    u = rng.integers(0, 400, 1_600)
    v = (u + 1 + rng.integers(0, 399, 1_600)) % 400
    return CoverProgram(np.ones(400), np.stack([u, v], axis=1).ravel(), np.full(1_600, 2))


@pytest.fixture
def always_a_child(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SMALL_PROGRAM, "at", 0)


@pytest.mark.usefixtures("always_a_child")
def test_the_child_solves_as_this_process_does() -> None:
    program = packing(2_000)
    there, here = solve(program), program.solve(None)
    assert there.solved
    assert here.x is not None
    assert there.x is not None
    assert there.x.sum() == pytest.approx(here.x.sum())


@pytest.mark.heavy(family="long")
def test_a_time_limit_holds() -> None:
    began = time.monotonic()
    found = solve(hard_cover(), 0.5)
    assert not found.finished
    assert found.lower is not None
    assert time.monotonic() - began < 5


@pytest.mark.heavy(family="long")
def test_control_c_ends_the_child() -> None:
    child = start_solver()
    assert child is not None
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        solve(hard_cover(), 60)
    assert time.monotonic() - began < 5
    assert not child.runs


@pytest.mark.heavy(family="spending")
def test_a_child_that_was_killed_is_an_error_once() -> None:
    child = start_solver()
    assert child is not None
    threading.Timer(0.5, child._process.kill).start()
    with pytest.raises(EngineError, match="process ended"):
        solve(hard_cover(), 60)
    assert solve(packing(500)).solved


@pytest.mark.usefixtures("always_a_child")
def test_without_a_child_this_process_solves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "")
    monkeypatch.setattr(solver, "_child", None)
    assert solve(packing(500)).solved
