"""Tables without one owner: each pays from its own ledger, a private parent's ledger too; kills between two debits."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from killed_set import KILLED

from dpdb.doors.cli.main import main
from dpdb.errors import BudgetExceededError, DpdbError, ParameterError
from dpdb.ledger import Ledger
from dpdb.suites import TablesApart, TableSet

SUITES = {
    "customers": "UNIQUE(id)\nschema has (id BIGINT)\n",
    "items": "quantity: CHECK (quantity >= 0)  fail above 900\norder: order_id IN orders.id  fail above 700\n",
    "orders": "customer: customer_id IN customers.id  fail above 5\n",
}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as database:
        database.execute("CREATE TABLE customers AS SELECT i AS id FROM range(1000) t(i)")
        database.execute("CREATE TABLE orders AS SELECT i AS id, (i * 7) % 1100 AS customer_id FROM range(3000) t(i)")
        database.execute(
            "CREATE TABLE items AS SELECT (i * 13) % 3100 AS order_id, i % 17 - 1 AS quantity FROM range(9000) t(i)"
        )
    (tmp_path / "suites").mkdir()
    (tmp_path / "ledgers").mkdir()
    for name, text in SUITES.items():
        (tmp_path / "suites" / f"{name}.suite.txt").write_text(text)
        Ledger.create(tmp_path / "ledgers" / f"{name}.ledger", 40).close()
    return tmp_path


def check(folder: Path, *more: str) -> int:
    return main(
        ["check", str(folder / "shop.duckdb"), str(folder / "suites"), "--max-children", "3", "--epsilon", "8",
         "--ledger", str(folder / "ledgers"), "--quiet", *more]
    )  # fmt: skip


def spent(folder: Path) -> dict[str, float]:
    found = {}
    for name in SUITES:
        with Ledger.open(folder / "ledgers" / f"{name}.ledger") as ledger:
            found[name] = ledger.summary().spent
    return found


@pytest.mark.heavy(family="privacy")
def test_each_table_pays_from_its_ledger_and_private_parents_pay_too(
    shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of 3,000 orders 264 have no customer, so that check fails; what passes costs a quarter of epsilon 8."""
    assert check(shop, "--run-id", "monday") == 1
    said = capsys.readouterr().out
    assert [line.split()[:2] for line in said.splitlines()[1:6]] == [
        ["pass", "customers:"], ["pass", "customers:"], ["pass", "items:"], ["pass", "items:"], ["FAIL", "orders:"],
    ]  # fmt: skip
    assert check(shop, "--run-id", "monday", "--format", "json") == 1
    tables = json.loads(capsys.readouterr().out)["tables"]
    cost = {name: found["epsilon"] for name, found in tables.items()}
    assert cost == {"customers": 2, "items": 2, "orders": pytest.approx(3, abs=1)}
    paid = {"items": 2, "orders": cost["orders"] + 2, "customers": 2 + cost["orders"]}
    assert spent(shop) == paid
    assert check(shop, "--run-id", "monday") == 1
    assert capsys.readouterr().out == said
    assert spent(shop) == paid


@pytest.mark.heavy(family="spending")
def test_a_public_parent_pays_nothing(shop: Path) -> None:
    for name in ("customers", "orders"):
        (shop / "suites" / f"{name}.suite.txt").unlink()
    assert check(shop, "--public-parent", "orders") == 0
    assert spent(shop) == {"items": 2, "orders": 0, "customers": 0}


@pytest.mark.heavy(family="spending")
def test_no_suite_runs_where_one_ledger_cannot_pay(shop: Path) -> None:
    """The ledger of customers has to reserve 8 for its own suite, and 8 for that of orders."""
    (shop / "ledgers" / "customers.ledger").unlink()
    Ledger.create(shop / "ledgers" / "customers.ledger", 15).close()
    with TablesApart(shop / "shop.duckdb", shop / "suites", ledgers=shop / "ledgers", max_children=3) as tables:
        with pytest.raises(BudgetExceededError):
            tables.prepare(epsilon=8)
        assert [name for name, _ in tables.run(tables.prepare(epsilon=7))] == ["customers", "items", "orders"]


