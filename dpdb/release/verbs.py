"""`Verbs`: `dp_inconsistency` and `dp_count`, with the types of their answers; each makes an `Ask` and releases it."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, Literal, TypeVar, Unpack, get_type_hints, overload

from dpdb.release.ask import (
    OPTIONS,
    Ask,
    Epsilon,
    EveryCountOption,
    EveryMeasureOption,
    Key,
    Measure,
    MeasureOptions,
    ReleaseOptions,
)
from dpdb.release.published.release import Release, Releases

Verb = TypeVar("Verb", bound=Callable[..., Any])


def spelled(options: type) -> Callable[[Verb], Verb]:
    """Show the options that a function takes as ``**options`` one by one in its signature, with their defaults.

    So `help` and notebooks show the options, which are written in one place.
    """
    types = get_type_hints(options)  # as types: their names mean nothing where the function is
    defaults = {name: option.default for name, option in OPTIONS.items()} | {"who": None}

    def spell(verb: Verb) -> Verb:
        signature = inspect.signature(verb)
        named = [
            parameter
            for parameter in signature.parameters.values()
            if parameter.kind is not inspect.Parameter.VAR_KEYWORD
        ]
        rest = [parameter for parameter in signature.parameters.values() if parameter.name == "settings"]
        every = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=types[name])
            for name, default in defaults.items()
            if name in types
        ]
        verb.__signature__ = signature.replace(parameters=[*named, *every, *rest])  # type: ignore[attr-defined]  # `inspect` reads it
        return verb

    return spell


class Verbs(ABC):
    """The public methods of a `Session` that release."""

    @abstractmethod
    def release(self, ask: Ask, *, who: str | None = None) -> Releases:
        """Make the releases of an ask; `who` is the asker's name in the ledger's history."""

    @overload
    def dp_inconsistency(
        self, measure: Measure = ..., epsilon: Epsilon | None = ..., *, by: None = ..., keys: None = ...,
        each_constraint: Literal[False] = ..., **options: Unpack[MeasureOptions],
    ) -> Release: ...  # fmt: skip
    @overload
    def dp_inconsistency(
        self, measure: Literal["all"], epsilon: Epsilon | None = ..., **options: Unpack[EveryMeasureOption]
    ) -> Releases: ...
    @overload
    def dp_inconsistency(
        self, measure: str = ..., epsilon: Epsilon | None = ..., *, by: str, keys: Sequence[Key],
        each_constraint: bool = ..., **options: Unpack[MeasureOptions],
    ) -> Releases: ...  # fmt: skip
    @overload
    def dp_inconsistency(
        self, measure: str = ..., epsilon: Epsilon | None = ..., *, by: str | None = ...,
        keys: Sequence[Key] | None = ..., each_constraint: Literal[True], **options: Unpack[MeasureOptions],
    ) -> Releases: ...  # fmt: skip
    @overload
    def dp_inconsistency(
        self, measure: str, epsilon: Epsilon | None = ..., **options: Unpack[EveryMeasureOption]
    ) -> Release | Releases: ...
    @spelled(EveryMeasureOption)
    def dp_inconsistency(
        self, measure: str = Ask.measure, epsilon: Epsilon | None = None, **options: Unpack[EveryMeasureOption]
    ) -> Release | Releases:
        """Release one measure, or all three, of the table or of a slice.

        Parameters
        ----------
        measure : str
            ``"minimal_inconsistency"``, ``"problematic"``, ``"repair"``, or ``"all"`` for the three.
        epsilon : number
            Privacy cost of the call, also for several releases. It is refused where neither it nor `rho` is given.
        **options
            By name; `Ask` says what each is: `where`, `by` and `keys`, `mechanism`, `max_degree`, `confidence`, `rate`,
            `each_constraint`, `theta`, `rho`, `run_id`, `label`; and `who` asks, for the ledger's history, where a run
            id is one asker's.

        Returns
        -------
        Release or Releases
            One release; all of them for ``"all"``; with `each_constraint`, for each constraint in order, those of it;
            with `by`, for each key in order, those of its slice.

        Raises
        ------
        ParameterError, PredicateError, UnknownColumnError, LedgerError, SourceError
            Before anything is released; the last, if the rows of another engine were found changed.
        BudgetExceededError
            If the budget does not suffice; nothing is spent.
        EngineError
            If the release fails after the debit, with one constant message.

        Notes
        -----
        Sources: paper A, Algorithms 1, 2, 4 and 5, with corrected sensitivities; see each measure's mechanisms.

        Examples
        --------
        >>> import dpdb
        >>> rules = "examples/data/hospital.dcs.txt"
        >>> with dpdb.open("examples/data/hospital.parquet", constraints=rules, budget=3) as session:
        ...     states = session.dp_inconsistency("repair", 0.5, by="state", keys=["AL", "AK"])
        ...     session.spent(), [release.where for release in states]
        (0.5, ["state = 'AL'", "state = 'AK'"])
        """
        return self._called("dp_inconsistency", {"measure": measure, "epsilon": epsilon, **options})

    @overload
    def dp_count(
        self, epsilon: Epsilon | None = ..., *, by: None = ..., keys: None = ..., **options: Unpack[ReleaseOptions]
    ) -> Release: ...
    @overload
    def dp_count(
        self,
        epsilon: Epsilon | None = ...,
        *,
        by: str,
        keys: Sequence[Key] | PathLike[str],
        sparse: bool = ...,
        **options: Unpack[ReleaseOptions],
    ) -> Releases: ...
    @overload
    def dp_count(self, epsilon: Epsilon | None = ..., **options: Unpack[EveryCountOption]) -> Release | Releases: ...
    @spelled(EveryCountOption)
    def dp_count(self, epsilon: Epsilon | None = None, **options: Unpack[EveryCountOption]) -> Release | Releases:
        """Release the number of rows of the table, of a slice, or of one slice per key.

        Sensitivity 1 (a row is in the slice or not), so discrete Laplace noise of scale 1 / epsilon; the bounds are
        two-sided. Options (`rho`, `where`, `by` and `keys`, `sparse`, `confidence`, `run_id`, `label`, `who`), cost and
        errors as `dp_inconsistency`. `keys` may be the path of a file of up to 100,000 keys, most of them empty: those
        above a public threshold come back, and their `estimand` says what the others mean.

        With `rho` instead of `epsilon` the noise is discrete Gaussian of variance 1 / (2 rho) and the release rho-zCDP
        (Canonne, Kamath and Steinke 2020), charged rho to a ledger of notion zcdp. Other accounts refuse it: Gaussian
        noise is not pure, and discrete Gaussian noise has no proven mu (see `dpdb.privacy.noise`).

        Examples
        --------
        >>> import dpdb
        >>> with dpdb.open("examples/data/hospital.parquet", budget=1) as session:
        ...     count = session.dp_count(0.1, where="state = 'AL'")
        ...     count.measure, round(count.noise_scale), session.remaining()
        ('count', 10, 0.9)
        """
        return self._called("dp_count", {"epsilon": epsilon, **options})

    def _called(self, function: str, given: dict[str, Any]) -> Release | Releases:
        who = given.pop("who", None)
        ask = Ask.called(function, given)
        releases = self.release(ask, who=who)
        return releases if ask.several else releases[0]
