"""A release request, checked: everything public is refused here, before anything is read or spent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

from dpdb.errors import ParameterError
from dpdb.measures import minimal_inconsistency, problematic, repair
from dpdb.measures.mechanism import Mechanism
from dpdb.measures.mechanisms.fixed_theta import at_theta, takes_theta
from dpdb.measures.mechanisms.two_sided import declared
from dpdb.measures.rate import RATED
from dpdb.names import close_name
from dpdb.privacy import format_epsilon, parse_epsilon

__all__ = [
    "MEASURES",
    "Request",
    "is_degree",
    "largest_degree_words",
    "measures_named",
    "mechanism_named",
    "parse_confidence",
    "parse_max_group",
    "parse_request",
    "parse_share",
]

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

# Below this the shares of a mechanism's steps would round to nothing.
_SMALLEST_EPSILON = 1_000

# Rows are numbered with 32 bits.
_LARGEST_DEGREE = 2**32 - 1


@dataclass(frozen=True)
class Request:
    """A checked request.

    Attributes
    ----------
    measures : tuple of (name, Mechanism)
        One, or all three; of rates, one or both.
    charged : int
        Nano-epsilon to debit.
    epsilon : int
        Nano-epsilon that the mechanisms spend per row: `charged` divided by the rows that one person may own.
    rate : bool
        Whether the measures are divided by a private count of the slice's rows.
    """

    measures: tuple[tuple[str, Mechanism], ...]
    charged: int
    epsilon: int
    confidence: float
    max_degree: int | None
    rate: bool = False

    @property
    def mechanisms(self) -> dict[str, str]:
        """The mechanism's name for each measure."""
        return {name: mechanism.name for name, mechanism in self.measures}

    def public(self, where: str | None, constraints_sha256: str, rows_per_person: int) -> dict[str, Any]:
        """Everything that was asked, for a ledger: two requests are the same if and only if these are equal."""
        return {
            "measures": self.mechanisms,
            "epsilon": format_epsilon(self.charged),
            "where": where,
            "confidence": self.confidence,
            "max_degree": self.max_degree,
            "rate": self.rate,
            "constraints_sha256": constraints_sha256,
            "rows_per_person": rows_per_person,
        }

    def at_theta(self, theta: int) -> Request:
        """Return the same request of one measure at a public theta; see `dpdb.measures.mechanisms.fixed_theta`."""
        return replace(self, measures=tuple((name, at_theta(mechanism, theta)) for name, mechanism in self.measures))

    def within(self, theta: int) -> Request:
        """Return the same request with `two_sided` at a theta that bounds every degree if the owner's word is true."""
        return replace(
            self,
            measures=tuple(
                (name, declared(mechanism, name, theta) if mechanism.name == "two_sided" else mechanism)
                for name, mechanism in self.measures
            ),
        )

    def part(self, charged: int, *, mechanism: str | None, rows_per_person: int, covers_all_rows: bool) -> Request:
        """Return the same request of one constraint alone, for a part of the cost; its default mechanism may differ."""
        measures = tuple((name, _mechanism(name, mechanism, covers_all_rows)) for name, _ in self.measures)
        return replace(self, measures=measures, charged=charged, epsilon=parse_share(charged, rows_per_person))


def parse_request(
    measure: str,
    epsilon: object,
    *,
    mechanism: str | None,
    confidence: float,
    max_degree: int | None,
    rows_per_person: int,
    covers_all_rows: bool,
    rate: bool = False,
    theta: object = None,
) -> Request:
    """Check the parameters of a release; of a `theta`, whether there may be one.

    Raises
    ------
    ParameterError
        If the measure or mechanism does not exist or is not private, or a number is out of range.
    """
    names = measures_named(measure, rate=rate)
    if measure == "all" and mechanism is not None:
        raise ParameterError("mechanism applies to one measure; with measure 'all' each uses its default")
    chosen = tuple((name, _mechanism(name, mechanism, covers_all_rows)) for name in names)
    if max_degree is not None and not is_degree(max_degree):
        raise ParameterError(f"max_degree must be {largest_degree_words()}, got {max_degree!r}")
    if theta is not None:
        if len(chosen) > 1:
            raise ParameterError(f"theta applies to one measure, not to {measure!r}: each measure has its own")
        takes_theta(*chosen[0])
    for name, chosen_mechanism in chosen:
        if theta is None and chosen_mechanism.needs_max_degree and max_degree is None:
            raise ParameterError(
                f"mechanism {chosen_mechanism.name!r} of {name} needs a public max_degree: a bound of the conflicts "
                "per tuple that you state without looking at the data"
            )
    confidence = parse_confidence(confidence)
    charged = parse_epsilon(epsilon)  # type: ignore[arg-type]  # it checks the type itself
    return Request(chosen, charged, parse_share(charged, rows_per_person), confidence, max_degree, rate)


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


def parse_confidence(confidence: float) -> float:
    """Check the confidence of the bounds."""
    if not isinstance(confidence, (int, float)) or not 0.5 <= confidence < 1:
        raise ParameterError(f"confidence must be at least 0.5 and below 1, got {confidence!r}")
    return float(confidence)


def parse_max_group(max_group: object) -> int | None:
    """Check how many rows the owner declares the largest group to have."""
    if max_group is not None and not is_degree(max_group):
        raise ParameterError(f"max_group must be {largest_degree_words()}, got {max_group!r}")
    return max_group  # type: ignore[return-value]  # checked just above


def parse_share(charged: int, rows_per_person: int) -> int:
    """Divide nano-epsilon among the rows of one person (group privacy)."""
    per_row = charged // rows_per_person
    if per_row < _SMALLEST_EPSILON:
        raise ParameterError(f"epsilon {format_epsilon(charged)} leaves less than 0.000001 per row: too small to use")
    return per_row


def largest_degree_words() -> str:
    """Say which numbers a degree or a theta may be."""
    return f"a whole number from 1 to {_LARGEST_DEGREE:,}"


def is_degree(value: object) -> bool:
    """Whether a value is a number that a degree or a theta may be."""
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= _LARGEST_DEGREE


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
    near = close_name(str(wanted), names)
    return (f"; did you mean {near!r}?" if near is not None else "") + f" (known: {', '.join(names)})"
