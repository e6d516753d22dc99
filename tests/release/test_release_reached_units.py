"""Releases of units that are reached through keys: numbers beside plain SQL, ledgers, odd keys, and what is refused."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest

import dpdb
from dpdb.doors.cli.main import main
from dpdb.engine import TableSpec
from dpdb.errors import DpdbError, LedgerError, ParameterError, SourceError
from dpdb.ledger import Ledger

TO_CUSTOMER = "order_id -> orders.id, customer_id"
SHOP = "items.order_id -> orders.id, orders.customer_id -> customers.id"
SURE = 100_000  # epsilon at which noise is 0


def make_shop(path: Path) -> Path:
    """300 customers, 900 orders and 3,000 items: repeated, NULL and dangling keys, and orders of two customers."""
    with duckdb.connect(str(path)) as database:
        database.execute("CREATE TABLE customers AS SELECT i AS id, i % 5 AS city FROM range(300) t(i)")
        database.execute(
            "CREATE TABLE orders AS SELECT i AS id, (i * 7) % 310 AS customer_id, i % 4 AS kind FROM range(900) t(i)"
        )
        database.execute("INSERT INTO orders VALUES (5, 5, 1), (5, 11, 2), (5, 11, 3), (NULL, 3, 1), (6, NULL, 1)")
        database.execute(
            "CREATE TABLE items AS SELECT i AS n, (i * 13) % 950 AS order_id, i % 17 - 1 AS quantity, i % 3 AS color "
            "FROM range(3000) t(i)"
        )
        database.execute("INSERT INTO items VALUES (-1, NULL, -1, 0)")
    return path


BELONGS = """
SELECT count(*) FROM (
  SELECT DISTINCT i.n, i.order_id, i.quantity, i.color, o.customer_id AS unit
  FROM items i JOIN orders o ON i.order_id = o.id {join} WHERE o.customer_id IS NOT NULL
) WHERE {condition}
"""


def exact(path: Path, condition: str = "true", *, customers: bool = False) -> int:
    join = "JOIN customers c ON o.customer_id = c.id" if customers else ""
    with duckdb.connect(str(path), read_only=True) as database:
        [(count,)] = database.execute(BELONGS.format(join=join, condition=condition)).fetchall()
        return int(count)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_shop(tmp_path_factory.mktemp("shop") / "shop.duckdb")


@pytest.mark.heavy
@pytest.mark.parametrize(("unit", "customers"), [(TO_CUSTOMER, False), (SHOP, True)])
def test_numbers_are_those_of_a_join(shop: Path, unit: str, customers: bool) -> None:
    name = "customers.id" if customers else "orders.customer_id"
    with dpdb.open(shop, table="items", constraints="CHECK (quantity >= 0)", unit=unit, max_rows=500) as session:
        assert session.dp_count(epsilon=SURE).value == exact(shop, customers=customers)
        assert session.dp_inconsistency("repair", SURE).value == exact(shop, "quantity < 0", customers=customers)
        unit_in_where = session.dp_count(epsilon=SURE, where=f'"{name}" = 11 AND color = 1')
        assert unit_in_where.value == exact(shop, "unit = 11 AND color = 1", customers=customers)
        by_color = session.dp_count(epsilon=SURE, by="color", keys=[0, 1, 2])
        assert [each.value for each in by_color] == [exact(shop, f"color = {k}", customers=customers) for k in range(3)]
        by_unit = session.dp_count(epsilon=SURE, by=name, keys=[5, 11, 400])
        assert [each.value for each in by_unit] == [
            exact(shop, f"unit = {k}", customers=customers) for k in (5, 11, 400)
        ]


def test_tables_may_be_files_in_any_order_of_their_own(shop: Path, tmp_path: Path) -> None:
    with duckdb.connect(str(shop), read_only=True) as database:
        database.execute(f"COPY items TO '{tmp_path}/items.parquet'")
        database.execute(f"COPY orders TO '{tmp_path}/orders.csv'")
    settings: dict[str, Any] = {
        "unit": TO_CUSTOMER,
        "max_rows": 500,
        "private_parents": {"orders": f"{tmp_path}/orders.csv"},
        "csv_schema": {"orders.id": "BIGINT", "orders.customer_id": "INTEGER"},
    }
    assert dpdb.dp_count(tmp_path / "items.parquet", SURE, **settings).value == exact(shop)


def test_what_is_shown_names_units_and_who_is_left_out(shop: Path) -> None:
    release = dpdb.dp_count(shop, 1, table="items", unit=SHOP, max_rows=20)
    assert isinstance(release, dpdb.Release)
    assert "one value of customers.id with all its rows in customers" in release.guarantee
    assert "order_id -> orders.id, customer_id -> customers.id" in release.guarantee
    assert "no row that leads to none" in str(release.estimand)
    assert release.noise_scale == pytest.approx(20)


@pytest.mark.heavy(family="long")
def test_one_text_serves_all_tables(shop: Path) -> None:
    """The unit's own table has a column, and the others their part of the way."""
    found = {
        name: TableSpec.of(shop, {"unit": SHOP, "max_rows": 2}, table=name) for name in ("items", "orders", "customers")
    }
    assert found["items"].unit_path is not None
    assert found["items"].unit_path.tables == ("orders", "customers")
    assert found["orders"].unit_path is not None
    assert found["orders"].unit_path.written() == "customer_id -> customers.id, id"
    assert (found["customers"].unit_path, found["customers"].change.unit) == (None, "id")
    assert dpdb.dp_count(shop, SURE, table="customers", unit=SHOP, max_rows=2).value == 300
    assert dpdb.dp_count(shop, SURE, table="orders", unit=SHOP, max_rows=9).value == 875


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("unit", "said"),
    [
        ("order_id -> ", "expected a table and its column"),
        ("order_id -> orders", "expected a table and its column"),
        ("order_id -> orders(id, kind)", "as many columns on both sides"),
        ("(order_id, color) -> orders(id, kind)", "a comma and the column of orders"),
        ("order_id -> orders.id, customers.id", "a step to a table"),
        ("order_id -> orders.id, customer_id -> orders.id", "it is the units' table"),
        ("order_id -> orders.id, customer_id -> customers.id, id -> orders.id", "it is the units' table"),
        ("order_id -> items.n, quantity", "is the measured table itself"),
        ("items.order_id -> orders.id, items.n -> orders.id", "two steps start from items"),
        ("items.order_id -> orders.id, returns.n -> customers.id", "leads on to no other"),
        ("orders.customer_id -> customers.id", "no step starts from items"),
        ("order_id -> orders.id, nope", "no column 'nope'"),
        ("nope -> orders.id, customer_id", "no column 'nope'"),
        ("order_id -> nowhere.id, customer_id", "no table or view 'nowhere'"),
        ("d -> orders.id, customer_id", "cannot compare"),
        ("order_id -> floats.id, unit", "different values may be equal"),
    ],
)
def test_odd_paths_are_refused_and_nothing_is_spent(tmp_path: Path, unit: str, said: str) -> None:
    shop = make_shop(tmp_path / "shop.duckdb")
    with duckdb.connect(str(shop)) as database:
        database.execute("ALTER TABLE items ADD COLUMN d DATE")
        database.execute("CREATE TABLE floats AS SELECT 1 AS id, 1.5::DOUBLE AS unit")
    with pytest.raises(DpdbError, match=said):
        dpdb.dp_count(shop, 1, table="items", unit=unit, max_rows=2)


