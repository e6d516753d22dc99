"""A row as the unit beside private parents, through the doors: what it costs, what it is charged, what is refused."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from stub_noise import StubNoise

import dpdb
from dpdb.doors.cli import main
from dpdb.engine import unit_rows as children
from dpdb.errors import BudgetExceededError, EngineError, LedgerError, ParameterError
from dpdb.ledger import Ledger
from dpdb.owner import exact_measures
from dpdb.privacy import GDP, PURE, ZCDP, Notion
from dpdb.privacy.noise import replaced_noise
from dpdb.release import Ask, pure_units
from dpdb.release.explain import explain

RULE = "known: customer IN customers.id"
COUNTED = (
    "SELECT count(*) FILTER (customer NOT IN (FROM customers)), count(*) "
    "FROM (FROM orders QUALIFY customer IS NULL OR row_number() OVER (PARTITION BY customer) <= {})"
)
PRIVATE: dict[str, Any] = {"private_parents": ["customers"], "max_children": 2}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    path = tmp_path / "shop.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE customers AS SELECT i AS id FROM range(20) t(i)")
        connection.execute("CREATE TABLE regions AS SELECT i AS id FROM range(2) t(i)")
        connection.execute(
            "CREATE TABLE orders AS SELECT CASE WHEN i % 7 = 0 THEN NULL ELSE i % 30 END AS customer, i % 3 AS region, "
            "i % 5 AS zip, i % 11 // 6 AS city FROM range(120) t(i)"
        )
    return path


def opened(shop: Path, *rules: str, **options: Any) -> dpdb.Session:
    if "ledger" in options:  # private parents have their own
        named = (PRIVATE | options)["private_parents"] or []
        options["parent_ledgers"] = {name: made_ledger(shop.parent / f"{name}.ledger") for name in named}
    return dpdb.open(shop, table="orders", constraints=list(rules or (RULE,)), **PRIVATE | options)


def made_ledger(path: Path) -> Path:
    if not path.exists():
        Ledger.create(path, 10).close()
    return path


def spent(path: Path) -> float:
    with Ledger.open(path) as ledger:
        return ledger.summary().spent


def counted(shop: Path, most: int = 2) -> tuple[int, int]:
    """Orphans and rows among so many rows of each customer: how many are kept does not hang on which."""
    with duckdb.connect(str(shop), read_only=True) as connection:
        return connection.execute(COUNTED.format(most)).fetchall()[0]


def words(shop: Path, *beside: str) -> list[str]:
    return [
        str(shop), "--table", "orders", "--constraints", RULE, "--private-parent", "customers", "--max-children", "2",
        *beside,
    ]  # fmt: skip


@pytest.mark.heavy(family="long")
def test_the_orphans_among_the_first_children_are_counted(shop: Path) -> None:
    orphans, rows = counted(shop)
    with opened(shop) as session, replaced_noise(StubNoise()):
        release = session.dp_inconsistency("problematic", epsilon=1)
        assert (release.value, session.dp_count(epsilon=1).value) == (orphans, rows)
    assert release.unit == "one row of the table or of customers, using at most 2 rows of each value of customer"
    assert release.estimand.endswith(", using at most 2 rows of each value of customer")
    assert f"adding or removing {release.unit}" in release.guarantee


@pytest.mark.heavy(family="long")
def test_keys_of_public_parents_limit_nothing(shop: Path) -> None:
    """They have no part in the divisor, so they must have none in the choice."""
    with opened(shop, RULE, "region IN regions.id", public_parents=["regions"]) as session, replaced_noise(StubNoise()):
        assert session.dp_count(epsilon=1).value == counted(shop)[1]


# Rules, options, and by what epsilon is divided for problematic and for a count.
DIVIDED: list[tuple[list[str], dict[str, Any], int, int]] = [
    ([RULE], {}, 2, 2),
    ([RULE], {"max_children": 1}, 2, 2),  # a new row takes the place of another one, perhaps of another slice
    ([RULE], {"max_children": 5}, 5, 2),
    ([RULE, "CHECK (zip >= 0)"], {"max_children": 5}, 5, 2),
    ([RULE, "zip -> city"], {}, 4, 2),
    ([RULE, "zip -> city"], {"max_children": 5}, 10, 2),
    ([RULE, "zip -> city"], {"rows_per_person": 3}, 12, 6),
    (["zip -> city"], {}, 1, 1),
    ([RULE, "region IN regions.id"], {"private_parents": ["customers", "regions"]}, 3, 3),
    ([RULE, "region IN regions.id"], {"public_parents": ["regions"]}, 2, 2),
    ([RULE, "zip = 1: customer IN customers.id"], {"max_children": 5}, 5, 2),
    (["zip IN orders.region"], {"private_parents": ["orders"]}, 6, 6),
]


@pytest.mark.heavy
@pytest.mark.parametrize(("rules", "options", "measure", "count"), DIVIDED)
def test_epsilon_is_divided_by_the_rows_that_one_row_changes(
    shop: Path, rules: list[str], options: dict[str, Any], measure: int, count: int
) -> None:
    with opened(shop, *rules, rows=False, **options) as session:
        measured, counted = (session.prepare(Ask(name, 60)) for name in ("problematic", "count"))
    assert measured.parts[0].per_row == 60 * 10**9 // measure
    assert counted.parts[0].per_row == 60 * 10**9 // count  # type: ignore[union-attr]
    assert measured.charge.epsilon == counted.charge.epsilon == 60 * 10**9


def test_each_constraint_is_divided_by_what_it_reads(shop: Path) -> None:
    with opened(shop, RULE, "zip -> city", max_children=5) as session:
        parts = session.prepare(Ask("problematic", 10, each_constraint=True)).parts
    assert [part.per_row for part in parts] == [10**9, 5 * 10**9 // 2]


@pytest.mark.heavy(family="privacy")
def test_a_new_row_may_take_the_place_of_one_in_another_slice(tmp_path: Path) -> None:
    """Why k is not enough for k = 1: two slices change by one orphan each, and both are charged once."""
    pq.write_table(pa.table({"id": [2]}), tmp_path / "p.parquet")
    private = {"private_parents": {"p": tmp_path / "p.parquet"}, "max_children": 1}
    keys = ["a", "b", "c"]

    def orphans(slices: list[str]) -> list[float]:
        child = pa.table({"k": [1] * len(slices), "slice": slices})
        with dpdb.open(child, constraints="k IN p.id", **private) as session, replaced_noise(StubNoise()):
            return [release.value for release in session.dp_inconsistency("repair", by="slice", keys=keys, epsilon=1)]

    whole = orphans(keys)
    without = [orphans([key for key in keys if key != left]) for left in keys]
    assert all(sum(found) == 1 for found in (whole, *without))
    assert max(sum(abs(a - b) for a, b in zip(whole, found, strict=True)) for found in without) == 2


# -- the ledger -----------------------------------------------------------------------------------------------


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    Ledger.create(tmp_path / "l.ledger", 10).close()
    return tmp_path / "l.ledger"


@pytest.mark.heavy(family="spending")
def test_the_own_ledger_is_charged_by_the_rows_of_slices_and_the_parents_for_every_row(
    shop: Path, ledger: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with opened(shop, ledger=ledger) as session:
        assert session.public.unit.rows == 4  # what a zcdp or gdp ledger charges by
        for zip_ in range(2):
            session.dp_inconsistency("problematic", 1, where=f"zip = {zip_}")
        assert session.spent() == 1
        assert spent(shop.parent / "customers.ledger") == 2
        session.dp_count(epsilon=1)
        assert session.spent() == 2
    assert spent(shop.parent / "customers.ledger") == 3
    assert main(["budget", "show", str(ledger)]) == 0
    bound = "rows of the table or of customers with at most 2 children of each key (customer IN customers.id)"
    assert f"unit       single {bound}" in capsys.readouterr().out
    with opened(shop, "zip = 1: customer IN customers.id", "zip -> city", ledger=ledger) as session:
        session.dp_inconsistency("repair", 1)  # the same key and number: the same rows


OTHERS: list[tuple[list[str], dict[str, Any]]] = [
    ([RULE], {"max_children": 3}),
    ([RULE], {"rows_per_person": 2}),
    ([RULE], {"max_children": None, "unit": "customer", "max_rows": 2}),
    (["zip -> city"], {}),
    (["zip IN customers.id"], {}),  # as many rows of the same tables, chosen by another key
    ([RULE, "region IN regions.id"], {"private_parents": ["customers", "regions"]}),
    ([RULE], {"max_children": None, "private_parents": None, "public_parents": ["customers"]}),
]


@pytest.mark.heavy(family="long")
def test_a_ledger_is_bound_to_keys_and_number(shop: Path, ledger: Path) -> None:
    with opened(shop, ledger=ledger) as session:
        session.dp_inconsistency("problematic", 1)
    for rules, options in OTHERS:
        with pytest.raises(LedgerError, match=r"counts for single rows of the table or of customers with at most 2"):
            opened(shop, *rules, ledger=ledger, **options)


@pytest.mark.heavy(family="long")
def test_a_changed_parent_is_asked_about(shop: Path, ledger: Path) -> None:
    with opened(shop, ledger=ledger) as session:
        session.dp_inconsistency("problematic", 1)
    with duckdb.connect(str(shop)) as connection:
        connection.execute("DELETE FROM customers WHERE id = 3")
    with pytest.raises(LedgerError, match="dpdb budget epoch"), opened(shop, ledger=ledger) as session:
        session.dp_count(epsilon=0.1)


@pytest.mark.heavy(family="long")
def test_an_append_only_ledger_is_refused(shop: Path, tmp_path: Path) -> None:
    Ledger.create(tmp_path / "a.ledger", 10, append_only=True).close()
    with pytest.raises(LedgerError, match="an append-only ledger cannot count for single rows of the table or of cust"):
        opened(shop, ledger=tmp_path / "a.ledger")


def test_the_debit_comes_first_and_a_failure_after_it_says_one_thing(
    shop: Path, ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> Any:
        raise RuntimeError("customer 17 has 4 orders")

    monkeypatch.setattr(children, "kept_children", fails)
    with opened(shop, ledger=ledger) as session, pytest.raises(EngineError) as failed:
        session.dp_inconsistency("problematic", 1)
    assert str(failed.value).startswith("the release failed after its budget was debited; the reason is in the owner's")
    assert "17" not in str(failed.value)
    assert failed.value.__cause__ is None
    with Ledger.open(ledger) as read:
        assert read.summary().spent == 1
        assert read.summary().unanswered == 1
    assert spent(shop.parent / "customers.ledger") == 1


def test_a_private_parent_without_a_ledger_is_refused_by_name(shop: Path, ledger: Path) -> None:
    with dpdb.open(shop, table="orders", constraints=RULE, ledger=ledger, **PRIVATE) as session:
        for ask in (lambda: session.dp_inconsistency("repair", 1), lambda: session.dp_count(1)):
            with pytest.raises(
                ParameterError, match=r"rows of customers are private, .*--parent-ledger customers=FILE"
            ):
                ask()
        with pytest.raises(ParameterError, match="a diagnosis does not go with private parents"):
            session.diagnose(by="zip", keys=[0, 1], epsilon=1)
        with pytest.raises(ParameterError, match="--parent-ledger customers=FILE"):
            session.check(f"{RULE}  fail above 3")
    assert spent(ledger) == 0


@pytest.mark.parametrize("poor", ["customers", "l"])
def test_one_ledger_that_cannot_pay_spends_nothing(shop: Path, ledger: Path, poor: str) -> None:
    (shop.parent / f"{poor}.ledger").unlink(missing_ok=True)
    Ledger.create(shop.parent / f"{poor}.ledger", 1).close()
    with opened(shop, ledger=ledger) as session, pytest.raises(BudgetExceededError):
        session.dp_inconsistency("problematic", 2)
    assert (spent(ledger), spent(shop.parent / "customers.ledger")) == (0, 0)


def test_other_rules_of_the_same_rows_debit_both(shop: Path, ledger: Path) -> None:
    with opened(shop, ledger=ledger) as session:
        session.dp_count(1)
        with session.with_constraints(["zip -> city", RULE]) as other:
            other.dp_inconsistency("repair", 1)
    assert (spent(ledger), spent(shop.parent / "customers.ledger")) == (2, 2)


@pytest.mark.parametrize("notion", [PURE, ZCDP, GDP])
def test_what_is_divided_by_more_is_never_charged_less(notion: Notion) -> None:
    """So the charge for the largest divisor of a unit serves all of them; each row rounds up by a unit."""
    for epsilon in (10**7, 3 * 10**8, 10**9, 5 * 10**9, 30 * 10**9):
        charges = [pure_units(notion, [epsilon], rows) for rows in range(1, 40)]
        assert all(more >= less - rows**2 for rows, (less, more) in enumerate(itertools.pairwise(charges), 1))


# -- refusals -------------------------------------------------------------------------------------------------

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "with a unit": (PRIVATE | {"unit": "customer", "max_rows": 2}, "max_children= and unit= exclude each other"),
    "with max_rows": (PRIVATE | {"max_rows": 2}, "max_children= and unit= exclude each other"),
    "no parent": ({"max_children": 2}, "and none is declared .--private-parent, private_parents="),
    "public parent": ({"max_children": 2, "public_parents": ["customers"]}, "and none is declared"),
    "none": (PRIVATE | {"max_children": 0}, "max_children must be a whole number of at least 1, got 0"),
    "more than rows are": (PRIVATE | {"max_children": 2**32}, "max_children must be at most 4,294,967,295$"),
    "more than is printed": (PRIVATE | {"max_children": 10**5000}, "max_children must be at most 4,294,967,295$"),
    "more together": (
        PRIVATE | {"max_children": 2**31, "rows_per_person": 2},
        "rows_per_person times max_children must be at most 4,294,967,295$",
    ),
    "no number": (PRIVATE | {"max_children": True}, "max_children must be a whole number of at least 1, got True"),
    "neither": ({"private_parents": ["customers"]}, "or single rows, with at most K children of each key used"),
}


@pytest.mark.heavy
@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_sound_is_one_line_and_costs_nothing(shop: Path, ledger: Path, case: str) -> None:
    options, message = REFUSED[case]
    with pytest.raises(ParameterError, match=message) as refused:
        dpdb.open(shop, table="orders", constraints=[RULE], ledger=ledger, **options)
    assert "\n" not in str(refused.value)
    with Ledger.open(ledger) as read:
        assert read.summary().spent == 0


def test_epsilon_that_leaves_nothing_for_a_row_is_refused(shop: Path) -> None:
    with opened(shop, max_children=2**32 - 1) as session, pytest.raises(ParameterError, match="too small to use"):
        session.dp_inconsistency("problematic", 1)


@pytest.mark.heavy(family="long")
def test_the_largest_limit_serves_counts_with_a_ledger(shop: Path, ledger: Path) -> None:
    with opened(shop, max_children=2**32 - 1, ledger=ledger) as session, replaced_noise(StubNoise()):
        assert session.dp_count(epsilon=1).value == 120


@pytest.mark.heavy(family="long")
def test_a_public_table_is_not_its_own_parent(shop: Path) -> None:
    parents = {"private_parents": ["customers"], "public_parents": ["orders"]}
    with pytest.raises(ParameterError, match="is the measured table itself, whose rows are private"):
        opened(shop, "zip IN orders.region", **parents)


# -- doors ----------------------------------------------------------------------------------------------------


@pytest.mark.heavy(family="long")
def test_the_command_line_and_its_prompt(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    orphans, _ = counted(shop)
    with replaced_noise(StubNoise()):
        assert main(["measure", *words(shop, "--measure", "problematic", "--epsilon", "1", "--format", "json")]) == 0
    assert json.loads(capsys.readouterr().out)["releases"][0]["value"] == orphans
    statement = "SELECT value FROM dp_inconsistency('orders', measure := 'problematic', epsilon := 9)"
    with replaced_noise(StubNoise()):
        assert main(["sql", *words(shop, "--budget", "9", "--format", "csv", statement)]) == 0
    assert float(capsys.readouterr().out.splitlines()[1]) == orphans


@pytest.mark.heavy(family="long")
def test_an_explanation_shows_which_rows_are_used(shop: Path) -> None:
    explained = explain(shop, RULE, table="orders", **PRIVATE)
    assert explained["unit"]["words"].startswith("one row of the table or of customers, using at most 2 rows")
    assert 'PARTITION BY "customer" ORDER BY hash(' in explained["unit"]["sql"]
    assert explain(shop, "zip -> city", table="orders", **PRIVATE)["unit"]["sql"] is None


@pytest.mark.heavy(family="long")
def test_a_job_and_registered_functions(shop: Path, tmp_path: Path) -> None:
    for name in ("j", "customers"):
        Ledger.create(tmp_path / f"{name}.ledger", 1000).close()
    job = tmp_path / "job.toml"
    job.write_text(
        f"""
        name = "shop"
        source = "{shop.name}"
        table = "orders"
        constraints = ["{RULE}"]
        ledger = "j.ledger"
        results = "results.duckdb"
        private_parents = ["customers"]
        max_children = 2
        [parent_ledgers]
        customers = "customers.ledger"
        [[release]]
        name = "orphans"
        measure = "problematic"
        epsilon = 1000
        """,
        encoding="utf-8",
    )
    with replaced_noise(StubNoise()):
        assert main(["run", str(job), "--run-id", "one"]) == 0
    for name in ("j", "customers"):
        with Ledger.open(tmp_path / f"{name}.ledger") as ledger:
            assert ledger.spent_units() == 1000 * 10**9
    with duckdb.connect(str(tmp_path / "results.duckdb"), read_only=True) as results:
        [(value, unit)] = results.execute("SELECT value, unit FROM dpdb_results").fetchall()
    orphans, _ = counted(shop)
    assert (value, unit.split(",")[0]) == (orphans, "one row of the table or of customers")
    ask = "SELECT value FROM dp_inconsistency('orders', measure := 'problematic', epsilon := 1000)"
    with duckdb.connect(str(shop)) as con, dpdb.register(con, constraints=RULE, **PRIVATE) as functions:
        # Noise other than 0 has a probability below 1e-60.
        assert functions.execute(ask).to_pylist() == [{"value": float(orphans)}]


@pytest.mark.heavy(family="long")
def test_exact_values_are_of_all_rows(shop: Path) -> None:
    orphans, rows = counted(shop, 10**6)
    found = exact_measures(shop, RULE, table="orders", private_parents=["customers"], non_private=True)
    assert (found.self_conflicts, rows) == (orphans, 120)
    assert orphans > counted(shop)[0]
