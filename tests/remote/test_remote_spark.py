"""Spark gives the values of our own engine, and refuses when it is opened or bound what it might read differently.

By default a fifth of the comparisons with our own engine is made, by the commit (`case_share`).
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from case_share import fifth
from helpers_remote import FEW_ROWS, compare, cover, random_question, statistics

import dpdb
from dpdb.doors.cli.main import main
from dpdb.errors import ConstraintTypeError, EngineError, ParameterError, PredicateError, SourceError
from dpdb.ledger import Ledger
from dpdb.opening import open_table
from dpdb.release import statistics as release_statistics
from dpdb.remote.spark import SparkTable

pytestmark = pytest.mark.filterwarnings("ignore")  # of PySpark, pandas and py4j, which are not ours to mend

PEOPLE = pa.table(
    {
        "who": ["x", "x", "y", None, "z", "z"],
        "zip": [1, 1, 2, 2, 1, None],
        "city": ["a", "b", "c", "d", "a", "e"],
        "age": [1.5, float("nan"), -0.0, 0.0, None, 2.0],
    }
)
RULES = ["zip -> city", "not(t1.zip=t2.zip&t1.age<t2.age&t1.city>t2.city)", "CHECK (age <> 2 OR zip IS NOT NULL)"]


@pytest.fixture
def table(spark: Any) -> Iterator[str]:
    """A table of Spark's catalog, as the command line names it."""
    spark.createDataFrame(PEOPLE).createOrReplaceTempView("people")
    yield "spark:people"
    spark.catalog.dropTempView("people")


def check(spark: Any, seeds: Sequence[int]) -> None:
    edges = 0
    for seed in seeds:
        rows, constraints, where = random_question(random.Random(seed))
        edges += compare(rows, spark.createDataFrame(rows), constraints, where)["degrees"][0]
    assert edges


@pytest.mark.heavy(family="values")
@pytest.mark.parametrize("seed", fifth([1, 2, 4, 5, 6]))  # 0 and 3 have no conflict
def test_random_tables(spark: Any, seed: int) -> None:
    check(spark, [seed])


