"""The checks of OHDSI's DataQualityDashboard (DQD), which its three CSV files set for the tables of an OMOP set.

A row violates where DQD counts it, unless the comment beside a line says otherwise. Checks that only the schema
decides, and those whose threshold is 100%, are left out: no private row decides them.

What a check says as a rule is a function for each, of the line of a file that asks for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple, TypeAlias

from dpdb.constraints import ROWS_IN_DUPLICATES, VIOLATIONS
from dpdb.errors import ParameterError
from dpdb.rules.found import Found
from dpdb.rules.importers.dqd_files import CheckFiles, Row, limit_term, source_column
from dpdb.rules.limits import NOTHING, Allowed, Bound, Counted, Severity, number
from dpdb.rules.options import Options
from dpdb.rules.texts import among, checked, column_name, found_in, keyed, looked_up, present, value

_SCHEMA = "the schema decides it, which is public"
_NEVER = "its threshold of 100% cannot be exceeded"
_FAILS = frozenset(
    [
        "measureObservationPeriodOverlap", "isRequired", "isPrimaryKey", "isForeignKey", "measurePersonCompleteness",
        "measureConditionEraCompleteness", "fkDomain", "fkClass", "isStandardValidConcept",
        "standardConceptRecordCompleteness", "sourceConceptRecordCompleteness",
    ]
)  # fmt: skip
"""What DQD calls fatal or a convention; what only characterizes data warns."""


def import_checks(files: CheckFiles, today: date | None, found: Found) -> None:
    """Read the checks of all tables.

    Parameters
    ----------
    today
        What GETDATE() stands for; without it checks about today are left out.
    found
        Takes rules, by table.
    """
    types = {(row["cdmTableName"], row["cdmFieldName"]): row["cdmDatatype"].lower() for row in files.fields}
    known = Known(types, today)
    for row in files.tables:
        for check, (table, write) in TABLE_CHECKS.items():
            if row[check] == "Yes":
                _take(found, table, _Check(row, "TABLE", check, write), known)
        _leave_unknown(found, row, "TABLE", TABLE_CHECKS)
    for level, rows, checks in (("FIELD", files.fields, FIELD_CHECKS), ("CONCEPT", files.concepts, CONCEPT_CHECKS)):
        for row in rows:
            for check, write in checks.items():
                if _asks(row, check):
                    _take(found, row["cdmTableName"], _Check(row, level, check, write), known)
            _leave_unknown(found, row, level, {*checks, "cdmDatatype"})
    _leave_schema(files, found)


def _leave_schema(files: CheckFiles, found: Found) -> None:
    """List how many checks of each table its schema decides."""
    counts = Counter((row["cdmTableName"], "cdmTable") for row in files.tables)
    for row in files.fields:
        counts[row["cdmTableName"], "cdmField"] += 1
        counts[row["cdmTableName"], "cdmDatatype"] += row["cdmDatatype"].lower() == "integer"
    for (table, check), count in counts.items():
        if count:
            found.table(table).leave(f"{check} ({count})", _SCHEMA)


class _Check(NamedTuple):
    """One check of a line."""

    row: Row
    level: str
    check: str
    write: Write

    @property
    def severity(self) -> Severity:
        """Whether it fails or warns."""
        return "fail" if self.check in _FAILS else "warn"


def _take(found: Found, table: str, check: _Check, known: Known) -> None:
    rules, name = found.table(table), _check_id(check.row, check.level, check.check)
    threshold = check.row[f"{check.check}Threshold"] or "0"
    percent = number(threshold)
    if percent is None or percent < 0:
        rules.leave(name, f"its threshold {threshold!r} is no percentage")
        return
    if percent >= 100:
        rules.leave(name, _NEVER)
        return
    try:
        text, counted, note = check.write(check.row, known)
    except ParameterError as error:
        rules.leave(name, str(error))
        return
    if check.check == "isPrimaryKey" and percent:
        counted = Counted(ROWS_IN_DUPLICATES, "share")  # at 0% the cheaper statistic has the same verdict
    allowed = Allowed((Bound(check.severity, percent / 100),), counted, percent=True, words=f"{threshold}%")
    rules.take(lambda: text, name, Options({}), note, name=name, allowed=lambda: allowed)


def _check_id(row: Row, level: str, check: str) -> str:
    """Return DQD's id of a check."""
    parts = (row.get(name, "") for name in ("cdmTableName", "cdmFieldName", "conceptId", "unitConceptId"))
    return "_".join(filter(None, (part.replace(" ", "") for part in (level, check, *parts)))).lower()


