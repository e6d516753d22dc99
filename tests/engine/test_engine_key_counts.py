"""Keys are counted by sorting hashes: the same histogram as by GROUP BY, whatever hashes are shared."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sqlglot import exp

from dpdb.engine import class_histograms, count_classes as key_counts
from dpdb.engine.count_classes import LocalKeys
from dpdb.engine.sql.class_histograms import CLASS_ROWS, HISTOGRAM, class_histogram
from dpdb.engine.sql.input_rows import typed_rows
from dpdb.engine.table import LocalTable
from dpdb.errors import SourceError
from dpdb.opening import open_table
from dpdb.thresholds import HASHES_PER_SHARED, MOST_HASHES

NAN = float("nan")
VALUES: dict[str, tuple[pa.DataType, Sequence[Any]]] = {
    "whole": (pa.int64(), range(9)),
    "real": (pa.float64(), [0.0, -0.0, NAN, -NAN, 1.5, float("inf")]),
    "text": (pa.string(), ["", "a", "A", "a ", "é", "e\u0301", "long enough to be kept outside of its cell"]),
    "exact": (pa.decimal128(30, 2), [Decimal("1.00"), Decimal("-1.00"), Decimal("9" * 28 + ".99")]),
    "flag": (pa.bool_(), [True, False]),
    "length": (pa.month_day_nano_interval(), [pa.MonthDayNano(parts) for parts in ([1, 0, 0], [0, 30, 0], [0, 1, 0])]),
    "octets": (pa.binary(), [b"", b"\0", b"\xff"]),
}
WHERE = "whole < 5"


def rows(seed: int, count: int) -> pa.Table:
    draw = random.Random(seed)
    columns = {
        name: pa.array([draw.choice([None, *values]) for _ in range(count)], kind)
        for name, (kind, values) in VALUES.items()
    }
    return pa.table({**columns, "own": pa.array(map(str, range(count)), pa.string())})


def sizes(table: pa.Table) -> Counter[int]:
    """How many groups there are of each size."""
    counted: Counter[int] = Counter()
    for row in table.to_pylist():
        assert row["sizes"] is None
        assert row["groups"] > 0
        counted[row["singles"]] += row["groups"]
    return counted


def check(source: pa.Table, *rules: str) -> list[Counter[int]]:
    """Compare with GROUP BY; return two histograms of each rule, of all rows and of some."""
    answers = []
    with open_table(source, constraints=rules) as table:
        assert isinstance(table, LocalTable)
        for place, bound in enumerate(table.constraints):
            [histogram] = class_histograms([bound], table.schema)
            for where in (None, table.where(WHERE)):
                chosen = [] if where is None else [where.over(CLASS_ROWS)]
                read = typed_rows(table.rows, {*histogram.columns, *(where.columns if where else ())})
                stream = table.database.stream(class_histogram(histogram, read, chosen))
                [counted] = table.class_histograms(where, position=place)[1]
                answers.append(sizes(counted))
                assert answers[-1] == sizes(pa.Table.from_batches(stream, HISTOGRAM)), bound.constraint.label
    return answers


RULES = [*(f"UNIQUE({name})" for name in VALUES), "UNIQUE(whole, text, real)", "UNIQUE(own)",
         "not(t1.text=t2.text & t1.whole>3 & t2.whole>3)", "not(lower(t1.text)=lower(t2.text))"]  # fmt: skip


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize("few", [16, 1], ids=["all", "some"])
def test_keys_of_all_types(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With 1, only the rows that share their hash are ever grouped."""
    monkeypatch.setattr(HASHES_PER_SHARED, "at", few)
    assert all(check(rows(1, 60), *RULES)[::2])


def test_rows_of_one_hash_are_told_apart_by_their_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two thousand rows in two hundred hashes: no hash is of one row alone, and most groups are."""

    def weak(_: object, columns: Sequence[exp.Expr]) -> exp.Expr:
        return exp.Mod(this=exp.func("hash", *columns), expression=exp.convert(200))

    monkeypatch.setattr(HASHES_PER_SHARED, "at", 1)
    monkeypatch.setattr(LocalKeys, "row_hash", weak)
    twice = pa.concat_tables([rows(2, 2000), rows(2, 30)])
    everything, _ = check(twice, "UNIQUE(own)")
    assert everything == {1: 1970, 2: 30}


def test_rows_that_share_no_hash_are_not_grouped(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(key_counts, "class_histogram", refused)
    everything, some = check(rows(3, 50), "UNIQUE(own)")
    assert everything == {1: 50}
    assert some[1] < 50


def test_more_rows_than_hashes_are_kept_are_grouped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MOST_HASHES, "at", 9)
    monkeypatch.setattr(key_counts, "_sorted", None)
    assert check(rows(4, 50), "UNIQUE(own)")[0] == {1: 50}


def test_an_empty_table_and_a_table_of_equal_rows() -> None:
    assert check(rows(5, 0), "UNIQUE(own)") == [{}, {}]
    equal = pa.table({"own": ["x"] * 40, "whole": [1] * 40})
    assert check(equal, "UNIQUE(own)") == [{40: 1}, {40: 1}]


def test_what_a_signal_has_left_hinders_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HASHES_PER_SHARED, "at", 1)
    with open_table(rows(6, 30), constraints="UNIQUE(whole)") as table:
        assert isinstance(table, LocalTable)
        wanted = sizes(table.class_histograms()[1][0])
        table.database.execute("CREATE TABLE shared_hash (left_over INTEGER)")
        assert sizes(table.class_histograms()[1][0]) == wanted


def test_a_file_that_is_exchanged_between_two_readings_is_no_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One row more could then decide about any number of rows: which hashes are shared was read of another file."""
    path, other, shared = tmp_path / "t.parquet", tmp_path / "other", key_counts._sorted
    pq.write_table(rows(7, 40).drop_columns("length"), path)
    pq.write_table(rows(8, 41).drop_columns("length"), other)

    def exchanged(hashes: Any) -> Any:
        other.replace(path)
        return shared(hashes)

    monkeypatch.setattr(key_counts, "_sorted", exchanged)
    with (
        open_table(path, constraints="UNIQUE(whole)") as table,
        pytest.raises(SourceError, match="changed after this session opened it"),
    ):
        table.class_histograms()
    monkeypatch.setattr(key_counts, "_sorted", shared)
    with open_table(path, constraints="UNIQUE(whole)") as table:
        assert table.class_histograms()[0] == 0
