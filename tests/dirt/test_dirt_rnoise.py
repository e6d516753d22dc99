"""RNoise: how many cells change, which, and to what. Statistical bounds have a false-alarm rate below 1e-6 per test."""

import math
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats

from dpdb.constraints import load_constraints
from dpdb.errors import ConstraintTypeError, ParameterError, SourceError, UnknownColumnError
from dpdb.owner.dirt import rnoise
from dpdb.owner.dirt.generators import ZipfDomain

DATA = Path(__file__).resolve().parents[2] / "examples" / "data"
FALSE_ALARM = 1e-7


def table(rows=2000, seed=0):
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "id": pa.array(range(rows)),
            "zip": pa.array(rng.integers(10000, 10050, rows)),
            "city": pa.array([f"city {k}" for k in rng.integers(0, 50, rows)]),
            "free": pa.array(rng.random(rows)),
        }
    )


FD = load_constraints("zip -> city")


def differing(before, after):
    """Cells that differ, per column, as (row, old, new)."""
    found = {}
    for name in before.column_names:
        old, new = before.column(name).to_pylist(), after.column(name).to_pylist()
        found[name] = [(i, a, b) for i, (a, b) in enumerate(zip(old, new, strict=True)) if a != b]
    return found


@pytest.mark.parametrize("alpha", [0.001, 0.01, 0.3])
@pytest.mark.parametrize("typo", [0, 0.5, 1])
def test_changes_only_constrained_cells_and_about_as_many_as_announced(alpha, typo):
    before = table()
    after = rnoise(before, FD, alpha=alpha, typo=typo, seed=1)
    changes = round(alpha * 2000 * 4)  # of all four columns
    assert after.schema.equals(before.schema, check_metadata=True)
    assert after.column("id").equals(before.column("id"))
    assert after.column("free").equals(before.column("free"))
    changed = sum(map(len, differing(before, after).values()))
    cells = 2 * 2000
    hit = cells * (1 - (1 - 1 / cells) ** changes)  # expected number of distinct cells
    assert changed <= changes
    assert changed >= hit - 6 * math.sqrt(hit) * 0.5 - 0.04 * changes  # a cell hit twice may get its value back


def test_row_and_column_are_uniform():
    before = table(4000)
    changed = differing(before, rnoise(before, FD, alpha=0.02, typo=1, seed=3))
    per_column = [len(changed["zip"]), len(changed["city"])]
    assert stats.binomtest(per_column[0], sum(per_column)).pvalue > FALSE_ALARM
    rows = [i for name in ("zip", "city") for i, _, _ in changed[name]]
    assert stats.kstest(rows, "uniform", args=(0, 4000)).pvalue > FALSE_ALARM


@pytest.mark.parametrize("typo", [0.2, 0.5])
def test_share_of_typos(typo):
    # One slip never makes one of these texts of another, so a value of the domain is no typo.
    before = pa.table({"a": [letter * 6 for letter in "abcdefghij"] * 40_000})
    domain = set(before.column("a").unique().to_pylist())
    changed = differing(before, rnoise(before, load_constraints("not(t1.a=t2.a)"), alpha=0.01, typo=typo, seed=5))["a"]
    assert 3900 < len(changed) <= 4000
    typos = sum(new not in domain for _, _, new in changed)
    assert stats.binomtest(typos, len(changed), typo).pvalue > FALSE_ALARM


@pytest.mark.heavy
@pytest.mark.parametrize("skew", [0, 0.5, 1, 2])
@pytest.mark.parametrize("current", [None, "a", "c", "e"])
def test_zipf_skew_of_the_draw_given_that_it_differs(skew, current):
    values, counts = list("abcde"), np.array([1, 5, 3, 4, 2])
    domain, rng = ZipfDomain(values, counts, skew), np.random.default_rng(7)
    by_rank = [v for v in "bdcea" if v != current]  # by falling count
    weights = np.array([("bdcea".index(v) + 1.0) ** -skew for v in by_rank])
    drawn = [domain.draw_other(current, rng) for _ in range(20_000)]
    observed = [drawn.count(v) for v in by_rank]
    assert sum(observed) == 20_000
    expected = 20_000 * weights / weights.sum()
    assert stats.chisquare(observed, expected).pvalue > FALSE_ALARM


def test_zipf_skew_in_the_table():
    before = pa.table({"a": ["x"] * 20_000 + ["y"] * 10_000 + ["z"] * 5_000, "b": range(35_000)})
    changed = differing(before, rnoise(before, load_constraints("b -> a"), alpha=0.02, typo=0, skew=2, seed=2))["a"]
    from_x = [new for _, old, new in changed if old == "x"]
    # Given that it is not x: y to z as 1/4 to 1/9.
    assert stats.binomtest(from_x.count("y"), len(from_x), 9 / 13).pvalue > FALSE_ALARM


def test_extreme_skew_takes_the_most_frequent_other_value():
    domain, rng = ZipfDomain(list("abc"), np.array([9, 8, 7]), 500.0), np.random.default_rng(0)
    assert {domain.draw_other(None, rng) for _ in range(100)} == {"a"}
    assert {domain.draw_other("a", rng) for _ in range(100)} == {"b"}
    assert {domain.draw_other("b", rng) for _ in range(100)} == {"a"}


