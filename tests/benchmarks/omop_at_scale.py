"""A synthetic set of all OMOP tables of any size, made by DuckDB: `omop_at_scale.py FOLDER --dqd FILES --persons N`.

FILES is the folder of DQD's CSV files, which name the tables, their columns and types. Rows come from hashes of their
places, so they are the same each time, and are nobody's; memory does not grow with their number. Cells are wrong by
chance: one in 50,000 or so is NULL, an unknown concept, an end before its start, a value beyond its limits.
"""

from __future__ import annotations

import argparse
import csv
from collections import defaultdict
from pathlib import Path

import duckdb

PER_PERSON = {
    "person": 1, "observation_period": 1, "visit_occurrence": 4, "visit_detail": 1, "condition_occurrence": 4,
    "drug_exposure": 4, "procedure_occurrence": 2, "measurement": 5, "observation": 2, "device_exposure": 0.4,
    "note": 1, "specimen": 0.2, "death": 0.05, "condition_era": 1, "drug_era": 1, "dose_era": 0.2, "episode": 0.1,
    "payer_plan_period": 1,
}  # fmt: skip
OTHERS = {"care_site": 500, "location": 20_000, "provider": 20_000}
FILLING, IN_POOL, UNKNOWN = 200_000, 40, 1_999_999_999
FIRST_DAY, DAYS, WRONG = "DATE '2010-01-01'", 5_500, 50_000
Row = dict[str, str]


