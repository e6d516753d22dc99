"""Costs in the ledger's own unit at every door of the server, for ledgers of each notion: HTTP, MCP, PostgreSQL."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from mcp import Client
from server_site import Server, make_site
from test_server_mcp import over_http

from dpdb.doors.cli.main import main
from dpdb.ledger import Ledger

UNITS = {"pure": "epsilon", "zcdp": "rho", "gdp": "mu"}
COUNT = "SELECT value FROM dp_count('visits', 0.1)"
CHECK = "SELECT verdict, within, epsilon, rho, rho_reserved FROM dp_check('nightly')"


@pytest.fixture(scope="module", params=["pure", "zcdp", "gdp"])
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Server]]:
    """A server of each kind of ledger; on a gdp ledger no suite is registered, because it takes none."""
    notion: str = request.param
    analysts = {
        name: {"quota": 50, **({"most_per_statement": 40} if name == "ann" else {})} for name in ("ann", "bob", "eve")
    }
    site = make_site(
        tmp_path_factory.mktemp(notion), epsilon=400, analysts=analysts | {"olga": {"role": "owner"}}, postgres=True,
        notion=notion, suites=notion != "gdp",
    )  # fmt: skip
    with Server(site) as running:
        yield notion, running


def charge_of(server: Server, run: str) -> float:
    """What the ledger has charged for a run."""
    with Ledger.open(server.site.ledger) as ledger:
        [found] = [each for each in ledger.history() if (each.run_id or "").endswith(run)]
        return found.charge


def ask(server: Server, path: str, body: dict[str, Any], run: str) -> dict[str, Any]:
    client = server.client("bob")
    answer = client.post(path, json=body, headers={"Idempotency-Key": run})
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.heavy
def test_http(served: tuple[str, Server]) -> None:
    notion, server = served
    found = ask(server, "/v1/run", {"statement": COUNT}, "count")
    charge = charge_of(server, "count")
    assert (found["parameter"], found["charged"]) == (UNITS[notion], pytest.approx(charge))
    assert found["epsilon"] == (found["charged"] if notion == "pure" else None)
    assert found["cost"].startswith(f"{UNITS[notion]} ")
    assert found["cost"].endswith(" by 1 release")
    if notion == "gdp":
        return
    plan = ask(server, "/v1/explain", {"statement": CHECK}, "plan")
    most = {"pure": 1, "zcdp": 0.5}[notion]
    assert (plan["parameter"], plan["charged"]) == (UNITS[notion], most)
    assert plan["cost"] == f"at most {UNITS[notion]} {most} by suite 'nightly'"
    checked = ask(server, "/v1/check", {"suite": "nightly"}, "checked")
    charge = charge_of(server, "checked")
    assert 0 < charge < most
    assert (checked["parameter"], checked["charged"]) == (UNITS[notion], pytest.approx(charge, abs=1e-9))
    [results] = checked["checks"]
    assert results[UNITS[notion]] == pytest.approx(charge, abs=1e-9)
    assert results[f"{UNITS[notion]}_reserved"] == most
    passed = [each for each in results["checks"] if each["verdict"] == "pass"]
    assert passed
    assert all(
        each["within"] is not None and each["upper"] is not None for each in passed if each["direction"] == "above"
    )
    again = ask(server, "/v1/check", {"suite": "nightly"}, "checked")
    assert again == checked
    if notion == "zcdp":
        own = ask(server, "/v1/check", {"suite": "nightly", "rho": "0.25"}, "own")
        assert own["checks"][0]["rho_reserved"] == 0.25
    header = (
        server.client("bob")
        .post(
            "/v1/run",
            json={"statement": COUNT},
            headers={"Idempotency-Key": "count", "Accept": "application/vnd.apache.arrow.stream"},
        )
        .headers
    )
    assert float(header[f"Dpdb-{UNITS[notion].title()}"]) == pytest.approx(found["charged"], abs=1e-9)


@pytest.mark.heavy
def test_mcp(served: tuple[str, Server]) -> None:
    notion, server = served

    async def talk(client: Client) -> list[dict[str, Any]]:
        calls: list[tuple[str, dict[str, Any]]] = [("run", {"statement": COUNT, "run_id": "mcp count"})]
        if notion != "gdp":
            calls.append(("check", {"suite": "nightly", "run_id": "mcp checked"}))
        return [(await client.call_tool(*call)).structured_content for call in calls]

    for found, run in zip(over_http(server, "ann", talk), ("mcp count", "mcp checked"), strict=False):
        assert found["parameter"] == UNITS[notion]
        assert found["charged"] == pytest.approx(charge_of(server, run), abs=1e-9), found


@pytest.mark.heavy
def test_postgresql(served: tuple[str, Server]) -> None:
    notion, server = served
    with psycopg.connect(
        host="127.0.0.1",
        port=server.postgres_port,
        user="eve",
        password=server.site.tokens["eve"],
        dbname="visits",
        autocommit=True,
    ) as connection:
        assert connection.execute(COUNT).fetchone() is not None
        plan = " ".join(str(row) for row in connection.execute(f"EXPLAIN {COUNT}").fetchall())
        assert f"{UNITS[notion]} " in plan
        if notion == "gdp":
            return
        rows = connection.execute(CHECK).fetchall()
        for verdict, within, epsilon, rho, reserved in rows:
            assert verdict != "pass" or within is not None
            assert (epsilon is None, rho is None, reserved is None) == (notion == "zcdp", *[notion == "pure"] * 2)
        most = {"pure": 1, "zcdp": 0.5}[notion]
        plan = " ".join(str(row) for row in connection.execute(f"EXPLAIN {CHECK}").fetchall())
        assert f"at most {UNITS[notion]} {most} by suite" in plan


@pytest.mark.heavy
def test_the_owner_sees_suites_in_the_ledgers_unit(served: tuple[str, Server]) -> None:
    notion, server = served
    ask(server, "/v1/run", {"statement": COUNT}, "board")
    [table] = server.client("olga").get("/v1/board").json()["tables"]
    assert table["summary"]["parameter"] == UNITS[notion]
    with Ledger.open(server.site.ledger) as ledger:
        wanted = [ledger.notion.value(suite.reserved) for suite in ledger.suites()]
    assert [suite["reserved"] for suite in table["suites"]] == wanted
    assert json.dumps(table)


def test_a_gdp_ledger_takes_no_registered_suite(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In one line, when the server starts, and nothing is spent."""
    site = make_site(tmp_path, epsilon=4, notion="gdp")
    assert main(["serve", "--config", str(site.config)]) == 2
    assert "checks need a pure or a zcdp ledger, and this one is gdp" in capsys.readouterr().err
    assert site.spent() == 0
