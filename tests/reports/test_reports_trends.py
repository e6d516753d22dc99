"""Trends of real releases at a kept theta: quiet on unchanged rows, and a doubling is named on its day.

Exact binomial tests with a false-alarm rate of 1e-8 each, 4 of them: below 1e-6 for the file.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest
from sample import release, row
from scipy.stats import binom

import dpdb
from dpdb.doors.reports import series as series_module
from dpdb.doors.reports.series import Series, series_chart, trend_words
from dpdb.release import Release, Session

EPSILON, DAYS, REPLAYS = "0.1", 7, 100


def dirty(share: float) -> Session:
    """10,000 rows in groups of ten, of which about `share` have a city of their own."""
    numbers = np.arange(10_000)
    wrong = np.random.default_rng(7).random(len(numbers)) < share
    cities = np.where(wrong, np.char.add("x", numbers.astype(str)), (numbers // 10).astype(str))
    return dpdb.open(pa.table({"zip": (numbers // 10).astype(str), "city": cities}), constraints="zip -> city")


def series_of(releases: Sequence[Release]) -> Series:
    return Series(tuple(row(one, day) for day, one in enumerate(releases)))


@pytest.fixture(scope="module")
def weeks() -> list[tuple[list[Release], Release]]:
    """Seven runs on unchanged rows, and one on twice as much dirt, again and again: theta as the first one chose it."""
    found = []
    with dirty(0.02) as before, dirty(0.045) as doubled:
        for _ in range(REPLAYS):
            first = before.dp_inconsistency("problematic", EPSILON)
            later = [before.dp_inconsistency("problematic", EPSILON, theta=first.theta) for _ in range(DAYS - 1)]
            found.append(([first, *later], doubled.dp_inconsistency("problematic", EPSILON, theta=first.theta)))
    return found


def quiet(words: str) -> bool:
    return words.startswith("No change seen since") and "Rose" not in words and "Fell" not in words


def quiet_weeks(weeks: list[tuple[list[Release], Release]]) -> int:
    """In how many weeks no report named a change: the first run is compared, too."""
    return sum(all(quiet(trend_words(series_of(week[: day + 1]))) for day in range(1, DAYS)) for week, _ in weeks)


@pytest.mark.heavy(family="alone")
def test_a_week_of_unchanged_rows_is_quiet(weeks: list[tuple[list[Release], Release]]) -> None:
    assert binom.cdf(quiet_weeks(weeks), REPLAYS, 0.95) > 1e-8


@pytest.mark.heavy(family="alone")
def test_doubts_that_are_not_shared_are_caught(
    weeks: list[tuple[list[Release], Release]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(series_module, "COMPARISONS", 1)
    unshared = quiet_weeks(weeks)
    monkeypatch.setattr(series_module, "COMPARISONS", 0.2)  # a quarter of certainty
    assert quiet_weeks(weeks) < unshared < REPLAYS


def test_a_doubling_is_named_on_its_day(weeks: list[tuple[list[Release], Release]]) -> None:
    named = sum(trend_words(series_of([*week[:-1], after])).startswith("Rose by ") for week, after in weeks)
    assert binom.cdf(named, REPLAYS, 0.95) > 1e-8


def test_noise_is_that_of_one_draw(weeks: list[tuple[list[Release], Release]]) -> None:
    """Differences of days, in noise scales, have the variance of two discrete Laplace draws: 4."""
    pairs = [(one, other) for week, _ in weeks for one, other in zip(week[1::2], week[2::2], strict=False)]
    apart = np.array([(one.raw - other.raw) / one.noise_scale for one, other in pairs])
    assert len(apart) == 3 * REPLAYS
    # Laplace differences have kurtosis 4.5: the mean square's standard error is 4 sqrt(3.5 / n); six of them.
    assert abs(np.mean(apart**2) - 4) < 6 * 4 * np.sqrt(3.5 / len(apart))


def test_without_a_kept_theta_nothing_is_made_up() -> None:
    early = release("problematic", 100, upper=None, theta=3, raw=100, unit="one row")
    late = release("problematic", 500, upper=None, theta=9, raw=500, unit="one row")
    assert trend_words(series_of([early, late])).endswith(
        "cannot be told; a job can keep the limit of conflicts per row, which differs."
    )


def test_the_chart_shows_what_lies_at_theta() -> None:
    rows = [
        release("problematic", 100 + day, upper=None, theta=3, estimate_lower=60.0, estimate_upper=340.0)
        for day in range(3)
    ]
    drawn = series_chart(series_of(rows), "t")
    assert drawn.count('class="estimate"') == 3
    assert series_chart(series_of([release("problematic", 100, upper=None)]), "t").count("estimate") == 0