@pytest.mark.heavy(family="spending")
def test_without_ledgers_each_table_has_the_budget_of_the_command(shop: Path) -> None:
    with TablesApart(shop / "shop.duckdb", shop / "suites", budget=8, max_children=3) as tables:
        found = dict(tables.run(tables.prepare(epsilon=8)))
    assert {name: results.exit_code for name, results in found.items()} == {"customers": 0, "items": 0, "orders": 1}


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--keep", "nightly"], "--keep is for one table"),
        (["--where", "id > 1"], "--where is for one table"),
        (["--max-rows", "3"], "is for one table"),
        (["--public-parent", "customers"], "customers has a suite of its own"),
    ],
)
def test_what_is_of_one_table_is_refused(
    shop: Path, more: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check(shop, *more) == 2
    assert said in capsys.readouterr().err
    assert set(spent(shop).values()) == {0}


@pytest.mark.heavy(family="privacy")
def test_every_table_needs_a_ledger_and_private_parents_a_limit(shop: Path) -> None:
    with pytest.raises(ParameterError, match="max-children"):
        TablesApart(shop / "shop.duckdb", shop / "suites", ledgers=shop / "ledgers")
    (shop / "suites" / "customers.suite.txt").unlink()
    (shop / "ledgers" / "customers.ledger").unlink()
    with pytest.raises(ParameterError, match="customers has no ledger"):
        TablesApart(shop / "shop.duckdb", shop / "suites", ledgers=shop / "ledgers", max_children=3)
    with pytest.raises(ParameterError, match="is no folder"):
        TablesApart(shop / "shop.duckdb", shop / "suites", ledgers=shop / "ledgers" / "items.ledger", max_children=3)


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("step", "times", "reserved"),
    [
        ("one table debited", 1, 2 + 8),  # of items and orders one has paid for the suite of items
        ("one table debited", 3, 2 + 2 + 2 + 8),  # customers, items twice, and one of two for that of orders
        ("ended", 2, 2 + 2 + 8),  # the suite of items has its answer, and the ledger of orders is not settled yet
        ("one parent settled", 1, 2 + 2 + 2),
    ],
)
def test_a_kill_between_two_debits_is_finished_by_the_same_run(
    shop: Path, step: str, times: int, reserved: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where a process was killed a ledger has more, never less; asked again, each has paid once, and what it should."""
    words = ["check", "shop.duckdb", "suites", "--max-children", "3", "--epsilon", "8", "--ledger", "ledgers",
             "--run-id", "monday", "--quiet"]  # fmt: skip
    done = subprocess.run([sys.executable, "-c", KILLED, step, str(times), *words], cwd=shop, check=False, timeout=300)
    assert done.returncode == -9
    assert sum(spent(shop).values()) == reserved
    assert check(shop, "--run-id", "monday", "--format", "json") == 1
    tables = json.loads(capsys.readouterr().out)["tables"]
    cost = tables["orders"]["epsilon"]
    assert spent(shop) == {"items": 2, "orders": cost + 2, "customers": 2 + cost}
    for name in SUITES:
        with Ledger.open(shop / "ledgers" / f"{name}.ledger") as ledger:
            assert len(ledger.lines()) == (1 if name == "items" else 2)


# -- one unit for all, reached through keys ------------------------------------------------------------------------

WAY = "items.order_id -> orders.id, orders.customer_id -> customers.id"


@pytest.mark.heavy(family="spending")
def test_a_set_has_one_ledger_for_a_unit_that_keys_lead_to(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ledger = shop / "unit.ledger"
    Ledger.create(ledger, 40).close()
    (shop / "suites" / "orders.suite.txt").write_text('known: "customers.id" IN customers.id  fail above 5\n')
    (shop / "suites" / "items.suite.txt").write_text("quantity: CHECK (quantity >= 0)  fail above 900\n")
    (shop / "suites" / "customers.suite.txt").write_text("ordered: id IN orders.customer_id  fail above 400\n")
    words = ["check", str(shop / "shop.duckdb"), str(shop / "suites"), "--unit", WAY, "--epsilon", "20", "--quiet"]
    assert main([*words, "--max-rows", "20", "--ledger", str(ledger)]) == 0
    assert "customers.id" in capsys.readouterr().out
    with Ledger.open(ledger) as opened:
        assert opened.summary().spent == 5
    assert main([*words, "--ledger", str(ledger)]) == 2
    assert "needs max_rows" in capsys.readouterr().err


@pytest.mark.heavy(family="long")
def test_counts_of_a_set_are_those_of_joins(shop: Path) -> None:
    (shop / "suites" / "orders.suite.txt").write_text("low: CHECK (id >= 100)\n")
    (shop / "suites" / "items.suite.txt").write_text("quantity: CHECK (quantity >= 0)\n")
    (shop / "suites" / "customers.suite.txt").write_text("ordered: id IN orders.customer_id\n")
    with TableSet(shop / "shop.duckdb", shop / "suites", unit=WAY, max_rows=100) as tables:
        found = [int(count) for count, _ in tables.prepare().counted.counts(None, None)]  # type: ignore[arg-type]
    with duckdb.connect(str(shop / "shop.duckdb"), read_only=True) as database:
        known = "SELECT * FROM orders WHERE customer_id IN (SELECT id FROM customers)"
        expected = [
            "SELECT count(*) FROM customers WHERE id NOT IN (SELECT customer_id FROM orders)",
            f"SELECT count(*) FROM items WHERE quantity < 0 AND order_id IN (SELECT id FROM ({known}))",
            f"SELECT count(*) FROM ({known}) WHERE id < 100",
        ]
        assert found == [database.execute(query).fetchone()[0] for query in expected]  # type: ignore[index]


def test_a_table_without_a_step_is_named(shop: Path) -> None:
    with duckdb.connect(str(shop / "shop.duckdb")) as database:
        database.execute("CREATE TABLE stock AS SELECT 1 AS id")
    (shop / "suites" / "stock.suite.txt").write_text("UNIQUE(id)\n")
    (shop / "suites" / "orders.suite.txt").unlink()
    (shop / "suites" / "items.suite.txt").unlink()
    with TableSet(shop / "shop.duckdb", shop / "suites", unit=WAY, max_rows=2) as tables:
        assert [(each.name, each.reason) for each in tables.not_checked[1:]] == [
            ("UNIQUE(id)", "stock has no step to the unit: nobody's rows are added to it or removed with a unit")
        ]
    with pytest.raises(DpdbError, match="cannot be public"):
        TableSet(shop / "shop.duckdb", shop / "suites", unit=WAY, max_rows=2, public_parents={"customers": None})
