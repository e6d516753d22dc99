"""A set of tables is one suite: units in all tables, one debit, one ledger; missing tables and columns are named."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from inside import account_of

from dpdb.constraints import of_used_rows
from dpdb.doors.cli.main import main
from dpdb.errors import BudgetExceededError, DpdbError, EngineError, LedgerError, ParameterError, SourceError
from dpdb.ledger import Ledger
from dpdb.opening import open_local_table
from dpdb.suites import CheckRun, TableSet

SCHEMAS = {
    "person": pa.schema([("person_id", pa.int64()), ("born", pa.int64())]),
    "visit": pa.schema(
        [("person_id", pa.int64()), ("visit_id", pa.int64()), ("day", pa.int64()), ("kind", pa.int64())]
    ),
    "kind": pa.schema([("kind_id", pa.int64())]),
}
SUITES = {
    "person": """\
born: NOT NULL(born)
has_visit: person_id IN visit.person_id  fail above 50%
UNIQUE(person_id)
row_count WHERE born > 0  fail below 1
""",
    "visit": """\
of_person: person_id IN person.person_id
kinds: kind IN kind.kind_id  fail above 20% of non-null
day: CHECK (day >= 0) WHERE kind = 1  warn above 10% of selected, fail above 50% of selected
visits: UNIQUE(visit_id)  fail above 2 rows in duplicates
overlap: not(t1.person_id = t2.person_id & t1.day < t2.day & t1.kind > t2.kind)  fail above 25%
""",
}
Rows = Mapping[str, Sequence[tuple[int | None, ...]]]


def _written(folder: Path, rows: Rows, suites: Mapping[str, str] = SUITES) -> tuple[Path, Path]:
    tables, lines = folder / "tables", folder / "suites"
    for each in (tables, lines):
        each.mkdir(exist_ok=True)
    for name, schema in SCHEMAS.items():
        columns = [list(column) for column in zip(*rows[name], strict=True)] or [[] for _ in schema]
        pq.write_table(
            pa.table(dict(zip(schema.names, columns, strict=True)), schema=schema), tables / f"{name}.parquet"
        )
    for name, text in suites.items():
        (lines / f"{name}.suite.txt").write_text(text)
    return tables, lines


def _some(folder: Path, persons: int = 400, **changed: str) -> tuple[Path, Path]:
    """Write a set in which each fourth person has no birth, and each tenth visit an unknown kind."""
    rows: Rows = {
        "person": [(k, None if k % 4 == 0 else 1) for k in range(persons)],
        "visit": [(k % persons, k, 1, 9 if k % 10 == 0 else 1) for k in range(3 * persons)],
        "kind": [(1,), (2,)],
    }
    return _written(folder, rows, SUITES | changed)


def _opened(tables: Path, suites: Path, **options: object) -> TableSet:
    for path in suites.iterdir() if options.get("max_rows") else ():
        path.write_text("\n".join(map(of_used_rows, path.read_text().splitlines())))
    return TableSet(tables, suites, **{"unit": "person_id", "public_parents": {"kind": None}} | options)  # type: ignore[arg-type]


def _counts(folder: Path, rows: Rows, **options: object) -> list[tuple[Fraction, Fraction, Fraction]]:
    """Return of each test its statistic and its bounds, through the real code."""
    with _opened(*_written(folder, rows), **options) as tables:
        counted = tables.prepare().counted
        found = counted.counts(None, None)  # type: ignore[arg-type]
        return [
            (f - (each.tested.rate or 0) * n, each.tested.low, each.tested.high)
            for each, (f, n) in zip(counted.limits, found, strict=True)
        ]


# -- sensitivity ----------------------------------------------------------------------------------------------------


@pytest.mark.heavy
@pytest.mark.parametrize("max_rows", [None, 2])
def test_a_person_more_changes_no_statistic_by_more_than_its_bounds(tmp_path: Path, max_rows: int | None) -> None:
    _one_person_more(tmp_path, max_rows, 1)


@pytest.mark.slow
@pytest.mark.parametrize("max_rows", [None, 2])
def test_a_person_more_changes_no_statistic_of_many_sets(tmp_path: Path, max_rows: int | None) -> None:
    _one_person_more(tmp_path, max_rows, 20)


def _one_person_more(tmp_path: Path, max_rows: int | None, times: int) -> None:
    """Random sets, each with one whole person more in all tables: rows that others' rules and keys meet, too."""
    random, moved = Random(36), set()
    for _ in range(times):
        rows = _random_rows(random, range(4))
        more = _random_rows(random, [4])
        both = {name: [*rows[name], *more[name]] for name in ("person", "visit")} | {"kind": [(1,)]}
        before = _counts(tmp_path, {**rows, "kind": [(1,)]}, max_rows=max_rows)
        after = _counts(tmp_path, both, max_rows=max_rows)
        for place, ((f, low, high), (g, _, _)) in enumerate(zip(before, after, strict=True)):
            assert low <= g - f <= high
            if g != f:
                moved.add(place)
    assert len(moved) > (3 if times > 1 else 0)


