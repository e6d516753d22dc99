"""Numbers after the levels, from the door to the ledger: rows, slices, units and sets of tables; kills; words."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from case_share import fifth
from killed import killed_at
from stub_noise import StubNoise

import dpdb
from dpdb.doors.cli.main import main
from dpdb.ledger import Ledger
from dpdb.privacy.noise import replaced_noise
from dpdb.suites import CheckResults, TableSet, capped_words, load_suite
from dpdb.suites.numbers import recorded_numbers
from dpdb.suites.prepare import prepare_check

ROWS, CHECKS, CLOSE = 6_000, 16, 10


def columns(rows: int = ROWS, seed: int = 1) -> dict[str, list[int]]:
    rng = np.random.default_rng(seed)
    found = {f"c{i}": np.zeros(rows, dtype=int) for i in range(CHECKS)}
    for i in range(CLOSE):  # fail by 300 rows, which are too many failures for the levels
        found[f"c{i}"][rng.choice(rows, 300, replace=False)] = 1
    return {name: values.tolist() for name, values in found.items()}


RULES = [f"not(t1.c{i} > 0)" for i in range(CHECKS)]
SUITE = "\n".join(f"r{i}: {rule}  fail above 0" for i, rule in enumerate(RULES))


def exact(table: pa.Table) -> list[int]:
    return [sum(value > 0 for value in table[f"c{i}"].to_pylist()) for i in range(CHECKS)]


def holds(results, truth) -> int:
    """Return how many bounds hold; the doubt is 2% for all of a run together."""
    return sum((each.lower or 0) <= f <= each.upper for each, f in zip(results, truth, strict=True))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table(columns()), "t.parquet")
    Path("suite.txt").write_text(SUITE)
    Ledger.create("t.ledger", 20).close()
    return tmp_path


def checked(ledger: str | None = None, source="t.parquet", suite="suite.txt", settings=None, **options) -> CheckResults:
    with dpdb.open(source, constraints="\n".join(RULES), ledger=ledger, **(settings or {})) as session:
        return session.check(suite, **options)


@pytest.mark.heavy(family="long")
@pytest.mark.usefixtures("folder")
def test_every_check_is_decided_and_every_bound_holds() -> None:
    """Bounds miss with 2%; that two of five runs have one has a chance of .4%, all five below 1e-8."""
    truth, held = exact(pq.read_table("t.parquet")), 0
    for _ in range(5):
        results = checked(epsilon=0.5)
        assert results.count("undecided") == 0
        assert {each.level for each in results} & {24}
        assert results.epsilon == 0.5  # numbers cost all that is left
        [counted] = results.capped
        assert counted.checks == sum(each.level == 24 for each in results)
        assert counted.key is None
        held += holds(results, truth) == CHECKS
    assert held > 0
    assert (
        f"k = {counted.most}: a row counts in at most {counted.most} of these checks"
        in capped_words(results.to_dict())[0]
    )


@pytest.mark.usefixtures("folder")
def test_a_day_on_which_nothing_fails_costs_a_quarter() -> None:
    clean = pa.table({f"c{i}": [0] * 100 for i in range(CHECKS)})
    with replaced_noise(StubNoise()):
        results = checked(source=clean, epsilon=1)
    assert results.count("pass") == CHECKS
    assert (results.epsilon, results.capped) == (0.25, ())
    assert "capped" not in results.to_dict()


@pytest.mark.usefixtures("folder")
def test_kept_suites_have_levels_alone() -> None:
    with dpdb.open("t.parquet", constraints="\n".join(RULES), ledger="t.ledger") as session:
        kept, once = (prepare_check(session, "suite.txt", keep=name).plan for name in ("nightly", None))
        assert kept.row_local == once.row_local == tuple((i,) for i in range(CHECKS))
        assert (kept.kept, kept.apart, once.apart) == (0, True, False)
        assert kept.doubt == 2 * once.doubt


@pytest.mark.heavy(family="long")
def test_what_is_row_local() -> None:
    """By shape: one row, a limit above, violations. Both limits of a line read one number."""
    table = pa.table({"id": [1], "a": [1], "b": [2]})
    lines = [
        "one: not(t1.a > 0)  warn above 1, fail above 2", "fd: a -> b", "key: UNIQUE(id)", "null: NOT NULL(a)",
        "rows: row_count  fail below 3", "share: not(t1.a < 0)  fail above 1%", "look: a IN parents.a",
        "order: not(t1.a > t2.a & t1.b < t2.b)",
    ]  # fmt: skip
    suite = load_suite("\n".join(lines))
    used = load_suite("\n".join(line for line in lines if not line.startswith(("rows", "share"))))
    parents = pa.table({"a": [1]})

    def local(suite=suite, **settings):
        rules = [line.rule for line in suite.lines if line.rule is not None]
        with dpdb.open(table, constraints=rules, **settings) as session:
            return prepare_check(session, suite).plan

    public = {"public_parents": {"parents": parents}}
    assert local(**public).row_local == ((0, 1), (4,), (7,), (6,))  # with limits of rows first
    assert (local(**public).shares.of[6], local(**public).shares.moved) == (0, (1,))
    most = load_suite("\n".join(lines).replace("above 1%", "above 51%, warn above 50.1%"))
    assert local(most, **public).row_local == ((0, 1), (4,), (8,))  # many rows may break what allows more than a half
    assert local(**public, rows_per_person=3).row_local == ()  # nothing tells which rows are a person's
    owned = local(used, **public, unit="id", max_rows=3)
    assert (owned.row_local, owned.unit_reach) == (((0, 1), (4,), (5,)), 3)
    private = {"private_parents": {"parents": parents}}
    assert local(used, **private, max_children=2).row_local == ()  # a parent's row decides over two
    assert local(used, **private, unit="a", max_rows=2).row_local == ((0, 1), (4,), (5,))


@pytest.mark.usefixtures("folder")
def test_slices_have_numbers_of_their_own() -> None:
    rows = pq.read_table("t.parquet")
    half = [k % 2 for k in range(ROWS)]
    results = checked(source=rows.append_column("half", pa.array(half)), by="half", keys=[0, 1], epsilon=0.3)
    assert results.count("undecided") == 0
    assert {each.key for each in results.capped} <= {"0", "1"}
    assert results.capped
    assert results.epsilon == 0.3
    assert capped_words(results.to_dict())[0].startswith(f"[{results.capped[0].key}] ")


@pytest.mark.heavy(family="long")
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("by", [None, "half"])
def test_units_count_over_all_slices(by: str | None) -> None:
    """What a person breaks is summed over slices: of three rows a person has, in two slices."""
    table = pa.table(columns()).append_column("who", pa.array([k // 3 for k in range(ROWS)]))
    table = table.append_column("half", pa.array([k % 2 for k in range(ROWS)]))
    slices = {} if by is None else {"by": by, "keys": [0, 1]}
    results = checked(source=table, settings={"unit": "who", "max_rows": 3}, epsilon=1, **slices)
    assert results.count("undecided") == 0
    [counted] = results.capped  # one k for all keys
    assert (counted.unit, counted.key) == ("unit", None)
    assert counted.most <= 3 * counted.checks


@pytest.mark.heavy
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("step", ["level drawn", "level written", "level recorded", "ending"])
def test_a_run_that_is_killed_at_its_numbers_is_finished(step: str) -> None:
    """Numbers without a record are drawn again, recorded ones are shown; the debit is paid once."""
    with killed_at(step, 0 if step == "ending" else 23):
        checked("t.ledger", epsilon=0.5, run_id="monday")

    def numbers() -> list[str]:
        with Ledger.open("t.ledger") as ledger:
            [suite] = ledger.suites()
            levels = ledger.suite_levels(suite.number)
            assert [each.level for each in levels][:23] == [*range(1, 24)]
            return [each.answer for each in levels if each.level == 24]

    before = numbers()
    assert len(before) == (step in ("level recorded", "ending"))
    results = checked("t.ledger", epsilon=0.5, run_id="monday")
    after = numbers()
    assert before in ([], after)
    [drawn] = recorded_numbers(after[0])
    assert json.loads(after[0])["kind"] == "numbers"
    assert drawn.most == results.capped[0].most
    assert len(drawn.values) == results.capped[0].checks
    again = checked("t.ledger", epsilon=0.5, run_id="monday")
    assert again.to_dict() == results.to_dict()
    with Ledger.open("t.ledger") as ledger:
        assert ledger.summary().releases == 1
        assert ledger.summary().spent == results.epsilon == 0.5
        failed = {name for name, _ in ledger.suites()[0].failed}
    assert failed == {each.name for each in results if each.verdict == "fail"}


@pytest.mark.usefixtures("folder")
def test_the_command_says_what_a_row_counts_in(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "t.parquet", "suite.txt", "--epsilon", "0.5"]) == 1
    said = capsys.readouterr().out
    assert "a row counts in at most" in said or "no check is short by any row" in said
    assert "undecided" not in said
    assert main(["check", "t.parquet", "suite.txt", "--epsilon", "0.5", "--dry-run"]) == 0
    assert "k is chosen privately" in capsys.readouterr().out


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize("max_rows", [None, 2])
def test_a_set_of_tables_counts_a_person_over_all_of_them(tmp_path: Path, max_rows: int | None) -> None:
    tables, suites = tmp_path / "tables", tmp_path / "suites"
    tables.mkdir()
    suites.mkdir()
    for name, seed in (("one", 1), ("two", 2)):
        rows = pa.table({**columns(seed=seed), "person_id": [k // 2 for k in range(ROWS)]})
        pq.write_table(rows, tables / f"{name}.parquet")
        (suites / f"{name}.suite.txt").write_text(SUITE.replace("r", f"{name}_", 1))
    with TableSet(tables, suites, unit="person_id", max_rows=max_rows) as opened:
        run = opened.prepare(epsilon=1)
        assert run.plan.unit_reach == (max_rows or 1)
        assert len(run.plan.row_local) == 2 * CHECKS
        results = opened.run(run)
        everything = [(0, line) for line in run.counted.row_local.lines]
        sums = run.counted.broken(None, [None], everything)
    assert results.count("undecided") == 0
    assert results.capped[0].unit == "unit"
    persons: dict[int, list[int]] = {}
    for place, name in enumerate(("one", "two")):
        rows = pq.read_table(tables / f"{name}.parquet").to_pylist()
        for row in rows:
            told = persons.setdefault(row["person_id"], [0] * 2 * CHECKS)
            for i in range(CHECKS):
                hit = row[f"c{i}"] > 0
                at = place * CHECKS + i
                told[at] = told[at] + hit if max_rows else max(told[at], int(hit))
    broken = [sum(told) for told in persons.values()]
    assert dict(sums.tops) == {
        a: sum(max(told) for told in persons.values() if sum(told) == a) for a in sorted({*broken} - {0})
    }
    for at in range(2 * CHECKS):
        assert sum(sums.counts[at].values()) == sum(told[at] for told in persons.values())
        for a, count in sums.counts[at].items():
            assert count == sum(told[at] for told in persons.values() if sum(told) == a)


@pytest.mark.heavy(family="privacy")
def test_the_sensitivity_over_small_tables_through_the_real_scan() -> None:
    """Tables of up to two rows (a fifth of the largest), and one row more: l1 of the numbers, and J, for each k."""
    from itertools import combinations_with_replacement, product

    from dpdb.opening import open_table
    from dpdb.suites.mechanism.capped import STEPS, CappedSums

    kinds = [*product((0, 1), repeat=3)]
    rules = [f"not(t1.x{i} > 0)" for i in range(3)]
    scanned: dict[tuple, CappedSums] = {}

    def sums(rows: tuple) -> CappedSums:
        key = tuple(sorted(rows))
        if key not in scanned:
            table = pa.table({f"x{i}": pa.array([row[i] for row in key], pa.int64()) for i in range(3)})
            with open_table(table, constraints=rules) as opened:
                found = opened.count_broken(None, opened.constraints)
            scanned[key] = CappedSums(found.tops, found.counts)
        return scanned[key]

    attained = set()
    for size in (0, 1, 2):
        bases = [*combinations_with_replacement(kinds, size)]
        for base in fifth(bases) if size == 2 else bases:
            for more in kinds:
                one, other = sums(base), sums((*base, more))
                for k in (1, 2, 3):
                    moved = [other.capped(i, k) - one.capped(i, k) for i in range(3)]
                    assert min(moved) >= 0
                    assert sum(moved) <= STEPS * k
                    assert 0 <= other.lost(k) - one.lost(k) <= STEPS
                    attained |= {k} if sum(moved) == STEPS * k else set()
                    exact = [sum(row[i] for row in base) for i in range(3)]
                    for i in range(3):
                        assert Fraction(one.capped(i, k), STEPS) <= exact[i]
                        assert exact[i] <= Fraction(one.capped(i, k) + one.lost(k), STEPS)
    assert attained == {1, 2, 3}


SINGLE, PAIRS = 6, 8
MIXED = [f"not(t1.x{i} > 0)" for i in range(SINGLE)] + [f"c{i} -> d" for i in range(PAIRS)]
MIXED_SUITE = "\n".join(f"r{i}: {rule}  fail above 0" for i, rule in enumerate(MIXED))


def slice_of(key: str, single: int, pairs: int, rows: int = 400) -> pa.Table:
    """Rows of a slice: so many violate each rule on single rows, and so many pairs each dependency."""
    found: dict[str, list] = {"key": [key] * rows, "d": [k % 2 for k in range(rows)]}
    found |= {f"x{i}": [int(k < single) for k in range(rows)] for i in range(SINGLE)}
    found |= {f"c{i}": [k // 2 if k // 2 < pairs else k + rows for k in range(rows)] for i in range(PAIRS)}
    return pa.table(found)


@pytest.mark.heavy
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("record", [23, 24, 25, 30])
def test_a_slice_goes_on_after_a_kill_before_or_after_the_numbers_of_another(record: int) -> None:
    """A gets numbers, B goes on without; after a kill the same rows are read, and every verdict is as without one."""

    def run(name: str) -> CheckResults:
        with dpdb.open("t.parquet", constraints="\n".join(MIXED), ledger="t.ledger") as session:
            return session.check(MIXED_SUITE, by="key", keys=["A", "B"], run_id=name)

    with dpdb.open(slice_of("A", 1, 1), constraints="\n".join(MIXED)) as session:
        close = prepare_check(session, MIXED_SUITE, by="key", keys=["A", "B"]).plan.thresholds[0]
    pq.write_table(pa.concat_tables([slice_of("A", close, 0), slice_of("B", 0, close)]), "t.parquet")
    with replaced_noise(StubNoise()):
        whole = run("whole")
        with killed_at("level recorded", record - 1):
            run("killed")
        again = run("killed")

    assert [each.key for each in whole.capped] == ["A"]
    assert [each.to_dict() for each in again] == [each.to_dict() for each in whole]
    assert whole.count("undecided") == 0
    assert {each.level for each in again if each.key == "A"} >= {24}
    assert again.epsilon == whole.epsilon == 1


@pytest.mark.heavy
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("record", [22, 23, 24, 30])
def test_rows_that_were_added_after_a_kill_are_bounded_by_what_was_read_with_them(record: int) -> None:
    """In an append-only ledger a run may be finished on more rows: a quiet level of fewer rows bounds none of these.

    With noise that is none, bounds are certain: each is of the rows that its check was last read with.
    """
    Ledger.create("grows.ledger", 5, append_only=True).close()

    def run(ledger: str) -> CheckResults:
        with dpdb.open("t.parquet", constraints="\n".join(MIXED), ledger=ledger) as session:
            return session.check(MIXED_SUITE, by="key", keys=["A", "B"], run_id="killed")

    with dpdb.open(slice_of("A", 1, 1), constraints="\n".join(MIXED)) as session:
        close = prepare_check(session, MIXED_SUITE, by="key", keys=["A", "B"]).plan.thresholds[0]
    both = pa.concat_tables([slice_of("A", close, 0), slice_of("B", 0, close)])
    pq.write_table(both, "t.parquet")
    with replaced_noise(StubNoise()):
        with killed_at("level recorded", record - 1):
            run("grows.ledger")
        pq.write_table(pa.concat_tables([both, slice_of("A", 3_000, 0, 4_000)]), "t.parquet")
        again = run("grows.ledger")
    numbered = [each for each in again if each.key == "A" and each.level == 24]
    assert len(numbered) >= 1
    read_with_numbers = close + (3_000 if record < 24 else 0)
    for each in numbered:
        assert (each.lower or 0) <= read_with_numbers <= each.upper, each
    if record >= 24:  # A was tested to its end before the kill
        assert "undecided" not in {each.verdict for each in again if each.key == "A"}