@pytest.mark.parametrize("most", [0, -1, None, True])
def test_a_cap_is_a_whole_number_of_at_least_1(shop: Path, most: Any) -> None:
    with pytest.raises(ParameterError, match="max_rows"):
        dpdb.dp_count(shop, 1, table="items", unit=TO_CUSTOMER, max_rows=most)


def test_a_public_table_is_no_step(shop: Path) -> None:
    """Its rows stay when a unit leaves, so rows of other units could take the places of those that it has."""
    with pytest.raises(ParameterError, match="orders is declared public"):
        dpdb.dp_count(shop, 1, table="items", unit=TO_CUSTOMER, max_rows=2, public_parents=["orders"])


def test_the_same_table_twice_is_refused_by_any_name(shop: Path, tmp_path: Path) -> None:
    other = tmp_path / "again.duckdb"
    other.symlink_to(shop)
    with duckdb.connect(str(shop), read_only=True) as database:
        database.execute(f"COPY orders TO '{tmp_path}/orders.parquet'")
    with pytest.raises(ParameterError, match="is on the path twice"):
        dpdb.dp_count(
            shop,
            1,
            table="items",
            unit="order_id -> o1.id, kind -> o2.id, customer_id",
            max_rows=2,
            private_parents={"o1": f"{tmp_path}/orders.parquet", "o2": f"{tmp_path}/../{tmp_path.name}/orders.parquet"},
        )


RULE = '(order_id, "orders.customer_id") IN orders(id, customer_id)'


