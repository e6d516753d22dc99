"""A server over a small private table, and the folder that it serves."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

# Statements and rows of SQL are this door's, too, and so are ledgers with receipts.
sys.path += [str(Path(__file__).parents[1] / room) for room in ("sql", "receipts", "remote")]

from browser import browser
from helpers_postgres import Server as PostgresServer, running_server
from postgres_tls import certificates
from server_site import Server, Site, make_site

__all__ = ["browser", "server", "site", "tls"]


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """PostgreSQL itself, for all files: each makes a database of its own."""
    with running_server() as server:
        yield server


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return make_site(
        tmp_path_factory.mktemp("site"),
        epsilon=200,
        analysts={"ann": {"quota": 100}, "bob": {"quota": 50}, "carl": {"role": "checker"}, "olga": {"role": "owner"}},
        settings={"failed_logins_per_minute": 1_000},
    )


@pytest.fixture(scope="module")
def server(site: Site) -> Iterator[Server]:
    with Server(site) as running:
        yield running


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Path]]:
    """A server whose clients of PostgreSQL need TLS, and the authority that they trust; `other.pem` is beside it."""
    folder = tmp_path_factory.mktemp("tls")
    authority, _ = certificates(folder)
    settings = {"certificate": "server.pem", "private_key": "server.key"}
    with Server(make_site(folder, epsilon=50, settings=settings, postgres=True)) as running:
        yield running, authority