def _leave_unknown(found: Found, row: Row, level: str, known: Container[str]) -> None:
    """List the checks of a line that this version of dpdb does not know."""
    for column in row:
        check = column.removesuffix("Threshold")
        if check != column and check not in known and row.get(check) not in ("", "No", None):
            found.table(row["cdmTableName"]).leave(_check_id(row, level, check), "dpdb does not know this check")


_ALL, _KNOWN = Counted(VIOLATIONS, "share"), Counted(VIOLATIONS, "share of non-null")
_SELECTED = Counted(VIOLATIONS, "share of selected")
_DAYS_AFTER_DEATH, _DAYS_AROUND_VISIT = 60, 7
_GENDERS = {"male": 8507, "female": 8532}
_PERSONS = "DQD counts persons, not rows"
_ONCE = "DQD counts a row once for each of these concepts that it descends from"
_VALID = "concept.standard_concept IS NOT NULL AND concept.standard_concept = 'S' AND concept.invalid_reason IS NULL"


class Statement(NamedTuple):
    """A check as a rule, what its percentages are of, and in what it differs."""

    text: str
    counted: Counted
    note: str | None = None


@dataclass(frozen=True)
class Known:
    """What the files say of all fields, and what GETDATE() stands for."""

    types: Mapping[tuple[str, str], str]
    today: date | None


Write: TypeAlias = Callable[[Row, Known], Statement]


def _foreign_key(row: Row, known: Known) -> Statement:
    """Of two tables of persons it is about the person's own rows, as the unit is a person."""
    field, table, target = row["cdmFieldName"], row["fkTableName"].lower(), row["fkFieldName"].lower()
    both = all((each, "person_id") in known.types for each in (row["cdmTableName"], table))
    if both and field != "person_id":
        note = "the row that it refers to is to be of the same person"
        return Statement(found_in(["person_id", field], table, ["person_id", target]), _ALL, note)
    return Statement(found_in([field], table, [target]), _ALL)


def _completeness(row: Row, _: Known) -> Statement:
    """Write that a concept is not 0, nor missing where its source has a value."""
    field = column_name(row["cdmFieldName"])
    source = source_column(row["cdmTableName"], row["cdmFieldName"])
    if source is None:
        return Statement(checked(f"{field} <> 0"), _KNOWN)
    where = f"{field} IS NOT NULL OR {column_name(source)} IS NOT NULL"
    return Statement(f"CHECK ({field} IS NOT NULL AND {field} <> 0) WHERE {where}", _SELECTED)


def _low(row: Row, known: Known) -> Statement:
    term = limit_term(row["plausibleValueLow"], row["cdmDatatype"], known.today)
    return Statement(checked(f"{column_name(row['cdmFieldName'])} >= {term.text}"), _KNOWN)


def _high(row: Row, known: Known) -> Statement:
    """Write the largest value; of days all of the last one."""
    term = limit_term(row["plausibleValueHigh"], row["cdmDatatype"], known.today, next_day=True)
    sign = "<" if term.is_day else "<="
    return Statement(checked(f"{column_name(row['cdmFieldName'])} {sign} {term.text}"), _KNOWN)


def _start_before_end(row: Row, known: Known) -> Statement:
    end = row["plausibleStartBeforeEndFieldName"].lower()
    return _ordered(row["cdmTableName"], row["cdmFieldName"], end, _KNOWN, known)


def _temporal_after(row: Row, known: Known) -> Statement:
    """Write that a time does not lie before another one, of the row or of its person."""
    table, after = row["plausibleTemporalAfterTableName"].lower(), row["plausibleTemporalAfterFieldName"].lower()
    if table == row["cdmTableName"]:
        return _ordered(table, after, row["cdmFieldName"], _ALL, known)
    if table != "person":
        raise ParameterError(f"dpdb does not know what {table} has to do with the row")
    return _not_before(row, after, "person.year_of_birth, 6, 1", _ALL)


def _after_birth(row: Row, _: Known) -> Statement:
    """Write that a time does not lie before birth; a month or day of birth that is missing is the first one."""
    parts = "person.year_of_birth, coalesce(person.month_of_birth, 1), coalesce(person.day_of_birth, 1)"
    return _not_before(row, "birth_datetime", parts, _KNOWN)