def _random_rows(random: Random, persons: Sequence[int]) -> dict[str, list[tuple[int | None, ...]]]:
    some = [None, 0, 1]
    visits = [
        (
            person if random.random() < 0.9 else None,
            random.randrange(4),
            random.choice([None, -1, 0, 1]),
            random.choice([*some, 2]),
        )
        for person in persons
        for _ in range(random.randrange(5))
    ]
    people = [(person, random.choice(some)) for person in persons for _ in range(random.choice([0, 1, 1, 2]))]
    return {"person": people, "visit": visits}


RULES = {
    "CHECK (v >= 1)": lambda own: any(v is not None and v < 1 for _, v in own),
    "NOT NULL(v)": lambda own: any(v is None for _, v in own),
    "UNIQUE(p, k)": lambda own: any(a[0] is not None and a[0] == b[0] for a, b in combinations(own, 2)),
    "k -> v": lambda own: any(
        None not in (*a, *b) and a[0] == b[0] and a[1] != b[1] for a, b in combinations(own, 2)
    ),
    "not(t1.k < t2.k & t1.v > t2.v)": lambda own: any(
        None not in (*a, *b) and (a[0] - b[0]) * (a[1] - b[1]) < 0 for a, b in combinations(own, 2)
    ),
}  # fmt: skip


def test_owners_are_counted_as_by_hand_over_all_small_tables() -> None:
    _all_tables(2)


@pytest.mark.slow
def test_owners_are_counted_as_by_hand_over_more_tables() -> None:
    _all_tables(3)


def _all_tables(rows: int) -> None:
    """One table holds all small ones: each small table is an owner's, so each owner's indicator is seen by itself."""
    cells = [*product((None, 0, 1), (None, 0, 1))]
    owners = [own for size in range(1, rows + 1) for own in product(cells, repeat=size)]
    table = [(owner, *cell) for owner, own in enumerate(owners) for cell in own] + [(None, 0, 0), (None, 0, 1)]
    columns = dict(zip(("p", "k", "v"), map(list, zip(*table, strict=True)), strict=True))
    with open_local_table(
        pa.table({name: pa.array(c, pa.int64()) for name, c in columns.items()}), constraints=[*RULES]
    ) as opened:
        asked = [*opened.constraints, opened.where("v = 1 OR k = 0"), None]
        found = opened.count_owners("p", asked)
        [at_first] = opened.count_owners("p", [opened.where("p = 0")])
    by_hand = [sum(map(violates, owners)) for violates in RULES.values()]
    by_hand.append(sum(any(v == 1 or k == 0 for k, v in own) for own in owners))
    assert [*found, at_first] == [*by_hand, len(owners), 1]


# -- runs -----------------------------------------------------------------------------------------------------------