@pytest.mark.heavy(family="values")
def test_repair_from_some_of_the_rows_in_conflict(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    came = []
    lend = SparkTable.lend
    monkeypatch.setattr(SparkTable, "lend", lambda self, name, table: came.append(table) or lend(self, name, table))
    rules = ["zip -> city", "not(t1.zip=t2.zip&t1.x<t2.x&t1.y>t2.y)"]
    rng = random.Random(2)
    rows = pa.table(
        {
            "zip": [k % 2 for k in range(120)],
            "city": [rng.choice("aaaaaaab") for _ in range(120)],
            "x": [float(k) for k in range(120)],
            "y": [k if rng.random() < 0.9 else rng.randrange(120) for k in range(120)],
        }
    )
    monkeypatch.setattr(release_statistics, "ROUNDS", FEW_ROWS[2:])
    there = cover(spark.createDataFrame(rows), rules, gather_rows=120)
    assert there == cover(rows, rules) > 0
    assert len(came) > 0
    assert not any(table.name.startswith("dpdb_slice") for table in spark.catalog.listTables())


@pytest.mark.slow
def test_repair_of_forty_random_tables_from_some_of_the_rows(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(release_statistics, "ROUNDS", FEW_ROWS)
    for seed in range(40):
        rows, constraints, where = random_question(random.Random(seed))
        there = cover(spark.createDataFrame(rows), constraints, where, gather_rows=100)
        assert there == cover(rows, constraints, where), seed


@pytest.mark.slow
def test_a_hundred_random_tables(spark: Any) -> None:
    check(spark, range(100, 200))


@pytest.mark.heavy(family="values")
def test_every_statistic_of_a_table_with_units(spark: Any) -> None:
    """No unit has more rows than are used, so the engines' different hashes choose the same ones."""
    frame = spark.createDataFrame(PEOPLE)
    assert compare(PEOPLE, frame, RULES)["degrees"][0] > 0
    assert compare(PEOPLE, frame, RULES, "city < 'e'", unit="who", max_rows=2)["rows"] == 4


CODES = pa.table(
    {
        "word": ["a", "c", None, "c", "y", "A"],
        "number": [1, 2, 2, None, 7, 1],
        "size": [float("nan"), 0.0, 1.5, None, 2.0, -1.5],
        "open": [True, False, True, None, True, True],
    }
)
MEMBERS = [
    "CHECK (city IN (SELECT word FROM codes WHERE open))",
    "CHECK (city NOT IN (SELECT word FROM codes) OR age IN (SELECT size FROM codes WHERE open))",
    "CHECK ((who IN (SELECT word FROM codes)) <> (zip IN (SELECT number FROM codes WHERE open)))",
    "CHECK (who NOT IN (SELECT word FROM codes WHERE number > 9))",
    "zip -> city WHERE who NOT IN (SELECT word FROM codes WHERE open)",
]


@pytest.mark.heavy(family="long")
def test_members_are_those_of_our_own_engine(spark: Any, table: str) -> None:
    """Text, whole numbers and floats; NULL, NaN and -0.0 on both sides; a value twice, and no row that counts."""
    spark.createDataFrame(CODES).createOrReplaceTempView("codes")
    try:
        counts = []
        for source, codes in ((PEOPLE, {"codes": CODES}), (table, ["codes"])):
            with open_table(source, constraints=MEMBERS, public_parents=codes) as opened:
                asked = [opened.exact_statistic([dc]) for dc in opened.constraints]
                counts.append(opened.count_all(None, [found for found in asked if found is not None]))
        # Of the FD the rows to delete, of the others those that violate.
        assert counts == [[4, 1, 1, 0, 1]] * 2
        with pytest.raises(ParameterError, match=r"codes is private, and IN \(SELECT \.\.\.\) inside"):
            open_table(table, constraints=MEMBERS[0], private_parents=["codes"])
    finally:
        spark.catalog.dropTempView("codes")


@pytest.mark.heavy(family="doors")
def test_the_rows_of_a_unit_are_the_same_ones_every_time(spark: Any) -> None:
    rng = random.Random(5)
    rows = pa.table({name: [rng.choice([None, 1, 2, 3, 4]) for _ in range(80)] for name in ("who", "zip", "city")})
    owned = [rows["who"].to_pylist().count(who) for who in (1, 2, 3, 4)]
    seen = []
    for frame in (spark.createDataFrame(rows), spark.createDataFrame(rows).repartition(3)):
        with open_table(frame, constraints="zip -> city", unit="who", max_rows=3, gather_rows=99) as there:
            seen.append((statistics(there), there.content()))
            assert there.content().endswith("; spark xxhash64")
    assert seen[0] == seen[1]
    assert seen[0][0]["rows"] == sum(min(3, count) for count in owned)


@pytest.mark.heavy(family="doors")
def test_releases_through_every_door(
    spark: Any, table: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger = tmp_path / "people.ledger"
    Ledger.create(ledger, epsilon=2000).close()
    with dpdb.open(spark.table("people"), constraints=RULES, ledger=ledger, gather_rows=10) as session:
        for release in session.dp_inconsistency("all", 100, by="city", keys=["a", "b"]):
            assert release.where in ("city = 'a'", "city = 'b'")
        assert session.dp_count(epsilon=100, where="zip = 1").value == 3
        # Rows 2 and 6, and one of 3 and 4, of 6. Noise moves the number of rows, for 5% of epsilon, with 4e-9.
        assert session.dp_inconsistency("repair", 400, rate=True).value == pytest.approx(3 / 6)
    options = ["--constraints", "zip -> city", "--gather-rows", "10", "--ledger", str(ledger)]
    for _ in range(2):
        assert main(["measure", table, *options, "--measure", "repair", "--epsilon", "100", "--run-id", "d"]) == 0
    first, second = capsys.readouterr().out.split("\nrepair ")[1:]
    assert first.split("\n")[0] == second.split("\n")[0]
    assert main(["count", table, "--epsilon", "100", "--ledger", str(ledger), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["releases"][0]["value"] == 6
    assert main(["explain", table, "--constraints", "zip -> city"]) == 0
    job = tmp_path / "job.toml"
    job.write_text(
        f'name = "nightly"\nsource = "{table}"\nconstraints = ["zip -> city"]\nledger = "people.ledger"\n'
        'results = "results.duckdb"\ngather_rows = 10\n[[release]]\nname = "dirt"\nmeasure = "repair"\nepsilon = 100\n'
    )
    assert main(["run", str(job), "--run-id", "1", "--quiet"]) == 0
    assert [view.viewName for view in spark.sql("SHOW VIEWS").collect()] == ["people"]


@pytest.mark.heavy(family="values")
def test_exact_values_are_those_of_the_same_rows_here(
    spark: Any, table: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from pyarrow import parquet

    parquet.write_table(PEOPLE, tmp_path / "people.parquet")
    shown = []
    for source in (table, str(tmp_path / "people.parquet")):
        rules = [part for rule in RULES for part in ("--constraints", rule)]
        assert main(["exact", source, *rules, "--non-private", "--by-constraint", "--format", "json"]) == 0
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1]
    assert main(["exact", table, "--constraints", "zip -> city", "--non-private", "--violations", "v.csv"]) == 2
    assert "not for its single rows" in capsys.readouterr().err


@pytest.mark.heavy(family="values")
def test_text_compares_by_bytes_and_reading_is_total(spark: Any) -> None:
    """Collations, text that is not UTF-8 and times outside the calendar."""
    frame = spark.sql("""
        SELECT * FROM VALUES
            ('a' COLLATE UNICODE_CI, CAST(X'FF61' AS STRING), DATE '2020-01-01', 1),
            ('A' COLLATE UNICODE_CI, CAST(X'6100' AS STRING), DATE '2020-01-01', 2),
            ('a' COLLATE UNICODE_CI, 'b', DATE '2020-01-01' - INTERVAL 3000 YEAR, 3)
        AS t(folded, bytes, day, n)
    """)
    with open_table(frame, constraints=["folded -> n", "bytes -> n", "day -> n"], gather_rows=10) as there:
        assert [there.slice(position=k).gathered.edges.edge_count for k in range(3)] == [1, 0, 1]
        counted = ["folded = 'a'", "bytes IS NULL", "day IS NULL", "bytes LIKE 'a_'"]
        assert there.count_rows([there.where(text) for text in counted]) == [2, 1, 1, 1]


@pytest.mark.heavy(family="values")
def test_char_columns_of_tables_keep_their_blanks(spark: Any) -> None:
    spark.sql("CREATE TABLE padded (code CHAR(4), n INT) USING parquet")
    try:
        spark.sql("INSERT INTO padded VALUES ('a', 1), ('a   ', 2), ('b', 3)")
        with open_table("spark:padded", constraints="code -> n", gather_rows=10) as there:
            assert there.slice().gathered.edges.edge_count == 1
            assert there.count_rows([there.where("code = 'a'"), there.where("code = 'a   '")]) == [0, 2]
    finally:
        spark.sql("DROP TABLE padded")


@pytest.mark.heavy(family="values")
@pytest.mark.parametrize(("one", "other"), [("x", "e"), ("s", "x"), ("z", "t"), ("d", "y")])
def test_extreme_values_come_as_they_are(spark: Any, one: str, other: str) -> None:
    rows = pa.table(
        {
            "g": [1] * 8,
            "x": [float("nan"), -0.0, 0.0, 5e-324, -1e300, float("inf"), None, 0.1],
            "e": pa.array([Decimal("9" * 35 + ".999"), *[Decimal("-0.001")] * 6, None], pa.decimal128(38, 3)),
            "s": ["", "a", "a ", "é", "e\u0301", "\U0001f600", "\uffff", None],
            "z": pa.array([datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC), *[None] * 6]),
            "t": [
                datetime(1600, 1, 1),
                datetime(1969, 12, 31, 23, 59, 59, 999999),
                *[datetime(2026, 3, 29)] * 6,
            ],
            "d": [date(1, 1, 1), date(9999, 12, 31), *[date(1582, 10, 10)] * 6],
            "y": [b"", b"\x00", b"\xff", None, b"a", b"a", b"b", b"\x80"],
        }
    )
    order = "not(t1.g=t2.g&t1.{}<t2.{}&t1.{}>t2.{})"
    texts = [order.format(one, one, other, other), f"{one} -> {other}", f"{other} -> {one}"]
    compare(rows, spark.createDataFrame(rows), texts)


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("not(lower(t1.name)=lower(t2.name)&t1.n!=t2.n)", ConstraintTypeError, "lower is not certain to be the same"),
        ("not(t1.n=t2.n&t1.long=t2.x)", ConstraintTypeError, r"DECIMAL\(30,2\) compared as DOUBLE"),
        ("not(t1.n / 2 = t2.n)", ConstraintTypeError, "in Spark / is computed of"),
        ("list -> n", ConstraintTypeError, "has type array<int>, which constraints cannot compare"),
        ("gone -> n", Exception, "no column 'gone'"),
        ("not(t1.n>150000000000000000000000000000000000000)", ConstraintTypeError, "above 38 digits"),
        ("WHERE name ~ 'a'", PredicateError, "a regular expression or format is not certain to be the same in Spark"),
        ("WHERE upper(name) = 'A'", PredicateError, "upper is not certain"),
        ("WHERE name LIKE '%\U0001f600%'", PredicateError, "LIKE"),
        ("WHERE day > DATE '12000-01-01'", PredicateError, "outside the years 1 to 9999"),
        ("WHERE list = 1", PredicateError, "cannot be compared"),
    ],
)
def test_what_spark_might_read_differently_is_refused_before_anything_is_spent(
    spark: Any, text: str, error: type[Exception], words: str
) -> None:
    frame = spark.sql(
        "SELECT 1 AS n, 'a' AS name, CAST(1 AS DECIMAL(30, 2)) AS long, 1D AS x, array(1) AS list, "
        "DATE '2020-01-01' AS day"
    )
    where = text.removeprefix("WHERE ") if text.startswith("WHERE ") else None
    with pytest.raises(error, match=words):
        dpdb.dp_inconsistency(frame, "n -> name" if where else text, where=where, budget=1, gather_rows=9, epsilon=1)


def test_zoned_times_need_a_session_in_utc(spark: Any) -> None:
    frame = spark.sql("SELECT 1 AS n, TIMESTAMP '2020-01-01 00:00:00' AS t")
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    try:
        with pytest.raises(ConstraintTypeError, match=r"spark\.sql\.session\.timeZone is not UTC"):
            open_table(frame, constraints="n -> t")
        open_table(frame, constraints="UNIQUE(n)").close()
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_texts_are_never_read_by_sparks_own_rules(spark: Any) -> None:
    """Backslashes, quotes, and ``${...}``, which Spark replaces by settings."""
    values = ["a\\nb", "it's", "${spark.sql.shuffle.partitions}", '"', "`", "1", "a\nb", "100%", "_"]
    frame = spark.createDataFrame(pa.table({"s": values, "n": list(range(len(values)))}))
    for escaped in ("false", "true"):
        spark.conf.set("spark.sql.parser.escapedStringLiterals", escaped)
        try:
            with open_table(frame) as there:
                quoted = [value.replace("'", "''") for value in values]
                assert there.count_rows([there.where(f"s = '{text}'") for text in quoted]) == [1] * len(values)
                assert there.count_rows([there.where(r"s LIKE 'a\n%'"), there.where("s LIKE '100%'")]) == [1, 1]
        finally:
            spark.conf.unset("spark.sql.parser.escapedStringLiterals")


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("spark:no.such.table", "there is no such table"),
        ("spark:", "there is no such"),
        ("spark:a b", "there is no such"),
    ],
)
def test_tables_that_are_not_there_are_one_line(
    spark: Any, source: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["count", source, "--epsilon", "1"]) == 2
    shown = capsys.readouterr().err
    assert words in shown
    assert len(shown.splitlines()) == 1


