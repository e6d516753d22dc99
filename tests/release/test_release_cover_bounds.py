"""Upper ends of `repair` are those of the fewest rows to delete, not of tau*; gates pass what they show."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

import dpdb
from dpdb.doors.reports.sites import read_sites, totals_of
from dpdb.release import Gate, Release, check_gates

FAR = "not(t1.a!=t2.a&t1.b!=t2.b&t1.c!=t2.c)"
ROWS = 500  # all but one must go; tau* is 250
TABLE = pa.table({name: list(range(ROWS)) for name in "abc"})


def released(measure: str = "repair", **options: object) -> Release:
    with dpdb.open(TABLE, constraints=FAR, row_bound=1_000) as session:
        return session.dp_inconsistency(measure, **{"epsilon": 20, "confidence": 1 - 1e-9, **options})


def test_the_upper_end_of_a_cover_is_one_of_the_fewest_rows() -> None:
    """False with a chance of 1e-9."""
    found = released()
    assert found.estimate_lower is not None
    assert found.estimate_upper is not None
    assert found.estimate_lower <= ROWS / 2 <= found.estimate_upper < ROWS - 1
    assert found.lower <= ROWS - 1 <= found.upper == 2 * found.estimate_upper == found.to_dict()["upper"]
    rate = released(rate=True)
    assert rate.lower <= (ROWS - 1) / ROWS <= rate.upper <= 1
    assert f"at most {found.upper:g}" in str(found).replace(",", "")


def test_the_lower_end_of_a_greedy_cover_is_half_of_its_size() -> None:
    """The cover has an even size of at most twice the fewest rows: here 498 or 500 for 499."""
    found = released(mechanism="greedy")
    assert found.upper is not None
    assert found.lower < found.value / 2 + 1
    assert found.lower <= ROWS - 1 <= found.upper


def test_a_release_of_an_older_version_is_read_as_what_it_bounds() -> None:
    found = released()
    fields = found.to_dict()
    for old in ({"upper": fields["estimate_upper"]}, {"upper": 260.0, "estimate_lower": None, "estimate_upper": None}):
        read = Release(**fields | old)
        assert read.upper == 2 * float(old["upper"] or 0)
        assert Release(**read.to_dict()) == replace(read) == read
    assert Release(**fields) == found


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("threshold", "by_value", "outcome"),
    [
        (ROWS / 2 + 50, False, "not shown"),  # tau* and its own upper end are below: this passed
        (ROWS / 2 + 50, True, "passed"),
        (2 * ROWS, False, "passed"),
        (100, False, "failed"),
        (100, True, "failed"),
    ],
)
def test_a_gate_passes_only_what_twice_the_cover_shows(threshold: float, by_value: bool, outcome: str) -> None:
    [result] = check_gates([released()], [Gate("repair", threshold, by_value=by_value)])
    assert result.outcome == outcome


def test_a_measure_without_an_upper_end_never_passes() -> None:
    with dpdb.open(TABLE, constraints=FAR, row_bound=1_000) as session:
        releases = [session.dp_inconsistency(name, epsilon=1) for name in ("problematic", "minimal_inconsistency")]
    gates = [Gate(release.measure, 1e12) for release in releases]
    assert [result.outcome for result in check_gates(releases, gates)] == ["not shown"] * 2


def test_sums_over_sites_count_covers_twice_above(tmp_path: Path) -> None:
    """The sites' own fewest rows: 499 by a cover of 250, and 99 of an exact repair. False with a chance of 1e-8."""
    with dpdb.open(pa.table({"k": [0] * 101, "v": [0, *range(100)]}), constraints="k -> v") as session:
        exact = session.dp_inconsistency("repair", epsilon=20)
    digest = exact.constraints_sha256
    for name, release in (("cover", replace(released(), constraints_sha256=digest)), ("exact", exact)):
        (tmp_path / f"{name}.json").write_text(json.dumps({"releases": [release.to_dict()]}))
    sites = read_sites([tmp_path / "cover.json", tmp_path / "exact.json"])
    [total], left_out = totals_of(sites, 1 - 1e-8)
    assert not left_out
    assert total.sites == ("cover", "exact")
    assert 250 + 99 - 20 < total.lower <= ROWS - 1 + 99 <= total.upper < 2 * 250 + 99 + 20
    [alone], _ = totals_of(sites[:1], 1 - 1e-8)
    assert alone.lower <= ROWS - 1 <= alone.upper
    assert "cover" in alone.what
