"""`Ask`: the options of a release, as a value. All entry points take names, defaults and validation from here.

The public numbers among them (confidence, shares, thetas) are checked here, too, before a row is read.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias, TypedDict

from dpdb.errors import ParameterError
from dpdb.measures import NAMES, MeasureName, measure_named, measures_named, refuse_rho
from dpdb.names import check_name, nearest_words
from dpdb.options import Option, option, options_of
from dpdb.privacy import format_epsilon, format_rho, parse_epsilon, parse_rho

Epsilon: TypeAlias = float | int | str | Decimal
Key: TypeAlias = str | int | float | Decimal | bool  # the key of a group: a value of the `by` column
Measure: TypeAlias = MeasureName

COUNT = "count"
_OF_MEASURES = ("mechanism", "max_degree", "rate", "each_constraint", "theta")
_OF_RUNS = ("commands", "jobs")  # commands take it with the ledger; a job's runs have ids of their own


@dataclass(frozen=True)
class Ask:
    """The options of one call for releases. The constructor checks everything that needs no table.

    Two asks are equal if their fields are. Two asks are *one release* if the requests of their charges are equal, which
    `prepare` makes with canonical keys and the digest of the constraints.

    Who asks is no field: the owner names him with the release, see `Session.release`. A standing release will be one
    beside `theta`, of which `prepare` makes a kind of part of its own.

    Attributes
    ----------
    measure : str
        ``"minimal_inconsistency"``, ``"problematic"``, ``"repair"``, or ``"all"``: then `epsilon` is the total of the
        three, which share one degree cap. ``"count"`` is the number of rows.
    epsilon : number or None
        Privacy cost. The release is pure epsilon-DP for adding or removing one row (`rows_per_person` rows; one value
        of `unit` with all its rows; one row of the table or of a private parent). It has no default: None where `rho`
        is given.
    rho : number or None
        Cost of a count, or of maximal_consistency, with Gaussian noise instead, on a ledger of notion zcdp.
    where : str or None
        The slice: a predicate of the default-deny grammar. Both tuples of a conflict lie in the slice.
    by, keys : str and sequence, or None
        A column and the public list of its groups: one slice per key, absent groups included. The slices are disjoint,
        so `epsilon` is charged once for all of them.
    mechanism : str or None
        Another mechanism than the default, by name.
    max_degree : int or None
        Public bound of the conflicts per tuple, for mechanisms that need one.
    confidence : float
        Of the bounds.
    rate : bool
        Divide by a private count of the slice's rows, which gets 5% of epsilon: the share of rows in conflict
        (``"problematic"``) or to delete (``"repair"``), from 0 to 1. Pairs of rows have no rate; ``"all"`` then
        releases the two that have one, in the proportion 2 : 1, with one count.
    each_constraint : bool
        Measure every constraint alone, on the conflict graph that it has without the others. Each gets an equal share
        of epsilon, which is debited once for all of them.
    theta : int, PublicTheta or None
        Public threshold of the projection, stated without looking at the rows (an earlier release's is such a one):
        nothing is spent on choosing it, and releases at one theta can be compared (`Release.change`).
    sparse : bool
        Of a count with up to 100,000 keys, most of them without rows: only keys whose noisy count is above a public
        threshold are released, and what the others mean is said. `keys` may then be the path of a file with one key a
        line, which says so by itself.
    run_id : str or None
        Name of this run in the ledger: asked again, it gives the recorded answer and spends nothing.
    label : str or None
        A word for the ledger's history, such as what the release is for; no part of the request.

    Raises
    ------
    ParameterError
        If the measure or mechanism does not exist or is not private, a number is out of range, two options exclude
        each other, or no cost is given.
    """

    measure: str = option(
        "repair", "text", "M", f"{', '.join(NAMES)}, or all, for three that share epsilon (repair)", is_harmless=True
    )
    epsilon: Epsilon | None = option(None, "amount", "E", "privacy cost, in total")
    rho: Epsilon | None = option(
        None,
        "amount",
        "R",
        "of a count or maximal_consistency: cost of Gaussian noise instead, on a ledger of notion zcdp",
    )
    where: str | None = option(None, "text", "SQL", "predicate that selects the slice")
    by: str | None = option(None, "text", "COLUMN", "one slice per key of this column, charged once")
    keys: Sequence[Key] | None = option(None, "keys", "V,V", "the public list of keys, as one line of CSV")
    confidence: float = option(0.95, "number", "C", "of the bounds (.95)", is_harmless=True)
    mechanism: str | None = option(
        None, "text", "NAME", "another mechanism than the measure's default", is_harmless=True
    )
    rate: bool = option(
        False,
        "flag",
        words="as a share of the rows, if it has one: 5% of epsilon counts the rows",
        is_harmless=True,
    )
    each_constraint: bool = option(
        False, "flag", words="measure every constraint alone; epsilon is the total, in equal parts", is_harmless=True
    )
    max_degree: int | None = option(None, "whole", "N", "public bound of conflicts per row")
    theta: int | PublicTheta | None = option(None, "whole", "N", "public threshold of the projection; not chosen then")
    sparse: bool = option(False, "flag", words="of a count: show only keys above a public threshold, of up to 100,000")
    run_id: str | None = option(
        None, "text", "ID", "name of this run: asked again, the ledger gives its answer", not_in=_OF_RUNS
    )
    label: str | None = option(None, "text", "TEXT", "a word for the ledger's history", not_in=("commands",))

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Ask:
        """Return the ask of a mapping of names to values; names left out have their defaults.

        Raises
        ------
        ParameterError
            If a name is unknown (the message has the nearest known one), and as for `Ask`.
        """
        for name in given:
            if name not in OPTIONS:
                raise ParameterError(f"a release has no option {name!r}{nearest_words(name, OPTIONS)}")
        return cls(**given)

    @classmethod
    def called(cls, function: str, given: Mapping[str, Any]) -> Ask:
        """Return the ask of a call of `dp_inconsistency` or `dp_count`; each function has measures of its own."""
        if function == "dp_count":
            measure = given.get("measure")
            if measure is not None and measure != COUNT:  # else the call would pay for a count, not for its measure
                raise ParameterError(
                    f"dp_count counts rows and takes no measure, got {measure!r}; ask dp_inconsistency"
                )
            return cls.of({**given, "measure": COUNT})
        measures_named(given.get("measure", cls.measure), rate=given.get("rate", cls.rate))  # refuses a count
        return cls.of(given)

    def __post_init__(self) -> None:
        listed: object = self.keys
        if isinstance(listed, os.PathLike):
            from dpdb.files.key_file import read_keys  # few counts have such a list

            self._set("keys", tuple(read_keys(Path(listed))))
            self._set("sparse", True)
        if self.sparse:
            self._check_sparse()
        if self.counts_rows:
            self._check_count()
        else:
            self._check_measures()
        self._check_one_cost()
        if self.max_degree is not None and not is_degree(self.max_degree):
            raise ParameterError(f"max_degree must be {largest_degree_words()}, got {self.max_degree!r}")
        parse_theta(self.theta)
        if self.label is not None:
            check_name("a label", self.label)
        self._set("confidence", parse_confidence(self.confidence))
        self._set("keys", checked_keys(self.by, self.keys))
        _ = self.charged_rho if self.rho is not None else self.charged

    @property
    def function(self) -> str:
        """The name of the function with these options, in Python and SQL."""
        return "dp_count" if self.counts_rows else "dp_inconsistency"

    @property
    def counts_rows(self) -> bool:
        """Return whether the release counts rows instead of measuring conflicts."""
        return self.measure == COUNT

    @cached_property
    def measures(self) -> tuple[str, ...]:
        """The measures to release, in the order of their releases; none for a count."""
        return () if self.counts_rows else tuple(one.name for one in measures_named(self.measure, rate=self.rate))

    @property
    def several(self) -> bool:
        """Return whether the answer is a tuple of releases, even of only one."""
        return self.measure == "all" or self.by is not None or bool(self.each_constraint)

    @property
    def charged(self) -> int:
        """Nano-epsilon to debit; 0 for what is paid in rho."""
        return 0 if self.epsilon is None else parse_epsilon(self.epsilon)

    @property
    def charged_rho(self) -> int | None:
        """Pico-rho to debit; None if the release is paid in epsilon."""
        return None if self.rho is None else parse_rho(self.rho)

    @property
    def public_theta(self) -> PublicTheta | None:
        """The public theta of the options and its source."""
        return parse_theta(self.theta)

    def _check_measures(self) -> None:
        names = self.measures
        if self.rho is not None:
            refuse_rho(self.measure, self.mechanism)
        if self.measure == "all" and self.mechanism is not None:
            raise ParameterError("mechanism applies to one measure; with measure 'all' each uses its default")
        if self.mechanism is not None:
            measure_named(names[0]).mechanism(self.mechanism)
        if self.theta is not None and len(names) > 1:
            raise ParameterError(f"theta applies to one measure, not to {self.measure!r}: each measure has its own")

    def _check_count(self) -> None:
        """Check the options of a count, and refuse the options of measures."""
        if any(getattr(self, name) is not OPTIONS[name].default for name in _OF_MEASURES):
            raise ParameterError(
                f"{', '.join(_OF_MEASURES[:-1])} and {_OF_MEASURES[-1]} do not apply to measure {COUNT!r}"
            )

    def _check_sparse(self) -> None:
        """Refuse a long list of keys for what is no count, and one that is too long."""
        if not isinstance(self.sparse, bool):
            raise ParameterError(f"sparse must be True or False, got {self.sparse!r}")
        if not self.counts_rows:
            raise ParameterError(
                f"a long list of keys is for counts, which one row changes by 1 in one key; {self.measure!r} has noise "
                "of its own for each key: give by= and keys="
            )
        from dpdb.files.key_file import MOST_KEYS

        if self.keys is None:
            raise ParameterError("sparse=True needs by= and keys=: a column and a public list of its groups")
        if len(self.keys) > MOST_KEYS:
            raise ParameterError(f"a list of keys has at most {MOST_KEYS:,}, got {len(self.keys):,}")
        if any(isinstance(key, (bool, float)) or not isinstance(key, (str, int, Decimal)) for key in self.keys):
            raise ParameterError("a long list of keys is of texts and whole numbers, without NULL")

    def _check_one_cost(self) -> None:
        if self.rho is not None and self.epsilon is not None:
            raise ParameterError("give either epsilon= (Laplace noise) or rho= (Gaussian noise), not both")
        if self.rho is None:
            refuse_unpriced(self.epsilon)

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)


def refuse_unpriced(epsilon: object) -> None:
    """Refuse a release without a cost: who forgets one would spend what the entry point happens to take."""
    if epsilon is None:
        raise ParameterError("what a release costs is never a default: give epsilon, or rho on a zcdp ledger")


def checked_keys(by: object, keys: object) -> tuple[Key, ...] | None:
    """Return the keys of slices; None without slices."""
    if by is None and keys is None:
        return None
    if by is None or keys is None:
        raise ParameterError("by= and keys= go together: a column and the public list of its groups")
    if not isinstance(by, str):
        raise ParameterError(f"by must be the name of a column, got {by!r}")
    if isinstance(keys, (str, bytes)) or not isinstance(keys, Sequence) or not keys:
        raise ParameterError("keys must be a list of at least one value")
    return tuple(keys)


# What entry points derive their options from, by name.
OPTIONS: Mapping[str, Option] = options_of(Ask)
# Names of the options of `dp_inconsistency` and of `dp_count`.
MEASURE_OPTIONS = tuple(name for name in OPTIONS if name != "sparse")
COUNT_OPTIONS = tuple(name for name in OPTIONS if name not in {"measure", *_OF_MEASURES})


class ReleaseOptions(TypedDict, total=False):
    """Options of every release that do not change the form of its answer, and who asks; for type checkers."""

    where: str | None
    confidence: float
    rho: Epsilon | None
    run_id: str | None
    label: str | None
    who: str | None


class MeasureOptions(ReleaseOptions, total=False):
    """Options of measures that do not change the form of the answer."""

    mechanism: str | None
    max_degree: int | None
    rate: bool
    theta: int | PublicTheta | None


class EveryCountOption(ReleaseOptions, total=False):
    """Options of counts."""

    by: str | None
    keys: Sequence[Key] | os.PathLike[str] | None
    sparse: bool


class EveryMeasureOption(MeasureOptions, total=False):
    """Options of measures."""

    by: str | None
    keys: Sequence[Key] | None
    each_constraint: bool


# Below this the shares of a mechanism's steps would round to nothing.
_SMALLEST_EPSILON = 1_000
_SMALLEST_RHO = 1_000  # likewise; a count has no steps, and may have less

# Rows are numbered with 32 bits.
_LARGEST_DEGREE = 2**32 - 1


def parse_confidence(confidence: float) -> float:
    """Check the confidence of the bounds."""
    if not isinstance(confidence, (int, float)) or not 0.5 <= confidence < 1:
        raise ParameterError(f"confidence must be at least 0.5 and below 1, got {confidence!r}")
    return float(confidence)


def parse_share(charged: int, rows_per_person: int) -> int:
    """Divide nano-epsilon among the rows of one person (group privacy)."""
    per_row = charged // rows_per_person
    if per_row < _SMALLEST_EPSILON:
        raise ParameterError(f"epsilon {format_epsilon(charged)} leaves less than 0.000001 per row: too small to use")
    return per_row


def parse_rho_share(charged: int, rows_per_person: int) -> int:
    """Divide pico-rho of a measure among the rows of one person: k rows cost k^2 times what one of them does."""
    per_row = charged // rows_per_person**2
    if per_row < _SMALLEST_RHO:
        raise ParameterError(f"rho {format_rho(charged)} leaves less than 1e-9 per row: too small to use")
    return per_row


def largest_degree_words() -> str:
    """Return the valid range of a degree or a theta, in words."""
    return f"a whole number from 1 to {_LARGEST_DEGREE:,}"


def is_degree(value: object) -> bool:
    """Return whether a value is in the valid range of a degree or a theta."""
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= _LARGEST_DEGREE


@dataclass(frozen=True)
class PublicTheta:
    """One theta for all releases of a call, or one for each in their order, and where they come from.

    Attributes
    ----------
    thetas : tuple of int, or None
        None for a release that has none, of rules on one row.
    words : str
        Their source; published with each release.
    kept : bool
        Whether they were kept from recorded releases, one for each.
    limits : tuple of bool or None
        What that release said of each (`theta_limits`). It is no part of a request: it changes nothing that is drawn.
    """

    thetas: tuple[int | None, ...]
    words: str = "given"
    kept: bool = False
    limits: tuple[bool | None, ...] = field(default=(), compare=False)

    def of(self, position: int) -> int | None:
        """The theta of a release, by its position in the call."""
        return self.thetas[position] if self.kept else self.thetas[0]

    def limited(self, position: int) -> bool | None:
        """Return True where the release that chose the theta announced that it may limit; else None.

        No bound of the degrees is released with a theta that is public. Rows may have changed since it was chosen, so
        that it did not limit then says nothing of now.
        """
        return True if self.limits and self.limits[position] else None

    @property
    def public(self) -> Mapping[str, Any]:
        """The thetas as part of a request; `read` is the inverse."""
        return {"theta": list(self.thetas), "theta_from": self.words} if self.kept else {"theta": self.thetas[0]}

    @classmethod
    def read(cls, public: Mapping[str, Any]) -> PublicTheta | None:
        """Return the thetas of a recorded request; None if its releases chose their thetas."""
        found = public.get("theta")
        if isinstance(found, list):
            return cls(tuple(found), public["theta_from"], kept=True)
        return None if found is None else cls((found,))


def parse_theta(theta: int | PublicTheta | None) -> PublicTheta | None:
    """Check a theta from the options of a release."""
    if theta is None or isinstance(theta, PublicTheta):
        return theta
    if not is_degree(theta):
        raise ParameterError(f"theta must be {largest_degree_words()}, got {theta!r}")
    return PublicTheta((theta,))
