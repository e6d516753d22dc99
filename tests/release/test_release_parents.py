"""Rules across tables through the doors: a DuckDB file end to end, ledgers, and what is refused at no cost."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from functools import cache
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from stub_noise import StubNoise

import dpdb
from dpdb.doors.cli import main
from dpdb.engine.parents.declared import DeclaredParent, MeasuredSource, is_measured_table
from dpdb.errors import DpdbError, LedgerError, ParameterError, SourceError
from dpdb.ledger import Ledger
from dpdb.owner import exact_measures
from dpdb.privacy.noise import replaced_noise
from dpdb.release.explain import explain
from dpdb.sources import open as fetching

RULE = "known: orders.customer_id IN customers.id"
ORPHANS = "FROM orders o WHERE customer_id IS NOT NULL AND NOT EXISTS (FROM customers c WHERE c.id = o.customer_id)"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    path = tmp_path / "shop.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE customers AS SELECT i AS id, i % 3 AS region FROM range(20) t(i)")
        connection.execute(
            "CREATE TABLE orders AS SELECT i AS id, CASE WHEN i % 7 = 0 THEN NULL ELSE i % 30 END AS customer_id, "
            "i % 2 AS paid, i % 5 AS zip, i % 11 // 6 AS city FROM range(120) t(i)"
        )
        connection.execute(
            "CREATE TABLE staff AS SELECT i AS id, i // 4 AS manager, i // 10 AS team FROM range(30) t(i)"
        )
    return path


def counted(shop: Path, query: str) -> int:
    with duckdb.connect(str(shop), read_only=True) as connection:
        return int(connection.execute(f"SELECT count(*) {query}").fetchall()[0][0])


def answered(capsys: pytest.CaptureFixture[str], *words: str | Path) -> Any:
    with replaced_noise(StubNoise()):
        code = main(["measure", *map(str, words), "--epsilon", "1", "--quiet", "--format", "json"])
    shown = capsys.readouterr()
    assert code == 0, shown.err
    return json.loads(shown.out)["releases"]


def orders(shop: Path, parent: str, *beside: str) -> list[str]:
    """The words of a command about orders, whose customers are a public or a private parent."""
    return [str(shop), "--table", "orders", "--constraints", RULE, f"--{parent}-parent", "customers", *beside]


PROBLEMATIC = ("--measure", "problematic")


@pytest.mark.heavy(family="long")
def test_a_duckdb_file_from_the_command_line(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    public = orders(shop, "public", *PROBLEMATIC)
    orphans = counted(shop, ORPHANS)
    [release] = answered(capsys, *public)
    assert (release["value"], release["unit"]) == (orphans, "one row")
    [slice_] = answered(capsys, *public, "--where", "paid = 1")
    assert slice_["value"] == counted(shop, f"{ORPHANS} AND paid = 1")
    groups = answered(capsys, *public, "--by", "zip", "--keys", "0,1,9")
    assert [each["value"] for each in groups] == [counted(shop, f"{ORPHANS} AND zip = {key}") for key in (0, 1, 9)]
    each = answered(capsys, *public, "--constraints", "zip -> city", "--each-constraint")
    assert [one["constraint"].split(":")[0] for one in each] == ["known", "not(t1.zip=t2.zip&t1.city!=t2.city)"]
    assert each[0]["value"] == orphans
    private = orders(shop, "private", *PROBLEMATIC, "--unit", "customer_id", "--max-rows", "2")
    [release] = answered(capsys, *private)
    kept = f"FROM (SELECT *, row_number() OVER (PARTITION BY customer_id) AS nth {ORPHANS}) WHERE nth <= 2"
    assert release["value"] == counted(shop, kept)
    assert release["unit"].endswith("of which at most 2 are used, and with all rows of customers that have it in id")


@pytest.mark.heavy(family="long")
def test_orphans_are_listed_and_deleted(shop: Path, tmp_path: Path) -> None:
    violations, repair = tmp_path / "v.csv", tmp_path / "r.csv"
    found = exact_measures(
        shop, [RULE, "zip -> city"], table="orders", public_parents="customers", non_private=True, by_constraint=True,
        violations=violations, repair_rows=repair, columns=["customer_id"],
    )  # fmt: skip
    orphans = counted(shop, ORPHANS)
    counts = {rule.constraint: rule.violations for rule in found.by_constraint or ()}
    assert (found.self_conflicts, counts[RULE]) == (orphans, orphans)
    with duckdb.connect(str(shop), read_only=True) as connection:
        listed = connection.execute(
            f"SELECT list(row_1 ORDER BY row_1) FROM '{violations}' WHERE \"constraint\" = '{RULE}'"
        ).fetchall()
        expected = connection.execute(f"SELECT list(id ORDER BY id) {ORPHANS}").fetchall()
        deleted = connection.execute(
            f"SELECT count(*) FROM '{repair}' r WHERE r.row IN (SELECT id {ORPHANS})"
        ).fetchall()
    assert listed == expected
    assert deleted == [(orphans,)]


@pytest.mark.heavy(family="long")
def test_an_explanation_reads_no_row_and_names_the_unit(shop: Path) -> None:
    explained = explain(
        shop, RULE, table="orders", private_parents=["customers"], unit="customer_id", max_rows=2
    )  # fmt: skip
    [rule] = explained["constraints"]
    assert (rule["words"], rule["shape"]) == ("every customer_id must be found in customers.id", "foreign key")
    assert any("NOT EXISTS" in query["sql"] for query in explained["queries"])
    assert "customers" in explained["unit"]["words"]


@pytest.mark.heavy(family="long")
def test_a_plan_needs_no_parent(shop: Path) -> None:
    planned = dpdb.plan(shop, RULE, table="orders", rows=200, error_rate=0.2, repetitions=2, seed=1)
    assert min(error.truth for error in planned.together) > 0
    assert "parents are taken as public" in planned.notes[0]


REFUSED: dict[str, tuple[str, Mapping[str, Any], str]] = {
    "not declared": (RULE, {}, "table 'customers' is not declared; say whether everybody may know its rows"),
    "another is": (RULE, {"public_parents": ["customer"]}, "is not declared; did you mean 'customer'"),
    "twice": (RULE, {"public_parents": ["customers"], "private_parents": ["Customers"]}, "declared twice"),
    "missing": ("customer_id IN clients.id", {"public_parents": ["clients"]}, "no table or view 'clients'"),
    "no file": (RULE, {"public_parents": {"customers": "nowhere.parquet"}}, "parent 'customers': nowhere.parquet"),
    "no column": ("customer_id IN customers.idd", {"public_parents": ["customers"]}, "nearest is 'id'"),
    "no own column": ("customer IN customers.id", {"public_parents": ["customers"]}, "no column 'customer'"),
    "types": ("paid IN words.word", {"public_parents": {"words": pa.table({"word": ["a"]})}}, "cannot compare 'paid'"),
    "rows are the unit": (RULE, {"private_parents": ["customers"]}, "--unit customer_id --max-rows K"),
    "rows of a person": (RULE, {"private_parents": ["customers"], "rows_per_person": 2}, "--unit customer_id"),
    "another unit": (
        RULE, {"private_parents": ["customers"], "unit": "zip", "max_rows": 2},
        "the unit must be a column of the rule's key .customer_id.",
    ),
    "blurred": (
        "customer_id IN ids.id",
        {"private_parents": {"ids": pa.table({"id": [1.0]})}, "unit": "customer_id", "max_rows": 2},
        "compare as DOUBLE, where different units may be equal",
    ),
    "public self": ("zip IN orders.zip", {"public_parents": ["orders"]}, "is the measured table itself, whose"),
    "private self": (
        "paid IN orders.id", {"private_parents": ["orders"], "unit": "paid", "max_rows": 2},
        "is the measured table itself, and removing one of its rows may orphan rows of other units",
    ),
}  # fmt: skip


@pytest.mark.heavy
@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_sound_or_not_there_is_one_line_and_costs_nothing(shop: Path, tmp_path: Path, case: str) -> None:
    rule, options, message = REFUSED[case]
    ledger = tmp_path / "l.ledger"
    Ledger.create(ledger, 1).close()
    with pytest.raises(DpdbError, match=message) as refused:
        dpdb.open(shop, table="orders", constraints=[rule], ledger=ledger, **options)
    assert case == "no own column" or "\n" not in str(refused.value)
    with Ledger.open(ledger) as opened:
        assert opened.summary().spent == 0


@pytest.mark.heavy(family="long")
def test_a_parent_with_two_columns_of_the_unit_is_refused(shop: Path) -> None:
    rules = ["customer_id IN customers.id", "customer_id IN customers.region"]
    unit = {"unit": "customer_id", "max_rows": 1}
    with pytest.raises(ParameterError, match="one of its rows would belong to two units"):
        dpdb.open(shop, table="orders", constraints=rules, private_parents=["customers"], **unit)
    rules[1] = "(customer_id, paid) IN customers(id, region)"
    dpdb.open(shop, table="orders", constraints=rules, private_parents=["customers"], **unit).close()


@pytest.mark.heavy
@pytest.mark.parametrize("second", ["main.customers", "file", "link"])
@pytest.mark.parametrize("words", [("private_parents", "private_parents"), ("private_parents", "public_parents")])
def test_a_private_parent_has_one_name(shop: Path, tmp_path: Path, second: str, words: tuple[str, str]) -> None:
    """By the second name its rows would belong to other units, or be public."""
    name, rules = "customers", ["customer_id IN customers.id", f"customer_id IN {second}.region"]
    here: dict[str, Any] = {name: None}
    there: dict[str, Any] = {second: None}
    if second != "main.customers":
        path, link = tmp_path / "customers.parquet", tmp_path / "link.parquet"
        pq.write_table(pa.table({"id": [1, 2], "region": [2, 3]}), path)
        link.symlink_to(path)
        here, there = {name: path}, {second: {"file": path, "link": link}[second]}
    one, other = words
    parents = {one: here | there} if one == other else {one: here, other: there}
    with pytest.raises(ParameterError, match="are one table, and not both are public: declare it once"):
        dpdb.open(shop, table="orders", constraints=rules, unit="customer_id", max_rows=1, **parents)


@pytest.mark.heavy(family="long")
def test_a_public_parent_may_have_two_names(shop: Path) -> None:
    rules = ["customer_id IN customers.id", "customer_id IN main.customers.region"]
    dpdb.open(shop, table="orders", constraints=rules, public_parents=["customers", "main.customers"]).close()


@pytest.mark.heavy(family="long")
def test_parents_are_tables_of_a_sqlite_file_or_beside_standard_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "shop.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            "CREATE TABLE customers(id INTEGER); INSERT INTO customers VALUES (1), (2);"
            "CREATE TABLE orders(customer_id INTEGER); INSERT INTO orders VALUES (1), (2), (7), (9), (NULL);"
        )
    rule = "customer_id IN customers.id"
    for declared in (["customers"], {"customers": path}):
        with dpdb.open(path, table="orders", constraints=rule, public_parents=declared) as session:
            assert session.dp_inconsistency("repair", 10**6).value == 2
    with pytest.raises(ParameterError, match="is the measured table itself"):
        dpdb.open(path, table="orders", constraints="customer_id IN orders.customer_id", public_parents=["orders"])
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(b"customer_id\n1\n7\n")))
    monkeypatch.setattr(fetching, "_kept", cache(fetching._kept.__wrapped__))
    with dpdb.open(
        "-", constraints=rule, public_parents={"customers": path}, csv_schema={"customer_id": "BIGINT"}
    ) as session:
        assert session.dp_inconsistency("repair", 10**6).value == 1


def test_an_address_is_the_same_source_as_itself_only() -> None:
    here, there = "https://example.invalid/a.parquet", "https://example.invalid/b.parquet"
    for place, other, expected in (
        (here, here, True), (here, there, False), ("-", "-", True), ("-", here, False), (here, pa.table({}), False),
        ("adbc:postgresql:host", "adbc:postgresql:host", False),
    ):  # fmt: skip
        measured = MeasuredSource(place, "orders")
        assert is_measured_table(measured, DeclaredParent("customers", other, is_public=True)) is expected
    assert is_measured_table(MeasuredSource("adbc:x:y", "orders"), DeclaredParent("Orders", None, is_public=True))


@pytest.mark.heavy(family="privacy")
def test_another_connection_to_the_same_database_has_the_same_tables(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "a.duckdb")) as one, duckdb.connect(str(tmp_path / "b.duckdb")) as other:
        for place, name, expected in (
            (one.cursor(), "orders", True), (one.cursor(), "customers", False), (other, "orders", False),
        ):  # fmt: skip
            found = is_measured_table(MeasuredSource(one, "orders"), DeclaredParent(name, place, is_public=False))
            assert found is expected
    with duckdb.connect() as memory:
        memory.execute("CREATE TABLE staff AS SELECT 1 AS id, 2 AS manager")
        options: dict[str, Any] = {"table": "staff", "constraints": "manager IN staff.id"}
        with pytest.raises(ParameterError, match="is the measured table itself, whose rows are private"):
            dpdb.open(memory, public_parents={"staff": memory.cursor()}, **options)
        with dpdb.open(memory, private_parents={"staff": memory.cursor()}, max_children=2, **options) as session:
            assert session.public.unit.rows == 6  # the row, one that it takes the place of, and two that flip


@pytest.mark.heavy(family="long")
def test_a_table_is_its_own_parent_where_the_unit_is_on_both_sides(shop: Path) -> None:
    rule = "(team, manager) IN staff(team, id)"
    unit = {"unit": "team", "max_rows": 10}
    session = dpdb.open(shop, table="staff", constraints=rule, private_parents=["staff"], **unit)
    with session, replaced_noise(StubNoise()):
        release = session.dp_inconsistency("repair", epsilon=1)
    query = "FROM staff s WHERE NOT EXISTS (FROM staff p WHERE p.id = s.manager AND p.team = s.team)"
    assert release.value == counted(shop, query)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    pq.write_table(pa.table({"k": [1, 2, 3, 3], "a": [0, 0, 1, 2]}), tmp_path / "c.parquet")
    pq.write_table(pa.table({"id": [1, 2]}), tmp_path / "p.parquet")
    Ledger.create(tmp_path / "l.ledger", 10).close()
    return tmp_path


def opened(files: Path, **options: Any) -> dpdb.Session:
    return dpdb.open(files / "c.parquet", constraints="k IN p.id", ledger=files / "l.ledger", **options)


def private(files: Path, most: int = 2) -> dict[str, Any]:
    return {"private_parents": {"p": files / "p.parquet"}, "unit": "k", "max_rows": most}


@pytest.mark.heavy(family="privacy")
def test_a_changed_private_parent_is_asked_about(files: Path) -> None:
    with opened(files, **private(files)) as session:
        session.dp_inconsistency("problematic", 1)
        pq.write_table(pa.table({"id": [1, 2, 3]}), files / "p.parquet")
        with pytest.raises(SourceError, match=r"a private parent of .*: changed after this session opened it"):
            session.dp_inconsistency("problematic", 1)
    with pytest.raises(LedgerError, match="dpdb budget epoch"), opened(files, **private(files)) as session:
        session.dp_count(epsilon=0.1)
    with Ledger.open(files / "l.ledger") as ledger:
        ledger.open_epoch()
    with opened(files, **private(files)) as session, replaced_noise(StubNoise()):
        assert session.dp_inconsistency("problematic", 1).value == 0
        assert session.spent() == 2


@pytest.mark.heavy(family="long")
def test_a_ledger_is_bound_to_the_unit_in_both_tables(files: Path) -> None:
    pq.write_table(pa.table({"id": [1, 2], "other": [2, 1]}), files / "p.parquet")
    with opened(files, **private(files)) as session:
        session.dp_inconsistency("problematic", 1)
        session.dp_count(epsilon=1)
    for rule, options in (
        ("k IN p.other", private(files)),
        ("k IN p.id", private(files, most=3)),
        ("a -> k", {"unit": "k", "max_rows": 2}),
    ):
        with pytest.raises(LedgerError, match=r"counts for values of k and p\.id with at most 2 rows each"):
            dpdb.open(files / "c.parquet", constraints=rule, ledger=files / "l.ledger", **options)


def test_disjoint_slices_of_two_tables_are_charged_once(files: Path) -> None:
    """The unit's rows in the parent have no charge of their own: see `dpdb.release.privacy_unit`."""
    with opened(files, **private(files)) as session:
        session.dp_inconsistency("problematic", 1, where="a = 0")
        session.dp_inconsistency("problematic", 1, where="a = 1")
        assert session.spent() == 1


