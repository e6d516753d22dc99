"""Numbers of all checks, from the doors to the ledger: both notions, slices, units, sets of tables, kills, words."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from killed import killed_at
from plain_suite import ROWS, table, write_plain

import dpdb
from dpdb.doors.cli.main import main
from dpdb.errors import BudgetExceededError, LedgerError, ParameterError
from dpdb.ledger import Ledger
from dpdb.suites import CheckResults, SizesRun, TableSet, load_suite
from dpdb.suites.numbers import recorded_numbers
from dpdb.suites.prepare import prepare_check

SUITE = """\
plain: zip -> city  warn above 0, fail above 20 rows
clean: UNIQUE(id)  fail above 300 rows
share: not(t1.age < 0)  fail above 1%
known: not(t1.age > 90)  fail above 10% of non-null
old: not(t1.age > 80)  warn above 0, fail above 100
many: row_count  fail below 100
few: row_count WHERE city = 'none'  fail below 300
twice: UNIQUE(pair)  fail above 300 duplicate values
order: not(t1.age > t2.age & t1.id < t2.id & t1.pair > t2.pair)  fail above 300 rows
"""


OLD = sum(k % 90 > 80 for k in range(800, ROWS))
TRUTH = {
    "plain": 500, "clean": 0, "share": 400 - 40, "known": -360, "old": OLD, "many": ROWS, "few": 0, "twice": 600,
    "order": 0,
}  # fmt: skip
FAILED = {"plain", "share", "old", "few", "twice"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_plain(SUITE, {"p.ledger": (20, "pure"), "z.ledger": (20, "zcdp"), "g.ledger": (20, "gdp")})
    return tmp_path


RULES = [line.rule for line in load_suite(SUITE).lines if line.rule is not None]


def checked(ledger: str | None, **options: object) -> CheckResults:
    with dpdb.open("t.parquet", constraints=RULES, ledger=ledger) as session:
        return session.check("suite.txt", sizes=True, **options)


@pytest.mark.heavy
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("ledger", "cost"), [("p.ledger", {"epsilon": 1}), ("z.ledger", {"rho": 0.5}), (None, {})])
def test_every_check_has_a_number_and_all_is_paid(ledger: str | None, cost: dict[str, float]) -> None:
    """All verdicts are plain: 180 rows from their limits, with noise of scale 9; another one has a chance of 1e-7."""
    results = checked(ledger, **cost)
    for each in results:
        f = TRUTH[each.name]
        assert (each.verdict == "fail") == (each.name in FAILED), each
        assert each.verdict in ("pass", "fail")
        assert each.level == 1
        assert abs(each.number - f) < 170
        assert each.lower - 170 <= f <= each.upper + 170  # what a bound misses by, if it does
        assert each.lower <= each.upper
    paid = results.rho if ledger == "z.ledger" else results.epsilon
    assert paid == next(iter(cost.values()), 1)
    [counted] = results.capped
    assert (counted.checks, counted.unit, counted.key) == (3, "row", None)
    assert CheckResults.from_dict(json.loads(results.to_json())).to_dict() == results.to_dict()
    assert results.to_arrow().column("number").to_pylist() == [each.number for each in results]
    if ledger is None:
        return
    with Ledger.open(ledger) as opened:
        [level] = opened.suite_levels(1)
        assert opened.summary().spent == pytest.approx(paid)
        assert opened.summary().releases == 1
    [drawn] = recorded_numbers(level.answer)
    assert (len(drawn.values), len(drawn.rows), drawn.level) == (9, 2, 1)
    again = checked(ledger, **cost, run_id=results.run_id)
    assert again.to_dict() == results.to_dict()
    with Ledger.open(ledger) as opened:
        assert opened.summary().releases == 1


@pytest.mark.heavy(family="spending")
@pytest.mark.usefixtures("folder")
def test_what_is_not_sound_or_not_built_is_refused_before_anything_is_spent() -> None:
    for ledger, options, said in (
        ("p.ledger", {"keep": "nightly"}, "a kept suite has levels alone"),
        ("p.ledger", {"rho": 0.5}, "counts in rho"),
        ("p.ledger", {"certain": "pass"}, "could hardly pass"),
        ("p.ledger", {"epsilon": 1e-8}, "too small"),
        ("z.ledger", {"rho": 1e-11}, "too small"),
        ("g.ledger", {}, "pure or a zcdp ledger"),
        ("p.ledger", {"size": True}, "size"),
    ):
        with pytest.raises(ParameterError, match=said):
            checked(ledger, **options)
    with pytest.raises(BudgetExceededError):
        checked("p.ledger", epsilon=21)
    for name in ("p", "z", "g"):
        with Ledger.open(f"{name}.ledger") as ledger:
            assert (ledger.summary().spent, ledger.summary().releases) == (0, 0)
    checked("p.ledger", run_id="one")
    with (
        pytest.raises(LedgerError, match="another request"),
        dpdb.open("t.parquet", constraints=RULES, ledger="p.ledger") as session,
    ):
        session.check("suite.txt", run_id="one")


@pytest.mark.usefixtures("folder")
def test_slices_have_numbers_of_their_own_at_the_whole_amount() -> None:
    rows = table().append_column("half", pa.array([k % 2 for k in range(ROWS)]))
    with dpdb.open(rows, constraints=RULES) as session:
        results = session.check("suite.txt", sizes=True, epsilon=2, by="half", keys=[0, 1])
        assert session.spent() == 2
    assert [each.key for each in results.capped] == ["0", "1"]
    for each in results:
        if each.name == "many":
            assert abs(each.number - ROWS / 2) < 120
        if each.name == "share":
            assert abs(each.number - 180) < 120


@pytest.mark.heavy
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("ledger", ["p.ledger", "z.ledger"])
@pytest.mark.parametrize("step", ["level drawn", "level written", "level recorded", "ending"])
def test_a_run_that_is_killed_is_finished(step: str, ledger: str) -> None:
    """Numbers without a record are drawn again and were never shown; recorded ones are shown; one debit."""
    with killed_at(step):
        checked(ledger, run_id="monday")

    def record() -> list[str]:
        with Ledger.open(ledger) as opened:
            return [each.answer for each in opened.suite_levels(1)]

    before = record()
    assert len(before) == (step in ("level recorded", "ending"))
    results = checked(ledger, run_id="monday")
    assert before in ([], record()[: len(before)])
    assert checked(ledger, run_id="monday").to_dict() == results.to_dict()
    with Ledger.open(ledger) as opened:
        assert opened.summary().releases == 1
        assert opened.summary().spent == pytest.approx(results.epsilon or results.rho)


@pytest.mark.usefixtures("folder")
def test_the_command_says_the_numbers_and_before_what_they_cost(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "t.parquet", "suite.txt", "--sizes", "--epsilon", "1"]) == 1
    said = capsys.readouterr().out
    assert "3 checks on single rows have a number" in said
    assert said.count("about ") == 12  # of each limit, and in the guarantee
    assert "Cost: epsilon 1 of 1." in said
    assert main(["check", "t.parquet", "suite.txt", "--sizes", "--epsilon", "1", "--dry-run"]) == 0
    words = capsys.readouterr().out
    assert "epsilon 1 is spent, whatever is found" in words
    assert "k is chosen privately, from 1 to 3" in words
    assert "6 checks of other kinds (plain, clean, many, few, twice and 1 others)" in words
    assert "at most 6, and every number has noise for k + 6" in words
    # (1 + 6) / .6 at k = 1: the choice and J take 30%, the rows 10%; (3 + 6) / .85 at k = 3, where nothing is lost
    assert "expected error of a number: 12 rows at k = 1, 11 rows at k = 3" in words
    assert "expected error of the rows that a share is of: 20 rows" in words  # 2 / .1
    assert "nothing was spent" in words
    assert main(["check", "t.parquet", "suite.txt", "--sizes", "--rho", ".5", "--ledger", "z.ledger", "--dry-run"]) == 0
    assert "rho 0.5 is spent, whatever is found" in capsys.readouterr().out


PERSONS = [f"not(t1.c{i} > 0)" for i in range(12)]
OF_PERSONS = "\n".join(f"r{i}: {rule}  fail above 0" for i, rule in enumerate(PERSONS))


def persons() -> pa.Table:
    """Return rows of persons, two each, one in each half, of which 300 in each break every rule."""
    columns = {f"c{i}": [int(k < 600) for k in range(2_000)] for i in range(12)}
    return pa.table({**columns, "who": [k // 2 for k in range(2_000)], "half": [k % 2 for k in range(2_000)]})


@pytest.mark.heavy
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("sizes", [True, False])
@pytest.mark.parametrize("max_rows", [1, 2])
def test_numbers_of_units_are_charged_for_every_row(max_rows: int, sizes: bool) -> None:
    """A person with a row in each half may lose all that numbers cost in each: two runs of a half cost twice.

    One row alone moves the numbers by k, however many rows a unit may have. A ledger counts rows: halves without a row
    in common would cost once. Levels do, by whose noise each of two rows loses half.
    """
    pq.write_table(persons(), "p.parquet")
    charged = []
    for half in (0, 1):
        with dpdb.open("p.parquet", constraints=PERSONS, ledger="p.ledger", unit="who", max_rows=max_rows) as session:
            run = prepare_check(session, OF_PERSONS, where=f"half = {half}", sizes=sizes)
            assert bool(run.plan.row_local) == (not sizes and max_rows == 1)
            results = session.check(OF_PERSONS, where=f"half = {half}", epsilon=0.5, sizes=sizes)
            assert bool(results.capped) == (sizes or max_rows == 1)
            charged.append(session.spent())
    assert charged[1] == (1 if sizes and max_rows == 2 else pytest.approx(max(charged)))
    if sizes:
        assert charged[0] == 0.5


@pytest.mark.heavy(family="long")
@pytest.mark.usefixtures("folder")
def test_numbers_of_units_by_key_are_one_draw_for_every_row() -> None:
    """The vector of a unit over all slices: l1 is k, and what a run of one key costs, another key's adds to."""
    pq.write_table(persons(), "p.parquet")
    for sizes in (True, False):
        Ledger.create(f"{sizes}.ledger", 20).close()
        for key in (0, 1):
            with dpdb.open(
                "p.parquet", constraints=PERSONS, ledger=f"{sizes}.ledger", unit="who", max_rows=2
            ) as session:
                results = session.check(OF_PERSONS, by="half", keys=[key], epsilon=0.5, sizes=sizes)
                [counted] = results.capped
                assert (counted.unit, counted.key) == ("unit", None)
        with Ledger.open(f"{sizes}.ledger") as ledger:
            assert ledger.summary().spent == 1