def _before_death(row: Row, _: Known) -> Statement:
    """Write that a time lies at most 60 days after death; DQD's share is of the rows of the dead."""
    condition = f"{column_name(row['cdmFieldName'])} < death.death_date + {_DAYS_AFTER_DEATH + 1}"
    return Statement(looked_up(condition, "death", {"person_id": "person_id"}), NOTHING)


def _within_visit(row: Row, _: Known) -> Statement:
    """Write that a time lies within a week of its visit; DQD's share is of the rows that have one."""
    field, visit = column_name(row["cdmFieldName"]), "visit_occurrence"
    condition = (
        f"{field} >= {visit}.visit_start_date - {_DAYS_AROUND_VISIT} AND "
        f"{field} <= {visit}.visit_end_date + {_DAYS_AROUND_VISIT}"
    )
    keys = {"person_id": "person_id", "visit_occurrence_id": "visit_occurrence_id"}
    return Statement(looked_up(condition, visit, keys), NOTHING, "the visit is to be of the same person")


def _of_named_concept(condition: str, row: Row, counted: Counted) -> Statement:
    """Write what is so of the concept that a field names, unless that is 0 or unknown."""
    field = row["cdmFieldName"]
    return Statement(looked_up(condition, "concept", {field: "concept_id"}, f"{column_name(field)} <> 0"), counted)


def _gender(row: Row, _: Known) -> Statement:
    return Statement(_of_gender(row["plausibleGender"], _is_concept(row)), _SELECTED)


def _descendants(row: Row, _: Known) -> Statement:
    """Write the gender of those who have one of some concepts' descendants."""
    concepts = _concepts(row["conceptId"], "conceptId ")
    ancestors = among("ancestor_concept_id", concepts)
    descends = f"IN (SELECT descendant_concept_id FROM concept_ancestor WHERE {ancestors})"
    text = _of_gender(row["plausibleGenderUseDescendants"], f"{column_name(row['cdmFieldName'])} {descends}")
    return Statement(text, _SELECTED, _ONCE if len(concepts) > 1 else None)


def _of_gender(named: str, where: str) -> str:
    said = _GENDERS.get(named.lower())
    if said is None:
        raise ParameterError(f"{named!r} is neither Male nor Female")
    return looked_up(f"person.gender_concept_id = {said}", "person", {"person_id": "person_id"}, where)


def _units(row: Row, _: Known) -> Statement:
    """Write which units a concept's values have; -1 is for none, and 0 is another check."""
    allowed = [unit for unit in _concepts(row["plausibleUnitConceptIds"]) if unit != -1]
    where = f"{_is_concept(row)} AND (unit_concept_id <> 0 OR unit_concept_id IS NULL)"
    return Statement(f"CHECK ({among('unit_concept_id', [*allowed, 0])}) WHERE {where}", _SELECTED)


def _bound_of_concept(name: str, sign: str) -> Write:
    """Write a bound of a concept's values in one unit."""

    def write(row: Row, known: Known) -> Statement:
        term = limit_term(row[name], "float", known.today)
        where = f"{_is_concept(row)} AND {_is_concept(row, 'unit_concept_id', 'unitConceptId')}"
        text = f"CHECK (value_as_number {sign} {term.text}) WHERE {where} AND value_as_number IS NOT NULL"
        return Statement(text, _SELECTED)

    return write


def _source_values(_: Row, __: Known) -> Statement:
    raise ParameterError("it counts distinct values that have a row without concept, not rows")


def _overlap(_: Row, __: Known) -> Statement:
    """Write that periods of a person neither overlap nor touch: made a day longer they do not overlap."""
    start, end = "observation_period_start_date", "observation_period_end_date"
    text = f"not(t1.person_id = t2.person_id & t1.{start} <= t2.{end} + 1 & t2.{start} <= t1.{end} + 1)"
    return Statement(text, NOTHING, _PERSONS)


def _ordered(table: str, first: str, then: str, counted: Counted, known: Known) -> Statement:
    first, then = (_day_of(name, known.types.get((table, name))) for name in (first, then))
    return Statement(checked(f"{first} <= {then}"), counted)


