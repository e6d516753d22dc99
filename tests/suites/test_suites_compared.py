"""Tables compared as checks of a suite: counts by plain SQL, sensitivity, both ledgers, kept suites, kills."""

from __future__ import annotations

import itertools
import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pytest
from killed_set import KILLED

import dpdb
from dpdb.doors.cli.main import main
from dpdb.errors import ConstraintSyntaxError, DpdbError, ParameterError
from dpdb.ledger import Ledger
from dpdb.release import PrivateSlices
from dpdb.suites import prepare_check, register_suite
from dpdb.suites.suite import load_suite

CLINIC = """lost: COMPARE new BY id = new.pid  fail above 250 keys missing right
added: COMPARE new BY id = new.pid  fail above 250 keys missing left
moved: COMPARE new BY id = new.pid COLUMNS born, ward = new.place WHERE id >= 300  fail above 900 keys that differ
born: COMPARE new BY id = new.pid COLUMNS born  fail above 100 keys that differ
years: CHECK (born > 1900)
"""
EXACT = {
    "lost": "SELECT count(*) FROM (SELECT DISTINCT id FROM old WHERE id NOT IN (SELECT pid FROM new))",
    "added": "SELECT count(*) FROM (SELECT DISTINCT pid FROM new WHERE pid NOT IN (SELECT id FROM old))",
    "moved": "SELECT count(*) FROM old JOIN new ON id = pid WHERE id >= 300 AND (old.born, ward) <> (new.born, place)",
    "born": "SELECT count(*) FROM old JOIN new ON id = pid WHERE old.born <> new.born",
    "years": "SELECT count(*) FROM old WHERE NOT born > 1900",
}


@pytest.fixture
def clinic(tmp_path: Path) -> Path:
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as database:
        database.execute(
            "CREATE TABLE old AS SELECT i AS id, 1940 + i % 70 AS born, 'Ward ' || i % 9 AS ward FROM range(6000) t(i)"
        )
        database.execute(
            "CREATE TABLE new AS SELECT i AS pid, 1940 + i % 70 AS born, "
            "CASE WHEN i % 50 = 0 THEN 'none' ELSE 'Ward ' || i % 9 END AS place FROM range(300, 6100) t(i)"
        )
    (tmp_path / "suites").mkdir()
    (tmp_path / "ledgers").mkdir()
    (tmp_path / "suites" / "old.suite.txt").write_text(CLINIC)
    for name in ("old", "new"):
        Ledger.create(tmp_path / "ledgers" / f"{name}.ledger", 40).close()
    return tmp_path


def check(folder: Path, *more: str) -> int:
    words = ["check", str(folder / "clinic.duckdb"), str(folder / "suites"), "--epsilon", "8", "--ledger"]
    return main([*words, str(folder / "ledgers"), "--quiet", *more])


def check_one(folder: Path, *more: str) -> int:
    """The same suite of one table, with the other one declared."""
    words = ["check", str(folder / "clinic.duckdb"), str(folder / "suites" / "old.suite.txt"), "--table", "old"]
    ledgers = ["--ledger", str(folder / "ledgers" / "old.ledger"), "--private-parent", "new"]
    return main([*words, "--epsilon", "8", *ledgers, "--quiet", *more])


def parents(folder: Path) -> list[str]:
    return ["--parent-ledger", f"new={folder / 'ledgers' / 'new.ledger'}"]


def spent(folder: Path) -> dict[str, float]:
    found = {}
    for name in ("old", "new"):
        with Ledger.open(folder / "ledgers" / f"{name}.ledger") as ledger:
            found[name] = ledger.summary().spent
    return found


# -- what is counted and claimed ------------------------------------------------------------------------------------


def test_counts_are_those_of_plain_sql(clinic: Path) -> None:
    suite = load_suite(CLINIC)
    with (
        duckdb.connect(str(clinic / "clinic.duckdb"), read_only=True) as database,
        dpdb.open(clinic / "clinic.duckdb", table="old", constraints=suite.rules, private_parents=["new"]) as session,
    ):
        exact = {name: database.execute(query).fetchone()[0] for name, query in EXACT.items()}  # type: ignore[index]
        assert exact == {"lost": 300, "added": 100, "moved": 114, "born": 0, "years": 0}
        found = session.exact_checks(suite, non_private=True)
    assert {one.name: one.value for one in found} == exact


ROWS: list[tuple[int | None, int | None]] = [(None, 1), (1, None), (1, 1), (2, 1)]


def multisets(most: int) -> Iterator[tuple[tuple[int | None, int | None], ...]]:
    for size in range(most + 1):
        yield from itertools.combinations_with_replacement(ROWS, size)


