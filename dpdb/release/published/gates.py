"""Gates: a released value is compared with a public threshold. Reads releases only, so it costs nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from sys import float_info

from dpdb.errors import ParameterError
from dpdb.release.published.release_fields import ReleaseFields
from dpdb.release.published.words import measured_words, missing_words, number_words

__all__ = ["Gate", "GateResult", "check_gates", "parse_gate"]


@dataclass(frozen=True)
class Gate:
    """`measure` must not be above `threshold`; where it only `warns`, nothing fails if it is."""

    measure: str
    threshold: float
    warns: bool = False


@dataclass(frozen=True)
class GateResult:
    """One release at one gate."""

    release: ReleaseFields
    threshold: float
    warns: bool = False

    @property
    def passed(self) -> bool:
        """Return whether the published value is not above the threshold."""
        return self.release.value <= self.threshold

    @property
    def failed(self) -> bool:
        """Return whether the gate fails its job or command: it is not passed and does not only warn."""
        return not self.passed and not self.warns

    @property
    def bound(self) -> float | None:
        """Return the end of the interval on the threshold's side; None if there is none."""
        return self.release.upper if self.passed else self.release.lower

    @property
    def beyond_noise(self) -> bool:
        """Return whether the whole interval lies on the value's side of the threshold."""
        return self.bound is not None and (self.bound <= self.threshold) == self.passed

    @property
    def certainty(self) -> str:
        """Whether the interval confirms the comparison, in words."""
        if self.bound is None:
            return "there is no upper bound, so this is not certain"
        known = f"{'upper' if self.passed else 'lower'} bound {number_words(self.bound, self.release.quantity)}"
        if self.beyond_noise:
            return f"even the {known} is {'not above' if self.passed else 'above'} it"
        return f"the threshold lies inside the noise ({known})"

    def __str__(self) -> str:
        release = self.release
        value, threshold = (number_words(number, release.quantity) for number in (release.value, self.threshold))
        return (
            f"{self._verdict}: {measured_words(release)} = {value} "
            f"{'<=' if self.passed else '>'} {threshold}; {self.certainty}{self._missing}"
        )

    @property
    def _verdict(self) -> str:
        if self.warns:
            return "no warning" if self.passed else "warning"
        return f"gate {'passed' if self.passed else 'failed'}"

    @property
    def _missing(self) -> str:
        words = missing_words(self.release)
        return f"; {words}" if self.passed and words else ""


def parse_gate(
    measure: str, number: object, released: Collection[str], where: str, *, rate: bool = False, warns: bool = False
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
    return Gate(measure, float(number), warns)


def check_gates(releases: Iterable[ReleaseFields], gates: Sequence[Gate]) -> tuple[GateResult, ...]:
    """Compare published values with thresholds, strictly; in several slices each must pass.

    Examples
    --------
    >>> import dpdb
    >>> r = dpdb.dp_inconsistency("examples/data/hospital.parquet", "examples/data/hospital.dcs.txt", "repair")
    >>> (result,) = check_gates([r], [Gate("repair", 100_000)])
    >>> result.passed, result.beyond_noise
    (True, True)
    """
    return tuple(
        GateResult(release, gate.threshold, gate.warns)
        for release in releases
        for gate in gates
        if release.measure == gate.measure
    )