class Made:
    """Writes tables."""

    def __init__(self, dqd: Path, folder: Path, persons: int) -> None:
        self.folder, self.persons = folder, persons
        self.fields: dict[str, list[Row]] = defaultdict(list)
        for row in _csv(dqd, "Field"):
            self.fields[row["cdmTableName"].lower()].append({**row, "name": row["cdmFieldName"].lower()})
        self.pools: dict[tuple[str, str], list[int]] = defaultdict(list)
        for row in _csv(dqd, "Concept"):
            if row["conceptId"].isdigit():
                self.pools[row["cdmTableName"].lower(), row["cdmFieldName"].lower()].append(int(row["conceptId"]))
        self.concepts: dict[int, tuple[str, str]] = {8507: ("Gender", "Gender"), 8532: ("Gender", "Gender")}
        self._number = 3_000_000
        self.database = duckdb.connect(config={"threads": 1, "memory_limit": "1GB"})

    def table(self, name: str) -> int:
        """Write a table of persons."""
        mean = PER_PERSON[name]
        wanted = f"{mean}" if mean == 1 else f"(hash(p, '{name}') % {int(20 * mean) + 1}) / 10.0 + 0.5"
        if mean < 1:
            wanted = f"(hash(p, '{name}') % 1000 < {int(1000 * mean)})::INTEGER"
        rows = (
            f"SELECT p, j, p * 64 + j AS row FROM (SELECT range AS p FROM range(1, {self.persons + 1})), "
            f"LATERAL unnest(range(({wanted})::BIGINT)) AS u(j)"
        )
        cells = [f"{self._cell(name, field)} AS {field['name']}" for field in self.fields[name]]
        return self._write(name, f"SELECT {', '.join(cells)} FROM ({rows})")

    def other(self, name: str) -> int:
        """Write a table that belongs to nobody."""
        key = f"{name}_id"
        cells = [f"range AS {key}"]
        cells += [
            f"'{f['name']} ' || range % 97 AS {f['name']}" for f in self.fields[name] if "char" in f["cdmDatatype"]
        ]
        return self._write(name, f"SELECT {', '.join(cells)} FROM range(1, {OTHERS[name] + 1})")

    def vocabulary(self) -> int:
        """Write the concepts: those that tables use, and others."""
        used = ", ".join(f"({key}, '{d}', '{c}')" for key, (d, c) in self.concepts.items())
        known = f"SELECT * FROM (VALUES {used}, (0, 'Metadata', 'Undefined')) AS v(concept_id, domain_id, class_id)"
        more = f"SELECT 50000000 + range, 'Observation', 'Clinical Finding' FROM range({FILLING})"
        return self._write(
            "concept",
            "SELECT concept_id::INTEGER AS concept_id, 'concept ' || concept_id AS concept_name, domain_id, "
            "'SNOMED' AS vocabulary_id, class_id AS concept_class_id, 'S' AS standard_concept, "
            "concept_id::VARCHAR AS concept_code, DATE '1970-01-01' AS valid_start_date, "
            f"DATE '2099-12-31' AS valid_end_date, NULL::VARCHAR AS invalid_reason FROM ({known} UNION ALL {more})",
        )

    def _write(self, name: str, query: str) -> int:
        path = self.folder / f"{name}.parquet"
        self.database.execute(f"COPY ({query}) TO '{path}' (FORMAT parquet)")
        [count] = self.database.execute(f"SELECT count(*) FROM '{path}'").fetchone() or (0,)
        return int(count)

    def _cell(self, table: str, field: Row) -> str:
        name, kind = field["name"], field["cdmDatatype"].lower()
        chance = f"hash(row, '{table}.{name}')"
        value = self._value(table, field, name, kind, chance)
        if name == "person_id":
            return value
        missing = WRONG if field["isRequired"] == "Yes" or name.endswith("birth_datetime") else 4
        return f"CASE WHEN {chance} // 7 % {missing} = 1 THEN NULL ELSE {value} END"

    def _value(self, table: str, field: Row, name: str, kind: str, chance: str) -> str:
        if name == "person_id":
            return "p::INTEGER"
        if name in {f"{table}_id", "note_id", "episode_id"}:
            return f"(row - (hash(row, 'double') % {WRONG} = 1)::INTEGER)"
        if name == "visit_occurrence_id":
            return f"CASE WHEN {chance} % {WRONG} = 2 THEN 7 ELSE p * 64 END"
        for other, count in OTHERS.items():
            if name == f"{other}_id":
                return f"(1 + {chance} % {count})::INTEGER"
        if name.endswith("concept_id"):
            pool = ", ".join(map(str, self._pool(table, field)))
            wrong = f"WHEN {chance} % {WRONG} = 2 THEN {UNKNOWN} WHEN {chance} % 100 = 3 THEN 0"
            return (
                f"CASE {wrong} ELSE ([{pool}]::INTEGER[])[(1 + {chance} % {len(self._pool(table, field))})::BIGINT] END"
            )
        if kind in {"date", "datetime"}:
            return self._day(table, name, kind, chance)
        return self._plain(name, kind, chance)

    @staticmethod
    def _plain(name: str, kind: str, chance: str) -> str:
        if name in {"year_of_birth", "month_of_birth", "day_of_birth"}:
            low, many = {"year": (1930, 80), "month": (1, 12), "day": (1, 28)}[name.partition("_")[0]]
            return f"({low} + {chance} % {many})::INTEGER"
        if "char" in kind:
            return f"'v' || ({chance} % 1000)"
        if kind == "float":
            return f"({chance} % 1000) / 10.0"
        return f"(CASE WHEN {chance} % {WRONG} = 2 THEN 100000 ELSE 1 + {chance} % 60 END)::INTEGER"

    @staticmethod
    def _day(table: str, name: str, kind: str, chance: str) -> str:
        after = f"({chance} % 5)" if "end" in name else "0"
        begin = f"hash(p, {0 if table == 'visit_occurrence' else 'j // 2'}, 'day') % {DAYS}"
        day = f"{FIRST_DAY} + ({begin} + {after} - CASE WHEN {chance} % {WRONG} = 2 THEN 30000 ELSE 0 END)::INTEGER"
        if "birth" in name:
            day = f"DATE '1930-01-01' + ({chance} % 27000)::INTEGER"
        elif table == "death":
            day = "DATE '2026-01-01'"
        elif table in {"observation_period", "payer_plan_period"}:
            day = FIRST_DAY if "start" in name else "DATE '2026-02-16'"
        return day if kind == "date" else f"(({day})::TIMESTAMP + INTERVAL 8 HOUR)"

    def _pool(self, table: str, field: Row) -> list[int]:
        key = (table, field["name"])
        if field["name"] == "gender_concept_id":
            return [8507, 8532]
        if key not in self.pools or self.pools[key][0] not in self.concepts:
            first, self._number = self._number, self._number + IN_POOL
            self.pools[key] += range(first, first + IN_POOL)
            said = (field["fkDomain"] or "Observation", field["fkClass"] or "Clinical Finding")
            self.concepts.update(dict.fromkeys(self.pools[key], said))
        return self.pools[key]


def _csv(dqd: Path, level: str) -> list[Row]:
    with (dqd / f"OMOP_CDMv5.4_{level}_Level.csv").open(encoding="utf-8-sig") as file:
        return list(csv.DictReader(file))


def main() -> None:
    """Read the command line, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--dqd", type=Path, required=True)
    parser.add_argument("--persons", type=int, default=1_000_000)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    made = Made(options.dqd, options.folder, options.persons)
    rows = {name: made.table(name) for name in PER_PERSON}
    for name in OTHERS:
        made.other(name)
    print(", ".join(f"{name} {count:,}" for name, count in rows.items()))
    print(f"rows {sum(rows.values()):,}; concepts {made.vocabulary():,}")


if __name__ == "__main__":
    main()
