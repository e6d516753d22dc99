"""Released values compared: `Change` with an earlier release, `Gate` with a public threshold. Reads releases only.

So both cost nothing. A change has a two-sided interval of the difference of two releases of one statistic.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass
from sys import float_info
from typing import Any, Literal

from dpdb.errors import ParameterError
from dpdb.measures import Mechanism, measure_named
from dpdb.privacy import UNIT, HandicappedNoise, difference_tail, gaussian_tail, laplace_difference_tail, laplace_tail
from dpdb.release.ask import parse_confidence
from dpdb.release.published.release_fields import (
    PER_ROW,
    SHARE,
    ReleaseFields,
    measured_words,
    missing_words,
    number_words,
)


@dataclass(frozen=True)
class Change:
    """By how much a released statistic differs from an earlier one.

    Attributes
    ----------
    value : float
        Of the unclamped values; above 0 where the later one is larger.
    lower, upper : float
        With probability at least `confidence`, over both noises, the statistic rose by so much; below 0 it fell.
    quantity : str
        What is counted, as in `Release`.

    Examples
    --------
    >>> import dpdb
    >>> with dpdb.open("examples/data/hospital.parquet", constraints="examples/data/hospital.dcs.txt") as session:
    ...     first = session.dp_inconsistency("problematic", epsilon=0.5, theta=20)
    ...     second = session.dp_inconsistency("problematic", epsilon=0.5, theta=20)
    >>> change = second.change(first)
    >>> change.confidence, change.quantity, change.lower < change.value < change.upper
    (0.95, 'rows', True)
    """

    value: float
    lower: float
    upper: float
    confidence: float
    quantity: str
    earlier_id: str
    later_id: str

    @property
    def words(self) -> str:
        """``"rose by 120 to 340"``, ``"fell by 7 to 95"`` or ``"no change seen"``."""
        if self.lower > 0:
            return f"rose by {self._text(self.lower)} to {self._text(self.upper)}"
        if self.upper < 0:
            return f"fell by {self._text(-self.upper)} to {self._text(-self.lower)}"
        return "no change seen"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, ready for JSON."""
        return asdict(self)

    def _text(self, value: float) -> str:
        return number_words(value, self.quantity)


# What must be equal for two releases to estimate one statistic, with its name for people.
_SAME = {
    "measure": "measures",
    "estimand": "estimands",
    "theta": "thetas",
    "where": "slices",
    "constraint": "constraints",
    "constraints_sha256": "constraints",
    "quantity": "quantities",
    "unit": "privacy units",
}


def change_between(later: ReleaseFields, earlier: ReleaseFields, confidence: float | None) -> Change:
    """Bound the difference of what two releases estimate; see `Release.change`.

    Proof. Let g and g' be the exact statistics of the two tables at the theta that both releases have, and N and N'
    their last noises, independent of one another and of everything drawn before them (`with_estimate`), the scales
    being public. raw' - raw = (g' - g) + (N' - N), so whenever |N' - N| <= t, g' - g lies in [raw' - raw - t,
    raw' - raw + t]. t is the exact quantile of |N' - N| at beta (`laplace_difference_tail`), also given that both
    thetas are equal, because thetas are drawn before. Clamped values would not do: their errors are not symmetric.
    Where a release is one of m draws that were looked at, and the other one of m', beta is divided by m m' (union
    bound).

    Where several numbers of different laws might have been published (`ladder`), each has its `draw_share`, and the
    shares add up to 1 given all that does not look at these draws. Then beta is multiplied by both shares: the pairs
    of numbers that may be published miss with probability at most beta in all, each by the law of its own noises
    (`difference_tail`). So with probability at least 1 - beta the two are not compared, or the interval holds. QED

    The two tables may be the same one, or any two: nothing is assumed of how they differ.

    Parameters
    ----------
    later, earlier
        The two releases; the change is `later` minus `earlier`.
    confidence
        Of the interval, 1 - beta; None for the smaller one of the two releases.
    """
    if later.raw is None or earlier.raw is None or later.unit is None:
        raise _refused("a release of an older version of dpdb did not keep its unclamped value")
    for field, name in _SAME.items():
        if getattr(later, field) != getattr(earlier, field):
            raise _refused(f"their {name} differ: {_shown(earlier, field)} and {_shown(later, field)}")
    if later.release_id == earlier.release_id:
        raise _refused("they are one and the same release")
    if later.quantity in (SHARE, PER_ROW):
        raise _refused("a rate divides by a noisy number of rows; release the measure without rate, and compare that")
    chosen = min(later.confidence, earlier.confidence) if confidence is None else parse_confidence(confidence)
    above, below = _tails(later, earlier, 1 - chosen)
    value = later.raw - earlier.raw
    return Change(
        value=value,
        lower=value - above,
        upper=value + below,
        confidence=chosen,
        quantity=later.quantity,
        earlier_id=earlier.release_id,
        later_id=later.release_id,
    )