@pytest.mark.heavy(family="long")
def test_rules_on_the_last_table_are_of_the_unit(shop: Path) -> None:
    """Rows that belong to a unit have its order, so there is no orphan; a rule on another key has some."""
    with dpdb.open(shop, table="items", constraints=RULE, unit=TO_CUSTOMER, max_rows=500) as session:
        assert session.dp_inconsistency("repair", SURE).value == 0
    rule = '"orders.customer_id" IN customers.id'
    with dpdb.open(
        shop, table="items", constraints=rule, unit=TO_CUSTOMER, max_rows=500, private_parents=["customers"]
    ) as session:
        assert session.dp_inconsistency("repair", SURE).value == exact(shop, "unit >= 300")


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("order_id IN orders.id", "the unit must be a column of the rule's key"),
        ('"customers.id" IN orders.customer_id', "is on the way to the unit"),
        ('"customers.id" IN customers.city', "is on the way to the unit"),
        ('"customers.id" IN items.n', "removing one of its rows may orphan rows"),
    ],
)
def test_rules_on_tables_of_the_way_are_refused(shop: Path, rule: str, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        dpdb.open(shop, table="items", constraints=rule, unit=SHOP, max_rows=2, private_parents=["items"])


@pytest.mark.heavy(family="spending")
def test_a_ledger_is_of_one_way_and_of_the_rows_of_all_its_tables(tmp_path: Path) -> None:
    shop, ledger = make_shop(tmp_path / "shop.duckdb"), tmp_path / "shop.ledger"
    assert main(["budget", "create", str(ledger), "--epsilon", "5"]) == 0
    known: dict[str, Any] = {"table": "items", "ledger": ledger}
    dpdb.dp_count(shop, 1, unit=TO_CUSTOMER, max_rows=20, **known)
    for unit, most in ((TO_CUSTOMER, 19), ("order_id -> orders.id, kind", 20), (SHOP, 20), ("n", 20)):
        with pytest.raises(LedgerError):
            dpdb.dp_count(shop, 1, unit=unit, max_rows=most, **known)
    dpdb.dp_count(shop, 1, unit="ORDER_ID -> orders.ID, Customer_Id", max_rows=20, **known)  # names have no case
    with dpdb.open(shop, unit=TO_CUSTOMER, max_rows=20, **known) as session:
        changed = tmp_path / "changed.duckdb"
        shutil.copy(shop, changed)
        with duckdb.connect(str(changed)) as database:
            database.execute("DELETE FROM orders WHERE id = 7")
        changed.replace(shop)
        with pytest.raises(SourceError, match="changed"):
            session.dp_count(epsilon=1)
    with pytest.raises(LedgerError, match="epoch"):
        dpdb.dp_count(shop, 1, unit=TO_CUSTOMER, max_rows=20, **known)
    with Ledger.open(ledger) as opened:
        assert opened.summary().spent == 2


def test_a_file_of_the_way_that_changes_between_two_reads_is_seen(shop: Path, tmp_path: Path) -> None:
    """Its rows were copied when the table was opened, so an answer is of one state; a ledger asks about the new one."""
    with duckdb.connect(str(shop), read_only=True) as database:
        for name in ("items", "orders"):
            database.execute(f"COPY {name} TO '{tmp_path}/{name}.parquet'")
        database.execute(f"COPY (SELECT * FROM orders LIMIT 3) TO '{tmp_path}/fewer.parquet'")
    ledger = tmp_path / "l.ledger"
    assert main(["budget", "create", str(ledger), "--epsilon", "500000"]) == 0
    settings: dict[str, Any] = {
        "unit": TO_CUSTOMER,
        "max_rows": 500,
        "private_parents": {"orders": f"{tmp_path}/orders.parquet"},
    }
    with (
        dpdb.open(tmp_path / "items.parquet", **settings) as without,
        dpdb.open(tmp_path / "items.parquet", ledger=ledger, **settings) as session,
    ):
        shutil.copy(tmp_path / "fewer.parquet", tmp_path / "orders.parquet")
        assert without.dp_count(epsilon=SURE).value == exact(shop)
        with pytest.raises(SourceError, match=r"a private parent of .* changed"):
            session.dp_count(epsilon=1)
    with Ledger.open(ledger) as opened:
        assert opened.summary().spent == 0


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("kind", "keys", "others", "expected"),
    [
        ("VARCHAR", ["'a'", "'a '", "'A'", "''", "NULL"], ["'a'", "''"], 2),
        ("DOUBLE", ["'NaN'", "0.0", "'-0'", "'inf'", "NULL"], ["'NaN'", "0.0"], 3),
        ("DECIMAL(9,2)", ["1.00", "1.5", "2", "NULL", "3"], ["1", "1.50"], 2),
        (
            "DATE",
            ["'2024-01-01'", "'infinity'", "NULL", "'2024-01-02'", "'2024-01-01'"],
            ["'2024-01-01'", "'infinity'"],
            3,
        ),
    ],
)
def test_keys_of_odd_types_and_values(
    tmp_path: Path, kind: str, keys: list[str], others: list[str], expected: int
) -> None:
    """Text is compared with its blanks and its case; NaN equals NaN, and 0 equals -0; NULL equals nothing."""
    shop = tmp_path / "odd.duckdb"
    with duckdb.connect(str(shop)) as database:
        database.execute(f"CREATE TABLE items (k {kind} {'COLLATE NOCASE' if kind == 'VARCHAR' else ''})")
        database.execute(f"CREATE TABLE orders (id {kind}, unit VARCHAR)")
        database.execute(f"INSERT INTO items VALUES {', '.join(f'({key})' for key in keys)}")
        database.execute(
            f"INSERT INTO orders VALUES {', '.join(f'({key}, {chr(39)}u{chr(39)})' for key in others)}, (NULL, 'u')"
        )
    assert dpdb.dp_count(shop, SURE, table="items", unit="k -> orders.id, unit", max_rows=9).value == expected


