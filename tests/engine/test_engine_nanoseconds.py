"""Moments compare with all their digits: those that count nanoseconds with one another and with all other moments."""

from __future__ import annotations

import operator
from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import combinations, product
from pathlib import Path

import duckdb
import pandas as pd
import pyarrow.parquet as pq
import pytest
from stub_noise import StubNoise

import dpdb
from dpdb.errors import PredicateError
from dpdb.ledger import Ledger
from dpdb.opening import open_local_table
from dpdb.owner import exact_measures, propose_schema
from dpdb.privacy.noise import replaced_noise

TICKS = {
    "TIMESTAMP_S": 10**9, "TIMESTAMP_MS": 10**6, "TIMESTAMP": 10**3, "TIMESTAMP WITH TIME ZONE": 10**3,
    "TIMESTAMP_NS": 1, "TIMESTAMPTZ_NS": 1, "DATE": 86_400 * 10**9,
}  # fmt: skip
NANO = ("TIMESTAMP_NS", "TIMESTAMPTZ_NS")
OPERATORS: dict[str, Callable[[int, int], bool]] = {
    "=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge
}  # fmt: skip
NOON = 1_741_089_600 * 10**9  # 2025-03-04 12:00 UTC
MIDNIGHT = NOON + 12 * 3600 * 10**9
NEAR = [MIDNIGHT + step for step in (-1, 0, 1, 999, 1_000, 10**6, 10**9 - 1)] + [
    NOON,
    NOON + 123_456_789,
    -1,
    0,
    1,
    -999,
]
FAR = [253_402_214_400 * 10**9, -62_135_596_800 * 10**9]  # the first days of 9999-12-31 and of the year 1
ENDLESS = 10**30


def values(kind: str) -> list[int]:
    """Counts of nanoseconds that a type holds, the ends of time among them."""
    found = NEAR if kind in NANO else [*NEAR, *FAR]
    return [count for count in found if count % TICKS[kind] == 0] + [ENDLESS, -ENDLESS]


def written(kind: str, count: int) -> str:
    """A count as SQL writes it."""
    if abs(count) == ENDLESS:
        return f"'{'-' * (count < 0)}infinity'::{kind}"
    days, rest = divmod(count, 86_400 * 10**9)
    seconds, fraction = divmod(rest, 10**9)
    day = (datetime(1, 1, 1) + timedelta(days=days + 719_162)).date().isoformat()
    zone = "+00" if kind in ("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ_NS") else ""
    clock = f" {seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{fraction:09}"
    shown = day if kind == "DATE" else day + (clock if TICKS[kind] == 1 else clock[:-3]) + zone
    return f"'{shown}'::{kind}"


def table(path: Path, columns: dict[str, tuple[str, list[int]]]) -> Path:
    """A DuckDB file with columns of a type each."""
    names = ", ".join(f"{name} {kind}" for name, (kind, _) in columns.items())
    rows = zip(*([written(kind, count) for count in counts] for kind, counts in columns.values()), strict=True)
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"SET TimeZone = 'UTC'; CREATE TABLE t ({names})")
        connection.execute("INSERT INTO t VALUES " + ", ".join(f"({', '.join(row)})" for row in rows))
    return path


@pytest.mark.heavy
@pytest.mark.parametrize(("left", "right"), [(a, b) for a, b in product(TICKS, TICKS) if a in NANO or b in NANO])
def test_moments_of_any_two_types_compare_as_their_counts(left: str, right: str, tmp_path: Path) -> None:
    pairs = list(product(values(left), values(right)))
    path = table(tmp_path / "t.duckdb", {"a": (left, [a for a, _ in pairs]), "b": (right, [b for _, b in pairs])})
    asked = list(OPERATORS)
    rules = [f"not(t1.a{sign}t1.b)" for sign in ("=", "<", ">=")]
    expected = [sum(holds(a, b) for a, b in pairs) for holds in OPERATORS.values()]
    with open_local_table(path) as opened:
        assert opened.count_rows([opened.where(f"a {sign} b") for sign in asked]) == expected
    for rule, sign in zip(rules, ("=", "<", ">="), strict=True):
        found = exact_measures(path, [rule], non_private=True, measures=["problematic"])
        assert found.problematic == expected[asked.index(sign)]


@pytest.mark.heavy
@pytest.mark.parametrize("kind", NANO)
def test_rows_compare_with_their_nanoseconds(kind: str, tmp_path: Path) -> None:
    counts = [*values(kind), *values(kind)[:4]]
    others = [count - count % 1_000 for count in counts if abs(count) != ENDLESS] + [ENDLESS, -ENDLESS] * 2
    others = others[: len(counts)]
    path = table(
        tmp_path / "t.duckdb", {"a": (kind, counts), "b": ("TIMESTAMP", others), "g": ("DATE", [0] * len(counts))}
    )
    rows = list(zip(counts, others, strict=True))
    couples = list(combinations(rows, 2))
    expected = {
        "g -> a": sum(one[0] != two[0] for one, two in couples),
        "not(t1.a=t2.a)": sum(one[0] == two[0] for one, two in couples),
        "not(t1.g=t2.g&t1.a=t2.b)": sum(one[0] == two[1] or two[0] == one[1] for one, two in couples),
        "not(t1.g=t2.g&t1.a>t2.a&t1.b<t2.b)": sum(
            (one[0] > two[0] and one[1] < two[1]) or (two[0] > one[0] and two[1] < one[1]) for one, two in couples
        ),
        "not(t1.a<t2.b)": sum(one[0] < two[1] or two[0] < one[1] for one, two in couples),
    }
    for rule, pairs in expected.items():
        found = exact_measures(path, [rule], non_private=True, measures=["minimal_inconsistency"], row_bound=1_000)
        assert found.minimal_inconsistency == pairs, rule


