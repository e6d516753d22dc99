"""Counts of a long public list of keys: true counts, what one row changes, what is listed, and what is not."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from asked_there import AskedThere
from scipy.stats import binom
from stub_noise import StubNoise

import dpdb
from dpdb.doors.cli.main import main
from dpdb.errors import DpdbError, LedgerError, ParameterError, PredicateError, UnknownColumnError
from dpdb.ledger import Ledger
from dpdb.privacy.noise import replaced_noise
from dpdb.release.ask import Ask
from dpdb.release.listed_counts import ListedCounts
from dpdb.release.published.release import Releases
from dpdb.release.statistics import PrivateSlices

Rows = Sequence[object]


def part_of(session: dpdb.Session, keys: object, **options: object) -> ListedCounts:
    ask = Ask(**{"measure": "count", "epsilon": 1, "by": "k", "keys": keys, "sparse": True, **options})  # type: ignore[arg-type]
    [part] = session.prepare(ask).parts
    assert isinstance(part, ListedCounts)
    return part


def found(releases: Releases) -> dict[str, float]:
    return {str(each.where).split("= ")[-1].strip("'"): each.value for each in releases}


# -- counts ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "keys"),
    [
        (["a", "b", None, "", "it's", "A"], ["a", "it's", "A", "missing", "b"]),
        ([1, 2, None, -7, 10**12], [1, "-7", "+2", 5, 10**12]),
        ([date(2026, 1, 1), date(2026, 1, 2), None], ["2026-01-02", "1999-12-31", "2026-01-01"]),
        ([Decimal("0.10"), None, Decimal("-12.50"), Decimal("3.00")], ["0.10", "-12.50", "3.00", "7.25"]),
    ],
)
def test_true_counts_are_those_of_plain_python(values: Rows, keys: Rows) -> None:
    """Without noise: keys above the threshold come back in the list's order, with their counts."""
    rows = [value for place, value in enumerate(values) for _ in range(40 * (place + 1))]
    table = pa.table({"k": rows, "v": [each % 3 for each in range(len(rows))]})
    with replaced_noise(StubNoise()), dpdb.open(table, budget=9) as session:
        threshold = part_of(session, keys).threshold
        for where, chosen in ((None, (0, 1, 2)), ("v > 0", (1, 2))):
            counts = Counter(str(row) for place, row in enumerate(rows) if place % 3 in chosen and row is not None)
            wanted = {str(key).lstrip("+"): counts[str(key).lstrip("+")] for key in keys}
            answer = session.dp_count(1, by="k", keys=keys, sparse=True, where=where)  # type: ignore[arg-type]
            assert {name.replace("''", "'"): value for name, value in found(answer).items()} == {
                name: count for name, count in wanted.items() if count > threshold
            }
            assert len(answer) >= 2


def test_categories_are_keys_and_decimals_are_written_in_any_way() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t (e ENUM('low', 'mid', 'high'), d DECIMAL(6,2))")
    connection.execute("INSERT INTO t SELECT if(range < 60, 'mid', NULL), 1.5 FROM range(100)")
    with replaced_noise(StubNoise()), dpdb.open(connection, table="t", budget=9) as session:
        assert found(session.dp_count(1, by="e", keys=["high", "mid"], sparse=True)) == {"mid": 60}  # type: ignore[arg-type]
        for key in ("1.5", "+01.500", "1.50"):
            assert found(session.dp_count(1, by="d", keys=["7", key], sparse=True)) == {"1.50": 100}  # type: ignore[arg-type]


@pytest.mark.heavy(family="privacy")
def test_one_row_more_changes_one_count_by_1_or_none() -> None:
    """All 35 tables of up to 3 rows of 'a', 'b', 'other' and NULL, each beside those with one row less."""
    values = ("a", "b", "other", None)
    counts: dict[tuple[str | None, ...], list[int]] = {}
    for size in range(4):
        for rows in itertools.combinations_with_replacement(values, size):
            with dpdb.open(pa.table({"k": pa.array(rows, pa.string())}), budget=1) as session:
                counts[rows] = [*PrivateSlices(session.public.opened).count_keys(None, "k", ["b", "a", "empty"])]
    assert counts == {rows: [rows.count("b"), rows.count("a"), 0] for rows in counts}
    moved = Counter(
        tuple(more - less for more, less in zip(found, counts[rows[:place] + rows[place + 1 :]], strict=True))
        for rows, found in counts.items()
        for place in range(len(rows))
    )
    assert set(moved) == {(0, 0, 0), (1, 0, 0), (0, 1, 0)}
    assert sum(moved.values()) == 4 + 2 * 10 + 3 * 20