COLUMNS = {
    "i8": pa.array([127, -128, 0, 5] * 25, pa.int8()),
    "u64": pa.array([2**64 - 1, 0, 17, 3] * 25, pa.uint64()),
    "f32": pa.array([0.1, -0.0, math.nan, 1e30] * 25, pa.float32()),
    "f64": pa.array([1e300, math.inf, 2.5, 0.0] * 25),
    "dec": pa.array([Decimal("9.99"), Decimal("-1.00"), Decimal("0.00"), Decimal("1.25")] * 25, pa.decimal128(3, 2)),
    "big": pa.array([Decimal(10**38 - 1), Decimal(3), Decimal(4), Decimal(5)] * 25, pa.decimal128(38, 0)),
    "small": pa.array([Decimal("9.9"), Decimal("0.1")] * 50, pa.decimal32(2, 1)),
    "text": pa.array(["", "é", "ab", "aaa"] * 25),
    "large": pa.array(["x", "y", "zz", "w"] * 25, pa.large_string()),
    "view": pa.array(["x", "y", "zz", "w"] * 25, pa.string_view()),
    "enum": pa.array(["x", "y", "zz", "w"] * 25).dictionary_encode(),
    "bytes": pa.array([b"", b"\x00", b"ab", b"c"] * 25),
    "bool": pa.array([True, False, True, True] * 25),
    "day": pa.array([date(1, 1, 1), date(9999, 12, 31), date(2024, 2, 29), date(1970, 1, 1)] * 25),
    "stamp": pa.array([datetime(2024, 1, 1, 12, 30), datetime(1969, 12, 31)] * 50, pa.timestamp("us")),
    "zoned": pa.array([datetime(2024, 1, 1), datetime(1969, 12, 31)] * 50, pa.timestamp("ns", "UTC")),
    "clock": pa.array([time(23, 59), time(0, 0, 1)] * 50, pa.time64("us")),
}


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("typo", [0, 1])
def test_every_type_is_kept_and_its_cells_change(name, typo):
    given = COLUMNS[name]
    before = pa.table({"a": pa.chunked_array([given[:40], given[40:]])})
    after = rnoise(before, load_constraints("not(t1.a=t2.a)"), alpha=0.3, typo=typo, seed=4)
    after.validate(full=True)
    assert after.schema.equals(before.schema)
    old, new = (t.column("a").cast(pa.int64()) if name == "zoned" else t.column("a") for t in (before, after))
    pairs = [(repr(a), repr(b)) for a, b in zip(old.to_pylist(), new.to_pylist(), strict=True)]
    assert 10 <= sum(a != b for a, b in pairs) <= 30  # 30 changes on at most 30 cells
    assert new.null_count == 0
    if not typo:
        assert {b for _, b in pairs} <= {a for a, _ in pairs} | {"0.0"}  # -0.0 and 0.0 are one value


def test_null_cells_get_a_domain_value_and_a_column_of_nulls_stays():
    before = pa.table({"a": pa.array([None] * 99 + ["only"]), "b": pa.array([None] * 100, pa.int32())})
    after = rnoise(before, load_constraints("a -> b"), alpha=0.5, typo=1, seed=1)
    values = after.column("a").to_pylist()
    assert 25 <= values.count("only") <= 100
    assert values.count(None) >= 20
    assert after.column("b").null_count == 100


def test_a_dictionary_that_typos_outgrow_gets_wider_indices():
    labels = pa.array([f"label {k}" for k in range(120)] * 5).dictionary_encode()
    narrow = pa.DictionaryArray.from_arrays(labels.indices.cast(pa.int8()), labels.dictionary)
    after = rnoise(pa.table({"a": narrow}), load_constraints("not(t1.a=t2.a)"), alpha=0.5, typo=1, seed=1)
    assert after.column("a").type == pa.dictionary(pa.int32(), pa.string())


def test_seed_repeats():
    before = table()
    once, again = (rnoise(before, FD, alpha=0.05, seed=11) for _ in range(2))
    assert once.equals(again)
    assert not once.equals(rnoise(before, FD, alpha=0.05, seed=12))
    assert not rnoise(before, FD, alpha=0.05).equals(rnoise(before, FD, alpha=0.05))


def test_too_small_for_a_change_is_unchanged():
    assert rnoise(table(3), FD, alpha=0.01).equals(table(3))
    assert rnoise(table(5).slice(0, 0), FD, alpha=1).num_rows == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"alpha": 0}, {"alpha": 1.01}, {"alpha": math.nan}, {"alpha": "1"}, {"alpha": True},
        {"typo": -0.1}, {"typo": 1.1}, {"skew": -1}, {"skew": math.inf}, {"seed": -1}, {"seed": 1.0}, {"seed": True},
    ],
)  # fmt: skip
def test_parameters_out_of_range_are_named(wrong):
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        rnoise(table(10), FD, **({"alpha": 0.1} | wrong))


def test_unusable_columns():
    nested = pa.table({"a": [[1], [2]], "A": [1, 2]})
    with pytest.raises(SourceError, match="differ only in case"):
        rnoise(nested, load_constraints("not(t1.a=t2.a)"), alpha=0.5)
    with pytest.raises(ConstraintTypeError, match="'a' has type list"):
        rnoise(nested.select(["a"]), load_constraints("not(t1.a=t2.a)"), alpha=0.5)
    with pytest.raises(UnknownColumnError, match="missing"):
        rnoise(table(10), load_constraints("zip -> missing"), alpha=0.5)
    with pytest.raises(ParameterError, match="no constraints"):
        rnoise(table(10), [], alpha=0.5)


def test_hospital():
    path = DATA / "hospital.parquet"
    before = pq.read_table(path)
    constraints = load_constraints(path.with_suffix(".dcs.txt"))
    after = rnoise(before, constraints, alpha=0.01, seed=1)
    changed = differing(before, after)
    constrained = {name for dc in constraints for name in dc.columns}
    assert {name for name, cells in changed.items() if cells} == constrained
    assert 1450 < sum(map(len, changed.values())) <= 1500
    assert after.schema.equals(before.schema, check_metadata=True)
