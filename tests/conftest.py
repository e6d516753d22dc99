"""Paths that several folders of tests share; tests of signals need a process that they can reach."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parent.parent

settings.register_profile("untimed", deadline=None)  # machines are shared: how long an example takes says nothing
settings.load_profile("untimed")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as shells start what runs in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # as `nohup` starts it
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture
def hospital() -> Path:
    """The bundled real table."""
    return ROOT / "examples" / "data" / "hospital.parquet"


@pytest.fixture
def hospital_constraints() -> Path:
    """Its seven functional dependencies."""
    return ROOT / "examples" / "data" / "hospital.dcs.txt"
