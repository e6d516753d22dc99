"""What `exact` lists row by row, against the definitions: conflicts, rows to delete, values to change."""

from __future__ import annotations

import csv
import itertools
import random
from collections import Counter, defaultdict
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from inside import true_numbers

from dpdb.doors.cli.main import main
from dpdb.errors import DpdbError, ParameterError
from dpdb.measures import EXACT
from dpdb.owner import EXACT_MEASURES, exact_measures
from dpdb.release import Session

RULES = ["zip -> city", "not(t1.age<0)", "not(t1.age>t2.age & t1.pay<t2.pay & t1.zip=t2.zip)"]


def _table(seed: int, rows: int = 40) -> pa.Table:
    random_ = random.Random(seed)
    return pa.table(
        {
            "name": [f'n{k}, "x"' for k in range(rows)],
            "zip": pa.array([random_.choice([None, 1, 2, 3, 4]) for _ in range(rows)], pa.int64()),
            "city": pa.array([random_.choice([None, "a", "a", "b", "c"]) for _ in range(rows)], pa.string()),
            "age": pa.array([random_.choice([None, -1, *range(12)]) for _ in range(rows)], pa.int64()),
            "pay": pa.array([random_.choice([None, *range(9)]) for _ in range(rows)], pa.int64()),
            "row": pa.array(range(rows), pa.int64()),
        }
    )


def _read(path: Path, table: str) -> list[dict[str, object]]:
    if path.suffix == ".csv":
        with path.open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))
    if path.suffix == ".parquet":
        return pq.read_table(path).to_pylist()
    with duckdb.connect(str(path), read_only=True) as connection:
        return connection.sql(f"FROM {table}").to_arrow_table().to_pylist()


def _shown(value: object) -> str:
    return "" if value is None else str(value)


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("where", [None, "pay > 2 OR pay IS NULL"])
def test_without_the_rows_of_a_repair_nothing_conflicts_and_they_are_fewest(
    tmp_path: Path, seed: int, where: str | None
) -> None:
    table, path = _table(seed), tmp_path / "repair.parquet"
    found = exact_measures(table, RULES, non_private=True, where=where, repair_rows=path, measures=["repair"])
    rows = [row["row"] for row in _read(path, "repair_rows")]
    assert len(set(rows)) == len(rows) == found.repair_upper == found.repair_lower > 0
    kept = table.take([k for k in range(table.num_rows) if k not in set(rows)])
    left = exact_measures(kept, RULES, non_private=True, where=where)
    assert (left.drastic, left.rows) == (0, found.rows - len(rows))


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(8))
def test_suggestions_are_the_strict_majorities_of_groups(tmp_path: Path, seed: int) -> None:
    table, path = _table(seed), tmp_path / "suggestions.parquet"
    exact_measures(table, RULES, non_private=True, suggestions=path, columns=["name"], where="pay IS NOT NULL")
    groups: dict[int, list[tuple[int, str]]] = defaultdict(list)
    names = table["name"].to_pylist()
    columns = (table[name].to_pylist() for name in ("zip", "city", "pay"))
    for row, (zip_, city, pay) in enumerate(zip(*columns, strict=True)):
        if zip_ is not None and city is not None and pay is not None:
            groups[zip_].append((row, city))
    expected = []
    for members in groups.values():
        counted = Counter(city for _, city in members).most_common()
        if len(counted) > 1 and counted[0][1] > counted[1][1]:
            expected += [
                (row, city, counted[0][0], counted[0][1], len(members), names[row])
                for row, city in members
                if city != counted[0][0]
            ]
    fields = ("row", "value", "suggested", "agreeing", "group_rows", "name")
    found = [tuple(row[field] for field in fields) for row in _read(path, "suggestions")]
    assert found == sorted(expected)


