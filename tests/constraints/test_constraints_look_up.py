"""Look-ups, filtered inclusions and absences as text: every spelling is one value, written so that it is read again."""

from __future__ import annotations

import pytest

from dpdb.constraints import DenialConstraint, Inclusion, LookUp, describe, load_constraints, parse_constraint
from dpdb.errors import ConstraintSyntaxError, UnknownColumnError

COLUMNS = ["person_id", "start", "visit", "concept", "active"]
LATE = "CHECK (start <= person.death) BY person_id = person.pid"


def only(text: str, columns: list[str] | None = None) -> DenialConstraint:
    (dc,) = parse_constraint(text, columns)
    return dc


@pytest.mark.parametrize(
    "text",
    [
        LATE,
        "late: check (start <= PERSON.death) by PERSON_ID = person.pid;",
        "CHECK ((start <= person.death)) BY person.pid = person_id",
        "CHECK (start <= person.death) BY visits.person_id == person.pid",
        'CHECK ("start" <= "person"."death") BY "person_id" = "person"."pid"',
    ],
)
def test_spellings_are_one_value(text: str) -> None:
    dc = only(text, COLUMNS)
    rule = dc.inclusion
    assert isinstance(rule, LookUp)
    assert (rule.columns, rule.parent.casefold(), rule.parent_columns) == (("person_id",), "person", ("pid",))
    assert rule.condition.columns == ((False, "start"), (True, "death"))
    assert str(dc).casefold() == LATE.casefold()
    assert dc.table_columns == ("person_id", "start")


@pytest.mark.parametrize(
    ("text", "written"),
    [
        (
            "active = TRUE: CHECK (p.d > start OR p.d IS NULL) BY person_id = p.a & visit = p.b "
            "WHERE concept > 3 AND p.kind = 'x'",
            "CHECK ((p.d > start OR p.d IS NULL)) BY person_id = p.a AND visit = p.b "
            "WHERE p.kind = 'x' & t1.active=TRUE & t1.concept>3",
        ),
        ("CHECK (cdm.p.d > start + 1) BY visit = cdm.p.b", "CHECK (cdm.p.d > start + 1) BY visit = cdm.p.b"),
        (
            "concept IN concept.id WHERE domain = 'C' AND kind = 'S' AND active",
            "concept IN concept.id WHERE concept.domain = 'C' AND concept.kind = 'S' & t1.active=TRUE",
        ),
        (
            "concept IN (SELECT id FROM concept WHERE active OR concept.kind = 'S') WHERE active",
            "concept IN concept.id WHERE (concept.active OR concept.kind = 'S') & t1.active=TRUE",
        ),
        ("(visit, person_id) IN (SELECT a, b FROM p)", "(visit, person_id) IN p(a, b)"),
        ("person IN visits BY person_id, visit", "(person_id, visit) IN visits(person_id, visit)"),
        (
            "EXISTS cdm.visits BY person_id = cdm.visits.pid WHERE active",
            "person_id IN cdm.visits.pid WHERE t1.active=TRUE",
        ),
    ],
)
def test_what_is_written_is_read_again(text: str, written: str) -> None:
    dc = only(text, COLUMNS)
    assert str(dc) == written
    assert only(written, COLUMNS) == dc
    assert only(written) == dc
    assert describe(dc)


def test_an_absence_is_an_inclusion() -> None:
    assert only("EXISTS visits BY person_id = visits.pid", COLUMNS).inclusion == Inclusion(
        ("person_id",), "visits", ("pid",)
    )


def test_columns_are_renamed_on_one_side_only() -> None:
    dc = only("CHECK (start <= person.start) BY visit = person.visit WHERE person.active", COLUMNS)
    renamed = dc.renamed({"start": "begin", "visit": "no"})
    assert str(renamed) == "CHECK (begin <= person.start) BY no = person.visit WHERE person.active"


def test_words_of_sql_stay_columns_elsewhere() -> None:
    rules = load_constraints("by -> exists\nCHECK (by > 0)\nexists IN by.by\nUNIQUE(by) WHERE exists = 1")
    assert [dc.inclusion is not None for dc in rules] == [False, False, True, False]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CHECK (start <= person.death) BY", "expected a name, found end of text"),
        ("CHECK (start <= person.death) BY person_id", "expected the key in both tables behind BY"),
        ("CHECK (start <= person.death) BY person_id = visit", "expected the key in both tables behind BY"),
        ("CHECK (start <= person.death) BY person_id < person.pid", "expected '=' .keys are equal."),
        ("CHECK (start <= p.d) BY visit = p.a AND person_id = q.a", "expected columns of p, as before"),
        ("CHECK (start <= p.d) BY visit = p.a AND visit = p.b", "expected each column of the row once"),
        ("CHECK (start <= 3) BY visit = p.a", "expected a column of the parent"),
        ("CHECK () BY visit = p.a", "expected a condition"),
        ("CHECK (start <= p.d) BY visit = p.a WHERE active = p.x", "over one table each"),
        ("CHECK (start <= p.d) BY visit = p.a or so", "expected the end of the constraint"),
        ("concept IN (SELECT id FROM c WHERE x = 1) WHERE c.y = 1", "all conditions on the parent inside SELECT"),
        ("concept IN (SELECT id FROM c", "expected WHERE or '\\)'"),
        ('CHECK (start <= "p\ud800".d) BY visit = "p\ud800".a', "a name of valid Unicode"),
    ],
)
def test_what_is_no_look_up_is_one_clear_error(text: str, message: str) -> None:
    with pytest.raises(ConstraintSyntaxError, match=message):
        only(text, COLUMNS)


def test_an_unknown_column_is_named() -> None:
    with pytest.raises(UnknownColumnError, match="'person'; nearest is 'person_id'"):
        only("CHECK (start <= p.d) BY person = p.a", COLUMNS)


@pytest.mark.parametrize(
    ("denied", "checked"),
    [
        ("a > p.b", "a <= p.b"),
        ("t1.a > p.b", "a <= p.b"),
        ("a > p.b OR a < 3", "a <= p.b AND a >= 3"),
        ("p.b IS NULL", "NOT p.b IS NULL"),
    ],
)
def test_a_denial_is_the_check_of_its_opposite(denied, checked):
    for key in ("k = p.k", "k = p.k AND y = p.year"):
        [made] = parse_constraint(f"not({denied}) BY {key}")
        assert [made] == list(parse_constraint(f"CHECK ({checked}) BY {key}"))
        assert parse_constraint(str(made)) == (made,)


@pytest.mark.heavy
@pytest.mark.parametrize(
    "word",
    [
        "null",
        "NOT",
        "and",
        "or",
        "between",
        "in",
        "by",
        "is",
        "like",
        "exists",
        "check",
        "true",
        "where",
        "forall",
        "current_date",
        "select",
        "",
        "a b",
        'a"b',
        "\u00fc",
        "\n",
    ],
)
@pytest.mark.parametrize(
    "text",
    [
        "not(t1.{0}=t2.{0}&t1.b!=t2.b)",
        "NOT NULL({0})",
        "{0} IN p.{0}",
        "CHECK (NOT {0})",
        "CHECK ({0} + 1 <= p.b) BY a = p.a AND {0} = p.{0} WHERE {0} > 1",
    ],
)
def test_what_is_printed_is_read_as_the_same(text, word):
    quoted = '"' + word.replace('"', '""') + '"'
    if not word:
        with pytest.raises(ConstraintSyntaxError):
            parse_constraint(text.format(quoted))
        return
    [made] = parse_constraint(text.format(quoted))
    assert parse_constraint(made.identity) == (made,)