def _tails(later: ReleaseFields, earlier: ReleaseFields, beta: float) -> tuple[float, float]:
    """Return how far the later noise may be above and below the earlier one, except with probability `beta`."""
    if later.rho is not None or earlier.rho is not None:  # Gaussian: each noise gets half of beta (union bound)
        both = sum(_alone(release, beta / 4) for release in (later, earlier))
        return both, both
    step = 1.0
    for release in (later, earlier):
        if release.estimate_lower is None:
            raise _refused(f"mechanism {release.mechanism!r} gives no interval: {release.estimate_reason}")
        mechanism = _mechanism(release)
        if mechanism is None:
            continue
        step = float(mechanism.step)  # of the estimand, so the same for both
        if release.draw_share is not None:
            beta *= release.draw_share
    if later.handicaps is None and earlier.handicaps is None:
        tail = step * laplace_difference_tail(later.noise_scale / step, earlier.noise_scale / step, beta)
        return tail, tail
    return _tail(later, earlier, step, beta / 2), _tail(earlier, later, step, beta / 2)


def _tail(one: ReleaseFields, other: ReleaseFields, step: float, beta: float) -> int:
    """Return how much the error of one unclamped value may exceed that of the other, except with probability `beta`.

    `raw` of a number that was climbed to adds half a noise scale for each handicap and is rounded. Both errors are near
    continuous noises (`difference_tail`); their difference is a whole number, so the sum is rounded down.
    """
    tail = difference_tail(_noise(one), _noise(other), beta)
    added = [(release.handicaps or 0) * release.noise_scale / 2 for release in (one, other)]
    return max(0, math.floor(tail + added[0] - added[1] + _rounded(one, step) + _rounded(other, step)))


def _noise(release: ReleaseFields) -> HandicappedNoise:
    return HandicappedNoise(release.noise_scale, release.handicaps or 0)


def _rounded(release: ReleaseFields, step: float) -> float:
    """Return the greatest distance of an unclamped value's error from its continuous noise.

    One step of the noise, if it is the last of its release whatever it is. Else, with u = S / UNIT the distance of the
    possible values of the noise and k handicaps: 1/2 by the rounding of `raw`, u by that of the statistic to units,
    (1 + k) u by the noise, and u / 2 for each of k means, because for a scale of b units the mean 1 / (2 sinh(1 / b))
    is within 1/2 of b / 2. Together that is at most 1/2 + 2 (1 + k) u.

    S, the sensitivity of the sum that was released, is K times that of one graph for `by_rule` over K class histograms,
    and no release tells K. But the noise does: its scale is `noise_scale` = b S / UNIT with b >= UNIT / e units, e
    being the part of `epsilon` that the number was drawn with (less than all of it: a choice of theta had some). So
    S <= e `noise_scale` <= `epsilon` `noise_scale`, whatever K is, and u is at most that over UNIT. QED
    """
    if release.handicaps is None or release.epsilon is None:  # None: paid in rho, and so it chose nothing
        return step
    return 0.5 + 2 * (1 + release.handicaps) * release.epsilon * release.noise_scale / UNIT


def _mechanism(release: ReleaseFields) -> Mechanism | None:
    """Return the mechanism of a measure; a count has none."""
    return None if release.measure == "count" else measure_named(release.measure).mechanism(release.mechanism)


def _alone(release: ReleaseFields, beta: float) -> float:
    """Return what one noise exceeds with probability at most `beta`: of a count or measure that may be paid in rho."""
    mechanism = _mechanism(release)
    step = 1.0 if mechanism is None else float(mechanism.step)
    return step * (laplace_tail if release.rho is None else gaussian_tail)(release.noise_scale / step, beta)


def _refused(why: str) -> ParameterError:
    return ParameterError(f"these releases cannot be compared: {why}")


def _shown(release: ReleaseFields, field: str) -> str:
    value = getattr(release, field)
    if field == "constraints_sha256":
        return f"digest {str(value)[:12]}"
    return "none" if value is None else str(value)


