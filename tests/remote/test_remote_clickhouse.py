"""ClickHouse: what is read of its types and engines, of which state an answer is, and where secrets stay."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pytest
from helpers_clickhouse import ClickHouse, why_no_clickhouse
from helpers_remote import compare, of_no_rows

import dpdb
from dpdb.doors.cli.main import main
from dpdb.errors import EngineError, ParameterError, SourceError
from dpdb.ledger import Ledger
from dpdb.opening import open_table
from dpdb.remote.clickhouse.http import ClickHouseAddress
from dpdb.remote.clickhouse.table import ClickHouseTable, declared_column
from dpdb.suites import TableSet

PEOPLE = pa.table({"who": [1, 1, 2, 2, 3, None], "zip": [1, 1, 1, 2, 2, None], "city": ["a", "b", "b", "c", "c", "c"]})
RULES = ["zip -> city", "NOT NULL(who)"]


def rows_of(server: ClickHouse, table: str) -> list[int]:
    with open_table(server.address, table=table) as there:
        return there.count_rows([None])


def test_measures_units_slices_and_parents(clickhouse: ClickHouse) -> None:
    table = clickhouse.holding(PEOPLE)
    found = compare(PEOPLE, clickhouse.address, RULES, "city <> 'a' OR zip IS NULL", remote_table=table)
    assert found["rows"] == 5
    compare(PEOPLE, clickhouse.address, RULES, remote_table=table, unit="who", max_rows=2)
    parent = clickhouse.holding(pa.table({"id": [1, 5]}))
    with dpdb.open(clickhouse.address, table=f"site.{table}", constraints=f"zip IN {parent}.id", gather_rows=9,
                   public_parents={parent: None}) as session:  # fmt: skip
        assert session.dp_inconsistency("repair", 1_000_000).value == 2


@pytest.mark.heavy(family="long")
def test_a_set_of_tables(clickhouse: ClickHouse, tmp_path: Path) -> None:
    for name in ("person", "visit"):
        clickhouse.run(f"CREATE OR REPLACE TABLE site.{name} (person_id Int64, kind Nullable(Int32)) "
                       "ENGINE = MergeTree ORDER BY tuple()")  # fmt: skip
        clickhouse.run(f"INSERT INTO site.{name} VALUES (1, 1), (2, NULL), (3, NULL)")
        (tmp_path / f"{name}.suite.txt").write_text("NOT NULL(kind)  fail above 0\n")
    with TableSet(clickhouse.address, tmp_path, table="site.*", unit="person_id", max_rows=1) as opened:
        assert {each.verdict for each in opened.check(epsilon=1_000).checks} == {"fail"}
    with pytest.raises(SourceError, match="there is no database 'nowhere'"):
        TableSet(clickhouse.address, tmp_path, table="nowhere.*", unit="person_id", max_rows=1)


# -- what is read ---------------------------------------------------------------------------------------------------

MERGED = {
    "ReplacingMergeTree": ["(1, 5, 1)", "(1, 6, 1)", "(2, 6, 1)"],
    "ReplacingMergeTree(v)": ["(1, 5, 1)", "(2, 1, 1)", "(1, 4, 1)"],
    "CollapsingMergeTree(s)": ["(1, 5, 1)", "(2, 5, 1)", "(3, 5, 1)", "(1, 5, -1)"],
    "VersionedCollapsingMergeTree(s, v)": ["(1, 5, 1)", "(1, 5, -1)", "(2, 5, 1)", "(3, 1, 1)"],
}


@pytest.mark.parametrize("engine", MERGED)
def test_of_rows_that_merge_those_are_read_that_stay(clickhouse: ClickHouse, engine: str) -> None:
    """However many of them the server has merged by now: what it would keep of all of them."""
    name = f"merged_{list(MERGED).index(engine)}"
    clickhouse.run(f"CREATE TABLE site.{name} (k Int64, v Int64, s Int8) ENGINE = {engine} ORDER BY k",
                   f"SYSTEM STOP MERGES site.{name}", f"CREATE VIEW site.{name}_seen AS SELECT * FROM site.{name}",
                   *(f"INSERT INTO site.{name} VALUES {row}" for row in MERGED[engine]))  # fmt: skip
    stored = f"SELECT count() FROM site.{name}"
    assert clickhouse.run(stored) == f"{len(MERGED[engine])}\n".encode()
    for table in (name, f"{name}_seen"):
        assert rows_of(clickhouse, table) == [2]
    clickhouse.run(f"SYSTEM START MERGES site.{name}", f"OPTIMIZE TABLE site.{name} FINAL")
    assert clickhouse.run(stored) == b"2\n"
    assert rows_of(clickhouse, name) == [2]


@pytest.mark.parametrize(
    ("engine", "said"),
    [
        ("SummingMergeTree ORDER BY k", "SummingMergeTree adds rows up when it merges them"),
        ("AggregatingMergeTree ORDER BY k", "AggregatingMergeTree adds rows up"),
        ("Null", "tables of the engine Null are not read"),
        ("Merge('site', '^none$')", "tables of the engine Merge are not read"),
        ("Buffer('site', 'none', 1, 1, 1, 1, 1, 1, 1)", "tables of the engine Buffer are not read"),
    ],
)
def test_tables_that_are_not_read_say_why(clickhouse: ClickHouse, engine: str, said: str) -> None:
    clickhouse.run("CREATE OR REPLACE TABLE site.odd (k Int64, v Int64) ENGINE = " + engine)
    with pytest.raises(SourceError, match=said) as refused:
        open_table(clickhouse.address, table="odd")
    assert "\n" not in str(refused.value)


KINDS: dict[str, tuple[str, bool]] = {
    "Int8": ("TINYINT", False), "Nullable(UInt64)": ("DECIMAL(20, 0)", True), "UInt32": ("BIGINT", False),
    "LowCardinality(Nullable(String))": ("VARCHAR", True), "String": ("VARCHAR", True), "Bool": ("BOOLEAN", False),
    "Decimal(38, 2)": ("DECIMAL(38,2)", False), "Decimal(39, 2)": ("Decimal(39, 2)", True), "Date": ("DATE", True),
    "DateTime": ("TIMESTAMP", True), "DateTime('Asia/Tokyo')": ("TIMESTAMP WITH TIME ZONE", True),
    "DateTime64(3)": ("TIMESTAMP", True), "DateTime64(6, 'UTC')": ("TIMESTAMP WITH TIME ZONE", True),
    "DateTime64(9)": ("DateTime64(9)", True), "UUID": ("VARCHAR", True), "Int128": ("Int128", True),
    "LowCardinality(Nullable(Enum16('a, (b)' = 1, '\\'' = -2)))": ("VARCHAR", True), "IPv4": ("IPv4", True),
    "FixedString(3)": ("FixedString(3)", True), "Float32": ("FLOAT", True),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_types_are_named_as_ours(kind: str) -> None:
    column = declared_column("a", kind)
    assert (column.declared_type if column.type is None else column.type, column.nullable) == KINDS[kind]


def test_what_a_type_of_ours_lacks_is_null(clickhouse: ClickHouse) -> None:
    """No number, no text, no day of the calendar; and both zeros are one."""
    clickhouse.run(
        "CREATE TABLE site.lacking (x Float64, s String, u UInt64, t DateTime('Asia/Tokyo'), "
        "e Enum8('z' = -1, 'a' = 1), low LowCardinality(String), i UUID, n LowCardinality(Nullable(FixedString(2)))) "
        "ENGINE = MergeTree ORDER BY tuple()",
        "INSERT INTO site.lacking VALUES (nan, 'a', 18446744073709551615, '2020-01-01 09:00:00', 'z', 'x', "
        "'00000000-0000-0000-0000-0000000000AB', 'a'), (0, '\\xff', 1, '1970-01-01 09:00:00', 'a', '', "
        "'ffffffff-0000-0000-0000-000000000000', NULL), (-0., '', 0, '2020-01-01 09:00:01', 'a', 'x', "
        "'00000000-0000-0000-ffff-000000000000', 'a')",
    )
    with open_table(clickhouse.address, table="lacking", constraints=["UNIQUE(x)"], gather_rows=9) as there:
        wheres = ["x IS NULL", "x = 0", "s IS NULL", "s = ''", "u >= 18446744073709551615", "low = ''",
                  "e > 'b'", "e = 'a'", "i = '00000000-0000-0000-0000-0000000000ab'", "i > '01'",
                  "t = TIMESTAMP '2020-01-01 00:00:00'", "year(CAST(t AS DATE)) = 1970"]  # fmt: skip
        wanted = [1, 2, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1]
        found = []
        for where in wheres[:-1]:
            found.append(there.count_rows([there.where(where)])[0])
        assert found == wanted[:-1]
        assert there.slice().gathered.node_count == 2


# -- one state of the rows -------------------------------------------------------------------------------------------


def test_an_answer_is_of_one_state_or_is_not_published(
    clickhouse: ClickHouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, ask, asked = clickhouse.holding(PEOPLE), ClickHouseTable.ask, []
    Ledger.create(tmp_path / "t.ledger", epsilon=9).close()

    def changed(table: ClickHouseTable, tree: Any) -> pa.Table:
        if not of_no_rows(tree):
            asked.append(tree)
            if len(asked) == 2:  # after the debit
                clickhouse.run(f"INSERT INTO site.{name} VALUES (9, 9, 'x')")
        return ask(table, tree)

    options: dict[str, Any] = {"table": name, "constraints": RULES, "ledger": tmp_path / "t.ledger", "gather_rows": 9}
    with dpdb.open(clickhouse.address, **options) as session:
        monkeypatch.setattr(ClickHouseTable, "ask", changed)
        with pytest.raises(EngineError, match="the release failed after its budget was debited"):
            session.dp_inconsistency("repair", 1)
        assert session.spent() == 1


def test_a_view_of_chance_is_no_table(clickhouse: ClickHouse) -> None:
    clickhouse.run("CREATE VIEW site.chance AS SELECT rand() AS zip, 'a' AS city")
    with (
        dpdb.open(clickhouse.address, table="chance", constraints="zip -> city", gather_rows=9) as session,
        pytest.raises(EngineError, match="after its budget was debited"),
    ):
        session.dp_count(epsilon=1)


def test_a_server_that_goes_is_one_line(tmp_path: Path) -> None:
    reason = why_no_clickhouse()
    if reason is not None:
        pytest.skip(reason)
    with TemporaryDirectory(prefix="dpdb-ch-") as folder:
        server = ClickHouse(Path(folder) / "server")
        name = server.holding(PEOPLE)
        with dpdb.open(server.address, table=name, constraints=RULES, gather_rows=9) as session:
            server.stop()
            with pytest.raises((EngineError, SourceError), match=r"nothing was spent|cannot be described") as failed:
                session.dp_count(epsilon=1)
            assert "\n" not in str(failed.value)
            assert session.spent() == 0
        with pytest.raises(SourceError, match="no connection can be made"):
            open_table(server.address, table=name)


def test_settings_of_the_user_change_no_answer(clickhouse: ClickHouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """A profile may say otherwise what joins, sets and limits mean; each query says it again."""
    name = clickhouse.holding(PEOPLE)
    try:
        clickhouse.run("SET join_use_nulls = 0, transform_null_in = 1, aggregate_functions_null_for_empty = 1, "
                       "max_rows_to_group_by = 2, group_by_overflow_mode = 'any', limit = 1")  # fmt: skip
        with pytest.raises(EngineError, match="a query failed"):
            compare(PEOPLE, clickhouse.address, RULES, remote_table=name)  # thrown, never cut off
        clickhouse.run("SET max_rows_to_group_by = 0")
        compare(PEOPLE, clickhouse.address, RULES, "city IN ('a', 'b')", remote_table=name)
    finally:
        clickhouse.run("SET join_use_nulls = 0, transform_null_in = 0, aggregate_functions_null_for_empty = 0, "
                       "max_rows_to_group_by = 0, group_by_overflow_mode = 'throw', limit = 0")  # fmt: skip


# -- addresses and secrets ------------------------------------------------------------------------------------------


def test_a_password_is_in_no_message(
    clickhouse: ClickHouse, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    name, place = clickhouse.holding(PEOPLE), f"127.0.0.1:{clickhouse.port}/site"
    said: list[str] = []
    for wrong in (
        f"clickhouse://analyst:sesame%252@{place}", f"clickhouse://analyst:ses@me@{place}",
        f"clickhouse://analyst:sesame%251@{place}?password=sesame", "clickhouse://analyst:sesame@nohost.invalid/x",
        f"clickhouse://analyst:sesame%251@{place}?secure=maybe", f"clickhouse://analyst:sesame@127.0.0.1:99999/{name}",
    ):  # fmt: skip
        with pytest.raises(SourceError) as refused:
            open_table(wrong, table=name)
        said.append(str(refused.value))
    with pytest.raises(SourceError, match="there is no such table") as refused:
        open_table(f"clickhouse://analyst:sesame%251@{place}", table="gone")
    said.append(str(refused.value))
    assert main(["measure", f"clickhouse://analyst:sesame%252@{place}", "--table", name, "--constraints", "zip -> city",
                 "--epsilon", "1", "--measure", "repair"]) != 0  # fmt: skip
    shown = capsys.readouterr()
    for text in (*said, shown.out, shown.err, caplog.text):
        assert "sesame" not in text
        assert "ses@me" not in text
    monkeypatch.setenv("CLICKHOUSE_PASSWORD", "sesame%1")
    monkeypatch.setenv("CLICKHOUSE_USER", "analyst")
    with open_table(f"clickhouse://{place}", table=name) as there:
        assert there.count_rows([None]) == [6]


ADDRESSES: dict[str, tuple[str, int, bool, str, str]] = {
    "clickhouse://host": ("host", 8123, False, "default", "default"),
    "clickhouse://ann@host:9/db": ("host", 9, False, "ann", "db"),
    "clickhouse://ann@[::1]:9/db?secure=true": ("::1", 9, True, "ann", "db"),
    "clickhouse://host/?secure=1": ("host", 8443, True, "default", "default"),
}


@pytest.mark.parametrize("text", ADDRESSES)
def test_addresses(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CLICKHOUSE_USER", raising=False)
    found = ClickHouseAddress.parse(text)
    assert (found.host, found.port, found.is_secure, found.user, found.database) == ADDRESSES[text]


def test_a_table_has_to_be_named_and_no_file_option_applies(clickhouse: ClickHouse) -> None:
    with pytest.raises(SourceError, match="name the table"):
        open_table(clickhouse.address)
    with pytest.raises((SourceError, ParameterError), match="CSV"):
        open_table(clickhouse.address, table="x", csv_schema={"a": "VARCHAR"})


def test_tables_are_lent_for_the_session_alone(clickhouse: ClickHouse) -> None:
    from dpdb.remote.foreign_sources import ClickHouseSource

    remote = ClickHouseSource().open(clickhouse.address, clickhouse.holding(PEOPLE))
    from sqlglot import exp

    lent = remote.lend("small", pa.table({"n": [1, -(2**63), None], "x": [0.5, None, 1e300], "b": [True, None, False],
                                          "s": ["it's", "\\", None]}))  # fmt: skip
    found = remote.ask(exp.select("*").from_(lent)).sort_by("n").to_pylist()
    assert found[1] == {"n": 1, "x": 0.5, "b": True, "s": "it's"}
    assert found[2]["s"] is None
    remote.close()
    with pytest.raises(EngineError):
        remote.ask(exp.select("*").from_(lent))
    remote.close()
