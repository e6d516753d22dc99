"""Measures and mechanisms by name."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType

from dpdb.errors import ParameterError
from dpdb.measures import minimal_inconsistency, problematic, repair
from dpdb.measures.mechanism import Mechanism
from dpdb.measures.rate import RATED

__all__ = ["MEASURES", "measures_named", "mechanism_named"]

_ROOMS: Mapping[str, ModuleType] = {
    "minimal_inconsistency": minimal_inconsistency,
    "problematic": problematic,
    "repair": repair,
}
MEASURES = tuple(_ROOMS)

_REFUSED = {
    "drastic": "is 0 or 1 and one row can flip it, so noise would hide it; ask for minimal_inconsistency and "
    "compare it with a threshold (`--fail-above minimal_inconsistency=X`)",
    "maximal_consistency": "can grow exponentially in the rows through one row and is #P-hard to compute; ask for "
    "repair (what must go) or problematic (what is involved)",
}


def measures_named(measure: str, *, rate: bool = False) -> tuple[str, ...]:
    """Return the measures that a name stands for: itself, or for ``"all"`` all three; of rates, those that have one.

    Raises
    ------
    ParameterError
        If the measure does not exist, is not private, or has no rate.
    """
    if measure == "all":
        return RATED if rate else MEASURES
    name = _known_measure(measure)
    if rate and name not in RATED:
        raise ParameterError(
            f"{name} has no rate: it counts pairs of rows, which are no share of the rows; ask for the rate of "
            f"{' or '.join(RATED)}, or leave out rate (--rate)"
        )
    return (name,)


def _known_measure(measure: str) -> str:
    if measure in _REFUSED:
        raise ParameterError(f"{measure} is not released under differential privacy: it {_REFUSED[measure]}")
    if measure not in _ROOMS:
        raise ParameterError(f"unknown measure {measure!r}{_nearest(measure, [*MEASURES, 'all'])}")
    return measure


def mechanism_named(measure: str, name: str) -> Mechanism:
    """Return a mechanism of a measure.

    Raises
    ------
    ParameterError
        If there is none of that name.
    """
    return _mechanism(_known_measure(measure), name, covers_all_rows=False)


def _mechanism(measure: str, wanted: str | None, covers_all_rows: bool) -> Mechanism:
    room = _ROOMS[measure]
    default: Callable[..., Mechanism] = room.default_mechanism
    if wanted is None:
        return default(covers_all_rows=covers_all_rows)
    known: Mapping[str, Mechanism] = room.MECHANISMS
    if wanted not in known:
        raise ParameterError(f"unknown mechanism {wanted!r} of {measure}{_nearest(wanted, known)}")
    return known[wanted]


def _nearest(wanted: object, known: Iterable[str]) -> str:
    names = list(known)
    near = difflib.get_close_matches(str(wanted), names, n=1)
    return (f"; did you mean {near[0]!r}?" if near else "") + f" (known: {', '.join(names)})"
