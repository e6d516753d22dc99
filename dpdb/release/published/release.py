"""`Release`: one noisy answer together with everything published about it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

from dpdb.constraints import DenialConstraint
from dpdb.errors import LedgerError, ParameterError
from dpdb.release.published.release_fields import ReleaseFields, release_words, releases_words

if TYPE_CHECKING:
    import pyarrow as pa

    from dpdb.release.published.comparisons import Change


class Release(ReleaseFields):
    """One noisy answer. Computed once; printing, converting or fetching it again never draws noise.

    `ReleaseFields` says what its fields are.

    Examples
    --------
    >>> import dpdb
    >>> hospital = "examples/data/hospital.parquet"  # in an installed package dpdb/data/hospital.parquet
    >>> r = dpdb.dp_inconsistency(hospital, "examples/data/hospital.dcs.txt", "repair", epsilon=0.5)
    >>> r.measure, r.mechanism, r.epsilon, r.quantity
    ('repair', 'fractional', 0.5, 'rows')
    >>> print(r)
    repair = ...
      meaning   at least about ... rows must go before the table is consistent
      bounds    at least ..., at most ... (95% sure)
      estimates fractional vertex cover tau* of the conflict graph, plus self-conflicts; tau* <= repair <= 2 tau*
      cost      epsilon 0.5 (fractional, noise scale 2)
    Guarantee: pure 0.5-differential privacy for adding or removing one row, ...
    """

    def change(self, earlier: Release, confidence: float | None = None) -> Change:
        """Compare with an earlier release of the same statistic: a two-sided interval of the difference.

        Costs nothing: it reads the two releases only. See `dpdb.release.published.comparisons` for the proof.

        Parameters
        ----------
        earlier : Release
            Of the same measure, estimand, theta, slice, unit and constraints.
        confidence : float, optional
            Of the interval; by default the smaller of both releases' own.

        Raises
        ------
        ParameterError
            If they do not estimate the same statistic, or the noise of one gives no interval.
        """
        from dpdb.release.published.comparisons import change_between  # imported when two releases are compared

        return change_between(self, earlier, confidence)

    def plot(self, axes: Any = None) -> Any:
        """Draw the value with its interval and return matplotlib's axes; see `draw_releases` for the errors."""
        from dpdb.release.published.layouts import draw_releases

        return draw_releases([self], axes)

    @property
    def words(self) -> str:
        """Its meaning in words, with bounds, cost and noise."""
        return release_words(self)

    def __str__(self) -> str:
        """Say it in words, as ``dpdb measure --verbose`` prints it: meaning, bounds, cost and guarantee."""
        return releases_words([self])

    def _repr_html_(self) -> str:
        from dpdb.release.published.layouts import release_card  # only notebooks draw cards

        return release_card(self)


class Releases(tuple[Release, ...]):
    """The releases of one call, in order: a tuple that a notebook shows as a table; so are slices and sums.

    Examples
    --------
    >>> import dpdb
    >>> hospital = "examples/data/hospital.parquet"
    >>> rules = "examples/data/hospital.dcs.txt"
    >>> with dpdb.open(hospital, constraints=rules, budget=1) as s:
    ...     found = s.dp_inconsistency("repair", epsilon=1, by="state", keys=["AL", "AK"])
    >>> found.to_pandas()["where"].tolist()
    ["state = 'AL'", "state = 'AK'"]
    >>> found[1:].to_pandas()["where"].tolist()
    ["state = 'AK'"]
    """

    __slots__ = ()

    @overload
    def __getitem__(self, place: SupportsIndex) -> Release: ...
    @overload
    def __getitem__(self, place: slice) -> Releases: ...
    def __getitem__(self, place: SupportsIndex | slice) -> Release | Releases:
        return Releases(super().__getitem__(place)) if isinstance(place, slice) else super().__getitem__(place)

    def __add__(self, others: tuple[Any, ...]) -> Any:
        return _joined(self, others)

    def __radd__(self, others: tuple[Any, ...]) -> Any:
        return _joined(others, self)

    def to_arrow(self) -> pa.Table:
        """Return them as an Arrow table, one row each, with the columns of results tables. Costs nothing."""
        from dpdb.release.published.release_fields import release_table

        return release_table(self)

    def to_pandas(self) -> Any:
        """Return them as a pandas data frame; see `to_arrow`."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """Return them as a Polars data frame; see `to_arrow`.

        Raises
        ------
        ParameterError
            If Polars is not installed.
        """
        try:
            import polars
        except ImportError:
            raise ParameterError("to_polars needs Polars: pip install polars") from None
        return polars.from_arrow(self.to_arrow())

    def plot(self, axes: Any = None) -> Any:
        """Draw each value with its interval and return matplotlib's axes; see `draw_releases` for the errors."""
        from dpdb.release.published.layouts import draw_releases

        return draw_releases(self, axes)

    def __str__(self) -> str:
        """Say them in words, as ``dpdb measure --verbose`` prints them."""
        return releases_words(self) if self else super().__str__()

    def _repr_html_(self) -> str:
        from dpdb.release.published.layouts import releases_table

        return releases_table(self)


def _joined(first: tuple[Any, ...], second: tuple[Any, ...]) -> Any:
    """Return two tuples as one, which is `Releases` if it holds releases only; other values are not added."""
    if not (isinstance(first, tuple) and isinstance(second, tuple)):
        return NotImplemented
    both = (*first, *second)
    return Releases(both) if all(isinstance(one, Release) for one in both) else both


def recorded_releases(answer: str) -> Releases:
    """Return the releases of an answer that a ledger has recorded, without fields of later versions."""
    known = {field.name for field in fields(Release)}
    try:
        return Releases(
            Release(**{name: value for name, value in release.items() if name in known})
            for release in json.loads(answer)
        )
    except (AttributeError, TypeError, ValueError):
        raise LedgerError("the ledger's answer was not recorded by a session of dpdb and cannot be shown") from None


def constraints_digest(constraints: tuple[DenialConstraint, ...]) -> str:
    """SHA-256 of the constraints' canonical texts, one per line."""
    return hashlib.sha256("\n".join(str(dc) for dc in constraints).encode()).hexdigest()