@pytest.mark.heavy(family="spending")
def test_a_set_is_checked_by_one_debit_which_is_answered_again(tmp_path: Path) -> None:
    tables, suites = _some(tmp_path, 4_000)
    Ledger.create(tmp_path / "set.ledger", 3).close()
    with _opened(tables, suites, ledger=tmp_path / "set.ledger") as opened:
        first = opened.check(epsilon=1, run_id="monday")
        assert opened.check(epsilon=1, run_id="monday").to_json() == first.to_json()
        verdict = {(each.name, each.severity): each.verdict for each in first}
        # 1,000 persons without birth, and a share of unknown kinds that is 10% of rows and of persons
        assert verdict["born", "fail"] == "fail"
        assert verdict["has_visit", "fail"] == verdict["of_person", "fail"] == verdict["kinds", "fail"] == "pass"
        assert "person_id with all its rows in person, visit" in first.guarantee
        spent = account_of(opened).spent()
        assert 0.25 < spent < 1
    with _opened(tables, suites, ledger=tmp_path / "set.ledger") as again:
        assert again.check(epsilon=1, run_id="monday").to_json() == first.to_json()
        assert account_of(again).spent() == spent
        with pytest.raises(BudgetExceededError):
            again.check(epsilon=3)
    for other in ({"max_rows": 3}, {"unit": "visit_id"}):
        with pytest.raises((LedgerError, ParameterError)):
            _opened(tables, suites, ledger=tmp_path / "set.ledger", **other).close()
    _some(tmp_path, 4_004)  # the next release of the data: an epoch, as of one table
    with _opened(tables, suites, ledger=tmp_path / "set.ledger") as changed, pytest.raises(LedgerError, match="epoch"):
        changed.check(epsilon=1)


@pytest.mark.heavy(family="long")
def test_a_set_whose_files_change_answers_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tables, suites = _some(tmp_path, 40)
    Ledger.create(tmp_path / "set.ledger", 3).close()
    read = CheckRun.read

    def changing(run: CheckRun, *arguments: Any) -> Any:
        draw = read(run, *arguments)
        for path in tables.iterdir():
            path.write_bytes(path.read_bytes())
        return draw

    monkeypatch.setattr(CheckRun, "read", changing)
    with _opened(tables, suites, ledger=tmp_path / "set.ledger") as opened:
        with pytest.raises(EngineError, match="failed after its budget was debited"):
            opened.check(epsilon=1)
        with pytest.raises(SourceError, match="changed after this session opened it"):
            opened.check(epsilon=1)
        assert account_of(opened).spent() == 1


@pytest.mark.heavy(family="spending")
def test_a_kept_set_costs_nothing_more(tmp_path: Path) -> None:
    tables, suites = _some(tmp_path)
    Ledger.create(tmp_path / "set.ledger", 1).close()
    with _opened(tables, suites, ledger=tmp_path / "set.ledger") as opened:
        for day in range(3):
            results = opened.check(epsilon=1, keep="nightly", run_id=f"day {day}")
            assert results.run == day + 1
            assert account_of(opened).spent() == 1


@pytest.mark.heavy(family="long")
def test_a_kept_set_that_fails_fails_since_the_day_of_its_run(tmp_path: Path) -> None:
    tables, suites = _some(tmp_path, person="born: NOT NULL(born)  fail above 1%\n")
    Ledger.create(tmp_path / "set.ledger", 1).close()
    found = []
    for day in ("2024-03-05", "2024-03-06"):
        with _opened(tables, suites, ledger=tmp_path / "set.ledger", day=day) as opened:
            found.append(opened.check(epsilon=1, keep="nightly", run_id=f"of {day}"))
    assert [each.verdict for each in found[0]].count("fail") == 1
    first, second = ([(each.name, each.since) for each in results if each.verdict == "fail"] for results in found)
    assert first[0][0].endswith("born")
    assert second == [(first[0][0], "2024-03-05")]


@pytest.mark.heavy(family="privacy")
def test_a_check_that_moves_to_another_table_is_another_suite(tmp_path: Path) -> None:
    Ledger.create(tmp_path / "set.ledger", 3).close()
    moved = "known: NOT NULL(person_id)\n"
    places = _some(tmp_path, person=f"a: NOT NULL(person_id)\n{moved}", visit="z: NOT NULL(person_id)\n")
    with _opened(*places, ledger=tmp_path / "set.ledger") as opened:
        opened.check(epsilon=1, run_id="monday")
    places = _some(tmp_path, person="a: NOT NULL(person_id)\n", visit=f"{moved}z: NOT NULL(person_id)\n")
    with _opened(*places, ledger=tmp_path / "set.ledger") as other, pytest.raises(DpdbError, match="monday"):
        other.check(epsilon=1, run_id="monday")


