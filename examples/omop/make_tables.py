"""A synthetic OMOP table set with planted errors of known number: `python make_tables.py FOLDER --persons 10000`.

All rows come from one seeded generator and are nobody's. `planted.json` says, check by check, how many rows and how
many persons violate: each error is planted in rows of its own.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

FEMALE, MALE = 8532, 8507
CONCEPTS = {  # concept: domain, class, standard
    FEMALE: ("Gender", "Gender", "S"), MALE: ("Gender", "Gender", "S"), 0: ("Metadata", "Undefined", None),
    9201: ("Visit", "Visit", "S"), 9202: ("Visit", "Visit", "S"), 32817: ("Type Concept", "Type Concept", "S"),
    8527: ("Race", "Race", "S"), 38003564: ("Ethnicity", "Ethnicity", "S"),
    201826: ("Condition", "Disorder", "S"), 316866: ("Condition", "Disorder", "S"),
    26662: ("Condition", "Disorder", "S"),
    44833556: ("Condition", "Billing Code", None), 1503297: ("Drug", "Ingredient", "S"),
    1308216: ("Drug", "Ingredient", "S"), 4132161: ("Route", "Qualifier Value", "S"),
    3004410: ("Measurement", "Lab Test", "S"), 3034426: ("Measurement", "Lab Test", "S"),
    194997: ("Condition", "Disorder", "S"), 194696: ("Condition", "Disorder", "S"),
    8554: ("Unit", "Unit", "S"), 8555: ("Unit", "Unit", "S"), 9529: ("Unit", "Unit", "S"),
}  # fmt: skip
DESCENDANT_OF = {  # concept: its ancestor, and the gender of those who have it
    194997: (4090861, MALE), 194696: (4095793, FEMALE)
}  # fmt: skip
TYPE, DEATHS_DAY, FIRST, LAST = 32817, 18_000, 14_610, 20_500  # days since 1970: 2010-01-01 and 2026-02-16
UNIT_OF = {3004410: 8554, 3034426: 8555}


class TableSet:
    """Columns by table, and what is planted in them."""

    def __init__(self, persons: int, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.persons = persons
        self.tables: dict[str, dict[str, np.ndarray]] = {}
        self.planted: list[dict[str, object]] = []
        self._used: dict[str, set[int]] = {}

    def plant(self, table: str, check: str, share: float, changes: Mapping[str, object], among: object = True) -> None:
        """Change the cells of a share or number of rows that no other error has, and note the check they violate."""
        columns = self.tables[table]
        size = len(columns["person_id"])
        used = self._used.setdefault(table, set())
        free = np.flatnonzero(np.broadcast_to(np.asarray(among), size) & ~np.isin(np.arange(size), list(used)))
        rows = self.rng.choice(free, size=number_of(share, size), replace=False)
        used.update(map(int, rows))
        for name, value in changes.items():
            cells = columns[name].astype(object) if value is None else columns[name]
            cells[rows] = value(rows) if callable(value) else value
            columns[name] = cells
        persons = len(np.unique(columns["person_id"][rows]))
        self.planted.append({"check": check, "table": table, "rows": len(rows), "persons": persons})


def number_of(share: float, size: int) -> int:
    """Return how many rows are meant: a share below 1, or a number."""
    return max(1, int(size * share)) if share < 1 else int(share)


def make(persons: int, seed: int, small: int = 20) -> TableSet:
    """Make all tables; each of the small errors is planted in so many rows."""
    made = TableSet(persons, seed)
    rng, ids = made.rng, np.arange(1, persons + 1)
    born = rng.integers(1930, 2005, persons)
    died = np.flatnonzero(rng.random(persons) < 0.05)
    made.tables["person"] = {
        "person_id": ids,
        "gender_concept_id": rng.choice([FEMALE, MALE], persons),
        "year_of_birth": born,
        "month_of_birth": rng.integers(1, 13, persons),
        "day_of_birth": rng.integers(1, 29, persons),
        "birth_datetime": (born - 1970) * 365 + rng.integers(10, 365, persons),
        "race_concept_id": np.full(persons, 8527),
        "ethnicity_concept_id": np.full(persons, 38003564),
    }
    made.tables["observation_period"] = {
        "observation_period_id": ids,
        "person_id": ids,
        "observation_period_start_date": np.full(persons, FIRST),
        "observation_period_end_date": np.full(persons, LAST),
        "period_type_concept_id": np.full(persons, TYPE),
    }
    made.tables["death"] = {
        "person_id": ids[died],
        "death_date": np.full(len(died), LAST),
        "death_type_concept_id": np.full(len(died), TYPE),
    }
    visits = _events(made, "visit_occurrence", 3, "visit_occurrence_id")
    visits["visit_concept_id"] = rng.choice([9201, 9202], len(visits["person_id"]))
    visits["visit_start_date"] = visits.pop("day")
    visits["visit_end_date"] = visits["visit_start_date"] + rng.integers(0, 5, len(visits["person_id"]))
    visits["visit_type_concept_id"] = np.full(len(visits["person_id"]), TYPE)
    _of_visit(made, "condition_occurrence", "condition", [201826, 316866, 26662], ends=True)
    drugs = _of_visit(made, "drug_exposure", "drug_exposure", [1503297, 1308216], ends=True, concept="drug")
    drugs["route_concept_id"] = np.full(len(drugs["person_id"]), 4132161)
    drugs["quantity"] = rng.integers(1, 90, len(drugs["person_id"])).astype(float)
    drugs["days_supply"] = rng.integers(1, 90, len(drugs["person_id"]))
    measured = _of_visit(made, "measurement", "measurement", list(UNIT_OF), ends=False)
    measured["unit_concept_id"] = np.vectorize(UNIT_OF.get)(measured["measurement_concept_id"])
    measured["value_as_number"] = np.round(rng.normal(7, 1, len(measured["person_id"])), 1)
    measured["unit_source_value"] = np.full(len(measured["person_id"]), "%", dtype=object)
    _plant(made, small)
    return made


def _events(made: TableSet, table: str, each: int, key: str) -> dict[str, np.ndarray]:
    persons = np.repeat(np.arange(1, made.persons + 1), made.rng.poisson(each, made.persons))
    made.tables[table] = {
        key: np.arange(1, len(persons) + 1),
        "person_id": persons,
        "day": made.rng.integers(FIRST, LAST - 40, len(persons)),
    }
    return made.tables[table]


def _of_visit(
    made: TableSet, table: str, stem: str, concepts: list[int], *, ends: bool, concept: str | None = None
) -> dict[str, np.ndarray]:
    visits, rng = made.tables["visit_occurrence"], made.rng
    places = np.repeat(np.arange(len(visits["person_id"])), rng.poisson(1.5, len(visits["person_id"])))
    size = len(places)
    start = f"{stem}_start_date" if ends else f"{stem}_date"
    columns = {
        f"{table}_id": np.arange(1, size + 1),
        "person_id": visits["person_id"][places],
        f"{concept or stem}_concept_id": rng.choice(concepts, size),
        start: visits["visit_start_date"][places],
        **({f"{stem}_end_date": visits["visit_start_date"][places] + rng.integers(0, 9, size)} if ends else {}),
        f"{concept or stem}_type_concept_id": np.full(size, TYPE),
        "visit_occurrence_id": visits["visit_occurrence_id"][places],
    }
    made.tables[table] = columns
    return columns


def _plant(made: TableSet, small: int) -> None:
    """Plant a few plain errors, which are found, and many of a few rows, which lie within the margins."""
    tables = made.tables
    visits, conditions, measured = (
        tables[name] for name in ("visit_occurrence", "condition_occurrence", "measurement")
    )
    last_visit = len(visits["person_id"])
    dead = np.isin(conditions["person_id"], tables["death"]["person_id"])
    late = {"condition_start_date": LAST + 90, "condition_end_date": LAST + 90, "visit_occurrence_id": None}

    def field(
        table: str, check: str, name: str, share: float, changes: Mapping[str, object], among: object = True
    ) -> None:
        made.plant(table, f"field_{check}_{table}_{name}", share, changes, among)

    field("person", "plausiblevaluelow", "month_of_birth", 0.15, {"month_of_birth": 0})
    field("person", "plausiblevaluelow", "year_of_birth", small, {"year_of_birth": 1700})
    field("person", "isforeignkey", "race_concept_id", small, {"race_concept_id": 999_999})
    field("person", "isrequired", "ethnicity_concept_id", small, {"ethnicity_concept_id": None})
    before = {"visit_end_date": lambda rows: visits["visit_start_date"][rows] - 3}
    field("visit_occurrence", "plausiblestartbeforeend", "visit_start_date", small, before)
    field("visit_occurrence", "plausiblevaluehigh", "visit_end_date", small, {"visit_end_date": 30_000})
    field("visit_occurrence", "isforeignkey", "visit_concept_id", 0.08, {"visit_concept_id": 999_999})
    coded = "condition_concept_id"
    field("condition_occurrence", "standardconceptrecordcompleteness", coded, 0.1, {coded: 0})
    field("condition_occurrence", "isstandardvalidconcept", coded, 0.08, {coded: 44833556})
    field("condition_occurrence", "fkdomain", coded, small, {coded: 1503297})
    lost = {"visit_occurrence_id": lambda rows: last_visit + rows}
    field("condition_occurrence", "isforeignkey", "visit_occurrence_id", small, lost)
    field("condition_occurrence", "plausibleduringlife", "condition_start_date", small, late, dead)
    field("drug_exposure", "isrequired", "drug_exposure_end_date", small, {"drug_exposure_end_date": None})
    field("drug_exposure", "plausiblevaluehigh", "days_supply", 0.08, {"days_supply": 4_000})
    check, units = (
        "concept_plausibleunitconceptids_measurement_measurement_concept_id_3034426",
        {"unit_concept_id": 9529},
    )
    made.plant("measurement", check, 0.1, units, measured["measurement_concept_id"] == 3034426)
    others = measured["measurement_concept_id"] != 3034426
    field("measurement", "isforeignkey", "unit_concept_id", small, {"unit_concept_id": 888_888}, others)
    _copy(made, "visit_occurrence", "field_isprimarykey_visit_occurrence_visit_occurrence_id", small)
    _second_periods(made, 0.1)
    _conditions_of_one_gender(made, small)


def _copy(made: TableSet, table: str, check: str, share: float) -> None:
    """Load some rows twice, of which no other error is: both violate a key."""
    columns, used = made.tables[table], made._used.setdefault(table, set())
    size = len(columns["person_id"])
    rows = made.rng.choice([row for row in range(size) if row not in used], number_of(share, size), replace=False)
    persons = len(np.unique(columns["person_id"][rows]))
    made.tables[table] = {name: np.concatenate([cells, cells[rows]]) for name, cells in columns.items()}
    made.planted.append({"check": check, "table": table, "rows": 2 * len(rows), "persons": persons})


def _second_periods(made: TableSet, share: float) -> None:
    """Give some persons a second period, which begins within the first."""
    columns = made.tables["observation_period"]
    size = len(columns["person_id"])
    rows = made.rng.choice(size, number_of(share, size), replace=False)
    added = {name: cells[rows].copy() for name, cells in columns.items()}
    added["observation_period_id"] = size + 1 + np.arange(len(rows))
    added["observation_period_start_date"] = np.full(len(rows), LAST - 100)
    made.tables["observation_period"] = {name: np.concatenate([cells, added[name]]) for name, cells in columns.items()}
    check = "table_measureobservationperiodoverlap_observation_period"
    made.planted.append({"check": check, "table": "observation_period", "rows": 2 * len(rows), "persons": len(rows)})


def _conditions_of_one_gender(made: TableSet, small: int) -> None:
    """Give persons conditions of their gender, and some of them one of the other gender."""
    conditions, gender = made.tables["condition_occurrence"], made.tables["person"]["gender_concept_id"]
    of, used = conditions["person_id"], made._used["condition_occurrence"]
    is_free = ~np.isin(np.arange(len(of)), list(used))
    for number, (concept, (ancestor, said)) in enumerate(DESCENDANT_OF.items()):
        conditions["condition_concept_id"][is_free & (of % 10 == number) & (gender[of - 1] == said)] = concept
        listed = "4090861,4025213" if said == MALE else "4095793,443343,4024004,4172857,444094,197810,4158481"
        check = f"concept_plausiblegenderusedescendants_condition_occurrence_condition_concept_id_{listed}"
        among = (of % 10 == number) & (gender[of - 1] != said)
        made.plant("condition_occurrence", check, small, {"condition_concept_id": concept}, among)
        assert ancestor in map(int, listed.split(","))


def write(made: TableSet, folder: Path) -> None:
    """Write a Parquet file for each table, those of concepts, and what was planted."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, columns in made.tables.items():
        table = pa.table({column: _arrow(column, cells) for column, cells in columns.items()})
        pq.write_table(table, folder / f"{name}.parquet")
    domain, kind, standard = zip(*CONCEPTS.values(), strict=True)
    concept = {
        "concept_id": pa.array(list(CONCEPTS), pa.int64()), "domain_id": pa.array(domain),
        "concept_class_id": pa.array(kind), "standard_concept": pa.array(standard, pa.string()),
        "invalid_reason": pa.array([None] * len(CONCEPTS), pa.string()),
    }  # fmt: skip
    pq.write_table(pa.table(concept), folder / "concept.parquet")
    ancestors = [*(ancestor for ancestor, _ in DESCENDANT_OF.values()), *CONCEPTS]  # each is one of itself, too
    related = {
        "ancestor_concept_id": pa.array(ancestors, pa.int64()),
        "descendant_concept_id": pa.array([*DESCENDANT_OF, *CONCEPTS], pa.int64()),
    }
    pq.write_table(pa.table(related), folder / "concept_ancestor.parquet")
    (folder / "planted.json").write_text(json.dumps(made.planted, indent=1) + "\n")


def _arrow(name: str, cells: np.ndarray) -> pa.Array:
    if name.endswith(("_date", "_datetime")):
        days = pa.array(cells.tolist(), pa.int32()).cast(pa.date32())
        return days if name.endswith("_date") else days.cast(pa.timestamp("us"))
    if cells.dtype == object:
        return pa.array(cells.tolist(), pa.string() if name.endswith("_value") else pa.int64())
    return pa.array(cells, pa.float64() if cells.dtype.kind == "f" else pa.int64())


def main() -> None:
    """Read the command line, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--persons", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--small", type=int, default=20, help="rows of each small error (default: 20)")
    options = parser.parse_args()
    made = make(options.persons, options.seed, options.small)
    write(made, options.folder)
    rows = {name: len(columns["person_id"]) for name, columns in made.tables.items()}
    print(", ".join(f"{name} {count:,}" for name, count in rows.items()))


if __name__ == "__main__":
    main()
