"""Enumerations and ordered categories are ordered by position: what is read, what is charged, and by which sources."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pytest
from asked_there import AskedThere
from inside import table_of
from stub_noise import StubNoise

import dpdb
from dpdb.errors import ConstraintTypeError, DpdbError, PredicateError
from dpdb.opening import open_local_table
from dpdb.owner import exact_measures
from dpdb.predicates import ValueSet, covered
from dpdb.privacy.noise import replaced_noise

LEVELS = ["low", "mid", "high"]  # by their letters: high, low, mid
OTHER = ["mid", "high", "low"]
ROWS = [*itertools.product([*LEVELS, None], [*LEVELS, None], [1, 2, 3])]
RULES = {
    "CHECK (a >= 'mid')": lambda a, b, n: a is not None and LEVELS.index(a) < 1,
    "CHECK (a <= b)": lambda a, b, n: None not in (a, b) and LEVELS.index(a) > LEVELS.index(b),
    "CHECK (NOT (a > 'low' AND b < 'high'))": lambda a, b, n: None not in (a, b) and a != "low" and b != "high",
    "CHECK (a IN ('low', 'unknown') OR lower(a) LIKE 'h%')": lambda a, b, n: a == "mid",
}
PAIRS = {
    "not(t1.a < t2.a & t1.n > t2.n)": lambda x, y: below(x[0], y[0]) and x[2] > y[2],
    "not(t1.a <= t2.a & t1.b = t2.b & t1.n > t2.n)": lambda x, y: (
        (x[0] == y[0] is not None or below(x[0], y[0])) and x[1] == y[1] is not None and x[2] > y[2]
    ),
    "not(t1.a > t2.b & t1.n = t2.n)": lambda x, y: below(y[1], x[0]) and x[2] == y[2],
    "not(t1.a < t2.b & t1.n < t2.n & t1.b >= t2.b)": lambda x, y: (
        below(x[0], y[1]) and x[2] < y[2] and (x[1] == y[1] is not None or below(y[1], x[1]))
    ),
}


def below(one: str | None, two: str | None) -> bool:
    return None not in (one, two) and LEVELS.index(one) < LEVELS.index(two)


def conflicts(text: str) -> int:
    if text in RULES:
        return sum(RULES[text](*row) for row in ROWS)
    rule = PAIRS[text]
    return sum(rule(x, y) or rule(y, x) for x, y in itertools.combinations(ROWS, 2))


def connection(path: str | Path = ":memory:") -> duckdb.DuckDBPyConnection:
    found = duckdb.connect(str(path))
    found.execute(f"CREATE TYPE level AS ENUM {tuple(LEVELS)}")
    found.execute(f"CREATE TABLE t (a level, b ENUM {tuple(LEVELS)}, n INTEGER)")
    found.executemany("INSERT INTO t VALUES (?, ?, ?)", ROWS)
    return found


def file(folder: Path) -> str:
    connection(folder / "t.duckdb").close()
    return str(folder / "t.duckdb")


def pandas_frame(kind: pd.CategoricalDtype) -> pd.DataFrame:
    return pd.DataFrame(ROWS, columns=["a", "b", "n"]).astype({"a": kind, "b": kind})


ORDERED = pd.CategoricalDtype(LEVELS, ordered=True)
SOURCES: dict[str, Callable[[Path], Any]] = {
    "DuckDB file": file,
    "DuckDB connection": lambda _: connection(),
    "DuckDB relation": lambda _: connection().sql("SELECT * FROM t"),
    "pandas": lambda _: pandas_frame(ORDERED),
    "Polars": lambda _: pl.DataFrame(
        ROWS, schema={"a": pl.Enum(LEVELS), "b": pl.Enum(LEVELS), "n": pl.Int64}, orient="row"
    ),
    "another engine": lambda _: AskedThere(connection().sql("SELECT * FROM t")),
}


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize("name", SOURCES)
def test_categories_are_ordered_by_position(name: str, tmp_path: Path) -> None:
    source = SOURCES[name](tmp_path)
    for text in [*RULES, *PAIRS]:
        found = exact_measures(source, [text], non_private=True, measures=["minimal_inconsistency"])
        assert found.minimal_inconsistency == conflicts(text), text


def written(folder: Path, frame: pd.DataFrame, ending: str) -> str:
    path = str(folder / f"t.{ending}")
    if ending == "feather":
        feather.write_feather(pa.Table.from_pandas(frame), path)
    else:
        frame.to_parquet(path)
    return path


LOST: dict[str, Callable[[Path], Any]] = {
    "pandas, no order": lambda _: pandas_frame(pd.CategoricalDtype(LEVELS)),
    "Parquet of pandas": lambda d: written(d, pandas_frame(ORDERED), "parquet"),
    "Feather": lambda d: written(d, pandas_frame(ORDERED), "feather"),
    "Arrow": lambda _: pa.Table.from_pandas(pandas_frame(ORDERED)),
    "a type of 70,000 characters": lambda _: duckdb.connect().sql(
        f"SELECT unnest(['low', 'high'])::ENUM ('low', 'high', '{'x' * 70_000}') AS a, 'low' AS b, 1 AS n"
    ),
}


@pytest.mark.heavy
@pytest.mark.parametrize("name", LOST)
def test_an_order_that_no_source_tells_is_refused_and_equality_is_not(name: str, tmp_path: Path) -> None:
    source = LOST[name](tmp_path)
    for text in ("not(t1.a < t2.a & t1.n > t2.n)", "CHECK (a >= 'mid')", "CHECK (a BETWEEN 'low' AND 'mid')"):
        with pytest.raises(ConstraintTypeError, match=r"column 'a' have no order that its source tells; make it"):
            dpdb.open(source, constraints=text)
    with dpdb.open(source, constraints="a -> n", budget=1) as session:
        with pytest.raises(PredicateError, match="have no order"):
            session.dp_count(epsilon=0.5, where="a < 'mid'")
        assert session.spent() == 0
        session.dp_count(epsilon=0.5, where="a = 'low'")


@pytest.mark.heavy(family="long")
def test_numbers_and_times_in_order_stay_what_they_are_and_other_categories_are_texts() -> None:
    frame = pd.DataFrame(
        {
            "grade": pd.Categorical([1, 3, 2], categories=[1, 2, 3], ordered=True),
            "turned": pd.Categorical([1, 3, 2], categories=[3, 2, 1], ordered=True),
            "cut": pd.cut(pd.Series([1, 50, 9]), [0, 5, 10, 100]),
            "free": pd.Categorical([10, 9, 9]),
        }
    )
    with open_local_table(frame) as table:
        kinds = {column.name: column.declared_type for column in table.schema.columns}
    assert kinds == {
        "grade": "BIGINT",
        "turned": "ENUM('3', '2', '1')",
        "cut": "ENUM('(0, 5]', '(5, 10]', '(10, 100]')",
        "free": "BIGINT",
    }
    for text, expected in {
        "CHECK (turned <= '2')": 1,
        "CHECK (turned = '3')": 2,
        "CHECK (cut < '(10, 100]')": 1,
        "CHECK (free < 10)": 1,
        "CHECK (grade < 3)": 1,
    }.items():
        assert exact_measures(frame, text, non_private=True).problematic == expected, text
    with pytest.raises(ConstraintTypeError, match=r"'turned' is text, and 2 is none"):
        exact_measures(frame, "CHECK (turned <= 2)", non_private=True)


@pytest.mark.heavy(family="long")
def test_types_that_differ_are_equal_by_text_and_not_ordered() -> None:
    source = duckdb.connect().sql(
        f"SELECT a::ENUM {tuple(LEVELS)} AS a, b::ENUM {tuple(OTHER)} AS b, 'low' AS c, 1 AS n "
        "FROM (VALUES ('low', 'low'), ('mid', 'high'), ('high', 'low')) AS t(a, b)"
    )
    for text, expected in {
        "CHECK (a = b)": 2,
        "CHECK (a <> c)": 1,
        "CHECK (a <> 'other')": 0,
        "not(t1.a = t2.b & t1.n = t2.n)": 3,
    }.items():
        assert exact_measures(source, text, non_private=True).problematic == expected, text
    for text in ("CHECK (a < b)", "CHECK (a < c)", "not(t1.a < t2.b)", "not(t1.b <= t2.c & t1.n = t2.n)"):
        with pytest.raises(ConstraintTypeError, match="cannot order"):
            exact_measures(source, text, non_private=True)
    for text in ("CHECK (a < 'other')", "CHECK (a BETWEEN 'low' AND 'other')"):
        with pytest.raises(ConstraintTypeError, match="'other'"):
            exact_measures(source, text, non_private=True)


def low_and_high(region: Any) -> ValueSet:
    [box] = region.boxes
    return dict(box)["a"]


def test_a_range_is_charged_for_the_values_that_it_has(tmp_path: Path) -> None:
    with dpdb.open(file(tmp_path), table="t", budget=1) as session, replaced_noise(StubNoise()):
        for where, values in {
            "a < 'high'": ["low", "mid"],
            "NOT a < 'mid'": ["mid", "high"],
            "a BETWEEN 'mid' AND 'mid'": ["mid"],
            "a IN ('low', 'unknown')": ["low"],
        }.items():
            predicate = table_of(session).where(where)
            assert low_and_high(covered(predicate.tree)) == ValueSet.points(values)
            assert session.dp_count(0.1, where=where).value == sum(row[0] in values for row in ROWS)  # type: ignore[union-attr]
        spent = session.spent()
        for where in (
            "a < 'low'",
            "a = 'unknown'",
            "a > 'high'",
            "a < 'unknown'",
            "n > 1 AND a > 'mid' AND a < 'high'",
        ):
            with pytest.raises(DpdbError):
                session.dp_count(0.1, where=where)
        assert session.spent() == spent
        keyed = session.dp_count(0.1, by="a", keys=LEVELS)
        assert [release.value for release in keyed] == [12, 12, 12]  # type: ignore[union-attr]
        with pytest.raises(DpdbError, match="'unknown' is not a value of 'a'"):
            session.dp_count(0.1, by="a", keys=["low", "unknown"])


@pytest.mark.heavy
@pytest.mark.parametrize("where", [None, "a >= 'mid'", "b < a"])
def test_dependencies_in_a_range_are_counted(where: str | None, tmp_path: Path) -> None:
    chosen = {
        None: lambda row: True,
        "a >= 'mid'": lambda row: row[0] in ("mid", "high"),
        "b < a": lambda row: below(row[1], row[0]),
    }[where]
    rows = [row for row in ROWS if chosen(row) and None not in row]
    expected = sum(x[:2] == y[:2] for x, y in itertools.combinations(rows, 2))
    found = exact_measures(file(tmp_path), "a, b -> n", table="t", where=where, non_private=True)
    assert found.minimal_inconsistency == expected


def test_a_unit_may_be_a_category(tmp_path: Path) -> None:
    with dpdb.open(file(tmp_path), table="t", unit="a", max_rows=2, budget=1) as session, replaced_noise(StubNoise()):
        assert session.dp_count(0.5).value == 6  # type: ignore[union-attr]
        assert session.dp_count(0.5, where="a > 'low'").value == 4  # type: ignore[union-attr]


def test_columns_of_frames_may_be_called_by_numbers() -> None:
    """As pandas calls columns that have no names: 0, 1, 2."""
    kinds = {0: pd.CategoricalDtype(["b", "a"], ordered=True), 1: object}
    frame = pd.DataFrame([["a", "x"], ["b", "x"]]).astype(kinds)
    with dpdb.open(frame, constraints="CHECK (\"0\" < 'a')") as session, replaced_noise(StubNoise()):
        assert session.dp_inconsistency("repair", 1).value == 1  # type: ignore[union-attr]
        assert session.dp_count(1, where="\"1\" = 'x'").value == 2  # type: ignore[union-attr]


@pytest.mark.heavy
@pytest.mark.parametrize("other", [f"ENUM {tuple(OTHER)}", "VARCHAR"])
def test_a_unit_may_be_a_category_beside_a_private_parent_with_the_same_texts(other: str) -> None:
    parent = duckdb.connect().sql(f"SELECT 'low'::{other} AS a")
    with (
        dpdb.open(
            connection(), table="t", constraints="a IN p.a", unit="a", max_rows=2, private_parents={"p": parent}
        ) as session,
        replaced_noise(StubNoise()),
    ):
        assert session.dp_inconsistency("problematic", 1).value == 4  # type: ignore[union-attr]
