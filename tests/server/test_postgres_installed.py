"""Clients as people install them go through start-up, listing, columns, query, parameters, cursor and pool."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from installed_clients import CLIENTS, PROGRAMS, Installed, install, line_of, steps
from server_site import Server, make_site


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(make_site(tmp_path_factory.mktemp("installed"), epsilon=50, postgres=True)) as running:
        yield running


def hold(name: str, installed: Installed, wire: Server) -> None:
    place = {"PGPORT": str(wire.postgres_port), "PGUSER": "ann", "PGPASSWORD": wire.site.tokens["ann"]}
    before = wire.site.spent()
    found = steps(name, installed, place)
    print(f"\n{line_of(name, installed.version, found)}")
    assert len(found) >= 7
    assert all(is_right for _, is_right, _ in found), line_of(name, installed.version, found)
    paid = [step for step, _, _ in found if step.endswith(("release", "parameters: keys"))]
    assert wire.site.spent() - before == pytest.approx(0.01 * len(paid))


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("name", "module"),
    [("asyncpg", "asyncpg"), ("psycopg", "psycopg"), ("pg8000", "pg8000"), ("ADBC", "adbc_driver_postgresql")],
)
def test_clients_of_this_environment(name: str, module: str, wire: Server) -> None:
    pytest.importorskip(module, reason=f"{module} is not installed")
    hold(name, Installed([sys.executable], {}, "installed here"), wire)


@pytest.mark.slow
@pytest.mark.parametrize("name", CLIENTS)
def test_clients_from_their_index(name: str, wire: Server, tmp_path: Path) -> None:
    installed = install(name, tmp_path / "client")
    if isinstance(installed, str):
        pytest.skip(installed)
    hold(name, installed, wire)


def test_every_program_is_of_a_client() -> None:
    used = {client.program for client in CLIENTS.values()} | {"steps.py", "steps.js"}
    assert {path.name for path in PROGRAMS.iterdir() if path.is_file()} == used
