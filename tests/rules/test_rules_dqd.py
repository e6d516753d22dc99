"""DataQualityDashboard's three files become suites: its ids, thresholds and severities, and what is left out."""

from __future__ import annotations

import csv
from datetime import date
from pathlib import Path

import pytest

from dpdb.doors.cli.main import main
from dpdb.errors import ParameterError
from dpdb.rules import ImportedRules, import_dqd
from dpdb.suites import load_suite

_FIELD_CHECKS = [
    "isRequired",
    "isPrimaryKey",
    "isForeignKey",
    "fkDomain",
    "fkClass",
    "isStandardValidConcept",
    "measureValueCompleteness",
    "standardConceptRecordCompleteness",
    "sourceConceptRecordCompleteness",
    "sourceValueCompleteness",
    "plausibleValueLow",
    "plausibleValueHigh",
    "plausibleTemporalAfter",
    "plausibleDuringLife",
    "plausibleStartBeforeEnd",
    "plausibleAfterBirth",
    "plausibleBeforeDeath",
    "withinVisitDates",
]
_CHECKS = {
    "Table": ["measurePersonCompleteness", "measureConditionEraCompleteness", "measureObservationPeriodOverlap"],
    "Field": _FIELD_CHECKS,
    "Concept": [
        "plausibleValueLow",
        "plausibleValueHigh",
        "plausibleGender",
        "plausibleGenderUseDescendants",
        "plausibleUnitConceptIds",
    ],
}  # fmt: skip
_OTHER = {
    "Table": ["cdmTableName", "schema", "userGuidance"],
    "Field": [
        "cdmTableName",
        "cdmFieldName",
        "cdmDatatype",
        "userGuidance",
        "fkTableName",
        "fkFieldName",
        "standardConceptFieldName",
        "plausibleTemporalAfterTableName",
        "plausibleTemporalAfterFieldName",
        "plausibleStartBeforeEndFieldName",
        "runForCohort",
    ],
    "Concept": [
        "cdmTableName",
        "cdmFieldName",
        "conceptId",
        "conceptName",
        "unitConceptId",
        "unitConceptName",
        "isTemporallyConstant",
        "isTemporallyConstantThreshold",
    ],
}  # fmt: skip
HEADERS = {
    level: [*_OTHER[level], *(f"{check}{part}" for check in checks for part in ("", "Threshold", "Notes"))]
    for level, checks in _CHECKS.items()
}