def test_a_dependency_on_nothing_suggests_the_majority_of_the_table(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    exact_measures(pa.table({"a": [1, 1, 2, None]}), "[] -> a", non_private=True, suggestions=path)
    assert [(row["row"], row["value"], row["suggested"]) for row in _read(path, "suggestions")] == [("2", "2", "1")]


@pytest.mark.heavy
@pytest.mark.parametrize("ending", [".csv", ".parquet", ".duckdb"])
def test_violations_show_the_columns_of_both_rows(tmp_path: Path, ending: str) -> None:
    table, path = _table(3), tmp_path / f"violations{ending}"
    exact_measures(table, RULES, non_private=True, violations=path, columns=["*"])
    listed = _read(path, "violations")
    rows = table.to_pylist()
    assert listed
    for line, side in itertools.product(listed, (1, 2)):
        place = line[f"row_{side}"]
        shown = [line[f"{name}_{side}" if name != "row" else f"row_{side}_"] for name in table.column_names]
        alone = place in (None, "")
        assert [_shown(x) for x in shown] == (
            [""] * len(shown) if alone else [_shown(x) for x in rows[int(str(place))].values()]
        )
    assert {line["constraint"] for line in listed if line["row_2"] in (None, "")} == {"not(t1.age<0)"}
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_rule_that_is_written_twice_is_listed_once(tmp_path: Path) -> None:
    """Its pairs stood twice under one text; two texts of one rule have them each."""
    path = tmp_path / "v.csv"
    rules = ["UNIQUE(a)", "a < 2", "UNIQUE(a)", "a < 2", "KEY(a)"]
    exact_measures(pa.table({"a": [1, 1, 2]}), rules, non_private=True, violations=path)
    listed = [(row["constraint"], row["row_1"], row["row_2"]) for row in _read(path, "violations")]
    assert listed == [("UNIQUE(a)", "0", "1"), ("a < 2", "2", ""), ("KEY(a)", "0", "1")]


@pytest.mark.heavy
@pytest.mark.parametrize("ending", [".csv", ".parquet", ".duckdb"])
def test_lists_of_a_clean_table_have_their_columns(tmp_path: Path, ending: str) -> None:
    files = {name: tmp_path / f"{name}{ending}" for name in ("violations", "repair_rows", "suggestions")}
    exact_measures(pa.table({"a": [1, 2]}), "UNIQUE(a)", non_private=True, columns=["a"], **files)
    assert all(_read(path, name) == [] for name, path in files.items())
    assert all(path.stat().st_size > 0 for path in files.values())


@pytest.mark.heavy
@pytest.mark.parametrize("name", EXACT)
def test_one_measure_alone_has_the_value_that_it_has_among_all(name: str) -> None:
    table = _table(5)
    everything = exact_measures(table, RULES, non_private=True).to_dict()
    alone = exact_measures(table, RULES, non_private=True, measures=[name]).to_dict()
    assert alone.items() <= everything.items()
    fields = EXACT_MEASURES[name].fields
    assert set(alone) == {"rows", "self_conflicts", "max_degree", "reasons", "judged", *fields}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"violations": "a.txt"}, "must end in .parquet, .csv or .duckdb"),
        ({"violations": "a.csv", "suggestions": "a.csv"}, "two lists cannot go into one file"),
        ({"columns": ["name"]}, "name one"),
        ({"violations": "a.csv", "columns": ["nmae"]}, "no column 'nmae'; the nearest is 'name'"),
        ({"measures": ["repiar"]}, "did you mean 'repair'"),
        ({"measures": []}, "at least one measure"),
        ({"violations": "a.csv", "unit": "name", "max_rows": 2}, "leave out the unit"),
    ],
)
def test_what_cannot_be_listed_is_refused_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, object], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DpdbError, match=message):
        exact_measures(_table(0), RULES, non_private=True, **options)
    assert not list(tmp_path.iterdir())


