"""`dp_inconsistency`: one release of a table, without a session of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, overload

from dpdb.constraints import ConstraintsLike
from dpdb.release.ask import OPTIONS, Ask, Epsilon, EveryMeasureOption, Key, Measure
from dpdb.release.published.release import Release, Releases
from dpdb.release.session import Session
from dpdb.release.verbs import spelled
from dpdb.sources import SourceLike

__all__ = ["dp_inconsistency"]


@overload
def dp_inconsistency(
    source: SourceLike, constraints: ConstraintsLike, measure: Measure = ..., epsilon: Epsilon = ..., *,
    by: None = ..., keys: None = ..., each_constraint: Literal[False] = ..., **settings: Any,
) -> Release: ...  # fmt: skip
@overload
def dp_inconsistency(
    source: SourceLike, constraints: ConstraintsLike, measure: Literal["all"], epsilon: Epsilon = ..., *,
    by: str | None = ..., keys: Sequence[Key] | None = ..., each_constraint: bool = ..., **settings: Any,
) -> Releases: ...  # fmt: skip
@overload
def dp_inconsistency(
    source: SourceLike, constraints: ConstraintsLike, measure: str = ..., epsilon: Epsilon = ..., *,
    by: str, keys: Sequence[Key], each_constraint: bool = ..., **settings: Any,
) -> Releases: ...  # fmt: skip
@overload
def dp_inconsistency(
    source: SourceLike, constraints: ConstraintsLike, measure: str = ..., epsilon: Epsilon = ..., *,
    by: str | None = ..., keys: Sequence[Key] | None = ..., each_constraint: Literal[True], **settings: Any,
) -> Releases: ...  # fmt: skip
@overload
def dp_inconsistency(
    source: SourceLike, constraints: ConstraintsLike, measure: str, epsilon: Epsilon = ..., *,
    by: str | None = ..., keys: Sequence[Key] | None = ..., each_constraint: bool = ..., **settings: Any,
) -> Release | Releases: ...  # fmt: skip
@spelled(EveryMeasureOption)
def dp_inconsistency(
    source: SourceLike,
    constraints: ConstraintsLike,
    measure: str = Ask.measure,
    epsilon: Any = Ask.epsilon,
    **settings: Any,
) -> Release | Releases:
    """Make one release of a table: open a `Session`, release, close.

    Cost and errors as `Session.dp_inconsistency`.

    Parameters
    ----------
    source, constraints
        The table and its rules, as for `Session`.
    measure, epsilon
        As for `Session.dp_inconsistency`.
    **settings
        Options of the release as for `Session.dp_inconsistency`; other settings as for `Session`.

    Examples
    --------
    >>> import dpdb
    >>> r = dpdb.dp_inconsistency("examples/data/hospital.parquet", constraints="examples/data/hospital.dcs.txt")
    >>> r.measure, r.epsilon
    ('repair', 1.0)
    """
    asked = {name: settings.pop(name) for name in (*OPTIONS, "who") if name in settings}
    with Session(source, constraints=constraints, **settings) as session:
        released: Release | Releases = session.dp_inconsistency(measure, epsilon, **asked)
        return released