def apart(left: Sequence[Any], right: Sequence[Any]) -> list[int]:
    """Keys missing left, missing right, and that differ, in plain Python."""
    found = [0, 0, 0]
    for key in {row[0] for row in (*left, *right)} - {None}:
        mine, theirs = ([row for row in side if row[0] == key] for side in (left, right))
        if mine and theirs:
            found[2] += Counter(mine) != Counter(theirs)
        else:
            found[1 if mine else 0] += 1
    return found


SMALL = "".join(f"COMPARE r BY k  fail above 0 {words}\n" for words in ("keys missing left", "keys missing right"))
SMALL += "COMPARE r BY k  fail above 0 keys that differ\n"


def written(database: duckdb.DuckDBPyConnection, table: str, rows: Sequence[Any]) -> None:
    database.execute(f"CREATE OR REPLACE TABLE {table} (k INTEGER, a INTEGER)")
    if rows:
        database.executemany(f"INSERT INTO {table} VALUES (?, ?)", list(rows))


@pytest.mark.parametrize(
    "share", [pytest.param(24, marks=pytest.mark.heavy), pytest.param(None, marks=pytest.mark.slow)]
)
def test_no_row_moves_a_check_by_more_than_is_claimed(share: int | None, tmp_path: Path) -> None:
    """Pairs of tables of at most 2 rows and all their neighbours: a sample, and under `slow` all of them."""
    pairs = list(itertools.product(multisets(2), multisets(2)))
    chosen = pairs if share is None else random.Random(53).sample(pairs, share)
    known: dict[Any, list[int]] = {}
    file = tmp_path / "small.duckdb"

    def numbers(left: Any, right: Any) -> tuple[list[int], Any]:
        with duckdb.connect(str(file)) as database:
            written(database, "l", left)
            written(database, "r", right)
        with dpdb.open(file, table="l", private_parents=["r"]) as session:
            run = prepare_check(session, SMALL, epsilon=1)
            counted = run.counted.counts(PrivateSlices(session.public.opened), None)
            return [int(count) for count, _ in counted], [each.tested for each in run.counted.limits]

    def kept(left: Any, right: Any) -> list[int]:
        key = tuple(sorted(left, key=repr)), tuple(sorted(right, key=repr))
        if key not in known:
            known[key], tested = numbers(*key)
            assert {(one.low, one.high) for one in tested} == {(Fraction(-1), Fraction(1))}
            assert known[key] == apart(*key)
        return known[key]

    largest, compared = 0, 0
    for left, right in chosen:
        here = kept(left, right)
        for row, place in itertools.product(ROWS, (0, 1)):
            sides = [left, right]
            sides[place] = (*sides[place], row)
            moved = [one - other for one, other in zip(kept(*sides), here, strict=True)]
            largest, compared = max(largest, *map(abs, moved)), compared + 1
    print(f"{len(known)} instances, {compared} pairs of neighbours, largest change of one check {largest}")
    assert largest == 1


def test_units_of_several_rows_move_several_keys(clinic: Path) -> None:
    settings: dict[str, Any] = {"table": "old", "private_parents": ["new"]}
    line = "COMPARE new BY id = new.pid  fail above 0 keys that differ"
    for more, reach in (({}, 1), ({"rows_per_person": 3}, 3), ({"unit": "id", "max_rows": 5}, 1)):
        with dpdb.open(clinic / "clinic.duckdb", **settings, **more) as session:
            [each] = prepare_check(session, line, epsilon=1).counted.limits
            assert (each.tested.low, each.tested.high) == (-reach, reach)
    with (
        dpdb.open(clinic / "clinic.duckdb", unit="born", max_rows=5, **settings) as session,
        pytest.raises(ParameterError, match=r"check .*: a unit \(born\) may have any number of keys"),
    ):
        prepare_check(session, line, epsilon=1)


# -- both ledgers ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["folder", "one table"])
def test_both_ledgers_pay_what_the_verdicts_cost(clinic: Path, way: str, capsys: pytest.CaptureFixture[str]) -> None:
    """300 keys are lost, and 250 may be; all else passes. Asked again the run costs nothing and says the same."""
    run = check if way == "folder" else lambda folder, *more: check_one(folder, *parents(folder), *more)
    assert run(clinic, "--run-id", "monday", "--format", "json") == 1
    found = json.loads(capsys.readouterr().out)
    results = found["tables"]["old"] if way == "folder" else found
    assert {one["name"] for one in results["checks"] if one["verdict"] == "fail"} >= {"lost"}
    [lost] = [one for one in results["checks"] if one["name"] == "lost"]
    assert lost["lower"] <= 300 <= lost["upper"]
    assert "of new" in results["guarantee"]
    assert spent(clinic) == {"old": results["epsilon"], "new": results["epsilon"]}
    assert 0 < results["epsilon"] < 8
    assert run(clinic, "--run-id", "monday", "--format", "json") == 1
    assert json.loads(capsys.readouterr().out) == found
    assert spent(clinic) == {"old": results["epsilon"], "new": results["epsilon"]}


