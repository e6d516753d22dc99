"""Keys are counted by hashes there: the histogram is that of their values, whatever is shared and whatever breaks."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from asked_there import AskedThere, DuckDBRemote
from helpers_remote import histograms, of_no_rows, random_question

import dpdb
from dpdb.errors import EngineError
from dpdb.ledger import Ledger
from dpdb.opening import open_table
from dpdb.owner.conformance.predicates import COLUMNS, extreme_rows as rows_of_all_types
from dpdb.remote import slice as remote_slice
from dpdb.remote.spark import SparkTable
from dpdb.thresholds import HASHES_PER_SHARED, MOST_SHARED

pytestmark = pytest.mark.filterwarnings("ignore")  # of PySpark, pandas and py4j, which are not ours to mend

Sent = Callable[[pa.Table], Any]
KEYS = ["UNIQUE(s, x, d)", "UNIQUE(id)", "not(t1.h=t2.h&t1.i>0&t2.i>0)", "not(trim(t1.s)=trim(t2.s))",
        "not(t1.i+t1.h=t2.i+t2.h)"]  # fmt: skip
ALONE = [f"UNIQUE({name})" for name in COLUMNS]
TOGETHER = [f"UNIQUE({', '.join([*COLUMNS][place::3])})" for place in range(3)]
THERE = ["duckdb", "spark"]
SOME = pytest.mark.heavy(family="spark")
BITS = {"apart": 2**40 - 1, "some together": 2**5 - 1, "all together": 1}


@pytest.fixture(params=["duckdb", pytest.param("spark", marks=pytest.mark.slow)])
def sent(request: pytest.FixtureRequest) -> Sent:
    """Make rows a table of an engine that counts keys by hashes."""
    if request.param == "duckdb":
        return AskedThere
    frame: Sent = request.getfixturevalue("spark").createDataFrame
    return frame


@contextmanager
def queries() -> Iterator[list[str]]:
    """The queries that either engine is asked."""
    asked: list[str] = []
    with pytest.MonkeyPatch.context() as seen:
        for engine in (DuckDBRemote, SparkTable):
            ask = engine.ask
            seen.setattr(engine, "ask", lambda self, tree, ask=ask: asked.append(tree.sql()) or ask(self, tree))
        yield asked


def check(rows: pa.Table, sent: Sent, rules: list[str], where: str | None = None) -> list[str]:
    """Compare with our own database; return what was asked beside the self-conflicts."""
    with open_table(rows, constraints=rules) as here, open_table(sent(rows), constraints=rules) as there:
        with queries() as asked:
            found = histograms(there, where)
        assert found == histograms(here, where), (rules, where)
    return asked[1:]


def of_values(asked: list[str]) -> int:
    return sum("row_hash" not in text for text in asked)


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize(
    ("sent", "bits", "rules"),
    [
        ("duckdb", "some together", [*KEYS, *ALONE]),
        ("duckdb", "all together", [*KEYS, *TOGETHER]),
        pytest.param("spark", "some together", [*KEYS[3:], *TOGETHER], marks=SOME),
        *(pytest.param(there, bits, [*KEYS, *ALONE], marks=pytest.mark.slow) for there in THERE for bits in BITS),
    ],
    indirect=["sent"],
)
def test_keys_of_all_types(sent: Sent, bits: str, rules: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """With hashes of all bits, of five, and of one; values are told apart in each. Every row is there twice."""
    monkeypatch.setattr(HASHES_PER_SHARED, "at", 1)
    monkeypatch.setattr(remote_slice, "_BITS", BITS[bits])
    rows = rows_of_all_types(1, count=60)
    asked = check(pa.concat_tables([rows, rows]), sent, rules, "h <> 0" if bits == "all together" else None)
    assert (of_values(asked), len(asked)) == (0, 2 * len(rules))


def pairs() -> pa.Table:
    """Several rows of each value, of different bits where there are such."""
    nans = np.array([0x7FF8000000000000, 0xFFF8000000000001, 0x7FF0000000000001], np.uint64).view(np.float64)
    values = np.array([0.0, -0.0, *nans, 1.5, 1.5, np.inf])
    return pa.table({"x": values, "f": values.astype(np.float32)})


def check_pairs(sent: Sent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HASHES_PER_SHARED, "at", 1)
    assert len(check(pairs(), sent, ["UNIQUE(x, f)"])) == 2


def test_equal_values_of_different_bits_have_one_hash(sent: Sent, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are the only rows of their hashes, so that none would be grouped with another if these differed."""
    check_pairs(sent, monkeypatch)


@SOME
def test_equal_values_have_one_hash_in_the_programs_that_spark_compiles(
    spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows are shuffled first: of a table in its memory Spark compiles no program."""
    changed = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "CODEGEN_ONLY"}
    before = {name: spark.conf.get(name) for name in changed}
    try:
        for name, value in changed.items():
            spark.conf.set(name, value)
        check_pairs(lambda rows: spark.createDataFrame(rows).repartition(2), monkeypatch)
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


@pytest.mark.heavy(family="alone")
def test_columns_that_are_no_keys_are_grouped_by_their_values(sent: Sent, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where too many hashes are shared to be lent, none is."""
    monkeypatch.setattr(MOST_SHARED, "at", 3)
    for engine in (DuckDBRemote, SparkTable):
        monkeypatch.setattr(engine, "lend", None)
    rows = pa.table({"k": [*range(200), *range(4)]})
    asked = check(rows, sent, ["UNIQUE(k)"])
    assert of_values(asked) == 1
    assert asked[0].endswith(" LIMIT 4")
    monkeypatch.setattr(MOST_SHARED, "at", 9)
    monkeypatch.setattr(HASHES_PER_SHARED, "at", 100)
    assert of_values(check(rows, sent, ["UNIQUE(k)"])) == 1


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("sent", "count"),
    [("duckdb", 0), ("duckdb", 1), pytest.param("spark", 40, marks=SOME)],
    indirect=["sent"],
)
def test_a_key_without_equal_values_is_asked_once(sent: Sent, count: int) -> None:
    rows = pa.table({"k": pa.array(range(count), pa.int64())})
    (asked,) = check(rows, sent, ["UNIQUE(k)"])
    assert (" DISTRIBUTE BY " in asked) == (sent is not AskedThere)