# -- the threshold and what is not listed ---------------------------------------------------------------------------


def laplace_above(scale: float, t: int) -> float:
    """Pr[X > t] as a sum over the law, not by the formula of the room of privacy."""
    q = math.exp(-1 / scale)
    return math.fsum((1 - q) / (1 + q) * q**x for x in range(t + 1, t + 1 + math.ceil(60 * scale)))


def gaussian_above(scale: float, t: int) -> float:
    law = {x: math.exp(-(x**2) / (2 * scale**2)) for x in range(-60 * math.ceil(scale), 60 * math.ceil(scale))}
    return math.fsum(mass for x, mass in law.items() if x > t) / math.fsum(law.values())


@pytest.mark.heavy
@pytest.mark.parametrize("cost", [{"epsilon": 1}, {"epsilon": 0.1}, {"epsilon": None, "rho": 0.5}])
@pytest.mark.parametrize("count", [1, 7, 5_000, 100_000])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_threshold_and_widths_are_the_smallest_that_hold_for_all_keys(
    cost: dict[str, object], count: int, confidence: float
) -> None:
    with dpdb.open(pa.table({"k": ["a"]}), budget=9) as session:
        part = part_of(session, [f"{place}" for place in range(count)], confidence=confidence, **cost)
    above = laplace_above if part.rho is None else gaussian_above

    def holds(t: int, sides: int) -> bool:
        return (1 - sides * above(part.scale, t)) ** count >= confidence * (1 - 1e-9)

    def exceeds(t: int, sides: int) -> bool:
        return t < 0 or (1 - sides * above(part.scale, t)) ** count < confidence * (1 + 1e-6)

    assert holds(part.threshold, 1)
    assert exceeds(part.threshold - 1, 1)
    assert holds(part._width(2), 2)
    assert exceeds(part._width(2) - 1, 2)
    assert part.below == 2 * part.threshold + 1
    of_all = "" if count == 1 else f" of all {count:,} keys together"
    assert part.words.endswith(f"fewer than {part.below:,} rows, {100 * confidence:g}% sure{of_all}")


def most_allowed(trials: int, probability: float) -> int:
    """The most hits that a probability of at most this exceeds with a chance below 1e-6."""
    return int(binom.isf(1e-6, trials, probability))


@pytest.mark.heavy
@pytest.mark.parametrize("rho", [False, True])
def test_what_is_said_of_all_keys_holds_as_often_as_said(rho: bool) -> None:
    """300 runs at 80%: empty keys that are listed, and keys with N rows that are not; each may occur in 20%."""
    from dpdb.measures import noisy_keys

    keys = [f"k{place}" for place in range(400)]
    with dpdb.open(pa.table({"k": ["a"]}), budget=9) as session:
        cost = {"epsilon": None, "rho": 0.05} if rho else {"epsilon": 0.5}
        part = part_of(session, keys, confidence=0.8, **cost)
    listed = missed = beyond = 0
    for _ in range(300):
        empty, full = (noisy_keys([rows] * len(keys), part.per_row, gaussian=rho) for rows in (0, part.below))
        listed += any(each > part.threshold for each in empty)
        missed += any(each <= part.threshold for each in full)
        beyond += any(abs(each) > part._width(2) for each in empty)
    assert max(listed, missed, beyond) <= most_allowed(300, 0.2)
    assert min(listed, missed, beyond) > 300 - most_allowed(300, 0.95)  # the bounds are not idle


class Recorded(StubNoise):
    """Adds given numbers."""

    def __init__(self, noises: Sequence[int]) -> None:
        super().__init__()
        self._noises: Iterator[int] = iter(noises)

    def laplace(self, value: int, scale: float) -> int:
        return value + next(self._noises)


