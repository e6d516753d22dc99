"""A set of tables whose rules have members, `x IN (SELECT ...)` of a public table: the counts of plain SQL."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

from dpdb.constraints import of_used_rows
from dpdb.suites import TableSet

A, B = "kind IN (SELECT kind_id FROM kind WHERE open)", "kind NOT IN (SELECT kind_id FROM kind WHERE open = false)"
RULES = {  # rule and limit; the rows that violate it; the rows that a share is of
    "one": (f"CHECK ({A} OR day > 3)", "", f"NOT ({A} OR day > 3)", None),
    "share": (f"CHECK ({A})  fail above 10%", "", f"NOT ({A})", "true"),
    "known": (f"CHECK ({A})  fail above 10% of non-null", "", f"NOT ({A})", "kind IS NOT NULL"),
    "selected": ("CHECK (day > 3)", A, f"day <= 3 AND {A}", A),
    "both": (f"CHECK (day > 3 OR ({A}))", f"({B}) OR day = 0", f"NOT (day > 3 OR ({A})) AND (({B}) OR day = 0)",
             f"({B}) OR day = 0"),
    "looked up": ("CHECK (day >= person.born) BY person_id = person.person_id", B,
                  f"({B}) AND EXISTS (FROM person p WHERE p.person_id = visit.person_id AND day < p.born)", B),
    "key": ("person_id IN person.person_id", A, f"({A}) AND person_id IS NOT NULL AND person_id NOT IN "
            "(SELECT person_id FROM person WHERE person_id IS NOT NULL)", A),
}  # fmt: skip
SUITE = "".join(
    f"{name.replace(' ', '_')}: {rule}"
    + (f" WHERE {where}  fail above 10% of selected" if where else "" if "fail" in rule else "  fail above 3")
    + "\n"
    for name, (rule, where, _, _) in RULES.items()
)
TABLES = {
    "person": "SELECT i AS person_id, i % 5 AS born FROM range(70) r(i)",  # of 80: some visits are orphans
    "visit": "SELECT nullif(i % 80, 3) AS person_id, i * 31 % 7 AS day, nullif(i * 17 % 6, 5) AS kind "
    "FROM range(300) r(i)",
    "kind": "SELECT * FROM (VALUES (0, true), (1, false), (2, NULL), (NULL, true), (3, true), (3, false), (4, true)) "
    "k(kind_id, open)",
}


def expected(database: duckdb.DuckDBPyConnection, counted: str, condition: str | None) -> int:
    if condition is None:
        return 0
    # NULLs of the parent equal nothing, also under NOT IN.
    condition = condition.replace("FROM kind WHERE", "FROM kind WHERE kind_id IS NOT NULL AND")
    found = database.execute(f"SELECT {counted} FROM visit WHERE {condition}").fetchone()
    assert found is not None
    return int(found[0])


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize("max_rows", [None, 50])
@pytest.mark.parametrize("is_folder", [False, True])
def test_members_in_a_set_are_counted_as_in_plain_sql(tmp_path: Path, max_rows: int | None, *, is_folder: bool) -> None:
    """Persons that have such rows, and rows: of both, and of the rows that the rules select."""
    (tmp_path / "suites").mkdir()
    lines = SUITE.splitlines() if max_rows is None else map(of_used_rows, SUITE.splitlines())
    (tmp_path / "suites" / "visit.suite.txt").write_text("\n".join(lines))
    (tmp_path / "tables").mkdir()
    with duckdb.connect(str(tmp_path / "set.duckdb")) as database:
        for name, query in TABLES.items():
            database.execute(f"CREATE TABLE {name} AS {query}")
            database.execute(f"COPY {name} TO '{tmp_path / 'tables' / name}.parquet'")
        counted = "count(DISTINCT person_id)" if max_rows is None else "count(person_id)"
        wanted = {
            name.replace(" ", "_"): (expected(database, counted, broken), expected(database, counted, share))
            for name, (_, _, broken, share) in RULES.items()
        }
    source = tmp_path / ("tables" if is_folder else "set.duckdb")
    with TableSet(
        source, tmp_path / "suites", unit="person_id", public_parents={"kind": None}, max_rows=max_rows
    ) as opened:
        assert not opened.not_checked
        found = opened._counted_set.counts(None, None)  # type: ignore[arg-type]
        names = opened.prepare().names[0]
    assert dict(zip(names, found, strict=True)) == {name: (Fraction(f), n) for name, (f, n) in wanted.items()}
    assert len(set(wanted.values())) > 5