@dataclass(frozen=True)
class Gate:
    """`measure` must not be above `threshold`; where it only `warns`, nothing fails if it is.

    What passes is shown to be within: its upper bound is, but where the gate compares `by_value` alone.
    """

    measure: str
    threshold: float
    warns: bool = False
    by_value: bool = False


GateOutcome = Literal["passed", "failed", "not shown"]


@dataclass(frozen=True)
class GateResult:
    """One release at one gate."""

    release: ReleaseFields
    threshold: float
    warns: bool = False
    by_value: bool = False

    @property
    def outcome(self) -> GateOutcome:
        """Return `failed` if the published value is above the threshold, `passed` if its upper bound is not.

        Between them it is `not shown` (to be within); a measure without an upper bound never passes. What compares by
        value, or only warns, passes by the value.
        """
        if self.release.value > self.threshold:
            return "failed"
        upper = self.release.upper
        shown = self.warns or self.by_value or (upper is not None and upper <= self.threshold)
        return "passed" if shown else "not shown"

    @property
    def passed(self) -> bool:
        """Return whether it passes."""
        return self.outcome == "passed"

    @property
    def failed(self) -> bool:
        """Return whether the gate fails its job or command: the value is above it, and it does not only warn."""
        return self.outcome == "failed" and not self.warns

    @property
    def bound(self) -> float | None:
        """Return the end of the interval on the threshold's side; None if there is none."""
        return self.release.lower if self.outcome == "failed" else self.release.upper

    @property
    def beyond_noise(self) -> bool:
        """Return whether the whole interval lies on the value's side of the threshold."""
        return self.bound is not None and (self.bound > self.threshold) == (self.outcome == "failed")

    @property
    def certainty(self) -> str:
        """Whether the interval confirms the comparison, in words."""
        if self.bound is None:
            return "there is no upper bound, so this is not certain"
        above = self.outcome == "failed"
        known = f"{'lower' if above else 'upper'} bound {number_words(self.bound, self.release.quantity)}"
        if self.beyond_noise:
            return f"even the {known} is {'above' if above else 'not above'} it"
        return f"the threshold lies inside the noise ({known})"

    def __str__(self) -> str:
        release = self.release
        value, threshold = (number_words(number, release.quantity) for number in (release.value, self.threshold))
        passed, failed = ("no warning", "warning") if self.warns else ("gate passed", "gate failed")
        said = {"passed": passed, "failed": failed, "not shown": "gate not shown to be within"}[self.outcome]
        missing = "" if self.outcome == "failed" else missing_words(release)
        return (
            f"{said}: {measured_words(release)} = {value} "
            f"{'>' if self.outcome == 'failed' else '<='} {threshold}; {self.certainty}{missing and f'; {missing}'}"
        )


def parse_gate(
    measure: str,
    number: object,
    released: Collection[str],
    where: str,
    *,
    rate: bool = False,
    warns: bool = False,
    by_value: bool = False,
) -> Gate:
    """Check a gate and return it.

    Parameters
    ----------
    measure
        Name of the measure that the gate tests.
    number
        The threshold as it was written.
    released
        Names of the measures that are released.
    where
        Where the gate was written, for messages.
    rate
        Whether shares of rows are released; then the threshold is at most 1.
    warns
        Whether a release above the threshold only warns.
    by_value
        Whether the value alone is compared.

    Raises
    ------
    ParameterError
        The threshold is not a finite number of at least 0 (of a rate, above 1), or the measure is not released.
    """
    if isinstance(number, bool) or not isinstance(number, (int, float)) or not 0 <= number <= float_info.max:
        raise ParameterError(f"{where}: the number must be finite and not negative")
    if rate and number > 1:
        raise ParameterError(f"{where}: the number is a share of the rows, from 0 to 1")
    if measure not in released:
        raise ParameterError(f"{where}: {measure!r} is not released here (released: {', '.join(released)})")
    return Gate(measure, float(number), warns, by_value)


def check_gates(releases: Iterable[ReleaseFields], gates: Sequence[Gate]) -> tuple[GateResult, ...]:
    """Compare published values and their upper bounds with thresholds; in several slices each must pass.

    Examples
    --------
    >>> import dpdb
    >>> r = dpdb.dp_inconsistency("examples/data/hospital.parquet", "examples/data/hospital.dcs.txt", "repair", 1)
    >>> (result,) = check_gates([r], [Gate("repair", 100_000)])
    >>> result.passed, result.beyond_noise
    (True, True)
    """
    return tuple(
        GateResult(release, gate.threshold, gate.warns, gate.by_value)
        for release in releases
        for gate in gates
        if release.measure == gate.measure
    )