@pytest.mark.heavy(family="privacy")
def test_a_changed_public_parent_is_another_request(files: Path) -> None:
    public = {"public_parents": {"p": files / "p.parquet"}}
    with opened(files, **public) as session, replaced_noise(StubNoise()):
        first = session.dp_inconsistency("problematic", 1, run_id="monday")
    pq.write_table(pa.table({"id": [2, 1, 1]}), files / "p.parquet")  # the same keys
    with opened(files, **public) as session:
        assert session.dp_inconsistency("problematic", 1, run_id="monday") == first
    pq.write_table(pa.table({"id": [1, 2, 3]}), files / "p.parquet")
    with opened(files, **public) as session:
        with pytest.raises(LedgerError, match="used for another request"):
            session.dp_inconsistency("problematic", 1, run_id="monday")
        with replaced_noise(StubNoise()):
            assert session.dp_inconsistency("problematic", 1, run_id="tuesday").value == 0
        assert session.spent() == 2  # no epoch: the rows are the same


@pytest.mark.heavy(family="long")
def test_a_rehearsal_reads_public_parents_only(files: Path) -> None:
    with opened(files, public_parents={"p": files / "p.parquet"}, rows=False) as session:
        assert (
            session.prepare(dpdb.release.Ask("repair", epsilon=1))
            .charge.request["public_parents"]["p"]
            .startswith("2,")
        )
    with opened(files, rows=False, **private(files)) as session:
        attached = session.public.opened.database.rows("SELECT count(*) FROM parent.parent_key")  # type: ignore[attr-defined]
        assert attached == [(0,)]


