"""Paths that several folders of tests share."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def hospital() -> Path:
    """The bundled real table."""
    return ROOT / "examples" / "data" / "hospital.parquet"


@pytest.fixture
def hospital_constraints() -> Path:
    """Its seven functional dependencies."""
    return ROOT / "examples" / "data" / "hospital.dcs.txt"