def _not_before(row: Row, birth: str, parts: str, counted: Counted) -> Statement:
    """Write that a day does not lie before one of the person, which is made of parts where it is missing."""
    born = f"coalesce(CAST(person.{column_name(birth)} AS DATE), make_date({parts}))"
    condition = f"{_day_of(row['cdmFieldName'], row['cdmDatatype'].lower())} >= {born}"
    return Statement(looked_up(condition, "person", {"person_id": "person_id"}), counted)


def _day_of(name: str, datatype: str | None) -> str:
    """Write the day of a time."""
    return f"CAST({column_name(name)} AS DATE)" if datatype == "datetime" else column_name(name)


def _concepts(said: str, column: str = "") -> list[int]:
    """Read a list of concepts; the column is for the message."""
    found = [number(item.strip()) for item in said.split(",")]
    if any(concept is None or concept.denominator != 1 for concept in found):
        raise ParameterError(f"{column}{said!r} is no list of concepts")
    return [int(concept) for concept in found if concept is not None]


def _is_concept(row: Row, field: str | None = None, column: str = "conceptId") -> str:
    concept = number(row[column])
    if concept is None or concept.denominator != 1:
        raise ParameterError(f"{column} {row[column]!r} is no concept")
    return f"{column_name(field or row['cdmFieldName'])} = {int(concept)}"


_OF_KEYS = ("fkDomain", "fkClass")
_WITH_VALUE = ("plausibleValueLow", "plausibleValueHigh", "plausibleGender", "plausibleGenderUseDescendants")


def _asks(row: Row, check: str) -> bool:
    """Return whether a line of a field or a concept asks for a check: by Yes, or by a value of its own."""
    if check in _OF_KEYS:
        return row["isForeignKey"] == "Yes" and bool(row[check])
    if check == "plausibleUnitConceptIds":
        return bool(row["plausibleUnitConceptIdsThreshold"])
    return bool(row[check]) if check in _WITH_VALUE else row[check] == "Yes"


def _in_concept(column: str, check: str) -> Write:
    return lambda row, _: _of_named_concept(f"concept.{column} = {value(row[check])}", row, _ALL)


TABLE_CHECKS: dict[str, tuple[str, Write]] = {
    "measurePersonCompleteness": (
        "person", lambda row, _: Statement(found_in(["person_id"], row["cdmTableName"], ["person_id"]), _ALL)
    ),
    "measureConditionEraCompleteness": (
        "condition_occurrence",
        lambda row, _: Statement(
            found_in(["person_id"], row["cdmTableName"], ["person_id"], "condition_concept_id <> 0"), NOTHING, _PERSONS
        ),
    ),
    "measureObservationPeriodOverlap": ("observation_period", _overlap),
}  # fmt: skip
"""The table whose rows are checked, and what is."""

FIELD_CHECKS: dict[str, Write] = {
    "isRequired": lambda row, _: Statement(present(row["cdmFieldName"]), _ALL),
    "isPrimaryKey": lambda row, _: Statement(keyed([row["cdmFieldName"]]), _ALL),
    "isForeignKey": _foreign_key,
    "fkDomain": _in_concept("domain_id", "fkDomain"),
    "fkClass": _in_concept("concept_class_id", "fkClass"),
    "isStandardValidConcept": lambda row, _: _of_named_concept(_VALID, row, _KNOWN),
    "measureValueCompleteness": lambda row, _: Statement(present(row["cdmFieldName"]), _ALL),
    "standardConceptRecordCompleteness": _completeness,
    "sourceConceptRecordCompleteness": _completeness,
    "sourceValueCompleteness": _source_values,
    "plausibleValueLow": _low,
    "plausibleValueHigh": _high,
    "plausibleTemporalAfter": _temporal_after,
    "plausibleDuringLife": _before_death,
    "plausibleStartBeforeEnd": _start_before_end,
    "plausibleAfterBirth": _after_birth,
    "plausibleBeforeDeath": _before_death,
    "withinVisitDates": _within_visit,
}  # fmt: skip

CONCEPT_CHECKS: dict[str, Write] = {
    "plausibleValueLow": _bound_of_concept("plausibleValueLow", ">="),
    "plausibleValueHigh": _bound_of_concept("plausibleValueHigh", "<="),
    "plausibleGender": _gender,
    "plausibleGenderUseDescendants": _descendants,
    "plausibleUnitConceptIds": _units,
}

CHECKS: dict[str, Iterable[str]] = {"Table": TABLE_CHECKS, "Field": FIELD_CHECKS, "Concept": CONCEPT_CHECKS}
"""All of them, by the file that asks for them."""