@pytest.mark.heavy(family="long")
def test_unlike_types_meet_in_the_comparison_that_rules_have(tmp_path: Path) -> None:
    shop = tmp_path / "odd.duckdb"
    with duckdb.connect(str(shop)) as database:
        database.execute("CREATE TABLE items AS SELECT unnest([1, 2, 3])::TINYINT AS k")
        database.execute("CREATE TABLE orders AS SELECT unnest([1, 2, 900])::DECIMAL(20, 1) AS id, 'u' AS unit")
        database.execute("CREATE VIEW v AS SELECT * FROM orders WHERE id < 2")
        database.execute("CREATE VIEW over_view AS SELECT k, k + 1 AS more FROM (SELECT * FROM items)")
    for table, other, expected in (("items", "orders", 2), ("items", "v", 1), ("over_view", "v", 1)):
        asked = dpdb.dp_count(shop, SURE, table=table, unit=f"k -> {other}.id, unit", max_rows=9)
        assert asked.value == expected, (table, other)


@pytest.mark.heavy(family="long")
def test_columns_may_be_called_as_what_the_query_names(tmp_path: Path) -> None:
    shop = tmp_path / "odd.duckdb"
    with duckdb.connect(str(shop)) as database:
        database.execute(
            "CREATE TABLE items AS SELECT unnest([1, 1, 2]) AS key_0, 5 AS unit, 6 AS owner, 7 AS child_row"
        )
        database.execute(
            "CREATE TABLE owner AS SELECT unnest([1, 2]) AS key_0, unnest([2, 3]) AS unit, 8 AS parent_row"
        )
        database.execute("CREATE TABLE unit AS SELECT unnest([2, 3]) AS key_0, 4 AS owner")
    for most, expected in ((9, 3), (2, 2), (1, 1)):
        way = "key_0 -> owner.key_0, unit -> unit.key_0, owner"
        assert dpdb.dp_count(shop, SURE, table="items", unit=way, max_rows=most).value == expected


def test_another_engine_refuses_a_way_by_name() -> None:
    from dpdb.opening import empty_table

    with pytest.raises(ParameterError, match="a table of another engine has its units in a column of its own"):
        empty_table(
            TableSpec.of("postgresql://nobody@nowhere.invalid/db", {"unit": TO_CUSTOMER, "max_rows": 2}, table="items")
        )


@pytest.mark.heavy(family="long")
def test_every_door_takes_the_way(shop: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--table", "items", "--unit", SHOP, "--max-rows", "20"]
    rule = ["--constraints", "CHECK (quantity >= 0)"]
    for command in (["count"], ["measure", *rule, "--measure", "repair"], ["check", "CHECK (quantity >= -1)"]):
        place = [command[0], str(shop), *command[1:]]
        assert main([*place, *words, "--epsilon", "1", "--quiet"]) == 0, command
        assert "customers.id" in capsys.readouterr().out
    public = ["count", str(shop), *words, "--epsilon", "1", "--public-parent", "orders"]
    assert main(public) == 2
    assert "orders is declared public" in capsys.readouterr().err
    assert main(["explain", str(shop), *rule, *words, "--epsilon", "1"]) == 0
    assert "order_id -> orders.id" in capsys.readouterr().out
    assert main(["budget", "create", str(tmp_path / "l.ledger"), "--epsilon", "5"]) == 0
    job = tmp_path / "job.toml"
    job.write_text(
        f"name = 'shop'\nsource = '{shop}'\ntable = 'items'\nunit = '{SHOP}'\nmax_rows = 20\n"
        "constraints = ['CHECK (quantity >= 0)']\nledger = 'l.ledger'\nresults = 'results.duckdb'\n"
        "[[release]]\nname = 'items'\nmeasure = 'count'\nepsilon = 1\n"
    )
    assert main(["run", str(job)]) == 0
