"""The table of measures: each is one file with its `MEASURE`, and one line in `dpdb.measures.measure_names`.

All that is said of a measure elsewhere is read of it: words, exact values, the mechanism of a closed form, which ends
its bounds have, rates, shares. So it is by entry points, by `dpdb exact`, and by the tests that hold for every
measure. A new mechanism stands beside those of its subject in `dpdb.measures.mechanisms`, named by its measure.

A measure is loaded when it is asked for: a release loads no other one.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from dpdb.errors import ParameterError
from dpdb.measures.count import COUNT
from dpdb.measures.measure import Counted, Measure
from dpdb.measures.measure_names import COMPARED, NAMES, TOGETHER
from dpdb.names import nearest_words


@cache
def _registered(name: str) -> Measure:
    measure: Measure = import_module(f"dpdb.measures.{name}").MEASURE
    return measure


def all_measures() -> tuple[Measure, ...]:
    """Return all measures, in the order of their names in `measure_names`."""
    return tuple(map(_registered, NAMES))


def measure_named(name: str) -> Measure:
    """Return a measure."""
    if name not in NAMES:
        raise ParameterError(f"unknown measure {name!r}{nearest_words(name, [*NAMES, 'all'])}")
    return _registered(name)


def measures_named(name: str, *, rate: bool = False) -> tuple[Measure, ...]:
    """Return the measures that a name stands for: one, or for ``"all"`` those of `TOGETHER`, of rates with a share."""
    if name == "all":
        together = map(_registered, TOGETHER)
        return tuple(measure for measure in together if measure.rate_weight is not None or not rate)
    measure = measure_named(name)
    if rate and not measure.has_rate:
        rated = " or ".join(other.name for other in all_measures() if other.has_rate)
        is_verdict = measure.words.verdicts is not None
        why = "it is a verdict, yes or no" if is_verdict else f"it counts {measure.counts}"
        raise ParameterError(
            f"{name} has no rate: {why}, which {'is' if is_verdict else 'are'} no share of the rows; ask for the rate "
            f"of {rated}, or leave out rate (--rate)"
        )
    return (measure,)


def refuse_rho(name: str, mechanism: str | None = None) -> None:
    """Raise `ParameterError` if a measure, by the mechanism that is named, draws other noise than Gaussian."""
    if name == "all" or not measure_named(name).mechanism(mechanism).in_rho:
        known = ", ".join(one.name for one in all_measures() if one.in_rho)
        raise ParameterError(
            f"rho= is for counts of rows and {known}: other measures are released with Laplace noise; give epsilon="
        )


def counted(name: str) -> Counted | None:
    """Return the `Counted` of a released number by its name; None for one that this version does not know."""
    if name in COMPARED:
        return _compared(name)
    return COUNT if name == COUNT.name else _registered(name) if name in NAMES else None


def _compared(name: str) -> Counted:
    from dpdb.measures.compared import COUNTED  # most releases are of one table

    return COUNTED[name]
