"""Rules discovered in tables of other engines: the counts and names of our own, by GROUP BY there; no row comes."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pyarrow as pa
import pytest
from asked_there import AskedThere
from helpers_postgres import Server
from helpers_remote import random_question
from stub_noise import StubNoise

import dpdb
from dpdb.engine import DependencyCounts, PairCounts
from dpdb.errors import ParameterError
from dpdb.ledger import Ledger
from dpdb.opening import open_table
from dpdb.owner import exact_dependencies
from dpdb.privacy.noise import replaced_noise
from dpdb.remote.adbc.spelling import DuckDBSpelling


def counted(source: Any, **options: Any) -> DependencyCounts:
    with open_table(source, **options) as opened:
        names = opened.schema.usable
        return opened.count_dependencies(names, list(itertools.combinations(names, 2)), spread=True)


def compare(rows: pa.Table, source: Any, table: str | None = None, **options: Any) -> None:
    """Whole numbers are equal; sums of fractions are nearly so."""
    here, there = counted(rows, **options), counted(source, table=table, **options)
    assert list(here.values) == list(there.values)
    assert [whole(pair) for pair in here.pairs] == [whole(pair) for pair in there.pairs]
    assert [spread(pair) for pair in here.pairs] == [pytest.approx(spread(pair), rel=1e-12) for pair in there.pairs]
    assert all(isinstance(number, int) for pair in there.pairs for number in whole(pair))


def compare_names(rows: pa.Table, source: Any, table: str | None = None, **options: Any) -> None:
    names = [pick(rows, None, **options), pick(source, table, **options)]
    assert names[0] == names[1]


def whole(pair: PairCounts) -> list[int]:
    return [pair.rows, *(n for side in (pair.forth, pair.back) for n in (side.groups, side.kept, side.largest))]


def spread(pair: PairCounts) -> list[float]:
    return [number for side in (pair.forth, pair.back) for number in (side.agreement, side.likeness)]


def pick(source: Any, table: str | None, **options: Any) -> dict[str, Any]:
    with replaced_noise(StubNoise()), dpdb.open(source, table=table, **options) as session:
        return session.discover(top=4).to_dict()


def random_rows(seed: int) -> pa.Table:
    return random_question(random.Random(seed))[0]


ODD = pa.table(  # names that our queries use, and types without MAX in PostgreSQL
    {"size": [True, True, False, None], "one": [b"a", b"a", b"b", b"c"], "other": [1, 1, 2, None], "most": ["x"] * 4}
)


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(4))
def test_our_own_database_as_a_remote_one(seed: int) -> None:
    compare(random_rows(seed), AskedThere(random_rows(seed)))
    compare_names(random_rows(seed), AskedThere(random_rows(seed)))


@pytest.mark.heavy(family="long")
def test_odd_names_and_units_there() -> None:
    compare(ODD, AskedThere(ODD))
    units = pa.table({"who": [1, 1, 2, 2, None], "a": [1, 2, 1, 1, 5], "b": [1, 1, 2, 2, 5]})
    compare(units, AskedThere(units), unit="who", max_rows=2)
    compare_names(units, AskedThere(units), unit="who", max_rows=2)


def test_spark(spark: Any) -> None:
    """Of two columns: each question takes it a second."""
    compare(ODD.select(["size", "one"]), spark.createDataFrame(ODD.select(["size", "one"])))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_random_tables_in_spark(spark: Any, seed: int) -> None:
    compare(random_rows(seed), spark.createDataFrame(random_rows(seed)))
    compare_names(random_rows(seed), spark.createDataFrame(random_rows(seed)))


@pytest.mark.heavy(family="long")
def test_postgres(postgres: Server) -> None:
    for rows in (*map(random_rows, range(4)), ODD):
        compare(rows, postgres.address, postgres.holding(rows))
    compare_names(ODD, postgres.address, postgres.holding(ODD))


@pytest.mark.heavy(family="long")
def test_what_postgres_has_and_we_compare_not_is_left_out(postgres: Server) -> None:
    postgres.run(
        "CREATE TABLE points (a int, b int, p point, j json)", "INSERT INTO points VALUES (1, 1, '(1,2)', '1')"
    )
    with dpdb.open(postgres.address, table="points") as session:
        found = session.discover()
        assert [name for name, _ in found.left_out] == ["p", "j"]
        with pytest.raises(ParameterError, match="column 'p': values of type point cannot be compared"):
            session.discover(columns=["a", "p"])
        assert session.spent() == 1


@pytest.mark.heavy(family="long")
def test_a_type_that_is_not_grouped_there_is_refused_in_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setattr(
        DuckDBSpelling, "why_not_compared", lambda _, kind, wanted: "no GROUP BY there" if kind == "BLOB" else None
    )
    ledger = tmp_path / "t.ledger"
    Ledger.create(ledger, 3).close()
    with dpdb.open(AskedThere(ODD), ledger=ledger) as session:
        with pytest.raises(
            ParameterError, match=r"^column 'one': no GROUP BY there; name others with --columns"
        ) as said:
            session.discover()
        assert "\n" not in str(said.value)
        assert session.spent() == 0
        assert session.discover(columns=["other", "size"]).of_keys == 2
    with pytest.raises(ParameterError, match="no GROUP BY there"):
        exact_dependencies(AskedThere(ODD), non_private=True)