@pytest.mark.heavy(family="long")
def test_csv_parents_have_types_by_name(files: Path) -> None:
    (files / "p.csv").write_text("id\n01\n2\n", encoding="utf-8")
    with pytest.raises(DpdbError, match=r"p\.id .VARCHAR.*--schema"):
        opened(files, public_parents={"p": files / "p.csv"})
    typed = opened(files, public_parents={"p": files / "p.csv"}, csv_schema={"p.id": "BIGINT"})
    with typed as session, replaced_noise(StubNoise()):
        assert session.dp_inconsistency("problematic", 1).value == 2


@pytest.mark.heavy(family="long")
def test_a_job_names_parents_by_table_or_by_list(shop: Path, tmp_path: Path) -> None:
    Ledger.create(tmp_path / "j.ledger", 3).close()
    text = f'''
        name = "shop"
        source = "{shop.name}"
        table = "orders"
        constraints = ["{RULE}"]
        ledger = "j.ledger"
        results = "results.duckdb"
        public_parents = ["customers"]
        [[release]]
        name = "orphans"
        measure = "problematic"
        epsilon = 1
        theta = "keep"
    '''
    job = tmp_path / "job.toml"
    job.write_text(text, encoding="utf-8")
    for run in ("one", "two"):
        assert main(["run", str(job), "--run-id", run]) == 0
    job.write_text(text.replace('["customers"]', f'{{customers = "{shop.name}"}}'), encoding="utf-8")
    assert main(["run", str(job), "--run-id", "two"]) == 0
    with Ledger.open(tmp_path / "j.ledger") as ledger:
        assert ledger.summary().spent == 2