@pytest.mark.heavy(family="long")
def test_the_sensitivity_of_units_over_slices_through_the_real_scan() -> None:
    """Persons of up to two rows in two slices: with one person more, all numbers of both slices change by k + 2."""
    from itertools import combinations_with_replacement

    from dpdb.release import PrivateSlices
    from dpdb.suites.mechanism.capped import STEPS

    rules, suite = (
        ["not(t1.x > 0)", "not(t1.y > 0)"],
        "x: not(t1.x > 0)  fail above 0\ny: not(t1.y > 0)  fail above 1% of used rows",
    )
    suite += "\nn: row_count  fail below 1 of used rows"
    kinds = [(half, x, y) for half in (0, 1) for x in (0, 1) for y in (0, 1)]
    people = [[]] + [[kind] for kind in kinds] + [list(pair) for pair in combinations_with_replacement(kinds, 2)]

    def read(persons):
        rows = [(who, *row) for who, own in enumerate(persons) for row in own]
        columns = {
            name: pa.array([row[i] for row in rows], pa.int64()) for i, name in enumerate(["who", "half", "x", "y"])
        }
        with dpdb.open(pa.table(columns), constraints=rules, unit="who", max_rows=2) as session:
            run = prepare_check(session, suite, sizes=True, by="half", keys=[0, 1])
            slices = PrivateSlices(session.public.opened)
            try:
                return run.sizes, *run._exact(slices, [0, 1])
            finally:
                slices.forget()

    attained = set()
    for base in ([], [(0, 1, 1), (1, 1, 0)]):
        plan, a, f, n = read([base])
        assert isinstance(plan.drawn.others.moved, tuple)
        assert (plan.owned, plan.reach, plan.moved, plan.rows) == (True, 2, (2,), (2,))
        for more in people:
            _, b, g, m = read([base, more])
            others = sum(abs(y - x) for x, y in zip(f, g, strict=True))
            assert others <= STEPS * 2
            assert sum(abs(y - x) for x, y in zip(n, m, strict=True)) <= 2
            for k in plan.drawn.candidates:
                own = sum(abs(b.capped(i, k) - a.capped(i, k)) for i in range(4))
                assert own + others <= plan.drawn.sensitivity(k)
                attained |= {k} if own + others == plan.drawn.sensitivity(k) else set()
    assert attained == {1, 2, 3, 4}


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize("max_rows", [None, 2])
def test_a_set_of_tables_has_one_number_for_each_check(tmp_path: Path, max_rows: int | None) -> None:
    tables, suites = tmp_path / "tables", tmp_path / "suites"
    tables.mkdir()
    suites.mkdir()
    used = " of used rows" if max_rows else ""
    lines = f"a: not(t1.c1 > 0)  fail above 100\nb: not(t1.c2 > 0)  fail above 1%{used}\n"
    lines += f"c: row_count  fail below 10{used}\n"
    for name in ("one", "two"):
        pq.write_table(
            persons().append_column("person_id", pa.array([k // 2 for k in range(2_000)])), tables / f"{name}.parquet"
        )
        (suites / f"{name}.suite.txt").write_text(lines)
    with TableSet(tables, suites, unit="person_id", max_rows=max_rows) as opened:
        run = opened.prepare(epsilon=8, sizes=True)
        assert isinstance(run, SizesRun)
        assert len(run.sizes.local) == 4
        assert len(run.sizes.rows) == 2
        results = opened.run(run)
    rows = max_rows or 1  # counted are rows, or persons
    truth = {"a": 300 * rows, "b": 300 * rows - 10 * rows, "c": 1_000 * rows}
    for each in results:
        assert abs(each.number - truth[each.name.split(".")[1]]) < 100, each
    assert results.epsilon == 8


@pytest.mark.usefixtures("folder")
def test_each_constraint_names_it(capsys: pytest.CaptureFixture[str]) -> None:
    for count, named in ((3, False), (4, True)):
        Path("rules.txt").write_text("\n".join(f"not(t1.age > {i})" for i in range(count)))
        assert main(["measure", "t.parquet", "--constraints", "rules.txt", "--each-constraint", "--epsilon", "1"]) == 0
        assert ("--sizes" in capsys.readouterr().out) == named