def test_what_is_listed_is_a_function_of_the_noisy_counts() -> None:
    """Every noise from -20 to 20 of a key with 7 rows: it is listed iff the sum is above the threshold, as the sum."""
    table = pa.table({"k": ["a"] * 7})
    with dpdb.open(table, budget=9) as session:
        part = part_of(session, ["b", "a"])
        for noise in range(-20, 21):
            with replaced_noise(Recorded([0, noise])):
                answers = part.draw(PrivateSlices(session.public.opened), lambda _: None)
            assert [each.value for each in answers] == [7 + noise] * (7 + noise > part.threshold)


@pytest.mark.parametrize("epsilon", [0.1, 1, 3])
def test_neighbours_have_laws_within_epsilon(epsilon: float) -> None:
    """The exact law of one key's answer at counts c and c + 1: listed as v, or not; the loss is attained."""
    with dpdb.open(pa.table({"k": ["a"]}), budget=9) as session:
        part = part_of(session, [f"{place}" for place in range(50)], epsilon=epsilon)
    q = math.exp(-1 / part.scale)

    def law(count: int) -> list[float]:
        mass = [(1 - q) / (1 + q) * q ** abs(part.threshold + place - count) for place in range(1, 400)]
        return [laplace_above(part.scale, count - part.threshold - 1), *mass]  # -X > c - T - 1: not listed

    losses = [
        abs(math.log(one / other))
        for count in range(3 * part.threshold)
        for one, other in zip(law(count), law(count + 1), strict=True)
        if min(one, other) > 1e-200
    ]
    assert epsilon * (1 - 1e-6) <= max(losses) <= epsilon * (1 + 1e-9)


# -- doors ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"k": ["x"] * 500 + ["y"] * 300, "n": [1] * 800}), "t.parquet")
    Path("keys.txt").write_text("x\ny\n" + "".join(f"z{each}\n" for each in range(200)))
    Path("none.txt").write_text("".join(f"z{each}\n" for each in range(200)))
    Ledger.create("t.ledger", 9).close()
    return tmp_path