@pytest.mark.heavy(family="long")
def test_lines_may_write_a_parent_in_small_and_in_large_letters(tmp_path: Path) -> None:
    visit = "a: person_id IN person.person_id\nb: EXISTS PERSON BY person_id = Person.PERSON_ID\n"
    visit += (
        "c: kind IN kind.kind_id\nd: EXISTS KIND BY kind = Kind.Kind_ID\ne: CHECK (day < PERSON.BORN) BY person_id\n"
    )
    visit = visit.replace("BY person_id\n", "BY person_id = person.Person_ID\n")
    for most in (None, 3):
        with _opened(*_some(tmp_path, visit=visit), max_rows=most) as opened:
            found = dict(zip(opened.prepare().names[0], opened._counted_set.counts(None, None), strict=True))  # type: ignore[arg-type]
            assert found["a"][0] == found["b"][0] == 0
            assert found["c"][0] == found["d"][0] > 0
            assert found["e"][0] == (300 if most is None else 900)  # the visits of those with a birth are of that day


@pytest.mark.heavy(family="long")
def test_a_set_of_rows_used_holds_the_rows_of_one_table_at_a_time(tmp_path: Path) -> None:
    with _opened(*_some(tmp_path), max_rows=2) as opened:
        first = opened._counted_set.counts(None, None)  # type: ignore[arg-type]
        for table in opened._read:
            assert table.database.rows("SELECT table_name FROM duckdb_tables() WHERE database_name = 'memory'") == []
        assert opened._counted_set.counts(None, None) == first  # type: ignore[arg-type]


@pytest.mark.heavy(family="long")
def test_a_duckdb_file_is_a_set_and_the_command_says_what_is_not_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tables, suites = _some(
        tmp_path, drug="UNIQUE(drug_id)\nNOT NULL(person_id)\n", visit=SUITES["visit"] + "NOT NULL(note)\n"
    )
    with duckdb.connect(str(tmp_path / "set.duckdb")) as database:
        for name in SCHEMAS:
            database.execute(f"CREATE TABLE {name} AS FROM '{tables / name}.parquet'")
    shown = []
    for place in (tables, tmp_path / "set.duckdb"):
        asked = ["check", str(place), str(suites), "--unit", "person_id", "--public-parent", "kind", "--format", "json"]
        assert main([*asked, "--quiet"]) in (0, 1, 5)
        found = json.loads(capsys.readouterr().out)
        shown.append([(each["name"], each["limit"]) for each in found["checks"]])
        assert {each["reason"] for each in found["not_checked"]} == {
            "there is no table drug",
            "there is no column note",
        }
    assert shown[0] == shown[1]
    assert main([*asked[:-2], "--dry-run"]) == 0
    assert "Not checked: 3, for public reasons:" in capsys.readouterr().out


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("options", "suites", "said"),
    [
        ({"public_parents": {}}, {}, "declare it: --public-parent kind"),
        (
            {"public_parents": {"kind": None, "person": None}},
            {},
            "person has rows of units (person_id), which are protected: it cannot be public",
        ),
        ({"unit": "nobody"}, {}, "no check of"),
        ({}, {"visit": "visit_id IN person.person_id\n"}, "the unit must be a column of the rule's key"),
        ({}, {"visit": "person_id IN person.born\n"}, "person_id is compared with born of person"),
        ({}, {"visit": "CHECK (day > \n"}, "visit.suite.txt: line 1"),
    ],
)
def test_what_is_no_set_is_one_line_and_nothing_is_spent(
    tmp_path: Path, options: dict[str, object], suites: dict[str, str], said: str
) -> None:
    places = _some(tmp_path, **suites)
    with pytest.raises(DpdbError) as caught:
        _opened(*places, **options).close()
    assert said in str(caught.value).splitlines()[0]


def test_units_that_could_be_one_in_a_table_and_two_in_another_are_refused(tmp_path: Path) -> None:
    tables, suites = _some(tmp_path, visit="NOT NULL(day)\n", person="NOT NULL(born)\n")
    texts = pa.table({"person_id": ["1", "01"], "born": [1, 2]})
    pq.write_table(texts, tables / "person.parquet")
    with pytest.raises(ParameterError, match="whole numbers in all tables"):
        _opened(tables, suites).close()


@pytest.mark.heavy(family="privacy")
def test_two_tables_checks_of_one_name_are_told_apart(tmp_path: Path) -> None:
    both = {"visit": "known: NOT NULL(day)\n", "person": "Known: NOT NULL(born)\nown: UNIQUE(born)\n"}
    with _opened(*_some(tmp_path, **both)) as opened:
        assert opened.prepare().names == [["person.Known", "own", "visit.known"]]