def write_files(folder: Path, version: str = "5.4", **rows: list[dict[str, str]]) -> Path:
    """Write the three files with some rows each."""
    for level, header in HEADERS.items():
        with (folder / f"OMOP_CDMv{version}_{level}_Level.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, header, restval="")
            writer.writeheader()
            writer.writerows(rows.get(level, []))
    return folder


def _field(table: str, field: str, kind: str = "integer", **cells: str) -> dict[str, str]:
    return {"cdmTableName": table, "cdmFieldName": field, "cdmDatatype": kind, **cells}


def _yes(check: str, threshold: str = "0") -> dict[str, str]:
    return {check: "Yes", f"{check}Threshold": threshold}


FIELDS = [
    _field("PERSON", "person_id", **_yes("isRequired"), **_yes("isPrimaryKey")),
    _field("PERSON", "year_of_birth", plausibleValueLow="1850", plausibleValueLowThreshold="1",
           plausibleValueHigh="YEAR(GETDATE())+1", plausibleValueHighThreshold="0.5"),
    _field("VISIT", "person_id", **_yes("isForeignKey"), fkTableName="PERSON", fkFieldName="PERSON_ID"),
    _field("VISIT", "visit_id", **_yes("isPrimaryKey", "1")),
    _field("VISIT", "start", "date", plausibleValueLow="'19500101'", plausibleValueHigh="DATEADD(dd,1,GETDATE())",
           plausibleValueHighThreshold="1", plausibleStartBeforeEnd="Yes", plausibleStartBeforeEndThreshold="1",
           plausibleStartBeforeEndFieldName="END", **_yes("plausibleAfterBirth", "1")),
    _field("VISIT", "end", "datetime", plausibleValueHigh="DATEADD(dd,1,GETDATE())", **_yes("plausibleTemporalAfter"),
           plausibleTemporalAfterTableName="PERSON", plausibleTemporalAfterFieldName="BIRTH_DATETIME"),
    _field("VISIT", "unit_concept_id", **_yes("standardConceptRecordCompleteness", "5"),
           **_yes("sourceValueCompleteness", "10")),
    _field("VISIT", "type_id", **_yes("standardConceptRecordCompleteness", "5")),
    _field("VISIT", "note", "varchar(20)", **_yes("measureValueCompleteness", "100")),
    _field("DRUG", "person_id"),
    _field("DRUG", "visit_id", **_yes("isForeignKey"), fkTableName="VISIT", fkFieldName="VISIT_ID"),
]  # fmt: skip
TABLES = [
    {"cdmTableName": "VISIT", **_yes("measurePersonCompleteness", "95")},
    {"cdmTableName": "OBSERVATION_PERIOD", **_yes("measureObservationPeriodOverlap")},
    {"cdmTableName": "PERSON", "measurePersonCompleteness": "No"},
]
_UNITS = {"cdmTableName": "VISIT", "cdmFieldName": "UNIT_CONCEPT_ID", "plausibleUnitConceptIdsThreshold": "5"}
CONCEPTS = [
    {**_UNITS, "conceptId": "3", "plausibleUnitConceptIds": "8, 9"},
    {**_UNITS, "conceptId": "4", "plausibleUnitConceptIds": "-1"},
    {**_UNITS, "conceptId": "5", "unitConceptId": "7", "plausibleUnitConceptIdsThreshold": "",
     "plausibleValueLow": "0.5", "plausibleValueLowThreshold": "1"},
    {**_UNITS, "conceptId": "6", "plausibleUnitConceptIds": "eight"},
    {**_UNITS, "conceptId": "7", "plausibleUnitConceptIds": "8", "plausibleUnitConceptIdsThreshold": "some"},
    {"cdmTableName": "VISIT", "cdmFieldName": "UNIT_CONCEPT_ID", "conceptId": "8",
     "isTemporallyConstant": "Yes", "isTemporallyConstantThreshold": "1"},
    {**_UNITS, "plausibleUnitConceptIdsThreshold": "", "conceptId": "4090861, 4025213",
     "plausibleGenderUseDescendants": "Male", "plausibleGenderUseDescendantsThreshold": "2"},
    {**_UNITS, "plausibleUnitConceptIdsThreshold": "", "conceptId": "10",
     "plausibleGenderUseDescendants": "Female", "plausibleGenderUseDescendantsThreshold": "2"},
    {**_UNITS, "plausibleUnitConceptIdsThreshold": "", "conceptId": "11, x",
     "plausibleGenderUseDescendants": "Female", "plausibleGenderUseDescendantsThreshold": "2"},
    {**_UNITS, "plausibleUnitConceptIdsThreshold": "", "conceptId": "12",
     "plausibleGenderUseDescendants": "Neither", "plausibleGenderUseDescendantsThreshold": "2"},
]  # fmt: skip


def _imported(tmp_path: Path, today: date | None = date(2026, 11, 23)) -> dict[str, ImportedRules]:
    folder = write_files(tmp_path, Table=TABLES, Field=FIELDS, Concept=CONCEPTS)
    return {each.table: each for each in import_dqd(folder, "5.4", today)}


def test_each_table_has_a_suite(tmp_path: Path) -> None:
    found = _imported(tmp_path)
    lines = {table: [rule.line() for rule in each.rules] for table, each in found.items()}
    assert lines["person"] == [
        "table_measurepersoncompleteness_visit: person_id IN visit.person_id  fail above 95%",
        "field_isrequired_person_person_id: NOT NULL(person_id)",
        "field_isprimarykey_person_person_id: UNIQUE(person_id)",
        "field_plausiblevaluelow_person_year_of_birth: CHECK (year_of_birth >= 1850)  warn above 1% of non-null",
        "field_plausiblevaluehigh_person_year_of_birth: CHECK (year_of_birth <= 2027)  warn above 0.5% of non-null",
    ]
    assert lines["visit"] == [
        "field_isforeignkey_visit_person_id: person_id IN person.person_id",
        "field_isprimarykey_visit_visit_id: UNIQUE(visit_id)  fail above 1% in duplicates",
        """field_plausiblevaluelow_visit_start: CHECK (start >= DATE '1950-01-01')  warn above 0""",
        """field_plausiblevaluehigh_visit_start: CHECK (start < DATE '2026-11-25')  warn above 1% of non-null""",
        'field_plausiblestartbeforeend_visit_start: CHECK (start <= CAST("end" AS DATE))  warn above 1% of non-null',
        "field_plausibleafterbirth_visit_start: CHECK (start >= coalesce(CAST(person.birth_datetime AS DATE), "
        "make_date(person.year_of_birth, coalesce(person.month_of_birth, 1), coalesce(person.day_of_birth, 1)))) "
        "BY person_id = person.person_id  warn above 1% of non-null",
        """field_plausiblevaluehigh_visit_end: CHECK ("end" < DATE '2026-11-25')  warn above 0""",
        'field_plausibletemporalafter_visit_end: CHECK (CAST("end" AS DATE) >= '
        "coalesce(CAST(person.birth_datetime AS DATE), make_date(person.year_of_birth, 6, 1))) "
        "BY person_id = person.person_id  warn above 0",
        "field_standardconceptrecordcompleteness_visit_unit_concept_id: CHECK (unit_concept_id IS NOT NULL AND "
        "unit_concept_id <> 0) WHERE unit_concept_id IS NOT NULL OR unit_source_value IS NOT NULL  "
        "fail above 5% of selected",
        "field_standardconceptrecordcompleteness_visit_type_id: CHECK (type_id <> 0)  fail above 5% of non-null",
        "concept_plausibleunitconceptids_visit_unit_concept_id_3: CHECK (unit_concept_id IN (8, 9, 0)) WHERE "
        "unit_concept_id = 3 AND (unit_concept_id <> 0 OR unit_concept_id IS NULL)  warn above 5% of selected",
        "concept_plausibleunitconceptids_visit_unit_concept_id_4: CHECK (unit_concept_id IN (0)) WHERE "
        "unit_concept_id = 4 AND (unit_concept_id <> 0 OR unit_concept_id IS NULL)  warn above 5% of selected",
        "concept_plausiblevaluelow_visit_unit_concept_id_5_7: CHECK (value_as_number >= 0.5) WHERE unit_concept_id = 5 "
        "AND unit_concept_id = 7 AND value_as_number IS NOT NULL  warn above 1% of selected",
        '"concept_plausiblegenderusedescendants_visit_unit_concept_id_4090861,4025213": '
        "CHECK (person.gender_concept_id = 8507) BY person_id = person.person_id WHERE unit_concept_id IN "
        "(SELECT descendant_concept_id FROM concept_ancestor WHERE ancestor_concept_id IN (4090861, 4025213))  "
        "warn above 2% of selected",
        "concept_plausiblegenderusedescendants_visit_unit_concept_id_10: "
        "CHECK (person.gender_concept_id = 8532) BY person_id = person.person_id WHERE unit_concept_id IN "
        "(SELECT descendant_concept_id FROM concept_ancestor WHERE ancestor_concept_id IN (10))  "
        "warn above 2% of selected",
    ]
    assert lines["drug"] == ["field_isforeignkey_drug_visit_id: (person_id, visit_id) IN visit(person_id, visit_id)"]
    assert "(DQD counts persons, not rows)" in found["observation_period"].text()
    assert found["visit"].text().count("(DQD counts a row once for each of these concepts") == 1
    for each in found.values():
        assert len(load_suite(each.text()).lines) == len(each.rules)


def test_what_is_left_out_has_its_reason(tmp_path: Path) -> None:
    left_out = {item.origin: item.reason for item in _imported(tmp_path)["visit"].left_out}
    assert left_out == {
        "field_sourcevaluecompleteness_visit_unit_concept_id":
            "it counts distinct values that have a row without concept, not rows",
        "field_measurevaluecompleteness_visit_note": "its threshold of 100% cannot be exceeded",
        "concept_plausibleunitconceptids_visit_unit_concept_id_6": "'eight' is no list of concepts",
        "concept_plausibleunitconceptids_visit_unit_concept_id_7": "its threshold 'some' is no percentage",
        "concept_istemporallyconstant_visit_unit_concept_id_8": "dpdb does not know this check",
        "concept_plausiblegenderusedescendants_visit_unit_concept_id_11,x": "conceptId '11, x' is no list of concepts",
        "concept_plausiblegenderusedescendants_visit_unit_concept_id_12": "'Neither' is neither Male nor Female",
        "cdmTable (1)": "the schema decides it, which is public",
        "cdmField (7)": "the schema decides it, which is public",
        "cdmDatatype (4)": "the schema decides it, which is public",
    }  # fmt: skip


def test_without_a_day_checks_about_today_are_left_out(tmp_path: Path) -> None:
    found = _imported(tmp_path, None)
    reasons = [item.origin for each in found.values() for item in each.left_out if "give --today" in item.reason]
    assert reasons == [
        "field_plausiblevaluehigh_person_year_of_birth",
        "field_plausiblevaluehigh_visit_start",
        "field_plausiblevaluehigh_visit_end",
    ]


@pytest.mark.parametrize(
    ("version", "spoil", "said"),
    [
        ("6.0", None, "cdm '6.0' is none of the versions"),
        ("5.3", None, "OMOP_CDMv5.3_Table_Level.csv is missing"),
        ("5.4", "cdmTableName,isRequired\nA,Yes\n", "Table_Level.csv lacks measurePersonCompleteness"),
        ("5.4", 'a,"b\n', "is no CSV"),
        ("5.4", "", "lacks cdmTableName"),
        ("5.4", ",".join(HEADERS["Table"]) + "\nA,B\n", "record 2 has 2 cells"),
        ("5.4", ",".join([*HEADERS["Table"], "schema"]) + "\n", "two columns of one name"),
    ],
)
def test_files_of_another_kind_are_refused_in_one_line(
    tmp_path: Path, version: str, spoil: str | None, said: str
) -> None:
    write_files(tmp_path)
    if spoil is not None:
        (tmp_path / "OMOP_CDMv5.4_Table_Level.csv").write_text(spoil)
    with pytest.raises(ParameterError) as caught:
        import_dqd(tmp_path, version)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_command_writes_a_file_for_each_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_files(tmp_path, Table=TABLES, Field=FIELDS, Concept=CONCEPTS)
    asked = ["rules", "import", str(folder), "--cdm", "5.4", "--today", "2026-11-23"]
    assert main([*asked, "--out", str(tmp_path / "suites")]) == 0
    written = sorted(path.name for path in (tmp_path / "suites").iterdir())
    assert written == [f"{table}.suite.txt" for table in ("drug", "observation_period", "person", "visit")]
    assert main([*asked, "--table", "PERSON"]) == 0
    assert capsys.readouterr().out == (tmp_path / "suites" / "person.suite.txt").read_text()
    (tmp_path / "suites" / "drug.suite.txt").unlink()
    assert main([*asked, "--out", str(tmp_path / "suites")]) == 2  # the others exist: nothing is written
    assert not (tmp_path / "suites" / "drug.suite.txt").exists()
    for wrong in (asked, [*asked, "--table", "visits"], [*asked[:3], "--today", "2026-11-23"], [*asked[:6], "11/23"]):
        assert main(wrong) == 2
        assert capsys.readouterr().err.strip().count("\n") == 0 or wrong is asked


def test_a_table_that_is_called_like_a_path_gets_no_file(tmp_path: Path) -> None:
    write_files(tmp_path, Field=[_field("../evil", "x", **_yes("isRequired"))])
    assert main(["rules", "import", str(tmp_path), "--cdm", "5.4", "--out", str(tmp_path / "out")]) == 2
    assert not (tmp_path / "evil.suite.txt").exists()