def test_the_command_says_what_is_not_listed(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["count", "t.parquet", "--by", "k", "--ledger", "t.ledger", "--epsilon", "2", "--confidence", "0.9999999"]
    assert main([*asked, "--keys-from", "keys.txt", "--run-id", "one"]) == 0
    said = capsys.readouterr().out
    assert "k = 'x'" in said
    assert "2 of 202 keys are listed; a key that is not listed has fewer than" in said
    assert main([*asked, "--keys-from", "keys.txt", "--run-id", "one"]) == 0
    assert capsys.readouterr().out == said
    assert main([*asked, "--keys-from", "none.txt", "--run-id", "one"]) != 0
    capsys.readouterr()
    assert main([*asked, "--keys-from", "none.txt"]) == 0
    assert "0 of 200 keys are listed" in capsys.readouterr().out
    assert main([*asked, "--keys-from", "keys.txt", "--format", "json"]) == 0
    both = capsys.readouterr()
    assert "of all 202 keys together" in json.loads(both.out)["releases"][0]["estimand"]
    assert "2 of 202 keys are listed" in both.err
    assert main([*asked, "--keys-from", "keys.txt", "--keys", "x"]) == 2
    with Ledger.open("t.ledger") as ledger:
        assert ledger.summary().spent == 6
        request = json.loads(ledger.lines()[0].request)
    digest = hashlib.sha256(json.dumps(["x", "y", *(f"z{each}" for each in range(200))]).encode()).hexdigest()
    assert (request["keys"], request["keys_sha256"]) == (202, digest)


def test_python_takes_a_file_or_a_list(place: Path) -> None:
    with dpdb.open("t.parquet", budget=40) as session:
        for keys, own in ((Path("keys.txt"), {}), (["x", "y", "w"], {"sparse": True})):
            answer = session.dp_count(9, by="k", keys=keys, confidence=0.9999999, **own)  # type: ignore[arg-type]
            assert [each.where for each in answer] == ["k = 'x'", "k = 'y'"]
            assert all(each.lower <= rows <= each.upper for each, rows in zip(answer, (500, 300), strict=True))
        nothing = session.dp_count(9, by="k", keys=Path("none.txt"), confidence=0.9999999)
        assert isinstance(nothing, Releases)
        assert len(nothing) == 0
        assert session.spent() == 27


def test_sql_takes_a_list_and_no_file(place: Path) -> None:
    con = duckdb.connect()
    con.execute("CREATE TABLE t AS FROM 't.parquet'")
    with dpdb.register(con, budget=30):
        asked = (
            "dp_count('t', epsilon := 9, by_column := 'k', group_keys := {}, confidence := 0.9999999, sparse := true)"
        )
        rows = con.execute(f'SELECT "where" FROM {asked.format(["x", "y", "w"])}').fetchall()
        assert rows == [("k = 'x'",), ("k = 'y'",)]
        with pytest.raises(duckdb.Error, match="keys"):
            con.execute(f"FROM {asked.format(repr('keys.txt'))}")


def test_units_of_several_rows_divide_epsilon(place: Path) -> None:
    with dpdb.open("t.parquet", rows_per_person=4, budget=9) as session:
        assert part_of(session, ["x"], epsilon=2).scale == pytest.approx(2)


# -- what is refused ------------------------------------------------------------------------------------------------

FILES: list[tuple[bytes, str]] = [
    (b"", "has no key"),
    (b"x\n\ny\n", "line 2 is empty, and a list has no NULL"),
    (b'x\n""\n', "line 2 is empty"),
    (b"x,y\n", "line 1 has 2 cells"),
    (b"x\ny\nx\n", "lines 1 and 3 have the same key"),
    (b"x\n\xff\n", "line 2 is not UTF-8"),
    ("x\n".encode("utf-16"), "is not UTF-8"),
    (b"x\n\0\n", "line 2 has a NUL character"),
    (b'x\n"y\n', "is no cell of CSV"),
    (b"".join(b"%d\n" % each for each in range(100_001)), "has more than 100,000 keys"),
]


@pytest.mark.parametrize(("content", "words"), FILES)
def test_a_file_that_is_no_list_is_refused(place: Path, content: bytes, words: str) -> None:
    Path("bad.txt").write_bytes(content)
    with dpdb.open("t.parquet", ledger="t.ledger") as session, pytest.raises(ParameterError, match=words):
        session.dp_count(1, by="k", keys=Path("bad.txt"))
    with Ledger.open("t.ledger") as ledger:
        assert ledger.summary().spent == 0


def test_odd_files_are_read_or_refused_at_once(place: Path) -> None:
    os.mkfifo("pipe")
    for name, words in (("pipe", "is a named pipe"), (".", "Is a directory"), ("gone", "No such file")):
        with pytest.raises(ParameterError, match=words):
            Ask(measure="count", epsilon=1, by="k", keys=Path(name))  # type: ignore[arg-type]
    Path("odd.txt").write_bytes('\ufeffx\r\n"a, b"\r\n"it""s"\r\n z\r\n'.encode())
    assert Ask(measure="count", epsilon=1, by="k", keys=Path("odd.txt")).keys == ("x", "a, b", 'it"s', " z")  # type: ignore[arg-type]


WRONG: list[tuple[Callable[[], dict[str, object]], type[DpdbError], str]] = [
    (lambda: {"keys": ["1", "x"], "by": "n"}, ParameterError, "key 2 of the list, 'x', is not a value of 'n'"),
    (lambda: {"keys": ["1", "1.5"], "by": "n"}, ParameterError, "key 2 of the list, '1.5', is not a value of 'n'"),
    (lambda: {"keys": ["9" * 30], "by": "n"}, ParameterError, "is not a value of 'n'"),
    (lambda: {"keys": ["1", "2", "01"], "by": "n"}, ParameterError, "keys 1 and 3 of the list, '1' and '01', are the"),
    (lambda: {"keys": ["x", "x"]}, ParameterError, "keys 1 and 2 of the list"),
    (lambda: {"keys": ["2026-02-30"], "by": "d"}, ParameterError, "is not a value of 'd'"),
    (lambda: {"keys": ["1.505"], "by": "m"}, ParameterError, "is not a value of 'm' (DECIMAL(5,2))"),
    (lambda: {"keys": ["1e2"], "by": "m"}, ParameterError, "is not a value of 'm'"),
    (lambda: {"keys": ["1000"], "by": "m"}, ParameterError, "is not a value of 'm'"),
    (lambda: {"keys": ["1.5", "1.50"], "by": "m"}, ParameterError, "are the same value of 'm'"),
    (lambda: {"keys": ["1.5"], "by": "f"}, ParameterError, "'f' is DOUBLE; give its keys one by one"),
    (lambda: {"keys": ["x", None]}, ParameterError, "without NULL"),
    (lambda: {"keys": [1.5]}, ParameterError, "texts and whole numbers"),
    (lambda: {"keys": [True]}, ParameterError, "texts and whole numbers"),
    (lambda: {"keys": []}, ParameterError, "at least one value"),
    (lambda: {"keys": ["x"], "by": "gone"}, UnknownColumnError, "no column 'gone'"),
    (lambda: {"keys": ["x"], "where": "false"}, PredicateError, "selects no row"),
    (lambda: {"keys": None, "by": None}, ParameterError, "sparse=True needs by= and keys="),
    (lambda: {"keys": ["x"], "measure": "repair"}, ParameterError, "a long list of keys is for counts"),
    (lambda: {"keys": [str(each) for each in range(100_001)]}, ParameterError, "a list of keys has at most 100,000"),
    (lambda: {"keys": ["\ud800"]}, ParameterError, "is not a value of 'k'"),
]


@pytest.mark.heavy
@pytest.mark.parametrize(("given", "error", "words"), WRONG)
def test_what_is_no_list_of_keys_is_refused(
    given: Callable[[], dict[str, object]], error: type[DpdbError], words: str
) -> None:
    table = pa.table({"k": ["x"], "n": [1], "d": [date(2026, 1, 1)], "f": [1.5]})
    table = table.append_column("m", pa.array([Decimal("1.5")], pa.decimal128(5, 2)))
    with dpdb.open(table, constraints="k -> n", budget=9) as session, pytest.raises(error) as caught:
        session.release(Ask(**{"measure": "count", "epsilon": 1, "by": "k", "sparse": True, **given()}))  # type: ignore[arg-type]
    assert words in str(caught.value)
    assert session.spent() == 0


def test_tables_of_other_engines_refuse_such_lists_by_name() -> None:
    with dpdb.open(AskedThere(pa.table({"k": ["x"]})), budget=9) as session:
        with pytest.raises(ParameterError, match="counted in files and DuckDB tables only"):
            session.dp_count(1, by="k", keys=["x"], sparse=True)
        assert session.spent() == 0


def test_another_list_under_the_same_run_is_another_request(place: Path) -> None:
    with dpdb.open("t.parquet", ledger="t.ledger") as session:
        session.dp_count(1, by="k", keys=["x", "y"], sparse=True, run_id="one")
        with pytest.raises(LedgerError):
            session.dp_count(1, by="k", keys=["y", "x"], sparse=True, run_id="one")


JOB = """
name = "nightly"
source = "t.parquet"
constraints = ["k -> n"]
ledger = "t.ledger"
results = "r.duckdb"

[[release]]
name = "codes"
measure = "count"
by = "k"
keys_from = "codes.txt"
epsilon = 1
"""


def test_jobs_and_receipts_say_what_no_listed_key_means(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("codes.txt").write_text("nobody\nno one\n")
    Path("nightly.toml").write_text(JOB)
    with replaced_noise(StubNoise()):
        assert main(["run", "nightly.toml"]) == 0
        said = "0 of 2 keys are listed; a key that is not listed has fewer than 7 rows, 95% sure of all 2 keys together"
        assert f"codes: {said}" in capsys.readouterr().err
        assert main(["receipts", "key", str(place.parent / f"{place.name}.key")]) == 0
        asked = [
            "count",
            "t.parquet",
            "--by",
            "k",
            "--keys-from",
            "codes.txt",
            "--epsilon",
            "1",
            "--ledger",
            "t.ledger",
        ]
        asked += ["--receipt", "r.jsonl", "--receipt-key", str(place.parent / f"{place.name}.key")]
        assert main(asked) == 2
        assert "needs --run-id" in capsys.readouterr().err
        assert main([*asked, "--run-id", "one"]) == 0
    assert len(Path("r.jsonl").read_text().splitlines()) == 1