def test_the_plan_names_both_ledgers_and_spends_nothing(clinic: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(clinic, "--dry-run") == 0
    assert "the ledger of new pays what this suite reserves, too" in capsys.readouterr().out
    assert spent(clinic) == {"old": 0, "new": 0}


def test_nothing_is_read_before_both_are_debited(clinic: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dpdb.database.database import Database

    seen: list[dict[str, float]] = []
    write = Database.write_file

    def looking(self: Database, *args: Any) -> None:
        seen.append(spent(clinic))
        write(self, *args)

    monkeypatch.setattr(Database, "write_file", looking)
    assert check(clinic) == 1
    assert seen
    assert all(one == {"old": 8, "new": 8} for one in seen)


@pytest.mark.parametrize("poor", ["old", "new"])
def test_one_ledger_that_cannot_pay_spends_nothing(clinic: Path, poor: str) -> None:
    (clinic / "ledgers" / f"{poor}.ledger").unlink()
    Ledger.create(clinic / "ledgers" / f"{poor}.ledger", 7).close()
    assert check(clinic) == 4
    assert check_one(clinic, *parents(clinic)) == 4
    assert spent(clinic) == {"old": 0, "new": 0}


def test_a_public_table_pays_nothing(clinic: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(clinic, "--public-parent", "new", "--format", "json") == 1
    assert spent(clinic)["new"] == 0
    assert "of new" not in json.loads(capsys.readouterr().out)["tables"]["old"]["guarantee"]


def test_a_zcdp_ledger_pays_in_rho(clinic: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("old", "new"):
        (clinic / "ledgers" / f"{name}.ledger").unlink()
        Ledger.create(clinic / "ledgers" / f"{name}.ledger", 40, "zcdp").close()
    assert check(clinic, "--format", "json") == 1
    results = json.loads(capsys.readouterr().out)["tables"]["old"]
    assert spent(clinic) == {"old": results["rho"], "new": results["rho"]}
    assert {one["name"] for one in results["checks"] if one["verdict"] == "fail"} >= {"lost"}


def test_numbers_of_all_checks(clinic: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check(clinic, "--sizes", "--format", "json")
    checks = json.loads(capsys.readouterr().out)["tables"]["old"]["checks"]
    exact = {"lost": 300, "added": 100, "moved": 114, "born": 0, "years": 0}
    for one in checks:
        assert one["lower"] is None or one["lower"] <= exact[one["name"]]
        assert one["upper"] is None or exact[one["name"]] <= one["upper"]
    assert spent(clinic) == {"old": 8, "new": 8}


def test_a_kept_suite_holds_both_ledgers_until_it_is_closed(clinic: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Later runs cost nothing; the other ledger knows no levels, and never gives its debit back."""
    for run in ("monday", "tuesday", "monday"):
        assert check_one(clinic, *parents(clinic), "--keep", "nightly", "--run-id", run) == 1
        assert spent(clinic) == {"old": 8, "new": 8}
    old, new = (clinic / "ledgers" / f"{name}.ledger" for name in ("old", "new"))
    assert main(["budget", "close", str(old), "nightly"]) == 0
    assert spent(clinic)["old"] < 8
    with Ledger.open(new) as ledger:
        [kept] = [each.name for each in ledger.suites()]
    assert main(["budget", "close", str(new), str(kept)]) == 0
    assert spent(clinic)["new"] == 8
    assert check_one(clinic, *parents(clinic), "--keep", "nightly", "--run-id", "friday") != 1
    capsys.readouterr()


@pytest.mark.heavy
@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("times", [1, 2])
def test_a_kill_between_the_debits_ends_at_the_right_sums(
    clinic: Path, times: int, keep: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["check", "clinic.duckdb", "suites/old.suite.txt", "--table", "old", "--epsilon", "8", "--quiet",
             "--ledger", "ledgers/old.ledger", "--private-parent", "new", "--parent-ledger", "new=ledgers/new.ledger",
             "--run-id", "monday", *(["--keep", "nightly"] if keep else [])]  # fmt: skip
    step = [sys.executable, "-c", KILLED, "one table debited", str(times), *words]
    done = subprocess.run(step, cwd=clinic, check=False, timeout=300)
    assert done.returncode == -9
    assert sorted(spent(clinic).values()) == [8 * (times - 1), 8]
    more = ["--run-id", "monday", *(["--keep", "nightly"] if keep else [])]
    assert check_one(clinic, *parents(clinic), *more, "--format", "json") == 1
    cost = json.loads(capsys.readouterr().out)["epsilon"]
    assert spent(clinic) == {"old": cost, "new": cost}
    assert (cost == 8) is keep
    for name in ("old", "new"):
        with Ledger.open(clinic / "ledgers" / f"{name}.ledger") as ledger:
            assert len(ledger.lines()) == 1


# -- what is refused by name ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("COMPARE new BY id = new.pid", "a limit after COMPARE"),
        ("COMPARE new BY id = new.pid  fail above 3", "keys that differ after COMPARE"),
        ("COMPARE new BY id = new.pid  fail above 1% ", "keys that differ after COMPARE"),
        ("COMPARE new BY id = new.pid  fail below 3 keys that differ", "'above'"),
        ("COMPARE new BY id = other.pid  fail above 3 keys that differ", "a column of 'new'"),
        ("COMPARE new ON id  fail above 3 keys that differ", "BY and the columns of the key"),
        ("CHECK (born > 1900)  fail above 3 keys that differ", "COMPARE and another table"),
        ("COMPARE new BY id  warn above 3 keys that differ, fail above 4 keys missing left", "about keys that differ"),
    ],
)
def test_lines_that_say_something_else(line: str, said: str) -> None:
    with pytest.raises(ConstraintSyntaxError, match=said):
        load_suite(line)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("COMPARE nobody BY id  fail above 0 keys that differ", "nobody has said whether the rows of 'nobody'"),
        ("COMPARE new BY id  fail above 0 keys that differ", "right table: there is no column 'id'"),
        ("COMPARE new BY id = new.pid COLUMNS ward = new.born  fail above 0 keys that differ", "are not compared"),
        ("COMPARE new BY id = new.pid COLUMNS id  fail above 0 keys that differ", "'id'"),
        (
            "COMPARE new BY id = new.pid WHERE born > 1950  fail above 0 keys that differ",
            "'born' is no column of the key",
        ),
    ],
)
def test_what_tables_do_not_have_is_named_with_the_check(clinic: Path, line: str, said: str) -> None:
    with (
        dpdb.open(clinic / "clinic.duckdb", table="old", private_parents=["new"]) as session,
        pytest.raises(DpdbError, match=f"check .*{said}"),
    ):
        prepare_check(session, line, epsilon=1)


def test_slices_units_and_missing_ledgers_are_refused(clinic: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check_one(clinic, *parents(clinic), "--where", "id > 3") == 2
    assert "and where is of the rows of one" in capsys.readouterr().err
    assert check_one(clinic) == 2
    assert "--parent-ledger new=FILE" in capsys.readouterr().err
    assert check_one(clinic, "--parent-ledger", f"other={clinic / 'ledgers' / 'new.ledger'}") == 2
    assert "there is no such private parent" in capsys.readouterr().err
    assert check_one(clinic, "--parent-ledger", f"new={clinic / 'ledgers' / 'old.ledger'}") == 2
    assert "two tables name one ledger" in capsys.readouterr().err
    words = ["check", str(clinic / "clinic.duckdb"), str(clinic / "suites"), "--epsilon", "8"]
    assert main([*words, "--unit", "id", "--quiet"]) == 2
    assert "tables with one unit are not compared" in capsys.readouterr().err
    assert spent(clinic) == {"old": 0, "new": 0}


def test_suites_that_are_registered_or_served_compare_nothing(clinic: Path) -> None:
    said = "check 'lost' compares two tables, and suites that are registered or served are of one"
    with pytest.raises(ParameterError, match=said):
        register_suite(
            "s",
            load_suite(CLINIC),
            lambda rules: dpdb.open(clinic / "clinic.duckdb", table="old", constraints=rules, private_parents=["new"]),
        )


JOB = """
name = "clinic"
source = "clinic.duckdb"
table = "old"
private_parents = ["new"]
ledger = "ledgers/old.ledger"
results = "results.duckdb"

[parent_ledgers]
new = "ledgers/new.ledger"

[[check]]
suite = "suites/old.suite.txt"
epsilon = 8
"""


@pytest.mark.heavy(family="long")
def test_a_job_compares_tables_and_debits_both(clinic: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (clinic / "job.toml").write_text(JOB)
    (clinic / "ledgers" / "new.ledger").unlink()
    assert main(["run", str(clinic / "job.toml"), "--run-id", "monday", "--quiet"]) == 2
    assert "no such file" in capsys.readouterr().err
    Ledger.create(clinic / "ledgers" / "new.ledger", 7).close()
    assert main(["run", str(clinic / "job.toml"), "--run-id", "monday", "--quiet"]) == 4
    assert spent(clinic) == {"old": 0, "new": 0}
    (clinic / "ledgers" / "new.ledger").unlink()
    Ledger.create(clinic / "ledgers" / "new.ledger", 9).close()
    for _ in range(2):
        assert main(["run", str(clinic / "job.toml"), "--run-id", "tuesday", "--quiet"]) == 1
        costs = spent(clinic)
        assert 0 < costs["old"] == costs["new"] < 8
    capsys.readouterr()
