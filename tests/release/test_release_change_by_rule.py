"""How far an unclamped value of `by_rule` may be from its continuous noise, over one to many histograms.

Nothing is random: without noise the distance is what rounding does, for every remainder that the exact sum may leave.
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest
from case_share import fifth
from stub_noise import StubNoise

import dpdb
from dpdb.measures import measure_named
from dpdb.measures.answer import release_degree_cap
from dpdb.measures.mechanism import Run
from dpdb.privacy import UNIT
from dpdb.privacy.epsilon import NANO
from dpdb.privacy.noise import replaced_noise
from dpdb.release import Release
from dpdb.release.published import comparisons as change
from dpdb.release.statistics import RuleStatistics


@pytest.fixture(scope="module")
def any_release() -> Release:
    rows = pa.table({"a": [1, 1], "b": [1, 2], "c": [1, 2]})
    with dpdb.open(rows, constraints=["a -> b", "a -> c"]) as session:
        return session.dp_inconsistency("problematic", 1, mechanism="by_rule")  # type: ignore[return-value]


def histograms(copies: int, size: int, alone: int) -> RuleStatistics:
    """In each histogram 200 groups in which one row is in conflict with `size` others: few rows have all conflicts."""
    columns = {"sizes": [[size]], "singles": [1], "groups": [200]}
    types = {"sizes": pa.list_(pa.int64()), "singles": pa.int64(), "groups": pa.int64()}
    one = pa.table({name: pa.array(values, types[name]) for name, values in columns.items()})
    return RuleStatistics(alone, [one] * copies)


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize("measure", ["problematic", "minimal_inconsistency"])
@pytest.mark.parametrize("copies", fifth([1, 2, 7, 30]))
def test_rounding_is_that_of_all_histograms_together(measure: str, copies: int, any_release: Release) -> None:
    mechanism = measure_named(measure).mechanism("by_rule")
    assert mechanism.fit is not None
    mechanism = mechanism.fit(copies)
    assert mechanism.statistic is not None
    most = 0.0
    with replaced_noise(StubNoise()):
        for alone in range(1, 400):
            found = histograms(copies, 100_000, alone)
            cap_share, rest = mechanism.shares(NANO)
            cap = release_degree_cap(found, cap_share)
            answer = mechanism.answer(Run(found, rest, 0.05, cap, None))
            assert answer.handicaps is not None
            assert answer.theta is not None
            exact = found.self_conflicts + mechanism.statistic.read(found, [answer.theta])[0]
            # A rung adds the mean of what its handicaps, of which there are none here, would have taken.
            off = abs(answer.raw - exact - answer.handicaps * answer.noise_scale / 2)
            made = replace(
                any_release,
                epsilon=1.0,
                **{n: getattr(answer, n) for n in ("handicaps", "noise_scale", "theta", "raw")},
            )
            step = copies * answer.theta / UNIT
            allowed = change._rounded(made, 1.0)
            assert off <= allowed
            assert 0.5 + 2 * step <= allowed <= 0.5 + 6 * (1 + answer.handicaps) * (step + copies / UNIT)
            most = max(most, off)
    if copies > 2:  # a slack for one histogram would not do
        assert most > 0.5 + 2 * (answer.theta + 1) / UNIT * (1 + answer.handicaps)