def test_a_list_never_replaces_a_file(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("mine", encoding="utf-8")
    with pytest.raises(ParameterError, match="exists"):
        exact_measures(_table(0), RULES, non_private=True, repair_rows=path)
    assert path.read_text(encoding="utf-8") == "mine"


@pytest.mark.heavy(family="long")
def test_the_command_lists_and_measures(
    tmp_path: Path, hospital: Path, hospital_constraints: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    repair, suggested = tmp_path / "repair.csv", tmp_path / "suggested.csv"
    command = ["exact", str(hospital), "--constraints", str(hospital_constraints), "--non-private"]
    lists = ["--repair-rows", str(repair), "--suggest", str(suggested), "--columns", "provider_number, city"]
    assert main([*command, "--measure", "repair", *lists]) == 0
    out = capsys.readouterr().out
    assert "repair_upper           50" in out
    assert "minimal_inconsistency" not in out
    assert len(_read(repair, "repair_rows")) == 50
    assert set(_read(suggested, "suggestions")[0]) >= {"provider_number", "city", "suggested"}
    assert main([*command, "--columns", "a,,b", "--violations", str(tmp_path / "v.csv")]) == 2


# Arrow has no such type, another range or another offset; DuckDB's own text says what they are.
ODD_VALUES = {
    "UHUGEINT": "340282366920938463463374607431768211455",
    "HUGEINT": "-170141183460469231731687303715884105728",
    "INTERVAL": "1 month",
    "BIT": "10101",
    "BLOB": "\\xFF\\x00",
    "UUID": "00000000-0000-0000-0000-00000000000a",
    "TIME": "24:00:00",
    "TIME WITH TIME ZONE": "12:00:00+05",
    "DATE": "infinity",
    "TIMESTAMP": "-infinity",
    "TIMESTAMP_NS": "2020-01-01 00:00:00.123456789",
    "DECIMAL(38,20)": "1.50000000000000000000",
}


@pytest.mark.heavy
@pytest.mark.parametrize("ending", [".csv", ".parquet", ".duckdb"])
@pytest.mark.parametrize("kind", ODD_VALUES)
def test_values_of_every_type_are_listed_as_they_are(tmp_path: Path, ending: str, kind: str) -> None:
    path, source, value = tmp_path / f"r{ending}", tmp_path / "t.duckdb", ODD_VALUES[kind]
    with duckdb.connect(str(source)) as connection:
        connection.execute(f"CREATE TABLE t AS SELECT 1 AS a, '{value}'::{kind} AS x FROM range(2)")
    exact_measures(source, "UNIQUE(a)", non_private=True, repair_rows=path, columns=["x"])
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{path if ending == '.duckdb' else source}' AS d (READ_ONLY); SET TimeZone = 'UTC'")
        name = {".csv": f"read_csv('{path}', all_varchar = true)", ".duckdb": "d.repair_rows"}.get(ending, f"'{path}'")
        assert connection.sql(f"SELECT x::{kind}::VARCHAR FROM {name}").fetchall() == [(value,)]


@pytest.mark.heavy
@pytest.mark.parametrize("ending", [".csv", ".parquet", ".duckdb"])
def test_columns_named_like_those_of_a_list_keep_apart(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"r{ending}"
    table = pa.table({"row": [5, 6], "row_": ["x", "y"], "a": [1, 1]})
    exact_measures(table, "UNIQUE(a)", non_private=True, repair_rows=path, columns=["*"])
    [row] = _read(path, "repair_rows")
    assert list(row) == ["row", "row__", "row_", "a"]
    assert (str(row["row__"]), row["row_"]) in {("5", "x"), ("6", "y")}


@pytest.mark.heavy
@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_a_long_list_is_in_order(tmp_path: Path, ending: str) -> None:
    path, rows = tmp_path / f"r{ending}", 130_000
    table = pa.table(
        {"a": pa.array([k // 2 for k in range(rows)]), "x": pa.array([(k * 7919) % rows for k in range(rows)])}
    )
    exact_measures(table, "CHECK (x < 0)", non_private=True, repair_rows=path, columns=["x"], measures=["repair"])
    assert [int(str(row["row"])) for row in _read(path, "repair_rows")] == list(range(rows))


def _violates(rule: str, one: dict[str, object], other: dict[str, object]) -> bool:
    """Return whether a rule of `_RULES_BY_THEMSELVES` denies a pair in this order; of one row, that row with itself."""

    def known(*values: object) -> bool:
        return None not in values

    (z, c, a, p), (z2, c2, a2, p2) = ([row[name] for name in ("zip", "city", "age", "pay")] for row in (one, other))
    return {
        "fd": known(z, c, z2, c2) and z == z2 and c != c2,
        "negative": known(a) and a < 0,  # type: ignore[operator]
        "order": known(z, a, p, z2, a2, p2) and z == z2 and a > a2 and p < p2,  # type: ignore[operator]
        "key": known(z, a, z2, a2) and z == z2 and a == a2,
        "no_zip": z is None,
        "crossed": known(a, p2) and a == p2,
    }[rule]


_RULES_BY_THEMSELVES = {
    "fd": ("fd: zip -> city", "fd_again: not(t1.city!=t2.city & t2.zip=t1.zip)"),
    "negative": ("negative: not(t1.age<0)", "negative_again: CHECK (age >= 0)"),
    "order": ("order: not(t1.age>t2.age & t1.pay<t2.pay & t1.zip=t2.zip)",),
    "key": ("key: UNIQUE(zip, age)", "key_again: UNIQUE(age, zip)"),
    "no_zip": ("no_zip: NOT NULL(zip)",),
    "crossed": ("crossed: not(t1.age=t2.pay)",),
}


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize("seed", range(30))
def test_every_rule_counts_lists_and_measures_by_itself_as_a_self_join_does(tmp_path: Path, seed: int) -> None:
    random_ = random.Random(seed)
    table, path = _table(seed, random_.choice([0, 1, 12, 40])), tmp_path / "violations.parquet"
    names = random_.sample(list(_RULES_BY_THEMSELVES), random_.randint(1, len(_RULES_BY_THEMSELVES)))
    rules = [(name, text) for name in names for text in _RULES_BY_THEMSELVES[name]]
    random_.shuffle(rules)
    where, lowest = random_.choice([(None, None), ("pay > 2", 2)])
    found = exact_measures(
        table, [text for _, text in rules], non_private=True, by_constraint=True, where=where,
        measures=["problematic", "minimal_inconsistency"], violations=path,
    )  # fmt: skip
    rows = [row for row in table.to_pylist() if lowest is None or (row["pay"] is not None and row["pay"] > lowest)]
    expected = []
    for name, _ in rules:
        if name in {"negative", "no_zip"}:
            expected.append([(row["row"], None) for row in rows if _violates(name, row, row)])
        else:
            pairs = itertools.combinations(rows, 2)
            expected.append([(i["row"], j["row"]) for i, j in pairs if _violates(name, i, j) or _violates(name, j, i)])
    assert [
        (rule.constraint, rule.violations, rule.measured and rule.measured.problematic)
        for rule in found.by_constraint or ()
    ] == [
        (text, len(pairs), len({row for pair in pairs for row in pair if row is not None}))
        for (_, text), pairs in zip(rules, expected, strict=True)
    ]
    listed = [(line["constraint"], line["row_1"], line["row_2"]) for line in _read(path, "violations")]
    assert listed == [(text, *pair) for (_, text), pairs in zip(rules, expected, strict=True) for pair in pairs]


@pytest.mark.heavy(family="long")
def test_a_rule_by_itself_is_what_a_release_for_each_constraint_measures() -> None:
    table, rules = _table(1), ["zip -> city", "UNIQUE(zip)", "CHECK (age >= 0)"]
    together = exact_measures(table, rules, non_private=True, by_constraint=True, measures=["repair"])
    for rule, text in zip(together.by_constraint or (), rules, strict=True):
        alone = exact_measures(table, [text], non_private=True, measures=["repair"])
        assert rule.measured is not None
        assert rule.measured.to_dict() | {"judged": alone.judged} == alone.to_dict() | {"judged": alone.judged}
    with Session(table, constraints=rules) as session:
        for position, rule in enumerate(together.by_constraint or ()):
            statistics = true_numbers(session).statistics(None, position)
            assert statistics.projected_edges([10**6]) == [rule.violations - statistics.self_conflicts]


def test_the_command_shows_measures_of_each_constraint(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.csv"
    path.write_text("zip,city\n1,a\n1,b\n1,b\n2,c\n", encoding="utf-8")
    command = ["exact", str(path), "--constraints", "zip -> city", "--non-private", "--by-constraint"]
    assert main([*command, "--measure", "repair", "--measure", "problematic"]) == 0
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "  violations   problematic  repair_fractional  repair_lower  repair_upper  constraint",
        "           2             3                  1             1             1  zip -> city",
    ]
