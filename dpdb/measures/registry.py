"""`MEASURES`: the measures that are released. Each is one file with its `MEASURE`, and one line here.

A new measure is such a file beside the others, and its name in `MeasureName` and `MEASURES` here; a new mechanism
stands beside those of its subject in `dpdb.measures.mechanisms`, named by its measure.
"""

from __future__ import annotations

from typing import Literal

from dpdb.errors import ParameterError
from dpdb.measures import minimal_inconsistency, problematic, repair
from dpdb.measures.count import COUNT
from dpdb.measures.measure import Counted, Measure
from dpdb.names import nearest_words

MEASURES: tuple[Measure, ...] = (minimal_inconsistency.MEASURE, problematic.MEASURE, repair.MEASURE)
MeasureName = Literal["minimal_inconsistency", "problematic", "repair"]

_BY_NAME = {measure.name: measure for measure in MEASURES}
_COUNTED: dict[str, Counted] = {**_BY_NAME, COUNT.name: COUNT}

_REFUSED = {
    "drastic": "is 0 or 1 and one row can flip it, so noise would hide it; ask for minimal_inconsistency and "
    "compare it with a threshold (`--fail-above minimal_inconsistency=X`)",
    "maximal_consistency": "can grow exponentially in the rows through one row and is #P-hard to compute; ask for "
    "repair (what must go) or problematic (what is involved)",
}


def measure_named(name: str) -> Measure:
    """Return a measure.

    Raises
    ------
    ParameterError
        If it does not exist or is not private.
    """
    if name in _REFUSED:
        raise ParameterError(f"{name} is not released under differential privacy: it {_REFUSED[name]}")
    if name not in _BY_NAME:
        raise ParameterError(f"unknown measure {name!r}{nearest_words(name, [*_BY_NAME, 'all'])}")
    return _BY_NAME[name]


def measures_named(name: str, *, rate: bool = False) -> tuple[Measure, ...]:
    """Return the measures that a name stands for: one, or for ``"all"`` all of them; for rates, those that have a rate.

    Raises
    ------
    ParameterError
        If the measure does not exist, is not private, or has no rate.
    """
    if name == "all":
        return tuple(measure for measure in MEASURES if measure.has_rate or not rate)
    measure = measure_named(name)
    if rate and not measure.has_rate:
        rated = " or ".join(other.name for other in MEASURES if other.has_rate)
        raise ParameterError(
            f"{name} has no rate: it counts {measure.counts}, which are no share of the rows; ask for the rate of "
            f"{rated}, or leave out rate (--rate)"
        )
    return (measure,)


def counted(name: str) -> Counted | None:
    """Return the `Counted` of a measure or of the row count; None for a name that this version does not know."""
    return _COUNTED.get(name)