@pytest.mark.heavy
@pytest.mark.parametrize("kind", NANO)
def test_literals_and_what_is_charged_for_them_have_the_nanoseconds(kind: str, tmp_path: Path) -> None:
    counts = values(kind)
    path, ledger = table(tmp_path / "t.duckdb", {"a": (kind, counts)}), tmp_path / "t.ledger"
    Ledger.create(ledger, 1).close()
    finite = [count for count in counts if abs(count) != ENDLESS]
    texts = {count: written(kind, count).split("::")[0] for count in finite}
    with replaced_noise(StubNoise()), dpdb.open(path, ledger=ledger) as session:
        for count, text in texts.items():
            assert session.dp_count(epsilon=1, where=f"a = {text}").value == counts.count(count)  # type: ignore[union-attr]
        assert session.spent() == 1, "no two of them are one moment"
    with open_local_table(path) as opened:
        for sign, holds in OPERATORS.items():
            asked = [opened.where(f"a {sign} {text}") for text in texts.values()]
            assert opened.count_rows(asked) == [sum(holds(each, count) for each in counts) for count in texts]
        beyond = [opened.where(f"a {sign} '9999-12-31'") for sign in OPERATORS]
        last = FAR[0]
        assert opened.count_rows(beyond) == [sum(holds(each, last) for each in counts) for holds in OPERATORS.values()]
        with pytest.raises(PredicateError, match="is not a value"):
            opened.where("a = 'noon'")


@pytest.mark.parametrize("kind", NANO)
def test_the_parts_of_a_moment_are_those_of_the_day_in_which_it_lies(kind: str, tmp_path: Path) -> None:
    """DuckDB's casts round: the last nanosecond of a day would be the next day."""
    path = table(tmp_path / "t.duckdb", {"a": (kind, [MIDNIGHT - 1, MIDNIGHT, -1, 0])})
    asked = {
        "day(a) = 4": 1, "day(a) = 5": 1, "year(a) = 1969": 1, "year(a) = 1970": 1, "month(a) = 12": 1,
        "CAST(a AS DATE) = '2025-03-04'": 1, "CAST(a AS DATE) = '1969-12-31'": 1,
        "a - INTERVAL '1 day' < '2025-03-04'": 3, "a + INTERVAL '1 hour' > '2025-03-05 00:00:00'": 2,
    }  # fmt: skip
    with open_local_table(path) as opened:
        assert opened.count_rows([opened.where(text) for text in asked]) == list(asked.values())


def test_times_of_pandas_in_utc_are_compared(tmp_path: Path) -> None:
    """They were left out of every rule: pandas writes them to Parquet as nanoseconds with a zone."""
    times = pd.to_datetime(
        ["2025-03-04T10:00:00.123456789Z", "2025-03-04T10:00:00.123456788Z", "2025-03-04T10:00:00.123456789Z", None]
    ).astype("datetime64[ns, UTC]")
    frame = pd.DataFrame({"id": [1, 1, 2, 2], "at": times})
    frame.to_parquet(tmp_path / "t.parquet")
    assert pq.read_schema(tmp_path / "t.parquet").field("at").type.unit == "ns"
    for source in (tmp_path / "t.parquet", frame):
        found = exact_measures(source, ["id -> at", "UNIQUE(at)"], non_private=True, by_constraint=True)
        assert found.by_constraint is not None
        assert [rule.violations for rule in found.by_constraint] == [1, 1]
    keys = ["2025-03-04 10:00:00.123456789+00", "2025-03-04 12:00:00.123456788+02"]
    with replaced_noise(StubNoise()), dpdb.open(tmp_path / "t.parquet") as session:
        counts = session.dp_count(epsilon=1, by="at", keys=keys)
        assert [count.value for count in counts] == [2, 1]  # type: ignore[union-attr]


def test_cells_may_be_declared_so(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a\n2025-03-04 10:00:00.123456789Z\n2025-03-04 11:00:00.123456789+01:00\n2025-03-04 10:00\n")
    found = exact_measures(path, ["UNIQUE(a)"], non_private=True, csv_schema={"a": "TIMESTAMPTZ_NS"})
    assert (found.minimal_inconsistency, found.not_of_type) == (1, {"a": 1})
    assert propose_schema(path).columns[0].type in ("TIMESTAMPTZ", "VARCHAR")