def test_slices_and_rows_in_conflict_with_themselves_come_first(sent: Sent, monkeypatch: pytest.MonkeyPatch) -> None:
    """And columns may have the names of ours."""
    monkeypatch.setattr(HASHES_PER_SHARED, "at", 1)
    rows = pa.table({"row_hash": [1, 1, 1, 2, 2, None], "shared": [9] * 6, "n": [1, 2, 3, 4, 5, 6]})
    asked = check(rows, sent, ["UNIQUE(row_hash, shared)", "not(t1.n=3)"], "n > 1")
    assert (of_values(asked), len(asked)) == (0, 2)


def test_rows_of_units_are_chosen_once() -> None:
    rows = pa.table({"who": [1, 1, 2, 3, None, 5], "k": [1, 1, 1, 2, 2, 9]})
    with open_table(AskedThere(rows), constraints="UNIQUE(k)", unit="who", max_rows=2) as there, queries() as asked:
        assert histograms(there) == (0, [{((), 1): 2, ((), 3): 1}])
    assert of_values(asked) == len(asked)


@pytest.mark.heavy
@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 200))])
def test_random_tables(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)
    monkeypatch.setattr(HASHES_PER_SHARED, "at", 1)
    monkeypatch.setattr(remote_slice, "_BITS", rng.choice([0, 1, 7, 63, 2**40 - 1]))
    rows, _, where = random_question(rng)
    check(rows, AskedThere, ["UNIQUE(a)", "UNIQUE(a, b)", "UNIQUE(b, c)", "a -> b"], where)


@pytest.mark.slow
def test_random_tables_in_spark(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HASHES_PER_SHARED, "at", 1)
    for seed in range(200, 260):
        rng = random.Random(seed)
        monkeypatch.setattr(remote_slice, "_BITS", rng.choice([0, 1, 7, 63, 2**40 - 1]))
        rows, _, where = random_question(rng)
        check(rows, spark.createDataFrame, ["UNIQUE(a)", "UNIQUE(a, b)", "UNIQUE(b, c)", "a -> b"], where)


# -- what breaks between the two queries ----------------------------------------------------------------------------

FAILURES = [EngineError("row 7 holds 'Alice'"), KeyboardInterrupt(), MemoryError()]
ROWS = pa.table({"k": [*range(60), 0, 0, 7]})


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("sent", "place", "failure"),
    [
        *(("duckdb", place, failure) for place in ("ask", "lend") for failure in FAILURES),
        ("spark", "ask", KeyboardInterrupt()),
        pytest.param("spark", "lend", KeyboardInterrupt(), marks=pytest.mark.slow),
    ],
    indirect=["sent"],
)
def test_a_stop_between_the_two_queries_leaves_nothing_and_is_paid_once(
    sent: Sent, place: str, failure: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Ledger.create(tmp_path / "t.ledger", epsilon=3).close()
    lent: set[str] = set()
    calls: list[str] = []

    def asked(self: Any, tree: Any) -> pa.Table:
        if " IN (SELECT" in tree.sql() and not of_no_rows(tree):
            raise failure
        return ask(self, tree)

    def lends(self: Any, name: str, table: pa.Table) -> Any:
        lent.add(name)
        calls.append(name)
        made = lend(self, name, table)
        if place == "lend" and len(calls) == 2:  # the first one is for a query of no rows
            raise failure
        return made

    engine: Any = DuckDBRemote if sent is AskedThere else SparkTable
    ask, lend, take_back = engine.ask, engine.lend, engine.take_back
    rules = ["UNIQUE(k)"]
    with dpdb.open(sent(ROWS), constraints=rules, ledger=tmp_path / "t.ledger") as session:

        def release() -> Any:
            return session.dp_inconsistency("minimal_inconsistency", 1, mechanism="by_rule", run_id="monday")

        with monkeypatch.context() as broken:
            broken.setattr(engine, "ask", asked)
            broken.setattr(engine, "lend", lends)
            broken.setattr(engine, "take_back", lambda self, name: (lent.discard(name), take_back(self, name)))
            with pytest.raises((EngineError, KeyboardInterrupt, MemoryError)) as raised:
                release()
        assert "Alice" not in str(raised.value)
        assert session.spent() == 1
        assert not lent
        answer = release()
        assert release().value == answer.value
        assert session.spent() == 1


class _OtherRows(DuckDBRemote):
    """A view that gives other rows to the second query of a key."""

    is_fixed = False

    def ask(self, tree: Any) -> pa.Table:
        if " IN (SELECT" in tree.sql() and not of_no_rows(tree):
            self._database.execute("UPDATE remote_row SET k = 1 WHERE k = 0")
        return super().ask(tree)


def test_rows_that_change_between_the_two_queries_are_no_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("asked_there.DuckDBRemote", _OtherRows)
    with dpdb.open(AskedThere(ROWS), constraints="UNIQUE(k)", budget=3) as session:
        with pytest.raises(EngineError, match="the release failed after its budget was debited"):
            session.dp_inconsistency("minimal_inconsistency", 1, mechanism="by_rule")
        assert session.spent() == 1
