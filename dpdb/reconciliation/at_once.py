"""`dpdb.compare`: two tables compared, in sessions of their own."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any, get_args

from dpdb.engine import Side, TableSpec
from dpdb.errors import ParameterError
from dpdb.names import nearest_words
from dpdb.reconciliation.ask import ASKED, ComparisonAsk
from dpdb.reconciliation.prepare import prepare_comparison, run_comparison
from dpdb.release import Epsilon, Releases, Session

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dpdb.sources import SourceLike

_ASKED = (*ASKED, "who")
_OF_SESSION = ("ledger", "budget", "progress")
_SETTINGS = (
    "table", "csv_schema", "delimiter", "rows_per_person", "unit", "max_rows", "gather_rows", "memory_limit",
    "temp_directory", "threads", *_OF_SESSION,
)  # fmt: skip
"""Those of a table that a comparison may need: it has no constraints."""


def compare(
    left: SourceLike | Session,
    right: SourceLike | Session,
    key: str | Sequence[str],
    epsilon: Epsilon | None = None,
    **settings: Any,
) -> Releases:
    """Count the keys on which two tables do not agree, under differential privacy for both.

    A key is missing on a side that has no row of it, and differs if both sides have rows of it that are not the same,
    each as often. Keys with a NULL are counted nowhere. Each number has discrete Laplace noise of scale S / epsilon;
    with c columns of their own S is 2 + c for one row of either table, 1 + c for a whole key: see
    `dpdb.measures.compared`.

    Parameters
    ----------
    left, right : source or Session
        The tables. Of sources sessions are opened for this call; a `Session` has its own ledger and settings.
    key : str or list of str
        The columns that name a key.
    epsilon : number
        Privacy cost of all numbers together, charged to either table.
    **settings
        Options of the comparison: `columns` (those that both have), `each_column` (a number for each of them, too),
        `where` (over columns of the key), `confidence`, `run_id`, `label`, `who`. Settings of both tables as for
        `dpdb.open`, or of one of them with ``left_`` or ``right_`` before the name: `left_table`, `right_ledger`. With
        ``unit=key`` and `max_rows` the key is what is protected.

    Returns
    -------
    Releases
        `missing_left`, `missing_right` and `differ`, then `differ` of each column, if asked. In keys.

    Raises
    ------
    ParameterError, PredicateError, UnknownColumnError, LedgerError, SourceError
        Before anything is spent.
    BudgetExceededError
        If the budget of a side does not suffice; nothing is spent on either.
    EngineError
        If the comparison fails after the debits, with one constant message.

    Examples
    --------
    >>> import dpdb
    >>> hospital = "examples/data/hospital.parquet"
    >>> found = dpdb.compare(hospital, hospital, key=["provider_number", "measure_code"], epsilon=2)
    >>> [release.measure for release in found], found[0].noise_scale
    (['missing_left', 'missing_right', 'differ'], 1.0)
    """
    ask = ComparisonAsk(key, epsilon=epsilon, **{name: settings.pop(name) for name in ASKED if name in settings})
    who = settings.pop("who", None)
    with ExitStack() as opened:
        one, other = opened_side(left, settings, "left", opened), opened_side(right, settings, "right", opened)
        return run_comparison(one, other, prepare_comparison(one, other, ask, who=who))


def opened_side(
    source: SourceLike | Session, settings: Mapping[str, Any], side: Side, opened: ExitStack, *, rows: bool = True
) -> Session:
    """Return the session of a side, opened for a call if it is none yet.

    Parameters
    ----------
    settings
        By name; those of one side have ``left_`` or ``right_`` before it.
    opened
        Closes what is opened here.
    rows
        Whether rows will be read.

    Raises
    ------
    ParameterError
        If a setting does not exist, or a session is given settings of its own, which it has already.
    """
    shared, own = _of_side(settings, side)
    if isinstance(source, Session):
        if own:
            raise ParameterError(f"a session has its settings already: leave out {side}_{next(iter(own))}")
        return source
    given = shared | own
    of_session: dict[str, Any] = {name: given.pop(name) for name in _OF_SESSION if name in given}
    spec = replace(TableSpec.of(source, given), is_compared=True)
    return opened.enter_context(Session(spec, rows=rows, **of_session))


def _of_side(settings: Mapping[str, Any], side: Side) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the settings of both sides, and those of one."""
    shared: dict[str, Any] = {}
    own: dict[str, Any] = {}
    for name, value in settings.items():
        of, _, of_side = name.partition("_")
        if of in get_args(Side) and of_side in _SETTINGS:
            if of == side:
                own[of_side] = value
        elif name in _SETTINGS:
            shared[name] = value
        else:
            known = [*_ASKED, *_SETTINGS, *(f"{each}_{name}" for each in get_args(Side) for name in _SETTINGS)]
            raise ParameterError(f"there is no option or setting {name!r}{nearest_words(name, known)}")
    if "ledger" in shared:
        raise ParameterError("a ledger counts for one table: give left_ledger and right_ledger, one for either")
    return shared, own
