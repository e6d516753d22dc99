"""Series and axes: what is said about a change never goes beyond the noise."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from case_share import of_all
from hypothesis import example, given, settings, strategies as st
from sample import HOSTILE, START, release, row, year

from dpdb.doors.reports.page import constraint_words, gate_words, latest_words
from dpdb.doors.reports.series import Series, compact, series_of, time_labels, trend_words, value_axis
from dpdb.release.published.release_fields import words_of


def trend(*intervals: tuple[float, float | None], **last: object) -> str:
    rows = [
        row(release(value=(low + (low if high is None else high)) / 2, lower=low, upper=high), week)
        for week, (low, high) in enumerate(intervals)
    ]
    rows[-1] = replace(rows[-1], release=replace(rows[-1].release, **last))
    return trend_words(Series(tuple(rows)))


@pytest.mark.parametrize(
    ("intervals", "says"),
    [
        ([(1, 2)], "The first release; a change needs a second one."),
        ([(1, 2), (3, 4)], "Higher than the release before (2026-08-01), beyond the noise (at least 90% sure)."),
        ([(3, 4), (1, 2)], "Lower than the release before (2026-08-01), beyond the noise (at least 90% sure)."),
        ([(1, 3), (2, 4)], "No change since the release before (2026-08-01) that stands out from the noise."),
        ([(1, 2), (2, 3)], "No change since the release before (2026-08-01) that stands out from the noise."),
        ([(1, None), (9, None)], "Without upper bounds, a change since the release before (2026-08-01) cannot be "
         "told."),
        ([(1, 2), (9, None)], "Higher than"),
        ([(9, None), (1, 2)], "Lower than"),
        ([(1, None), (9, 10)], "No change"),
        ([(1, 2), (2, 3), (3, 4)], "No change since the release before (2026-08-08) that stands out from the noise. "
         "Higher than the first comparable one (2026-08-01), beyond the noise (at least 90% sure)."),
        ([(1, 2), (5, 6), (1, 2)], "Lower than the release before (2026-08-08), beyond the noise (at least 90% sure). "
         "No change since the first comparable one (2026-08-01)"),
        ([(1, 3), (2, 4), (1, 3)], "No change since the release before (2026-08-08) or the first comparable one "
         "(2026-08-01) that stands out from the noise."),
    ],
)  # fmt: skip
def test_changes_in_words(intervals: list[tuple[float, float | None]], says: str) -> None:
    assert trend(*intervals).startswith(says)


def test_releases_of_other_constraints_or_statistics_are_not_compared() -> None:
    for change in ({"constraints_sha256": "9"}, {"estimand": "another"}):
        assert trend((1, 2), (8, 9), **change).startswith("Not comparable with the release before (2026-08-01)")


def test_releases_of_one_day_are_told_apart_by_the_hour() -> None:
    rows = [row(release(), time=START + timedelta(hours=hour)) for hour in (0, 1, 2)]
    assert "the release before (2026-08-01 05:00) or the first comparable one (2026-08-01 04:00)" in trend_words(
        Series(tuple(rows))
    )


def test_confidences_add_their_doubts() -> None:
    assert "at least 40% sure" in trend((1, 2), (3, 4), confidence=0.45)


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=2, max_size=5))
def test_a_direction_is_only_named_if_two_intervals_are_apart(widths: list[tuple[int, int]]) -> None:
    intervals = [(low, low + width) for low, width in widths]
    words = trend(*intervals)
    low, high = intervals[-1]
    assert not ("Higher" in words and all(low <= other[1] for other in intervals[:-1]))
    assert not ("Lower" in words and all(high >= other[0] for other in intervals[:-1]))


def test_series_are_the_measures_and_slices_of_each_job() -> None:
    results = year(5)
    found = series_of(results.rows)
    assert [len(series.rows) for series in found] == [5] * 6
    assert len({id(row) for series in found for row in series.rows}) == len(results)
    assert [series.latest.release.where is None for series in found] == [True] * 4 + [False] * 2
    assert all(list(s.rows) == sorted(s.rows, key=lambda row: row.time) for s in found)


@settings(max_examples=of_all(500))
@given(st.floats(0, 1e12), st.floats(0, 1e12))
@example(11.0, 11.0)
@example(0.0, 5e-324)
def test_an_axis_holds_its_values_between_round_marks(first: float, second: float) -> None:
    low, high = sorted((first, second))
    axis = value_axis(low, high)
    assert axis.low <= low
    assert axis.high >= high
    assert 2 <= len(axis.ticks) <= 9
    assert axis.place(low) >= 0
    assert axis.place(high) <= 1
    assert axis.low == 0 or low > 0.6 * high
    labels = [compact(tick) for tick in axis.ticks]
    assert len(set(labels)) == len(labels)


def test_numbers_and_times_on_axes() -> None:
    assert [compact(value) for value in (0, 12.5, 999, 25_000, 250_000, 1_250_000, 3e9)] == [
        "0", "12.5", "999", "25,000", "250k", "1.25M", "3G"
    ]  # fmt: skip
    assert compact(0.125, share=True) == "12.5%"
    noon = datetime(2026, 11, 21, 12, tzinfo=UTC)
    assert time_labels([noon, noon]) == [(0.5, "2026-11-21")]
    assert time_labels([noon, noon + timedelta(hours=3)]) == [(0.0, "12:00"), (1.0, "15:00")]
    assert [label for _, label in time_labels([noon + timedelta(days=k) for k in range(31)])] == [
        "2026-11-21", "2026-12-01", "2026-12-11", "2026-12-21"
    ]  # fmt: skip


def test_words_of_the_page() -> None:
    assert constraint_words("not(t1.zip_code=t2.zip_code&t1.city!=t2.city)") == (
        "rows with the same zip_code must have the same city"
    )
    assert constraint_words(HOSTILE) is None
    assert "; too noisy at this epsilon (1.6 might do)" in latest_words(release(value=1, noise_scale=2.0))
    greedy = release(mechanism="greedy")
    assert words_of(greedy).counted == "rows of a cover that removes all conflicts; half as many may do"
    assert words_of(release("unheard_of")).counted == release().estimand
    assert gate_words(row(release(value=50))) == ""
    assert gate_words(row(release(value=50), gate_threshold=60.0, gate="passed")) == (
        "at most 60; the threshold lies inside the noise (upper bound 134)"
    )
    assert gate_words(row(release(value=50), gate_threshold=9.0, gate="failed")) == (
        "at most 9; even the lower bound 33 is above it"
    )
