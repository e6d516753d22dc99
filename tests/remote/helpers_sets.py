"""Sets of tables, here as Parquet files and there in another engine, and what their suites count in both."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from dpdb.constraints import of_used_rows
from dpdb.suites import TableSet

DAY = date(2020, 1, 1)
SCHEMAS = {
    "person": pa.schema([("person_id", pa.int64()), ("born", pa.date32()), ("sex", pa.int32())]),
    "visit": pa.schema(
        [
            ("person_id", pa.int32()),
            ("visit_id", pa.int64()),
            ("day", pa.date32()),
            ("last", pa.date32()),
            ("kind", pa.int64()),
            ("note", pa.string()),
        ]
    ),
    "death": pa.schema([("person_id", pa.int64()), ("death_date", pa.date32())]),
    "concept": pa.schema([("concept_id", pa.int64()), ("domain", pa.string()), ("sex", pa.int32())]),
}
SUITES = {
    "person": """\
born: NOT NULL(born)
has_visit: person_id IN visit.person_id  fail above 50%
UNIQUE(person_id)
row_count WHERE sex > 0  fail below 1
seen: EXISTS visit BY person_id = visit.person_id  warn above 10%
""",
    "visit": """\
of_person: person_id IN person.person_id
kinds: kind IN concept.concept_id  fail above 20% of non-null
domain: kind IN concept.concept_id WHERE concept.domain = 'Visit'  warn above 5%
day: CHECK (day >= DATE '2020-01-05') WHERE kind = 1  warn above 10% of selected, fail above 50% of selected
order: CHECK (day <= last)  fail above 1% of non-null
born: CHECK (person.born < day + 1) BY person_id = person.person_id  fail above 1%
alive: CHECK (day - 7 <= death.death_date) BY person_id = death.person_id
sexes: CHECK (concept.sex = 1) BY kind = concept.concept_id WHERE visit_id > 3
visits: UNIQUE(visit_id)  fail above 2 rows in duplicates
twice: UNIQUE(person_id, day)
note: kind, day -> note
overlap: not(t1.person_id = t2.person_id & t1.day < t2.day & t1.kind > t2.kind)  fail above 25%
same: not(t1.person_id = t2.person_id & t1.visit_id = t2.visit_id & t1.day <= t2.last & t2.day <= t1.last)
""",
    "death": "once: UNIQUE(person_id)\nof: person_id IN person.person_id\n",
}
SUITES_OF_ROWS = {name: "\n".join(map(of_used_rows, text.splitlines())) for name, text in SUITES.items()}
OPTIONS: dict[str, Any] = {"unit": "person_id", "public_parents": {"concept": None}}


def random_tables(random: Random, persons: int) -> dict[str, pa.Table]:
    """A set in which every rule is broken by some, and NULL is everywhere."""

    def day(chance: float = 0.1) -> date | None:
        return None if random.random() < chance else DAY + timedelta(random.randrange(12))

    def some(value: Any, chance: float = 0.1) -> Any:
        return None if random.random() < chance else value

    rows: dict[str, list[tuple[Any, ...]]] = {"person": [], "visit": [], "death": []}
    for person in range(persons):
        rows["person"] += [
            (some(person, 0.05), day(), some(random.randrange(3))) for _ in range(random.choice([0, 1, 1, 1, 2]))
        ]
        for _ in range(random.choice([0, 1, 2, 4])):
            visit = (some(person, 0.05), some(random.randrange(persons)), day(), day(), some(random.randrange(5)))
            rows["visit"] += [(*visit, some(random.choice(["", "a", "A"])))] * random.choice([1, 1, 1, 2])
        if random.random() < 0.3:
            rows["death"] += [(person, day()) for _ in range(random.choice([1, 1, 2]))]
    rows["concept"] = [(k, random.choice(["Visit", "Drug", None]), random.choice([1, 2, None])) for k in range(4)]
    return {
        name: pa.table(
            dict(zip(schema.names, map(list, zip(*rows[name], strict=True)) if rows[name] else [[]] * 9, strict=False)),
            schema=schema,
        )
        for name, schema in SCHEMAS.items()
    }


def written(folder: Path, tables: Mapping[str, pa.Table], suites: Mapping[str, str] = SUITES) -> tuple[Path, Path]:
    """Write a set and its suites as files."""
    places = folder / "tables", folder / "suites"
    for each in places:
        each.mkdir(parents=True, exist_ok=True)
    for name, rows in tables.items():
        pq.write_table(rows, places[0] / f"{name}.parquet")
    for name, text in suites.items():
        (places[1] / f"{name}.suite.txt").write_text(text)
    return places


def counts(opened: TableSet) -> dict[str, tuple[Fraction, int, Fraction, Fraction, str]]:
    """Return of each test its exact count, what a share is of, and by how much one unit changes it."""
    counted = opened.prepare().counted
    counted.rehearse(None)
    found = counted.counts(None, None)  # type: ignore[arg-type]
    lines = counted.suite.lines
    return {
        f"{each.name} {each.limit.identity()}": (*one, each.tested.low, each.tested.high, lines[each.line].statistic)
        for each, one in zip(counted.limits, found, strict=True)
    }


def compare(here: Path, there: Any, suites: Path, **options: Any) -> dict[str, Any]:
    """Assert that the same is counted of a folder and of a place elsewhere, check by check, and return it.

    Of rows at most so many of a unit are used that none is left out: which are is decided by each engine's own hash.
    """
    asked = OPTIONS | options
    of_folder = {name: value for name, value in asked.items() if name not in ("table", "gather_rows")}
    with TableSet(here, suites, **of_folder) as opened:
        wanted, left_out = counts(opened), opened.not_checked
    with TableSet(there, suites, **asked) as opened:
        assert counts(opened) == wanted
        assert opened.not_checked == left_out
    return wanted