@pytest.mark.heavy(family="long")
def test_the_sql_door_takes_parents(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["sql", *orders(shop, "public", "--budget", "9")]
    with replaced_noise(StubNoise()):
        statement = "SELECT value FROM dp_inconsistency('orders', measure := 'problematic', epsilon := 9)"
        assert main([*words, "--format", "csv", statement]) == 0
    assert float(capsys.readouterr().out.splitlines()[1]) == counted(shop, ORPHANS)


@pytest.mark.heavy
@pytest.mark.parametrize(
    "rule",
    [
        "CHECK (id <= staff.team) BY customer_id = staff.id",
        "EXISTS staff BY customer_id = staff.id",
        "customer_id IN (SELECT id FROM staff WHERE team = 1)",
    ],
)
def test_who_asks_under_other_rules_names_no_table_that_the_owner_has_not_declared(shop: Path, rule: str) -> None:
    with dpdb.open(shop, table="orders", constraints=RULE, public_parents=["customers"], budget=1) as session:
        with pytest.raises(ParameterError, match="table 'staff' is not declared"):
            session.with_constraints([rule])
        with session.with_constraints(["CHECK (id <= customers.region) BY customer_id = customers.id"]) as other:
            assert other.dp_inconsistency("repair", 1) is not None


def test_plans_know_no_rows_of_parents(shop: Path) -> None:
    rule = "CHECK (id <= customers.region) BY customer_id = customers.id"
    with pytest.raises(ParameterError, match="the rows of 'customers' are not known here"):
        dpdb.plan(shop, rule, table="orders", rows=200, error_rate=0.2, repetitions=2, seed=1)


@pytest.mark.heavy
@pytest.mark.parametrize("measure", ["repair", "problematic", "minimal_inconsistency"])
def test_look_ups_work_as_rules_on_one_row_do(shop: Path, measure: str) -> None:
    """Measures, slices, rates and each rule by itself."""
    late = "EXISTS (FROM customers c WHERE c.id = o.customer_id AND NOT (o.zip <= c.region))"
    rules = ["late: CHECK (zip <= customers.region) BY customer_id = customers.id", RULE]
    expected = counted(shop, f"FROM orders o WHERE {late}")
    session = dpdb.open(shop, table="orders", constraints=rules, public_parents=["customers"])
    with session, replaced_noise(StubNoise()):
        whole, *each = session.dp_inconsistency(measure, 4, each_constraint=True)
        sliced = session.dp_inconsistency(measure, 4, by="paid", keys=[0, 1])
        one = session.dp_inconsistency(measure, 4, where="city = 0")
    found = [release.value for release in (whole, *each)]
    assert expected in found
    assert found[-1] == counted(shop, ORPHANS) or found[-2] == counted(shop, ORPHANS)
    both = f"FROM orders o WHERE ({late} OR (customer_id IS NOT NULL AND customer_id >= 20))"
    assert sum(release.value for release in sliced) == counted(shop, both)
    assert one.value == counted(shop, f"{both} AND city = 0")