def test_a_frame_without_columns_to_compare_or_with_two_of_one_name_is_refused(spark: Any) -> None:
    with pytest.raises(SourceError, match="no column has a type"):
        open_table(spark.sql("SELECT array(1) AS a"))
    with pytest.raises(SourceError, match="differ only in case"):
        open_table(spark.sql("SELECT 1 AS a, 2 AS A"))


def test_a_view_that_fails_on_a_row_is_refused_when_it_is_opened(spark: Any) -> None:
    """ANSI Spark prints values of rows that a view cannot convert."""
    spark.sql("SELECT * FROM VALUES (1, 'Alice'), (1, '2') AS t(n, s)").createOrReplaceTempView("raw")
    with pytest.raises(SourceError, match="reading its rows failed; the reason is in the owner's log") as failure:
        dpdb.open(spark.sql("SELECT n, CAST(s AS INT) AS m FROM raw"), constraints="n -> m", budget=3, gather_rows=10)
    assert "Alice" not in str(failure.value)
    assert failure.value.__cause__ is None
    spark.catalog.dropTempView("raw")


@pytest.mark.heavy(family="values")
def test_a_task_that_fails_once_is_run_again(spark: Any) -> None:
    def first_attempt_fails(batches: Any) -> Any:
        from pyspark import TaskContext

        if TaskContext.get().attemptNumber() == 0:
            raise RuntimeError("injected")
        yield from batches

    frame = spark.createDataFrame(PEOPLE)
    compare(PEOPLE, frame.mapInArrow(first_attempt_fails, frame.schema), ["zip -> city"])


def test_a_table_is_lent_and_taken_back(spark: Any) -> None:
    from sqlglot import exp

    from dpdb.remote.spark import SparkTable

    remote = SparkTable(spark.createDataFrame(PEOPLE), "people")
    lent = remote.lend("small", pa.table({"zip": [1]}))
    joined = exp.select("*").from_(remote.rows()).join(lent, using=["zip"])
    assert remote.ask(joined).num_rows == 3
    assert "BroadcastHashJoin" in spark.sql(f"EXPLAIN {joined.sql('spark')}").collect()[0][0]
    remote.take_back("small")
    with pytest.raises(EngineError):
        remote.ask(joined)
    remote.close()
    remote.close()
