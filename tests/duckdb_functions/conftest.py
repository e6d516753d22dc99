"""A connection with a small table and dpdb's functions in it, and the noise they draw."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest
from stub_noise import StubNoise
from visits_table import RULE, VISITS

import dpdb
from dpdb.privacy.noise import replaced_noise


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as opened:
        opened.execute(VISITS)
        yield opened


@pytest.fixture
def noise() -> StubNoise:
    return StubNoise()


@pytest.fixture
def registration(connection: duckdb.DuckDBPyConnection, noise: StubNoise) -> Iterator[dpdb.Registration]:
    # Releases run in the context of whoever registered, so they draw from this noise also in DuckDB's threads.
    with replaced_noise(noise), dpdb.register(connection, constraints=RULE, budget=100) as registered:
        yield registered
