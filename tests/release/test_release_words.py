"""One voice: the command line, gates, reports, notebooks and `str(release)` say the same number in the same words."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pyarrow as pa
import pytest

import dpdb
from dpdb.doors.cli.texts import releases_text
from dpdb.doors.jobs.results import ResultRow, Results
from dpdb.doors.reports.page import report_page
from dpdb.measures import Measure, all_measures, counted
from dpdb.release import Release
from dpdb.release.published.comparisons import GateResult
from dpdb.release.published.release import Releases
from dpdb.release.published.release_fields import number_words, release_words, sure_words

TABLE = pa.table({"zip": ["1", "1", "2"] * 50, "city": ["a", "b", "c"] * 50})
SHARE = Release(
    measure="problematic", estimand="problematic", value=0.012346, lower=0.01, upper=None, confidence=0.95, epsilon=1.0,
    mechanism="ladder", theta=3, noise_scale=0.001, where="zip = '1'", constraints_sha256="0", guarantee="pure",
    release_id="r", version="0", quantity="share of rows",
)  # fmt: skip


def page_of(release: Release) -> str:
    row = ResultRow(
        job="j", run_id="1", release_name="n", time=datetime(2026, 8, 1, tzinfo=UTC), release=release, gate=None,
        gate_threshold=None, constraint_texts=(), ledger_parameter=None, ledger_budget=None, ledger_spent=None,
        ledger_remaining=None,
    )  # fmt: skip
    return report_page(Results((row,)), generated=datetime(2026, 8, 1, tzinfo=UTC))


@pytest.mark.parametrize("release", [SHARE, replace(SHARE, value=1234.5, lower=1000, quantity="rows")])
def test_every_surface_writes_a_number_and_its_bounds_alike(release: Release) -> None:
    number, lower = ("1.235%", "1.000%") if release.quantity == "share of rows" else ("1,234.5", "1,000")
    spoken = [str(release), release._repr_html_(), page_of(release), releases_text([release], "text", True)]
    table = releases_text([release], "text")
    assert all(number in words for words in [*spoken, table])
    assert f"  at least {lower} " in table
    assert all(f"at least {lower}, no upper bound (95% sure)" in words for words in spoken)
    assert f" = {number} > " in str(GateResult(release, 0))


def test_a_release_prints_as_the_command_line_prints_its_details() -> None:
    with dpdb.open(TABLE, constraints="zip -> city") as session:
        one = session.dp_inconsistency("repair", 1)
        rules = session.dp_inconsistency("repair", 1, each_constraint=True)
        every = session.dp_inconsistency("all", 3)
    assert isinstance(one, Release)
    assert isinstance(every, Releases)
    assert isinstance(rules, Releases)
    for said, releases in [(str(one), [one]), (str(every), every), (str(rules), rules)]:
        assert f"{said}\n" == releases_text(releases, "text", True)
        assert said.endswith(f"\nGuarantee: {releases[0].guarantee}.")
    assert str(one).startswith("repair = ")
    assert repr(one).startswith("Release(measure='repair'")
    assert str(Releases()) == "()"


def table_of(*releases: Release) -> list[str]:
    return releases_text(releases, "text").splitlines()


def test_the_first_answer_is_one_table_with_its_notes_once_below() -> None:
    first = replace(
        SHARE,
        noise_scale=0.0005,
        where=None,
        guarantee="pure 1-differential privacy; covers the value and theta",
        theta_limits=True,
    )
    second = replace(first, measure="repair", mechanism="fractional", value=50, lower=40, upper=60.5, quantity="rows",
                     theta_limits=None)  # fmt: skip
    assert table_of(first, second) == [
        "measure       value  bounds (95% sure)  meaning                         cost",
        "problematic  1.235%  at least 1.000% *  share of rows in some conflict  epsilon 1",
        "repair           50  40 to 121          rows to delete, at least        epsilon 1",
        "No upper end: the true number may be larger (examples/manual/mechanisms.md says why).",
        "* Many conflicts of few rows may be missing: more epsilon may show them.",
        "Guarantee: pure 1-differential privacy; it covers all that is shown.",
    ]
    given = replace(first, theta_from="given")
    assert "leave the theta out" in table_of(given)[-2]
    assert len(table_of(second)) == 3


def test_the_table_names_slices_rules_and_what_is_paid_otherwise() -> None:
    by_rule = [replace(SHARE, constraint=text, constraint_text=text) for text in ("zip -> city", "NOT NULL(a)")]
    head, *rows = table_of(*by_rule)[:3]
    assert head.endswith("  cost       rule")
    assert [row.startswith("problematic where zip = '1'  ") for row in rows] == [True, True]
    assert [row.rsplit("  ", 1)[1] for row in rows] == ["zip -> city", "NOT NULL(a)"]
    assert "  rho 0.01" in table_of(replace(SHARE, epsilon=None, rho=0.01))[1]
    assert "  no more" in table_of(replace(SHARE, epsilon=0))[1]
    assert "  too noisy at this epsilon (75 might do)  " in table_of(replace(SHARE, noise_scale=1))[1]


@pytest.mark.parametrize("measure", [*all_measures(), counted("count")], ids=lambda measure: measure.name)
def test_a_meaning_in_a_table_is_about_five_words_without_a_mechanism(measure: Measure) -> None:
    words = [measure.words, *(each.words for each in getattr(measure, "mechanisms", ()) if each.words)]
    assert all(2 <= len(each.short.split()) <= 6 for each in words)
    assert not any("theta" in each.short or "mechanism" in each.short for each in words)


def test_a_release_of_one_constraint_names_it() -> None:
    assert release_words(replace(SHARE, constraint="a -> b")).startswith(
        "problematic of a -> b where zip = '1' = 1.235%"
    )


def test_a_release_paid_in_rho_has_a_card() -> None:
    paid = replace(SHARE, measure="count", quantity="rows", mechanism="gaussian", epsilon=None, rho=0.01)
    assert "rho 0.01" in paid._repr_html_()
    assert "gaussian" in paid._repr_html_()
    assert "rho 0.01" in Releases([paid])._repr_html_()
    assert "rho 0.01 (gaussian" in str(paid)


def test_confidence_is_never_rounded_up_to_certainty() -> None:
    assert [sure_words(confidence) for confidence in (0.5, 0.95, 0.995)] == ["50% sure", "95% sure", "99.5% sure"]


@pytest.mark.parametrize(
    ("number", "quantity", "words"),
    [
        (0, "share of rows", "0.000%"),
        (0.0004, "share of rows", "0.040%"),
        (0.0000123, "share of rows", "0.00123%"),
        (1, "share of rows", "100.000%"),
        (512_345_678_901, "pairs of rows", "512,345,678,901"),
        (1e300, "rows", "1e+300"),
        (500.0, "rows", "500"),
        (12.5, None, "12.5"),
        (-3, "rows", "-3"),
    ],
)
def test_numbers_in_words(number: float, quantity: str | None, words: str) -> None:
    assert number_words(number, quantity) == words


@pytest.mark.parametrize("measure", [*(measure.name for measure in all_measures()), "count", "of_a_later_version"])
@pytest.mark.parametrize("quantity", ["rows", "share of rows"])
def test_whatever_is_released_has_a_meaning_that_says_its_value(measure: str, quantity: str) -> None:
    said = str(replace(SHARE, measure=measure, quantity=quantity, value=0.5))
    assert ("50.000%" if quantity == "share of rows" else "0.5") in said.split("meaning")[1].split("\n", maxsplit=1)[0]


def test_a_greedy_cover_is_not_said_to_be_the_repair() -> None:
    greedy = replace(SHARE, measure="repair", mechanism="greedy")
    assert "a cover of about 1.235% of the rows removes all conflicts" in str(greedy)
    assert "a cover of about 7 rows" in str(replace(greedy, quantity="rows", value=7))
