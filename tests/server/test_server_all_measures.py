"""Bits, verdicts and rows that share a key, by SQL over HTTP and by MCP: values, ends, words of columns, charges."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow.parquet as pq
import pytest
from five_measures import CERTAIN, KEY, ROWS, RULE, near, truth
from mcp import Client
from server_site import Server, Site, make_site
from test_server_mcp import over_http

from dpdb.doors.server.analysts import add_analyst
from dpdb.doors.server.configuration import load_configuration
from dpdb.ledger import Ledger

TABLES = {RULE: "places", KEY: "cards"}
ASKED = [
    ("maximal_consistency", RULE, "bits"),
    ("maximal_consistency", KEY, "bits"),
    ("drastic", RULE, "verdict"),
    ("problematic", KEY, "rows"),
]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("measures")
    make_site(folder)
    pq.write_table(ROWS, folder / "rows.parquet")
    config = (folder / "serve.toml").read_text()
    for rule, name in TABLES.items():
        Ledger.create(folder / f"{name}.ledger", 1_000).close()
        table = f'source = "rows.parquet"\nconstraints = ["{rule}"]\nledger = "{name}.ledger"\n'
        config = config.replace("[public]", f"[tables.{name}]\n{table}[public]")
    (folder / "serve.toml").write_text(config)
    token = add_analyst(load_configuration(folder / "serve.toml"), "ann", quota=10_000, most_per_statement=100)
    with Server(Site(folder, {"ann": token})) as running:
        yield running


def statement(measure: str, rule: str) -> str:
    """With intervals that miss once in a thousand million runs."""
    return (
        "SELECT value, lower, upper, quantity, most_deletions, estimand "
        f"FROM dp_inconsistency('{TABLES[rule]}', '{measure}', {CERTAIN}, confidence := 0.999999999)"
    )


def assert_right(answer: dict[str, Any], measure: str, rule: str, quantity: str) -> None:
    [[value, lower, upper, counted, deletions, estimand]] = answer["rows"]
    assert near(value, measure, rule)
    assert lower <= truth(measure, rule) <= upper
    assert (counted, deletions, answer["epsilon"]) == (quantity, None, CERTAIN)
    assert ("each is a verdict by itself" in estimand) is (measure == "drastic")


@pytest.mark.heavy
@pytest.mark.parametrize(("measure", "rule", "quantity"), ASKED)
def test_sql_over_http_answers_them(measure: str, rule: str, quantity: str, served: Server) -> None:
    found = served.ask("ann", statement(measure, rule))
    assert found.status_code == 200, found.text
    assert_right(found.json(), measure, rule, quantity)


@pytest.mark.heavy
@pytest.mark.parametrize(("measure", "rule", "quantity"), ASKED)
def test_mcp_answers_them(measure: str, rule: str, quantity: str, served: Server) -> None:
    async def talk(client: Client) -> Any:
        return await client.call_tool("run", {"statement": statement(measure, rule)})

    answered = over_http(served, "ann", talk)
    assert not answered.is_error, answered
    assert_right(answered.structured_content, measure, rule, quantity)


def test_a_refusal_over_http_spends_nothing(served: Server) -> None:
    asked = f"SELECT value FROM dp_inconsistency('{TABLES[RULE]}', 'problematic', 1, mechanism := 'sharing_rows')"
    path = served.site.folder / f"{TABLES[RULE]}.ledger"
    with Ledger.open(path) as ledger:
        before = ledger.summary().spent
    found = served.ask("ann", asked)
    assert found.status_code == 422, found.text
    assert "no keys" in found.json()["message"]
    with Ledger.open(path) as ledger:
        assert ledger.summary().spent == before
